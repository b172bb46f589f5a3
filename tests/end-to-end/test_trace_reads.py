# SPDX-License-Identifier: Apache-2.0
"""--trace-reads: which mask a read met is known exactly, and a yes lets it be read where it stands. Below a masked directory calls
that change something wait for an answer in every run."""
import os
import shutil
import stat

import pytest

from support import Terminal, warnings_here
from test_asking import ASKED, asked, press
from test_asking_in_place import last_result
from test_files_in_place import finish, python
from test_serve import call, serve

MASKED = 'default: secrets are masked'


@pytest.fixture
def desk(ward):
    screen = Terminal(ward, columns=150, rows=50)
    yield screen
    screen.close(force=True)


@pytest.fixture
def secret(ward):
    return ward.file('.env', 'KEY=1\n', 0o600)


@pytest.fixture
def vault(ward):
    """A directory that is masked as a whole, with something in it."""
    path = ward.home / '.azure'
    ward.file(path / 'credentials', 'secret\n', 0o600)
    ward.file(path / 'sso' / 'token', 'token\n', 0o600)
    return path


def traced(desk, script, *arguments, flags=''):
    desk.ward.file('act.py', 'import os, sys, stat, errno, fcntl\n' + script)
    desk.sendline(f'ward run --trace-reads {flags} -- /usr/bin/python3 -I act.py ' + ' '.join(map(str, arguments)))


def reads(ward, *words):
    """The denials of one run, all of the last attempt."""
    return ward.result('--trace-reads', *words)['attempts'][-1]['denials']


def refuse_all(desk, end):
    """Says no to every question until the text comes; what was printed."""
    shown = ''
    for _ in range(40):
        if desk.expect_exact([end, 'ward asks: ']) == 0:
            shown += desk.before
            desk.ready()
            return shown
        shown += desk.before
        desk.expect_exact(ASKED)
        press(desk, 'n')
    raise AssertionError('it asks without end')


READERS = {
    'cat': ['cat', '.env'],
    'sh': ['sh', '-c', 'read x < .env'],
    'python': ['/usr/bin/python3', '-I', '-c', 'open(".env")'],
    'grep': ['grep', '-r', 'KEY', '.'],
    'link': ['sh', '-c', 'ln -s .env way; cat way'],
    'own root': ['sh', '-c', 'cat /proc/self/root$PWD/.env'],
    'directory': ['/usr/bin/python3', '-I', '-c', 'import os; os.open(".env", os.O_RDONLY, dir_fd=os.open(".", os.O_RDONLY))'],
    'node': ['node', '-e', 'require("fs").readFileSync(".env")'],
}


@pytest.mark.parametrize('reader', READERS)
def test_the_denial_is_exact(ward, secret, reader):
    command = READERS[reader]
    if not shutil.which(command[0]):
        pytest.skip(f'there is no {command[0]}')
    ward.file('plain', 'KEY=2\n')
    denial, = reads(ward, '--', *command)
    assert (denial['operation'], denial['object'], denial['rule'], denial['answer']) == ('read', str(secret), MASKED, 'none')
    assert denial['syscall'] in ('open', 'openat') and denial['program'] and denial['count'] == 1


def test_the_hint_names_the_flag_and_the_flag_opens_it(ward, secret):
    done = ward('run', '--trace-reads', '--', 'cat', '.env')
    assert done.code == 1 and f'refused: read {secret} (openat by cat); to allow: --read .env' in done.err, done
    assert 'is masked' not in done.err
    done = ward('run', '--trace-reads', '--read', '.env', '--', 'cat', '.env')
    assert done.code == 0 and done.out == 'KEY=1\n' and not done.err, done


def test_without_the_flag_it_is_not_known(ward, secret):
    assert ward.denials('--', 'cat', '.env') == []


def test_nothing_else_is_listed(ward, secret):
    script = '''import os
for i in range(1000):
    with open(f"f{i}", "w") as file: file.write(str(i))
for i in range(1000):
    with open(f"f{i}") as file: assert file.read() == str(i)
for name in ("/etc/passwd", "/proc/self/maps", "/dev/null", "/dev/fd/0", "nothing", "no/such", "/root/x/y"):
    try: open(name).close()
    except OSError: pass
os.listdir("."); os.listdir("/usr/bin"); os.stat(".env"); os.close(os.open(".env", os.O_PATH))
try: os.open("plain", os.O_RDONLY | os.O_DIRECTORY)
except OSError: pass
print("done")'''
    result = ward.result('--trace-reads', '--', '/usr/bin/python3', '-I', '-c', script)
    assert result['stdout'] == 'done\n', result
    assert result['attempts'][0]['denials'] == [] and result['sandbox_warnings'] == warnings_here()


def test_policy_and_request_say_it_too(ward, secret):
    answer, = serve(ward, call('run', {'argv': ['cat', '.env'], 'trace_reads': True}))
    assert [d['object'] for d in answer['result']['attempts'][0]['denials']] == [str(secret)]
    ward.policy('sandbox: {trace_reads: true}\n')
    assert ward.denials('--', 'cat', '.env') == [('read', str(secret))]
    assert 'trace_reads: true' in ward('policy', 'show').out
    assert '--trace-reads' in ward('policy', 'show', '--flags').out


def test_a_masked_directory_and_what_lies_in_it(ward, vault):
    script = f'ls {vault}; cat {vault}/credentials {vault}/none {vault}/sso/token; dd if={vault}/sso; cat {vault}/../.azure/credentials'
    result = ward.result('--trace-reads', '--', 'sh', '-c', script)
    found = [(d['operation'], d['object'], d['count']) for d in result['attempts'][0]['denials']]
    assert found == [('read', str(vault), 1), ('read', f'{vault}/credentials', 2), ('read', f'{vault}/sso/token', 1),
                     ('read', f'{vault}/sso', 1)], found
    # Whatever lies there: the command is told the same.
    assert result['stderr'].count('Permission denied') == 6 and 'No such file' not in result['stderr'], result['stderr']


def test_a_socket_below_it_is_refused_and_known(ward, vault):
    script = f'import os, socket; os.chdir("{ward.home}"); socket.socket(socket.AF_UNIX).bind(".azure/s")'
    assert ward.denials('--', '/usr/bin/python3', '-I', '-c', script) == [('write', f'{vault}/s')]


def test_a_link_to_it(ward, vault):
    ward.shell(f'ln -s {vault}/credentials direct; ln -s {vault} through; ln -s direct twice')
    for name in 'direct', 'through/credentials', 'twice':
        assert [d['object'] for d in reads(ward, '--', 'cat', name)] == [f'{vault}/credentials']


def test_deny_rules(ward):
    kept = ward.file('kept', 'x')
    denial, = reads(ward, '--deny', 'kept', '--', 'cat', 'kept')
    assert (denial['object'], denial['rule']) == (str(kept), 'deny: kept')


def test_what_shows_in_part(ward):
    ward.file('closed/open', 'shown')
    hidden = ward.file('closed/shut', 'hidden')
    result = ward.result('--trace-reads', '--deny', 'closed', '--read', 'closed/open', '--', 'sh', '-c',
                         'cat closed/open; ls closed; cat closed/shut; cat closed/none')
    denial, = result['attempts'][0]['denials']
    assert denial['object'] == str(hidden) and result['stdout'] == 'shownopen\n'
    assert result['stderr'].count('No such file') == 2


def test_a_yes_lets_it_be_read(desk, secret):
    traced(desk, '''fd = os.open(".env", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
st = os.fstat(fd)
assert stat.S_IMODE(st.st_mode) == 0o600 and st.st_size == 6 and st.st_uid == os.getuid() and stat.S_ISREG(st.st_mode)
flags = fcntl.fcntl(fd, fcntl.F_GETFL)
assert flags & os.O_ACCMODE == os.O_RDONLY and flags & os.O_NONBLOCK and fcntl.fcntl(fd, fcntl.F_GETFD) == fcntl.FD_CLOEXEC
assert os.read(fd, 99) == b"KEY=1\\n" and os.read(fd, 99) == b""
for i in range(20): assert open(".env").read() == "KEY=1\\n"
try: os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY); print("opened")
except OSError as e: assert e.errno == errno.ENOTDIR
print("went" + " on")''', secret)
    asked(desk, f'python3 wants to read {secret} (a file of 6 bytes)', f'read {secret}', 'nothing was read yet')
    press(desk, 'y')
    desk.expect_exact('went on')
    result = finish(desk)
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['answer']) == ('read', str(secret), 'granted')


def test_programs_read_it_after_a_yes(desk, secret):
    desk.sendline("ward run --trace-reads -- sh -c 'cat .env; . ./.env; echo is $KEY; grep -c KEY .env; cat .env > copy; wc -l < .env'")
    asked(desk, f'to read {secret}')
    press(desk, 'y')
    desk.expect_exact('KEY=1\r\nis 1\r\n1\r\n1\r\n')
    finish(desk)
    assert (desk.ward.work / 'copy').read_text() == 'KEY=1\n'


def test_what_changes_is_seen(desk, secret):
    traced(desk, '''print("was", open(".env").read().strip(), flush=True)
sys.stdin.readline()
print("is", open(".env").read().strip())''')
    asked(desk, f'to read {secret}')
    press(desk, 'y')
    desk.expect_exact('was KEY=1')
    secret.write_text('KEY=2\n')
    desk.sendline('')
    desk.expect_exact('is KEY=2')
    finish(desk)


def test_a_no_is_an_error_at_once(desk, secret):
    traced(desk, '''for i in range(2):
    try: open(".env")
    except OSError as e: print("got", errno.errorcode[e.errno])''')
    asked(desk, f'to read {secret}')
    press(desk, 'n')
    desk.expect_exact('got EACCES')
    desk.expect_exact('got EACCES')
    denial, = finish(desk)['attempts'][0]['denials']
    assert denial['answer'] == 'denied' and denial['count'] == 2


def test_to_read_is_not_to_write(desk, secret):
    traced(desk, '''fd = os.open(".env", os.O_RDONLY)
for name in (".env", f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
        try: os.write(os.open(name, flags), b"x"); print("wrote", name)
        except OSError: pass
for change in (lambda: os.ftruncate(fd, 0), lambda: os.fchmod(fd, 0o666), lambda: os.truncate(f"/proc/self/fd/{fd}", 0),
               lambda: os.utime(fd, (1, 1)), lambda: os.unlink(".env")):
    try: change()
    except OSError: pass
print("went" + " on")''')
    asked(desk, f'to read {secret}')
    press(desk, 'y')
    refuse_all(desk, 'went on')
    assert secret.read_text() == 'KEY=1\n' and stat.S_IMODE(secret.stat().st_mode) == 0o600 and secret.stat().st_mtime > 1


def test_nobody_is_asked_for_what_is_denied(desk):
    desk.ward.file('kept', 'x')
    desk.sendline('ward run --trace-reads --deny kept -- cat kept')
    desk.ready()
    assert 'ward asks' not in desk.before and 'Permission denied' in desk.before


def test_nobody_is_asked_for_what_would_fail_anyway(plain):
    screen = Terminal(plain, columns=150, rows=50)
    plain.file('.env', 'x', 0)
    screen.sendline('ward run --trace-reads -- cat .env')
    screen.ready()
    assert 'ward asks' not in screen.before and 'Permission denied' in screen.before
    assert last_result(plain)['attempts'][0]['denials'][0]['rule'] == "the system's own file permissions"
    screen.close(force=True)


def test_a_directory_is_given_by_starting_again(desk, vault):
    desk.sendline(f'ward run --trace-reads -- ls {vault}')
    asked(desk, f'read {vault}')
    press(desk, 'y')
    desk.expect_exact('credentials')
    result = finish(desk)
    assert len(result['attempts']) == 2 and result['attempts'][0]['denials'][0]['answer'] == 'granted'


def test_a_second_attempt_is_traced(desk, secret):
    """What it meets there is asked about exactly."""
    outside = desk.ward.place / 'outside'
    outside.mkdir()
    desk.ward.person.own(outside)
    desk.sendline(f"ward run -- sh -c 'cat .env > copy; mknod {outside}/pipe p'")
    asked(desk, 'mknod')
    press(desk, 'y')
    asked(desk, f'to read {secret}')
    press(desk, 'y')
    desk.ready()
    assert (desk.ward.work / 'copy').read_text() == 'KEY=1\n'


BELOW = {
    'read': ('print("read", open(p + "/credentials").read())', 'to read {v}/credentials', lambda v: True),
    'deeper': ('print("read", open(p + "/sso/token").read())', 'to read {v}/sso/token', lambda v: True),
    'create': ('open(p + "/new", "x").write("new")', 'to write {v}/new (a new file)', lambda v: (v / 'new').read_text() == 'new'),
    'overwrite': ('open(p + "/credentials", "w").write("new")', 'to write {v}/credentials (a file of 7 bytes)',
                  lambda v: (v / 'credentials').read_text() == 'new'),
    'append': ('open(p + "/credentials", "a").write("new")', 'to write {v}/credentials', lambda v: (v / 'credentials').read_text() == 'secret\nnew'),
    'truncate': ('os.truncate(p + "/credentials", 2)', 'to write {v}/credentials', lambda v: (v / 'credentials').read_text() == 'se'),
    'chmod': ('os.chmod(p + "/credentials", 0o640)', 'to write {v}/credentials',
              lambda v: stat.S_IMODE((v / 'credentials').stat().st_mode) == 0o640),
    'unlink': ('os.unlink(p + "/credentials")', 'to delete {v}/credentials', lambda v: not (v / 'credentials').exists()),
    'mkdir': ('os.makedirs(p + "/new/a"); open(p + "/new/a/b", "w").write("deep")', 'to write {v}/new (a new directory and all in it)',
              lambda v: (v / 'new/a/b').read_text() == 'deep'),
    'rmdir': ('os.unlink(p + "/sso/token"); os.rmdir(p + "/sso")', 'to delete {v}/sso/token', lambda v: not (v / 'sso').exists()),
    'symlink': ('os.symlink("x", p + "/new")', 'to write {v}/new', lambda v: os.readlink(v / 'new') == 'x'),
    'link': ('open("mine", "w").write("mine"); os.link("mine", p + "/new")', 'to write {v}/new', lambda v: (v / 'new').read_text() == 'mine'),
    'rename': ('os.rename(p + "/credentials", p + "/new")', 'to write {v}/credentials', lambda v: (v / 'new').read_text() == 'secret\n'),
    'rename-in': ('open("mine", "w").write("mine"); os.rename("mine", p + "/new")', 'to write {v}/new', lambda v: (v / 'new').read_text() == 'mine'),
    'rename-out': ('os.rename(p + "/credentials", "mine")', 'to write {v}/credentials', lambda v: not (v / 'credentials').exists()),
    'rename-tree': ('os.rename(p + "/sso", p + "/new")', 'to write {v}/sso (the directory and all in it)',
                    lambda v: (v / 'new/token').read_text() == 'token\n'),
}
# Further questions of the same call.
SECOND = {'rename': 'to write {v}/new', 'rename-tree': 'to write {v}/new', 'rmdir': 'to delete {v}/sso'}


@pytest.mark.parametrize('what', BELOW)
def test_below_a_masked_directory(desk, vault, what):
    script, question, done = BELOW[what]
    traced(desk, f'p = sys.argv[1]; {script}; print("went" + " on")', vault)
    asked(desk, question.format(v=vault))
    press(desk, 'y')
    if what in SECOND:
        asked(desk, SECOND[what].format(v=vault))
        press(desk, 'y')
    desk.expect_exact('went on')
    assert len(finish(desk)['attempts']) == 1
    assert done(vault)
    if what not in ('read', 'deeper'):
        for path in vault.rglob('*'):
            assert path.lstat().st_uid == desk.ward.person.uid


def test_a_directory_is_moved_away_only_as_a_whole(desk, vault):
    """All in it could be read where it comes to lie: a yes to the directory alone is none to that."""
    traced(desk, '''try: os.rename(sys.argv[1] + "/sso", "mine"); print("moved")
except OSError as e: print("got", errno.errorcode[e.errno])''', vault)
    asked(desk, f'write {vault}/sso/**')
    press(desk, 'o')
    asked(desk, f'write {vault}/sso\r\n')
    press(desk, 'y')
    desk.expect_exact('got EACCES')
    finish(desk)
    assert (vault / 'sso/token').exists() and not (desk.ward.work / 'mine').exists()


def test_what_a_directory_does_not_show(desk, vault):
    """Something in the masked directory is open, so that it shows that and nothing else."""
    traced(desk, '''p = sys.argv[1]
assert os.listdir(p) == ["sso"] and open(p + "/sso/token").read() == "token\\n"
print("read", open(p + "/credentials").read())
open(p + "/credentials", "a").write("more")
open(p + "/new", "w").write("new"); os.unlink(p + "/new")
try: open(p + "/none")
except OSError as e: print("got", errno.errorcode[e.errno])''', vault, flags=f'--read {vault}/sso')
    for question in f'to read {vault}/credentials', f'to write {vault}/credentials', f'to write {vault}/new':
        asked(desk, question)
        press(desk, 'y')
    desk.expect_exact('got ENOENT')
    finish(desk)
    assert (vault / 'credentials').read_text() == 'secret\nmore' and not (vault / 'new').exists()


def test_changes_below_wait_without_tracing_too(desk, vault):
    python(desk, 'open(sys.argv[1] + "/new", "w").write("new"); print("went" + " on")', vault)
    asked(desk, f'to write {vault}/new')
    press(desk, 'y')
    desk.expect_exact('went on')
    finish(desk)
    assert (vault / 'new').read_text() == 'new'


def test_a_no_below_tells_nothing(desk, vault):
    """Neither does what nobody is asked about: each answer is the mask's."""
    python(desk, '''p = sys.argv[1]
def t(f, *a):
    try: f(*a); print("did", a)
    except OSError as e: print(errno.errorcode[e.errno], end=" ")
for name in ("credentials", "none", "sso", "none/x", "credentials/x"):
    t(os.unlink, p + "/" + name); t(os.rmdir, p + "/" + name); t(os.open, p + "/" + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    t(os.mkdir, p + "/" + name); t(os.chmod, p + "/" + name, 0o600); t(os.rename, p + "/" + name, "x"); t(os.open, p + "/" + name, os.O_RDWR)
    t(os.link, p + "/" + name, "y"); t(os.symlink, "z", p + "/" + name)
print("end" + "ed")''', vault)
    shown = refuse_all(desk, 'ended')
    assert 'did' not in shown
    for name in 'ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY':
        assert name not in shown, shown
    assert sorted(os.listdir(vault)) == ['credentials', 'sso']


def test_links_below_are_not_followed(desk, vault):
    (vault / 'away').symlink_to(desk.ward.home)
    (vault / 'other').symlink_to('credentials')
    desk.ward.person.own(vault / 'away', vault / 'other')
    desk.ward.file(desk.ward.home / 'plain', 'plain')
    traced(desk, '''p = sys.argv[1]
for name in ("other", "away/plain"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_CREAT):
        try: os.open(p + "/" + name, flags); print("opened", name)
        except OSError as e: print(errno.errorcode[e.errno], end=" ")
print("end" + "ed")''', vault)
    desk.expect_exact('ended')
    assert 'ward asks' not in desk.before and desk.before.count('EACCES') == 6, desk.before
    desk.ready()


def test_one_yes_is_for_one_name(desk, vault):
    traced(desk, '''p = sys.argv[1]
print("read", open(p + "/credentials").read())
try: print("read", open(p + "/sso/token").read())
except OSError as e: print("got", errno.errorcode[e.errno])
try: open(p + "/credentials", "w")
except OSError as e: print("got", errno.errorcode[e.errno])''', vault)
    asked(desk, f'to read {vault}/credentials')
    press(desk, 'y')
    desk.expect_exact('read secret')
    asked(desk, f'to read {vault}/sso/token')
    press(desk, 'n')
    desk.expect_exact('got EACCES')
    asked(desk, f'to write {vault}/credentials')
    press(desk, 'n')
    desk.expect_exact('got EACCES')
    finish(desk)
    assert (vault / 'credentials').read_text() == 'secret\n'


def test_what_is_too_large_is_given_by_starting_again(desk, secret):
    with secret.open('wb') as file:
        file.truncate((16 << 20) + 1)
    desk.sendline('ward run --trace-reads -- wc -c .env')
    asked(desk, f'read {secret}', 'retry')
    press(desk, 'y')
    desk.expect_exact('16777217 .env')
    assert len(finish(desk)['attempts']) == 2
