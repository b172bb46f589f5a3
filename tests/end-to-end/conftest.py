# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the program under test, who calls it, and a place of its own for every test.

The program is $WARD, else build/ward. Run as root, tests that matter for both run as root and as a plain user, who is
made for it; run as a plain user, the root half is skipped. The places lie below /var/tmp, because /tmp is private inside a
sandbox; tests that want a workspace below /tmp say so."""
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

from roots import small_root
from support import SOURCE, Person, Ward

sys.path.append(str(SOURCE / 'tests'))

import longest  # noqa: E402
from places import session_place  # noqa: E402
from users import plain_user  # noqa: E402

def pytest_configure(config):
    config.addinivalue_line('markers', 'soak: takes longer than make test may')


def pytest_collection_modifyitems(items):
    longest.first(items, 'waiting', 'watch', 'grants_in_place', 'trace_reads', 'asking', 'limits', 'programs_in_place', 'files_in_place',
                  'asking_in_place', 'running', 'web_answers', 'container_runsc', 'web_pages')


@pytest.fixture(scope='session')
def user():
    """A plain user, this session's alone."""
    with plain_user() as name:
        yield Person(name)


@pytest.fixture(scope='session')
def top():
    """The directory of this session; everyone may pass through it."""
    path = session_place('ward-test-')
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope='session')
def binary(top):
    """A copy, because a plain user may not reach the build directory."""
    source = pathlib.Path(os.environ.get('WARD') or SOURCE / 'build' / 'ward').resolve()
    directory = top / 'bin'
    directory.mkdir()
    for name in ('ward', 'ward-post', 'ward-web'):
        shutil.copy(source.parent / name if name != 'ward' else source, directory / name)
        (directory / name).chmod(0o755)
    return directory / 'ward'


@pytest.fixture(scope='session')
def servers(top):
    """Where the programs of servers lie that are not installed: a copy of what tools/dependencies has unpacked, else the system."""
    unpacked = SOURCE / 'build-parts' / 'servers'
    if not unpacked.exists():
        return pathlib.Path('/')
    return pathlib.Path(shutil.copytree(unpacked, top / 'servers', symlinks=True))


@pytest.fixture(scope='session')
def root(top, binary):
    """A container's."""
    return small_root(top / 'small-root', binary)


@pytest.fixture(params=['root', 'user'])
def who(request):
    """Root and a plain user in turn."""
    if request.param == 'user':
        return request.getfixturevalue('user')
    if os.geteuid() != 0:
        pytest.skip('needs root')
    return Person('root')


@pytest.fixture
def me(user):
    """One of the two, where it makes no difference: the plain user."""
    return user


@pytest.fixture
def place(top):
    path = pathlib.Path(tempfile.mkdtemp(dir=top))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def ward(binary, who, place):
    """ward for root and for the plain user."""
    return Ward(binary, who, place)


@pytest.fixture
def plain(binary, me, place):
    """ward for the plain user."""
    return Ward(binary, me, place)


@pytest.fixture
def below_tmp(who, place, binary):
    """ward with everything, the workspace too, below /tmp."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='ward-test-', dir='/tmp'))
    path.chmod(0o755)
    yield Ward(binary, who, path)
    shutil.rmtree(path, ignore_errors=True)
