# SPDX-License-Identifier: Apache-2.0
"""Masks that somebody outside renames over, as an editor does that saves a file: the mask falls off, and is put back.

The command reads without pause and tells when it could; the test knows when it replaced the file."""
import json
import os
import subprocess
import time

import pytest

from support import Ward, wait_until

SECRET = 'S3CRET'
MOMENT = 1.0  # what a window of a millisecond may take on a busy machine with sanitizers

# Reads argv[1] until the file argv[2] is there; prints the times at which it read something, and what it gets at the end,
# for which a busy machine may take its time.
WATCH = '''
import os, sys, time, json
path, stop = sys.argv[1:3]
now = lambda: time.clock_gettime(time.CLOCK_MONOTONIC)
seen, rounds = [], 0
def read():
    try:
        if os.path.isdir(path):
            return ' '.join(os.listdir(path))
        fd = os.open(path, os.O_RDONLY)
        text = os.read(fd, 100).decode()
        os.close(fd)
        return text
    except OSError as error:
        return None
open('ready', 'w').close()
while rounds % 64 or not os.path.exists(stop):
    if read():
        # What is kept of the output is bounded: of reads close together the last one tells.
        seen[len(seen) - bool(seen and now() - seen[-1] < 0.0002):] = [now()]
    rounds += 1
end = now() + 20
while read() and now() < end:
    time.sleep(0.01)
print(json.dumps({'seen': seen, 'rounds': rounds, 'last': read()}))
'''


class Watched:
    """A run whose command watches a path."""

    def __init__(self, ward, path, *flags, reaches=0.12):
        self.ward, self.path = ward, path
        self.process = ward.popen('run', '--json', *flags, '--', '/usr/bin/python3', '-I', '-c', WATCH, str(path), 'stop')
        wait_until(lambda: (ward.work / 'ready').exists() or self.process.poll() is not None)
        time.sleep(reaches)  # past the moment from which masks are watched

    def end(self):
        self.ward.file('stop')
        self.result = json.loads(self.ward.finish(self.process).raw_out.splitlines()[0])
        assert self.result['error'] is None, self.result
        return json.loads(self.result['stdout'])


def replace(ward, path, text=SECRET):
    """As editors do it; the moment before."""
    new = ward.file(str(path) + '.new', text)
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    os.replace(new, path)
    return before


def windows(times, seen):
    """For each replacement, how long after it something could still be read."""
    ends = times[1:] + [float('inf')]
    return [max([at - time for at in seen if time <= at < end], default=0.0) for time, end in zip(times, ends)]


def test_a_secret_that_is_replaced_outside_is_masked_again(ward):
    path = ward.file('.env', SECRET)
    run = Watched(ward, path)
    at = replace(ward, path, SECRET + '2')
    time.sleep(0.3)
    told = run.end()
    assert told['last'] is None and told['rounds'] > 100, told
    assert not [seen for seen in told['seen'] if seen < at]
    assert windows([at], told['seen'])[0] < MOMENT
    # The first is named, which on a machine that gets a user just then is /etc/gshadow.
    first = [warning.split(' was replaced from outside')[0] for warning in run.result['sandbox_warnings']]
    assert set(first) & {str(path), '/etc/shadow', '/etc/gshadow'}, run.result['sandbox_warnings']
    assert path.read_text() == SECRET + '2'  # what the editor saved is what lies there


def test_two_hundred_replacements_are_each_masked_again(ward):
    path = ward.file('.env', SECRET)
    run = Watched(ward, path)
    times = []
    for _ in range(200):
        times.append(replace(ward, path))
        time.sleep(0.01)
    time.sleep(0.3)
    told = run.end()
    long = sorted(windows(times, told['seen']))
    print(f'windows: median {long[100] * 1e3:.2f} ms, 95 % {long[190] * 1e3:.2f} ms, longest {long[-1] * 1e3:.2f} ms')
    assert told['last'] is None, told
    assert told['rounds'] > 1000 and len(told['seen']) < told['rounds'] / 2


def test_replacements_without_pause_end_masked(plain):
    path = plain.file('.env', SECRET)
    run = Watched(plain, path)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        replace(plain, path)
    time.sleep(0.3)
    assert run.end()['last'] is None


def test_a_secret_that_is_removed_and_made_again_is_masked(ward):
    path = ward.file('.env', SECRET)
    run = Watched(ward, path)
    path.unlink()
    time.sleep(0.1)
    at = time.clock_gettime(time.CLOCK_MONOTONIC)
    ward.file('.env', SECRET)
    time.sleep(0.3)
    told = run.end()
    assert told['last'] is None
    assert windows([at], told['seen'])[0] < MOMENT


def test_a_masked_directory_that_is_replaced_is_masked_again(ward):
    directory = ward.file('private/key', SECRET).parent
    run = Watched(ward, directory, '--deny', 'private')
    directory.rename(ward.work / 'old')
    ward.file('private/key', SECRET)
    time.sleep(0.4)
    assert run.end()['last'] is None


def test_a_file_where_a_directory_was_is_masked(ward):
    directory = ward.file('private/key', SECRET).parent
    ward.file('.env', SECRET)
    run = Watched(ward, directory, '--deny', 'private')
    directory.rename(ward.work / 'old')
    ward.file('private', SECRET)
    time.sleep(0.4)
    assert run.end()['last'] is None


def test_a_secret_of_the_home_is_masked_again(ward):
    path = ward.file(ward.home / '.netrc', SECRET)
    run = Watched(ward, path)
    replace(ward, path)
    time.sleep(0.3)
    assert run.end()['last'] is None


def test_directories_above_a_secret_are_followed_when_they_are_made_anew(ward):
    path = ward.file('a/b/.env', SECRET)
    run = Watched(ward, path)
    (ward.work / 'a').rename(ward.work / 'old')
    ward.file('a/b/.env', SECRET)
    time.sleep(0.3)
    replace(ward, path)  # and watched from then on
    time.sleep(0.3)
    assert run.end()['last'] is None


def test_a_directory_made_anew_above_a_secret_cannot_be_renamed_inside(ward):
    path = ward.file('a/.env', SECRET)
    run = ward.popen('run', '--json', '--', 'sh', '-c', 'touch ready; until [ -e stop ]; do sleep 0.02; done; mv a c')
    wait_until(lambda: (ward.work / 'ready').exists())
    time.sleep(0.12)
    (ward.work / 'a').rename(ward.work / 'old')
    ward.file('a/.env', SECRET)
    time.sleep(0.3)
    ward.file('stop')
    result = json.loads(ward.finish(run).raw_out)
    assert result['exit_code'] == 1 and path.exists(), result


def test_a_mask_that_fell_before_the_watch_began_is_found(ward):
    path = ward.file('.env', SECRET)
    run = Watched(ward, path, reaches=0)
    replace(ward, path)
    time.sleep(0.4)
    assert run.end()['last'] is None


def test_a_link_to_a_file_is_looked_through(ward):
    path = ward.file('.env', SECRET)
    ward.file('other', SECRET)
    run = Watched(ward, path)
    os.symlink('other', ward.work / 'link')
    os.replace(ward.work / 'link', path)
    time.sleep(0.4)
    assert run.end()['last'] is None


def test_root_in_a_users_workspace_renews_as_that_user(binary, user, place):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, user, place)
    path = ward.file('.env', SECRET)
    process = subprocess.Popen([str(binary), 'run', '--json', '--', '/usr/bin/python3', '-I', '-c', WATCH, str(path), 'stop'],
                               cwd=ward.work, env=ward.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    wait_until(lambda: (ward.work / 'ready').exists() or process.poll() is not None)
    time.sleep(0.12)
    replace(ward, path)
    time.sleep(0.3)
    ward.file('stop')
    result = json.loads(process.communicate(timeout=60)[0])
    assert json.loads(result['stdout'])['last'] is None, result


def test_where_nothing_can_be_watched_the_masks_are_looked_at(plain, user):
    """In a user namespace of its own the caller may have no inotify at all."""
    path = plain.file('.env', SECRET)
    script = ('set -e; mount -t proc proc /proc 2>/dev/null || true; '
              'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"')
    command = ['unshare', '--user', '--map-current-user', '--keep-caps', 'sh', '-c', script, 'sh', plain.binary,
               'run', '--json', '--', '/usr/bin/python3', '-I', '-c', WATCH, str(path), 'stop']
    process = subprocess.Popen(command, cwd=plain.work, env=plain.variables, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **user.identity())
    wait_until(lambda: (plain.work / 'ready').exists() or process.poll() is not None)
    time.sleep(0.12)
    replace(plain, path)
    time.sleep(0.6)
    plain.file('stop')
    out, err = process.communicate(timeout=60)
    assert out, err
    result = json.loads(out)
    assert json.loads(result['stdout'])['last'] is None, result
    assert any('cannot be watched' in warning for warning in result['sandbox_warnings']), result['sandbox_warnings']


# In mounts of its own, where /etc is a copy. The mask of a file that most machines have is put up before it is known what else is hidden.
REPLACED = '''
cp -a /etc etc && mount --bind etc /etc || exit 9
"$WARD" run -- sh -c 'cat /etc/shadow && echo LEAKED; touch ready; until [ -e replaced ]; do sleep 0.05; done
    for i in $(seq 100); do cat /etc/shadow >/dev/null || exec echo masked again; sleep 0.05; done' &
for i in $(seq 400); do [ -e ready ] && break; sleep 0.05; done
sleep 0.3
cp -p /etc/shadow /etc/shadow.new && mv /etc/shadow.new /etc/shadow && touch replaced
wait $!
'''


@pytest.mark.skipif(os.geteuid() != 0, reason='needs mounts of its own')
def test_what_was_masked_before_the_rest_is_masked_again(plain):
    if plain.person.uid != 0:
        pytest.skip('others cannot read it anyway')
    done = plain('-m', '--propagation', 'private', 'sh', '-c', REPLACED, program='/usr/bin/unshare')
    assert (done.code, done.out) == (0, 'masked again\n'), done
