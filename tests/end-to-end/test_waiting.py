# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for an answer, and what happens to them meanwhile: crowds, signals, forks, and the end of everyone involved."""
import contextlib
import errno
import json
import os
import pathlib
import re
import signal
import time

import pytest

from support import PATIENCE, Terminal, Tmux, all_gone, marker, processes, wait_until
from test_asking import asked, kinds, press
from test_asking_in_place import last_result
from test_files_in_place import desk, finish, outside, python

CROWD = 300
OPEN_ALL = f'''import threading
ready, done = threading.Barrier({CROWD}), []
def act(i):
    ready.wait()
    try:
        fd = os.open(name(i), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644); os.write(fd, b"x"); os.close(fd); done.append("opened")
    except OSError as e: done.append(errno.errorcode[e.errno])
threads = [threading.Thread(target=act, args=(i,)) for i in range({CROWD})]
for t in threads: t.start()
for t in threads: t.join()
print("came" + " back", done.count("opened"), done.count("EACCES"), len(done))
'''
QUESTION = re.compile(r'ward asks: .*?help\r\n> |READY> ', re.S)


def came_back(screen):
    screen.expect(r'came back (\d+) (\d+) (\d+)')
    return tuple(map(int, screen.match.groups()))


def test_a_crowd_that_wants_the_same_gets_one_answer(desk, outside):
    target = outside / 'all'
    python(desk, 'name = lambda i: sys.argv[1]\n' + OPEN_ALL, target)
    asked(desk, f'to write {target}')
    assert not target.exists()
    press(desk, 'y')
    assert came_back(desk) == (CROWD, 0, CROWD)
    result = finish(desk)
    assert target.read_text() == 'x' * CROWD and kinds(desk.ward).count('ask') == 1
    denial, = result['attempts'][0]['denials']
    assert denial['answer'] == 'granted'


def test_a_no_is_for_the_whole_crowd(desk, outside):
    target = outside / 'all'
    python(desk, 'name = lambda i: sys.argv[1]\n' + OPEN_ALL, target)
    asked(desk, f'to write {target}')
    press(desk, 'n')
    assert came_back(desk) == (0, CROWD, CROWD)
    denial, = finish(desk)['attempts'][0]['denials']
    assert denial['answer'] == 'denied' and denial['count'] == CROWD
    assert not target.exists() and kinds(desk.ward).count('ask') == 1


def test_a_crowd_that_wants_everything_is_asked_about_in_lists_and_then_refused(plain):
    """Nobody can be worn down, and nobody hangs."""
    screen = Terminal(plain, columns=150, rows=50)
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    python(screen, 'name = lambda i: sys.argv[1] + f"/f{i}"\n' + OPEN_ALL + 'sys.exit(1)', outside)
    questions = given = 0
    while True:
        screen.expect(QUESTION)
        if screen.after == screen.PROMPT:
            break
        several = re.search(r'wants (\d+) things at once', screen.after)
        assert several or screen.after.count('wants to write') == 1
        questions += 1
        assert questions <= 64 and len(list(outside.iterdir())) == given
        given += int(several.group(1)) if several else 1
        screen.listens = False
        press(screen, 'y')
    opened, refused, all_of_them = map(int, re.search(r'came back (\d+) (\d+) (\d+)', screen.before).groups())
    assert all_of_them == CROWD and opened + refused == CROWD and opened == given == len(list(outside.iterdir()))
    assert 10 <= opened <= 64 and re.search('the rest is refused|all else is refused', screen.before)
    assert kinds(plain).count('ask') == questions  # nor is the rest offered by running it again
    screen.close(force=True)


SIGNALS = {
    'alarms': 'signal.signal(signal.SIGALRM, handle); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)',
    'alarms-restart': 'signal.signal(signal.SIGALRM, handle); signal.siginterrupt(signal.SIGALRM, False); '
                      'signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)',
    'urgent': '''signal.signal(signal.SIGURG, handle); signal.siginterrupt(signal.SIGURG, False)
import threading
main = threading.main_thread().ident
def storm():
    while storming: signal.pthread_kill(main, signal.SIGURG); time.sleep(0.0005)
storming = True
threading.Thread(target=storm, daemon=True).start()''',
}


@pytest.mark.parametrize('kind', SIGNALS)
def test_signals_do_not_disturb_a_call_that_waits(desk, outside, kind):
    """Go preempts by SIGURG, profilers by alarms. The call is neither interrupted nor done twice."""
    target = outside / 'new'
    python(desk, f'''import signal, time
count = 0
def handle(*_):
    global count
    count += 1
{SIGNALS[kind]}
def again(act, *how):  # before the supervisor has heard of it a call may be interrupted where the handler says so; it was not done then
    while True:
        try: return act(*how)
        except InterruptedError: pass
fd = again(os.open, sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL); os.write(fd, b"once")
again(os.mkdir, sys.argv[1] + ".d"); again(os.rename, sys.argv[1], sys.argv[1] + ".d/moved")
storming = False; signal.setitimer(signal.ITIMER_REAL, 0)
print("came" + " back", count > 0)''', target)
    asked(desk, f'to write {target} ')
    time.sleep(1)
    press(desk, 'y')
    asked(desk, f'to write {target}.d')
    press(desk, 'y')
    desk.expect_exact('came back True')
    finish(desk)
    assert (outside / 'new.d/moved').read_text() == 'once' and os.listdir(outside) == ['new.d']
    assert kinds(desk.ward).count('ask') == 2


STORM = '''import signal, time, subprocess
where, seconds = sys.argv[1], float(sys.argv[2])
os.mkdir(where); os.chdir(where)
signal.signal(signal.SIGURG, lambda *_: None); signal.siginterrupt(signal.SIGURG, False)
signal.signal(signal.SIGALRM, lambda *_: None)
parent = os.getpid()
stormer = os.fork()
if stormer == 0:
    while os.getppid() == parent:
        for _ in range(200): os.kill(parent, signal.SIGURG)
    os._exit(0)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
end, i = time.monotonic() + seconds, 0
def again(act, *how):  # without SA_RESTART a call may be interrupted, but then it was not done
    while True:
        try: return act(*how)
        except InterruptedError: pass
while time.monotonic() < end and i < 100000:
    i += 1
    again(os.mkdir, f"d{i}"); again(os.rename, f"d{i}", f"e{i}"); again(os.rmdir, f"e{i}")
    fd = again(os.open, f"f{i}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND); os.write(fd, b"1"); os.close(fd)
    again(os.link, f"f{i}", f"g{i}"); again(os.unlink, f"g{i}"); again(os.symlink, "x", f"s{i}"); again(os.unlink, f"s{i}")
    assert os.stat(f"f{i}").st_size == 1; again(os.unlink, f"f{i}")
signal.setitimer(signal.ITIMER_REAL, 0); os.kill(stormer, 9); os.waitpid(stormer, 0)
print("came" + " back", i, 0, len(os.listdir(".")))
'''


@pytest.mark.parametrize('seconds', [2, pytest.param(20, marks=pytest.mark.soak)])
def test_what_was_done_is_not_done_again_after_a_signal(desk, outside, seconds):
    """A call that was performed and then began anew would meet its own work: EEXIST, or ENOENT."""
    python(desk, STORM, 'here', seconds)
    rounds, _, left = came_back(desk)
    finish(desk)
    assert rounds > 3 and left == 0  # how many depends on how often it is interrupted
    python(desk, STORM, outside / 'there', seconds)
    asked(desk, f'write {outside}/there/**')
    press(desk, 'y')
    rounds, _, left = came_back(desk)
    finish(desk)
    assert rounds > 3 and left == 0  # how many depends on how often it is interrupted


def test_who_waits_can_be_killed(desk, outside):
    target = outside / 'new'
    python(desk, '''import signal, time
child = os.fork()
if child == 0:
    open(sys.argv[1], "w").write("late"); os._exit(0)
time.sleep(2); os.kill(child, signal.SIGKILL)
print("came" + " back", os.WTERMSIG(os.waitpid(child, 0)[1]), 0, 0)''', target)
    asked(desk, f'to write {target}')
    desk.expect_exact('no longer asked: who wanted it is gone')
    assert came_back(desk) == (9, 0, 0)
    finish(desk)
    assert not target.exists()
    answer, = [record for record in desk.ward.records() if record['kind'] == 'answer']
    assert answer['answer'] == 'nobody'


def test_who_waits_can_be_stopped_and_continued(desk, outside):
    target = outside / 'new'
    python(desk, '''import signal, time
child = os.fork()
if child == 0:
    file = open(sys.argv[1], "w"); print("opened", flush=True); file.write("late"); file.close(); os._exit(0)
time.sleep(0.5); os.kill(child, signal.SIGSTOP)
while not os.path.exists("answered"): time.sleep(0.05)
assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]) and os.path.getsize(sys.argv[1]) == 0
print("stop" + "ped", flush=True); os.kill(child, signal.SIGCONT)
print("came" + " back", os.waitpid(child, 0)[1], 0, 0)''', target)
    asked(desk, f'to write {target}')
    time.sleep(1)
    assert not target.exists()
    press(desk, 'y')
    desk.ward.file('answered')
    desk.expect_exact('stopped')
    desk.expect_exact('opened')
    assert came_back(desk) == (0, 0, 0)
    finish(desk)
    assert target.read_text() == 'late'


def test_the_interrupt_key_is_a_no_and_then_the_commands_again(desk, outside):
    target = outside / 'new'
    python(desk, """import signal, time
signal.signal(signal.SIGINT, lambda *_: print("interr" + "upted", flush=True))
try: open(sys.argv[1], "w")
except OSError as e: print("got", errno.errorcode[e.errno], flush=True)
time.sleep(0.3); print("sle" + "eping", flush=True); signal.pause(); print("came" + " back")""", target)
    asked(desk, f'to write {target}')
    press(desk, '\x03')
    desk.expect_exact('got EACCES')
    desk.expect_exact('sleeping')
    assert 'interrupted' not in desk.before
    desk.sendintr()
    desk.expect_exact('interrupted')
    desk.expect_exact('came back')
    desk.ready()
    assert desk.last_code() == 0 and not target.exists() and kinds(desk.ward).count('ask') == 1


def test_others_fork_and_go_on_while_one_waits(desk, outside):
    target = outside / 'new'
    python(desk, '''import threading, time
waiter = threading.Thread(target=lambda: open(sys.argv[1], "w").write("waited"))
waiter.start(); time.sleep(0.5)
for i in range(5):
    child = os.fork()
    if child == 0:
        open(f"child{i}", "w").write("went on"); os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
os.system("echo shell > shell")
open("all-made", "w").close()
waiter.join(); print("came" + " back")''', target)
    asked(desk, f'to write {target}')
    assert wait_until(lambda: (desk.ward.work / 'all-made').exists(), 30)
    assert not target.exists() and (desk.ward.work / 'child4').read_text() == 'went on'
    press(desk, 'y')
    desk.expect_exact('came back')
    finish(desk)
    assert target.read_text() == 'waited'


def test_a_child_of_who_waits_outlives_it(desk, outside):
    """Whoever was forked before waits for nothing."""
    target = outside / 'new'
    python(desk, '''import time
if os.fork() == 0:
    time.sleep(2); open("made", "w").write("child"); os._exit(0)
if os.fork() == 0:
    open(sys.argv[1], "w")
time.sleep(3); print("came" + " back")''', target)
    asked(desk, f'to write {target}')
    assert wait_until(lambda: (desk.ward.work / 'made').exists(), 30)
    press(desk, 'n')
    desk.expect_exact('came back')
    desk.ready()
    assert not target.exists()


def supervisor(word):
    """The ward that runs it, of the processes with this word the one that came first and that nobody has confined."""
    return min(pid for pid in processes(word) if pathlib.Path(f'/proc/{pid}/comm').read_text() == 'ward\n')


WAITERS = '''import threading, time, signal
for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
def act(i):
    try:
        open(sys.argv[1] + f"/f{i}", "w").write("got it"); open(f"opened{i}", "w").close()
    except OSError as e: open(f"failed{i}", "w").write(errno.errorcode[e.errno])
for i in range(20): threading.Thread(target=act, args=(i,)).start()
'''


def test_without_its_supervisor_nothing_is_given(desk, outside):
    word = marker()
    python(desk, WAITERS, outside, word)
    asked(desk, ' wants ')
    os.kill(supervisor(word), signal.SIGKILL)
    assert all_gone(word)
    desk.expect_exact('Killed')
    desk.ready()
    assert not list(outside.iterdir()) and not list(desk.ward.work.glob('opened*'))
    desk.sendline('stty sane')
    desk.ready()
    assert desk.ward.run('true').code == 0 and desk.ward.verify().code == 0


def test_without_its_terminal_nothing_is_given(desk, outside):
    """Whoever was asked has gone: that is a no, and the end."""
    word = marker()
    python(desk, WAITERS, outside, word)
    asked(desk, ' wants ')
    desk.close(force=False)
    assert all_gone(word)
    assert not list(outside.iterdir()) and not list(desk.ward.work.glob('opened*'))
    assert kinds(desk.ward)[-1] == 'run.end' and desk.ward.verify().code == 0
    answer, = [record for record in desk.ward.records() if record['kind'] == 'answer']
    assert (answer['answer'], answer['reason']) in (('deny', 'no answer'), ('deny', 'interrupted'))


def test_without_its_pane_nothing_is_given(plain):
    word, outside = marker(), plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    plain.file('act.py', 'import os, sys, errno\n' + WAITERS)
    pane = Tmux(plain, 100, 40)
    try:
        assert pane('set', '-s', 'exit-empty', 'off').code == 0  # so that the server stays
        pane.keys('-l', f'{plain.binary} run -- /usr/bin/python3 -I act.py {outside} {word}')
        pane.keys('Enter')
        pane.shows('help\n>')
        assert processes(word)
        killed = pane('kill-pane', '-t', 't')
        assert killed.code == 0, killed
        assert all_gone(word)
        assert not list(outside.iterdir()) and not list(plain.work.glob('opened*'))
        assert kinds(plain)[-1] == 'run.end' and plain.verify().code == 0
    finally:
        pane.end()


REFUSED = '''import time, socket
def tell(what, act):
    begun = time.monotonic()
    try: act(); print(what, "done")
    except OSError as e: print(what, errno.errorcode[e.errno] if time.monotonic() - begun < 5 else "late")
p = sys.argv[1]
tell("new", lambda: open(p + "/new", "w"))
tell("write", lambda: open(p + "/file", "w"))
tell("append", lambda: open(p + "/file", "a"))
tell("cut", lambda: os.truncate(p + "/file", 0))
tell("mode", lambda: os.chmod(p + "/file", 0))
tell("time", lambda: os.utime(p + "/file"))
tell("owner", lambda: os.chown(p + "/file", os.getuid(), -1))
tell("attribute", lambda: os.setxattr(p + "/file", "user.x", b"1"))
tell("mkdir", lambda: os.mkdir(p + "/dir"))
tell("fifo", lambda: os.mkfifo(p + "/fifo"))
tell("symlink", lambda: os.symlink("x", p + "/link"))
tell("unlink", lambda: os.unlink(p + "/file"))
tell("rmdir", lambda: os.rmdir(p + "/hollow"))
tell("rename", lambda: os.rename(p + "/file", p + "/other"))
tell("bind", lambda: socket.socket(socket.AF_UNIX).bind(p + "/socket"))
tell("missing", lambda: open(p + "/none/file", "w"))
tell("kernel", lambda: open("/proc/sys/kernel/core_pattern", "w"))
tell("connect", lambda: socket.socket(socket.AF_UNIX).connect(p + "/server"))
tell("loopback", lambda: socket.create_connection(("127.0.0.1", 9), 5))
'''
EXPECTED = {'missing': 'ENOENT', 'kernel': 'EROFS', 'loopback': 'ECONNREFUSED'}


@pytest.mark.parametrize('flags, reached', [((), False), (('--approval', 'never'), True)], ids=['no-terminal', 'never'])
def test_where_nobody_can_be_asked_the_error_comes_at_once(ward, flags, reached):
    import socket
    outside = ward.place / 'outside'
    outside.mkdir()
    file = ward.file(outside / 'file', 'kept')
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(outside / 'server'))
    server.listen(1)
    (outside / 'hollow').mkdir()
    ward.person.own(outside, outside / 'server', outside / 'hollow')
    ward.file('act.py', 'import os, sys, errno\n' + REFUSED)
    command = ['/usr/bin/python3', '-I', 'act.py', str(outside)]
    if reached:
        screen = Terminal(ward, columns=150)
        out = screen.does(f'ward run {" ".join(flags)} -- {" ".join(command)} 2> /dev/null')
        screen.close(force=True)
    else:
        out = ward.run(*command, flags=flags).out
    told = dict(line.split() for line in out.splitlines())
    server.close()
    assert told == {what: EXPECTED.get(what, 'EACCES') for what in told} and len(told) == 19, told
    assert file.read_text() == 'kept' and kinds(ward).count('ask') == 0 and sorted(os.listdir(outside)) == ['file', 'hollow', 'server']


def test_a_ward_within_a_ward_leaves_the_asking_to_the_outer_one(desk, outside):
    """There is one listener to a filter, and it was there first; the inner ward says what it lacks."""
    target = outside / 'new'
    desk.ward.file('inner', pathlib.Path(desk.ward.binary).read_bytes(), 0o755)
    desk.sendline(f"ward run -- env XDG_STATE_HOME=/tmp/inner ./inner run --json -- sh -c 'echo x > {target} && echo went o''n' > out 2> err")
    asked(desk, f'sh wants to write {target} (a new file)', 'inner run --json')
    press(desk, 'y')
    result = finish(desk)
    assert target.read_text() == 'x\n' and kinds(desk.ward).count('ask') == 1
    inner = json.loads((desk.ward.work / 'out').read_text())
    assert inner['stdout'] == 'went on\n' and 'notify' not in inner['attempts'][0]['walls']
    assert result['attempts'][0]['denials'][0]['answer'] == 'granted' and inner['attempts'][0]['denials'] == []
    assert 'what is refused is not known' in ' '.join(inner['sandbox_warnings']), inner['sandbox_warnings']
