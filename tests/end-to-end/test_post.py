# SPDX-License-Identifier: Apache-2.0
"""ward-post: one exchange over HTTP, within its bounds, with nothing from its surroundings."""
import contextlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get('Content-Length') or 0)
        self.server.seen.append((self.path, dict(self.headers), self.rfile.read(length)))
        status, headers, body = self.server.reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(reply=(200, {}, b'fine'), wrap=None):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    server.seen, server.reply = [], reply
    if wrap:
        server.socket = wrap.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def post(binary):
    def run(order, environment=None, **more):
        text = order if isinstance(order, bytes) else json.dumps({'timeout_ms': 20000, 'max_bytes': 1000, **order}).encode()
        done = subprocess.run([binary.parent / 'ward-post'], input=text, capture_output=True, timeout=60,
                              env={**os.environ, **(environment or {})}, **more)
        assert done.returncode == 0 and done.stderr == b''
        return json.loads(done.stdout)
    return run


def url(server, scheme='http', host='127.0.0.1'):
    return f'{scheme}://{host}:{server.server_address[1]}/path'


def test_sends_headers_and_body_and_brings_the_answer(post):
    with serving((201, {'Retry-After': '7'}, 'schön'.encode())) as server:
        answer = post({'url': url(server), 'headers': {'X-Kind': 'ask', 'X-Empty': ''}, 'body': '{"a": "ü"}'})
        assert answer == {'status': 201, 'body': 'schön', 'truncated': False, 'retry_after': 7}
        path, headers, body = server.seen[0]
        assert (path, headers['X-Kind'], headers['X-Empty'], body) == ('/path', 'ask', '', '{"a": "ü"}'.encode())
        assert headers['User-Agent'].startswith('ward/') and 'Expect' not in headers


def test_a_long_body_is_cut_and_said_so(post):
    with serving((200, {}, b'x' * 5000000)) as server:
        answer = post({'url': url(server), 'max_bytes': 10})
        assert answer['body'] == 'x' * 10 and answer['truncated']


def test_bytes_that_are_no_text_get_a_stand_in(post):
    with serving((200, {}, b'a\xff\x00b')) as server:
        assert post({'url': url(server)})['body'] == 'a\ufffd\ufffdb'


def test_does_not_follow_a_redirect(post):
    with serving() as other, serving((302, {'Location': url(other)}, b'')) as server:
        assert post({'url': url(server)})['status'] == 302
        assert other.seen == []


def test_takes_no_proxy_and_no_credentials_from_its_surroundings(post, place):
    (place / '.netrc').write_text('machine 127.0.0.1 login somebody password secret\n')
    with serving() as server, serving((200, {}, b'proxy')) as proxy:
        found = post({'url': url(server)}, {'http_proxy': url(proxy), 'ALL_PROXY': url(proxy), 'HOME': str(place)})
        assert found['body'] == 'fine' and proxy.seen == []
        assert 'Authorization' not in server.seen[0][1]
        assert post({'url': url(server), 'proxy': url(proxy)})['body'] == 'proxy'


def test_http_goes_to_the_loopback_only(post):
    for far in ('http://192.0.2.1/', 'http://ward.example/', 'http://127.0.0.1.example/', 'http://[2001:db8::1]/',
                'http://0.0.0.0/', 'http://2130706434.example/'):
        assert 'loopback only' in post({'url': far})['error']
    with serving() as server:
        assert post({'url': url(server, host='localhost')})['status'] == 200
        # Where that is wanted by name it may go further, to whatever there is.
        assert post({'url': url(server, host='0.0.0.0'), 'insecure_http': True})['status'] == 200


def test_refuses_what_it_does_not_know(post):
    for order, why in (({'url': 'ftp://127.0.0.1/'}, 'http and https'), ({'url': 'file:///etc/passwd'}, 'cannot be read'),
                       ({'url': 'http://me:word@127.0.0.1/'}, 'user'), ({'url': 'nonsense nonsense'}, 'cannot be read'),
                       ({}, 'no url'), ({'url': 'http://127.0.0.1/', 'more': 1}, 'not known'),
                       ({'url': 'http://127.0.0.1/', 'body': 5}, 'none'),
                       ({'url': 'http://127.0.0.1/', 'method': 'GET / HTTP/1.1\r\nX: '}, 'method'),
                       ({'url': 'http://127.0.0.1/', 'headers': {'A': 'b\r\nC: d'}}, 'header'),
                       ({'url': 'http://127.0.0.1/', 'headers': {'A:b': 'c'}}, 'header'),
                       ({'url': 'http://127.0.0.1/', 'headers': {'A': 5}}, 'header'),
                       ({'url': 'http://127.0.0.1/', 'timeout_ms': 0}, 'timeout_ms'),
                       ({'url': 'http://127.0.0.1/', 'timeout_ms': 100000}, 'timeout_ms'),
                       ({'url': 'http://127.0.0.1/', 'max_bytes': -1}, 'max_bytes')):
        assert why in post(order)['error'], order
    for text in (b'', b'[]', b'{', b'{"url": "http://127.0.0.1/", "url": "http://127.0.0.1/"}', b'x' * (17 << 20)):
        assert 'not one JSON object' in post(text)['error']


def test_time_is_bounded_for_silence_and_for_drops(post):
    listener = socket.create_server(('127.0.0.1', 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with contextlib.suppress(OSError):
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
            while not stop.wait(0.05):
                connection.sendall(b'x')
        connection.close()

    address = 'http://127.0.0.1:%d/' % listener.getsockname()[1]
    with listener:
        silent = post({'url': address, 'timeout_ms': 300})
        assert silent['timeout'] and 'error' in silent
        listener.accept()[0].close()
        thread = threading.Thread(target=drip)
        thread.start()
        dripping = post({'url': address, 'timeout_ms': 300})
        stop.set()
        thread.join()
        assert dripping['timeout'] and 'error' in dripping


def test_nobody_there_is_an_error_and_no_time_out(post):
    with socket.create_server(('127.0.0.1', 0)) as listener:
        address = 'http://127.0.0.1:%d/' % listener.getsockname()[1]
    answer = post({'url': address})
    assert answer['error'] and not answer['timeout']


def test_https_is_verified_always(post, place):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=here',
                    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', place / 'key', '-out', place / 'certificate'],
                   check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / 'certificate', place / 'key')
    with serving(wrap=context) as server:
        plain = post({'url': url(server, 'https'), 'insecure_http': True},
                     {'SSL_CERT_FILE': str(place / 'certificate'), 'CURL_CA_BUNDLE': str(place / 'certificate')})
        assert 'certificate' in plain['error'].lower() and server.seen == []
        known = {'url': url(server, 'https'), 'ca_file': str(place / 'certificate')}
        assert post(known)['body'] == 'fine'
        # The certificate is of another name.
        assert 'error' in post({**known, 'url': url(server, 'https', 'localhost')})
        assert len(server.seen) == 1
