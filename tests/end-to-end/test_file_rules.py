# SPDX-License-Identifier: Apache-2.0
"""Rules about files: the most specific one counts, deny wins a tie; what is open in what is denied, and the other way round."""
import json
import os

import pytest


@pytest.fixture
def tree(ward):
    """A project with something of everything."""
    for name in ('secrets/a', 'secrets/public.txt', 'secrets/deep/b', 'secrets/deep/open/c', 'build/x', 'build/out/o', 'vendor/v',
                 'vendor/cache/c', 'keys/one.pem', 'keys/one.pub', 'src/keys/two.pem', 'plain'):
        ward.file(name, f'content of {name}\n')
    return ward


def reads(ward, *flags):
    """Which of the files can be read."""
    done = ward.sh('find . -type f 2>/dev/null | while read f; do cat "$f" >/dev/null 2>&1 && echo "$f"; done; true', *flags)
    assert done.code == 0, done
    return {line[2:] for line in done.out.splitlines()}


def writes(ward, names, *flags):
    """Which of the names can be written."""
    script = 'for f in "$@"; do (: >> "$f") 2>/dev/null && echo "$f"; done; true'
    done = ward('run', *flags, '--', 'sh', '-c', script, 'sh', *names)
    assert done.code == 0, done
    return set(done.out.split())


ALL = ['secrets/a', 'secrets/public.txt', 'secrets/new', 'build/x', 'build/new', 'build/out/o', 'build/out/new', 'vendor/v', 'vendor/new',
       'vendor/cache/c', 'vendor/cache/new', 'plain', 'new']


def test_read_in_what_is_denied(tree):
    flags = ['--write', '.', '--deny', 'secrets/**', '--read', 'secrets/public.txt']
    seen = reads(tree, *flags)
    assert {name for name in seen if name.startswith('secrets')} == {'secrets/public.txt'}
    assert 'plain' in seen
    assert writes(tree, ALL, *flags) == {name for name in ALL if not name.startswith('secrets/')}


def test_what_is_open_in_a_denied_directory_is_listed_and_its_siblings_are_not(tree):
    done = tree.sh('ls -A secrets; cat secrets/a; ls secrets/deep', '--deny', 'secrets', '--read', 'secrets/public.txt')
    assert done.out == 'public.txt\n' and done.code != 0


def test_a_path_deep_in_what_is_denied(tree):
    done = tree.sh('find secrets -type f; cat secrets/deep/open/c', '--deny', 'secrets', '--read', 'secrets/deep/open')
    assert done.out == 'secrets/deep/open/c\ncontent of secrets/deep/open/c\n'


def test_denied_in_what_is_open_in_what_is_denied(tree):
    tree.file('secrets/deep/open/no/way', 'x')
    done = tree.sh('cat secrets/deep/open/c; cat secrets/deep/open/no/way; cat secrets/a; true', '--deny', 'secrets',
                   '--read', 'secrets/deep/open', '--deny', 'secrets/deep/open/no')
    assert done.out == 'content of secrets/deep/open/c\n'


def test_write_in_what_is_denied(tree):
    flags = ['--deny', 'build', '--write', 'build/out']
    assert writes(tree, ALL, *flags) == {name for name in ALL if not name.startswith('build/') or name.startswith('build/out/')}
    assert {name for name in reads(tree, *flags) if name.startswith('build/')} == {'build/out/o', 'build/out/new'}
    assert (tree.work / 'build' / 'out' / 'new').exists() and not (tree.work / 'build' / 'new').exists()


def test_write_in_what_is_read_only(tree):
    flags = ['--read-only', 'vendor', '--write', 'vendor/cache']
    assert writes(tree, ALL, *flags) == {name for name in ALL if not name.startswith('vendor/') or name.startswith('vendor/cache/')}
    assert {'vendor/v', 'vendor/cache/c'} <= reads(tree, *flags)


def test_read_only_in_what_is_open_in_what_is_denied(tree):
    done = tree.sh('cat secrets/deep/open/c; echo x > secrets/deep/open/c; echo y > secrets/deep/b', '--deny', 'secrets', '--write',
                   'secrets/deep', '--read-only', 'secrets/deep/open')
    assert done.out == 'content of secrets/deep/open/c\n'
    assert (tree.work / 'secrets/deep/open/c').read_text() == 'content of secrets/deep/open/c\n'
    assert (tree.work / 'secrets/deep/b').read_text() == 'y\n'


def test_read_only_opens_what_is_denied_for_reading(tree):
    done = tree.sh('cat secrets/public.txt; echo x > secrets/public.txt', '--deny', 'secrets', '--read-only', 'secrets/public.txt')
    assert done.out == 'content of secrets/public.txt\n'
    assert (tree.work / 'secrets/public.txt').read_text() == done.out


def test_the_whole_workspace_read_only(tree):
    assert writes(tree, ALL, '--read-only', '.') == set()
    assert writes(tree, ALL, '--read-only', '.', '--write', 'build') == {name for name in ALL if name.startswith('build/')}


@pytest.mark.parametrize('flags, readable', [
    (['--deny', 'keys', '--read', 'keys'], set()),
    (['--deny', 'keys/**', '--write', 'keys'], set()),
    (['--deny', 'keys', '--read-only', 'keys/**'], set()),
    (['--deny', 'keys', '--read', 'keys/*.pub'], {'keys/one.pub'}),
    (['--deny', '**/*.pem'], {'keys/one.pub'}),
    (['--deny', '**/*.pem', '--read', 'keys'], {'keys/one.pem', 'keys/one.pub'}),
    (['--deny', '**/*.pem', '--read', 'keys/*.pem'], {'keys/one.pem', 'keys/one.pub'}),
    (['--deny', 'keys/*.pem', '--read', '**/one.pem'], {'keys/one.pub'}),
    (['--deny', 'keys/o*', '--read', 'keys/one*'], {'keys/one.pem', 'keys/one.pub'}),
    (['--deny', 'keys/one.*', '--read', 'keys/one.pem'], {'keys/one.pem'}),
    (['--deny', '**', '--read', 'keys'], None),
])
def test_the_most_specific_rule_counts_and_deny_wins_a_tie(tree, flags, readable):
    if readable is None:
        done = tree.run('true', flags=flags)
        assert done.code == 125 and 'workspace' in done.err
        return
    assert {name for name in reads(tree, *flags) if name.startswith('keys/')} == readable


def test_read_only_wins_a_tie_with_write(tree):
    assert writes(tree, ['vendor/v'], '--read-only', 'vendor', '--write', 'vendor') == set()


def test_patterns_of_write_mean_what_exists(tree):
    outside = tree.place / 'outside'
    for name in ('one/out', 'two/out', 'two/in'):
        tree.file(outside / name / 'file', 'old')
    script = f'for d in one/out two/out two/in; do echo new > {outside}/$d/file; done; true'
    tree.sh(script, '--write', f'{outside}/*/out')
    assert [(outside / name / 'file').read_text().strip() for name in ('one/out', 'two/out', 'two/in')] == ['new', 'new', 'old']


@pytest.mark.parametrize('flag', ['--write', '--read-only'])
@pytest.mark.parametrize('pattern', ['no*/such', 'nothing', '**/nothing'])
def test_a_flag_that_means_nothing_is_an_error(tree, flag, pattern):
    done = tree.run('true', flags=[flag, pattern])
    assert done.code == 125 and pattern.split('/')[0] in done.err and 'exist' in done.err


def test_variables_and_home(tree):
    env = {'PLACE': 'secrets', 'MORE': str(tree.work / 'keys')}
    done = tree.sh('cat secrets/a keys/one.pem plain; true', '--deny', '$PLACE/a', '--deny', '${MORE}', env=env)
    assert done.out == 'content of plain\n'
    tree.file(tree.home / 'notes', 'x')
    assert tree.sh('cat ~/notes', '--deny', '~/notes').out == ''


@pytest.mark.parametrize('text, name', [('$NO_SUCH/x', 'NO_SUCH'), ('a/${NO_SUCH}', 'NO_SUCH'), ('$EMPTY/x', 'EMPTY'), ('$STAR/x', 'STAR')])
@pytest.mark.parametrize('flag', ['--deny', '--read', '--write', '--read-only'])
def test_a_variable_that_is_not_there_is_an_error_that_names_it(plain, flag, text, name):
    done = plain.run('true', flags=[flag, text], env={'EMPTY': '', 'STAR': '/*'})
    assert done.code == 125 and f"'{name}'" in done.err and flag in done.err


def test_a_variable_that_is_not_there_in_a_policy_has_its_place(plain):
    path = plain.policy('sandbox:\n  files:\n    deny: [a, $NO_SUCH/x]\n')
    done = plain.run('true')
    assert done.code == 125 and f'{path}:3:15' in done.err and 'NO_SUCH' in done.err


def test_a_dollar_that_is_no_variable_is_itself(plain):
    plain.file('a$', 'x')
    plain.file('$HOME', 'y')
    assert plain.sh("cat 'a$' '$HOME'; true", '--deny', 'a$', '--deny', '[$]HOME').out == ''


POLICY = """sandbox:
  files:
    deny: [secrets, build]
    read: [secrets/public.txt]
    write: [build/out]
    read_only: [vendor, '**/*.pem']
"""


def test_the_same_from_a_policy_file(tree):
    tree.policy(POLICY)
    assert {name for name in reads(tree) if name.startswith(('secrets', 'build'))} == {'secrets/public.txt', 'build/out/o'}
    assert writes(tree, [*ALL, 'keys/one.pem']) == {'build/out/o', 'build/out/new', 'plain', 'new'}
    shown = json.loads(tree('policy', 'show', '--json').out)
    assert shown['sandbox']['files']['read_only'] == ['vendor', '**/*.pem']


def test_an_untrusted_project_can_hold_but_not_open(tree):
    tree.file('.ward.yaml', 'sandbox: {files: {read_only: [vendor, secrets/a, "**/.env"]}}\n')
    tree.file('.env', 'KEY=1\n')
    done = tree.sh('cat secrets/a .env; echo x > vendor/v; cat vendor/v; true', '--deny', 'secrets')
    assert done.out == 'content of vendor/v\n'


@pytest.mark.parametrize('rule, script, expected', [
    ('--read-only vendor', 'echo x > vendor/v', ('write', 'vendor/v', 'read-only: vendor')),
    ('--read-only vendor', 'rm -f vendor/v', ('delete', 'vendor/v', 'read-only: vendor')),
    ('--read-only vendor', 'mv vendor other', ('delete', 'vendor', 'read-only: vendor')),
    ('--read-only vendor', 'chmod 700 vendor/v', ('write', 'vendor/v', 'read-only: vendor')),
    ('--read-only vendor', 'mkdir vendor/d', ('write', 'vendor/d', 'read-only: vendor')),
    ('--deny build', 'echo x > build/x', ('write', 'build/x', 'deny: build')),
    ('--deny build', 'rm -f build/out/o', ('delete', 'build/out/o', 'deny: build')),
    ('--deny build', 'mkdir build/out/d/e', ('write', 'build/out/d/e', 'deny: build')),
    ('--deny plain', 'echo x > plain', ('write', 'plain', 'deny: plain')),
    ('--deny secrets --read secrets/public.txt', 'echo x > secrets/new', ('write', 'secrets/new', 'deny: secrets')),
    ('--deny secrets --read secrets/public.txt', 'echo x > secrets/public.txt', ('write', 'secrets/public.txt', 'read-only: secrets')),
])
def test_a_refusal_names_the_rule(tree, rule, script, expected):
    result = tree.result(*rule.split(), '--', 'sh', '-c', script + '; true')
    denial, = result['attempts'][0]['denials']
    operation, name, said = expected
    assert (denial['operation'], denial['object']) == (operation, str(tree.work / name))
    assert denial['rule'].startswith(said.split(':')[0])
    if not rule.startswith('--deny secrets'):
        assert denial['rule'] == said


def test_links_out_of_the_tree_widen_nothing(tree):
    outside = tree.place / 'outside'
    tree.file(outside / 'file', 'old\n')
    tree.file(tree.home / '.aws' / 'credentials', 'key\n')
    for name, target in (('out', outside), ('aws', tree.home / '.aws'), ('inner', 'secrets')):
        (tree.work / name).symlink_to(target)
    for flag in ('--write', '--read-only'):
        for name in ('out', 'out/**', 'aws', 'out/file'):
            done = tree.sh(f'echo new > {outside}/file; cat ~/.aws/credentials; true', flag, name)
            assert done.out == '' and (outside / 'file').read_text() == 'old\n'
    for name in ('aws', 'aws/credentials', 'a*/credentials', '**'):
        assert tree.sh('cat ~/.aws/credentials aws/credentials; true', '--read', name).out == ''
    assert tree.sh('cat secrets/a inner/a; true', '--deny', 'secrets', '--read', 'inner/a').out == ''


def test_names_of_others_are_not_there(ward):
    """Resolution 67: /etc/passwd holds just the entries needed, and name look-ups work."""
    done = ward.sh('cut -d: -f1 /etc/passwd; cut -d: -f1 /etc/group')
    names = done.out.split()
    assert {'root', 'nobody', ward.person.name} <= set(names)
    assert not {'daemon', 'www-data', 'postgres', 'sudo', 'shadow'} & set(names)
    assert all(line.split(':')[1] == 'x' for line in ward.sh('cat /etc/passwd').out.splitlines())
    done = ward.sh('whoami; id -un; id -gn; getent passwd $(id -u) | cut -d: -f1; python3 -c "import pwd, os; print(pwd.getpwuid(os.getuid()).pw_dir)"')
    assert done.code == 0 and done.out.split()[:4] == [ward.person.name, ward.person.name, ward.sh('id -gn').out.strip(), ward.person.name]
    assert ward.sh('echo x >> /etc/passwd').code != 0


def test_the_hosts_own_names_can_be_asked_for_or_denied(ward):
    with open('/etc/passwd', encoding='utf-8') as file:
        assert ward.sh('cat /etc/passwd', '--read', '/etc/passwd').out == file.read()
    done = ward.sh('cat /etc/passwd; cat /etc/group', '--deny', '/etc/passwd')
    assert 'Permission denied' in done.err and 'root:x:0' in done.out and '/root' not in done.out


def test_names_where_an_account_is_not_in_the_file(ward, place):
    """An account that only a directory service knows."""
    if not ward.person.is_root:
        pytest.skip('needs root to be somebody else')
    os.chown(ward.work, 54321, 54321)
    done = ward.sh('whoami; id -gn; stat -c %U .', env={'USER': 'someone'})
    assert done.code == 0 and done.out.split() == ['someone'] * 3, done


def test_the_same_in_a_workspace_below_tmp(below_tmp):
    """The host's /tmp is not there inside, what is named in it is."""
    ward = below_tmp
    for name in ('secrets/a', 'secrets/public.txt', 'vendor/v', 'vendor/cache/c'):
        ward.file(name, f'content of {name}\n')
    ward.file(ward.place / 'beside' / 'file', 'old\n')
    done = ward.sh('ls secrets; cat secrets/public.txt; echo x > vendor/v; echo x > vendor/cache/c; echo new > ../beside/file; cat ../home/x; true',
                   '--deny', 'secrets', '--read', 'secrets/public.txt', '--read-only', 'vendor', '--write', 'vendor/cache',
                   '--write', '../besi*')
    assert done.out == 'public.txt\ncontent of secrets/public.txt\n'
    assert (ward.work / 'vendor/v').read_text() == 'content of vendor/v\n'
    assert (ward.work / 'vendor/cache/c').read_text() == 'x\n' and (ward.place / 'beside/file').read_text() == 'new\n'


def test_many_paths_in_what_is_denied_are_refused_in_time(plain):
    """Each costs a descriptor while the sandbox is built."""
    for number in range(450):
        plain.file(f'secrets/{number}.pub')
    done = plain.run('true', flags=['--deny', 'secrets', '--read', 'secrets/*.pub'])
    assert done.code == 125 and 'work/secrets/' in done.err and 'name the directories' in done.err
    for number in range(60):
        os.unlink(plain.work / f'secrets/{number}.pub')
    done = plain.sh('ls secrets | wc -l', '--deny', 'secrets', '--read', 'secrets/*.pub')
    assert done.out == '390\n', done


def test_masks_leave_the_host_as_it_was(tree):
    before = sorted((str(path), path.stat().st_mode, path.stat().st_ino) for path in tree.work.rglob('*'))
    tree.sh('true', '--deny', 'secrets', '--read', 'secrets/deep/open', '--read-only', 'vendor', '--deny', '**/*.pem')
    assert sorted((str(path), path.stat().st_mode, path.stat().st_ino) for path in tree.work.rglob('*')) == before


@pytest.mark.parametrize('path', ['/proc/cpuinfo', '/dev/null', '/dev'])
def test_what_the_sandbox_has_of_its_own_is_not_denied_by_mistake(plain, path):
    result = plain.result('--deny', path, '--', 'true')
    assert result['status'] == 125 and f'{path} cannot be denied' in result['error']['message']
