# SPDX-License-Identifier: Apache-2.0
"""Names that run programs: git works, and what it, a shell, an editor or an agent would run is not put there unasked."""
import os
import signal
import time

import pytest

from support import PATIENCE, wait_until
from test_programs import works

IDENTITY = 'git config user.name N; git config user.email n@example.org; '


def denied(result):
    return {denial['object']: denial['rule'] for attempt in result['attempts'] for denial in attempt['denials']}


def outside(ward, *words):
    """Git as the person runs it, outside the sandbox."""
    done = ward.finish(ward.popen(*words, program='/usr/bin/git'))
    assert done.code == 0, done
    return done.raw_out.decode()


def test_git_init_clone_commit_remote_and_push(ward):
    ward.allow('git push', 'git branch', 'rm')
    out = works(ward, f'''
        git init -q -b main . ; {IDENTITY} echo one > a; git add a; git commit -q -m first
        git init -q --bare -b main up.git; git remote add origin ./up.git; git push -q -u origin main
        git clone -q up.git copy; cd copy; {IDENTITY} echo two > b; git add b; git commit -q -m second; git push -q; cd ..
        git pull -q; git log --format=%s; git config branch.main.remote; git remote -v | head -1''')
    assert out.split() == ['second', 'first', 'origin', 'origin', './up.git', '(fetch)']
    assert outside(ward, 'config', 'core.filemode') == 'true\n'
    assert outside(ward, '-C', 'copy', 'log', '--format=%s').split() == ['second', 'first']


def test_git_in_a_repository_that_was_there(ward):
    ward.allow('git stash', 'git rebase', 'git reset', 'git branch', 'git worktree', 'git clean', 'rm')
    works(ward, f'git init -q -b main .; {IDENTITY} echo one > a; git add a; git commit -q -m first')
    works(ward, '''
        echo two >> a; git stash -q; git stash pop -q; git commit -q -am second; git tag v1; git checkout -q -b side HEAD~1
        echo s > s; git add s; git commit -q -m side; git rebase -q main; git checkout -q main; git merge -q --no-edit side
        git gc -q; git fsck --no-progress; git reset -q --hard; git worktree add -q tree side; git -C tree status --porcelain
        git worktree remove tree; git config alias.none 2>/dev/null || true; git reflog > /dev/null''')
    assert outside(ward, 'status', '--porcelain') == ''


def test_the_pointer_of_a_worktree_that_was_there_is_removed(ward):
    """What comes to lie in its place says nothing that was not looked at."""
    ward.allow('git worktree')
    works(ward, f'git init -q -b main .; {IDENTITY} echo one > a; git add a; git commit -q -m first; git worktree add -q tree')
    works(ward, 'git worktree remove tree')
    assert not (ward.work / 'tree').exists() and len(outside(ward, 'worktree', 'list').splitlines()) == 1


def test_a_submodule_that_was_there_is_moved(ward):
    ward.allow('git submodule', 'git mv')
    works(ward, f"""git init -q -b main library; cd library; {IDENTITY} git commit -q --allow-empty -m one; cd ..; git init -q -b main main; cd main; {IDENTITY}
        git -c protocol.file.allow=always submodule --quiet add ../library part; git commit -q -m two""")
    works(ward, 'cd main; mkdir deep; git mv part deep/part; git commit -q -m three; git -C deep/part log --format=%s')
    assert outside(ward, '-C', 'main/deep/part', 'log', '--format=%s') == 'one\n'
    assert outside(ward, '-C', 'main', 'submodule', 'status').endswith('deep/part (heads/main)\n')
    assert (ward.work / 'main/deep/part/.git').read_text() == 'gitdir: ../../.git/modules/part\n'


def test_a_pointer_that_was_there_keeps_what_is_in_order(ward):
    works(ward, f'git init -q -b main .; {IDENTITY} git commit -q --allow-empty -m first; git worktree add -q tree')
    before = (ward.work / 'tree/.git').read_text()
    result = ward.result('--', 'sh', '-c', 'echo more >>tree/.git; cat tree/.git; echo "gitdir: /tmp/evil" >tree/.git; cat tree/.git')
    assert result['stdout'] == f'{before}more\ngitdir: /tmp/evil\n'
    assert (ward.work / 'tree/.git').read_text() == before
    assert [line for line in result['sandbox_warnings'] if 'would have run programs' in line and 'moved to' in line]


def test_submodules(ward):
    ward.allow('git submodule', 'git push', 'rm')
    works(ward, f'''
        git init -q -b main lib; cd lib; {IDENTITY} echo l > l; git add l; git commit -q -m lib; cd ..
        git init -q -b main app; cd app; {IDENTITY} git -c protocol.file.allow=always submodule --quiet add ../lib lib
        git commit -q -m app; git submodule status; cd lib; {IDENTITY} echo m >> l; git commit -q -am more; git status --porcelain''')
    assert outside(ward, '-C', 'app/lib', 'log', '--format=%s').split() == ['more', 'lib']
    assert (ward.work / 'app/lib/.git').read_text().startswith('gitdir: ../.git/modules/')


@pytest.mark.parametrize('key', ['core.hooksPath', 'core.fsmonitor', 'core.sshCommand', 'core.pager', 'alias.st', 'include.path',
                                 'filter.x.clean', 'diff.external', 'credential.helper', 'url.x.insteadOf'])
def test_a_setting_that_runs_programs_is_asked_for(plain, key):
    works(plain, 'git init -q .')
    before = (plain.work / '.git/config').read_text()
    result = plain.result('--', 'git', 'config', key, '!evil')
    assert result['exit_code'] != 0
    assert denied(result) == {str(plain.work / '.git/config'): f'protected: git configuration, {key}'}
    assert (plain.work / '.git/config').read_text() == before
    assert plain.result('--write', '.git/config', '--', 'git', 'config', key, '!evil')['exit_code'] == 0
    assert outside(plain, 'config', key) == '!evil\n'


def test_what_the_person_set_may_stay(plain):
    works(plain, 'git init -q .')
    outside(plain, 'config', 'alias.mine', 'status -s')
    outside(plain, 'config', 'core.pager', 'less -R')
    works(plain, 'git remote add origin https://example.org/x.git')
    assert outside(plain, 'config', 'alias.mine') == 'status -s\n'


@pytest.mark.parametrize('name', ['.git/hooks/pre-commit', '.mcp.json', '.vscode/tasks.json', '.claude/settings.json', '.bashrc',
                                  'deep/er/.git/hooks/post-merge', '.ward.yaml', 'deep/er/.git/config', 'x.code-workspace', '.Rprofile',
                                  '.vscode/c_cpp_properties.json', '.github/hooks', '.github/copilot', '.helix/languages.toml', '.kiro/hooks', '.roo/mcp.json',
                                  '.hg/hgrc', '.jj/config.toml', '.sl/config'])
def test_a_guarded_name_is_refused_and_opened_by_its_own_name(ward, name):
    works(ward, 'git init -q .; git init -q deep/er; mkdir -p .vscode .claude .github .helix .kiro .roo .hg .jj .sl')
    write = f'echo "# text" >> {name}'
    result = ward.result('--', 'sh', '-c', write)
    assert result['exit_code'] != 0 and list(denied(result)) == [str(ward.work / name)]
    # More of the workspace is not that name.
    assert ward.result('--write', '.', '--', 'sh', '-c', write)['exit_code'] != 0
    assert ward.result('--write', name, '--', 'sh', '-c', write)['exit_code'] == 0
    assert (ward.work / name).read_text().endswith('# text\n')


def test_harmless_settings_are_written(ward):
    works(ward, 'mkdir .vscode .claude')
    works(ward, '''echo x > .vscode/extensions.json; echo y > .claude/notes.md; mkdir .claude/docs; echo z > .claude/docs/a
        mv .claude/notes.md .claude/docs/b; rm .claude/docs/a; chmod 600 .claude/docs/b; touch -d 2020-01-01 .claude/docs/b
        sed -i s/y/w/ .claude/docs/b; cat .claude/docs/b''')
    assert (ward.work / '.claude/docs/b').read_text() == 'w\n'
    assert (ward.work / '.claude/docs/b').stat().st_uid == ward.person.uid


def test_git_changes_what_lies_beside_guarded_names(ward):
    """.github is guarded for its hooks; its workflows come and go with branches."""
    works(ward, """git init -q -b one .; git config user.name x; git config user.email x@example.org; mkdir -p .github/workflows; echo a > .github/workflows/ci.yml; git add .; git commit -qm one
        git checkout -qb two; git rm -q .github/workflows/ci.yml; echo b > file; git add .; git commit -qm two""")
    out = works(ward, """git checkout -q one; echo more >> .github/workflows/ci.yml; git stash -q; git stash pop -q; git commit -qam three
        git mv .github/workflows/ci.yml .github/workflows/cd.yml; git commit -qm four; git checkout -q two; git merge -q one -m five; cat .github/workflows/*""")
    assert out == 'a\nmore\n'
    assert works(ward, 'git status --porcelain') == ''


def test_a_tree_with_repositories_is_moved_and_what_was_made_is_removed(ward):
    ward.allow('rm')
    works(ward, 'git init -q there')
    out = works(ward, 'mv there elsewhere; git init -q new; git -C new status --porcelain; rm -rf new; ls')
    assert out == 'elsewhere\n'


def test_a_repository_that_was_there_is_not_removed_unasked(plain):
    plain.allow('rm')
    works(plain, 'git init -q there')
    result = plain.result('--', 'rm', '-rf', 'there')
    assert result['exit_code'] != 0 and (plain.work / 'there/.git/config').exists()
    assert all('protected' in rule for rule in denied(result).values())


def test_a_pointer_to_elsewhere_goes_to_quarantine(ward):
    works(ward, 'git init -q elsewhere.git --bare; mkdir plain')
    result = ward.result('--', 'sh', '-c', 'echo "gitdir: /tmp/evil" > plain/.git; cat plain/.git')
    assert result['stdout'] == 'gitdir: /tmp/evil\n'
    assert not (ward.work / 'plain/.git').exists()
    assert [line for line in result['sandbox_warnings'] if 'would have run programs' in line and 'moved to' in line]


def test_a_worktree_made_inside_is_used_outside_while_the_run_goes_on(plain):
    """What says where it lies is a draft inside, and the file itself as soon as somebody has closed that."""
    plain.allow('git worktree')
    other = plain.popen('run', '--', 'sh', '-c', f"""git init -q -b main main; cd main; {IDENTITY} git commit -q --allow-empty -m one
        git worktree add -q ../tree; git worktree add -q ../gone; git worktree remove ../gone; git -C ../tree status --porcelain; cat ../tree/.git
        chmod 640 ../tree/.git; mv ../tree ../moved; mv ../moved ../tree; touch ../made; until [ -e ../over ]; do sleep 0.02; done
        echo 'gitdir: elsewhere' >../tree/.git; cat ../tree/.git; printf 'gitdir: %s/.git/worktrees/tree' "$PWD" >../tree/.git""")
    made = plain.work / 'tree/.git'
    try:
        assert wait_until(lambda: (plain.work / 'made').exists())
        assert made.read_text() == f'gitdir: {plain.work}/main/.git/worktrees/tree\n'
        assert outside(plain, '-C', 'tree', 'log', '--format=%s') == 'one\n'
        assert not (plain.work / 'gone').exists()
    finally:
        (plain.work / 'over').touch()
        out = other.communicate(timeout=PATIENCE)[0].decode()
    assert out == f'gitdir: {plain.work}/main/.git/worktrees/tree\ngitdir: elsewhere\n'
    assert made.read_text() == f'gitdir: {plain.work}/main/.git/worktrees/tree'
    assert made.stat().st_mode & 0o777 == 0o640
    assert (plain.work / 'main/.git/worktrees/tree/commondir').read_text() == '../..\n'


def test_a_file_that_says_where_a_repository_lies_is_made_as_asked(ward):
    script = """
import os, stat, sys
os.umask(0o027)
os.mkdir('place')
fd = os.open('place/.git', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o466)
assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o440, oct(os.fstat(fd).st_mode)
os.write(fd, b'x' * 100)
os.close(fd)
try:
    os.open('place/.git', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    sys.exit('it was made twice')
except FileExistsError:
    pass
os.chmod('place/.git', 0o600)
fd = os.open('place/.git', os.O_RDWR | os.O_APPEND)
assert os.read(fd, 200) == b'x' * 100
try:
    for _ in range(100):
        os.write(fd, b'y' * 4096)
    sys.exit('it may grow')
except OSError as error:
    assert error.errno in (28, 122), error
os.close(fd)
os.unlink('place/.git')
os.mkdir('place/.git')
"""
    result = ward.result('--', 'python3', '-c', script)
    assert result['exit_code'] == 0, result['stderr']
    assert (ward.work / 'place/.git').is_dir()


def test_two_runs_on_one_workspace(ward):
    """One makes a repository while the other runs: the other cannot write its configuration either."""
    other = ward.popen('run', '--', 'sh', '-c', 'while [ ! -e new/.git/config ]; do sleep 0.05; done; touch seen; '
                       'echo evil >> new/.git/config; echo evil > new/.git/hooks/pre-commit; echo done')
    works(ward, 'git init -q new; while [ ! -e seen ]; do sleep 0.05; done')
    other.communicate(timeout=PATIENCE)
    assert 'evil' not in (ward.work / 'new/.git/config').read_text()
    assert not (ward.work / 'new/.git/hooks/pre-commit').exists()


def test_nothing_is_left_behind_by_a_kill(plain):
    """Guarding leaves no name of its own, whenever it is ended."""
    works(plain, 'git init -q .')
    for wait in (0.05, 0.1, 0.2, 0.3):
        process = plain.popen('run', '--', 'sh', '-c', f'i=0; while :; do i=$((i+1)); git config user.name $i; mkdir -p x/.vscode; rm -rf x; done')
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        time.sleep(0.3)
    names = {path.name for path in plain.work.rglob('*') if 'objects' not in path.parts}
    allowed = {'.git', 'x', '.vscode', 'config', 'config.lock', 'hooks', 'info', 'exclude', 'refs', 'heads', 'tags', 'HEAD', 'description',
               'branches', 'objects', 'pack'}
    assert {name for name in names if not name.endswith('.sample')} <= allowed


def test_what_was_just_written_can_be_executed(ward):
    """Nobody but the writer holds a program for writing, not even for a moment."""
    ward.file('copy.sh', 'i=0; while [ $i -lt 300 ]; do cp /bin/true t$i; ./t$i || exit 1; rm t$i; i=$((i+1)); done; echo all\n')
    result = ward.result('--', 'sh', 'copy.sh')
    assert result['stdout'] == 'all\n', result['stderr']
