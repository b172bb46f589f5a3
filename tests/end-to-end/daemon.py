# SPDX-License-Identifier: Apache-2.0
"""What tests of the daemon share: one that is this test's alone, and clients of its sockets."""
import contextlib
import json
import os
import socket
import time

from support import PATIENCE


class Refused(Exception):
    """An error in place of a result."""

    def __init__(self, error):
        super().__init__(error)
        self.code, self.message = error['code'], error['message']


class Client:
    """A connection; messages that come while an answer is waited for are kept."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        # A path may be longer than an address can be.
        directory = os.open(path.parent, os.O_PATH)
        try:
            self.socket.connect(f'/proc/self/fd/{directory}/{path.name}')
        finally:
            os.close(directory)
        self.socket.settimeout(PATIENCE)
        self.heard, self.number, self.messages = b'', 0, []

    def send(self, method, /, **params):
        self.number += 1
        self.write(json.dumps({'jsonrpc': '2.0', 'id': self.number, 'method': method, 'params': params}).encode() + b'\n')
        return self.number

    def write(self, data):
        self.socket.sendall(data)

    def read(self):
        """The next message; None at the end."""
        while b'\n' not in self.heard:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.heard += data
        line, _, self.heard = self.heard.partition(b'\n')
        return json.loads(line)

    def answer(self, number):
        for message in self.messages:
            if message.get('id') == number and 'method' not in message:
                self.messages.remove(message)
                break
        else:
            while True:
                message = self.read()
                assert message is not None, 'the daemon has hung up'
                if message.get('id') == number and 'method' not in message:
                    break
                self.messages.append(message)
        if 'error' in message:
            raise Refused(message['error'])
        return message['result']

    def call(self, method, /, **params):
        return self.answer(self.send(method, **params))

    def until(self, matches):
        """The first message that is so, kept or yet to come."""
        for message in self.messages:
            if matches(message):
                self.messages.remove(message)
                return message
        while True:
            message = self.read()
            assert message is not None, 'the daemon has hung up'
            if matches(message):
                return message
            self.messages.append(message)

    def close(self):
        self.socket.close()


class Daemon:
    """ward serve, as ward's person."""

    def __init__(self, ward, *words, env=None):
        self.ward, self.words, self.env = ward, words, env
        self.runtime = ward.place / 'runtime'
        if not self.runtime.exists():
            self.runtime.mkdir(mode=0o700)
            ward.person.own(self.runtime)
        ward.variables['XDG_RUNTIME_DIR'] = str(self.runtime)
        self.directory, self.clients, self.process = self.runtime / 'ward', [], None
        self.start()

    def start(self):
        self.process = self.ward.popen('serve', *self.words, env=self.env)
        line = self.process.stderr.readline()
        assert b'listening' in line, line + self.process.stderr.read()

    def agent(self):
        self.clients.append(Client(self.directory / 'agent.sock'))
        return self.clients[-1]

    def approver(self):
        self.clients.append(Client(self.directory / 'approver.sock'))
        return self.clients[-1]

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stderr.close()
        self.process.stdout.close()

    def end(self):
        """Its exit code and what it had to say; None where it was ended already."""
        for client in self.clients:
            client.close()
        if self.process.stderr.closed:
            return None
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        rest = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return code, rest


@contextlib.contextmanager
def serving(ward, *words, env=None):
    daemon = Daemon(ward, *words, env=env)
    try:
        yield daemon
    finally:
        daemon.end()


def wait_for(condition):
    """What it comes to when it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError('it did not come to that')
