# SPDX-License-Identifier: Apache-2.0
"""Git worktrees and submodules whose git directory lies outside the workspace, with git itself; and forged ones."""
import os
import shutil
import subprocess

import pytest


def git(ward, *words, cwd):
    """Git as the caller runs it, outside."""
    done = ward('-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'protocol.file.allow=always', *words, program='/usr/bin/git', cwd=cwd)
    assert done.code == 0, done
    return done.out


IDENTITY = {'GIT_AUTHOR_NAME': 't', 'GIT_AUTHOR_EMAIL': 't@localhost', 'GIT_COMMITTER_NAME': 't', 'GIT_COMMITTER_EMAIL': 't@localhost'}
FLAGS = [word for name, value in IDENTITY.items() for word in ('--env', f'{name}={value}')]


@pytest.fixture
def repository(ward):
    """A repository with a commit, a worktree beside it and a second one."""
    main = ward.place / 'main'
    main.mkdir()
    ward.person.own(main)
    git(ward, 'init', '-q', '-b', 'main', cwd=main)
    ward.file(main / 'file', 'one\n')
    git(ward, 'add', '.', cwd=main)
    git(ward, 'commit', '-q', '-m', 'one', cwd=main)
    for name in ('tree', 'other'):
        (ward.place / name).mkdir()
        ward.person.own(ward.place / name)
        git(ward, 'worktree', 'add', '-q', str(ward.place / name), '-b', name, cwd=main)
    return main


def in_tree(ward, script, *flags, tree='tree'):
    return ward('run', *FLAGS, *flags, '--', 'sh', '-ec', script, cwd=ward.place / tree)


COMMIT = 'git status --short; echo two > new; git add new; git commit -q -m two; git log --oneline | wc -l; git branch side; git status --short'


def test_git_works_in_a_worktree(ward, repository):
    done = in_tree(ward, COMMIT)
    assert (done.code, done.out) == (0, '2\n'), done
    assert git(ward, 'log', '-1', '--format=%s', 'tree', cwd=repository) == 'two\n'
    assert git(ward, 'branch', '--list', 'side', cwd=repository).strip() == 'side'
    assert git(ward, 'status', '--short', cwd=repository) == ''


def test_git_works_in_a_worktree_with_relative_links(ward, repository):
    """As newer versions of git write them."""
    (ward.place / 'tree' / '.git').write_text('gitdir: ../main/.git/worktrees/tree\n')
    (repository / '.git/worktrees/tree/gitdir').write_text('../../../../tree/.git\n')
    assert in_tree(ward, COMMIT).out == '2\n'


@pytest.mark.parametrize('what', ['config', 'hooks/pre-commit', 'worktrees/other/HEAD', 'worktrees/other/gitdir', 'worktrees/tree/gitdir',
                                  'worktrees/tree/commondir', 'worktrees/new', 'hooks/post-commit', 'info/attributes'])
def test_what_runs_programs_stays_closed_in_the_repository(ward, repository, what):
    (repository / '.git/hooks').mkdir(exist_ok=True)
    (repository / '.git/info').mkdir(exist_ok=True)
    (repository / '.git/info/attributes').write_text('')
    ward.person.own(repository / '.git/hooks', repository / '.git/info', repository / '.git/info/attributes')
    path = repository / '.git' / what
    before = path.read_text() if path.exists() else None
    place = path.parent
    for script in (f'echo forged > {path}', f'echo forged > forged; mv forged {path}', f'rm {path}', f'ln -sf /tmp/x {path}',
                   f'mv {place} {place}2; mkdir {place}; echo forged > {path}', f'chmod 777 {path}'):
        in_tree(ward, f'({script}) 2>/dev/null || true')
        assert (path.read_text() if path.exists() else None) == before, script
        assert not os.path.islink(path)


def test_the_repositorys_own_worktree_stays_closed(ward, repository):
    in_tree(ward, f'echo forged > {repository}/file || true; echo forged > {repository}/new || true')
    assert (repository / 'file').read_text() == 'one\n' and not (repository / 'new').exists()


def test_a_worktree_that_is_denied_stays_denied(ward, repository):
    done = in_tree(ward, 'git status; git commit --allow-empty -m x', '--deny', str(repository))
    assert done.code != 0
    done = in_tree(ward, 'git status --short; git commit --allow-empty -m x', '--read-only', str(repository))
    assert done.code != 0 and git(ward, 'log', '--format=%s', 'tree', cwd=repository) == 'one\n'


def victim(ward):
    """Another repository of the same user, which nobody has opened."""
    path = ward.place / 'victim'
    path.mkdir()
    ward.person.own(path)
    git(ward, 'init', '-q', cwd=path)
    return path / '.git'


def refused(ward, path, cwd):
    ward('run', '--', 'sh', '-c', f'echo x > {path}/planted; echo x > {path}/refs/planted', cwd=cwd)
    return not (path / 'planted').exists() and not (path / 'refs' / 'planted').exists()


def test_a_file_that_names_a_repository_opens_nothing(ward, repository):
    """A command may have written it."""
    target = victim(ward)
    for text in (f'gitdir: {target}', f'gitdir: {repository}/.git/worktrees/tree', f'gitdir: {repository}/.git', f'gitdir: {ward.home}'):
        ward.file('.git', text + '\n')
        assert refused(ward, target, ward.work) and refused(ward, repository / '.git', ward.work)


def test_a_common_directory_that_is_forged_opens_nothing(ward, repository):
    """The command writes in the repository of its worktree, and its next run must not have more by it."""
    target, tree = victim(ward), ward.place / 'tree'
    forged = tree / 'forged'
    in_tree(ward, f'mkdir -p {forged}/worktrees/evil; cd {forged}/worktrees/evil; echo {tree}/.git > gitdir; echo {target} > commondir; '
                  f'cp {repository}/.git/HEAD .; echo "gitdir: {forged}/worktrees/evil" > {tree}/.git')
    assert refused(ward, target, tree)
    evil = repository / '.git/worktrees/evil'
    in_tree(ward, f'mkdir -p {evil} || true')
    evil.mkdir(exist_ok=True)
    for name, text in (('gitdir', f'{tree}/.git'), ('commondir', str(target)), ('HEAD', 'ref: refs/heads/main')):
        ward.file(evil / name, text + '\n')
    ward.person.own(evil)
    (tree / '.git').write_text(f'gitdir: {evil}\n')
    assert refused(ward, target, tree)


def test_a_link_to_a_git_directory_opens_nothing(ward, repository):
    target, tree = victim(ward), ward.place / 'tree'
    os.unlink(tree / '.git')
    os.symlink(target, tree / '.git')
    assert refused(ward, target, tree)


@pytest.fixture
def module(ward, repository):
    """A repository with a submodule."""
    outer = ward.place / 'outer'
    outer.mkdir()
    ward.person.own(outer)
    git(ward, 'init', '-q', cwd=outer)
    git(ward, 'submodule', '--quiet', 'add', str(repository), 'sub', cwd=outer)
    git(ward, 'commit', '-q', '-m', 'outer', cwd=outer)
    return outer


def test_git_works_in_a_workspace_with_a_submodule(ward, module):
    done = in_tree(ward, 'cd sub; ' + COMMIT + '; cd ..; git add sub; git commit -q -m sub; git status --short', tree='outer')
    assert (done.code, done.out) == (0, '2\n'), done


def test_git_works_in_a_submodule_that_is_the_workspace(ward, module):
    done = in_tree(ward, COMMIT, tree='outer/sub')
    assert (done.code, done.out) == (0, '2\n'), done
    directory = module / '.git/modules/sub'
    before = (directory / 'config').read_text()
    in_tree(ward, f'echo x > {directory}/config || true; echo x > {directory}/hooks/pre-commit || true; echo x > {module}/.git/config || true; '
                  f'echo x > {module}/.git/planted || true', tree='outer/sub')
    assert (directory / 'config').read_text() == before
    assert not (directory / 'hooks/pre-commit').exists() and not (module / '.git/planted').exists()


def test_a_repository_of_somebody_else_is_not_opened(ward, repository, user):
    """Git itself would not trust it either."""
    if not ward.person.is_root:
        pytest.skip('needs root')
    target = repository / '.git'
    subprocess.run(['chown', '-R', f'{user.uid}', str(ward.place / 'tree')], check=True)
    shutil.chown(ward.place, user.uid)
    assert refused(ward, target, ward.place / 'tree')
