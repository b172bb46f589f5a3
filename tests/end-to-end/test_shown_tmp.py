# SPDX-License-Identifier: Apache-2.0
"""The sandbox has a /tmp of its own; what is named of the host's is seen in it, read-only."""
import os
import pathlib
import shutil
import socket
import tempfile

import pytest


@pytest.fixture
def outside(who):
    """Below the host's /tmp, and not the workspace."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='ward-test-', dir='/tmp'))
    path.chmod(0o755)
    (path / 'file').write_text('shown\n')
    (path / 'deep').mkdir()
    (path / 'deep' / 'file').write_text('deeper\n')
    who.own(path, path / 'file', path / 'deep', path / 'deep' / 'file')
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize('flag', ['--read', '--read-only'])
def test_what_is_named_is_seen_and_not_changed(ward, outside, flag):
    result = ward.result(flag, outside, '--', 'sh', '-c',
                         f'cd {outside}; cat file deep/file; echo x > file; echo x > new; mkdir made; rm file; chmod 700 deep; touch deep/file; ls -A /tmp; echo x > /tmp/mine && echo mine')
    assert result['stdout'] == f'shown\ndeeper\n{outside.name}\nmine\n', result
    assert (outside / 'file').read_text() == 'shown\n' and sorted(os.listdir(outside)) == ['deep', 'file'] and not os.path.exists('/tmp/mine')
    assert (outside / 'deep').stat().st_mode & 0o777 != 0o700
    denials = result['attempts'][0]['denials']
    assert {str(outside / 'file'), str(outside / 'new'), str(outside / 'made')} <= {denial['object'] for denial in denials}, denials


def test_one_file_a_pattern_and_nothing_beside_them(ward, outside):
    assert ward('run', '--read', outside / 'deep' / 'file', '--', 'cat', outside / 'deep' / 'file', outside / 'file').out == 'deeper\n'
    assert ward.sh(f'cat {outside}/deep/file; ls {outside}', '--read', f'{outside}/*/fil*').out == 'deeper\ndeep\n'
    assert ward.sh(f'cat {outside}/file').code != 0
    ward.policy(f'sandbox:\n  files: {{read: [{outside}/file]}}\n')
    assert ward.sh(f'cat {outside}/file {outside}/deep/file').out == 'shown\n'


def test_what_is_denied_or_writable_in_it_is_so(ward, outside):
    (outside / 'secret').write_text('5ecret')
    ward.person.own(outside / 'secret')
    done = ward.sh(f'cat {outside}/secret {outside}/file; echo new > {outside}/deep/file; echo x > {outside}/file', '--read', outside, '--deny', outside / 'secret', '--write', outside / 'deep')
    assert done.out == 'shown\n' and '5ecret' not in done.err and (outside / 'deep' / 'file').read_text() == 'new\n', done
    done = ward.sh(f'echo x > {outside}/file; echo new > {outside}/deep/file; cat {outside}/secret', '--read', outside, '--write', outside / 'deep' / 'file')
    assert done.out == '5ecret' and (outside / 'file').read_text() == 'shown\n', done
    assert ward.sh(f'cat {outside}/file', '--deny', outside, '--read', outside / 'file').out == 'shown\n'
    done = ward.sh(f'cat {outside}/file', '--deny', outside / 'file', '--read', outside)
    assert done.out == '' and done.code != 0, done


def test_a_link_opens_what_it_leads_to_and_no_more(ward, outside):
    (outside / 'link').symlink_to(outside / 'deep')
    (ward.place / 'link').symlink_to(outside / 'deep')
    done = ward.sh(f'cat {outside}/deep/file; ls {outside}', '--read', ward.place / 'link')
    assert done.out == 'deeper\ndeep\n', done
    assert ward.sh(f'cat {outside}/deep/file', '--read', f'{outside}/lin*').out == ''


def test_a_socket_in_it_is_the_hosts_and_closed(ward, outside):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(outside / 'socket'))
    (outside / 'socket').chmod(0o777)
    server.listen()
    server.settimeout(0.1)
    done = ward.sh(f'python3 -c "import socket; socket.socket(socket.AF_UNIX).connect(\'{outside}/socket\')"', '--read', outside)
    assert 'PermissionError' in done.err, done
    with pytest.raises(TimeoutError):
        server.accept()


def test_a_program_in_it_runs(ward, outside):
    (outside / 'tool').write_text('#!/bin/sh\necho ran\n')
    (outside / 'tool').chmod(0o755)
    done = ward.run(outside / 'tool')
    assert done.code == 127 and f'--read {outside}/tool' in done.err, done
    assert ward('run', '--read', outside / 'tool', '--', outside / 'tool').out == 'ran\n'
    assert ward.sh(f'cat {outside}/tool').code != 0, 'what is left of it in the session is not a file that is empty'


def test_all_of_tmp_is_the_sandboxs_own_and_that_is_said(ward, outside):
    result = ward.result('--read', '/tmp', '--', 'cat', outside / 'file')
    assert result['exit_code'] != 0 and any('--read /tmp/NAME' in warning for warning in result['sandbox_warnings']), result



@pytest.mark.parametrize('words', [(), ('rootfs',), ('runtime=runsc',)], ids=['tree', 'rootfs', 'runsc'])
def test_the_same_in_a_container(ward, outside, root, words):
    if not shutil.which('crun') or (words == ('runtime=runsc',) and not shutil.which('runsc')):
        pytest.skip('needs crun, or runsc')
    options = [part for word in words for part in ('--container', f'rootfs={root}' if word == 'rootfs' else word)]
    (outside / 'secret').write_text('5ecret')
    ward.person.own(outside / 'secret')
    done = ward('run', '--level', 'container', *options, '--read', outside, '--deny', outside / 'secret', '--', 'sh', '-c', f'cat {outside}/file; echo x > {outside}/file; cat {outside}/secret')
    assert done.out == 'shown\n' and '5ecret' not in done.err and (outside / 'file').read_text() == 'shown\n', done
