# SPDX-License-Identifier: Apache-2.0
"""Plain users for tests that root runs.

A user is one suite's at a time: whoever holds the lock on its home. Making or removing one replaces /etc/passwd and its kin,
over which every run has masks; a run that is going on then has to renew them, or is ended where it cannot. So
parts that run beside each other, as those of `make test` do, find their users made by the first of them, and the last one
removes them all."""
import contextlib
import fcntl
import itertools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess

PLACE = pathlib.Path('/var/tmp')
TOGETHER = 16


def name_of(number):
    return f'ward-test-{number}'


def home_of(number):
    return PLACE / f'ward-test-home-{number}'


def lock(path, how=0):
    """The lock on a directory, or None. Closing it gives it back."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None


@contextlib.contextmanager
def alone():
    """Nobody else makes, takes or removes users meanwhile."""
    descriptor = lock(PLACE)
    try:
        yield
    finally:
        os.close(descriptor)


def is_there(number):
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name_of(number)).pw_dir == str(home_of(number)) and home_of(number).is_dir()
    return False


def remove(number):
    """With all that it may have left running, which would keep it."""
    for entry in pathlib.Path('/proc').iterdir():
        with contextlib.suppress(OSError, KeyError):
            if entry.name.isdigit() and entry.stat().st_uid == pwd.getpwnam(name_of(number)).pw_uid:
                os.kill(int(entry.name), signal.SIGKILL)
    subprocess.run(['userdel', '--force', name_of(number)], capture_output=True)
    subprocess.run(['groupdel', name_of(number)], capture_output=True)
    shutil.rmtree(home_of(number), ignore_errors=True)


def make(number):
    remove(number)
    subprocess.run(['useradd', '--create-home', '--home-dir', home_of(number), '--shell', '/bin/sh', name_of(number)],
                   check=True, capture_output=True)


def take():
    """The number of a user that nobody has, and the lock that makes it ours."""
    for number in itertools.count(1):
        if not is_there(number):
            for each in range(number, number + TOGETHER):
                if not is_there(each):
                    make(each)
        mine = lock(home_of(number), fcntl.LOCK_NB)
        if mine is not None:
            return number, mine


def remove_all():
    """Unless one of them is somebody's."""
    names = [re.fullmatch(name_of(r'(\d+)'), entry.pw_name) for entry in pwd.getpwall()]
    numbers = [int(found.group(1)) for found in names if found and is_there(int(found.group(1)))]
    locks = [lock(home_of(number), fcntl.LOCK_NB) for number in numbers]
    if None not in locks:
        for number in numbers:
            remove(number)
    for descriptor in locks:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def plain_user():
    """The name of a user that is ours meanwhile."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid()).pw_name
        return
    with alone():
        number, mine = take()
    try:
        yield name_of(number)
    finally:
        with alone():
            os.close(mine)
            remove_all()
