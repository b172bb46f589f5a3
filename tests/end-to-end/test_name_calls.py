# SPDX-License-Identifier: Apache-2.0
"""Calls that make, move, remove and open names are performed by the supervisor: they must come back as the kernel's own do,
errors and effects alike. One program tries some five thousand of them, with ward and without, and the lines are compared."""
import subprocess

import pytest

from support import SOURCE

# Lines that differ, and why.
KNOWN = (
    (lambda line: ' / ' in line, 'ward refuses what concerns the root itself before the kernel would'),
    (lambda line: line.startswith('open') and line.split(' = ')[0].endswith(('file/', 'link/')),
     'a file in the place of a directory: ENOTDIR, where the kernel says EISDIR for O_CREAT'),
    (lambda line: line.startswith('mknod null'), 'no device is made anywhere: EPERM comes first'),
)


@pytest.fixture(scope='module')
def calls(top):
    program = top / 'name_calls'
    subprocess.run(['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-o', program,
                    SOURCE / 'tests' / 'end-to-end' / 'name_calls.c'], check=True)
    program.chmod(0o755)
    return program


def lines_of(done):
    assert done.code == 0, done
    return done.out.splitlines()


@pytest.mark.parametrize('first', ['true', 'mkdir .vscode'], ids=['before-a-holder', 'after-a-holder'])
def test_names_are_made_moved_and_opened_as_without_ward(plain, calls, first):
    work = plain.work / 'names'
    work.mkdir()
    plain.person.own(work)
    words = ['-c', f'{first}; export PLACE={work}; exec {calls}']
    native = lines_of(plain(*words, program='/bin/sh', cwd=plain.work, timeout=90))
    for made in plain.work.glob('.vscode'):
        made.rmdir()
    inside = lines_of(plain.run('/bin/sh', *words, timeout=90))
    assert len(native) == len(inside) > 4000
    different = [(a, b) for a, b in zip(native, inside) if a != b and not any(is_known(a) for is_known, _ in KNOWN)]
    assert not different, f'{len(different)} of {len(native)}: {different[:5]}'


@pytest.mark.parametrize('first', ['true', 'mkdir .vscode'], ids=['before-a-holder', 'after-a-holder'])
def test_opening_a_pipe_for_writing_waits_for_its_reader(plain, first):
    done = plain.sh(f'{first}; mkfifo p; (sleep 0.4; cat p) & echo text > p; wait; echo end')
    assert (done.code, done.out) == (0, 'text\nend\n'), done


def test_waiting_for_a_reader_ends_with_the_caller(plain):
    done = plain.sh('mkfifo p; (echo text > p) & sleep 0.2; kill $!; wait; (sleep 0.2; cat p) & echo other > p; wait')
    assert (done.code, done.out) == (0, 'other\n'), done
