# SPDX-License-Identifier: Apache-2.0
"""--write, --read and --deny reach exactly what they say; so do --workspace and --cwd."""
import os

import pytest

from support import Person, Ward, marker


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    for directory in (path, path / 'in', path / 'beside'):
        directory.mkdir()
        ward.person.own(directory)
    for name in ('file', 'in/file', 'beside/file'):
        (path / name).write_text('old\n')
        ward.person.own(path / name)
    return path


def test_the_workspace_is_writable_at_every_depth(ward):
    ward.allow('rm')
    done = ward.sh('mkdir -p a/b/c && echo 1 > a/b/c/f && mv a/b/c/f g && ln g h && ln -s g l && chmod 700 g && rm -r a && '
                   'touch -d 2001-01-01 h && cat l && mkfifo p && stat -c %a g')
    assert (done.code, done.out) == (0, '1\n700\n'), done


def test_files_made_inside_belong_to_the_caller(ward):
    assert ward.sh('umask 022; echo x > file; mkdir dir; umask 077; echo x > secret').code == 0
    for name, mode in (('file', 0o644), ('dir', 0o755), ('secret', 0o600)):
        st = (ward.work / name).stat()
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (ward.person.uid, ward.person.gid, mode)


def test_write_opens_a_directory_and_nothing_beside_it(ward, outside):
    denied = ward.denied(f'echo new > {outside}/in/file; echo new > {outside}/in/more; mkdir {outside}/in/d; '
                         f'echo new > {outside}/beside/file; echo new > {outside}/file; true', '--write', outside / 'in')
    assert denied == [('write', f'{outside}/beside/file'), ('write', f'{outside}/file')]
    assert (outside / 'in' / 'file').read_text() == (outside / 'in' / 'more').read_text() == 'new\n'
    assert (outside / 'in' / 'd').is_dir()
    assert (outside / 'beside' / 'file').read_text() == (outside / 'file').read_text() == 'old\n'


def test_write_opens_one_file_and_not_its_directory(ward, outside):
    denied = ward.denied(f'echo new > {outside}/file; echo new > {outside}/more; true', '--write', outside / 'file')
    assert denied == [('write', f'{outside}/more')]
    assert (outside / 'file').read_text() == 'new\n' and not (outside / 'more').exists()


def test_write_takes_a_tree_pattern_and_may_be_repeated(ward, outside):
    assert ward.denied(f'echo new > {outside}/in/file; echo new > {outside}/beside/file',
                       '--write', f'{outside}/in/**', '--write', f'{outside}/beside') == []
    assert (outside / 'in' / 'file').read_text() == (outside / 'beside' / 'file').read_text() == 'new\n'


def test_write_is_relative_to_the_workspace_and_knows_home(ward, outside):
    (ward.home / 'cache').mkdir()
    ward.person.own(ward.home / 'cache')
    assert ward.denied('echo new > ../outside/in/file; echo new > ~/cache/f',
                       '--write', '../outside/in', '--write', '~/cache') == []
    assert (ward.home / 'cache' / 'f').exists()


def test_write_does_not_reach_through_a_link_elsewhere(ward, outside):
    (outside / 'in' / 'link').symlink_to(outside / 'beside')
    assert ward.denied(f'echo new > {outside}/in/link/file; true', '--write', outside / 'in') == [
        ('write', f'{outside}/beside/file')]


@pytest.mark.parametrize('path', ['/', '/proc', '/proc/sys', '/dev', '/sys', '/run'])
def test_write_cannot_open_the_systems_own_trees(plain, path):
    result = plain.result('--write', path, '--', 'true')
    assert result['status'] == 125 and 'cannot be made writable' in result['error']['message']


def test_read_lifts_a_default_mask_and_only_that_one(ward):
    ward.file('.env', 'KEY=1\n')
    ward.file('sub/.env', 'KEY=2\n')
    assert ward.sh('cat .env; cat sub/.env').out == ''
    assert ward.sh('cat .env; cat sub/.env', '--read', '.env').out == 'KEY=1\n'
    assert ward.sh('cat .env; cat sub/.env', '--read', '**/.env', '--read', '.env').out == 'KEY=1\nKEY=2\n'


def test_read_does_not_make_writable(ward):
    ward.file('../outside.env', 'KEY=1\n')
    assert ward.denied('echo x > ../outside.env; true', '--read', '../outside.env') == [('write', str(ward.place / 'outside.env'))]


def test_a_masked_file_is_named_with_the_flag_that_reads_it(ward):
    ward.file('.env', 'KEY=1\n')
    done = ward.sh('cat .env')
    assert done.code == 1
    assert done.err.splitlines()[-1] == 'ward: .env is masked; to allow: --read .env'


def test_where_several_files_are_masked_the_line_does_not_claim_to_know_which_it_was(ward):
    for name in ('.env', 'a/.env', 'b/.env'):
        ward.file(name, 'KEY=1\n')
    assert ward.sh('cat b/.env').err.splitlines()[1:] == [
        'ward: .env is masked; to allow: --read .env (2 more are; --trace-reads tells which one was wanted)']


def test_deny_hides_a_file_and_a_directory(ward):
    ward.allow('rm')
    ward.file('secret/a', 'A')
    ward.file('b', 'B')
    done = ward.sh('cat secret/a; ls secret; cat b; echo x > b; rm -f b; rm -rf secret; echo end', '--deny', 'secret', '--deny', 'b')
    assert done.out == 'end\n'
    assert (ward.work / 'b').read_text() == 'B' and (ward.work / 'secret' / 'a').read_text() == 'A'


def test_deny_takes_patterns_at_any_depth(ward):
    for name in ('a.pem', 'deep/er/b.pem', 'deep/c.txt'):
        ward.file(name, name)
    done = ward.sh('cat a.pem deep/er/b.pem deep/c.txt', '--deny', '**/*.pem')
    assert done.out == 'deep/c.txt'


def test_deny_takes_absolute_paths_and_home(ward, outside):
    (ward.home / 'notes').write_text('private')
    ward.person.own(ward.home / 'notes')
    done = ward.sh(f'cat {outside}/file ~/notes {outside}/in/file', '--deny', outside / 'file', '--deny', '~/notes')
    assert done.out == 'old\n'
    assert done.err.count('Permission denied') == 2


@pytest.mark.parametrize('above', ['~', '.', '..', '~/..'])
def test_deny_above_the_workspace_is_not_ignored(ward, above):
    """It hides what it names but the way to the workspace, or nothing runs; what was denied is never readable."""
    work = ward.home / 'project'
    ward.file(work / 'inside', 'inside\n')
    ward.file(ward.home / 'notes', 'private\n')
    done = ward('run', '--deny', above, '--', 'sh', '-c', 'cat ~/notes ../notes; cat inside', cwd=work)
    assert 'private' not in done.out or above == '.'
    assert 'inside' not in done.out or above != '.'
    assert done.err


def test_read_of_a_directory_reaches_what_is_below(ward):
    ward.file(ward.home / '.ssh' / 'id_rsa', 'key\n', mode=0o600)
    for flag in ('~/.ssh', '~/.ssh/**', '~/.ssh/id_rsa'):
        assert ward.sh('cat ~/.ssh/id_rsa', '--read', flag).out == 'key\n', flag


def test_deny_wins_over_read_and_write(ward, outside):
    done = ward.sh(f'cat {outside}/in/file; echo x > {outside}/in/file; cat {outside}/in/file; echo end',
                   '--read', outside / 'in', '--write', outside / 'in', '--deny', outside / 'in' / 'file')
    assert done.out == 'end\n'
    assert (outside / 'in' / 'file').read_text() == 'old\n'


def test_writing_to_a_mask_is_a_denial_by_that_rule(plain):
    plain.file('.env', 'KEY=1\n')
    result = plain.result('--', 'sh', '-c', 'echo x >> .env; rm -f .env; mv .env other; true')
    assert {d['object'] for d in result['attempts'][0]['denials']} == {str(plain.work / '.env')}
    assert all('masked' in d['rule'] for d in result['attempts'][0]['denials'])
    assert (plain.work / '.env').read_text() == 'KEY=1\n'


def test_workspace_is_the_writable_tree_and_cwd_only_where_it_starts(ward, outside):
    done = ward('run', '--workspace', outside, '--', 'sh', '-c', f'pwd; echo new > {outside}/file; echo x > here', cwd=ward.work)
    assert done.out == f'{ward.work}\n'
    assert (outside / 'file').read_text() == 'new\n' and not (ward.work / 'here').exists()
    done = ward('run', '--cwd', '/usr/share', '--', 'sh', '-c', f'pwd; echo x > {ward.work}/here')
    assert done.out == '/usr/share\n' and (ward.work / 'here').exists()


def test_a_cwd_that_is_masked_is_an_engine_failure_with_a_way_on(plain):
    plain.file('hidden/x')
    done = plain('run', '--deny', 'hidden', '--cwd', plain.work / 'hidden', '--', 'true')
    assert done.code == 125 and '--cwd' in done.err


def test_a_workspace_reached_through_a_link_works(ward):
    link = ward.place / 'link'
    link.symlink_to(ward.work)
    done = ward.shell(f'cd {link} && $WARD run -- sh -c "echo x > file && cat file"')
    assert (done.code, done.out) == (0, 'x\n')


def test_a_workspace_with_strange_characters_in_its_name_works(ward):
    strange = ward.work / 'a b\'c"d*e\\f\n🙂'
    strange.mkdir()
    ward.file(strange / '.env', 'KEY')
    ward.person.own(strange)
    done = ward('run', '--', 'sh', '-c', 'echo x > file; cat .env; cat file', cwd=strange)
    assert done.out == 'x\n'


def test_the_workspace_may_be_tmp_itself(ward):
    name = marker()
    try:
        assert ward.run('touch', f'/tmp/{name}', flags=['--workspace', '/tmp']).code == 0
        assert os.path.exists(f'/tmp/{name}')
    finally:
        os.unlink(f'/tmp/{name}')


def test_the_current_directory_may_be_below_the_workspace(ward):
    ward.file('sub/dir/x')
    done = ward('run', '--workspace', ward.work, '--', 'sh', '-c', 'pwd; echo y > ../../top', cwd=ward.work / 'sub' / 'dir')
    assert done.out == f'{ward.work}/sub/dir\n' and (ward.work / 'top').read_text() == 'y\n'


def test_root_in_a_users_workspace_becomes_that_user(binary, user, place):
    """Files that root's agent makes there belong to whom the workspace belongs."""
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, Person('root'), place)
    user.own(ward.work)
    done = ward.sh('id -u; id -g; id -G; echo $HOME; echo x > file')
    assert done.out == f'{user.uid}\n{user.gid}\n{user.gid}\n{user.home}\n', done
    assert (ward.work / 'file').stat().st_uid == user.uid
    assert ward.verify().code == 0
