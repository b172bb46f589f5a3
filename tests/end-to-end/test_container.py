# SPDX-License-Identifier: Apache-2.0
"""--level container: an OCI runtime makes the walls, and everything else is as ever: permissions, denials, questions, limits, records."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import struct

import pytest

from support import Person, Terminal, Ward, all_gone, marker, wait_until
from test_pending import waits

pytestmark = pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')
CONTAINER = ('--level', 'container')


@pytest.fixture(params=['crun', 'runc'])
def container(request):
    """What must not depend on who makes the namespaces; runc is root inside before ward makes it somebody else."""
    if not shutil.which(request.param):
        pytest.skip(f'needs {request.param}')
    return *CONTAINER, '--container', f'runtime={request.param}'


def parent_of(entry):
    try:
        return int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
    except OSError:
        return None


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def test_a_command_runs_as_itself_without_powers(ward, container):
    result = ward.result(*container, '--', 'sh', '-c', 'id -u; id -g; grep -E "^(Cap|NoNewPrivs|Seccomp)" /proc/self/status')
    lines = result['stdout'].split('\n')
    assert lines[:2] == [str(ward.person.uid), str(ward.person.gid)]
    assert [line.split()[1] for line in lines[2:7]] == ['0' * 16] * 5 and lines[7:9] == ['NoNewPrivs:\t1', 'Seccomp:\t2']
    assert lines[9:10] in ([], ['']) or lines[9] == 'Seccomp_filters:\t2', 'the runtime\'s, and ward\'s own'
    attempt, = result['attempts']
    assert attempt['level'] == 'container'
    assert {'userns', 'mountns', 'pidns', 'netns', 'ipcns', 'readonly', 'masks', 'dev', 'proc', 'landlock', 'seccomp', 'notify', 'capabilities'} <= set(attempt['walls'])


def test_a_machine_whose_parts_of_dev_have_no_devices(binary, place):
    """As systemd mounts them."""
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, Person('root'), place)
    done = ward('-m', 'sh', '-c', 'mount -t tmpfs -o nosuid,nodev shm /dev/shm && exec "$0" "$@"', ward.binary, 'run', *CONTAINER, '--', 'sh', '-c', 'head -c 1 /dev/zero | wc -c',
                program='/usr/bin/unshare')
    assert done.code == 0 and done.out.strip() == '1', done


def test_no_wall_is_named_that_nobody_put_up(ward):
    """The profile of the restricted level is not the container's."""
    attempt, = ward.result(*CONTAINER, '--', 'true')['attempts']
    assert 'apparmor' not in attempt['walls']
    result = ward.result(*CONTAINER, '--require', 'apparmor', '--', 'true')
    assert result['error'] and 'apparmor' in result['error']['message'] and not result['attempts']


def test_the_workspace_is_writable_and_nothing_else(ward, outside, container):
    result = ward.result(*container, '--', 'sh', '-c', f'echo in > new; echo t > /tmp/t; cat new /tmp/t; echo x > {outside}/f')
    assert result['stdout'] == 'in\nt\n' and not (outside / 'f').exists(), result
    assert (ward.work / 'new').stat().st_uid == ward.person.uid
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['program']) == ('write', f'{outside}/f', 'sh')


def test_secrets_are_masked_and_names_that_run_programs_held(ward, container):
    ward.file('.env', 'TOKEN=5ecret')
    ward.file('.git/hooks/pre-commit', '#!/bin/sh\n')
    done = ward.sh('cat .env; echo evil > .git/hooks/pre-commit; mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/post-commit', *container)
    assert '5ecret' not in done.out + done.err
    assert (ward.work / '.git/hooks/pre-commit').read_text() == '#!/bin/sh\n' and not (ward.work / 'sub/.git/hooks/post-commit').exists()


def test_a_yes_lets_the_call_go_on(ward, outside, container):
    process = ward.popen('run', '--wait', '600s', *container, '--', 'sh', '-c', f'echo x > {outside}/f; echo done')
    question, = waits(ward)
    assert question['ask']['kind'] == 'in_place' and question['ask']['grants'] == [f'write {outside}/f']
    assert ward('approve', question['id']).code == 0
    done = ward.finish(process)
    assert done.code == 0 and done.out == 'done\n' and (outside / 'f').read_text() == 'x\n'


def test_a_permission_is_a_permission(ward, outside):
    assert ward.sh(f'echo x > {outside}/f', *CONTAINER, '--write', str(outside)).code == 0
    assert (outside / 'f').read_text() == 'x\n'


def test_the_network_is_refused_and_told(ward):
    result = ward.result(*CONTAINER, '--', '/usr/bin/python3', '-c', 'import socket\ntry: socket.create_connection(("web.example", 80), 5)\nexcept OSError: print("no")')
    assert result['stdout'] == 'no\n'
    assert ('connect', 'web.example:80') in {(denial['operation'], denial['object']) for denial in result['attempts'][0]['denials']}


def test_loopback_inside_works(ward, container):
    done = ward.python('import socket\ns = socket.create_server(("127.0.0.1", 0))\nc = socket.create_connection(s.getsockname())\nc.sendall(b"x")\nprint(s.accept()[0].recv(1))',
                       flags=container)
    assert done.out == "b'x'\n", done


def test_exit_codes_signals_and_input(ward):
    assert ward.sh('exit 7', *CONTAINER).code == 7
    assert ward.result(*CONTAINER, '--', 'sh', '-c', 'kill -TERM $$')['signal'] == 15
    assert ward('run', *CONTAINER, '--', 'cat', input=b'given').out == 'given'
    assert ward('run', *CONTAINER, '--', 'no-such-program').code == 127


def test_time_ends_it_and_nothing_is_left(ward):
    word = marker()
    result = ward.result(*CONTAINER, '--timeout', '1s', '--', 'sh', '-c', 'echo begun; sleep 600 & sleep 600; :', word)
    assert result['timed_out'] and result['stdout'] == 'begun\n' and all_gone(word)


def test_limits_hold(ward, container):
    result = ward.result(*container, '--memory', '64M', '--', '/usr/bin/python3', '-c', 'import time; x = bytearray(300 << 20); time.sleep(60); print(len(x))')
    assert result['exit_code'] != 0 and '3145' not in result['stdout']


def test_a_terminal_of_its_own(ward, container):
    desk = Terminal(ward)
    try:
        desk.sendline(f'ward run {" ".join(container)} -- sh -c "tty; stty size"')
        desk.expect_exact('/dev/pts/0')
        desk.expect_exact('24 80')
        desk.ready()
    finally:
        desk.close(force=True)


def test_killed_it_leaves_nothing(ward, container):
    word = marker()
    before = {line.split()[4] for line in open('/proc/mounts') if len(line.split()) > 4}
    process = ward.popen('run', *container, '--', 'sh', '-c', 'touch begun; sleep 600; :', word)
    assert wait_until(lambda: (ward.work / 'begun').exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all_gone(word)
    assert before == {line.split()[4] for line in open('/proc/mounts') if len(line.split()) > 4}
    assert not [name for name in os.listdir('/run') if name in ('rootfs', 'bundle', 'state', '.ward')]


def children_of(pid):
    return [entry for entry in pathlib.Path('/proc').iterdir() if entry.name.isdigit() and parent_of(entry) == pid]


@pytest.mark.parametrize('flags', [(), ('--write', '/usr/bin')], ids=['read-only', 'writable'])
def test_no_runtime_s_file_is_within_reach(ward, flags):
    """Through /proc/PID/exe of a runtime that is outside, its file could be written: it is gone when the command runs, and nobody is left unreaped.
    What is there instead runs from a read-only mount."""
    process = ward.popen('run', *CONTAINER, *flags, '--', 'sh', '-c', 'touch begun; while [ ! -e end ]; do sleep 0.1; done')
    assert wait_until(lambda: (ward.work / 'begun').exists())
    assert wait_until(lambda: len(children_of(process.pid)) == 1), 'the runtime, or who built for it, is still there'
    init, = children_of(process.pid)
    run_from, flag = os.readlink(init / 'exe'), os.statvfs(init / 'exe').f_flag
    ward.file('end')
    assert ward.finish(process).code == 0
    assert flag & os.ST_RDONLY and run_from.endswith('/ward'), (run_from, flag)


def of_session(session):
    """Whoever is of it and no zombie."""
    found = []
    for entry in pathlib.Path('/proc').iterdir():
        try:
            fields = (entry / 'stat').read_text().rpartition(')')[2].split()
            found += [(entry / 'cmdline').read_bytes()] if fields[3] == str(session) and fields[0] not in 'ZX' else []
        except OSError:
            pass
    return found


@pytest.mark.parametrize('name', ['crun', 'runc'])
def test_the_policy_s_runtime_is_not_the_one_that_was_guessed(ward, name):
    """Before the policy is read crun is likely: it is started for nothing, and ended."""
    if not shutil.which(name):
        pytest.skip(f'needs {name}')
    ward.policy('version: 1\nsandbox: {container: {runtime: %s}}\n' % name)
    process = ward.popen('run', *CONTAINER, '--', 'sh', '-c', 'echo ran')
    done = ward.finish(process)
    assert done.code == 0 and done.out == 'ran\n', done
    assert wait_until(lambda: not of_session(process.pid)), of_session(process.pid)


def test_what_is_refused_leaves_no_runtime(ward):
    """It was started before the command was judged."""
    ward.policy('version: 1\nrules:\n  - {command: touch, do: deny, why: not here}\n')
    process = ward.popen('run', *CONTAINER, '--', 'touch', 'begun')
    done = ward.finish(process)
    assert done.code == 126 and 'not here' in done.err and not (ward.work / 'begun').exists(), done
    assert wait_until(lambda: not of_session(process.pid)), of_session(process.pid)


def test_a_runtime_that_does_not_start_is_said(ward):
    """One that ends at once, and says why: nothing runs, and nobody waits for it."""
    if not ward.person.is_root:
        pytest.skip('needs root, for a mount over crun')
    broken = ward.place / 'broken'
    broken.write_text('#!/bin/sh\necho no luck today >&2\nexit 1\n')
    broken.chmod(0o755)
    done = ward('-m', 'sh', '-c', 'mount --bind "$0" /usr/bin/crun && exec "$@"', broken, ward.binary, 'run', *CONTAINER, '--', 'touch', 'begun', program='/usr/bin/unshare')
    assert done.code == 125 and 'could not make the container: no luck today' in done.err and not (ward.work / 'begun').exists(), done


def without_call(number):
    """For whoever is started: EPERM, as under a profile that lets nobody take descriptors."""
    program = b''.join(struct.pack('HBBI', *line) for line in [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)])
    text = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)

    def begin():
        filtered = struct.pack('HxxxxxxP', 4, ctypes.addressof(text))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filtered, 0, 0):
            raise OSError(ctypes.get_errno(), 'seccomp')
    return begin


def test_descriptors_that_cannot_be_taken_are_sent(ward, container):
    """pidfd_getfd is refused by Yama, and by the profiles of container engines."""
    result = ward.result(*container, '--', 'sh', '-c', 'echo seen; cat /etc/shadow; touch /etc/made', preexec_fn=without_call(438))
    assert result['stdout'] == 'seen\n' and {'notify', 'netns'} <= set(result['attempts'][0]['walls'])
    assert [denial['object'] for denial in result['attempts'][0]['denials']] == ['/etc/made']


def test_it_is_on_record(ward):
    result = ward.result(*CONTAINER, '--', 'true')
    start, = [record for record in ward.records() if record['kind'] == 'run.start']
    assert (start['run'], start['level']) == (result['run'], 'container'), start
    assert ward.verify().code == 0
