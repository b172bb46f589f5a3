# SPDX-License-Identifier: Apache-2.0
"""Each agent installs a package by its hook: refused by name, and there after somebody's yes from elsewhere, in the same run."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import SOURCE, wait_until
from test_hook_conversations import AGENTS, Host
from test_network_packages import has_pip, index
from world import WEB, plain, world


def step_of(agent, command):
    """The step in which the agent builds, with another command."""
    text = (SOURCE / 'tests/end-to-end/hooks' / f'{agent}.json').read_text()
    step = next(step for step in json.loads(text)['steps'] if step['step'] == 'it builds')
    return json.loads(json.dumps(step).replace('make -s', command))


@pytest.mark.parametrize('agent', AGENTS)
def test_an_agent_installs_a_package(plain, world, agent):
    has_pip()
    world.name('packages.example', WEB)
    port = index(world)
    step = step_of(agent, '/usr/bin/python3 -m pip --disable-pip-version-check --no-cache-dir -q install --retries 0 --target site '
                   f'--index-url http://packages.example:{port}/simple --trusted-host packages.example tiny')
    host = Host(agent, plain)
    _, done = host.step(step)
    assert done.code != 0 and f'connect packages.example:{port}' in done.err and not (plain.work / 'site').exists(), done
    plain.policy('wait: 10m\n')
    with ThreadPoolExecutor() as pool:
        going = pool.submit(host.step, step)
        assert wait_until(lambda: plain('pending', '--json').out or going.done())
        question = json.loads(plain('pending', '--json').out.splitlines()[0])
        assert question['ask']['grants'] == [f'connect packages.example:{port}'] and question['ask']['kind'] == 'in_place'
        assert plain('approve', question['id']).code == 0
        _, done = going.result()
    assert done.code == 0 and (plain.work / 'site/tiny.py').exists(), done
