# SPDX-License-Identifier: Apache-2.0
"""Trust: scores of agents, what changes them, what they unlock, and rules that are learnt."""
import json
import subprocess

import pytest

from daemon import Refused, serving
from test_pending import waits


@pytest.fixture
def ward(plain):
    return plain


def says(ward, text='', **keys):
    more = ''.join(f'  {key}: {value}\n' for key, value in keys.items())
    ward.policy(f'trust:\n  agents: [robot]\n{more}{text}' + ('' if 'tiers' in text else 'tiers: {answer: 30s}\n'))


def score(ward, agent='robot'):
    return json.loads(ward('trust', '--json', agent).out)['score']


def history(ward):
    return [change['kind'] for change in json.loads(ward('trust', '--json', 'robot').out)['history']]


def check(ward, *argv):
    return json.loads(ward('check', '--json', '--agent', 'robot', '--', *argv).out)


def tasks(ward, count):
    for _ in range(count):
        assert ward('trust', 'task', 'robot', '--why', 'well done').code == 0


def asked(ward, *argv, verb='approve', flags=()):
    process = ward.popen('run', '--json', '--agent', 'robot', '--wait', '600s', '--', *argv)
    question, = waits(ward)
    assert ward(verb, question['id'], *flags).code == 0
    done = ward.finish(process)
    return json.loads(done.out), done.err


def git(ward, *words):
    subprocess.run(['git', '-C', ward.work, '-c', 'user.name=x', '-c', 'user.email=x@x', *words], check=True,
                   env={'PATH': '/usr/bin:/bin', 'HOME': str(ward.home)}, **ward.person.identity(), capture_output=True)


def content(ward, name):
    return (ward.work / name).read_text()


def test_a_person_changes_it_and_says_why(ward):
    says(ward)
    assert score(ward) == 0
    for words in (['task', 'robot'], ['task'], ['task', 'other', '--why', 'x'], ['nonsense', 'robot'], ['learn', 'accept'], ['other']):
        assert ward('trust', *words).code == 125
    tasks(ward, 3)
    assert ward('trust', 'override', 'robot', '--why', 'undid it').code == 0
    assert score(ward) == 1 and history(ward) == ['task'] * 3 + ['override']
    shown = ward('trust', 'robot').out
    assert 'score     1 of 100' in shown and 'undid it' in shown and 'at 50, 49 to go' in shown and 'git commit' in shown
    assert ward('trust', 'reset', 'robot', '--why', 'anew').code == 0
    assert score(ward) == 0 and 'robot' in ward('trust').out
    assert [record['change'] for record in ward.records() if record['kind'] == 'trust'] == ['task'] * 3 + ['override', 'reset']


def test_nobody_is_under_trust_unless_the_policy_says_so(ward):
    assert 'no agent under trust' in ward('trust').out
    assert ward('trust', 'task', 'robot', '--why', 'x').code == 125


def test_the_plot_is_ascii_where_that_is_all_there_is(ward):
    says(ward, start=70)
    plain = ward('trust', 'robot', env={'LC_ALL': 'C'}).out
    assert 'history   +  70 to 70' in plain and plain.isascii()


def test_a_threshold_unlocks_commands(ward):
    says(ward, start=49)
    found = check(ward, 'git', 'commit', '-m', 'x')
    assert (found['verdict'], found['source']) == ('ask', 'trust') and 'from a trust of 50' in found['reason']
    assert check(ward, 'git', 'status')['verdict'] == 'allow'
    tasks(ward, 1)
    found = check(ward, 'git', 'commit', '-m', 'x')
    assert (found['verdict'], found['source']) == ('allow', 'trust')
    assert check(ward, 'sudo', 'git', 'commit')['verdict'] == 'deny'
    assert check(ward, 'git', 'push', 'origin', 'main')['verdict'] == 'ask'


def test_a_rule_beats_a_score(ward):
    says(ward, 'rules: [{command: git commit, do: ask}, {command: git branch, do: deny}]\n', start=60)
    assert check(ward, 'git', 'commit')['verdict'] == 'ask' and check(ward, 'git', 'branch', 'x')['verdict'] == 'deny'


def test_below_a_threshold_what_it_names_is_not_written(ward):
    says(ward, 'tiers: {answer: 200ms}\n')
    ward.file('src/a', 'old\n')
    script = 'echo new > src/a; echo x > b'
    ward('run', '--agent', 'robot', '--', 'sh', '-c', script)
    assert content(ward, 'src/a') == 'old\n' and content(ward, 'b') == 'x\n'
    tasks(ward, 25)
    assert ward('run', '--agent', 'robot', '--', 'sh', '-c', script).code == 0
    assert content(ward, 'src/a') == 'new\n'
    # Nobody else is bound.
    assert ward('trust', 'reset', 'robot', '--why', 'x').code == 0
    assert ward('run', '--', 'sh', '-c', script).code == 0


def test_a_person_gives_what_a_score_withholds(ward):
    says(ward)
    ward.file('src/a', 'old\n')
    result, _ = asked(ward, 'sh', '-c', 'echo new > src/a')
    assert result['exit_code'] == 0 and content(ward, 'src/a') == 'new\n'


def test_a_threshold_gives_what_is_missing(ward):
    place = ward.home / 'elsewhere'
    place.mkdir()
    ward.person.own(place)
    says(ward, start=55, thresholds=f'[{{at: 50, unlocks: ["write {place}/**"]}}]')
    done = ward('run', '--json', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {place}/f')
    result = json.loads(done.out)
    assert result['exit_code'] == 0 and (place / 'f').read_text() == 'x\n'
    given = [decision for decision in result['decisions'] if decision['stage'] == 'grant'][0]
    assert given['source'] == 'trust' and given['by'] == 'trust 55, unlocked from 50 on'


def test_what_is_never_unlocked_is_not(ward):
    secret = ward.home / '.ssh'
    secret.mkdir()
    ward.person.own(secret)
    says(ward, start=100, thresholds=f'[{{at: 50, unlocks: ["write ~/.ssh/**", "write ~/never/**"]}}]', never='["write ~/never/**"]')
    (ward.home / 'never').mkdir()
    ward.person.own(ward.home / 'never')
    for path in ('.ssh/authorized_keys', 'never/f'):
        ward.file('script', f'echo x > ~/{path}\n')
        done = ward('run', '--agent', 'robot', '--', 'sh', 'script')
        assert done.code != 0 and 'tier is critical' in done.err
        assert not (ward.home / path).exists()


@pytest.mark.parametrize('argv', [['sudo', 'ls'], ['sh', '-c', 'true && sudo -n ls'], ['env', 'doas', 'ls'], ['/usr/bin/su', '-', 'root'], ['su'],
                                  ['pkexec', 'id']], ids=str)
def test_sudo_and_its_kin_no_agent_is_given(ward, argv):
    """Nobody is asked either: a person runs it."""
    says(ward, 'rules: [{command: "sudo **", do: allow, why: the test}]\n', start=100, thresholds='[{at: 50, commands: [sudo, su]}]')
    for flags in ((), ('--escalated',)):
        done = ward('run', '--agent', 'robot', '--wait', '60s', *flags, '--', *argv)
        assert done.code == 126 and 'tier critical' in done.err, done
    found = check(ward, *argv)
    assert (found['verdict'], found['source'], found['tier']) == ('deny', 'trust', 'critical')
    assert 'tier' not in json.loads(ward('check', '--json', '--', *argv).out)


def test_a_hook_does_not_ask_for_it_either(ward):
    call = {'session_id': 's', 'cwd': str(ward.work), 'hook_event_name': 'PreToolUse', 'tool_name': 'Bash', 'permission_mode': 'default',
            'tool_input': {'command': 'sudo ls'}}
    for agents, critical in (('other', False), ('claude-code', True)):
        ward.policy(f'trust: {{agents: [{agents}]}}\n')
        said = json.loads(ward('hook', input=json.dumps(call)).out)['hookSpecificOutput']
        assert said['permissionDecision'] == 'deny' and ('tier critical' in said['permissionDecisionReason']) == critical, said


def test_a_user_adds_to_what_is_never_unlocked_and_takes_nothing_away(ward):
    says(ward, never='[]')
    ward.file('.ward.yaml', 'trust: {never: ["write ./x"], start: 90, thresholds: [], tests: [true], decay: 1}\n')
    shown = json.loads(ward('policy', 'show', '--json').out)
    assert shown['trust']['never'] == ['production', 'security', 'secrets', 'sudo', 'write ./x']
    assert shown['trust']['start'] == 0 and len(shown['trust']['thresholds']) == 3 and shown['trust']['tests'] == []
    assert sum('trust.' in warning for warning in shown['warnings']) == 4


@pytest.mark.parametrize('text', ['start: 101', 'start: x', 'points: {task: -1}', 'points: {violation: 1}', 'decay: 2', 'thresholds: [{unlocks: []}]',
                                  'thresholds: [{at: 50}, {at: 50}]', 'thresholds: [{at: 5, commands: ["**"]}]', 'never: [everything]',
                                  'thresholds: [{at: 5, unlocks: ["secret X"]}]', 'tests: make', 'violations: {then: forgive}', 'learn: {after: -1}',
                                  'nonsense: 1', 'violations: {within: 0s}'])
def test_what_makes_no_sense_is_refused_with_its_place(ward, text):
    ward.policy(f'trust: {{agents: [robot], {text}}}\n')
    done = ward('policy', 'check')
    assert done.code != 0 and ':1:' in done.err + done.out


def test_tests_count_once_for_a_state_of_the_workspace(ward):
    says(ward, tests='[make test]')
    ward.file('Makefile', 'test:\n\ttest ! -e broken\n')
    ward.file('a', 'one\n')
    git(ward, 'init', '-q')
    git(ward, 'add', '-A')
    for _ in range(2):
        assert ward('run', '--agent', 'robot', '--', 'make', 'test').code == 0
    assert score(ward) == 1
    git(ward, 'commit', '-qm', 'x', '--allow-empty')
    ward.file('junk', 'untracked\n')
    assert ward('run', '--agent', 'robot', '--', 'make', 'test').code == 0
    assert score(ward) == 1
    ward.file('a', 'two\n')
    assert ward('run', '--agent', 'robot', '-c', 'make test').code == 0
    assert score(ward) == 2
    ward.file('a', 'three\n')
    ward.file('broken', '')
    assert ward('run', '--agent', 'robot', '--', 'make', 'test').code != 0
    assert score(ward) == 2 and history(ward) == ['tests', 'tests']


def test_asking_first_counts_once_a_day_and_a_no_not_at_all(ward):
    says(ward, learn='{after: 0}')
    result, _ = asked(ward, 'git', 'push', 'origin', 'one', verb='deny')
    assert history(ward) == []
    for name in ('one', 'two'):
        asked(ward, 'git', 'push', 'origin', name)
    assert history(ward) == ['asked']


def test_who_is_stopped_loses(ward):
    says(ward, start=10)
    asked(ward, 'git', 'push', 'origin', 'one', verb='deny', flags=['--abort'])
    assert history(ward) == ['override'] and score(ward) == 5


def test_what_is_approved_again_and_again_is_proposed_and_withdrawn(ward):
    says(ward, learn='{after: 2, expires: 2d}')
    _, said = asked(ward, 'git', 'push', 'origin', 'main')
    assert 'ward trust learn' not in said and ward('trust', 'learn').out == 'nothing is proposed\n'
    process = ward.popen('run', '--agent', 'robot', '--wait', '600s', '--', 'git', 'push', 'origin', 'main')
    question, = waits(ward)
    assert ward('approve', question['id']).code == 0
    assert 'ward trust learn' in ward.finish(process).err
    proposal = json.loads(ward('trust', 'learn', '--json').out)
    assert proposal['state'] == 'proposed' and proposal['approvals'] == 2 and 'exactly this command of robot' in proposal['admits']
    before = (ward.config / 'ward/ward.yaml').read_text()
    assert check(ward, 'git', 'push', 'origin', 'main')['verdict'] == 'ask'
    done = ward('trust', 'learn', 'accept', proposal['id'])
    assert done.code == 0 and 'admits' in done.out
    found = check(ward, 'git', 'push', 'origin', 'main')
    assert (found['verdict'], found['source']) == ('allow', 'rule')
    assert check(ward, 'git', 'push', 'origin', 'other')['verdict'] == 'ask'
    assert check(ward, 'git', 'push', '--force', 'origin', 'main')['verdict'] == 'ask'
    assert json.loads(ward('check', '--json', '--agent', 'other', '--', 'git', 'push', 'origin', 'main').out)['verdict'] == 'ask'
    assert json.loads(ward('trust', 'learn', '--json').out)['state'] == 'accepted'
    assert ward('trust', 'learn', 'accept', proposal['id']).code == 125
    # What has ended says nothing any more.
    text = (ward.config / 'ward/ward.yaml').read_text()
    assert text.startswith(before) and 'until: "' in text
    ward.policy(text.replace(text.split('until: "')[1][:4], '2001'))
    assert check(ward, 'git', 'push', 'origin', 'main')['verdict'] == 'ask'


@pytest.mark.parametrize('argv', [['sh', '-c', 'git push'], ['python3', '-c', 'print(1)'], ['env', 'git', 'push'], ['runuser', '-u', 'nobody', 'git', 'push']])
def test_interpreters_shells_and_privilege_are_never_learnt(ward, argv):
    says(ward, learn='{after: 1}')
    process = ward.popen('run', '--agent', 'robot', '--approval', 'on-request', '--wait', '600s', '--', *argv)
    question, = waits(ward)
    assert ward('approve', question['id']).code == 0
    ward.finish(process)
    assert ward('trust', 'learn').out == 'nothing is proposed\n'


def test_the_socket_of_approvers_notes_tasks_and_that_of_agents_does_not(ward):
    says(ward)
    with serving(ward) as daemon:
        approver, agent = daemon.approver(), daemon.agent()
        assert approver.call('trust.note', agent='robot', kind='task', why='x') == {'agent': 'robot', 'score': 2}
        assert approver.call('trust.score', agent='robot')['score'] == 2
        for params in ({'agent': 'other', 'kind': 'task', 'why': 'x'}, {'agent': 'robot', 'kind': 'tests', 'why': 'x'}, {'agent': 'robot', 'kind': 'task'}):
            with pytest.raises(Refused):
                approver.call('trust.note', **params)
        with pytest.raises(Refused):
            agent.call('trust.note', agent='robot', kind='task', why='x')
    assert score(ward) == 2


def test_a_history_that_cannot_be_read_is_no_trust(ward):
    says(ward, start=60)
    tasks(ward, 1)
    path = ward.state / 'ward' / 'agents' / 'robot' / 'trust.jsonl'
    path.write_text('nonsense\n')
    assert ward('trust', 'robot').code == 125
    assert check(ward, 'git', 'commit')['verdict'] == 'ask'
