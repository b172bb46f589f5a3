# SPDX-License-Identifier: Apache-2.0
"""Limits: each ends the run with its own name in the result, and nothing of it is left. As root here a control group
holds some of them; for the plain user there is none, and the supervisor counts."""
import contextlib
import glob
import json
import os
import pathlib
import resource
import signal
import subprocess
import threading

import pytest

from support import all_gone, marker, processes, wait_until

pytestmark = pytest.mark.filterwarnings('ignore')

MEMORY_GROUPS = glob.glob('/sys/fs/cgroup/memory/memory.limit_in_bytes') + glob.glob('/sys/fs/cgroup/cgroup.controllers')


def groups(word='ward-'):
    """Directories of control groups whose name has the word."""
    found = []
    for top, names, _ in os.walk('/sys/fs/cgroup'):
        found += [os.path.join(top, name) for name in names if word in name]
    return found


def few_processes():
    """Should a limit not hold, the machine must not suffer for it."""
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = 600 if hard == resource.RLIM_INFINITY else min(600, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def ended_by(ward, limit, flags, script, *arguments, **how):
    """Runs Python code that must end by the limit, with nothing left of it; returns the result."""
    mark = marker()
    result = ward.result(*flags, '--timeout', '60s', '--', '/usr/bin/python3', '-I', '-c', script, mark, *arguments, **how)
    assert (result['limit'], result['error']) == (limit, None), result
    assert all_gone(mark)
    assert not groups(result['run'])
    return result


HOG = 'import time\nkept = []\nwhile True: kept.append(bytearray(1 << 20)); time.sleep(0.0005)'
MANY_SMALL = 'import os, time\nfor i in range(30):\n  if os.fork() == 0: kept = bytearray(8 << 20); time.sleep(60)\ntime.sleep(60)'
SHARED = 'import mmap, time\nkept = mmap.mmap(-1, 300 << 20)\nfor at in range(0, 300 << 20, 4096): kept[at] = 1\ntime.sleep(60)'
NAMELESS = 'import os, time\nf = os.memfd_create("m")\nwhile True: os.write(f, bytes(1 << 20)); time.sleep(0.0005)'
BOMB = """import os, time
end = time.time() + 20
while time.time() < end:
    try: os.fork()
    except OSError: pass"""
BUSY = 'while True: pass'
BUSY_CHILDREN = """import os
while True:
    if os.fork() == 0:
        for i in range(300000): pass
        os._exit(0)
    os.wait()"""


@pytest.mark.parametrize('script', [HOG, MANY_SMALL, SHARED, NAMELESS], ids=['one', 'many-small', 'shared', 'open-only'])
def test_a_memory_hog_ends_by_its_limit(ward, script):
    ended_by(ward, 'memory', ['--memory', '100M'], script)


def test_the_death_of_one_hog_ends_the_run(ward):
    """The kernel may kill one process only; the shell that started it would go on."""
    mark = marker()
    result = ward.result('--memory', '100M', '--', 'sh', '-c',
                         f'/usr/bin/python3 -c "x = bytearray(400 << 20)"; sleep 600; : {mark}')
    assert result['limit'] == 'memory'
    assert all_gone(mark)


def test_files_in_memory_are_memory(ward):
    """/dev/shm is bounded by itself, whether or not a control group stands."""
    result = ward.result('--memory', '50M', '--timeout', '60s', '--', 'dd', 'if=/dev/zero', 'of=/dev/shm/f', 'bs=1M', 'count=300')
    assert result['exit_code'] != 0
    assert result['limit'] == 'memory' or 'No space left' in result['stderr']


def test_the_page_cache_is_nobodys_memory(ward):
    result = ward.result('--memory', '50M', '--timeout', '60s', '--', 'sh', '-c', 'head -c 200M /dev/zero > f && cat f > /dev/null && rm f')
    assert (result['limit'], result['exit_code']) == (None, 0)


def test_memory_shared_by_forks_counts_once(ward):
    script = 'import os, time\nkept = bytearray(60 << 20)\nfor i in range(6):\n  if os.fork() == 0: time.sleep(1); os._exit(0)\ntime.sleep(0.7)'
    result = ward.result('--memory', '150M', '--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['limit'], result['exit_code']) == (None, 0)


@pytest.mark.parametrize('level', ['restricted', 'none'])
def test_a_fork_bomb_ends_by_its_limit(ward, level):
    ended_by(ward, 'processes', ['--processes', '20', '--level', level], BOMB, preexec_fn=few_processes)


def test_threads_are_no_processes(ward):
    script = 'import threading, time\nfor i in range(60): threading.Thread(target=time.sleep, args=(0.5,)).start()'
    result = ward.result('--processes', '5', '--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['limit'], result['exit_code']) == (None, 0)


def test_what_gives_up_for_want_of_a_thread_has_met_its_limit(ward):
    """Processes are counted, threads are not: that more of them were refused only the group tells, which a user has none of."""
    script = '''import os, threading, time
try:
    for i in range(60): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
except RuntimeError: os.abort()'''
    result = ward.result('--level', 'none', '--processes', '2', '--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['limit'], result['signal']) == (('processes', signal.SIGABRT) if ward.person.is_root else (None, None)), result


@pytest.mark.parametrize('script', [BUSY, BUSY_CHILDREN], ids=['one', 'short-lived'])
def test_a_busy_loop_ends_by_its_cpu_time(ward, script):
    result = ended_by(ward, 'cpu', ['--cpu-time', '0.5s'], script)
    assert 400 < result['resources']['cpu_ms'] < 5000


def test_a_busy_loop_ends_by_time(ward):
    result = ward.result('--timeout', '1s', '--', '/usr/bin/python3', '-I', '-c', BUSY)
    assert (result['limit'], result['timed_out'], result['status']) == ('time', True, 124)
    assert result['resources']['cpu_ms'] > 100


def test_a_sleeper_ends_by_its_idleness(ward):
    result = ended_by(ward, 'idle', ['--idle', '1s'], 'import time; time.sleep(60)')
    assert result['duration_ms'] > 900
    assert (result['timed_out'], result['status']) == (False, 137)


@pytest.mark.parametrize('script', [
    'while sleep 0.1; do echo alive; done',
    'while sleep 0.1; do cat /etc/hostname > /dev/null; done',
    'while :; do :; done',
], ids=['prints', 'reads', 'computes'])
def test_who_does_something_is_not_idle(plain, script):
    assert plain.result('--idle', '1s', '--timeout', '3s', '--', 'sh', '-c', script)['limit'] == 'time'


def test_endless_output_ends_by_its_limit(ward):
    result = ward.result('--output', '1M', '--timeout', '60s', '--', 'yes')
    assert (result['limit'], result['status']) == ('output', 137)


FILLERS = {
    'one-file': 'f = open("f", "wb", 0)\nwhile True: f.write(bytes(1 << 20))',
    'many-files': 'import itertools\nfor i in itertools.count():\n  with open(f"f{i}", "wb") as f: f.write(bytes(1 << 20))',
    'children': 'import itertools, os\nfor i in itertools.count():\n  if os.fork() == 0:\n    open(f"f{i}", "wb").write(bytes(1 << 20)); os._exit(0)\n  os.wait()',
    'fallocate': 'import itertools, os\nfor i in itertools.count():\n  f = os.open(f"f{i}", os.O_CREAT | os.O_WRONLY); os.posix_fallocate(f, 0, 1 << 20)',
    'fallocate-at-once': 'import os, time\nf = os.open("f", os.O_CREAT | os.O_WRONLY)\ntry: os.posix_fallocate(f, 0, 1 << 40)\nexcept OSError: time.sleep(60)',
    'sparse-map': """import itertools, mmap, os
for i in itertools.count():
    f = os.open(f"f{i}", os.O_CREAT | os.O_RDWR)
    os.ftruncate(f, 8 << 20)
    m = mmap.mmap(f, 8 << 20)
    for at in range(0, 8 << 20, 4096): m[at] = 1""",
}


@pytest.mark.parametrize('kind', FILLERS)
def test_a_disk_filler_ends_by_its_limit(ward, kind):
    ended_by(ward, 'disk', ['--disk', '20M'], FILLERS[kind])
    used = sum(path.stat().st_blocks * 512 for path in ward.work.iterdir())
    # The overshoot is what is written between two looks, 25 ms apart on a machine with room.
    assert used < 2 << 30, used


def test_no_file_is_longer_than_the_disk_may_hold(ward):
    """Nothing is written by that, so it is refused, not ended; a program that does not ignore the signal dies of it."""
    script = 'import os\ntry: os.truncate(os.open("f", os.O_CREAT | os.O_RDWR), 1 << 40)\nexcept OSError as error: print(error.errno)'
    result = ward.result('--disk', '20M', '--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['limit'], result['stdout']) == (None, '27\n')
    assert ward.result('--disk', '20M', '--', 'truncate', '-s', '1T', 'g')['limit'] == 'disk'


def test_what_stays_below_its_limits_is_let_alone(ward):
    result = ward.result('--memory', '500M', '--cpu', '1.5', '--cpu-time', '60s', '--processes', '30', '--disk', '50M', '--output', '1M',
                         '--timeout', '60s', '--idle', '30s', '--files', '100', '--', 'sh', '-c',
                         'head -c 10M /dev/zero > f; fallocate -l 5M g; for i in 1 2 3 4 5; do sh -c "ls / > /dev/null"; done; echo fine')
    assert (result['limit'], result['exit_code'], result['stdout']) == (None, 0, 'fine\n')
    assert not groups(result['run'])


def test_open_files_are_bounded_not_ended(ward):
    script = 'import os\ntry:\n  while True: os.dup(0)\nexcept OSError as error: print(error.errno, os.sysconf("SC_OPEN_MAX"))'
    result = ward.result('--files', '30', '--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['limit'], result['exit_code'], result['stdout']) == (None, 0, '24 30\n')
    raise_it = 'import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))'
    assert ward.result('--files', '30', '--', '/usr/bin/python3', '-I', '-c', raise_it)['exit_code'] == 1


def test_a_share_of_the_cpu_is_held_or_said(ward):
    result = ward.result('--cpu', '0.2', '--timeout', '2s', '--', '/usr/bin/python3', '-I', '-c', BUSY)
    if any('the limit cpu is not enforced' in warning for warning in result['sandbox_warnings']):
        assert not ward.person.is_root or not os.path.exists('/sys/fs/cgroup/cpu/cpu.cfs_quota_us')
    else:
        assert result['resources']['cpu_ms'] < 1000


def test_without_a_limit_there_is_no_group(ward):
    process = ward.popen('run', '--timeout', '60s', '--output', '1M', '--', 'sh', '-c', 'echo started; sleep 1')
    assert process.stdout.readline() == b'started\n'
    mine = [name for name in groups() if f'.{process.pid}.' in name]
    assert ward.finish(process).code == 0 and not mine


@pytest.mark.parametrize('level', ['restricted', 'none'])
def test_level_none_is_limited_as_well(plain, level):
    flags = ['--level', level]
    ended_by(plain, 'memory', ['--memory', '100M', *flags], HOG)
    ended_by(plain, 'cpu', ['--cpu-time', '0.5s', *flags], BUSY)
    ended_by(plain, 'idle', ['--idle', '1s', *flags], 'import time; time.sleep(60)')
    ended_by(plain, 'disk', ['--disk', '20M', *flags], FILLERS['many-files'])
    result = plain.result('--disk', '1G', *flags, '--', 'true')
    assert (level == 'none') == any('fallocate' in warning for warning in result['sandbox_warnings'])


def test_limits_from_the_policy_and_its_profiles(ward):
    ward.policy('sandbox: {limits: {files: 40, idle: 1s}}\nprofiles:\n  small: {limits: {memory: 60M, processes: 3}}\n')
    assert ward.result('--', 'sh', '-c', 'ulimit -n')['stdout'] == '40\n'
    assert ward.result('--', 'sleep', '60')['limit'] == 'idle'
    ended_by(ward, 'memory', ['--profile', 'small'], HOG)
    ended_by(ward, 'processes', ['--profile', 'small'], 'import os, time\nfor i in range(4): os.fork()\ntime.sleep(60)')


def test_the_built_in_profiles(ward):
    """What requirements of agents and of their code say, seen from inside and by their effect."""
    shown = json.loads(ward('policy', 'show', '--json').out)['profiles']
    assert (shown['agent']['limits']['memory'], shown['agent']['limits']['processes'], shown['agent']['limits']['idle']) == ('2G', '20', '300s')
    ended_by(ward, 'memory', ['--profile', 'code'], 'kept = [bytearray(1 << 20) for i in range(700)]\nimport time; time.sleep(60)')
    ended_by(ward, 'processes', ['--profile', 'code'], BOMB, preexec_fn=few_processes)
    ended_by(ward, 'disk', ['--profile', 'code'], FILLERS['one-file'])
    ended_by(ward, 'processes', ['--profile', 'agent'], 'import os, time\nfor i in range(5): os.fork()\ntime.sleep(60)')


def test_the_example_of_an_endless_loop(ward):
    """`while True` of the requirements, with the time of the profile cut short."""
    result = ward.result('--profile', 'code', '--timeout', '2s', '--', '/usr/bin/python3', '-c', 'while True: pass')
    assert (result['limit'], result['status']) == ('time', 124)


def test_a_killed_ward_leaves_no_group_behind_after_the_next_run(ward):
    mark = marker()
    process = ward.popen('run', '--memory', '1G', '--processes', '50', '--', 'sh', '-c', f'echo started; sleep 300; : {mark}')
    assert process.stdout.readline() == b'started\n'
    mine = [name for name in groups() if f'.{process.pid}.' in name]
    if ward.person.is_root and MEMORY_GROUPS:
        assert mine
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all_gone(mark)
    assert ward.run('true', flags=['--memory', '1G', '--processes', '50']).code == 0
    assert wait_until(lambda: not [name for name in mine if os.path.exists(name)], 10)


def test_runs_beside_each_other_keep_their_groups(ward):
    done = [ward.popen('run', '--memory', '500M', '--', 'sh', '-c', 'sleep 0.5; echo fine') for i in range(4)]
    assert [ward.finish(process).out for process in done] == ['fine\n'] * 4


def test_root_in_somebody_elses_workspace_has_a_group_and_removes_it(binary, user, place):
    from support import Person, Ward
    if os.geteuid() != 0 or not MEMORY_GROUPS:
        pytest.skip('needs root and control groups')
    ward = Ward(binary, Person('root'), place)
    os.chown(ward.work, user.uid, user.gid)
    result = ward.result('--memory', '100M', '--', 'sh', '-c', 'id -u; /usr/bin/python3 -c "x = bytearray(300 << 20)"; sleep 20')
    assert (result['stdout'], result['limit']) == (f'{user.uid}\n', 'memory')
    assert not groups(result['run'])


class Bus:
    """What ward needs of a user's D-Bus and systemd: it takes one call and moves the process into a scope, in a
    hierarchy that only root may write."""

    def __init__(self, path, parent, refuse=False):
        import socket
        self.parent, self.refuse, self.calls = parent, refuse, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        os.chmod(path, 0o777)
        self.socket.listen(5)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.socket.accept()[0]
                with contextlib.suppress(OSError, AssertionError, IndexError):
                    self.talk(connection)
                connection.close()

    def talk(self, connection):
        stream = connection.makefile('rwb')
        line = stream.readline()
        assert line.startswith(b'\0AUTH EXTERNAL ')
        self.uid = int(bytes.fromhex(line.split()[-1].decode()))
        stream.write(b'OK 1234deadbeef\r\n')
        stream.flush()
        assert stream.readline() == b'BEGIN\r\n'
        for number in range(2):
            head = stream.read(16)
            body, serial, fields = (int.from_bytes(head[at:at + 4], 'little') for at in (4, 8, 12))
            rest = stream.read((fields + 7) // 8 * 8 + body)
            self.calls.append(rest)
            kind = 2
            if number == 1:
                at = (fields + 7) // 8 * 8
                length = int.from_bytes(rest[at:at + 4], 'little')
                name = rest[at + 4:at + 4 + length].decode()
                pids = rest.index(b'PIDs\0')
                pid = int.from_bytes(rest[pids + 16:pids + 20], 'little')
                kind = 3 if self.refuse else 2
                if not self.refuse:
                    self.scope = pathlib.Path(self.parent) / name
                    self.scope.mkdir()
                    (self.scope / 'cgroup.procs').write_text(str(pid))
                    for file in ('cgroup.freeze', 'cgroup.procs'):
                        os.chown(self.scope / file, self.uid, -1)
            # A signal first, as a bus sends NameAcquired.
            stream.write(b'l\4\1\1' + bytes(4) + (7).to_bytes(4, 'little') + bytes(4))
            stream.write(bytes([ord('l'), kind, 1, 1]) + bytes(4) + (9).to_bytes(4, 'little') + (8).to_bytes(4, 'little')
                         + b'\5\1u\0' + serial.to_bytes(4, 'little'))
            stream.flush()


@pytest.fixture
def unified(user):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    parent = next((path for path in ('/sys/fs/cgroup/unified', '/sys/fs/cgroup') if os.path.exists(f'{path}/cgroup.controllers')), None)
    if not parent:
        pytest.skip('needs control groups of version 2')
    path = pathlib.Path(parent) / f'test-{marker()}'
    path.mkdir()
    yield path
    for scope in path.glob('*/'):
        assert wait_until(lambda: not (scope / 'cgroup.procs').read_text(), 20)
        scope.rmdir()
    path.rmdir()


def test_in_a_delegated_subtree_a_group_is_made_without_asking_anybody(plain, unified):
    """As on a machine with version 2 alone: in a mount namespace without the others, in a group that is the user's."""
    own = unified / 'own'
    own.mkdir()
    for path in (unified, own):
        for file in ('.', 'cgroup.procs', 'cgroup.subtree_control'):
            os.chown(path / file, plain.person.uid, plain.person.gid)
    # Children that nobody waits for: only a group counts them to the end.
    script = """import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        for i in range(30000): pass
        os._exit(0)"""
    arguments = ['run', '--json', '--cpu-time', '1s', '--timeout', '60s', '--', '/usr/bin/python3', '-I', '-c', script]
    outer = ['unshare', '-m', 'sh', '-c', f'umount $(grep -o "/sys/fs/cgroup/[a-z,_]*" /proc/self/mounts | grep -v unified) 2>/dev/null; echo $$ > {own}/cgroup.procs;'
             ' exec "$@"', 'sh', 'setpriv', '--reuid', str(plain.person.uid), '--regid', str(plain.person.gid), '--clear-groups', plain.binary]
    process = subprocess.Popen([*outer, *arguments], env=plain.variables, cwd=plain.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert wait_until(lambda: any(path.read_text() for path in own.glob('ward-*/cgroup.procs')), 20)
    result = json.loads(process.communicate(timeout=90)[0])
    assert result['limit'] == 'cpu', result
    assert not groups(result['run'])


def test_a_scope_is_asked_for_at_the_users_bus(plain, unified):
    directory = plain.place / 'runtime'
    directory.mkdir()
    bus = Bus(directory / 'bus', unified)
    result = plain.result('--cpu-time', '1s', '--memory', '300M', '--processes', '20', '--', '/usr/bin/python3', '-c',
                          'while True: pass', env={'XDG_RUNTIME_DIR': str(directory)})
    assert bus.uid == plain.person.uid and len(bus.calls) == 2
    assert b'StartTransientUnit' in bus.calls[1] and b'MemoryMax' in bus.calls[1] and b'TasksMax' in bus.calls[1]
    assert f'ward-{result["run"]}' in bus.scope.name and bus.scope.exists()
    assert result['limit'] == 'cpu'


@pytest.mark.parametrize('kind', ['refused', 'silent', 'absent', 'not-a-bus'])
def test_without_an_answer_from_the_bus_the_supervisor_counts(plain, unified, kind):
    import socket
    directory = plain.place / 'runtime'
    directory.mkdir()
    if kind == 'refused':
        bus = Bus(directory / 'bus', unified, refuse=True)
    elif kind == 'silent':
        silent = socket.socket(socket.AF_UNIX)
        silent.bind(str(directory / 'bus'))
        os.chmod(directory / 'bus', 0o777)
        silent.listen(1)
    elif kind == 'not-a-bus':
        (directory / 'bus').write_text('')
    result = plain.result('--memory', '100M', '--cpu', '50%', '--', '/usr/bin/python3', '-c', HOG, env={'XDG_RUNTIME_DIR': str(directory)})
    assert result['limit'] == 'memory'
    assert any('the limit cpu is not enforced' in warning for warning in result['sandbox_warnings'])
