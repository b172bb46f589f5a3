# SPDX-License-Identifier: Apache-2.0
"""What tests of the inbox share: a server that is this test's alone, and those who speak with it."""
import contextlib
import hashlib
import http.client
import json
import socket

from support import PATIENCE


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.data = response.read()

    @property
    def json(self):
        return json.loads(self.data)

    def __repr__(self):
        return f'{self.status} {self.data[:500]!r}'


class Browser:
    """One who keeps his cookie and his token, and says what browsers say."""

    def __init__(self, web):
        self.web, self.cookie, self.token = web, None, None

    def request(self, method, path, body=None, drop=(), **headers):
        sent = {'Host': self.web.host}
        if method == 'POST':
            sent |= {'Origin': f'http://{self.web.host}', 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin'}
        if self.cookie:
            sent['Cookie'] = self.cookie
        if self.token and method == 'POST':
            sent['X-Ward-CSRF'] = self.token
        sent |= {name.replace('_', '-'): value for name, value in headers.items()}
        sent = {name: value for name, value in sent.items() if name not in drop}
        connection = http.client.HTTPConnection(*self.web.address, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        if method == 'POST':
            sent['Content-Length'] = str(len(data or b''))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        try:
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request('GET', path, **headers)

    def post(self, path, body=None, **headers):
        return self.request('POST', path, {} if body is None else body, **headers)

    def enter(self, link):
        reply = self.post('/api/login', {'code': link.partition('#login=')[2]})
        if reply.status == 200:
            self.cookie = reply.headers['Set-Cookie'].partition(';')[0]
            self.token = reply.json['csrf']
        return reply

    def answer(self, ask, answer='approve', **more):
        body = {'nonce': ask['nonce'], 'hash': ask['hash'], 'answer': answer} | more
        return self.post(f'/api/asks/{ask["id"]}/answer', body)


class Stream:
    """Server-sent events, as they come."""

    def __init__(self, browser, path, last=None):
        self.socket = socket.create_connection(browser.web.address, PATIENCE)
        lines = [f'GET {path} HTTP/1.1', f'Host: {browser.web.host}', f'Cookie: {browser.cookie}']
        if last:
            lines.append(f'Last-Event-ID: {last}')
        self.socket.sendall('\r\n'.join(lines + ['', '']).encode())
        self.file = self.socket.makefile('rb')
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass
        self.last = last

    def lines(self):
        """Of the body, whose chunks are joined."""
        text = b''
        while True:
            size = int(self.file.readline().strip() or b'0', 16)
            if size == 0:
                return
            text += self.file.read(size)
            self.file.readline()
            while b'\n' in text:
                line, _, text = text.partition(b'\n')
                yield line.decode()

    def events(self):
        """(name, data) of each; last is the id of the one that came last."""
        name, data = 'message', ''
        for line in self.lines():
            if line.startswith('id: '):
                self.last = line[4:]
            elif line.startswith('event: '):
                name = line[7:]
            elif line.startswith('data: '):
                data = line[6:]
            elif not line:
                if data:
                    yield name, json.loads(data)
                name, data = 'message', ''

    def until(self, matches):
        """All up to the first that is so."""
        seen = []
        for event in self.events():
            seen.append(event)
            if matches(*event):
                return seen
        raise AssertionError(f'the stream has ended: {seen}')

    def close(self):
        self.file.close()
        self.socket.close()


class Web:
    """ward web, as ward's person."""

    def __init__(self, ward, *words):
        self.ward, self.words = ward, words
        self.start()

    def start(self):
        self.process = self.ward.popen('web', *self.words)
        self.link = self.process.stdout.readline().decode().strip()
        assert '#login=' in self.link, self.link + self.process.stderr.read().decode()
        self.host = self.link.partition('//')[2].partition('/')[0]
        name, _, port = self.host.rpartition(':')
        self.address = (name.strip('[]'), int(port))

    def browser(self, *words, enter=True):
        browser = Browser(self)
        if enter:
            done = self.ward('web', 'link', *words)
            assert done.code == 0, done
            reply = browser.enter(done.out.strip())
            assert reply.status == 200, reply
        return browser

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@contextlib.contextmanager
def serving(ward, *words):
    web = Web(ward, *words)
    try:
        yield web
    finally:
        code = web.end()
    assert code == 0, 'it ends well, and a sanitizer has nothing to say'


def fill_log(directory, count, command=lambda number: f'make target-{number}', agents=5, sessions=200):
    """An audit log of so many runs that have ended, as ward itself would have written it."""
    directory.mkdir(parents=True, exist_ok=True)
    previous, size, sequence = '0' * 64, 0, 0
    with open(directory / 'audit.log', 'wb') as log:
        for number in range(count):
            run, agent, session = f'01m{number:023d}', f'agent-{number % agents}', f's{number % sessions}'
            time = f'2026-{number // 28 % 12 + 1:02d}-{number % 28 + 1:02d}T10:00:00.000Z'
            verdict = ('allow', 'ask', 'deny')[number % 3]
            start = {'kind': 'run.start', 'run': run, 'command': command(number), 'argv': ['make'], 'cwd': '/work', 'workspace': '/work',
                     'does': 'make', 'level': 'restricted', 'agent': agent, 'session': session, 'verdict': verdict, 'source': 'default',
                     'decisions': [], 'pid': 1, 'risk': 'low'}
            end = {'kind': 'run.end', 'run': run, 'result': {'run': run, 'verdict': verdict, 'source': 'rule', 'exit_code': number % 2,
                   'signal': None, 'timed_out': False, 'limit': None, 'duration_ms': 1.5, 'decisions': [],
                   'attempts': [{'level': 'restricted', 'walls': ['userns'] * 20, 'exit_code': 0, 'denials': [], 'masks': ['/etc/shadow'] * 12}],
                   'resources': {}, 'error': None}, 'agent': agent, 'session': session}
            for record in (start, end):
                sequence += 1
                text = json.dumps({'seq': sequence, 'time': time} | record | {'prev': previous}, separators=(',', ':'))[:-1]
                previous = hashlib.sha256(text.encode()).hexdigest()
                size += log.write(f'{text},"hash":"{previous}"}}\n'.encode())
    (directory / 'audit.head').write_text(f'{sequence:020d} {size:020d} {previous}\n')
