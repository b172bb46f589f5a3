# SPDX-License-Identifier: Apache-2.0
"""ward doctor: what it says holds, and that each of its probes can say the contrary."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import jsonschema
import pytest

from support import SOURCE, Ward, wait_until

SCHEMA = json.loads((SOURCE / 'docs' / 'doctor.schema.json').read_text())
NAMESPACES = 'userns,mountns,pidns,ipcns,utsns,netns,cgroupns'


def examine(ward, *off):
    # A profile of AppArmor's, where this machine has one, would stand in for them.
    done = ward('doctor', '--json', env={'WARD_WALLS_OFF': ','.join([*off, 'apparmor'])} if off else {})
    found = json.loads(done.out)
    jsonschema.validate(found, SCHEMA)
    assert done.code == (0 if found['held'] else 1), done
    return found


def opened(found):
    return {row['wall'] for row in found['walls'] if row['held'] is False and row['expected']}


def test_layers_over_caches_are_tried(ward):
    assert examine(ward)['caches'] is True
    assert [name for name in os.listdir(ward.state / 'ward') if name.startswith('doctor') or name == 'caches'] == []
    text = ward('doctor').out
    assert [line.split()[1] for line in text.splitlines() if line.startswith('caches ')] == ['layered'], text


@pytest.fixture
def unwalled(binary, who, place):
    program = pathlib.Path(os.environ.get('WARD_UNWALLED') or pathlib.Path(os.environ.get('WARD') or SOURCE / 'build' / 'ward')
                           .with_name('ward-unwalled'))
    copy = binary.with_name('ward-unwalled')
    if not copy.exists():
        shutil.copy(program, copy)
        copy.chmod(0o755)
    return Ward(copy, who, place)


def laid_by(uid):
    """What a doctor of the user has laid out."""
    found = set()
    for entry in (*os.scandir('/var/tmp'), *os.scandir('/tmp')):
        with contextlib.suppress(FileNotFoundError):
            if entry.name.startswith('ward-doctor') and entry.stat(follow_symlinks=False).st_uid == uid:
                found.add(entry.path)
    return found


def test_everything_holds_and_nothing_is_left_behind(ward):
    before = laid_by(ward.person.uid)
    found = examine(ward)
    left = laid_by(ward.person.uid) - before
    assert found['held'] and not opened(found) and len(found['walls']) > 25
    assert all(row['held'] for row in found['walls'] if row['held'] is not None)
    # Another doctor of root's that runs at the same time takes up its own before long.
    assert wait_until(lambda: not [path for path in left if os.path.exists(path)])
    assert ward('session').out == ''


def test_the_table_says_how_it_is_known(ward):
    done = ward('doctor')
    assert done.code == 0 and '\033' not in done.out, done
    assert 'held' in done.out and 'EACCES' in done.out and 'all that should hold here held' in done.out
    assert done.out.startswith('Linux ')


# The walls that are switched off, and the probes that get through then: as either, and as root or the user alone.
OFF = [
    (['masks'], {'secrets', "ward's state"}),
    (['readonly', 'landlock', 'notify'], {'writes outside'}),
    (['tmp', 'landlock', 'mountns', 'readonly', 'masks', 'dev', 'proc', 'run'], {'/tmp'}),
    (['netns'], {'network'}),
    (['notify'], {'unix sockets'}),
    (['netns', 'landlock', 'notify'], {'abstract sockets', 'network'}),
    (['pidns', 'proc'], {'other processes'}),
    (['pidns', 'proc', 'landlock'], {'signals'}),
    ([*NAMESPACES.split(','), 'readonly', 'masks', 'dev', 'proc', 'tmp', 'run', 'landlock', 'no_new_privs', 'capabilities', 'seccomp', 'notify'],
     {'tracing', 'secrets', 'network'}),
    (['init'], {'init'}),
    (['ipcns'], {'shared memory'}),
    (['seccomp', 'notify'], {'namespaces', 'io_uring', 'keyrings', 'odd sockets', 'set-user-id', 'terminal'}),
    (['fds'], {'descriptors'}),
]


@pytest.mark.parametrize('off, through', OFF, ids=['+'.join(off[:4]) for off, _ in OFF])
def test_a_probe_gets_through_where_its_wall_is_off(unwalled, off, through):
    found = examine(unwalled, *off)
    assert through <= opened(found), [row for row in found['walls'] if row['wall'] in through]


def test_privileges_are_probed(unwalled):
    if unwalled.person.is_root:
        found = examine(unwalled, 'capabilities', 'seccomp', 'landlock', 'notify')
        assert {'capabilities', 'mounts'} <= opened(found), found
    found = examine(unwalled, 'no_new_privs', 'landlock', 'seccomp', 'notify')
    assert 'set-user-id' in opened(found)


def test_root_finds_devices_and_switches_where_nothing_hides_them(unwalled):
    if not unwalled.person.is_root:
        pytest.skip('the system keeps them from a plain user')
    found = examine(unwalled, 'dev', 'proc', 'readonly', 'landlock', 'notify')
    assert 'kernel settings' in opened(found), found


def test_words_that_are_none_are_refused(plain):
    done = plain('doctor', '--jsn')
    assert done.code == 125 and '--jsn' in done.err and 'ward doctor --help' in done.err
    assert 'usage: ward doctor' in plain('doctor', '--help').out


def test_without_a_sandbox_there_is_an_error_not_a_table(plain):
    plain.policy('sandbox: {require: [nothing-like-it]}\n')
    done = plain('doctor')
    assert done.code == 125 and 'held' not in done.out, done
