# SPDX-License-Identifier: Apache-2.0
"""ward serve: the daemon's two sockets."""
import json
import os
import signal
import socket
import stat
import subprocess

import pytest

from daemon import Client, Refused, serving, wait_for
from support import PATIENCE, SOURCE


@pytest.fixture
def daemon(ward):
    with serving(ward) as daemon:
        yield daemon


def asked(approver):
    """The first question that stands."""
    return wait_for(lambda: approver.call('pending')['asks'])[0]


def test_sockets_are_the_users_alone(daemon):
    assert stat.S_IMODE(daemon.directory.stat().st_mode) == 0o700
    for name in ('agent.sock', 'approver.sock'):
        assert stat.S_IMODE((daemon.directory / name).stat().st_mode) == 0o600


def test_peers_are_known_by_the_kernels_word(daemon):
    told = daemon.agent().call('ping')
    assert (told['socket'], told['uid'], told['pid']) == ('agent', os.getuid(), os.getpid())
    assert daemon.approver().call('ping')['socket'] == 'approver'


def test_a_run_is_answered_by_its_result(ward, daemon):
    agent = daemon.agent()
    number = agent.send('run', command='echo hello; echo oops >&2; exit 3', workspace=str(ward.work))
    result = agent.answer(number)
    assert (result['exit_code'], result['stdout'], result['stderr']) == (3, 'hello\n', 'oops\n')
    told = [message for message in agent.messages if message.get('method') == 'run.output']
    assert [(m['params']['stream'], m['params']['data']) for m in told] == [('stdout', 'hello\n'), ('stderr', 'oops\n')]
    assert any(m.get('method') == 'run.started' and m['params']['id'] == number for m in agent.messages)


def test_output_can_be_read_again_from_any_place(ward, daemon):
    agent = daemon.agent()
    ticket = agent.call('start', command='printf abcdef', workspace=str(ward.work))['ticket']
    assert agent.call('wait', ticket=ticket)['result']['stdout'] == 'abcdef'
    assert agent.call('output', ticket=ticket, stream='stdout', offset=4) == {'data': 'ef', 'offset': 6}
    again = daemon.agent()
    number = again.send('stream', ticket=ticket, stdout=2)
    assert again.answer(number)['status']['state'] == 'done'
    assert [m['params']['data'] for m in again.messages if m['params'].get('stream') == 'stdout'] == ['cdef']


def test_a_question_is_answered_by_the_approvers_socket(ward, daemon):
    agent, approver = daemon.agent(), daemon.approver()
    number = agent.send('run', command=f'echo x > {ward.home}/outside', workspace=str(ward.work))
    question = asked(approver)
    assert 'nonce' not in question
    assert agent.call('ask.status', ask=question['id'])['state'] == 'pending'
    with pytest.raises(Refused, match='changed'):
        approver.call('approve', ask=question['id'], hash='0' * 64)
    assert approver.call('approve', ask=question['id'], hash=question['hash'], scope='once')['answer'] == 'approve'
    result = agent.answer(number)
    assert result['exit_code'] == 0 and (ward.home / 'outside').read_text() == 'x\n'
    by = [decision['by'] for decision in result['decisions'] if decision['source'] == 'person']
    assert by == [f'{open("/proc/self/comm").read().strip()}[{os.getpid()}], uid {os.getuid()}']
    with pytest.raises(Refused):
        approver.call('approve', ask=question['id'], scope='once')


@pytest.mark.parametrize('method', ['pending', 'show', 'seen', 'approve', 'deny', 'abort', 'defer', 'reply', 'sessions', 'runs', 'follow', 'events',
                                    'retry', 'policy.register', 'policy.forget', 'policy.list', 'as'])
def test_agents_have_no_way_to_an_answer(ward, daemon, method):
    agent, approver = daemon.agent(), daemon.approver()
    number = agent.send('run', command=f'echo x > {ward.home}/outside', workspace=str(ward.work))
    question = asked(approver)
    with pytest.raises(Refused) as refused:
        agent.call(method, ask=question['id'], scope='once', session='s')
    assert refused.value.code == -32601
    assert asked(approver)['id'] == question['id']
    approver.call('deny', ask=question['id'])
    assert agent.answer(number)['exit_code'] != 0


def test_whoever_hangs_up_ends_his_run(ward, daemon):
    agent = daemon.agent()
    agent.send('run', command='echo begun; sleep 600', workspace=str(ward.work))
    ticket = agent.until(lambda m: m.get('method') == 'run.started')['params']['ticket']
    agent.until(lambda m: m.get('method') == 'run.output')
    agent.close()
    other = daemon.agent()
    assert other.call('wait', ticket=ticket, timeout=PATIENCE)['status']['state'] == 'cancelled'


def test_what_was_started_goes_on_without_its_caller(ward, daemon):
    agent = daemon.agent()
    fifo = ward.work / 'fifo'
    os.mkfifo(fifo)
    ward.person.own(fifo)
    ticket = agent.call('start', command='echo $$ > begun; cat fifo', workspace=str(ward.work))['ticket']
    wait_for((ward.work / 'begun').exists)
    agent.close()
    assert daemon.agent().call('status', ticket=ticket)['state'] == 'running'
    fifo.write_text('go\n')
    assert daemon.agent().call('wait', ticket=ticket)['result']['stdout'] == 'go\n'


@pytest.mark.parametrize('how', [signal.SIGKILL, signal.SIGTERM])
def test_runs_outlive_the_daemon(ward, daemon, how):
    agent = daemon.agent()
    fifo = ward.work / 'fifo'
    os.mkfifo(fifo)
    ward.person.own(fifo)
    agent.send('run', command='echo one; cat fifo', workspace=str(ward.work))
    ticket = agent.until(lambda m: m.get('method') == 'run.started')['params']['ticket']
    seen = agent.until(lambda m: m.get('method') == 'run.output')['params']['offset']
    daemon.process.send_signal(how)
    daemon.process.wait(PATIENCE)
    daemon.kill()
    daemon.start()
    again = daemon.agent()
    number = again.send('stream', ticket=ticket, stdout=seen)
    fifo.write_text('two\n')
    assert again.answer(number)['result']['stdout'] == 'one\ntwo\n'
    assert ''.join(m['params']['data'] for m in again.messages if m['params'].get('stream') == 'stdout') == 'two\n'


def test_a_question_outlives_the_daemon(ward, daemon):
    agent = daemon.agent()
    ticket = agent.call('start', command=f'echo x > {ward.home}/outside', workspace=str(ward.work))['ticket']
    question = asked(daemon.approver())
    daemon.kill()
    daemon.start()
    approver = daemon.approver()
    assert asked(approver)['id'] == question['id']
    approver.call('approve', ask=question['id'], scope='once')
    assert daemon.agent().call('wait', ticket=ticket)['result']['exit_code'] == 0


def test_a_run_is_cancelled_by_its_id(ward, daemon):
    agent = daemon.agent()
    number = agent.send('run', command='trap "" TERM; echo begun; sleep 600', workspace=str(ward.work))
    agent.until(lambda m: m.get('method') == 'run.output')
    assert agent.call('cancel', id=number) == {'cancelled': True}
    assert agent.answer(number)['exit_code'] != 0
    assert agent.call('cancel', id=number) == {'cancelled': False}


def test_nobody_takes_part_in_another_process_session(ward, daemon):
    agent = daemon.agent()
    for method in ('run', 'start', 'check'):
        with pytest.raises(Refused, match='another process'):
            agent.call(method, command='true', workspace=str(ward.work), session=f'pid-{os.getppid()}-1')
    with open('/proc/self/stat', encoding='ascii') as stat_file:
        start = stat_file.read().rsplit(')', 1)[1].split()[19]
    own = f'pid-{os.getpid()}-{start}'
    assert agent.call('run', command='true', workspace=str(ward.work), session=own)['exit_code'] == 0


def test_to_give_no_name_is_no_way_round_what_binds_agents(ward, daemon):
    """The lowest score keeps the source of a workspace from being written, whatever the agent calls itself, or not."""
    ward.policy("trust: {agents: ['*']}\n")
    for name in ({'agent': 'robot'}, {}):
        ward.file('src/a', 'old\n')
        result = daemon.agent().call('run', command='echo new > src/a', workspace=str(ward.work), approval='never', **name)
        assert result['exit_code'] != 0 and (ward.work / 'src/a').read_text() == 'old\n', result
    assert ward.records()[-1]['agent'] == 'unnamed'
    assert ward('run', '-c', 'echo new > src/a').code == 0, 'a person\'s own is only sandboxed'


def test_check_runs_nothing(ward, daemon):
    told = daemon.agent().call('check', command='rm -rf /', workspace=str(ward.work))
    assert told['verdict'] == 'deny'


def test_a_second_daemon_is_refused_by_name(ward, daemon):
    second = ward('serve')
    assert second.code == 125
    assert f'process {daemon.process.pid}' in second.err and str(daemon.directory) in second.err
    assert daemon.agent().call('ping')


def test_the_socket_of_a_dead_daemon_is_replaced(ward, daemon):
    daemon.kill()
    assert (daemon.directory / 'agent.sock').exists()
    daemon.start()
    assert daemon.agent().call('ping')


def test_it_ends_cleanly_when_told(ward, daemon):
    daemon.agent().call('ping')
    assert daemon.end() == (0, b'')
    assert not (daemon.directory / 'agent.sock').exists() and not (daemon.directory / 'approver.sock').exists()


def test_a_directory_that_others_may_write_to_is_refused(ward):
    runtime = ward.place / 'runtime'
    (runtime / 'ward').mkdir(parents=True)
    ward.person.own(runtime, runtime / 'ward')
    (runtime / 'ward').chmod(0o770)
    refused = ward('serve', env={'XDG_RUNTIME_DIR': str(runtime)})
    assert refused.code == 125 and 'chmod 700' in refused.err


def test_without_a_runtime_directory_the_sockets_lie_in_the_state(ward):
    process = ward.popen('serve', env={'XDG_RUNTIME_DIR': 'none'})
    try:
        line = process.stderr.readline().decode()
        directory = line.split(' in ')[1].strip()
        if os.path.isdir(f'/run/user/{ward.person.uid}'):
            assert directory == f'/run/user/{ward.person.uid}/ward'
        else:
            assert directory == str(ward.state / 'ward')
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def handed_over(ward, runtime):
    """The sockets as systemd hands them over, from a program that only does that."""
    script = ('import os, socket, sys\n'
              'for fd, name in ((3, "agent.sock"), (4, "approver.sock")):\n'
              '    s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1] + "/" + name); s.listen()\n'
              '    os.dup2(s.fileno(), fd + 10)\n'
              'os.dup2(13, 3); os.dup2(14, 4); os.set_inheritable(3, True); os.set_inheritable(4, True)\n'
              'os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")\n'
              'os.execv(sys.argv[2], ["ward", "serve"])\n')
    return subprocess.Popen(['/usr/bin/python3', '-c', script, str(runtime / 'ward'), ward.binary], stderr=subprocess.PIPE,
                            cwd=ward.work, env={**ward.variables, 'XDG_RUNTIME_DIR': str(runtime)}, **ward.person.identity())


def test_sockets_may_be_handed_over(ward):
    runtime = ward.place / 'r'
    (runtime / 'ward').mkdir(parents=True, mode=0o700)
    ward.person.own(runtime, runtime / 'ward')
    if len(str(runtime)) > 80:
        pytest.skip('the path is too long for an address')
    process = handed_over(ward, runtime)
    try:
        assert b'listening' in process.stderr.readline()
        client = Client(runtime / 'ward' / 'agent.sock')
        assert client.call('run', command='env', workspace=str(ward.work))['stdout'].count('LISTEN_') == 0
        client.close()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert (runtime / 'ward' / 'agent.sock').exists()  # systemd's, who goes on listening


def test_whoever_started_it_is_told_when_it_is_ready(ward):
    path = ward.place / 'n'
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        directory = os.open(path.parent, os.O_PATH)
        notify.bind(f'/proc/self/fd/{directory}/n')
        os.close(directory)
        ward.person.own(path)
        if len(str(path)) > 100:
            pytest.skip('the path is too long for an address')
        notify.settimeout(PATIENCE)
        with serving(ward, env={'NOTIFY_SOCKET': str(path)}) as daemon:
            assert notify.recv(100) == b'READY=1'
            daemon.process.terminate()
            assert notify.recv(100) == b'STOPPING=1'


def test_events_are_told_in_order_and_none_is_missing(ward, daemon):
    agent, approver, later = daemon.agent(), daemon.approver(), daemon.approver()
    number = approver.send('events', follow=True)
    assert approver.answer(number) == {'follows': True}
    for text in 'abc':
        agent.call('run', argv=['echo', text], workspace=str(ward.work))
    all_of_them = wait_for(lambda: (told := later.call('events', limit=1000)['events']) and ended(told) == 3 and told)
    followed = []
    while len(followed) < len(all_of_them):
        followed.append(approver.until(lambda m: m.get('method') == 'event')['params']['event'])
    assert followed == all_of_them
    rest = later.call('events', after=all_of_them[1]['id'], limit=1000)['events']
    assert rest == all_of_them[2:]
    with pytest.raises(Refused):
        later.call('events', after='nowhere')


def ended(events):
    return sum(event['kind'] == 'ended' for event in events)
