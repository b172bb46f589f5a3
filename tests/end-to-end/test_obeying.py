# SPDX-License-Identifier: Apache-2.0
"""What policy files say is what happens."""
import json
import pathlib
import subprocess

import pytest


def call(ward, **params):
    """One request of another program, over JSON-RPC."""
    done = ward('serve', '--stdio', input=json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': params}) + '\n')
    return json.loads(done.out)['result']


@pytest.fixture
def outside(plain):
    directory = plain.place / 'outside'
    directory.mkdir()
    plain.person.own(directory)
    return directory


def test_a_rule_refuses_with_its_reason(plain):
    plain.policy('rules:\n  - {command: touch, do: deny, why: nothing is touched here}\n')
    done = plain.run('env', 'X=1', 'touch', 'f')
    assert done.code == 126 and 'nothing is touched here' in done.err and not (plain.work / 'f').exists()
    start = plain.records()[0]
    assert (start['verdict'], start['source']) == ('deny', 'rule') and start['rule'].endswith('ward.yaml:2')
    assert start['policy'] == [str(plain.config / 'ward' / 'ward.yaml')]
    assert plain.run('ls').code == 0


def test_a_rule_allows_with_its_permissions(plain, outside):
    plain.policy(f"rules:\n  - command: cp\n    do: allow\n    why: it deploys\n    permissions: ['write {outside}']\n")
    plain.file('a', 'x')
    assert plain.run('cp', 'a', outside).code == 0 and (outside / 'a').read_text() == 'x'
    assert plain.run('mv', 'a', outside / 'b').code != 0
    assert plain.records()[0]['source'] == 'rule'


def test_a_rule_for_one_host_does_not_open_the_network(plain):
    plain.policy("rules:\n  - {command: cat, do: allow, why: x, permissions: ['connect example.org:443']}\n")
    assert len(plain.run('cat', '/proc/net/dev').out.splitlines()) == 3  # two lines of heading, and lo


def test_what_is_asked_about_is_refused_where_nobody_is(plain):
    plain.policy('rules:\n  - {command: ls, do: ask, why: it looks}\n')
    done = plain.run('ls')
    assert done.code == 126 and 'it looks' in done.err


def test_an_allow_rule_lifts_what_speaks_against_a_command(plain):
    (plain.work / 'work').mkdir()
    plain.person.own(plain.work / 'work')
    assert plain.run('rm', '-rf', 'work').code == 126
    plain.allow('rm')
    assert plain.run('rm', '-rf', 'work').code == 0 and not (plain.work / 'work').exists()
    assert plain.sh('curl -s x | sh; rm -rf work').code == 126


def test_files_environment_limits_and_level(plain, outside):
    plain.file('secret', 'hidden\n')
    plain.file('.env', 'shown\n')
    plain.policy(f"""sandbox:
  files: {{read: [.env], write: ['{outside}'], deny: [secret]}}
  environment: {{keep: [MY_TOKEN], set: {{COLOUR: green}}}}
  limits: {{time: 5s, cpu: 50%}}
""")
    result = plain.result('--', 'sh', '-c', f'cat .env; cat secret; echo x > {outside}/f; echo $MY_TOKEN $COLOUR', env={'MY_TOKEN': 't'})
    assert result['stdout'] == 'shown\nt green\n' and (outside / 'f').exists()
    # Held by a control group, or said.
    assert not pathlib.Path('/sys/fs/cgroup/cpu').exists() or any('the limit cpu is not enforced' in warning for warning in result['sandbox_warnings'])
    assert plain.run('sleep', '60').code == 124
    assert plain.run('sleep', '60', flags=['--timeout', '0.2s']).code == 124
    assert plain.sh('cat secret', '--read', 'secret').code != 0


def test_a_profile(plain):
    plain.policy('profiles:\n  quick: {limits: {time: 300ms}}\n')
    assert plain.run('sleep', '60', flags=['--profile', 'quick']).code == 124
    assert plain.run('true', flags=['--profile', 'code']).code == 0
    done = plain.run('true', flags=['--profile', 'none-such'])
    assert done.code == 125 and 'none-such' in done.err and 'quick' in done.err


@pytest.mark.parametrize('text, where', [
    ('sandbox:\n  levle: none\n', ':2:3'), ('approval: sometimes\n', ':1:11'), ('rules: [', ':'), ('a: &x 1\n', ':1:'),
    ('rules:\n  - {command: ls, do: deny, why: x, match: [cat]}\n', ':2:')])
def test_a_policy_that_does_not_hold_refuses_the_run(plain, text, where):
    plain.policy(text)
    done = plain.run('touch', 'f')
    assert done.code == 125 and 'ward.yaml' + where in done.err and not (plain.work / 'f').exists()
    result = plain.result('--', 'true')
    assert result['exit_code'] == -1 and result['error']['file'].endswith('ward.yaml') and result['error']['line'] > 0
    assert plain('check', '--', 'true').code == 125


def test_a_project_narrows_at_once_and_widens_when_trusted(plain, outside):
    plain.file('.ward.yaml', f"""sandbox: {{files: {{write: ['{outside}']}}}}
rules:
  - {{command: touch, do: deny, why: not in this project}}
  - {{command: git push, do: allow, why: fine}}
""")
    assert plain.run('touch', 'f').code == 126
    assert plain.sh(f'echo x > {outside}/f').code != 0 and plain.run('git', 'push').code == 126
    done = plain('policy', 'trust')
    assert done.code == 0, done
    assert plain.sh(f'echo x > {outside}/f').code == 0
    assert plain.run('git', 'push').code not in (125, 126)
    plain.file('.ward.yaml', (plain.work / '.ward.yaml').read_text() + '# changed\n')
    assert plain.sh(f'echo y > {outside}/f').code != 0


def test_a_command_cannot_write_itself_a_policy_that_counts(plain, outside):
    plain.sh(f"echo \"sandbox: {{files: {{write: ['{outside}']}}}}\" > .ward.yaml; mkdir -p ~/.config/ward $XDG_CONFIG_HOME/ward; "
             "echo 'approval: never' > $XDG_CONFIG_HOME/ward/ward.yaml")
    assert not (plain.config / 'ward').exists()
    assert plain.sh(f'echo x > {outside}/f').code != 0 and not (outside / 'f').exists()


@pytest.mark.parametrize('config', [None, 'dotfiles'])
def test_a_command_whose_workspace_is_home_cannot_plant_a_policy(plain, outside, config):
    place = plain.home / (config or '.config')
    env = {'XDG_CONFIG_HOME': str(place) if config else None, 'XDG_STATE_HOME': None}
    flags = ['--workspace', plain.home, '--cwd', plain.home]
    # In a file: of its text somebody would be asked first.
    plain.file(plain.home / 'plant', f'mkdir -p {place}/ward; echo "sandbox: {{files: {{write: [{outside}]}}}}" > {place}/ward/ward.yaml\n'
                                     f'mv {place} {place}2; mkdir -p {place}/ward; echo "approval: never" > {place}/ward/ward.yaml\necho x > mine\n')
    done = plain.sh('sh ./plant', *flags, env=env)
    assert (plain.home / 'mine').exists(), done
    assert not (place / 'ward' / 'ward.yaml').exists() and not (plain.home / (place.name + '2')).exists()
    assert plain.sh(f'echo x > {outside}/f', *flags, env=env).code != 0 and not (outside / 'f').exists()


def test_approval_of_the_policy_holds_unless_a_flag_says_otherwise(plain):
    plain.policy('approval: unless-trusted\n')
    assert plain.run('ls').code == 126
    assert plain.run('ls', flags=['--approval', 'on-failure']).code == 0


def test_another_program_can_only_narrow(plain, outside):
    plain.policy('approval: unless-trusted\nrules:\n  - {command: ls, do: allow, why: harmless}\n')
    assert call(plain, argv=['ls'])['exit_code'] == 0
    for wider in ({'approval': 'on-failure'}, {'approval': 'never'}):
        result = call(plain, argv=['touch', 'f'], **wider)
        assert result['verdict'] == 'deny' and not (plain.work / 'f').exists(), wider
    for wider in ({'level': 'none'}, {'write': [str(outside)]}, {'net': 'full'}, {'escalated': True}, {'keep_env': ['A_TOKEN']}):
        result = call(plain, argv=['ls'], **wider)
        assert result['verdict'] == 'deny' and result['error']['kind'] == 'rejected', (wider, result)


def test_a_policy_changed_between_two_requests_is_noticed(plain):
    process = plain.popen('serve', '--stdio', stdin=subprocess.PIPE)

    def ask():
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"argv": ["ls"], "session": "s"}}\n')
        process.stdin.flush()
        return json.loads(process.stdout.readline())['result']

    assert ask()['exit_code'] == 0
    plain.policy('rules:\n  - {command: ls, do: deny, why: changed}\n')
    assert ask()['verdict'] == 'deny'
    plain.policy('# nothing any more\n')
    assert ask()['exit_code'] == 0
    assert plain.finish(process).code == 0
    assert {record['session'] for record in plain.records() if record['kind'] == 'run.start'} == {'s'}


def test_check_tells_the_rule(plain):
    plain.policy('rules:\n  - {command: git push, do: deny, why: not from here}\n')
    done = plain('check', '--json', '--', 'git', 'push')
    checked = json.loads(done.out)
    assert done.code == 2 and (checked['verdict'], checked['source'], checked['reason']) == ('deny', 'rule', 'not from here')
    assert checked['rule'].endswith('ward.yaml:2')
    assert plain('check', '--approval', 'never', '--', 'npm', 'publish').code == 2
    assert plain('check', '--', 'npm', 'publish').code == 1


def test_another_program_cannot_choose_its_rules(plain, outside):
    """Not by a policy that a command wrote, nor by another workspace, nor by a profile."""
    plain.policy(f"profiles: {{wide: {{files: {{write: ['{outside}']}}}}}}\nrules:\n  - {{command: touch, do: deny, why: no}}\n")
    assert call(plain, command='echo "sandbox: {level: none}" > /tmp/p.yaml', session='s')['exit_code'] == 0
    written = plain.state / 'ward' / 'sessions' / 's' / '.ward-inside-tmp' / 'p.yaml'
    assert written.exists()
    result = call(plain, argv=['cat', '/proc/self/status'], policy=str(written), session='s')
    assert 'Seccomp:\t2' in result['stdout']
    assert 'Seccomp:\t2' in plain.run('cat', '/proc/self/status', flags=['--policy', written]).out
    for wider in ({'workspace': str(plain.home)}, {'workspace': '/usr'}, {'profile': 'wide'}):
        assert call(plain, argv=['true'], **wider)['verdict'] == 'deny', wider
    assert call(plain, argv=['true'], profile='code')['exit_code'] == 0


def test_a_rule_means_the_program_as_everybody_has_it(plain, outside):
    evil = plain.file('bin/cp', f'#!/bin/sh\necho evil > {outside}/evil\n', 0o755)
    plain.policy(f"rules:\n  - command: cp\n    do: allow\n    why: it deploys\n    permissions: ['write {outside}']\n")
    path = f'{evil.parent}:/usr/bin:/bin'
    plain.run('cp', 'a', 'b', env={'PATH': path})
    plain.run('cp', 'a', 'b', flags=['--env', f'PATH={path}'])
    plain.run(evil, 'a', 'b')
    plain('run', '--shell', evil, '-c', 'cp a b')
    assert not (outside / 'evil').exists()


def test_what_one_command_may_another_beside_it_may_not(plain, outside):
    plain.file('a', 'x')
    plain.policy(f"rules:\n  - command: cp\n    do: allow\n    why: it deploys\n    permissions: ['write {outside}']\n")
    assert plain('run', '-c', f'cp a {outside}/a; echo x > {outside}/b').code != 0
    assert not (outside / 'b').exists()
    assert plain.run('cp', 'a', outside / 'a').code == 0


def test_an_allowed_command_does_not_cover_its_neighbour(plain):
    plain.policy('rules:\n  - {command: git push origin, do: allow, why: fine}\n')
    assert plain('check', '--', 'git', 'push', 'origin', 'main').code == 0
    assert plain('check', '-c', 'git push origin main; git push evil main').code == 1


def test_a_required_wall_is_required(plain):
    plain.policy('sandbox: {require: [netns]}\n')
    assert plain.run('true').code == 0
    assert plain.run('true', flags=['--net', 'full']).code == 125


def test_level_none_is_said_whoever_chose_it(plain):
    plain.policy('sandbox: {level: none}\n')
    done = plain.run('true')
    assert done.code == 0 and 'running without the sandbox' in done.err
