# SPDX-License-Identifier: Apache-2.0
"""The network of a container: none, or the same allow list as anywhere."""
import shutil

import pytest

from world import WEB, to, ward, world  # noqa: F401

pytestmark = pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')
TRY = '''
import socket, sys
for target in sys.argv[1:]:
    host, port = target.split(':')
    try:
        s = socket.create_connection((host, int(port)), 30); s.sendall(b'ping'); print(s.recv(9).decode())
    except OSError as error:
        print(type(error).__name__)
'''


@pytest.fixture(params=['host', 'runc', 'root'])
def made_of(request, place):
    """The host's tree, by either runtime; or a root of its own, into which the host's programs are mounted."""
    if request.param == 'runc' and not shutil.which('runc'):
        pytest.skip('needs runc')
    if request.param != 'root':
        return () if request.param == 'host' else ('--container', 'runtime=runc')
    own = place / 'own-root'
    for name in ('usr', 'etc', 'proc', 'dev'):
        (own / name).mkdir(parents=True)
    for name in ('bin', 'lib', 'lib64'):
        (own / name).symlink_to(f'usr/{name}')
    return '--container', f'rootfs={own}', '--container', 'mount:/usr=/usr'


def test_what_is_allowed_is_reached_and_nothing_else(ward, world, made_of):
    world.name('echo.example', WEB)
    port = world.echo()
    targets = [f'echo.example:{port}', f'other.example:{port}', f'{WEB}:{port}', 'echo.example:1']
    result = ward.result('--level', 'container', *made_of, *to(f'echo.example:{port}'), '--', '/usr/bin/python3', '-I', '-c', TRY, *targets)
    assert result['stdout'].split() == ['ping', 'ConnectionRefusedError', 'ConnectionRefusedError', 'ConnectionRefusedError'], result
    assert {denial['object'] for denial in result['attempts'][0]['denials']} == set(targets[1:])


def test_none_is_none(ward, world, made_of):
    world.name('echo.example', WEB)
    result = ward.result('--level', 'container', *made_of, '--', '/usr/bin/python3', '-I', '-c', TRY, f'echo.example:{world.echo()}', f'{WEB}:{world.echo()}')
    assert set(result['stdout'].split()) == {'ConnectionRefusedError'}, result
