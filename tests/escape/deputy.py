# SPDX-License-Identifier: Apache-2.0
"""Tries to have names made, moved, opened and changed where the command itself may not: the supervisor performs these calls for
it, and has no walls of its own. Every way of writing a path, before and after a holder was made. Prints what succeeded."""
import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
here = os.getcwd()
RENAMEAT2, RENAME_EXCHANGE = 316, 2


def write(path, flags=os.O_WRONLY | os.O_CREAT):
    fd = os.open(path, flags, 0o644)
    os.write(fd, b'X')
    os.close(fd)


def exchange(one, other):
    if libc.syscall(RENAMEAT2, -100, one.encode(), -100, other.encode(), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), 'renameat2')


def attempts(way):
    yield 'mkdir', lambda: os.mkdir(way + '/directory')
    yield 'create', lambda: write(way + '/new')
    yield 'open', lambda: write(way + '/file', os.O_WRONLY)
    yield 'cut', lambda: os.truncate(way + '/file', 0)
    yield 'cut by an open', lambda: os.close(os.open(way + '/file', os.O_RDONLY | os.O_TRUNC))
    yield 'chmod', lambda: os.chmod(way + '/file', 0o777)
    yield 'rename in', lambda: (write('source'), os.rename('source', way + '/renamed'))
    yield 'rename out', lambda: os.rename(way + '/file', 'stolen')
    yield 'link in', lambda: (write('source'), os.link('source', way + '/linked'))
    yield 'link out', lambda: os.link(way + '/file', 'twin')
    yield 'symlink', lambda: os.symlink('x', way + '/symlink')
    yield 'mkfifo', lambda: os.mkfifo(way + '/pipe')
    yield 'a file without a name', lambda: os.close(os.open(way, os.O_RDWR | os.O_TMPFILE))
    yield 'exchange', lambda: (write('source'), exchange('source', way + '/file'))
    yield 'unlink', lambda: os.unlink(way + '/file')


def ways_to(target, number):
    link = f'link{number}'
    if not os.path.islink(link):
        os.symlink(target, link)
    yield from (target, link, f'./deep/../{link}', f'{link}/../{os.path.basename(target)}')
    for process in ('self', 'thread-self', str(os.getpid()), '1'):
        yield from (f'/proc/{process}/root{target}', f'/proc/{process}/cwd/{link}', f'//proc/./{process}/cwd/../cwd/{link}')
    try:
        fd = os.open(target, os.O_PATH | os.O_DIRECTORY)
        yield from (f'/proc/self/fd/{fd}', f'/dev/fd/{fd}')
        os.chdir(target)  # and what a relative path means there
        yield '.'
    except OSError:
        pass
    os.chdir(here)


for holder in (None, 'made.git'):
    if holder:
        os.mkdir(holder)
    for number, target in enumerate(sys.argv[1:]):
        for way in ways_to(target, number):
            for name, attempt in attempts(way):
                try:
                    attempt()
                    print(f'{name}: {way}')
                except OSError:
                    pass
