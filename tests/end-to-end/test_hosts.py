# SPDX-License-Identifier: Apache-2.0
"""Rules about hosts: what flags, policies, projects and other programs say about the network, and what follows. Nothing
here connects to anything."""
import json

import pytest


def checked(ward, *flags):
    done = ward('check', '--json', *flags, '--', 'true')
    assert done.code == 0, done
    return json.loads(done.out)['network']


def call(ward, **params):
    """One request of another program, over JSON-RPC."""
    done = ward('serve', '--stdio', input=json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': params}) + '\n')
    return json.loads(done.out)['result']


def network(mode, allow=(), deny=(), publish=()):
    return {'mode': mode, 'allow': list(allow), 'deny': list(deny), 'publish': list(publish)}


@pytest.mark.parametrize('flags, expected', [
    ([], network('none')),
    (['--net', 'restricted'], network('restricted')),
    (['--net', 'full'], network('full')),
    (['--allow-host', 'example.org:443'], network('restricted', ['example.org:443'])),
    (['--allow-host', '*.example.org', '--deny-host', 'www.example.org'],
     network('restricted', ['*.example.org'], ['www.example.org'])),
    (['--deny-host', 'example.org'], network('none', deny=['example.org'])),
    (['--net', 'full', '--deny-host', '10.0.0.0/8'], network('full', deny=['10.0.0.0/8'])),
    (['--publish', '8080', '--publish', '8081:81', '--publish', '8080:8080'],
     network('restricted', publish=['8080:8080', '8081:81'])),
    (['--allow-host', 'localhost:5432'], network('restricted', ['localhost:5432'])),
])
def test_flags_say_what_is_open(plain, flags, expected):
    assert checked(plain, *flags) == expected


def test_check_says_it_in_words(plain):
    done = plain('check', '--allow-host', 'a.test:443', '--deny-host', 'b.test', '--publish', '80', '--', 'true')
    assert '  network: restricted, never b.test, a.test:443, published 80:80\n' in done.out
    assert '  network: none\n' in plain('check', '--', 'true').out


@pytest.mark.parametrize('flags, said', [
    (['--allow-host', 'exa mple.org'], "--allow-host: 'exa mple.org' is not a host"),
    (['--allow-host', ''], '--allow-host'),
    (['--allow-host', '2130706433'], 'looks like an address'),
    (['--deny-host', '0177.0.0.1'], 'looks like an address'),
    (['--allow-host', 'bücher.example'], 'xn--'),
    (['--allow-host', 'https://example.org/'], '--allow-host'),
    (['--allow-host', 'registry:'], 'not a set of hosts'),
    (['--deny-host', '10.0.0.1/8'], 'bits'),
    (['--publish', '0'], "--publish: '0' is not a port to publish"),
    (['--publish', '80:x'], '8080:80'),
    (['--publish', '70000'], '65535'),
    (['--net', 'none', '--allow-host', 'example.org'], 'a network of none contradicts --allow-host example.org'),
    (['--publish', '80', '--net', 'none'], 'a network of none contradicts --publish 80'),
    (['--level', 'none', '--deny-host', 'example.org'], 'cannot be denied without the sandbox'),
    (['--level', 'none', '--publish', '8080'], 'no ports to publish without the sandbox'),
])
def test_what_cannot_be_meant_is_an_error(plain, flags, said):
    done = plain.run('touch', 'ran', flags=flags)
    assert done.code == 125 and said in done.err, done
    assert not (plain.work / 'ran').exists()


def test_a_policy_opens_closes_and_publishes(plain):
    plain.policy("sandbox:\n  network: {allow: [a.test, '**.b.test:443'], deny: [c.b.test], publish: [8080, '8081:81']}\n")
    assert checked(plain) == network('restricted', ['a.test', '**.b.test:443'], ['c.b.test'], ['8080:8080', '8081:81'])
    assert checked(plain, '--net', 'none') == network('none', deny=['c.b.test'])
    assert checked(plain, '--net', 'full') == network('full', deny=['c.b.test'], publish=['8080:8080', '8081:81'])
    assert checked(plain, '--allow-host', 'd.test')['allow'] == ['a.test', '**.b.test:443', 'd.test']
    shown = json.loads(plain('policy', 'show', '--json').out)['sandbox']['network']
    assert shown == network('restricted', ['a.test', '**.b.test:443'], ['c.b.test'], ['8080', '8081:81'])
    assert "    publish: ['8080', '8081:81']\n" in plain('policy', 'show').out


def test_ports_in_a_policy_mean_restricted(plain):
    plain.policy('sandbox: {network: {publish: [8080]}}\nprofiles: {shut: {network: {mode: none}}}\n')
    assert checked(plain) == network('restricted', publish=['8080:8080'])
    assert checked(plain, '--profile', 'shut') == network('none')


@pytest.mark.parametrize('text, said', [
    ("sandbox: {network: {allow: ['a*b']}}", ':1:29: '), ("sandbox: {network: {deny: [0x7f.1]}}", 'looks like an address'),
    ("sandbox: {network: {publish: ['80-90']}}", 'is not a port to publish'),
    ("rules: [{command: ls, do: ask, why: w, permissions: ['connect 127.1']}]", 'looks like an address'),
    ("rules: [{command: ls, do: ask, why: w, permissions: ['bind *']}]", 'is not a port to publish'),
    ("rules: [{command: ls, do: ask, why: w, permissions: ['host-loopback x']}]", 'is not a port'),
])
def test_a_policy_with_a_host_that_is_none_is_refused(plain, text, said):
    plain.policy(text + '\n')
    done = plain('policy', 'check')
    assert done.code == 1 and said in done.out, done
    assert plain.run('true').code == 125


def test_flags_and_policy_are_the_same_there_and_back(plain):
    path = plain.policy("sandbox:\n  network: {mode: full, allow: [a.test], deny: ['**.b.test'], publish: ['8080:80']}\n"
                        "profiles: {shut: {network: {mode: none}}}\n")
    whole = plain('policy', 'show', '--flags').out
    assert "--allow-host a.test --deny-host '**.b.test' --publish 8080:80" in whole
    # In a network of none nothing is open, and flags that say so would be an error.
    shut = plain('policy', 'show', '--flags', '--profile', 'shut').out
    assert '--net none' in shut and '--allow-host' not in shut and '--publish' not in shut and '--deny-host' in shut
    path.unlink()
    for line in (whole, shut):
        assert plain.shell(line.strip().replace('ward', '$WARD', 1) + ' -- true').code == 0


def test_a_project_can_close_and_not_open(ward):
    ward.policy('sandbox: {network: {allow: [a.test], publish: [8080]}}\n')
    path = ward.file('.ward.yaml', "sandbox:\n  network: {allow: [b.test, '*'], deny: [c.test], publish: [8081]}\n"
                     "rules:\n  - {command: 'true', do: ask, why: w, permissions: ['connect d.test']}\n")
    done = ward('check', '--json', '--', 'ls')
    assert json.loads(done.out)['network'] == network('restricted', ['a.test'], ['c.test'], ['8080:8080'])
    warnings = ward('policy', 'check').out
    assert all(word in warnings for word in ('network.allow b.test', 'network.allow *', 'network.publish 8081', "rule for 'true'"))
    path.write_text('sandbox: {network: {mode: none}}\n')
    assert checked(ward) == network('none')
    path.write_text('sandbox: {network: {mode: full}}\n')
    assert checked(ward) == network('restricted', ['a.test'], publish=['8080:8080'])


def test_a_projects_denial_narrows_a_full_network(plain):
    plain.policy('sandbox: {network: {mode: full}}\n')
    plain.file('.ward.yaml', 'sandbox: {network: {deny: [c.test]}}\n')
    assert checked(plain) == network('full', deny=['c.test'])
    assert len(plain.run('cat', '/proc/net/dev').out.splitlines()) == 3  # two lines of heading, and lo


def test_rules_bring_hosts_and_ports(plain):
    plain.policy("sandbox: {network: {deny: [bad.test]}}\nrules:\n  - command: 'true'\n    do: allow\n    why: x\n"
                 "    permissions: ['connect a.test:443', 'connect bad.test', 'host-loopback 5432', 'bind 8080']\n")
    assert checked(plain) == network('restricted', ['a.test:443', 'bad.test', 'localhost:5432'], ['bad.test'], ['8080:8080'])
    done = plain('check', '--json', '--', 'ls')
    assert json.loads(done.out)['network'] == network('none', deny=['bad.test'])
    assert "permits 'connect bad.test', but the sandbox denies bad.test" in plain('policy', 'check').out


@pytest.mark.parametrize('wider', [{'allow_host': ['b.test']}, {'allow_host': ['a.test']}, {'allow_host': ['www.a.test:80']},
                                   {'net': 'restricted', 'allow_host': ['www.a.test:443', 'b.test:1']}, {'net': 'full'},
                                   {'publish': ['8081']}, {'publish': ['8080:81']}])
def test_another_programs_wish_is_a_question(plain, wider):
    plain.policy("sandbox: {network: {allow: ['*.a.test:443'], publish: [8080]}}\n")
    result = call(plain, argv=['true'], **wider)
    assert result['verdict'] == 'deny' and result['error']['kind'] == 'rejected', result
    assert "a person's yes" in result['error']['message']


@pytest.mark.parametrize('narrower', [{'net': 'restricted'}, {'net': 'none'}, {'deny_host': ['a.test']},
                                      {'allow_host': ['www.a.test:443']}, {'net': 'restricted', 'allow_host': ['*.a.test:443']},
                                      {'publish': ['8080']}, {'publish': ['8080:8080']}])
def test_another_program_gets_what_the_policy_gives(plain, narrower):
    plain.policy("sandbox: {network: {allow: ['*.a.test:443'], publish: [8080]}}\n")
    result = call(plain, argv=['true'], **narrower)
    assert (result['verdict'], result['exit_code']) == ('allow', 0), result


@pytest.mark.parametrize('params, said', [
    ({'allow_host': ['a\nb']}, 'control characters'), ({'allow_host': ['0x7f.1']}, 'looks like an address'),
    ({'deny_host': ['']}, 'it is empty'), ({'publish': ['x']}, 'not a port'), ({'net': 'none', 'allow_host': ['a']}, 'contradicts')])
def test_another_programs_faults_are_told(plain, params, said):
    result = call(plain, argv=['true'], **params)
    assert result['exit_code'] == -1 and said in result['error']['message'], result


def test_a_refused_host_is_named_with_its_flag(plain):
    fetch = 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])))'
    result = plain.result('--', '/usr/bin/python3', '-c', fetch, 'packages.example', '443')
    assert result['error']['hint'] == 'to allow it: --allow-host packages.example:443'
    result = plain.result('--', '/usr/bin/python3', '-c', fetch, '2001:db8::1', '80')
    assert result['error']['hint'] == "to allow it: --allow-host '[2001:db8::1]:80'"


@pytest.mark.parametrize('flags, target, said', [
    (['--net', 'full', '--deny-host', '**.example'], 'packages.example', 'denied by the list of hosts'),
    (['--allow-host', 'packages.example', '--deny-host', 'packages.example:443'], 'packages.example', 'denied by the list of hosts'),
    (['--net', 'restricted'], '224.0.0.1', 'never: a reserved address'),
    (['--allow-host', '224.0.0.1'], '224.0.0.1', 'never: a reserved address'),
])
def test_what_is_denied_or_never_reached_has_no_way_on(plain, flags, target, said):
    fetch = 'import socket, sys; socket.create_connection((sys.argv[1], 443))'
    result = plain.result(*flags, '--', '/usr/bin/python3', '-c', fetch, target)
    assert result['attempts'][0]['denials'][0]['rule'] == said and result['error']['hint'] is None, result
    done = plain.run('/usr/bin/python3', '-c', fetch, target, flags=flags)
    assert said in done.err and 'to allow' not in done.err, done


def test_sets_are_taken_apart(plain):
    assert 'registry.npmjs.org:443' in checked(plain, '--allow-host', 'registry:npm')['allow']
    assert checked(plain, '--net', 'full', '--deny-host', 'registry:npm')['deny'] != []
    done = plain('check', '--allow-host', 'registry:cobol', '--', 'true')
    assert done.code == 125 and "no set of hosts called 'registry:cobol'" in done.err and 'registry:npm' in done.err
    # In a file it may be another machine's where it allows; where it denies nothing may be passed over.
    plain.policy('sandbox: {network: {allow: [registry:cobol, a.test]}}\n')
    assert checked(plain)['allow'] == ['a.test'] and 'warning' in plain('policy', 'check').out
    plain.policy('sandbox: {network: {deny: [registry:cobol]}}\n')
    assert plain.run('true').code == 125


def test_a_set_of_ones_own_is_known(plain):
    plain.file('../config/ward/sets.yaml', "version: 1\nsets:\n  registry:acme: {hosts: ['packages.acme.example:443']}\n", 0o644)
    assert checked(plain, '--allow-host', 'registry:acme')['allow'] == ['packages.acme.example:443']
    plain.policy("rules:\n  - {command: 'true', do: allow, why: x, permissions: ['connect registry:acme']}\n")
    assert checked(plain)['allow'] == ['packages.acme.example:443']
