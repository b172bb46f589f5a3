# SPDX-License-Identifier: Apache-2.0
"""Killing ward with SIGKILL at any moment leaves no process and no stray file behind, and the record goes on."""
import contextlib
import fcntl
import os
import re
import pathlib
import random
import signal
import subprocess
import time

import pytest

from support import all_gone, marker, processes, wait_until

SCRIPT = 'echo $$ > running; setsid sh -c "sleep 300; :" {0} & (sh -c "sleep 300; :" {0} &); sleep 300'


def wards_inits(ward):
    """The first processes of sandboxes that this ward started and that lost it. Only root may look which program it is."""
    found = set()
    for entry in pathlib.Path('/proc').iterdir():
        with contextlib.suppress(OSError, IndexError):
            if entry.name.isdigit() and (entry / 'comm').read_text().startswith('ward'):
                state, parent = (entry / 'stat').read_text().rsplit(')', 1)[1].split()[:2]
                if state != 'Z' and parent == '1' and (os.geteuid() != 0 or os.readlink(entry / 'exe') == ward.binary):
                    found.add(entry.name)
    return found


def both_run(word):
    """Whether what SCRIPT leaves in the background is there: the word alone is on ward's own command line, too."""
    return len(processes(f'sleep 300; :\0{word}')) >= 2


def command_line(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
    return b''


def listing(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob('*'))


def files_of(uid):
    """What the user has in the directories for temporary files."""
    found = set()
    for directory in ('/tmp', '/var/tmp', '/dev/shm'):
        for entry in os.scandir(directory):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    found.add(entry.path)
    return found


def kill_at_random_moments(ward, times, *flags):
    """Between the start and some milliseconds after the command began; the last quarter when it surely runs."""
    word, before = marker(), wards_inits(ward)
    for count in range(times):
        process = ward.popen('run', *flags, '--', 'sh', '-c', SCRIPT.format(word))
        if count < times * 3 // 4:
            time.sleep(random.random() * 0.04)
        else:
            assert wait_until(lambda: both_run(word))
        process.kill()
        ward.finish(process)  # its pipes are closed: nobody holds them any more
    assert all_gone(word)
    assert wait_until(lambda: not wards_inits(ward) - before, 20), 'an init is left without its ward'


def test_sigkill_at_any_moment_leaves_no_process(ward):
    kill_at_random_moments(ward, 50)
    assert set(listing(ward.work)) <= {'running'}
    assert listing(ward.home) == []


def test_sigkill_without_the_sandbox_leaves_no_process(ward):
    kill_at_random_moments(ward, 20, '--level', 'none')


@pytest.mark.soak
@pytest.mark.parametrize('flags', ['', '--level none', '--json', '--net full', '--timeout 100s'])
def test_sigkill_at_a_hundred_moments_leaves_no_process(ward, flags):
    kill_at_random_moments(ward, 100, *flags.split())
    assert ward.run('true').code == 0
    assert ward.verify().code == 0


def test_sigkill_leaves_no_stray_file(plain):
    before = files_of(plain.person.uid)
    kill_at_random_moments(plain, 12)
    assert files_of(plain.person.uid) == before
    assert set(listing(plain.work)) <= {'running'} and listing(plain.home) == []


def test_a_run_leaves_no_stray_file(plain):
    before = files_of(plain.person.uid)
    assert plain.sh('echo x > made; echo x > /tmp/t; echo x > /dev/shm/s; mktemp').code == 0
    assert plain.run('no-such-program').code == 127
    assert plain('run', '--bad-flag').code == 125
    assert files_of(plain.person.uid) == before
    assert listing(plain.work) == ['made'] and listing(plain.home) == []


def test_after_sigkill_the_record_holds_and_says_that_the_run_was_killed(ward):
    word = marker()
    process = ward.popen('run', '--', 'sh', '-c', SCRIPT.format(word))
    assert wait_until(lambda: both_run(word))
    process.kill()
    ward.finish(process)
    assert all_gone(word)
    assert ward.run('true').code == 0
    assert ward.verify().code == 0
    assert [record['kind'] for record in ward.records()] == ['run.start', 'run.start', 'run.end']
    assert re.search('exit +killed', ward('show', ward.records()[0]['run']).out)  # noticed by who looks first, and on record from then on
    assert [record['kind'] for record in ward.records()] == ['run.start', 'run.start', 'run.end', 'run.lost'] and ward.verify().code == 0


def test_the_private_tmp_of_a_killed_run_is_swept_later(ward):
    done = ward.shell('$WARD run -- sh -c "echo x > /tmp/left; touch up; sleep 300" & pid=$!; '
                      'for i in $(seq 500); do [ -e up ] && break; sleep 0.02; done; kill -9 $pid; wait $pid')
    assert done.code == 137
    sessions = ward.state / 'ward' / 'sessions'
    left, = os.listdir(sessions)
    assert ward.run('true').code == 0
    assert left not in os.listdir(sessions)


def test_killing_wards_parent_ends_nothing_but_killing_ward_does(plain):
    """ward run in the background of a shell that goes away goes on, as any program would."""
    word = marker()
    plain.shell(f'$WARD run -- sh -c "sleep 300; :" {word} >/dev/null 2>&1 & disown')
    assert wait_until(lambda: any(name.startswith(b'sh\0') for name in map(command_line, processes(word))))
    ours = [pid for pid in processes(word) if b'run' in command_line(pid).split(b'\0')]
    assert len(ours) == 1 and len(processes(word)) >= 2
    os.kill(ours[0], 9)
    assert all_gone(word)


@pytest.mark.parametrize('flags', [[], ['--level', 'none']], ids=['restricted', 'none'])
def test_sigkill_between_the_first_process_and_the_record_leaves_nothing(ward, flags):
    """Init is there before the run is on record; here the record is made to wait."""
    assert ward.run('true').code == 0
    before = wards_inits(ward)
    with open(ward.log, 'r+b') as log:
        fcntl.lockf(log, fcntl.LOCK_EX)
        process = ward.popen('run', *flags, '--', 'touch', 'ran', stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
        assert wait_until(lambda: children.read_text().split(), 20)
        time.sleep(0.2)
        process.kill()
        process.wait()
    if not wait_until(lambda: not wards_inits(ward) - before, 10):
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail('an init is left without its ward')
    assert not (ward.work / 'ran').exists()
    assert ward.verify().code == 0


def test_the_mounts_of_the_host_are_unchanged_by_killed_runs(ward):
    def mounts():
        with open('/proc/self/mountinfo') as lines:
            return [line for line in lines if str(ward.place) in line]
    kill_at_random_moments(ward, 8)
    assert mounts() == []
