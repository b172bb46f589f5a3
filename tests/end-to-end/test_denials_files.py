# SPDX-License-Identifier: Apache-2.0
"""Refused writes and name changes are known exactly, whatever the program prints or swallows; nothing else is reported."""
import pytest


@pytest.fixture
def outside(ward):
    """A directory of the caller's own outside the workspace, with a file and a directory in it."""
    path = ward.place / 'outside'
    path.mkdir()
    (path / 'file').write_text('precious\n')
    (path / 'dir').mkdir()
    ward.person.own(path, path / 'file', path / 'dir')
    return path


def untouched(outside):
    return sorted(p.name for p in outside.iterdir()) == ['dir', 'file'] and (outside / 'file').read_text() == 'precious\n'


CALLS = {  # a line of python: what is refused
    'os.close(os.open(o + "/file", os.O_WRONLY))': [('write', 'file', 'openat')],
    'os.close(os.open(o + "/file", os.O_RDWR))': [('write', 'file', 'openat')],
    'os.close(os.open(o + "/file", os.O_RDONLY | os.O_TRUNC))': [('write', 'file', 'openat')],
    'os.close(os.open(o + "/file", os.O_WRONLY | os.O_APPEND))': [('write', 'file', 'openat')],
    'os.close(os.open(o + "/new", os.O_WRONLY | os.O_CREAT))': [('write', 'new', 'openat')],
    'os.close(os.open(o + "/new", os.O_RDONLY | os.O_CREAT))': [('write', 'new', 'openat')],
    'os.close(os.open(o + "/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL))': [('write', 'new', 'openat')],
    'os.close(os.open(o, os.O_TMPFILE | os.O_RDWR))': [('write', '', 'openat')],
    'd = os.open(o, os.O_RDONLY); os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=d))': [('write', 'new', 'openat')],
    'os.mkdir(o + "/new")': [('write', 'new', 'mkdir')],
    'os.mkfifo(o + "/new")': [('write', 'new', 'mknodat')],
    'os.symlink("target", o + "/new")': [('write', 'new', 'symlink')],
    'os.link("mine", o + "/new")': [('write', 'new', 'link')],
    'os.rename(o + "/file", o + "/new")': [('delete', 'file', 'rename')],
    'os.rename("mine", o + "/new")': [('write', 'new', 'rename')],
    'os.rename("mine", o + "/file")': [('write', 'file', 'rename')],
    'os.rename(o + "/file", "stolen")': [('delete', 'file', 'rename')],
    'os.unlink(o + "/file")': [('delete', 'file', 'unlink')],
    'os.rmdir(o + "/dir")': [('delete', 'dir', 'rmdir')],
    'os.truncate(o + "/file", 0)': [('write', 'file', 'truncate')],
    'os.chmod(o + "/file", 0o600)': [('write', 'file', 'chmod')],
    'os.utime(o + "/file", (1, 1))': [('write', 'file', 'utimensat')],
    'os.chown(o + "/file", os.getuid(), -1)': [('write', 'file', 'chown')],
    'os.setxattr(o + "/file", "user.a", b"b")': [('write', 'file', 'setxattr')],
}


@pytest.mark.parametrize('line', CALLS, ids=lambda line: line[:70])
def test_each_call_outside_is_refused_and_known(ward, outside, line):
    ward.file('mine', 'x')
    script = f'import os, sys\no = sys.argv[1]\ntry: {line}\nexcept OSError as e: print(e.errno)\nelse: print("done")'
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script, outside)
    assert result['stdout'].strip() in ('13', '30', '18', '1'), result['stdout'] + result['stderr']
    assert result['exit_code'] == 0
    expected = [(operation, str(outside / name) if name else None, call) for operation, name, call in CALLS[line]]
    denials = result['attempts'][0]['denials']
    assert [(d['operation'], d['object'] if e[1] else None, d['syscall'])
            for d, e in zip(denials, expected)] == expected and len(denials) == len(expected), denials
    for denial in denials:
        assert denial['answer'] == 'none' and denial['program'].startswith('python3') and denial['count'] == 1
        assert denial['rule'].startswith('default: ')
    assert untouched(outside)


@pytest.mark.parametrize('line', [
    'f = open(o + "/file"); os.fchmod(f.fileno(), 0o600)',
    'f = open(o + "/file"); os.fchown(f.fileno(), os.getuid(), -1)',
    'f = open(o + "/file"); os.utime(f.fileno(), (1, 1))',
    'f = open(o + "/file"); os.setxattr(f.fileno(), "user.a", b"b")',
])
def test_changes_through_a_descriptor_are_refused(plain, line):
    """By the mount that the file was opened through; the supervisor is not shown them."""
    outside = plain.place / 'outside'
    outside.mkdir()
    (outside / 'file').write_text('precious\n')
    plain.person.own(outside, outside / 'file')
    before = (outside / 'file').stat()
    script = f'import os, sys\no = sys.argv[1]\ntry: {line}\nexcept OSError as e: print(e.errno)\nelse: print("done")'
    result = plain.result('--', '/usr/bin/python3', '-I', '-c', script, outside)
    after = (outside / 'file').stat()
    assert (before.st_mode, before.st_mtime, before.st_ctime_ns) == (after.st_mode, after.st_mtime, after.st_ctime_ns)
    assert result['stdout'].strip() in ('1', '13', '30')


@pytest.mark.parametrize('script', [
    'echo x > $O/file || true',
    '{ echo x > $O/file; } >/dev/null 2>&1; exit 0',
    'echo x > $O/file 2>/dev/null; echo fine',
    'LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8 LANGUAGE=de sh -c "echo x > $O/file"; exit 0',
    '(sh -c "(echo x > $O/file) &" >/dev/null 2>&1); sleep 0.5',
    'exec 2>&-; echo x > $O/file; exit 0',
    'python3 -c "import os; os.environ[\'O\']; \ntry: open(os.environ[\'O\'] + \'/file\', \'w\')\nexcept Exception: pass"',
])
def test_swallowed_refusals_are_known(ward, outside, script):
    result = ward.result('--', 'sh', '-c', script, env={'O': str(outside)})
    assert result['exit_code'] == 0
    assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('write', str(outside / 'file'))]
    assert untouched(outside)


def test_a_program_in_another_language_prints_something_else_and_is_known_all_the_same(plain):
    """What ward knows does not come from what the program prints."""
    result = plain.result('--', 'sh', '-c', 'echo x > /usr/new-file || echo "Keine Berechtigung" >&2; exit 0',
                          env={'LANG': 'de_DE.UTF-8', 'LC_ALL': 'de_DE.UTF-8'})
    assert [d['object'] for d in result['attempts'][0]['denials']] == ['/usr/new-file']


@pytest.mark.parametrize('script', [
    'echo "Permission denied"; echo "Operation not permitted" >&2; exit 1',
    'echo "cannot open /etc/passwd for writing: Read-only file system" >&2; exit 13',
    'cat /no/such/file',
    'cat < /no/such/file',
    'echo x > /no/such/directory/file',
    'mkdir -p /usr/bin',
    'mkdir /usr/bin',
    'mkdir /no/such/place/new',
    'rm -f /usr/bin/no-such-program-anywhere',
    'rmdir /usr/no-such',
    'mv /usr/no-such-a /usr/no-such-b',
    'chmod 600 /usr/no-such',
    'touch -c /usr/no-such',
    'ln -sT x /usr/bin',
    'set -C; echo x > /etc/debian_version',
    'test -w /etc/passwd; test -w /usr',
    'echo x > file; mkdir dir; mv file dir/file; rm -r dir; mkdir -p a/b/c; touch a/f; ln -s f a/l; ln a/f a/h; chmod 600 a/f',
    'echo x > /tmp/file; mkdir /tmp/d; mv /tmp/file /tmp/d; rm -r /tmp/d; mktemp; mktemp -d',
    'echo x > /dev/null; echo x > /dev/stdout; echo x > /dev/stderr; echo x >> /dev/zero; : > /dev/full',
    'echo x > /dev/shm/file; rm /dev/shm/file',
    'echo x > /dev/fd/1; echo x > /proc/self/fd/1; echo $$ > /proc/self/comm',
    'ls -la / /etc /usr /root /home; find /etc -name passwd',
    ': < /etc/passwd; head -c 10 /etc/passwd; cat /proc/cpuinfo > /dev/null',
    'cd /usr && ls; pwd',
    'false', 'kill -9 $$', 'kill -0 1', 'exit 126',
])
def test_nothing_is_reported_that_was_not_refused(ward, script):
    ward.allow('rm')
    assert ward.denied(script) == []


def test_exclusive_creation_of_what_exists_is_no_refusal(plain):
    script = 'import os\ntry: os.open("/etc/passwd", os.O_CREAT | os.O_EXCL | os.O_WRONLY)\nexcept FileExistsError: print("exists")'
    result = plain.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert result['stdout'] == 'exists\n'
    assert result['attempts'][0]['denials'] == []


@pytest.mark.parametrize('name', ['comm', 'oom_score_adj', 'task/self/comm', 'mem', 'uid_map', 'attr/current'])
def test_a_process_writes_about_itself_or_the_refusal_is_known(ward, name):
    script = ('import os, sys\nname = sys.argv[1].replace("self", str(os.getpid()))\n'
              'try: os.close(os.open("/proc/self/" + name, os.O_WRONLY))\nexcept OSError as e: print(e.errno)')
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script, name)
    if name == 'mem' and result['stdout'] == '30\n':
        return  # to root all of /proc is read-only; a debugger goes by ptrace then, and has lost nothing
    assert bool(result['stdout']) == bool(result['attempts'][0]['denials']) or result['stdout'].strip() in ('2', '22'), result['stdout']


def test_mkdir_p_below_a_foreign_tree_is_refused_once_and_by_its_first_new_name(ward, outside):
    assert ward.denied(f'mkdir -p {outside}/a/b/c') == [('write', f'{outside}/a')]


def test_what_the_system_refuses_by_itself_is_told_apart(plain):
    """A plain user may not write /etc/debian_version anyway: the rule says so, and no flag is offered."""
    result = plain.result('--', 'sh', '-c', 'echo x >> /etc/debian_version')
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object']) == ('write', '/etc/debian_version')
    assert 'permissions' in denial['rule']
    assert result['error'] is None
    assert 'to allow' not in plain.sh('echo x >> /etc/debian_version').err


def test_a_link_in_the_workspace_does_not_lead_out(ward, outside):
    (ward.work / 'link').symlink_to(outside / 'file')
    (ward.work / 'dirlink').symlink_to(outside)
    assert ward.denied('echo x > link; echo x > dirlink/new; rm dirlink/file; true') == [
        ('write', str(outside / 'file')), ('write', str(outside / 'new')), ('delete', str(outside / 'file'))]
    assert untouched(outside)


def test_dots_and_relative_paths_are_resolved(ward, outside):
    assert ward.denied('echo x > ../outside/file; cd ../outside; echo x > ./new; true') == [
        ('write', str(outside / 'file')), ('write', str(outside / 'new'))]


def test_tools_of_every_day_are_refused_and_known(ward, outside):
    ward.allow('rm', 'truncate')
    expected = {
        'cp mine $O/new': ('write', 'new'), 'mv mine $O/new': ('write', 'new'), 'touch $O/new': ('write', 'new'),
        'touch $O/file': ('write', 'file'), 'rm -f $O/file': ('delete', 'file'), 'rm -rf $O/dir': ('delete', 'dir'),
        'mkdir $O/new': ('write', 'new'), 'ln -s x $O/new': ('write', 'new'), 'chmod +x $O/file': ('write', 'file'),
        'tee $O/file < /dev/null': ('write', 'file'), 'truncate -s 0 $O/file': ('write', 'file'),
        'dd if=/dev/zero of=$O/file count=1': ('write', 'file'), 'sed -i s/p/q/ $O/file': None,
        'install -m 755 mine $O/new': ('write', 'new'), 'python3 -c "open(\'$O/new\', \'w\')"': ('write', 'new'),
    }
    ward.file('mine', 'x')
    for command, what in expected.items():
        denials = ward.denied(command.replace('$O', str(outside)))
        assert denials, command
        assert all(name.startswith(str(outside)) for _, name in denials), (command, denials)
        if what:
            assert denials[0] == (what[0], str(outside / what[1])), (command, denials)
    assert untouched(outside)


def test_a_thread_of_a_program_is_seen_as_well(plain):
    script = ('import threading\ndef f(i):\n try: open(f"/usr/thread-{i}", "w")\n except OSError: pass\n'
              'ts = [threading.Thread(target=f, args=(i,)) for i in range(20)]\n[t.start() for t in ts]\n[t.join() for t in ts]')
    result = plain.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert sorted(d['object'] for d in result['attempts'][0]['denials']) == sorted(f'/usr/thread-{i}' for i in range(20))


def test_a_directory_that_holds_a_mask_keeps_its_place_and_that_is_known(ward):
    ward.file('a/deep/.env', 'TOKEN=5ecret')
    ward.file('b/file')
    ward.file('other/kept', 'x')
    result = ward.result('--deny', 'other/kept', '--', 'sh', '-c', 'mv a c; mv -T b a/deep; mv other elsewhere; mv b ok')
    assert [(denial['operation'], denial['object'], denial['rule']) for denial in result['attempts'][0]['denials']] == [
        ('write', f'{ward.work}/a', f'held: {ward.work}/a/deep/.env is masked, and keeps its place'),
        ('write', f'{ward.work}/a/deep', f'held: {ward.work}/a/deep/.env is masked, and keeps its place'),
        ('write', f'{ward.work}/other', f'held: {ward.work}/other/kept is masked, and keeps its place')], result
    assert (ward.work / 'ok').is_dir() and (ward.work / 'a').is_dir() and (ward.work / 'other').is_dir() and result['exit_code'] == 0
    done = ward.sh('mv a c')
    assert done.code == 1 and 'busy' in done.err and f'refused: write {ward.work}/a (renameat' in done.err and 'to allow: --read a/deep/.env' in done.err, done
    assert done.err.count('--read a/deep/.env') == 1
    result = ward.result('--', 'mv', 'a', 'c')
    assert result['error']['kind'] == 'sandbox_denied' and result['error']['hint'] == 'to allow it: --read a/deep/.env', result['error']
    done = ward.sh('mv other elsewhere', '--deny', 'other/kept')
    assert f'{ward.work}/other/kept is masked, and keeps its place' in done.err and 'to allow' not in done.err.split('keeps its place')[1].splitlines()[0], done
    assert ward.sh('mv a c', '--read', 'a/deep/.env').code == 0 and (ward.work / 'c' / 'deep' / '.env').exists()


def test_what_is_read_only_keeps_the_place_of_what_holds_it(ward):
    ward.file('a/vendor/file', 'x')
    result = ward.result('--read-only', 'a/vendor', '--', 'mv', 'a', 'c')
    denial, = result['attempts'][0]['denials']
    assert (denial['object'], denial['rule']) == (f'{ward.work}/a', f'held: {ward.work}/a/vendor is read-only, and keeps its place'), denial
    assert result['error']['hint'] is None and (ward.work / 'a' / 'vendor').is_dir()
