# SPDX-License-Identifier: Apache-2.0
"""A server that speaks to the pages of web/ as ward web does, and says whatever a test wants: what no real run can be made to say."""
import http.server
import json
import pathlib
import queue
import threading
import urllib.parse

from support import PATIENCE

WEB = pathlib.Path(__file__).resolve().parents[2] / 'web'
TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml'}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
TIME = '2026-11-16T18:00:00.000Z'
RISK = {'level': 'low', 'categories': [], 'reasons': [], 'reversible': True, 'way_back': None, 'unknown': None, 'confidence': 0.9,
        'blast_radius': {'files': 'workspace', 'network': False, 'remote': False}}
CHOICES = ['approve once', 'approve session', 'approve time', 'approve always', 'approve monitored', 'deny once', 'deny session', 'deny always', 'abort', 'defer']


def ask(number, level='low', **fields):
    """A question as the queue has it."""
    name = f'{number:026d}'
    question = {'id': name, 'kind': 'before', 'command': f'make target-{number}', 'cwd': '/home/me/work', 'workspace': '/home/me/work', 'agent': 'bot',
                'session': 's1', 'why': 'a rule says ask', 'grants': [], 'editable': False, 'starts_again': False, 'destroys': False,
                'risk': {**RISK, 'level': level}, 'summary': f'run: make, number {number}', 'what_will_happen': [f'runs: make target-{number}'],
                'failure_modes': [], 'affected_systems': [], 'affected_users': ['you'],
                'rollback': {'can_rollback': True, 'time': 'seconds', 'steps': []}, 'similar_operations': [], 'historical_success_rate': None,
                'historical_runs': 0, 'choices': CHOICES, 'text': 'ward asks\n', **fields}
    return {'id': name, 'run': f'{number + 500000:026d}', 'since': TIME, 'until': '', 'nonce': 'n' * 26, 'hash': '0' * 64, 'ask': question}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def say(self, status, body, kind='application/json', **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {'Content-Type': kind, 'Content-Length': len(data), 'Content-Security-Policy': POLICY, **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events):
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Connection', 'close')
        self.end_headers()
        try:
            while (event := events.get()) is not None:
                self.wfile.write(f'event: {event[0]}\ndata: {json.dumps(event[1])}\n\n'.encode())
                self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True

    def do_GET(self):
        mock = self.server.mock
        url = urllib.parse.urlsplit(self.path)
        words = dict(urllib.parse.parse_qsl(url.query))
        if url.path == '/evil':  # somebody else's page, with no policy
            return self.say(200, b'<!doctype html><title>evil</title><body>', 'text/html', **{'Content-Security-Policy': ''})
        if not url.path.startswith('/api/'):
            file = WEB / (url.path.lstrip('/') or 'index.html')
            return self.say(200, file.read_bytes(), TYPES[file.suffix]) if file.is_file() and file.parent == WEB else self.say(404, {})
        if url.path == '/api/events':
            events = queue.Queue()
            mock.streams.append(events)
            return self.stream(events)
        if url.path.endswith('/output'):
            events = queue.Queue()
            for event in mock.output:
                events.put(event)
            return self.stream(events)
        if url.path.startswith('/api/asks/'):
            found = [entry for entry in mock.asks if entry['id'] == url.path.split('/')[3]]
            return self.say(200, found[0]) if found else self.say(410, {'error': {'message': 'gone'}, 'answered': mock.answered})
        if url.path.startswith('/api/runs/'):
            return self.say(200, mock.run) if mock.run else self.say(404, {'error': {'message': 'no such run'}})
        if url.path == '/api/history':
            rows = [row for row in mock.rows if words.get('query', '') in row['command'] and words.get('agent', '') in row['agent']]
            at, limit = int(words.get('before', 0)), int(words['limit'])
            return self.say(200, {'rows': rows[at:at + limit], 'next': str(at + limit) if len(rows) > at + limit else None})
        answers = {'/api/session': {'csrf': 'token', 'name': 'me', 'sessions': mock.sessions}, '/api/asks': {'asks': mock.asks},
                   '/api/agents': {'agents': mock.agents}, '/api/stats': mock.stats, '/api/incidents': {'incidents': mock.incidents}}
        return self.say(200, answers[url.path]) if url.path in answers else self.say(404, {})

    def do_POST(self):
        mock = self.server.mock
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        mock.posts.append((self.path, body, self.headers.get('X-Ward-CSRF')))
        if self.path == '/api/login':
            return self.say(200, {'csrf': 'token', 'name': 'me'})
        if self.path.endswith('/answer') and mock.held:
            mock.held.wait(PATIENCE)
        if self.path.endswith('/answer') and mock.refusal:
            return self.say(*mock.refusal)
        if self.path.endswith('/answer'):
            mock.asks = [entry for entry in mock.asks if entry['id'] != self.path.split('/')[3]]
            return self.say(200, {'answered': {'by': 'me', **{key: body[key] for key in ('answer', 'scope') if key in body}}})
        return self.say(200, {})


class Mock:
    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.mock = self
        self.clear()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def clear(self):
        self.asks, self.rows, self.agents, self.incidents, self.output, self.posts, self.streams = [], [], [], [], [], [], []
        self.sessions = [{'id': 'a' * 26, 'since': TIME, 'seen': TIME, 'agent': 'a browser', 'name': 'me', 'this': True}]
        self.run, self.stats, self.answered, self.refusal, self.held = None, {}, None, None, None

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server.server_port}/'

    def tell(self, kind, **data):
        for stream in self.streams:
            stream.put((kind, data))

    def close(self):
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()
