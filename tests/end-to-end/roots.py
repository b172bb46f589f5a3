# SPDX-License-Identifier: Apache-2.0
"""Roots for containers: as little of this machine as a shell needs."""
import pathlib
import shutil
import subprocess

PROGRAMS = ('sh', 'ls', 'cat', 'id', 'touch', 'mkfifo')


def libraries(program):
    out = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    return {word for word in out.split() if word.startswith('/')}


def small_root(path, ward):
    """As little as a shell needs, and a ward that is not static (with sanitizers): it is the first process in there."""
    (path / 'bin').mkdir(parents=True)
    programs = {name: pathlib.Path(shutil.which(name)).resolve() for name in PROGRAMS}
    for name, program in programs.items():
        shutil.copy(program, path / 'bin' / name)
    for library in set().union(*map(libraries, [ward, *programs.values()])):
        target = path / library[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    for name in ('etc', 'proc', 'dev'):
        (path / name).mkdir()
    (path / 'etc' / 'os-release').write_text('NAME=small\n')
    return path
