# SPDX-License-Identifier: Apache-2.0
"""Questions about interfaces and listening are performed by the supervisor, and answer as natively; options that would lead a
connection elsewhere are refused in a way that programs take."""
import shutil
import subprocess

import pytest

PYTHON = '/usr/bin/python3'

# Prints lines that must be the same as natively in a network namespace with nothing but loopback.
ASK = r'''
import array, ctypes, fcntl, socket, struct
s = socket.socket()
print(socket.if_nameindex())
room = array.array("B", bytes(4096))
length = struct.unpack("iP", fcntl.ioctl(s, 0x8912, struct.pack("iP", 4096, room.buffer_info()[0])))[0]
print(length, room.tobytes()[:length].hex())
print(struct.unpack("iP", fcntl.ioctl(s, 0x8912, struct.pack("iP", 0, 0)))[0])
print(struct.unpack("iP", fcntl.ioctl(s, 0x8912, struct.pack("iP", 39, room.buffer_info()[0])))[0])
def ask(request, name=b"lo", fd=s):
    try: print(hex(request), fcntl.ioctl(fd, request, struct.pack("16si20x", name, 1)).hex())
    except OSError as e: print(hex(request), e.errno)
for request in (0x8910, 0x8913, 0x8915, 0x8917, 0x8919, 0x891b, 0x891d, 0x8921, 0x8927, 0x8933, 0x8942, 0x8970):
    ask(request)
ask(0x8913, b"none0"); ask(0x8913, b"x" * 16); ask(0x8933, b"")
with open("/dev/null") as file: ask(0x8913, fd=file)
with socket.socket(socket.AF_UNIX) as unix: ask(0x8913, fd=unix)
c = ctypes.CDLL(None, use_errno=True)
for call in ((c.ioctl, s.fileno(), 0x8913, 8), (c.ioctl, s.fileno(), 0x8912, -1), (c.ioctl, 99, 0x8913, 8),
             (c.listen, 99, 1), (c.listen, 0, 1), (c.listen, s.fileno(), -1)):
    print(call[0](call[1], *map(ctypes.c_void_p, call[2:])), ctypes.get_errno())
'''


def test_interfaces_are_told_as_natively(ward):
    inside = ward.result('--', PYTHON, '-c', ASK)
    # The host's own loopback looks the same; the first lines are about all interfaces.
    native = subprocess.run([PYTHON, '-c', ASK], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.splitlines()
    lines = inside['stdout'].splitlines()
    assert inside['exit_code'] == 0, inside['stderr']
    assert lines[0] == "[(1, 'lo')]"
    assert lines[4:] == native[4:]
    # One entry for each IPv4 address: loopback's own, and perhaps already the one that names are looked up for.
    assert lines[1].startswith(('40 6c6f00', '80 6c6f00')) and lines[2] in ('40', '80') and lines[3] == '0'


def test_listening_is_as_natively(ward):
    script = r'''
import errno, socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.create_server((address, 0), family=family, backlog=0) as server:
        with socket.create_connection(server.getsockname()[:2]) as client, server.accept()[0] as peer:
            peer.sendall(b"x")
            assert client.recv(1) == b"x"
            try: peer.listen()
            except OSError as e: print(errno.errorcode[e.errno])
    try: server.listen()
    except OSError as e: print(errno.errorcode[e.errno])
with socket.socket() as unbound:
    unbound.listen()
    print(unbound.getsockname()[1] > 0)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    try: datagrams.listen()
    except OSError as e: print(errno.errorcode[e.errno])
with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
    server.bind("\0name")
    server.listen()
    client.connect("\0name")
    print("connected")
'''
    result = ward.result('--', PYTHON, '-c', script)
    assert result['stdout'].split() == ['EINVAL', 'EBADF', 'EINVAL', 'EBADF', 'True', 'ENOTSUP', 'connected'], result['stderr']
    assert result['attempts'][0]['denials'] == []


def test_options_that_lead_elsewhere_are_refused(ward):
    script = r'''
import errno, socket
def try_option(family, level, option, value):
    with socket.socket(family) as s:
        try: s.setsockopt(level, option, value)
        except OSError as e: return errno.errorcode[e.errno]
        return "set"
print(try_option(socket.AF_INET, socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0"),
      try_option(socket.AF_INET6, socket.IPPROTO_IPV6, 57, bytes([0, 2, 4, 0, 0, 0, 0, 0]) + bytes(16)),
      try_option(socket.AF_INET, socket.IPPROTO_TCP, 30, 1),
      try_option(socket.AF_INET, socket.IPPROTO_IP, 42, bytes(136)),
      try_option(socket.AF_INET, socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
'''
    assert ward.result('--', PYTHON, '-c', script)['stdout'].split() == ['EPERM', 'EPERM', 'ENOPROTOOPT', 'EPERM', 'set']


def test_curl_goes_on_without_fast_open(ward):
    assert shutil.which('curl'), 'a test dependency'
    script = ('%s -m http.server 8000 --bind 127.0.0.1 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do '
              'curl -s --tcp-fastopen --max-time 20 -o page http://127.0.0.1:8000/ && break; sleep 0.3; done; kill $!; grep -c listing page' % PYTHON)
    assert ward.result('-c', script)['stdout'].split()[-1] == '2'


@pytest.mark.skipif(not shutil.which('javac'), reason='no Java compiler')
def test_java_knows_the_loopback_interface(ward):
    (ward.work / 'Faces.java').write_text('''
import java.net.*;
import java.util.*;
public class Faces {
    public static void main(String[] words) throws Exception {
        for (NetworkInterface face : Collections.list(NetworkInterface.getNetworkInterfaces()))
            System.out.println(face.getName() + " " + face.isLoopback() + " " + face.isUp() + " " + face.getMTU() + " " + face.getIndex());
    }
}''')
    result = ward.result('--', 'java', 'Faces.java')
    assert result['stdout'] == 'lo true true 65536 1\n', result['stderr']
