# SPDX-License-Identifier: Apache-2.0
"""ward run beside a daemon, and the policies that were registered for its session."""
import json
import os
import signal

import pytest

from daemon import Refused, serving, wait_for

SAME = [
    ('-c', 'echo out; echo err >&2; exit 4'),
    ('-c', 'kill -9 $$'),
    ('--', 'false'),
    ('--', 'no-such-program-anywhere'),
    ('-c', 'rm -rf /'),
    ('--timeout', '200ms', '-c', 'sleep 600'),
    ('--approval', 'never', '-c', 'echo x > /etc/hosts'),
    ('--deny', 'secret', '-c', 'cat secret'),
    ('--net', 'none', '-c', 'cat /proc/net/dev | wc -l'),
    ('--level', 'airtight', '--', 'true'),
]


def shape(value):
    """All that does not depend on when it was, how long it took, which number its processes had, and what others do in root's home."""
    if isinstance(value, dict) and 'masks' in value:
        value = {**value, 'masks': [path for path in value['masks'] if not path.startswith('/root/')]}
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key not in ('run', 'duration_ms', 'resources', 'time', 'first', 'last', 'pid')}
    return [shape(inner) for inner in value] if isinstance(value, list) else value


def test_results_are_the_same_with_and_without_a_daemon(ward):
    ward.file('secret', 'x')
    with serving(ward):
        pass  # the same environment from here on

    def run_all():
        done = [ward('run', '--json', '--session', 's', *words) for words in SAME]
        return [(one.code, shape(json.loads(one.out))) for one in done]

    run_all()  # what is said once a session is said
    without = run_all()
    with serving(ward):
        assert run_all() == without


def ask_for_home(ward, *words):
    return ward.popen('run', '--json', *words, '-c', f'echo x > {ward.home}/outside')


def test_a_run_without_a_terminal_asks_where_a_daemon_serves(ward):
    alone = ward.finish(ask_for_home(ward))
    assert alone.code != 0
    with serving(ward) as daemon:
        process = ask_for_home(ward)
        approver = daemon.approver()
        question = wait_for(lambda: approver.call('pending')['asks'])[0]
        approver.call('approve', ask=question['id'], scope='once')
        assert ward.finish(process).code == 0


def test_what_waits_is_refused_when_the_daemon_has_gone(ward):
    with serving(ward) as daemon:
        process = ask_for_home(ward)
        approver = daemon.approver()
        wait_for(lambda: approver.call('pending')['asks'])
    assert ward.finish(process).code != 0


def dangerous(ward, *words):
    """What a person is asked about before it starts."""
    ward.file('kept/precious', 'x')
    return ward('run', '--json', '--session', 's', *words, '--', 'rm', '-rf', 'kept')


def test_a_registered_policy_holds_for_its_session_alone(ward):
    with serving(ward) as daemon:
        approver = daemon.approver()
        told = approver.call('policy.register', session='s', policy='rules:\n  - {command: "echo *", do: deny, why: quiet}\n')
        assert told == {'session': 's', 'trusted': True, 'warnings': []}
        assert [policy['session'] for policy in approver.call('policy.list')['policies']] == ['s']
        assert ward('run', '--session', 's', '--', 'echo', 'x').code == 126
        assert ward('run', '--session', 'other', '--', 'echo', 'x').code == 0
    # It needs no daemon to hold.
    refused = ward('run', '--session', 's', '--', 'echo', 'x')
    assert refused.code == 126 and 'quiet' in refused.err
    assert ward('session', 'end', 's').code == 0
    assert ward('run', '--session', 's', '--', 'echo', 'x').code == 0


def test_a_registered_policy_of_the_user_counts_in_full(ward):
    rule = 'rules:\n  - {command: "rm -rf kept", do: allow, why: it is mine}\n'
    assert dangerous(ward).code == 126
    with serving(ward) as daemon:
        daemon.approver().call('policy.register', session='s', policy=rule)
        assert dangerous(ward).code == 0
        daemon.approver().call('policy.forget', session='s')
    assert dangerous(ward).code == 126


def test_a_policy_by_name_is_that_of_the_users_directory(ward):
    ward.file(ward.config / 'ward' / 'policies' / 'quiet.yaml', 'rules:\n  - {command: "echo *", do: deny, why: quiet}\n', 0o600)
    with serving(ward) as daemon:
        approver = daemon.approver()
        approver.call('policy.register', session='s', name='quiet')
        assert ward('run', '--session', 's', '--', 'echo', 'x').code == 126
        for name in ('loud', '../quiet', ''):
            with pytest.raises(Refused):
                approver.call('policy.register', session='s', name=name)


def test_a_policy_that_does_not_validate_is_refused(ward):
    with serving(ward) as daemon:
        with pytest.raises(Refused, match='unknown key'):
            daemon.approver().call('policy.register', session='s', policy='rulez: []')
        with pytest.raises(Refused, match='unknown key'):
            daemon.approver().call('policy.register', session='s', polizy='')
    assert ward('run', '--session', 's', '--', 'true').code == 0


@pytest.mark.parametrize('default, code', [('allow', 0), ('deny', 126)])
def test_silence_is_what_was_registered(ward, default, code):
    with serving(ward) as daemon:
        daemon.approver().call('policy.register', session='s', default=default, timeout=1)
    assert dangerous(ward).code == code
    # A permission is never given by silence.
    assert ward.finish(ask_for_home(ward, '--session', 's')).code != 0


def test_a_broken_registration_is_a_refusal(ward):
    with serving(ward) as daemon:
        daemon.approver().call('policy.register', session='s', default='allow')
    ward.file(ward.state / 'ward' / 'sessions' / 's' / 'policy.json', '{"policy": ', 0o600)
    refused = ward('run', '--session', 's', '--', 'true')
    assert refused.code == 125 and 'policy.json' in refused.err


def test_the_caller_of_a_queued_session_gets_a_ticket(ward):
    with serving(ward) as daemon:
        approver = daemon.approver()
        approver.call('policy.register', session='s', asks='queued')
        deferred = dangerous(ward)
        ticket = json.loads(deferred.out)['ticket']
        assert deferred.code == 75 and (ward.work / 'kept').exists()
        question = wait_for(lambda: approver.call('pending')['asks'])[0]
        approver.call('approve', ask=question['id'], scope='once')
        assert daemon.agent().call('wait', ticket=ticket)['result']['exit_code'] == 0
        assert not (ward.work / 'kept').exists()


def test_a_run_over_the_socket_of_a_queued_session_gives_a_ticket(ward):
    """Its caller is told at once, and may go: the run stays."""
    with serving(ward) as daemon:
        agent, approver = daemon.agent(), daemon.approver()
        approver.call('policy.register', session='s', asks='queued')
        ward.file('kept/file', 'x')
        request = {'workspace': str(ward.work), 'session': 's'}
        assert agent.call('run', command='echo free', **request)['stdout'] == 'free\n'
        result = agent.call('run', command='rm -rf kept', **request)
        assert result['exit_code'] == -1 and result['ticket'] and result['verdict'] == 'ask' and result['error']['kind'] == 'rejected'
        agent.close()
        question, = approver.call('pending')['asks']
        assert question['ticket'] == result['ticket'] and (ward.work / 'kept').exists()
        approver.call('approve', ask=question['id'], scope='once')
        assert daemon.agent().call('wait', ticket=result['ticket'])['result']['exit_code'] == 0
        assert not (ward.work / 'kept').exists()


def test_a_request_does_not_shorten_the_time_after_which_silence_allows(ward):
    """Nor does whoever ends the one that waits."""
    with serving(ward) as daemon:
        agent, approver = daemon.agent(), daemon.approver()
        approver.call('policy.register', session='s', default='allow', timeout=3600)
        ward.file('kept/file', 'x')
        request = {'command': 'rm -rf kept', 'workspace': str(ward.work), 'session': 's'}
        assert agent.call('run', wait='100ms', **request)['exit_code'] == -1
        ticket = agent.call('start', **request)['ticket']
        wait_for(lambda: approver.call('pending')['asks'])
        os.kill(int((ward.state / 'ward' / 'tickets' / ticket / 'lock').read_text()), signal.SIGTERM)
        process = ward.popen('run', '--session', 's', '--wait', '100ms', '--', 'rm', '-rf', 'kept')
        assert ward.finish(process).code == 126
        agent.call('cancel', ticket=ticket, force='end')
        assert agent.call('wait', ticket=ticket)['status']['state'] == 'cancelled'
        assert (ward.work / 'kept' / 'file').exists()


@pytest.mark.parametrize('default, state', [('allow', 'done'), ('deny', 'expired')])
def test_what_is_queued_and_never_answered_ends_as_registered(ward, default, state):
    with serving(ward) as daemon:
        daemon.approver().call('policy.register', session='s', asks='queued', default=default, timeout=1)
        ticket = json.loads(dangerous(ward).out)['ticket']
        told = daemon.agent().call('wait', ticket=ticket)
        assert told['status']['state'] == state
        assert (ward.work / 'kept').exists() == (default == 'deny')


def test_who_has_sent_a_request_is_on_record(ward):
    """By the kernel's word, whatever name it gives the agent. Another user's process is not looked into."""
    with serving(ward) as daemon:
        assert daemon.agent().call('run', command='true', workspace=str(ward.work), agent='robot')['exit_code'] == 0
    start, = [record for record in ward.records() if record['kind'] == 'run.start']
    assert start['agent'] == 'robot' and start['session'].startswith(f'pid-{os.getpid()}-')
    assert start['caller'] == (os.readlink('/proc/self/exe') if ward.person.is_root else None)
