# SPDX-License-Identifier: Apache-2.0
"""Images by reference: podman or docker hands the image over, and the container is ward's as ever."""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import uuid

import pytest

from support import Person, Ward
from test_container_images import archive, contained, layout, saved, whole

pytestmark = pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')
TOOLS = [path for name in ('podman', 'docker') for path in (f'{place}/{name}' for place in ('/usr/bin', '/usr/local/bin', '/usr/sbin', '/usr/local/sbin')) if os.path.exists(path)]


@pytest.fixture
def owner(binary, place):
    """Root: whose mounts the test can change for one program."""
    if os.geteuid() != 0:
        pytest.skip('needs root')
    return Ward(binary, Person('root'), place)


def without_tools(ward, setup, *words):
    """With neither podman nor docker on the machine, or with what the set-up puts there."""
    hidden = ''.join(f'mount --bind /dev/null {tool}; ' for tool in TOOLS)
    return ward('-m', 'sh', '-c', f'{hidden}{setup}exec "$0" "$@"', ward.binary, 'run', '--level', 'container', *words, program='/usr/bin/unshare')


@pytest.fixture
def podman(ward, root, place):
    """podman's images of whoever runs ward, with one more; and how to ask it for something."""
    if not shutil.which('podman'):
        pytest.skip('needs podman')
    if not ward.person.is_root and not shutil.which('newuidmap'):
        pytest.skip('podman of a plain user needs newuidmap')
    ward.variables['XDG_RUNTIME_DIR'] = str(place / 'runtime')
    (place / 'runtime').mkdir(mode=0o700)
    ward.person.own(place / 'runtime')
    tree = place / 'tree.tar'
    tree.write_bytes(whole(root))
    name = f'localhost/ward-test-{uuid.uuid4().hex[:12]}'

    def ask(*words):
        done = ward(*words, program=shutil.which('podman'))
        assert done.code == 0, done
        return done.out

    made = [ask('import', '--quiet', str(tree), f'{name}:1')]
    yield name, lambda *words: made.append(ask(*words))
    for number in made:
        if number:
            ward('rmi', '--force', number.strip(), program=shutil.which('podman'))
    left = place / 'runtime' / 'libpod' / 'tmp' / 'pause.pid'
    if left.exists():  # a process of podman's own that keeps a plain user's namespaces
        os.kill(int(left.read_text()), signal.SIGKILL)


def test_an_image_of_podmans_is_run(ward, podman, place, root):
    name, ask = podman
    for _ in range(2):
        done = contained(ward, 'cat /etc/os-release; echo in > made; id -u', f'image={name}:1')
        assert done.code == 0 and done.out == f'NAME=small\n{ward.person.uid}\n' and (ward.work / 'made').exists(), done
    assert [path.name for path in (ward.state / 'ward' / 'images').iterdir() if path.name.startswith('.')] == []
    other = shutil.copytree(root, place / 'other', symlinks=True)
    (other / 'etc' / 'os-release').write_text('NAME=other\n')
    (place / 'other.tar').write_bytes(whole(other))
    ask('import', '--quiet', str(place / 'other.tar'), f'{name}:2')
    ask('tag', f'{name}:2', f'{name}:1')
    assert contained(ward, 'cat /etc/os-release', f'image={name}:1').out == 'NAME=other\n', 'what the name means now'


def test_limits_network_and_denials_are_as_ever(ward, podman):
    name, _ = podman
    ward.file('.env', 'TOKEN=5ecret')
    result = ward.result('--level', 'container', '--container', f'image={name}:1', '--timeout', '1s', '--', 'sh', '-c', 'cat .env; cat /proc/net/dev; while :; do :; done')
    assert result['timed_out'] and '5ecret' not in result['stdout'] and 'lo:' in result['stdout'] and result['stdout'].count(':') == 1, result
    assert {'userns', 'netns', 'seccomp', 'landlock', 'notify', 'masks'} <= set(result['attempts'][0]['walls'])


def test_an_image_that_podman_has_not_is_said(owner):
    if not shutil.which('podman'):
        pytest.skip('needs podman')
    done = contained(owner, 'touch ran', 'image=localhost/ward-test-nothing:1')
    assert done.code == 125 and 'podman has no image localhost/ward-test-nothing:1' in done.err and 'podman pull' in done.err and not (owner.work / 'ran').exists(), done


def test_neither_tool_is_said(owner):
    done = without_tools(owner, '', '--container', 'image=alpine:3.20', '--', 'touch', 'ran')
    assert done.code == 125 and 'neither podman nor docker' in done.err and 'apt install podman' in done.err and not (owner.work / 'ran').exists(), done


@pytest.mark.parametrize('made', [saved, layout], ids=['before-25', 'from-25'])
def test_docker_is_asked_for_what_it_would_be(owner, place, root, made):
    """A docker that answers as the real one does, and notes what it was asked."""
    image = made(place / 'image', whole(root), archive([('etc/added', b'1')]))
    said = pathlib.Path(place / 'said')
    packed = place / 'image.tar'
    subprocess.run(['tar', '-C', image, '-cf', packed, '.'], check=True)
    number = hashlib.sha256(b'image').hexdigest()
    fake = place / 'docker'
    fake.write_text(f'#!/bin/sh\necho "$@" >> {said}\ncase $1 in image) echo sha256:{number};; save) cp {packed} "$3";; esac\n')
    fake.chmod(0o755)
    setup = f'mount -t tmpfs -o mode=755 none /usr/local/sbin; cp -p {fake} /usr/local/sbin/docker; '
    for _ in range(2):
        done = without_tools(owner, setup, '--container', 'image=example.org/team/tool:1', '--', 'sh', '-c', 'cat /etc/os-release; cat /etc/added')
        assert done.out == 'NAME=small\n1', done
    asked = said.read_text().splitlines()
    assert asked[0] == asked[2] == 'image inspect --format {{.Id}} example.org/team/tool:1' and len(asked) == 3, 'the second time it is there'
    assert asked[1].startswith('save --output ') and asked[1].endswith(f'/archive {number}')
    assert not pathlib.Path(asked[1].split()[2]).exists()


def test_a_runtime_that_only_daemons_can_start_is_not_started(owner, place):
    fake = place / 'kata-runtime'
    fake.write_text(f'#!/bin/sh\ntouch {place}/started\n')
    fake.chmod(0o755)
    done = without_tools(owner, f'mount -t tmpfs -o mode=755 none /usr/local/sbin; cp -p {fake} /usr/local/sbin/kata-runtime; ', '--container', 'runtime=kata', '--', 'touch', 'ran')
    assert done.code == 125 and 'kata is not used: since 2.0' in done.err and 'containerd' in done.err and 'runtime=crun' in done.err, done
    assert not (place / 'started').exists() and not (owner.work / 'ran').exists()


@pytest.mark.skipif(not shutil.which('runsc'), reason='needs runsc')
def test_a_runtime_that_fails_is_said(owner, place):
    """What it writes is among the command's errors; that there was no command is ward's word."""
    fake = place / 'fake'
    fake.write_text('#!/bin/sh\necho broken >&2\nexit 3\n')
    fake.chmod(0o755)
    done = without_tools(owner, f'mount --bind {fake} /usr/bin/runsc; ', '--container', 'runtime=runsc', '--', 'touch', 'ran')
    assert done.code == 125 and 'broken\n' in done.err and '/usr/bin/runsc could not make the container' in done.err and not (owner.work / 'ran').exists(), done


@pytest.mark.parametrize('name', ['crun', 'runc', 'runsc'])
def test_a_runtime_that_is_not_here_is_said(owner, name):
    done = without_tools(owner, f'for place in /usr/bin /usr/sbin; do [ ! -e $place/{name} ] || mount --bind /dev/null $place/{name}; done; ', '--container', f'runtime={name}', '--', 'touch', 'ran')
    assert done.code == 125 and f'there is no {name} on this machine' in done.err and f'apt install {name}' in done.err and not (owner.work / 'ran').exists(), done


@pytest.mark.parametrize('reference', ['-v', 'a b', '--rm', 'a;b', '../x', 'x' * 300])
def test_what_is_no_reference_is_refused(ward, reference):
    done = contained(ward, 'touch ran', f'image={reference}')
    assert done.code == 125 and 'an image' in done.err and not (ward.work / 'ran').exists(), done
