# SPDX-License-Identifier: Apache-2.0
"""ward web: who is let in, and who is not: other names, other pages, codes and cookies that do not hold."""
import contextlib
import concurrent.futures
import json
import os
import re
import socket
import time

import pytest

from web import Browser, Stream, serving


@pytest.fixture
def web(plain):
    with serving(plain) as web:
        yield web


@pytest.mark.parametrize('path', ['/', '/api/session', '/api/asks', '/nothing'])
def test_under_another_name_nothing_is_served(web, path):
    """A page elsewhere can have a name of its own lead to loopback."""
    browser = web.browser()
    port = web.address[1]
    for host in (f'evil.example:{port}', 'evil.example', f'127.0.0.1:{port + 1 if port < 65535 else 1}', '127.0.0.1', f'127.0.0.2:{port}', '',
                 f'localhost.evil.example:{port}', f'127.0.0.1:{port}.evil.example', f'x@127.0.0.1:{port}', f'127.0.0.1:0{port}'):
        reply = browser.get(path, Host=host)
        assert reply.status == 421 and 'asks' not in reply.json, (host, reply)
    assert browser.request('GET', path, drop=['Host']).status in (400, 421)
    assert browser.get(path, Host=f'LOCALHOST:{port}').status != 421


def test_two_names_are_none(web):
    browser = web.browser()
    raw = f'GET /api/asks HTTP/1.1\r\nHost: {web.host}\r\nHost: evil.example\r\nCookie: {browser.cookie}\r\nConnection: close\r\n\r\n'
    assert b' 400 ' in talk(web, raw.encode()).split(b'\r\n')[0]


def talk(web, data):
    with socket.create_connection(web.address, 60) as connection:
        connection.sendall(data)
        said = b''
        while more := connection.recv(65536):
            said += more
        return said


@pytest.mark.parametrize('headers', [
    {'Origin': 'http://evil.example'}, {'Origin': 'null'}, {'Origin': 'https://{host}'}, {'Origin': 'http://{host}.evil.example'},
    {'Origin': 'http://localhost:{port}'}, {'Sec_Fetch_Site': 'cross-site'}, {'Sec_Fetch_Site': 'same-site'},
    {'Origin': 'http://{host}', 'Sec_Fetch_Site': 'cross-site'}, {'Sec_Fetch_Site': 'none'}])
def test_another_page_can_send_nothing_that_counts(web, headers):
    browser = web.browser()
    headers = {name: value.format(host=web.host, port=web.address[1]) for name, value in headers.items()}
    for path, body in (('/api/logout', {}), ('/api/login', {'code': web.link.partition('=')[2]})):
        reply = browser.post(path, body, **headers)
        assert reply.status == 403, reply
    assert browser.get('/api/session').status == 200
    assert Browser(web).enter(web.link).status == 200, 'the code was not used up'


def test_another_page_can_have_nothing_read(web):
    browser = web.browser()
    for site in ('cross-site', 'same-site'):
        assert browser.get('/api/asks', Sec_Fetch_Site=site).status == 403
    assert browser.get('/api/asks', Origin='http://evil.example').status == 403
    reply = browser.get('/api/asks', Sec_Fetch_Site='same-origin')
    assert reply.status == 200 and not [name for name in reply.headers if name.lower().startswith('access-control')]


def test_what_does_not_say_where_it_comes_from_changes_nothing(web):
    browser = web.browser()
    assert browser.request('POST', '/api/logout', {}, drop=['Origin', 'Sec-Fetch-Site']).status == 403
    assert browser.request('POST', '/api/logout', {}, drop=['Origin']).status == 200


def test_what_changes_something_needs_the_token_of_its_own_session(web):
    alice, bob = web.browser('--as', 'alice'), web.browser('--as', 'bob')
    for token in (None, '', 'x', bob.token, alice.token[:-1], alice.token + '0', alice.token.upper()):
        headers = {} if token is None else {'X_Ward_CSRF': token}
        reply = alice.request('POST', '/api/logout', {}, drop=['X-Ward-CSRF'] if token is None else [], **headers)
        assert reply.status == 403, (token, reply)
    assert alice.get('/api/session').json['csrf'] == alice.token
    assert alice.post('/api/logout').status == 200


def test_forms_are_not_taken(web):
    browser = web.browser()
    for kind in ('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', '', 'application/jsonx'):
        assert browser.post('/api/logout', Content_Type=kind).status == 415, kind
    assert browser.post('/api/logout', Content_Type='Application/JSON; charset=utf-8').status == 200


def test_what_a_browser_is_told_about_every_reply(web):
    browser = web.browser()
    for reply in (browser.get('/'), browser.get('/api/asks'), browser.get('/api/nothing'), Browser(web).get('/api/asks')):
        assert "default-src 'none'" in reply.headers['Content-Security-Policy']
        assert "frame-ancestors 'none'" in reply.headers['Content-Security-Policy']
        assert not re.search(r"unsafe|\*|https?:", reply.headers['Content-Security-Policy'])
        assert (reply.headers['X-Content-Type-Options'], reply.headers['X-Frame-Options']) == ('nosniff', 'DENY')
        assert reply.headers['Referrer-Policy'] == 'no-referrer'
        assert 'Server' not in reply.headers
    assert browser.get('/api/asks').headers['Cache-Control'] == 'no-store'


def test_the_cookie_is_for_this_server_and_for_no_script(plain, web):
    browser = Browser(web)
    words = browser.enter(web.link).headers['Set-Cookie'].split('; ')
    assert {'HttpOnly', 'SameSite=Strict', 'Path=/'} <= set(words) and not [word for word in words if word.startswith('Domain')]


@pytest.mark.parametrize('change', [lambda c: c[:-1], lambda c: c + 'A', lambda c: c[:-1] + ('A' if c[-1] != 'A' else 'B'),
                                    lambda c: c.replace('.', '/'), lambda c: 'ward_session=', lambda c: 'ward_session=../../server',
                                    lambda c: c.split('=')[0] + '=' + '0' * 26 + c[c.index('.'):], lambda c: 'x' + c,
                                    lambda c: 'ward_session=' + 'a' * 20000])
def test_a_cookie_that_is_not_whole_opens_nothing(web, change):
    browser = web.browser()
    browser.cookie = change(browser.cookie)
    assert browser.get('/api/asks').status in (401, 400, 413, 431)


def test_other_cookies_are_in_nobodys_way(web):
    browser = web.browser()
    browser.cookie = f'a=1; ward_sessionx=2;{browser.cookie}; b=3'
    assert browser.get('/api/asks').status == 200


def test_of_many_who_use_a_link_at_once_one_gets_in(web):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = [reply.status for reply in pool.map(lambda _: Browser(web).enter(web.link), range(8))]
    assert codes.count(200) == 1 and set(codes) == {200, 403}


def test_a_link_holds_for_ten_minutes(plain, web):
    link = plain('web', 'link').out.strip()
    kept = [path for path in (plain.state / 'ward/web/links').iterdir()]
    for path in kept:
        made = json.loads(path.read_text())
        path.write_text(json.dumps(made | {'since': made['since'] - 601}))
    assert Browser(web).enter(link).status == 403
    # Nor does a clock that was set back give it more time.
    link = plain('web', 'link').out.strip()
    for path in (plain.state / 'ward/web/links').iterdir():
        path.write_text(json.dumps(json.loads(path.read_text()) | {'since': int(time.time()) + 3600}))
    assert Browser(web).enter(link).status == 403


@pytest.mark.parametrize('idle, age', [(12 * 3600 + 1, 13 * 3600), (0, 7 * 24 * 3600 + 1), (0, -3600)])
def test_a_session_ends_by_itself(plain, web, idle, age):
    browser = web.browser()
    path, = (plain.state / 'ward/web/sessions').iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {'since': int(time.time()) - age}))
    os.utime(path, (time.time() - idle,) * 2)
    assert browser.get('/api/session').status == 401
    assert plain('web', 'sessions').out == 'nobody is logged in\n'


def test_one_who_only_listens_hears_that_the_session_has_ended(plain, web):
    stream = Stream(web.browser(), '/api/events')
    path, = (plain.state / 'ward/web/sessions').iterdir()
    os.utime(path, (time.time() - 13 * 3600,) * 2)
    assert stream.until(lambda name, data: name == 'session')[-1] == ('session', {'state': 'ended'})
    assert list(stream.events()) == []
    stream.close()


def test_use_keeps_a_session(plain, web):
    browser = web.browser()
    path, = (plain.state / 'ward/web/sessions').iterdir()
    os.utime(path, (time.time() - 11 * 3600,) * 2)
    assert browser.get('/api/session').status == 200
    assert time.time() - path.stat().st_mtime < 3600


def test_guessing_is_slowed_down(plain, web):
    guesser = Browser(web)
    codes = [guesser.enter('#login=' + 'A' * 43).status for _ in range(30)]
    assert codes[:5] == [403] * 5 and 429 in codes and set(codes) == {403, 429}
    reply = guesser.enter('#login=' + 'A' * 43)
    assert reply.status == 403 or int(reply.headers['Retry-After']) >= 1


@contextlib.contextmanager
def another(uid):
    """Connections are made as that user meanwhile."""
    if os.geteuid() != 0:
        pytest.skip('only root is somebody else')
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


THIEF, OTHER = 54321, 54322


def test_a_cookie_that_another_user_got_hold_of_opens_nothing(plain, web):
    with another(plain.person.uid):
        browser = web.browser(enter=False)
        assert browser.enter(web.link).status == 200 and browser.get('/api/session').status == 200
    with another(THIEF):
        reply = browser.get('/api/asks')
        assert reply.status == 403 and "another user's" in reply.json['error']['message']
        assert browser.post('/api/logout').status == 403
    assert browser.get('/api/asks').status == 200  # root, who can do all that anyway
    with another(plain.person.uid):
        assert browser.get('/api/asks').status == 200


def test_who_was_given_a_link_uses_it_as_the_user_he_is(plain, web):
    link = plain('web', 'link', '--as', 'alice').out.strip()
    browser = web.browser(enter=False)
    with another(OTHER):
        assert browser.enter(link).status == 200 and browser.get('/api/session').json['name'] == 'alice'
    with another(THIEF):
        assert browser.get('/api/session').status == 403


def test_one_user_cannot_lock_another_out(plain, web):
    guesser = Browser(web)
    with another(THIEF):
        assert 429 in [guesser.enter('#login=' + 'A' * 43).status for _ in range(30)]
        assert 429 in [guesser.request('POST', '/hook/x', {}).status for _ in range(120)]
    with another(plain.person.uid):
        assert guesser.request('POST', '/hook/x', {}).status != 429
        assert guesser.enter(web.link).status == 200


@pytest.mark.parametrize('body', [b'', b'{', b'[]', b'null', b'{"code": 1}', b'{"code": null}', b'{"code": "x\\u0000y"}', b'{"code": "\xff"}',
                                  b'{"code": "a", "code": "b"}', b'{}', b'{"code": "../../server"}', b'[' * 60000])
def test_what_is_no_code_is_none(web, body):
    assert Browser(web).post('/api/login', body).status in (400, 403)


def test_a_name_must_be_one(plain, web):
    for name in ('', 'x' * 65, 'a\nb', 'a\x1b[31m', 'a\u202eb', 'a\u200bb'):
        done = plain('web', 'link', '--as', name)
        assert done.code == 125 and 'name' in done.err and '#login' not in done.out, name


def test_paths_are_taken_as_they_are_sent(web):
    browser = web.browser()
    for path in ('/api/../api/asks', '/api//asks', '/api/asks/', '/%61pi/asks', '/api/asks%2f', '//api/asks', '/api/asks/../session', '/../../etc/passwd',
                 '/api/asks/' + 'x' * 26, '/api/asks/' + '0' * 26 + '/other', '/api/runs/last', '/api'):
        assert browser.get(path).status == 404, path
    raw = f'GET http://{web.host}/api/asks HTTP/1.1\r\nHost: {web.host}\r\nCookie: {browser.cookie}\r\nConnection: close\r\n\r\n'
    assert b' 400 ' in talk(web, raw.encode()).split(b'\r\n')[0]


def test_methods_are_told_apart(web):
    browser = web.browser()
    assert browser.get('/api/logout').status == 405 and browser.get('/api/session').status == 200
    assert browser.post('/api/asks').headers['Allow'] == 'GET'
    for method in ('PUT', 'DELETE', 'OPTIONS', 'TRACE', 'HEAD'):
        reply = browser.request(method, '/api/asks')
        assert reply.status == 405, (method, reply)
    assert browser.request('DELETE', '/').status == 405


def test_other_machines_are_kept_out_unless_they_are_asked_in(plain):
    for address in ('0.0.0.0', '::', '192.0.2.1', 'localhost', ''):
        done = plain('web', '--listen', address)
        assert done.code == 125 and done.out == '', (address, done)
    assert '--anywhere' in plain('web', '--listen', '0.0.0.0').err
    with serving(plain, '--listen', '::1') as web:
        assert web.link.startswith('http://[::1]:') and web.browser().get('/api/session').status == 200
        assert web.browser().get('/api/session', Host=f'127.0.0.1:{web.address[1]}').status == 421


def test_a_name_that_was_given_is_one_of_its_own(plain):
    with serving(plain, '--host', 'ward.example') as web:
        browser = web.browser()
        assert browser.get('/api/session', Host=f'ward.example:{web.address[1]}').status == 200
        assert browser.get('/api/session', Host=f'other.example:{web.address[1]}').status == 421


def test_words_that_are_off_are_told(plain):
    for words in (['--port', 'x'], ['--port', '70000'], ['--port'], ['--what'], ['link', '--for', 'x'], ['revoke'], ['sessions', 'x'], ['x']):
        done = plain('web', *words)
        assert done.code == 125 and done.out == '', (words, done)
