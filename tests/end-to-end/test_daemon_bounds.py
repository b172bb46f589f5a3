# SPDX-License-Identifier: Apache-2.0
"""What a client of the daemon can do to others: nothing."""
import json
import socket

import pytest

from daemon import Client, Refused, serving, wait_for


@pytest.fixture
def daemon(ward):
    with serving(ward) as daemon:
        yield daemon


GARBAGE = [b'\n', b'\0', b'{', b'[]', b'null', b'1', b'"x"', b'\xff\xfe', b'{"id": 1}', b'{"method": "ping"}',
           b'{"id": [], "method": "ping"}', b'{"id": 1, "method": "ping", "params": []}', b'{"id": 1, "method": 1}',
           b'{"id": 1, "method": "nothing"}', b'{"id": 1, "id": 2, "method": "ping"}', b'[' * 5000,
           json.dumps({'id': 'x' * 300, 'method': 'ping'}).encode()]


def test_garbage_is_answered_and_the_next_line_read(daemon):
    client = daemon.agent()
    for garbage in GARBAGE:
        client.write(garbage + b'\n')
        if garbage.strip():
            assert 'error' in client.read(), garbage
    assert client.call('ping')


@pytest.mark.parametrize('side', ['agent', 'approver'])
@pytest.mark.parametrize('params', [{}, {'ticket': 'x'}, {'ticket': '../../../../etc/passwd'}, {'ticket': 'a' * 26},
                                    {'ask': 'a' * 26}, {'ask': '..'}, {'session': '../x'}, {'session': '.'}, {'limit': -1},
                                    {'limit': 10**18}, {'ticket': 'a' * 26, 'offset': -1}, {'uid': -1}, {'id': {}},
                                    {'ticket': 'a' * 26, 'force': 'harder'}, {'argv': 'x'}, {'workspace': 'relative', 'argv': ['true']},
                                    {'workspace': 5}, {'timeout': 'x', 'session': 's', 'asks': 'maybe'}])
def test_every_method_takes_anything(ward, daemon, side, params):
    client = getattr(daemon, side)()
    for method in client.call('methods'):
        try:
            client.call(method, **params)
        except Refused as refused:
            assert refused.code in (-32602, -32002, -32000), (method, refused.message)
    assert client.call('ping')


def test_a_line_that_is_too_long_is_left_out(daemon):
    client, other = daemon.agent(), daemon.agent()
    client.write(b'{"id": 1, "method": "ping", "params": {"x": "' + b'x' * (3 << 20))
    assert other.call('ping')
    client.write(b'"}}\n')
    assert 'too long' in client.read()['error']['message']
    assert client.call('ping')


def test_whoever_floods_is_read_slowly_and_holds_nobody_up(daemon):
    flood, other = daemon.agent(), daemon.agent()
    flood.socket.setblocking(False)
    line, sent = b'{"id": 1, "method": "ping"}\n' * 1000, 0
    while sent < 20:
        try:
            flood.socket.send(line)
        except BlockingIOError:
            pass
        sent += 1
        assert other.call('ping')


def test_whoever_does_not_read_is_left_alone_with_it(ward, daemon):
    """Output waits in files, so that a reader who stalls costs no memory; and his run goes on."""
    stalled, other = daemon.agent(), daemon.agent()
    stalled.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.send('run', command='head -c 12000000 /dev/zero; echo done > finished', workspace=str(ward.work))
    wait_for((ward.work / 'finished').exists)
    for _ in range(50):
        assert other.call('ping')
    waits = open(f'/proc/{daemon.process.pid}/status').read()
    assert int(waits.split('RssAnon:')[1].split()[0]) < 256 << 10  # a sanitizer's own memory included
    total = 0
    while True:
        message = stalled.read()
        if message.get('method') == 'run.output' and message['params']['stream'] == 'stdout':
            total += len(message['params'].get('data', ''))
        if message.get('id') == 1 and 'result' in message:
            break
    assert total == 12000000


def test_a_connection_has_so_many_calls_at_once(ward, daemon):
    client = daemon.agent()
    ticket = client.call('start', command='sleep 600', workspace=str(ward.work))['ticket']
    other = daemon.agent()
    for _ in range(80):
        client.send('wait', ticket=ticket)
    assert other.call('ping')
    # The rest is read when those are answered.
    other.call('cancel', ticket=ticket, force='end')
    answers = [client.answer(number) for number in range(2, 82)]
    assert all(answer['status']['state'] == 'cancelled' for answer in answers)


def test_agents_cannot_take_the_approvers_places(daemon):
    clients = [Client(daemon.directory / 'agent.sock') for _ in range(260)]
    assert daemon.approver().call('ping')
    assert [client for client in clients if not try_ping(client)], 'there is no bound'
    for client in clients:
        client.close()
    assert wait_for(lambda: try_ping(daemon.agent()))


def try_ping(client):
    try:
        client.send('ping')
        message = client.read()
    except OSError:
        return False
    return message is not None and 'result' in message


def test_lists_are_bounded_and_say_so(ward, daemon):
    agent = daemon.agent()
    for _ in range(3):
        agent.call('run', command='true', workspace=str(ward.work))
    told = agent.call('tickets', limit=2)
    assert len(told['tickets']) == 2 and told['more'] is True
    assert agent.call('tickets', limit=3)['more'] is False
    assert len(daemon.approver().call('runs', limit=1)['runs']) == 1


def test_hanging_up_in_the_middle_of_anything_harms_nobody(ward, daemon):
    for data in (b'{"id": 1, "meth', b'{"id": 1, "method": "run", "params": {"command": "true", "workspace": "%s"}}\n'
                 % str(ward.work).encode(), b'{"id": 1, "method": "tickets"}\n', b'{"id": 1, "method": "check"}\n' * 10):
        for _ in range(5):
            client = daemon.agent()
            client.write(data)
            client.close()
    assert daemon.agent().call('run', command='echo on', workspace=str(ward.work))['stdout'] == 'on\n'


def test_one_agent_cannot_have_all_the_tickets(ward, daemon):
    agent = daemon.agent()
    request = {'command': f'echo x > {ward.home}/outside', 'workspace': str(ward.work)}
    ticket = agent.call('start', agent='greedy', **request)['ticket']
    tickets = ward.state / 'ward' / 'tickets'
    # As many more as there may be, without the processes.
    for number in range(299):
        name = f'{number:026d}'
        copy = ward.file(tickets / name / 'state.json', (tickets / ticket / 'state.json').read_text().replace(ticket, name)
                         .replace('running', 'waiting'), 0o600)
        copy.parent.chmod(0o700)
        ward.file(copy.parent / 'lock', '', 0o600)
        ward.file(tickets / '.open' / name)
    with pytest.raises(Refused, match='greedy') as refused:
        agent.call('start', agent='greedy', **request)
    assert refused.value.code == -32000
    other = agent.call('start', agent='modest', command='echo on', workspace=str(ward.work))['ticket']
    assert agent.call('wait', ticket=other)['result']['stdout'] == 'on\n'
    agent.call('cancel', ticket=ticket, force='end')
