# SPDX-License-Identifier: Apache-2.0
"""ward web: what nobody can make it do: wait, fill its memory, or turn others away."""
import contextlib
import fcntl
import json
import os
import random
import resource
import socket

import pytest

from support import PATIENCE, wait_until
from web import Browser, Stream, serving


@pytest.fixture
def web(plain):
    with serving(plain) as web:
        yield web


def test_a_body_has_an_end(web):
    browser = web.browser()
    reply = browser.post('/api/logout', b'{"x": "' + b'x' * 70000 + b'"}')
    assert reply.status == 413
    head = (f'POST /api/logout HTTP/1.1\r\nHost: {web.host}\r\nCookie: {browser.cookie}\r\nOrigin: http://{web.host}\r\n'
            f'X-Ward-CSRF: {browser.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n')
    with socket.create_connection(web.address, PATIENCE) as connection:
        connection.sendall(head.encode())
        for _ in range(20):
            connection.sendall(b'1000\r\n' + b'x' * 4096 + b'\r\n')
        connection.sendall(b'0\r\n\r\n')
        assert b' 413 ' in connection.recv(65536).split(b'\r\n')[0]
    assert browser.get('/api/session').status == 200


def test_headers_have_an_end(web):
    browser = web.browser()
    with contextlib.suppress(OSError):
        assert browser.get('/api/session', X_Much='x' * 200000).status >= 400
    for much in ('/' + 'x' * 100000, '/?' + 'x' * 100000):
        with contextlib.suppress(OSError):
            assert browser.get(much).status >= 400
    assert browser.get('/api/session').status == 200


NO_REQUESTS = {
    'zeros': b'\x00' * 4096, 'part': b'GET', 'version': b'GET / HTTP/9.9\r\n\r\n', 'lines': b'\r\n\r\n\r\n',
    'negative': b'POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
    'huge': b'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n',
    'noise': random.Random(1).randbytes(3000),
    'both': b'GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
}


@pytest.mark.parametrize('data', NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_no_request_ends_nothing(web, data):
    browser = web.browser()
    for _ in range(20):
        with contextlib.closing(socket.create_connection(web.address, PATIENCE)) as connection, contextlib.suppress(OSError):
            connection.sendall(data)
    assert browser.get('/api/session').status == 200


def test_many_who_say_nothing_turn_nobody_away(web):
    browser = web.browser()
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(contextlib.closing(socket.create_connection(web.address, PATIENCE))) for _ in range(500)]
        for stranger in strangers[::7]:
            with contextlib.suppress(OSError):
                stranger.sendall(b'GET / HTTP/1.1\r\n')
        assert browser.get('/api/session').status == 200
        assert Browser(web).enter(web.link).status == 200


def test_one_who_sends_a_byte_now_and_then_is_ended(web):
    """It is never silent for long, and never done."""
    with contextlib.closing(socket.create_connection(web.address, PATIENCE)) as connection:
        connection.sendall(b'GET / HTTP/1.1\r\nX: ')
        connection.settimeout(1)

        def drips():
            try:
                connection.sendall(b'x')
                return connection.recv(1) == b''
            except TimeoutError:
                return False
            except OSError:
                return True
        assert wait_until(drips)


def test_a_session_has_so_many_streams(web):
    browser = web.browser()
    streams = [Stream(browser, '/api/events') for _ in range(14)]
    assert [stream.status for stream in streams] == [200] * 12 + [429] * 2
    assert web.browser().get('/api/session').status == 200
    other = Stream(web.browser(), '/api/events')
    assert other.status == 200
    for stream in streams + [other]:
        stream.close()
    # Those that have gone make room, when that is noticed.
    def has_room():
        stream = Stream(browser, '/api/events')
        stream.close()
        return stream.status == 200
    assert wait_until(has_room)


def test_ends_with_streams_open(plain):
    with serving(plain) as web:
        streams = [Stream(web.browser(), '/api/events') for _ in range(3)]
        assert web.end() == 0
    for stream in streams:
        stream.close()


def test_sessions_and_links_are_so_many(plain, web):
    links = [plain('web', 'link').out.strip() for _ in range(34)]
    assert len(list((plain.state / 'ward/web/links').iterdir())) <= 32
    assert Browser(web).enter(links[-1]).status == 200
    first = web.browser()
    for number in range(70):
        session = plain.state / f'ward/web/sessions/{number:026d}'
        session.write_text(json.dumps({'hash': 'x', 'name': 'n', 'since': int(session.parent.stat().st_mtime)}))
        plain.person.own(session)
    assert web.browser().get('/api/session').status == 200 and first.cookie
    assert len(list((plain.state / 'ward/web/sessions').iterdir())) <= 73


@contextlib.contextmanager
def questions(ward, count):
    """So many, as runs would have put them; they stand as long as this goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 1024), hard))
    directory, locks = ward.state / 'ward/asks', []
    try:
        for number in range(count):
            name = f'{number:026d}'
            ask = {'id': name, 'kind': 'before', 'command': f'make target-{number}', 'agent': 'bot', 'choices': ['approve once', 'deny once'],
                   'what_will_happen': ['x' * 100] * 10, 'text': 'y' * 2000}
            new = directory / f'{name}.tmp'
            new.write_text(json.dumps({'id': name, 'run': name, 'since': '', 'until': '', 'nonce': 'n' * 26, 'hash': '0' * 64, 'ask': ask}))
            ward.person.own(new)
            locks.append(os.open(new, os.O_RDONLY))
            fcntl.flock(locks[-1], fcntl.LOCK_EX)
            new.rename(directory / name)
        yield
    finally:
        for lock in locks:
            os.close(lock)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_five_hundred_questions_are_told_listed_and_answered(plain, web):
    browser = web.browser()
    stream = Stream(browser, '/api/events')
    with questions(plain, 500):
        opened = {data['id'] for name, data in stream.until(lambda name, data: data.get('id') == f'{499:026d}') if name == 'asks'}
        assert len(opened) == 500
        asks = browser.get('/api/asks').json['asks']
        assert [ask['ask']['command'] for ask in asks] == [f'make target-{number}' for number in range(500)]
        for ask in asks[:50]:
            assert browser.answer(ask, 'deny').status == 200
        answers = [json.loads(path.read_text())['answer']['answer'] for path in (plain.state / 'ward/asks').glob('*.answer')]
        assert answers == ['deny'] * 50
        assert browser.answer(asks[0]).status == 409
    stream.close()
