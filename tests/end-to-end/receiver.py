# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks on the loopback that does what a test tells it, and looks after the deliverer of a test's own state."""
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import signal
import threading

from support import processes, wait_until

SECRET = '0123456789abcdef0123456789abcdef'


class Receiver(http.server.ThreadingHTTPServer):
    """seen: (path, headers, body) of every POST. reply: what each is answered with, a function of how many came before."""
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.seen, self.lock, self.reply = [], threading.Lock(), lambda number: (204, {}, b'')

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server_address[1]}/hook'

    def handle_error(self, *_):
        pass  # whoever was killed has hung up

    def bodies(self):
        with self.lock:
            return [json.loads(body) for _, _, body in self.seen]

    def events(self):
        return [body['event'] for body in self.bodies()]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        with self.server.lock:
            number = len(self.server.seen)
            self.server.seen.append((self.path, dict(self.headers), body))
        status, headers, text = self.server.reply(number)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        with self.server.lock:
            self.server.seen.append((self.path, dict(self.headers), b'{"event": "GET"}'))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiving():
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_signed(secret, header, body):
    """As docs/webhooks.md has it, the time aside."""
    parts = [part.partition('=') for part in header.split(',')]
    when = next(value for key, _, value in parts if key == 't')
    right = hmac.new(secret.encode(), when.encode() + b'.' + body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(right, value) for key, _, value in parts if key == 'v1')


def deliverers(ward):
    return processes(f'notify\0deliver\0{ward.state}/ward\0')


def end_deliverers(ward):
    """Both processes of it, at once or one after the other."""
    def gone():
        for pid in deliverers(ward):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not deliverers(ward)
    assert wait_until(gone)


def jobs(ward):
    return [json.loads(line) for line in ward('notify', '--json').out.splitlines()]


def pending(ward):
    return [json.loads(line) for line in ward('pending', '--json').out.splitlines()]
