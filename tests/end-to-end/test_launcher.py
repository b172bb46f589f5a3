# SPDX-License-Identifier: Apache-2.0
"""./ward at the root of the source: runs the built program, and builds it on first use."""
import os
import shutil
import subprocess

import pytest

from support import SOURCE

TREE = ['ward', 'Makefile', 'meson.build', 'meson_options.txt', 'src', 'cmd', 'include', 'tools', 'docs', 'data', 'completions', 'tests/embed', 'tests/unit',
        'tests/bench', 'build-parts']


@pytest.fixture
def launcher(plain):
    """A launcher beside a build that is there."""
    tree = plain.place / 'tree'
    (tree / 'build').mkdir(parents=True)
    shutil.copy(SOURCE / 'ward', tree / 'ward')
    shutil.copy(plain.binary, tree / 'build' / 'ward')
    return tree / 'ward'


def test_it_passes_everything_on(plain, launcher):
    done = plain('run', '--', 'sh', '-c', 'cat; echo "$@" >&2; exit 7', 'x', 'a b', '*', program=launcher, input='in')
    assert (done.code, done.out, done.err) == (7, 'in', 'a b *\n')


def test_it_works_through_a_link_and_from_the_path_and_from_anywhere(plain, launcher):
    (plain.place / 'bin').mkdir()
    (plain.place / 'bin' / 'w').symlink_to(launcher)
    assert plain('--version', program=plain.place / 'bin' / 'w', cwd='/').out.startswith('ward ')
    path = f'{plain.place}/bin:{launcher.parent}:/usr/bin:/bin'
    assert plain.shell('w --version; ward --version', env={'PATH': path}).out.count('ward ') == 2
    assert plain.shell(f'cd {launcher.parent} && ./ward --version').out.startswith('ward ')


def test_it_is_the_same_process_in_the_end(plain, launcher):
    """No shell stays between the caller and ward: signals and exit codes are ward's own."""
    process = plain.popen('run', '--', 'sh', '-c', 'echo ready; read x', program=launcher, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    assert os.readlink(f'/proc/{process.pid}/exe').endswith('/build/ward')
    assert plain.finish(process, b'\n').code == 0


def test_where_it_may_not_build_it_says_so(plain, launcher):
    (launcher.parent / 'build' / 'ward').unlink()
    (launcher.parent / 'build').chmod(0o555)
    done = plain('run', '--', 'true', program=launcher)
    assert done.code == 125 and done.out == '' and done.err.startswith('ward: ')


@pytest.mark.soak
def test_the_first_use_builds_and_the_program_can_be_installed(plain):
    tree = plain.place / 'tree'
    for name in TREE:
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, tree / name)
        elif (SOURCE / name).exists():
            tree.mkdir(exist_ok=True)
            shutil.copy(SOURCE / name, tree / name)
    for path in [tree, *tree.rglob('*')]:
        plain.person.own(path)
    done = plain('run', '--', 'echo', 'built', program=tree / 'ward', cwd=plain.work, timeout=900)
    assert (done.code, done.out) == (0, 'built\n'), done
    assert 'building, this once' in done.err
    done = plain('run', '--', 'echo', 'again', program=tree / 'ward')
    assert (done.code, done.out, done.err) == (0, 'again\n', '')
    root = plain.home / 'root'
    assert plain('-C', tree, 'install', f'DESTDIR={root}', 'PREFIX=/usr', program='/usr/bin/make', timeout=900).code == 0
    for name in ('bin/ward', 'lib/libward.a', 'lib/libward.so.0', 'lib/pkgconfig/ward.pc', 'include/ward/ward.h', 'share/man/man1/ward.1', 'share/bash-completion/completions/ward', 'share/ward/sets.yaml'):
        assert (root / 'usr' / name).is_file(), name
    assert plain('run', '--', 'echo', 'installed', program=root / 'usr' / 'bin' / 'ward').out == 'installed\n'
