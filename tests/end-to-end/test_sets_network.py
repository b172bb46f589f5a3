# SPDX-License-Identifier: Apache-2.0
"""Sets of hosts where they count: what a flag, a policy, a rule or an answer opens by a set's name, and what it does not."""
import pytest

from world import OTHER, WEB, plain, ward, world


@pytest.fixture
def shop(plain, world):
    """A server that a set of the user's own names, and one that it does not."""
    world.name('packages.acme.example', WEB)
    world.name('trap.example', OTHER)
    shop.port = world.http(WEB, b'packages')
    shop.trap = world.http(OTHER, b'trap')
    plain.file(plain.config / 'ward' / 'sets.yaml',
               f'sets:\n  registry:acme: {{hosts: ["packages.acme.example:{shop.port}"], programs: [curl]}}\n', 0o600)
    return shop


def fetch(ward, name, port, *flags):
    done = ward.run('curl', '-sS', '--max-time', '20', f'http://{name}:{port}/', flags=flags)
    return done.out if done.code == 0 else None


def test_a_flag_opens_the_hosts_of_a_set_and_no_others(plain, shop):
    assert fetch(plain, 'packages.acme.example', shop.port, '--allow-host', 'registry:acme') == 'packages'
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'registry:acme') is None
    assert fetch(plain, 'packages.acme.example', shop.trap, '--allow-host', 'registry:acme') is None
    assert fetch(plain, 'packages.acme.example', shop.port, '--allow-host', 'registry:npm') is None


def test_a_policy_opens_the_hosts_of_a_set(plain, shop):
    plain.policy('sandbox: {network: {allow: [registry:acme]}}\n')
    assert 'warning' not in plain('policy', 'check').out
    assert fetch(plain, 'packages.acme.example', shop.port) == 'packages'
    assert fetch(plain, 'trap.example', shop.trap) is None


def test_a_set_that_is_denied_wins(plain, shop):
    plain.policy('sandbox: {network: {deny: [registry:acme]}}\n')
    assert fetch(plain, 'packages.acme.example', shop.port, '--allow-host', '**.acme.example') is None
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'trap.example') == 'trap'


def test_a_rule_brings_a_set_along(plain, shop):
    plain.policy('rules: [{command: curl, do: allow, permissions: ["connect registry:acme"]}]\n')
    assert fetch(plain, 'packages.acme.example', shop.port) == 'packages'
    assert fetch(plain, 'trap.example', shop.trap) is None


def test_an_unknown_set_is_an_error_where_it_is_named(plain, shop):
    done = plain.run('true', flags=['--allow-host', 'registry:cobol'])
    assert done.code == 125 and "'registry:cobol'" in done.err and 'registry:acme' in done.err
    done = plain.run('true', flags=['--allow-host', 'registry:Cobol'])
    assert done.code == 125 and 'is not a set of hosts' in done.err
    path = plain.policy('sandbox:\n  network: {allow: [registry:cobol]}\n')
    assert f"{path}:2:21: there is no set of hosts called 'registry:cobol'" in plain('policy', 'check').out
    assert plain.run('true').code == 0
    plain.policy('sandbox:\n  network: {deny: [registry:cobol]}\n')
    done = plain.run('true')
    assert done.code == 125 and f'{path}:2:20: ' in done.err


def test_a_faulty_file_about_sets_stops_only_who_needs_it(plain, shop):
    path = plain.file(plain.config / 'ward' / 'sets.yaml', 'sets: {registry:acme: {}}\n', 0o600)
    assert plain.run('true').code == 0
    done = plain.run('true', flags=['--allow-host', 'registry:acme'])
    assert done.code == 125 and f'{path}:1:8: ' in done.err


def test_the_tools_configuration_counts_and_the_workspaces_does_not(plain, shop):
    plain.file('.npmrc', f'registry=http://trap.example:{shop.trap}/\n', 0o600)
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'registry:npm') is None
    plain.file(plain.home / '.npmrc', f'registry=http://trap.example:{shop.trap}/\n', 0o600)
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'registry:npm') == 'trap'
    # What a command may write itself is the workspace's word again.
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'registry:npm', '--write', plain.home) is None


def test_a_project_cannot_widen_a_set(plain, shop):
    plain.file('sets.yaml', f'sets: {{registry:npm: {{hosts: ["trap.example:{shop.trap}"]}}}}\n')
    plain.file('.ward.yaml', 'sandbox: {network: {allow: [registry:acme]}}\n')
    assert fetch(plain, 'trap.example', shop.trap, '--allow-host', 'registry:npm') is None
    assert fetch(plain, 'packages.acme.example', shop.port) is None
