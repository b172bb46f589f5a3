# SPDX-License-Identifier: Apache-2.0
"""ward mcp with the official client libraries and the inspector, in every version of the protocol that they speak."""
import json
import os
import re
import shutil
import subprocess

import pytest

from mcp_client import NEW, OLD
from support import PATIENCE, SOURCE, all_gone, resting

PARTS = SOURCE / 'build-parts' / 'mcp-clients'
CLIENTS = SOURCE / 'tests' / 'mcp-clients'


@pytest.fixture(scope='module')
def clients(top):
    """A copy, because a plain user may not reach the source."""
    if not shutil.which('node') or not (PARTS / 'node_modules').is_dir():
        pytest.skip('not fetched: tools/dependencies test')
    assert (PARTS / 'package-lock.json').read_bytes() == (CLIENTS / 'package-lock.json').read_bytes(), 'tools/dependencies test fetches them anew'
    place = top / 'mcp-clients'
    shutil.copytree(PARTS / 'node_modules', place / 'node_modules', symlinks=True)
    shutil.copy(CLIENTS / 'converse.mjs', place)
    subprocess.run(['chmod', '-R', 'a+rX', place], check=True)
    return place


def node(ward, clients, script, *words, program=None):
    done = ward(clients / script, *words, program=program or shutil.which('node'), timeout=2 * PATIENCE)
    assert done.code == 0, done
    return json.loads(done.out)


def newer_node(clients):
    """Debian's is 18; the newer client wants 20, which is fetched with it."""
    fetched = [*clients.glob('node_modules/node-linux-*/bin/node')]
    if fetched:
        return fetched[0]
    if int(re.match(r'v(\d+)', subprocess.check_output(['node', '--version'], text=True))[1]) < 20:
        pytest.skip('needs node 20, and none was fetched for this machine')
    return None


@pytest.mark.parametrize('library, version', [('v1', version) for version in OLD] + [('v2', version) for version in OLD + [NEW]])
def test_a_whole_conversation(plain, clients, library, version):
    program = newer_node(clients) if library == 'v2' else None
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    sleep = resting()
    report = node(plain, clients, 'converse.mjs', json.dumps({'library': library, 'version': version, 'ward': plain.binary, 'outside': str(outside),
                                                              'sleep': sleep}), program=program)
    assert 'sandbox' in report['instructions']
    assert report['tools'] == ['run', 'check', 'read_file', 'write_file', 'apply_patch', 'pending']
    assert (report['run']['stdout'], report['run']['stderr'], report['run']['exit_code']) == ('out\n', 'err\n', 3)
    assert report['told'] and (version == OLD[0] or 'out\n' in ''.join(report['told']))
    assert report['written']['created'] and report['read']['content'] == 'one\nTWO\n' and report['checked']['verdict'] == 'deny'
    assert report['pending'] == {'questions': []}
    if version >= '2025-06-18':
        assert len(report['asked']) == 2 and 'the test wants it' in report['asked'][1]['message']
        assert report['granted']['exit_code'] == 0 and os.listdir(outside) == ['granted']
    else:
        assert not report['asked'] and not os.listdir(outside) and 'tell your user' in report['refused']['notices'][-1]
    assert report['cancelled'] is True and report['after'] == 'still there\n'
    assert all_gone(f'sleep\0{sleep}')


def test_the_inspector_lists_and_calls(plain, clients):
    def inspect(*words):
        return node(plain, clients, 'node_modules/@modelcontextprotocol/inspector-cli/build/cli.js', '--cli', plain.binary, 'mcp', *words)
    tools = inspect('--method', 'tools/list')['tools']
    assert [tool['name'] for tool in tools] == ['run', 'check', 'read_file', 'write_file', 'apply_patch', 'pending']
    assert {tool['name']: tool['annotations']['readOnlyHint'] for tool in tools} == {
        'run': False, 'check': True, 'read_file': True, 'write_file': False, 'apply_patch': False, 'pending': True}
    result = inspect('--method', 'tools/call', '--tool-name', 'run', '--tool-arg', 'command=echo $((6 * 7))')
    assert result['structuredContent']['stdout'] == '42\n' and not result['isError']
    result = inspect('--method', 'tools/call', '--tool-name', 'read_file', '--tool-arg', 'path=none')
    assert result['isError'] and 'No such file' in result['content'][0]['text']
