# SPDX-License-Identifier: Apache-2.0
"""Servers of the tests' world: names, and pages."""
import collections
import contextlib
import http.server
import socket
import socketserver
import struct
import threading
import time

from support import PATIENCE


def is_six(address):
    return ':' in address


def packed(address):
    return socket.inet_pton(socket.AF_INET6 if is_six(address) else socket.AF_INET, address)


Query = collections.namedtuple('Query', 'name kind transport')


class Name:
    """What the name server knows of a name. rounds: the addresses of the first answer, the second, ...; the last stays. silent: True, or
    the one type of question that is not answered. big: answered over TCP only."""

    def __init__(self, rounds, alias=None, ttl=300, delay=0, silent=False, failing=False, big=False):
        self.rounds, self.alias, self.ttl, self.delay = rounds, alias, ttl, delay
        self.silent, self.failing, self.big = silent, failing, big


class Names:
    """The world's name server, UDP and TCP. It knows what the test told it and remembers what it was asked."""

    TYPES = {1: 'A', 28: 'AAAA', 5: 'CNAME', 255: 'ANY', 65: 'HTTPS', 64: 'SVCB', 15: 'MX', 16: 'TXT', 33: 'SRV', 12: 'PTR', 6: 'SOA', 2: 'NS'}

    def __init__(self, world, addresses):
        self.lock = threading.Lock()
        self.records, self.queries = {}, []
        self.rounds = collections.Counter()
        for address in addresses:
            world.thread(self.serve_udp, world.socket(address, 53, socket.SOCK_DGRAM))
            listener = world.socket(address, 53)
            listener.listen(64)
            world.thread(self.serve_tcp, listener)

    def asked(self, name, kind=None):
        """How often anybody asked for the name (and record type)."""
        with self.lock:
            return sum(1 for query in self.queries if query.name == name.lower() and kind in (None, query.kind))

    def forget(self):
        """The questions so far."""
        with self.lock:
            self.queries.clear()

    def answer(self, question, transport):
        """The packet to send back, or None for none."""
        number, flags, count = struct.unpack('>HHH', question[:6])
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode('latin-1'))
            at += question[at] + 1
        kind, = struct.unpack('>H', question[at + 1:at + 3])
        name, kind = '.'.join(labels).lower(), self.TYPES.get(kind, str(kind))
        with self.lock:
            self.queries.append(Query(name, kind, transport))
            record = self.records.get(name)
            around = self.rounds[name, kind]
            self.rounds[name, kind] += 1
        if record and record.delay:
            time.sleep(record.delay)
        if record and record.silent in (True, kind):
            return None
        code, truncated, found = 0, False, []
        if record is None:
            code = 3
        elif record.failing:
            code = 2
        elif record.big and transport == 'udp':
            truncated = True
        else:
            found = self.found(name, kind, around)
        header = struct.pack('>HHHHHH', number, 0x8180 | flags & 0x0100 | (0x0200 if truncated else 0) | code, 1, len(found), 0, 0)
        return header + question[12:at + 5] + b''.join(found)

    def found(self, name, kind, around):
        """The records of an answer; aliases are followed."""
        found = []
        for _ in range(16):
            with self.lock:
                record = self.records.get(name)
            if record is None:
                return found
            if record.alias is None:
                break
            found.append(self.record(name, 5, record.ttl, self.encoded(record.alias)))
            name = record.alias
        else:
            return found
        for address in record.rounds[min(around, len(record.rounds) - 1)]:
            if kind == ('AAAA' if is_six(address) else 'A'):
                found.append(self.record(name, 28 if is_six(address) else 1, record.ttl, packed(address)))
        return found

    @staticmethod
    def encoded(name):
        return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0'

    def record(self, name, kind, ttl, data):
        return self.encoded(name) + struct.pack('>HHIH', kind, 1, ttl, len(data)) + data

    def serve_udp(self, sock):
        while True:
            question, peer = sock.recvfrom(4096)
            if peer is None:
                break  # closed under us
            threading.Thread(target=self.reply, args=(sock, question, peer), daemon=True).start()

    def reply(self, sock, question, peer):
        with contextlib.suppress(OSError, IndexError, struct.error):
            answer = self.answer(question, 'udp')
            if answer:
                sock.sendto(answer, peer)

    def serve_tcp(self, listener):
        while True:
            peer = listener.accept()[0]
            threading.Thread(target=self.converse, args=(peer,), daemon=True).start()

    def converse(self, peer):
        with contextlib.suppress(OSError, IndexError, struct.error), peer, peer.makefile('rb') as stream:
            peer.settimeout(PATIENCE)
            while length := stream.read(2):
                answer = self.answer(stream.read(*struct.unpack('>H', length)), 'tcp')
                if answer:
                    peer.sendall(struct.pack('>H', len(answer)) + answer)


Request = collections.namedtuple('Request', 'method path host sent peer')


class Page(http.server.BaseHTTPRequestHandler):
    """Answers every request with the page, and remembers it."""

    protocol_version = 'HTTP/1.1'
    page = b''

    def do_GET(self):
        left = length = int(self.headers.get('Content-Length') or 0)
        while left > 0:
            left -= len(self.rfile.read(min(left, 1 << 20))) or length
        self.server.requests.append(Request(self.command, self.path, self.headers.get('Host'), length - left, self.client_address))
        self.send_response(200)
        self.send_header('Content-Length', str(len(self.page)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(self.page)

    do_HEAD = do_POST = do_PUT = do_GET

    def log_message(self, *words):
        pass


class Web(http.server.ThreadingHTTPServer):
    """A web server on a socket that is there already. With a context it speaks TLS, shaken in the connection's own thread."""

    daemon_threads = True

    def __init__(self, listener, handler, context=None):
        socketserver.BaseServer.__init__(self, listener.getsockname(), handler)
        self.socket, self.requests, self.context = listener, [], context
        self.port = listener.getsockname()[1]
        self.server_name, self.server_port = 'test', self.port

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)
        if self.context:
            with contextlib.suppress(OSError):
                request.unwrap()

    def handle_error(self, request, client_address):
        pass
