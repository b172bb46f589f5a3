# SPDX-License-Identifier: Apache-2.0
"""Tokens: made, narrowed, checked and revoked; what runs under one gets what it permits and nothing else."""
import base64
import concurrent.futures
import ctypes
import ctypes.util
import json
import time

import pytest

from support import marker, processes, resters, resting, rests, wait_until
from test_floor_calls import LDT

MINUTE = ('--expires', '10m')


def mint(ward, *words, agent='bot'):
    done = ward('token', 'mint', '--agent', agent, *words)
    assert done.code == 0, done
    assert len(done.out.splitlines()) == 1, 'the token alone'
    return done.out.strip()


def narrow(ward, token, *words):
    done = ward('token', 'narrow', token, *words)
    assert done.code == 0, done
    return done.out.strip()


def shown(ward, token):
    return json.loads(ward('token', 'show', token, '--json').out)


def under(ward, token, script, agent='bot', **how):
    return ward.result('--agent', agent, '--token', token, '--', 'sh', '-c', script, **how)


def violations(result):
    return [(d['operation'], d['object']) for a in result['attempts'] for d in a['denials'] if d.get('violation') == 'token']


@pytest.fixture
def work(ward):
    ward.file('src/a.txt', 'text\n')
    ward.file('secret.txt', 'hidden\n')
    ward.file('out/old', 'old\n')
    return ward


def test_a_run_gets_what_the_token_permits_and_nothing_else(work):
    token = mint(work, '--allow', 'read src/**', '--allow', 'write out/**', '--allow', 'write new/**', '--allow', 'write *.log', *MINUTE)
    result = under(work, token, 'cat src/a.txt && echo x > out/x && rm out/old && mkdir new && echo y > new/y && echo z > a.log')
    assert result['exit_code'] == 0, result
    assert (result['verdict'], result['source']) == ('allow', 'token')
    assert result['stdout'] == 'text\n'
    assert violations(result) == []
    assert (work.work / 'new/y').read_text() == 'y\n'
    assert (work.work / 'a.log').read_text() == 'z\n'
    assert not (work.work / 'out/old').exists()


@pytest.mark.parametrize('operation, path, script', [
    ('read', 'secret.txt', 'cat secret.txt'),
    ('write', 'other', 'echo x > other'),
    ('write', 'src/b', 'echo x > src/b'),
    ('delete', 'src/a.txt', 'rm -f src/a.txt'),
    ('write', 'src/a.txt', 'mv out/old src/a.txt'),
])
def test_what_is_beyond_is_refused_and_a_violation(work, operation, path, script):
    token = mint(work, '--allow', 'read src/**', '--allow', 'write out/**', *MINUTE)
    result = under(work, token, script)
    assert result['exit_code'] != 0
    assert (operation, str(work.work / path)) in violations(result)
    assert (work.work / 'src/a.txt').read_text() == 'text\n'
    assert not (work.work / 'other').exists()


def test_neither_the_home_nor_other_places_nor_the_network_are_there(work):
    work.file(work.home / 'note.txt', 'private\n')
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    result = under(work, token, f'cat {work.home}/note.txt; ls /home /srv; '
                   '/usr/bin/python3 -I -c "import socket; socket.create_connection((\'192.0.2.1\', 80), 5)"; true')
    assert 'private' not in result['stdout'] and result['stdout'] == ''
    assert ('read', str(work.home / 'note.txt')) in violations(result)
    assert any(operation == 'connect' for operation, _ in violations(result))


def test_a_secret_in_the_home_is_a_violation_to_read_and_what_programs_look_for_is_none(work):
    for name in ('.ssh/id_ed25519', '.aws/credentials', '.profile'):
        work.file(work.home / name, 'private\n', 0o600)
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    result = under(work, token, 'cat ~/.ssh/id_ed25519 ~/.aws/credentials ~/.profile ~/.netrc; true')
    assert result['stdout'] == ''
    objects = [object for operation, object in violations(result) if operation == 'read']
    assert any(object.startswith(str(work.home / '.ssh')) for object in objects)
    assert any(object.startswith(str(work.home / '.aws')) for object in objects)
    assert not [object for object in objects if object.endswith(('.profile', '.netrc'))]


def test_the_home_of_a_token_is_the_accounts_whatever_the_environment_says(work):
    token = mint(work, '--allow', 'read ~/docs/**', *MINUTE)
    for home in ('/nowhere', str(work.home)):
        env = {'HOME': home}
        assert work('token', 'verify', token, '--allow', f'read {work.person.home}/docs/a', env=env).code == 0
        assert work('token', 'verify', token, '--allow', 'read ~/docs/a', env=env).code == 0
        assert work('token', 'verify', token, '--allow', f'read {home}/docs/a', env=env).code != 0
        assert work('token', 'narrow', token, '--allow', 'read ~/docs/a', env=env).code == 0


def test_programs_of_the_workspace_start_only_where_the_token_says_so(work):
    work.file('tool', '#!/bin/sh\necho started\n', 0o755)
    assert under(work, mint(work, '--allow', 'exec tool'), './tool')['stdout'] == 'started\n'
    result = under(work, mint(work, '--allow', 'read tool'), './tool')
    assert result['exit_code'] == 126
    assert [operation for operation, _ in violations(result)] == ['exec']


def test_a_secret_in_a_tree_stays_closed_unless_it_is_named(work):
    work.file('.env', 'KEY=1\n')
    assert under(work, mint(work, '--allow', 'read .'), 'cat .env')['stdout'] == ''
    assert under(work, mint(work, '--allow', 'read .', '--allow', 'read .env'), 'cat .env')['stdout'] == 'KEY=1\n'


@pytest.mark.parametrize('operation', ['read', 'write'])
@pytest.mark.parametrize('pattern', ['conf/**', 'conf/*', 'conf/.e*', 'conf/.en[v]'])
def test_a_tree_or_a_pattern_around_a_secret_does_not_name_it(plain, operation, pattern):
    plain.file('conf/.env', 'KEY=1\n')
    token = mint(plain, '--allow', f'{operation} {pattern}')
    result = under(plain, token, 'cat conf/.env; echo x >> conf/.env')
    assert result['stdout'] == '' and (plain.work / 'conf/.env').read_text() == 'KEY=1\n'


def test_narrowing_a_tree_to_what_is_protected_in_it_gives_nothing(plain):
    plain.file('conf/.env', 'KEY=1\n')
    plain.file('conf/.git/hooks/old', '')
    for path in ('HEAD', 'config', 'hooks/old', 'objects/x', 'refs/x'):
        plain.file(f'bare/{path}', 'ref: x\n')
    token = mint(plain, '--allow', 'write .', *MINUTE)
    for pattern in ('conf/.env', 'conf/.en[v]', 'conf/.git/**', 'conf/.git/hooks/**', 'conf/.git/hooks/*', 'conf/.git/hooks/pre-commit',
                    'conf/*/hooks/*', 'bare/hooks/**', 'bare/hooks/pre-commit'):
        result = under(plain, narrow(plain, token, '--allow', f'write {pattern}'),
                       'cat conf/.env; for i in conf/.env conf/.git/hooks/pre-commit bare/hooks/pre-commit; do echo x >> $i; done')
        assert result['stdout'] == '', pattern
        assert (plain.work / 'conf/.env').read_text() == 'KEY=1\n', pattern
        assert not (plain.work / 'conf/.git/hooks/pre-commit').exists() and not (plain.work / 'bare/hooks/pre-commit').exists(), pattern
    named = mint(plain, '--allow', 'write conf/.env', '--allow', 'write conf/.git/hooks/**')
    result = under(plain, narrow(plain, named, '--allow', 'read conf/.env', '--allow', 'write conf/.git/hooks/**'),
                   'cat conf/.env && echo x > conf/.git/hooks/pre-commit')
    assert (result['exit_code'], result['stdout']) == (0, 'KEY=1\n'), 'what every list names stays open'


def test_what_the_policy_denies_no_token_opens(work):
    work.policy('sandbox: {files: {deny: [src], write: [elsewhere]}}\nrules:\n  - {command: date, do: deny, why: no time}\n')
    (work.work / 'elsewhere').mkdir()
    work.person.own(work.work / 'elsewhere')
    token = mint(work, '--allow', 'read src/**', '--allow', 'write out/**', *MINUTE)
    assert under(work, token, 'cat src/a.txt')['exit_code'] != 0
    assert under(work, token, 'echo x > elsewhere/x')['exit_code'] != 0, 'what the policy allows is not the token\'s'
    assert work('run', '--agent', 'bot', '--token', token, '--', 'date').code == 126


def test_system_calls_that_the_policy_adds_are_not_the_tokens(plain):
    plain.policy('sandbox: {syscalls: {allow: [modify_ldt]}}\n')
    words = ('--', '/usr/bin/python3', '-I', '-c', LDT)
    assert plain('run', *words).out.startswith('True ')
    assert plain('run', '--agent', 'bot', '--token', mint(plain, '--allow', 'read .'), *words).out.startswith('False ')


@pytest.mark.parametrize('flags', [('--write', '.'), ('--read', '.'), ('--net', 'full'), ('--level', 'none'), ('--allow-host', 'a.example'),
                                   ('--escalated',), ('--keep-env', 'HOME'), ('--profile', 'code')])
def test_flags_add_nothing_to_it(work, flags):
    token = mint(work, '--allow', 'write out/**', *MINUTE)
    assert work('run', '--agent', 'bot', '--token', token, *flags, '--', 'true').code == 126
    assert work('run', '--agent', 'bot', '--token', token, '--deny', 'out', '--', 'cat', 'out/old').code != 0


def test_nobody_is_asked_about_what_is_missing(work):
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    result = work.result('--agent', 'bot', '--token', token, '--approval', 'unless-trusted', '--wait', '20s', '--', 'sh', '-c', 'echo x > other')
    assert len(result['attempts']) == 1 and result['exit_code'] != 0
    assert not any(record['kind'] == 'ask' for record in work.records())


def test_a_violation_is_logged_while_the_command_goes_on(work):
    token, rest = mint(work, '--allow', 'write out/**', *MINUTE), resting()
    process = work.popen('run', '--agent', 'bot', '--token', token, '--', 'sh', '-c', f'echo x > other; sleep {rest}')
    assert rests(rest)
    logged = lambda: [d for r in work.records() if r['kind'] == 'run.denials' for d in r['denials'] if d.get('violation') == 'token']
    assert wait_until(logged)
    assert process.poll() is None
    process.terminate()
    work.finish(process)
    events = [json.loads(line) for line in work('events').out.splitlines()]
    told = [event for event in events if event['kind'] == 'violation']
    assert [event['denial']['object'] for event in told] == [str(work.work / 'other')]
    assert told[0]['agent'] == 'bot'


def test_a_token_is_nobody_elses(work):
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    for flags in (('--agent', 'thief'), ()):
        result = work.result(*flags, '--token', token, '--', 'cat', 'src/a.txt')
        assert result['status'] == 126 and result['stdout'] == '' and 'not for' in result['error']['message']
    refused = [record for record in work.records() if record['kind'] == 'token.refused']
    assert [record['violation'] for record in refused] == ['token', 'token']
    assert refused[0]['agent'] == 'thief' and refused[0]['token'] == shown(work, token)['id']
    events = [json.loads(line) for line in work('events', '--kind', 'violation').out.splitlines()]
    assert len(events) == 2


def test_a_token_is_nowhere_but_with_its_holder(work):
    token, rest = mint(work, '--allow', 'read src/**', *MINUTE), resting()
    process = work.popen('run', '--agent', 'bot', '--token', token, '--', 'sh', '-c',
                         f'tr "\\0" " " < /proc/$PPID/cmdline; env; sleep {rest}')
    assert rests(rest)
    assert processes(token) == []
    process.terminate()
    done = work.finish(process)
    assert token not in done.out + done.err
    for path in (work.state / 'ward').rglob('*'):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path
    assert shown(work, token)['id'] in work.log.read_text()


def test_narrowing_needs_no_key_and_gives_less(work):
    token = mint(work, '--allow', 'write out/**', '--allow', 'read src/**', *MINUTE)
    away = work.variables | {'XDG_STATE_HOME': str(work.place / 'nowhere')}
    done = work('token', 'narrow', token, '--allow', 'read out/old', '--uses', '2', env=away)
    assert done.code == 0
    less = done.out.strip()
    assert under(work, less, 'cat out/old')['stdout'] == 'old\n'
    assert under(work, less, 'echo x > out/x')['exit_code'] != 0
    assert work('token', 'verify', less).code == 126, 'it was used twice'
    assert under(work, token, 'echo x > out/x')['exit_code'] == 0
    for more in ('write .', 'write src/x', 'connect a.example', 'read secret.txt'):
        assert work('token', 'narrow', token, '--allow', more).code == 126
    assert work('token', 'narrow', token, '--agent', 'other').code == 126


def test_so_many_uses_and_no_more_however_many_try_at_once(work):
    token = mint(work, '--allow', 'read src/**', '--uses', '3', *MINUTE)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(lambda _: work('run', '--agent', 'bot', '--token', token, '--', 'cat', 'src/a.txt').code, range(9)))
    assert sorted(codes) == [0] * 3 + [126] * 6


def test_it_is_bound_to_what_it_names(work):
    other = work.place / 'other'
    other.mkdir()
    work.person.own(other)
    here = mint(work, '--allow', 'read src/**', '--workspace', work.work, *MINUTE)
    assert under(work, here, 'cat src/a.txt')['exit_code'] == 0
    assert under(work, here, 'true', cwd=other)['status'] == 126
    done = work('token', 'mint', '--agent', 'bot', '--allow', 'read src/**', '--', 'cat', 'src/a.txt')
    one = done.out.strip()
    assert work('run', '--agent', 'bot', '--token', one, '--', 'cat', 'src/a.txt').code == 0
    assert work('run', '--agent', 'bot', '--token', one, '--', 'cat', './src/a.txt').code == 126
    assert work('run', '--agent', 'bot', '--token', one, '--env', 'A=1', '--', 'cat', 'src/a.txt').code == 126
    assert work('run', '--agent', 'bot', '--token', one, '-c', 'cat src/a.txt').code == 126


def test_verify_says_whether_and_why_not(work):
    token = mint(work, '--allow', 'http GET https://api.example/v1/*', '--allow', 'sql select users', *MINUTE)
    verify = lambda *words: work('token', 'verify', token, *words)
    assert verify().code == 0
    assert verify('--allow', 'http GET https://api.example/v1/users').code == 0
    assert verify('--allow', 'http POST https://api.example/v1/users').code == 126
    assert verify('--allow', 'http GET https://api.example/v2').code == 126
    assert verify('--allow', 'sql select users').code == 0
    assert verify('--allow', 'sql delete users').code == 126
    assert 'not for' in verify('--agent', 'other').err
    assert work('token', 'verify', '-', input=token + '\n').code == 0


@pytest.mark.parametrize('change, why', [
    (lambda token: token[:-12], ''),
    (lambda token: token[:20] + ('A' if token[20] != 'A' else 'B') + token[21:], ''),
    (lambda token: token * 500, ''),
    (lambda token: '', ''),
    (lambda token: '!' + token, 'base64url'),
])
def test_bad_tokens_are_refused_with_a_reason(work, change, why):
    bad = change(mint(work, '--allow', 'read src/**', *MINUTE))
    for done in (work('token', 'verify', bad), work('run', '--agent', 'bot', '--token', bad, '--', 'cat', 'src/a.txt')):
        assert done.code in (125, 126) and done.out == '' and why in done.err and 'token' in done.err, done


def test_expired_and_a_clock_that_was_moved_back(work):
    brief = mint(work, '--allow', 'read src/**', '--expires', '1s')
    assert wait_until(lambda: 'expired' in work('token', 'verify', brief).err)
    assert 'expired' in work('run', '--agent', 'bot', '--token', brief, '--', 'true').err
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    clock = work.state / 'ward/tokens/clock'
    clock.write_text(f'{int(time.time()) + 300} 0\n')
    assert 'moved back' in work('run', '--agent', 'bot', '--token', token, '--', 'true').err
    clock.write_text(f'{int(time.time()) + 30} 0\n')
    assert work('run', '--agent', 'bot', '--token', token, '--', 'true').code == 0
    # Torn, it would be an earlier time.
    clock.write_text(f'{int(time.time()) + 30}'[:5])
    done = work('run', '--agent', 'bot', '--token', token, '--', 'true')
    assert done.code == 126 and 'rotate --retire' in done.err, done
    assert work('token', 'rotate', '--retire').code == 0
    assert work('run', '--agent', 'bot', '--token', mint(work, '--allow', 'read src/**', *MINUTE), '--', 'true').code == 0


def test_a_command_ends_with_its_token(work):
    rest = resting()
    token = mint(work, '--allow', 'write out/**', '--expires', '3s')
    done = work.finish(work.popen('run', '--agent', 'bot', '--token', token, '--', 'sleep', rest))
    assert done.code == 126 and 'expired' in done.err
    assert resters(rest) == []


@pytest.mark.parametrize('by', ['token', 'id', 'retire'])
def test_when_revoke_returns_nothing_runs_by_it_any_more(work, by):
    token = mint(work, '--allow', 'write out/**', *MINUTE)
    less, word = narrow(work, token, '--allow', 'write out/x/**'), marker()
    process = work.popen('run', '--agent', 'bot', '--token', less, '--', 'sh', '-c',
                         f'mkdir out/x; : {word}; while :; do echo x >> out/x/log; done')
    assert wait_until(lambda: (work.work / 'out/x/log').exists())
    words = {'token': ('revoke', token), 'id': ('revoke', shown(work, token)['id']), 'retire': ('rotate', '--retire')}
    assert work('token', *words[by]).code == 0
    size = (work.work / 'out/x/log').stat().st_size
    assert work('token', 'verify', less).code == 126
    done = work.finish(process)
    assert (work.work / 'out/x/log').stat().st_size == size, 'nothing was written after it had returned'
    assert done.code == 126 and 'revoked' in done.err
    assert work('run', '--agent', 'bot', '--token', less, '--', 'true').code == 126


def test_a_narrower_one_is_revoked_alone(work):
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    less = narrow(work, token, '--uses', '5')
    assert work('token', 'revoke', less).code == 0
    assert work('token', 'verify', less).code == 126
    assert work('token', 'verify', narrow(work, less, '--uses', '1')).code == 126
    assert work('token', 'verify', token).code == 0


def test_keys_rotate(work):
    token = mint(work, '--allow', 'read src/**', *MINUTE)
    assert work('token', 'rotate').code == 0
    newer = mint(work, '--allow', 'read src/**', *MINUTE)
    assert shown(work, token)['key'] != shown(work, newer)['key']
    assert work('token', 'verify', token).code == work('token', 'verify', newer).code == 0
    assert work('token', 'rotate', '--retire').code == 0
    assert work('token', 'verify', token).code == work('token', 'verify', newer).code == 126


def test_an_approver_signs(work):
    public = work('token', 'key', work.place / 'home/key').out.strip()
    other = work('token', 'key', work.place / 'home/other').out.strip()
    assert public.startswith('ed25519:') and public != other
    token = mint(work, '--allow', 'read src/**', '--approver', public, *MINUTE)
    assert 'needs the approval' in work('run', '--agent', 'bot', '--token', token, '--', 'cat', 'src/a.txt').err
    assert work('token', 'approve', token, '--key', work.place / 'home/other').code == 126
    (work.place / 'home/key').chmod(0o640)
    assert 'chmod 600' in work('token', 'approve', token, '--key', work.place / 'home/key').err
    (work.place / 'home/key').chmod(0o600)
    approved = work('token', 'approve', token, '--key', work.place / 'home/key').out.strip()
    assert work('run', '--agent', 'bot', '--token', approved, '--', 'cat', 'src/a.txt').out == 'text\n'
    assert work('token', 'verify', narrow(work, approved, '--uses', '1')).code == 126, 'that is another token'


def test_without_mint_there_is_no_state(plain):
    assert plain('token', 'verify', 'AAAA').code == 126
    assert not (plain.state / 'ward/tokens').exists()


# -- The format, held against those who made it ---------------------------------------------------

def root_key(ward):
    return bytes.fromhex((ward.state / 'ward/tokens/keys').read_text().split()[1])


@pytest.fixture
def pymacaroons():
    return pytest.importorskip('pymacaroons')


def test_pymacaroons_reads_what_ward_writes(plain, pymacaroons):
    token = mint(plain, '--allow', 'read src/**', '--allow', 'write out/**', '--uses', '2', *MINUTE)
    macaroon = pymacaroons.Macaroon.deserialize(token)
    caveats = [caveat.caveat_id_bytes for caveat in macaroon.caveats]
    assert caveats[0] == b'allow read src/**\nallow write out/**' and caveats[1] == b'agent bot'
    verifier = pymacaroons.Verifier()
    verifier.satisfy_general(lambda caveat: True)
    assert verifier.verify(macaroon, root_key(plain))
    assert macaroon.serialize().rstrip('=') == token


def test_ward_reads_what_pymacaroons_writes(plain, pymacaroons):
    token = mint(plain, '--allow', 'read src/**', *MINUTE)
    macaroon = pymacaroons.Macaroon.deserialize(token)
    macaroon.add_first_party_caveat('allow read src/a')
    macaroon.add_first_party_caveat('uses 1')
    less = macaroon.serialize().rstrip('=')
    assert plain('token', 'verify', less).code == 0
    assert plain('token', 'verify', less, '--allow', 'read src/b').code == 126
    macaroon.add_first_party_caveat('moon = full')
    assert 'does not know' in plain('token', 'verify', macaroon.serialize().rstrip('=')).err
    again = pymacaroons.Macaroon.deserialize(token)
    other = pymacaroons.Macaroon(location='ward', identifier=again.identifier_bytes, key=b'another key', version=pymacaroons.MACAROON_V2)
    for caveat in again.caveats:
        other.add_first_party_caveat(caveat.caveat_id)
    assert 'signature' in plain('token', 'verify', other.serialize().rstrip('=')).err


def test_approvals_are_third_party_caveats_as_others_know_them(plain, pymacaroons):
    public = plain('token', 'key', plain.place / 'home/key').out.strip()
    token = mint(plain, '--allow', 'read src/**', '--approver', public, *MINUTE)
    approved = plain('token', 'approve', token, '--key', plain.place / 'home/key').out.strip()
    root = pymacaroons.Macaroon.deserialize(token)
    whole = base64.urlsafe_b64decode(approved + '=' * (-len(approved) % 4))
    behind = whole[len(base64.urlsafe_b64decode(token + '=' * (-len(token) % 4))):]
    discharge = pymacaroons.Macaroon.deserialize(base64.urlsafe_b64encode(behind).decode().rstrip('='))
    verifier = pymacaroons.Verifier()
    verifier.satisfy_general(lambda caveat: True)
    assert verifier.verify(root, root_key(plain), [discharge])


def test_libmacaroons_comes_to_the_same_signature(plain):
    name = ctypes.util.find_library('macaroons')
    if not name:
        pytest.skip('libmacaroons is not there')
    library, error = ctypes.CDLL(name), ctypes.c_int()
    for function in ('macaroon_create', 'macaroon_add_first_party_caveat'):
        getattr(library, function).restype = ctypes.c_void_p
    token = mint(plain, '--allow', 'read src/**', '--uses', '7', *MINUTE)
    raw = base64.urlsafe_b64decode(token + '=' * (-len(token) % 4))
    pymacaroons = pytest.importorskip('pymacaroons')
    macaroon, key = pymacaroons.Macaroon.deserialize(token), root_key(plain)
    size = ctypes.c_size_t
    made = library.macaroon_create(b'ward', size(4), key, size(len(key)), macaroon.identifier_bytes, size(len(macaroon.identifier_bytes)),
                                   ctypes.byref(error))
    for caveat in macaroon.caveats:
        made = library.macaroon_add_first_party_caveat(ctypes.c_void_p(made), caveat.caveat_id_bytes, size(len(caveat.caveat_id_bytes)),
                                                       ctypes.byref(error))
    data, length = ctypes.c_char_p(), size()
    library.macaroon_signature(ctypes.c_void_p(made), ctypes.byref(data), ctypes.byref(length))
    assert ctypes.string_at(data, length.value) == raw[-32:]
