# SPDX-License-Identifier: Apache-2.0
"""Credentials in a repository's configuration: not seen inside, kept in the file, whatever git does to it."""
import os
import time

import pytest

from support import wait_until

TOKEN = 'ghp_S3CRETtoken'
URL = f'https://me:{TOKEN}@example.com/a/b.git'
PLAIN = 'https://example.com/a/b.git'


def git(ward, *words, cwd=None):
    """Git as the caller runs it, outside."""
    done = ward('-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'protocol.file.allow=always', *words,
                program='/usr/bin/git', cwd=cwd)
    assert done.code == 0, done
    return done.out


def repository(ward, name='.', url=URL):
    """One with a remote whose address holds a token."""
    path = ward.work / name
    if not path.exists():
        path.mkdir(parents=True)
        ward.person.own(path)
    git(ward, 'init', '-q', '-b', 'main', cwd=path)
    git(ward, 'remote', 'add', 'origin', url, cwd=path)
    return path / '.git/config'


def test_the_token_is_not_seen_and_stays_in_the_file(ward):
    config = repository(ward)
    before = config.read_bytes()
    done = ward.sh('cat .git/config; git config --list; git remote -v')
    assert done.code == 0 and done.out.count(PLAIN) == 4 and TOKEN not in done.out + done.err, done
    assert config.read_bytes() == before


@pytest.mark.parametrize('change, holds', [
    ('git config user.name somebody', 'somebody'),
    ('git remote add two https://example.com/c.git', 'https://example.com/c.git'),
    ('git remote add two https://example.com/c.git && git remote set-url two https://example.com/d.git', 'https://example.com/d.git'),
    ('git remote rename origin upstream; git config user.name somebody', 'somebody'),
    ('git remote add two https://example.com/c.git && git remote remove two && git config user.name somebody', 'somebody'),
    ('git config remote.origin.prune true', 'prune = true'),
])
def test_git_changes_the_file_and_keeps_the_token(ward, change, holds):
    config = repository(ward)
    inode = config.stat().st_ino
    done = ward.sh(f'{change}; cat .git/config; ls .git/config.lock')
    assert holds in done.out and TOKEN not in done.out + done.err, done
    assert 'ls: cannot access' in done.err, done  # no lock is left
    text = config.read_text()
    assert holds in text and config.stat().st_ino == inode
    if 'rename' not in change:
        assert git(ward, 'remote', 'get-url', 'origin') == URL + '\n'


def test_another_address_does_not_get_the_token(ward):
    config = repository(ward)
    done = ward.sh('git remote set-url origin https://elsewhere.example/a/b.git; git remote add two https://elsewhere.example/x.git')
    assert done.code == 0, done
    assert TOKEN not in config.read_text()


def test_many_changes_in_a_row(ward):
    config = repository(ward)
    done = ward.sh('for i in $(seq 30); do git config user.name name$i || exit 1; git config --get user.name | grep -qx name$i || exit 2;'
                   ' git config --unset user.name || exit 3; done; cat .git/config')
    assert done.code == 0 and TOKEN not in done.out, done
    assert git(ward, 'remote', 'get-url', 'origin') == URL + '\n' and 'name30' not in config.read_text()


def test_what_runs_programs_is_refused_as_ever(ward):
    config = repository(ward)
    before = config.read_bytes()
    result = ward.result('--', 'sh', '-c', 'git config core.sshCommand ./evil; git config alias.x "!evil"; cat .git/config')
    assert 'evil' not in result['stdout'] and TOKEN not in result['stdout'], result
    assert config.read_bytes() == before
    assert 'core.sshCommand' in result['attempts'][0]['denials'][0]['rule'], result


def test_mode_and_owner_of_the_file_stay(ward):
    config = repository(ward)
    config.chmod(0o600)
    assert ward.sh('git config user.name x').code == 0
    st = config.stat()
    assert (st.st_mode & 0o777, st.st_uid) == (0o600, ward.person.uid)


def test_credentials_in_headers_and_worktree_settings(ward):
    config = repository(ward, url=PLAIN)
    git(ward, 'config', 'http.https://example.com/.extraheader', f'AUTHORIZATION: basic {TOKEN}')
    ward.file('.git/config.worktree', f'[remote "x"]\n\turl = {URL}\n')
    done = ward.sh('cat .git/config .git/config.worktree; git config user.name x')
    assert done.code == 0 and TOKEN not in done.out and PLAIN in done.out, done
    assert TOKEN in config.read_text() and 'name = x' in config.read_text()


def test_repositories_in_the_workspace_and_submodules(ward):
    repository(ward)
    source = ward.place / 'source'
    source.mkdir()
    ward.person.own(source)
    git(ward, 'init', '-q', '-b', 'main', cwd=source)
    git(ward, 'commit', '-q', '--allow-empty', '-m', 'one', cwd=source)
    git(ward, 'submodule', 'add', '-q', str(source), 'libs/one')
    git(ward, 'remote', 'set-url', 'origin', URL, cwd=ward.work / 'libs/one')
    deep = repository(ward, 'deep/er')
    bare = ward.work / 'bare.git'
    git(ward, 'clone', '-q', '--bare', str(source), str(bare))
    git(ward, 'remote', 'set-url', 'origin', URL, cwd=bare)
    module = ward.work / '.git/modules/libs/one/config'
    assert all(TOKEN in path.read_text() for path in (deep, module, bare / 'config'))
    done = ward.sh('for d in libs/one deep/er bare.git; do git -C $d config user.name inside || exit 1; git -C $d remote -v; done;'
                   ' find . -type f -exec cat {} +')
    assert done.code == 0 and done.out.count(f'origin\t{PLAIN} (fetch)') == 3 and TOKEN not in done.out, done
    assert all(TOKEN in path.read_text() and 'inside' in path.read_text() for path in (deep, module, bare / 'config'))


def test_the_repository_of_a_worktree(ward):
    main = ward.place / 'main'
    main.mkdir()
    ward.person.own(main)
    git(ward, 'init', '-q', '-b', 'main', cwd=main)
    git(ward, 'commit', '-q', '--allow-empty', '-m', 'one', cwd=main)
    git(ward, 'remote', 'add', 'origin', URL, cwd=main)
    git(ward, 'worktree', 'add', '-q', str(ward.work), '-b', 'tree', cwd=main)
    done = ward.sh(f'git remote -v; cat {main}/.git/config; git status')
    assert done.code == 0 and PLAIN in done.out and TOKEN not in done.out, done


@pytest.mark.parametrize('flags', [('--read', '.git/config'), ('--read', '**/.git/config'), ('--write', '.git/config')])
def test_asked_for_by_name_it_is_shown(ward, flags):
    repository(ward)
    assert TOKEN in ward.sh('cat .git/config', *flags).out


@pytest.mark.parametrize('flags', [('--read', '.git'), ('--write', '.git'), ('--write', '.')])
def test_a_rule_about_the_directory_is_not_that(ward, flags):
    config = repository(ward)
    done = ward.sh('cat .git/config && git config user.name x', *flags)
    assert done.code == 0 and PLAIN in done.out and TOKEN not in done.out, done
    assert TOKEN in config.read_text() and 'name = x' in config.read_text()


def test_a_denied_one_stays_denied(ward):
    repository(ward)
    done = ward.sh('cat .git/config', '--deny', '.git/config')
    assert done.code != 0 and done.out == '', done


def test_more_than_can_be_shown_are_closed(plain):
    for i in range(20):
        repository(plain, f'r{i:02}')
    done = plain.sh('for i in r*; do cat $i/.git/config || echo closed; done')
    assert TOKEN not in done.out and done.out.count(PLAIN) == 16 and done.out.count('closed\n') == 4, done
    done = plain.sh('for i in r*; do git -C $i config user.name in-$i 2>/dev/null && git -C $i config user.name; done')
    assert len(done.out.split()) == 16, done
    for i in range(20):
        text = (plain.work / f'r{i:02}/.git/config').read_text()
        assert TOKEN in text and (f'in-r{i:02}\n' in text) == (f'in-r{i:02}\n' in done.out)


def test_what_git_cannot_read_is_closed(plain):
    config = repository(plain)
    config.write_text(config.read_text() + '[broken\n')
    assert plain.sh('cat .git/config').out == ''
    config.write_text(f'# {"x" * (1 << 20)}\n[remote "origin"]\n\turl = {URL}\n')
    assert plain.sh('cat .git/config').out == ''


def test_a_configuration_without_credentials_is_the_file_itself(plain):
    config = repository(plain, url=PLAIN)
    assert plain.sh('stat -c %i .git/config').out == f'{config.stat().st_ino}\n'
    # A token that comes from inside is installed as it is.
    assert plain.sh(f'git remote set-url origin {URL}').code == 0
    assert TOKEN in config.read_text()


WATCH = '''
import os, sys, time
open('ready', 'w').close()
while not os.path.exists('stop'):
    time.sleep(0.001)
text, end = '', time.monotonic() + 20
while 'https://example.com/new.git' not in text and time.monotonic() < end:
    try:
        text = open('.git/config').read()
    except OSError:
        pass
    time.sleep(0.01)
print(text)
'''


def test_replaced_from_outside_the_new_one_is_shown_without_its_token(ward):
    """As git outside does it."""
    repository(ward)
    process = ward.popen('run', '--', '/usr/bin/python3', '-I', '-c', WATCH)
    wait_until(lambda: (ward.work / 'ready').exists() or process.poll() is not None)
    time.sleep(0.15)
    git(ward, 'remote', 'set-url', 'origin', f'https://me:{TOKEN}2@example.com/new.git')
    time.sleep(0.3)
    ward.file('stop')
    done = ward.finish(process)
    assert done.code == 0 and 'https://example.com/new.git' in done.out and TOKEN not in done.out, done


def test_changed_in_place_from_outside_nothing_is_lost(ward):
    """What git inside had read is not what lies there any more: it is told so, and the next time it is."""
    config = repository(ward)
    process = ward.popen('run', '--', 'sh', '-c', 'touch ready; until [ -e stop ]; do sleep 0.02; done; git config user.name x; git config user.name y')
    wait_until(lambda: (ward.work / 'ready').exists() or process.poll() is not None)
    with open(config, 'a') as file:
        file.write('[user]\n\temail = outside\n')
    ward.file('stop')
    done = ward.finish(process)
    assert done.code == 0 and 'could not write config file' in done.err, done
    text = config.read_text()
    assert TOKEN in text and 'outside' in text and 'name = y' in text


def test_no_descriptor_of_it_is_in_the_command(ward):
    repository(ward)
    assert ward.run('ls', '/proc/self/fd').out == '0\n1\n2\n3\n'  # the last is that of ls itself
