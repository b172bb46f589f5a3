# SPDX-License-Identifier: Apache-2.0
"""Files outside the permissions: the call waits for the answer, and on a yes it is done as if it had always been allowed."""
import os
import signal
import stat

import pytest

from support import Terminal, wait_until
from test_asking import asked, press
from test_asking_in_place import last_result


@pytest.fixture
def desk(ward):
    screen = Terminal(ward, columns=150, rows=50)
    yield screen
    screen.close(force=True)


@pytest.fixture
def outside(ward):
    """A directory of the caller's own that the command may not write."""
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def python(desk, script, *arguments):
    desk.ward.file('act.py', 'import os, sys, stat, socket, errno\n' + script)
    desk.sendline('ward run -- /usr/bin/python3 -I act.py ' + ' '.join(map(str, arguments)))


def finish(desk, code=0):
    desk.ready()
    assert desk.last_code() == code, desk.before
    return last_result(desk.ward)


def kept(desk, path, content, mode=None, owner=True):
    assert path.read_text() == content
    if mode is not None:
        assert stat.S_IMODE(path.stat().st_mode) == mode
    if owner:
        assert path.stat().st_uid == desk.ward.person.uid


def test_a_new_file(desk, outside):
    target = outside / 'new'
    python(desk, '''os.umask(0o027)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
import fcntl
flags = fcntl.fcntl(fd, fcntl.F_GETFL)
assert flags & os.O_APPEND and not flags & os.O_NONBLOCK and flags & os.O_ACCMODE == os.O_WRONLY, hex(flags)
assert fcntl.fcntl(fd, fcntl.F_GETFD) == fcntl.FD_CLOEXEC and os.lseek(fd, 0, 1) == 0
os.write(fd, b"hello")
print("went" + " on")''', target)
    asked(desk, f'python3 wants to write {target} (a new file)', f'write {target}', 'goes on where it stands')
    assert not target.exists()
    press(desk, 'y')
    desk.expect_exact('went on')
    result = finish(desk)
    kept(desk, target, 'hello', 0o640)
    assert len(result['attempts']) == 1
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['answer']) == ('write', str(target), 'granted')


def test_further_uses_ask_no_more(desk, outside):
    target = outside / 'log'
    python(desk, '''for i in range(3):
    with open(sys.argv[1], "a") as file: file.write("line\\n")
os.chmod(sys.argv[1], 0o600); os.utime(sys.argv[1], (1000, 2000)); os.truncate(sys.argv[1], 10)
with open(sys.argv[1], "r+") as file: file.write("L")
os.unlink(sys.argv[1])
print("went" + " on", os.path.exists(sys.argv[1]))''', target)
    asked(desk, f'to write {target}')
    press(desk, 'y')
    desk.expect_exact('went on False')
    finish(desk)
    assert not target.exists()


def test_a_no_is_an_error_at_once(desk, outside):
    target = outside / 'new'
    python(desk, '''for i in range(2):
    try: open(sys.argv[1], "w")
    except OSError as e: print("got", errno.errorcode[e.errno])
''', target)
    asked(desk, f'to write {target}')
    press(desk, 'n')
    desk.expect_exact('got EACCES')
    desk.expect_exact('got EACCES')
    result = finish(desk)
    denial, = result['attempts'][0]['denials']
    assert denial['answer'] == 'denied' and denial['count'] == 2 and not target.exists()


CHANGES = {
    'chmod': ('os.chmod(p, 0o604)', lambda p: stat.S_IMODE(p.stat().st_mode) == 0o604),
    'utime': ('os.utime(p, (1000, 2000))', lambda p: p.stat().st_mtime == 2000),
    'truncate': ('os.truncate(p, 2)', lambda p: p.read_text() == 'ol'),
    'overwrite': ('open(p, "w").write("new")', lambda p: p.read_text() == 'new'),
    'append': ('open(p, "a").write("new")', lambda p: p.read_text() == 'oldnew'),
    'both': ('f = open(p, "r+"); f.seek(1); f.write("X"); f.close()', lambda p: p.read_text() == 'oXd'),
    'link': ('os.symlink(p, "way"); open("way", "w").write("by link")', lambda p: p.read_text() == 'by link'),
    'directory': ('fd = os.open(os.path.dirname(p), os.O_RDONLY); open(os.open(os.path.basename(p), os.O_WRONLY, dir_fd=fd), "w").write("DIR")',
                  lambda p: p.read_text() == 'DIR'),
    'working-directory': ('os.chdir(os.path.dirname(p)); open(os.path.basename(p), "w").write("cwd")', lambda p: p.read_text() == 'cwd'),
    'own-root': ('open("/proc/self/root" + p, "w").write("root")', lambda p: p.read_text() == 'root'),
    'remove': ('os.unlink(p)', lambda p: not p.exists()),
}


@pytest.mark.parametrize('change', CHANGES)
def test_change_of_a_file(desk, outside, change):
    target = outside / 'file'
    target.write_text('old')
    desk.ward.person.own(target)
    script, done = CHANGES[change]
    python(desk, f'p = sys.argv[1]; {script}; print("went" + " on")', target)
    asked(desk, f'{target} (a file of 3 bytes)', 'what is there now is lost, ward keeps no copy')
    assert target.read_text() == 'old'
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert done(target)


def test_a_directory_and_what_is_made_in_it(desk, outside):
    target = outside / 'made'
    python(desk, '''p = sys.argv[1]
os.makedirs(p + "/a/b"); open(p + "/a/b/c", "w").write("deep"); os.symlink("c", p + "/a/b/s"); os.link(p + "/a/b/c", p + "/d")
os.rename(p + "/a/b/c", p + "/e")
os.chown(p + "/e", os.getuid(), os.getgid()); os.setxattr(p + "/e", "user.kind", b"test"); os.mkfifo(p + "/pipe"); os.chmod(p, 0o2755)
s = socket.socket(socket.AF_UNIX); s.bind(p + "/sock")
fd = os.open(p, os.O_TMPFILE | os.O_RDWR, 0o600); os.write(fd, b"tmp"); os.link(f"/proc/self/fd/{fd}", p + "/t", src_dir_fd=0, follow_symlinks=True)
print("went" + " on")''', target)
    asked(desk, f'to write {target} (a new directory and all in it)', f'write {target}/**')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (target / 'e').read_text() == 'deep' and (target / 'd').samefile(target / 'e')
    assert os.readlink(target / 'a/b/s') == 'c' and (target / 't').read_text() == 'tmp'
    assert stat.S_ISSOCK((target / 'sock').stat().st_mode) and stat.S_ISFIFO((target / 'pipe').stat().st_mode)
    assert os.getxattr(target / 'e', 'user.kind') == b'test' and target.stat().st_mode & stat.S_ISGID


def test_rename_asks_for_both_sides(desk, outside):
    (outside / 'one').write_text('1')
    desk.ward.person.own(outside / 'one')
    python(desk, 'os.rename(sys.argv[1] + "/one", sys.argv[1] + "/two"); print("went" + " on")', outside)
    asked(desk, f'to delete {outside}/one')
    press(desk, 'y')
    asked(desk, f'to write {outside}/two')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (outside / 'two').read_text() == '1' and not (outside / 'one').exists()


def test_rename_out_of_the_workspace_and_into_it(desk, outside):
    desk.ward.file('mine', 'mine')
    (outside / 'theirs').write_text('theirs')
    desk.ward.person.own(outside / 'theirs')
    python(desk, 'os.rename("mine", sys.argv[1] + "/mine"); os.rename(sys.argv[1] + "/theirs", "theirs"); print("went" + " on")', outside)
    asked(desk, f'to write {outside}/mine')
    press(desk, 'y')
    asked(desk, f'to delete {outside}/theirs')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (outside / 'mine').read_text() == 'mine' and (desk.ward.work / 'theirs').read_text() == 'theirs'


def test_a_masked_file_of_the_workspace(desk):
    secret = desk.ward.file('.env', 'KEY=1\n', 0o600)
    python(desk, 'open(".env", "a").write("MORE=2\\n"); print("went" + " on")')
    asked(desk, f'to write {secret}')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert secret.read_text() == 'KEY=1\nMORE=2\n'


def test_a_hook(desk):
    desk.ward.shell('git init -q .')
    hook = desk.ward.work / '.git/hooks/pre-commit'
    python(desk, 'p = ".git/hooks/pre-commit"; open(p, "w").write("#!/bin/sh\\n"); os.chmod(p, 0o755); print("went" + " on")')
    asked(desk, f'to write {hook}', 'runs programs outside the sandbox')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    kept(desk, hook, '#!/bin/sh\n', 0o755)


def test_nobody_is_asked_for_what_nobody_can_grant(desk):
    state = desk.ward.state / 'ward'
    python(desk, '''for p in sys.argv[1:]:
    try: open(p, "w"); print("opened", p)
    except OSError as e: print("got", errno.errorcode[e.errno])
''', state / 'audit.log', state / 'x', '/proc/sys/kernel/core_pattern', '/sys/x', '/dev/sda')
    desk.expect_exact('got')
    desk.ready()
    assert 'ward asks' not in desk.before
    assert desk.last_code() == 0


def test_nobody_is_asked_for_what_would_fail_anyway(plain):
    screen = Terminal(plain, columns=150, rows=50)
    python(screen, '''for p in sys.argv[1:]:
    try: open(p, "w"); print("opened", p)
    except OSError as e: print("got", errno.errorcode[e.errno])
''', '/etc/motd-of-nobody', '/etc/passwd')
    screen.expect_exact('got EACCES')
    screen.ready()
    assert 'ward asks' not in screen.before
    screen.close(force=True)


def test_a_directory_is_moved_with_a_yes_to_all_it_holds(desk, outside):
    (outside / 'one').mkdir()
    (outside / 'one' / 'file').write_text('1')
    desk.ward.person.own(outside / 'one', outside / 'one' / 'file')
    python(desk, 'os.chmod(sys.argv[1] + "/one", 0o750); os.rename(sys.argv[1] + "/one", sys.argv[1] + "/two"); print("went" + " on")', outside)
    asked(desk, f'to write {outside}/one (a directory)')
    press(desk, 'y')
    asked(desk, f'to delete {outside}/one (the directory and all in it)')
    press(desk, 'y')
    asked(desk, f'to write {outside}/two')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (outside / 'two' / 'file').read_text() == '1' and not (outside / 'one').exists()


def test_a_directory_is_copied_between_the_workspace_and_what_was_granted(desk, outside):
    """As between two mounts: mv does it by itself."""
    desk.ward.file('mine/deep/file', 'mine')
    target = outside / 'made'
    desk.sendline(f'ward run -- sh -c "mkdir {target} && mv mine {target}/ && mv {target}/mine back && mkdir {target}/a && mv {target}/a {target}/b && echo went\' on\'"')
    asked(desk, f'to write {target} (a new directory and all in it)')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (desk.ward.work / 'back/deep/file').read_text() == 'mine' and not (desk.ward.work / 'mine').exists()
    assert [path.name for path in target.iterdir()] == ['b']


def test_nobody_is_asked_for_a_name_by_which_it_could_be_written_for_ever(desk, outside):
    target = outside / 'file'
    python(desk, '''open(sys.argv[1], "w").write("x")
try: os.link(sys.argv[1], "name")
except OSError as e: print("got", errno.errorcode[e.errno])''', target)
    asked(desk, f'to write {target}')
    press(desk, 'y')
    desk.expect_exact('got EXDEV')
    finish(desk)


def test_a_second_name_outside_is_a_way_to_write_and_asked_for_as_such(desk, outside):
    (outside / 'one').write_text('1')
    desk.ward.person.own(outside / 'one')
    python(desk, 'os.link(sys.argv[1] + "/one", sys.argv[1] + "/two"); print("went" + " on")', outside)
    asked(desk, f'to write {outside}/one', 'a second name is a way to write')
    press(desk, 'y')
    asked(desk, f'to write {outside}/two')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert os.path.samefile(outside / 'one', outside / 'two')


FAIL_ANYWAY = {
    'unlink of a directory': ('os.unlink(p + "/full")', 'EISDIR'),
    'unlink with a slash': ('os.unlink(p + "/file/")', 'ENOTDIR'),
    'rmdir of a file': ('os.rmdir(p + "/file")', 'ENOTDIR'),
    'rmdir of what is not empty': ('os.rmdir(p + "/full")', 'ENOTEMPTY'),
    'directory over a file': ('os.rename(p + "/empty", p + "/file")', 'ENOTDIR'),
    'file over a directory': ('os.rename(p + "/file", p + "/empty")', 'EISDIR'),
    'directory over one that is not empty': ('os.rename(p + "/empty", p + "/full")', 'ENOTEMPTY'),
    'directory into itself': ('os.rename(p + "/full", p + "/full/x")', 'EINVAL'),
    'over what lies above': ('os.rename(p + "/full/x", p + "/full")', 'ENOTEMPTY'),
    'rename with a slash': ('os.rename(p + "/file/", p + "/new")', 'ENOTDIR'),
    'link over what is there': ('os.link(p + "/file", p + "/empty")', 'EEXIST'),
    'link to a directory': ('os.link(p + "/empty", p + "/new")', 'EPERM'),
    'no replacing': ('renameat2(p + "/file", p + "/empty", 1)', 'EEXIST'),
    'an exchange, which is not to be had': ('renameat2(p + "/file", p + "/empty", 2)', 'EINVAL'),
}


@pytest.mark.parametrize('what', FAIL_ANYWAY)
def test_what_fails_all_the_same_is_neither_asked_for_nor_a_refusal(desk, outside, what):
    """So it is without ward (but for the exchange), and nobody is to think about it."""
    act, error = FAIL_ANYWAY[what]
    for path in ('full', 'empty', 'full/x'):
        (outside / path).mkdir()
        desk.ward.person.own(outside / path)
    (outside / 'file').write_text('')
    desk.ward.person.own(outside / 'file')
    python(desk, f'''import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def renameat2(one, two, flags):
    if libc.renameat2(-100, one.encode(), -100, two.encode(), flags): raise OSError(ctypes.get_errno(), "")
p = sys.argv[1]
try: {act}
except OSError as e: print("got", errno.errorcode[e.errno])
''', outside)
    desk.expect_exact(f'got {error}')
    desk.ready()
    assert 'ward asks' not in desk.before
    assert last_result(desk.ward)['attempts'][0]['denials'] == []


MAKE = '''
import os
open('begun', 'w').close()
for i in range(2000):
    fd = os.open(f'file-{i}', os.O_WRONLY | os.O_CREAT, 0o644)
    assert fd > 2, fd
    os.write(fd, b'x')
    os.close(fd)
print('made')
'''


def test_a_supervisor_that_is_interrupted_hands_over_what_it_opened(plain):
    """Signals come to ward while it answers; a program must not take its standard input for the file."""
    with plain.popen('run', '--', '/usr/bin/python3', '-I', '-c', MAKE) as process:
        assert wait_until(lambda: (plain.work / 'begun').exists() or process.poll() is not None)
        for _ in range(2000000):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGALRM)
        done = plain.finish(process)
    assert (done.code, done.out) == (0, 'made\n'), done
