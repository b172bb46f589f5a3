# SPDX-License-Identifier: Apache-2.0
"""Where nothing can be recorded nothing runs; and many runs at once lose nothing."""
import collections
import concurrent.futures
import contextlib
import json
import os
import subprocess
import time

import pytest

from support import Ward


@pytest.fixture
def small_disk(ward):
    """A state directory on a disk of four mebibytes."""
    if os.geteuid() != 0:
        pytest.skip('needs root to mount')
    subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size=4m,mode=755,uid={ward.person.uid},gid={ward.person.gid}', 'ward-test', ward.state],
                   check=True)
    yield ward
    subprocess.run(['umount', '-l', ward.state], check=True)


def fill(directory):
    ballast = os.open(directory / 'ballast', os.O_CREAT | os.O_WRONLY)
    for size in (4096, 1):
        with contextlib.suppress(OSError):
            while True:
                os.write(ballast, b'x' * size)
    os.close(ballast)


def is_refused(ward, **how):
    (ward.work / 'ran').unlink(missing_ok=True)
    done = ward.run('touch', 'ran', **how)
    assert done.code == 125, done
    assert not (ward.work / 'ran').exists(), 'the command ran without a record'
    assert done.err.startswith('ward: ') and len(done.err.splitlines()) >= 2, f'no hint: {done}'
    result = ward.result('--', 'touch', 'ran', **how)
    assert (result['exit_code'], result['error']['kind'], result['status']) == (-1, 'engine', 125)
    assert result['error']['hint']
    assert not (ward.work / 'ran').exists()
    return done


def test_a_full_disk_refuses_the_first_run(small_disk):
    fill(small_disk.state)
    is_refused(small_disk)
    (small_disk.state / 'ballast').unlink()
    assert small_disk.run('true').code == 0
    assert small_disk.verify().code == 0


def test_a_disk_that_fills_up_refuses_and_the_chain_holds(small_disk):
    assert small_disk.run('true').code == 0
    fill(small_disk.state)
    codes = collections.Counter()
    for _ in range(3000):
        (small_disk.work / 'ran').unlink(missing_ok=True)
        code = small_disk.run('touch', 'ran', flags=['--reason', 'r' * 10000]).code
        codes[code] += 1
        if code != 0:
            break
        assert (small_disk.work / 'ran').exists()
    assert codes[125] == 1 and set(codes) <= {0, 125}, codes
    is_refused(small_disk)
    assert small_disk.verify().code == 0
    records = small_disk.records()
    assert sum(r['kind'] == 'run.start' for r in records) == sum(r['kind'] == 'run.end' for r in records) == codes[0] + 1
    (small_disk.state / 'ballast').unlink()
    assert small_disk.run('true').code == 0
    assert small_disk.verify().code == 0


def test_a_disk_that_fills_up_during_a_run_does_not_swallow_its_end(small_disk):
    process = small_disk.popen('run', '--', 'sh', '-c', 'touch ready; read x; exit 3', stdin=subprocess.PIPE)
    while not (small_disk.work / 'ready').exists() and process.poll() is None:
        time.sleep(0.01)
    fill(small_disk.state)
    assert small_disk.finish(process, b'\n').code == 3
    assert small_disk.verify().code == 0
    assert [r['kind'] for r in small_disk.records()] == ['run.start', 'run.end']


def test_an_unwritable_state_directory_refuses(plain):
    plain.state.chmod(0o555)
    assert 'XDG_STATE_HOME' in is_refused(plain).err
    plain.state.chmod(0o755)
    assert plain.run('true').code == 0
    (plain.state / 'ward').chmod(0o500)
    (plain.log).chmod(0o400)
    is_refused(plain)


def test_a_state_directory_of_somebody_else_refuses(binary, user, place):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, user, place)
    (ward.state / 'ward').mkdir(mode=0o755)
    is_refused(ward)


def test_a_state_directory_that_others_may_write_refuses(ward):
    assert ward.run('true').code == 0
    (ward.state / 'ward').chmod(0o777)
    assert 'chmod 700' in is_refused(ward).err


@pytest.mark.parametrize('thing', ['file', 'dangling link', 'directory for the log'])
def test_a_state_that_is_something_else_refuses(ward, thing):
    directory = ward.state / 'ward'
    if thing == 'file':
        ward.file(directory, 'x')
    elif thing == 'dangling link':
        directory.symlink_to('/no/such/place')
    else:
        directory.mkdir(mode=0o700)
        (directory / 'audit.log').mkdir()
        ward.person.own(directory, directory / 'audit.log')
    is_refused(ward)


def test_a_relative_state_home_is_not_taken(plain):
    assert plain.run('true', env={'XDG_STATE_HOME': 'state'}).code == 0
    assert not (plain.work / 'state').exists()
    assert (plain.home / '.local' / 'state' / 'ward' / 'audit.log').exists()


def test_a_cut_log_refuses_until_a_person_has_looked(ward):
    for _ in range(2):
        assert ward.run('true').code == 0
    content = ward.log.read_bytes()
    ward.log.write_bytes(b''.join(content.splitlines(keepends=True)[:2]))
    assert 'ward audit verify' in is_refused(ward).err
    assert ward.verify().code == 1
    ward.log.write_bytes(content)
    assert ward.verify().code == 0 and ward.run('true').code == 0


def test_a_torn_record_of_a_killed_writer_does_not_stop_the_next_run(ward):
    """A writer that died in the middle of a record left a part of a line behind the head."""
    assert ward.run('true').code == 0
    with open(ward.log, 'ab') as log:
        log.write(b'{"seq":3,"time":"2026')
    assert ward.run('true').code == 0
    assert ward.verify().code == 0
    records = ward.records()
    assert [r['seq'] for r in records] == list(range(1, len(records) + 1))
    assert [r['kind'] for r in records if r['kind'].startswith('run.')] == ['run.start', 'run.end'] * 2


def test_two_hundred_runs_at_once_lose_nothing_and_keep_one_chain(ward):
    def one(number):
        return ward.run('sh', '-c', f'exit {number % 100}', flags=['--agent', f'a{number}']).code
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        codes = list(pool.map(one, range(200)))
    assert codes == [number % 100 for number in range(200)]
    assert ward.verify().code == 0
    records = ward.records()
    assert [r['seq'] for r in records] == list(range(1, 401))
    starts = {r['run']: r['agent'] for r in records if r['kind'] == 'run.start'}
    ends = {r['run']: r['result']['exit_code'] for r in records if r['kind'] == 'run.end'}
    assert len(starts) == len(ends) == 200 and set(starts) == set(ends)
    assert sorted(starts.values()) == sorted(f'a{number}' for number in range(200))
    assert all(ends[run] == int(agent[1:]) % 100 for run, agent in starts.items())
    listed = [json.loads(line) for line in ward('log', '--json', '-n', '0').out.splitlines()]
    assert {run['id'] for run in listed} == set(starts) and len(listed) == 200


def test_reading_the_record_while_it_grows_sees_whole_runs(plain):
    writer = plain.popen('-c', 'for i in $(seq 60); do $0 run -- true; done', plain.binary, program='/bin/sh')
    for _ in range(20):
        done = plain('log', '--json', '-n', '0')
        assert done.code == 0, done
        assert all(json.loads(line)['id'] for line in done.out.splitlines())
        assert plain.verify().code == 0
    assert plain.finish(writer).code == 0
    assert len(plain('log', '--json', '-n', '0').out.splitlines()) == 60


@pytest.mark.soak
def test_a_thousand_runs_fifty_at_a_time(ward):
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        assert set(pool.map(lambda _: ward.run('true').code, range(1000))) == {0}
    assert ward.verify().code == 0 and len(ward.records()) == 2000
