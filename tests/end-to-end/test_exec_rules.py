# SPDX-License-Identifier: Apache-2.0
"""Rules about programs hold for every program that is started, whoever starts it and however."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from support import Terminal, wait_until
from test_asking import asked, press
from test_asking_in_place import last_result

DENY = 'rules:\n  - {command: touch marker, do: deny, why: nobody touches that}\n'
ASK = 'rules:\n  - {command: touch marker, do: ask, why: a person looks first}\n'
DENIED = ('exec', '/usr/bin/touch marker')

# How the same program is started in different ways. Each is a Python program.
START = '''import ctypes, os, subprocess, sys, threading
touch, words = "/usr/bin/touch", ["touch", "marker"]
libc = ctypes.CDLL(None, use_errno=True)
def child(act):
    pid = os.fork()
    if pid == 0:
        try: act()
        except OSError as e: print("got", e.errno, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
def raw(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), "exec")
def strings(*texts):
    return (ctypes.c_char_p * (len(texts) + 1))(*[t.encode() for t in texts], None)
'''
WAYS = {
    'run': 'subprocess.run(words)',
    'without-vfork': 'subprocess._USE_VFORK = False; subprocess.run(words)',
    'spawn': 'os.waitpid(os.posix_spawn(touch, words, os.environ), 0)',
    'thread': 'child(lambda: (t := threading.Thread(target=os.execv, args=(touch, words)), t.start(), t.join()))',
    'shell': 'os.system("touch marker")',
    'nested-shells': 'os.system("bash -c \\"sh -c \'exec env nice touch marker\'\\"")',
    'xargs': 'subprocess.run(["xargs", "touch"], input=b"marker")',
    'find': 'subprocess.run(["find", ".", "-maxdepth", "0", "-exec", "touch", "marker", ";"])',
    'make': 'open("Makefile", "w").write("all:\\n\\t@echo making\\n\\ttouch marker # by a shell\\n"); subprocess.run(["make"])',
    'by-fd': 'child(lambda: os.execve(os.open(touch, os.O_RDONLY), words, os.environ))',
    'by-closing-fd': 'child(lambda: os.execve(os.open(touch, os.O_PATH | os.O_CLOEXEC), words, os.environ))',
    'by-link-to-fd': 'child(lambda: (fd := os.open(touch, os.O_RDONLY), os.execv(f"/proc/self/fd/{fd}", words)))',
    'by-directory': 'child(lambda: raw(322, os.open("/usr/bin", os.O_RDONLY), b"touch", strings(*words), None, 0))',
    'relative': 'child(lambda: (os.chdir("/usr"), os.execv("bin/touch", ["touch", os.path.join(sys.argv[1], "marker")])))',
    'link': 'os.symlink(touch, "innocent"); subprocess.run(["./innocent", "marker"])',
    'other-words': 'subprocess.run(["innocent", "marker"], executable=touch)',
    'name-only': 'os.symlink("/usr/bin/true", "touch"); subprocess.run(["./touch", "marker"])',
    'script': 'open("s", "w").write("#!/usr/bin/touch\\n"); os.chmod("s", 0o700); os.mkdir("d"); os.chdir("d"); os.symlink("../s", "marker"); '
              'os.environ["PATH"] = "."; subprocess.run(["marker"])',
    'env-script': 'open("s", "w").write("#!/usr/bin/env touch\\n"); os.chmod("s", 0o700); os.rename("s", "marker-"); '
                  'os.symlink("marker-", "marker"); os.environ["PATH"] = "/usr/bin:."; subprocess.run(["marker"])',
    'script-by-fd': 'open("s", "w").write("#!/bin/sh\\ntouch $1\\n"); os.chmod("s", 0o700); fd = os.open("s", os.O_RDONLY); '
                    'os.set_inheritable(fd, True); child(lambda: os.execve(fd, ["s", "marker"], os.environ))',
    'script-in-directory': 'open("s", "w").write("#!/bin/sh\\ntouch $1\\n"); os.chmod("s", 0o700); fd = os.open(".", os.O_RDONLY); '
                           'os.set_inheritable(fd, True); child(lambda: raw(322, fd, b"./s", strings("s", "marker"), None, 0))',
    'loader': 'subprocess.run(["/lib64/ld-linux-x86-64.so.2", "--argv0", "innocent", touch, "marker"])',
}


def start(ward, way, *flags):
    ward.file('start.py', START + WAYS[way])
    return ward.result(*flags, '--', '/usr/bin/python3', '-I', 'start.py', str(ward.work))


def test_rule_holds_in_a_makefile(ward):
    ward.policy(DENY)
    ward.file('Makefile', 'all:\n\ttouch other\n\tsh -c "touch marker"\n')
    result = ward.result('--', 'make')
    assert result['exit_code'] == 2 and (ward.work / 'other').exists() and not (ward.work / 'marker').exists()
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['answer']) == (*DENIED, 'none')
    assert denial['syscall'] == 'execve' and denial['rule'] == 'deny: touch marker: nobody touches that'
    assert 'seal' in result['attempts'][0]['walls']


@pytest.mark.parametrize('way', WAYS)
def test_every_way_to_start_it(plain, way):
    plain.policy(DENY.replace('touch marker', 'touch **marker') if way in ('relative', 'script', 'env-script') else DENY)
    result = start(plain, way)
    denials = result['attempts'][0]['denials']
    assert [d['operation'] for d in denials] == ['exec'], result
    assert denials[0]['rule'].startswith('deny: touch'), denials
    assert not (plain.work / 'marker').is_file() or way in ('script', 'env-script')


@pytest.mark.parametrize('way', sorted(set(WAYS) - {'script', 'env-script', 'name-only'}))
def test_every_way_works_where_no_rule_is_about_it(plain, way):
    plain.policy(DENY.replace('touch', 'chmod'))
    result = start(plain, way)
    assert (plain.work / 'marker').exists(), result
    assert not result['attempts'][0]['denials'] and result['exit_code'] == 0


def test_a_yes_lets_it_start(ward):
    ward.policy(ASK)
    ward.file('Makefile', 'all:\n\tsh -c "touch marker"\n\ttouch marker; echo went  on\n')
    with Terminal(ward, columns=150, rows=50) as desk:
        desk.sendline('ward run -- make')
        asked(desk, 'sh wants to run "/usr/bin/touch marker"', 'exec /usr/bin/touch marker', 'ask: touch marker: a person looks first',
              'has not started yet')
        assert not (ward.work / 'marker').exists()
        press(desk, 'y')
        desk.expect_exact('went on')  # the second one is covered
        desk.ready()
        assert desk.last_code() == 0 and (ward.work / 'marker').exists()
    result = last_result(ward)
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['answer']) == (*DENIED, 'granted')


def test_a_yes_is_to_these_words_alone(plain):
    plain.policy(ASK)
    plain.file('act', '#!/bin/sh\ntouch marker\ntouch marker other || echo and  no\n', 0o755)
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- ./act')
        asked(desk, 'exec /usr/bin/touch marker')
        press(desk, 'y')
        asked(desk, 'exec /usr/bin/touch marker other')
        press(desk, 'n')
        desk.expect_exact('and no')
        desk.ready()
    assert (plain.work / 'marker').exists() and not (plain.work / 'other').exists()
    answers = {d['object']: d['answer'] for d in last_result(plain)['attempts'][0]['denials']}
    assert answers == {'/usr/bin/touch marker': 'granted', '/usr/bin/touch marker other': 'denied'}


def test_a_yes_for_the_session_holds_in_the_next_run(plain):
    plain.policy(ASK)
    plain.file('act', '#!/bin/sh\ntouch marker && echo went  on\n', 0o755)
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run --session s -- ./act')
        asked(desk, 'exec /usr/bin/touch marker')
        press(desk, 's', 'y')
        desk.expect_exact('went on')
        desk.ready()
        desk.sendline('rm marker; ward run --session s -- ./act')
        desk.expect_exact('went on')
        desk.ready()
        desk.sendline('ward run --session other -- ./act')
        asked(desk, 'exec /usr/bin/touch marker')
        press(desk, 'n')
        desk.ready()


def test_what_was_answered_before_the_start_is_not_asked_again(plain):
    plain.policy(ASK)
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- sh -c "touch marker; touch marker two; echo went  on"')
        asked(desk, 'a person looks first')
        press(desk, 'y')
        desk.expect_exact('went on')
        desk.ready()
        assert desk.last_code() == 0
    assert (plain.work / 'two').exists()


@pytest.mark.parametrize('flags', [(), ('--approval', 'never')])
def test_where_nobody_can_be_asked_it_is_refused_at_once(plain, flags):
    plain.policy(ASK)
    plain.file('act', '#!/bin/sh\ntouch marker\ntest ! -e marker\n', 0o755)
    result = plain.result(*flags, '--', './act')
    assert result['exit_code'] == 0
    denial, = result['attempts'][0]['denials']
    assert (denial['object'], denial['answer'], denial['rule']) == ('/usr/bin/touch marker', 'none', 'ask: touch marker: a person looks first')


def test_the_command_itself_by_another_name(plain):
    """The plan knows only what is written there."""
    plain.policy(DENY)
    (plain.work / 'innocent').symlink_to('/usr/bin/touch')
    result = plain.result('--', './innocent', 'marker')
    assert result['status'] == 126 and not (plain.work / 'marker').exists()


def test_the_command_itself_is_asked_about(ward):
    ward.policy(ASK)
    (ward.work / 'innocent').symlink_to('/usr/bin/touch')
    with Terminal(ward, columns=150, rows=50) as desk:
        desk.sendline('ward run -- ./innocent marker; echo went  on')
        asked(desk, 'exec -a ./innocent /usr/bin/touch marker')
        press(desk, 'y')
        desk.expect_exact('went on')
        desk.ready()
    assert (ward.work / 'marker').exists()


def test_a_secret_may_be_replaced_while_the_command_waits_to_begin(ward):
    ward.policy(ASK)
    secret = ward.file('.env', 'KEY=1\n')
    (ward.work / 'innocent').symlink_to('/usr/bin/touch')
    with Terminal(ward, columns=150, rows=50) as desk:
        desk.sendline('ward run -- ./innocent marker; echo ended  with $?')
        asked(desk, 'touch marker')
        secret.with_name('new').write_text('KEY=2\n')
        secret.with_name('new').rename(secret)
        time.sleep(1)  # longer than a mask may lie there fallen while a command runs
        press(desk, 'y')
        desk.expect_exact('ended with 0')
        desk.ready()
    assert (ward.work / 'marker').exists()


def test_script_without_its_first_line_as_the_command(plain):
    plain.policy(DENY)
    plain.file('plain', 'echo by sh "$@"\ntouch marker\n', 0o755)
    result = plain.result('--', './plain', 'one')
    assert result['stdout'] == 'by sh one\n' and [d['object'] for d in result['attempts'][0]['denials']] == ['/usr/bin/touch marker']


def test_path_search_and_programs_that_cannot_run(plain):
    plain.policy(DENY)
    plain.file('plain', 'echo run by a shell\n', 0o755)  # no first line: ENOEXEC
    plain.file('broken', '#!/no/such/interpreter\n', 0o755)
    plain.file('closed', '#!/bin/sh\n', 0o644)
    plain.file('bin/tool', '#!/bin/sh\necho found "$@"\n', 0o755)
    plain.file('act', '''#!/bin/bash
PATH=/nowhere:$PWD/act:$PWD/bin:$PATH
tool one
./plain
./broken; echo $?
./closed; echo $?
nosuchprogram; echo $?
./bin; echo $?
exec 2>/dev/null; for i in {1..50}; do ./plain >/dev/null; nosuchprogram; done
echo end
''', 0o755)
    done = plain.run('./act')
    assert done.out.split('\n') == ['found one', 'run by a shell', '127', '126', '127', '126', 'end', ''], done
    assert not plain.denials('--', './act')


def test_errors_of_execve_are_the_kernels_own(plain):
    plain.policy(DENY)
    plain.file('text', 'no program\n', 0o755)
    done = plain.python('''import os, errno, ctypes
libc = ctypes.CDLL(None, use_errno=True)
os.symlink("loop", "loop")
def attempt(call):
    try: call()
    except OSError as e: print(errno.errorcode[e.errno])
    else: print("what?")
for path in ("gone", "text/x", "loop", "a" * 300, "x/" * 3000, "text", "/usr/bin", "/dev/null", ""):
    attempt(lambda: os.execv(path, ["x"]))
attempt(lambda: os.execve(99, ["x"], {}))
libc.syscall(59, ctypes.c_void_p(8), None, None); print(errno.errorcode[ctypes.get_errno()])
libc.syscall(59, b"/bin/true", ctypes.c_void_p(8), None); print(errno.errorcode[ctypes.get_errno()])
libc.syscall(322, -100, b"", None, None, 0); print(errno.errorcode[ctypes.get_errno()])
libc.syscall(322, -100, b"/bin/true", None, None, 0x40); print(errno.errorcode[ctypes.get_errno()])
libc.syscall(322, -100, b"loop", None, None, 0x100); print(errno.errorcode[ctypes.get_errno()])
''')
    assert done.out.split() == ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENAMETOOLONG', 'ENOEXEC', 'EACCES', 'EACCES', 'ENOENT',
                                'EBADF', 'EFAULT', 'EFAULT', 'ENOENT', 'EINVAL', 'ELOOP'], done


def test_no_words_at_all(plain):
    plain.policy(DENY)
    done = plain.python('''import ctypes
ctypes.CDLL(None).syscall(59, b"/usr/bin/python3", None, None)''', input='print("as ever")')
    native = subprocess.run(['/usr/bin/python3', '-c', 'import ctypes; ctypes.CDLL(None).syscall(59, b"/usr/bin/python3", None, None)'],
                            input='print("as ever")', capture_output=True, text=True)
    assert done.out == native.stdout


def test_words_of_any_bytes(plain):
    plain.policy(DENY)
    words = ['new\nline', 'tab\t', '', "quo'te", '$(x)', '\udcff\udcfe', 'ü', '-']
    plain.file('act.py', f'import os\nos.execv("/usr/bin/printf", ["printf", "%s|"] + {words!a})\n')
    done = plain.run('/usr/bin/python3', '-I', 'act.py')
    assert done.raw_out == '|'.join(words).encode(errors='surrogateescape') + b'|', done
    plain.policy(DENY.replace('touch marker', 'printf'))
    result = plain.result('--', '/usr/bin/python3', '-I', 'act.py')
    denial, = result['attempts'][0]['denials']
    assert "$'new\\nline'" in denial['object'] and "$'\\xff\\xfe'" in denial['object'] or '\\377' in denial['object'], denial


def test_many_words(plain):
    plain.policy(DENY)
    plain.file('act.py', '''import subprocess
print(len(subprocess.run(["/bin/echo"] + ["word%d" % i for i in range(20000)], capture_output=True).stdout))
print(len(subprocess.run(["/bin/echo", "x" * 120000], capture_output=True).stdout))
try: subprocess.run(["/bin/true"] + ["a"] * 70000)
except OSError as e: print(e.errno)
''')
    result = plain.result('--', '/usr/bin/python3', '-I', 'act.py')
    assert result['stdout'].split() == ['188890', '120001', '7'], result
    denial, = result['attempts'][0]['denials']
    assert denial['object'] == '/usr/bin/true' and 'more words than are looked at' in denial['rule']


def test_scripts_as_the_kernel_reads_them(plain):
    """Interpreters of interpreters, blanks, a word behind, no line end, a line that is too long."""
    plain.policy(DENY)
    show = plain.file('show', '#!/bin/sh\nfor w; do printf "<%s>" "$w"; done; echo\n', 0o755)
    scripts = {
        'plain': f'#!{show}\n', 'blank': f'#! \t{show}  \t \n', 'word': f'#!{show} -a b  c \n', 'endless': f'#!{show} x',
        'deep': f'#!{plain.work}/word\n', 'tabs': f'#!{show}\tx\ty\n', 'crlf': '#!/bin/sh -e\r\n', 'long': '#!' + '/' * 400 + 'bin/sh\n',
        'empty': '#!\n', 'padded': '#!' + ' ' * 200 + '/bin/echo\n', 'cut': '#!/bin/echo ' + 'x' * 400 + '\n',
        'relative': '#!show\n',
    }
    for name, text in scripts.items():
        plain.file(name, text, 0o755)
    plain.file('act.py', f'''import subprocess, sys
for name in {list(scripts)!r}:
    try: print(name, subprocess.run(["./" + name, "1", "2 3"], capture_output=True, text=True).stdout, flush=True)
    except OSError as e: print(name, e.errno, flush=True)
''')
    native = subprocess.run(['/usr/bin/python3', '-I', 'act.py'], cwd=plain.work, capture_output=True, text=True).stdout
    result = plain.result('--', '/usr/bin/python3', '-I', 'act.py')
    assert result['stdout'] == native and not result['attempts'][0]['denials'], result


def test_what_cannot_be_sealed_is_said(plain):
    plain.policy('rules:\n  - {command: ./deploy, do: ask}\n  - {command: tool, do: ask}\n')
    plain.file('deploy', '#!/bin/sh\necho deploying\n', 0o755)
    shutil.copy('/usr/bin/true', plain.work / 'tool')
    plain.file('act', '#!/bin/sh\n./deploy; ./deploy; ./tool\n/lib64/ld-linux-x86-64.so.2 /bin/echo by the loader\n', 0o755)
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- ./act')
        asked(desk, 'deploy')
        press(desk, 'y')
        asked(desk, 'tool')
        press(desk, 'y')
        desk.expect_exact('by the loader')
        desk.ready()
    warnings = [w for w in last_result(plain)['sandbox_warnings'] if w.startswith('not sealed: ')]
    assert warnings == [f'not sealed: {plain.work}/deploy: the sandbox can rewrite it', f'not sealed: {plain.work}/tool: the sandbox can rewrite it',
                        f'not sealed: {os.path.realpath("/lib64/ld-linux-x86-64.so.2")}: it loads the program that it is told to by itself']


REGISTER = '''mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf ':ward-test:M::WARDTEST::/bin/cat:' > /proc/sys/fs/binfmt_misc/register || exit 77
exec "$@"'''


@pytest.mark.parametrize('rule', ['touch marker', 'cat'])
def test_format_that_only_the_machine_knows(plain, rule):
    """What is loaded cannot be foreseen, so it is judged when it is. A machine of our own is a user namespace (Linux 6.7)."""
    plain.policy(DENY.replace('touch marker', rule))
    plain.file('mine', 'WARDTEST words\n', 0o755)
    plain.file('act', '#!/bin/sh\n./mine\n', 0o755)
    done = plain('-rm', '--propagation', 'private', 'sh', '-c', REGISTER, 'sh', plain.binary, 'run', '--json', '--', './act', program='/usr/bin/unshare')
    if done.code in (1, 77) and not done.out:
        pytest.skip('this machine lets nobody register a format')
    result = json.loads(done.out)
    if rule == 'cat':
        denial, = result['attempts'][0]['denials']
        assert result['stdout'] == '' and (denial['object'], denial['rule']) == ('/usr/bin/cat ./mine', 'deny: cat: nobody touches that')
    else:
        assert result['stdout'] == 'WARDTEST words\n' and not result['attempts'][0]['denials'], result
        assert [w for w in result['sandbox_warnings'] if w.startswith('not sealed: /usr/bin/cat')], result


def test_static_program(plain):
    plain.policy(DENY)
    plain.file('static.c', '#include <unistd.h>\nint main(int c, char **v) { if (c > 1) return execv(v[1], v + 1); write(1, "static\\n", 7); }')
    subprocess.run(['gcc', '-static', '-o', plain.work / 'static', plain.work / 'static.c'], check=True)
    (plain.work / 'static').chmod(0o755)
    assert plain.run('./static', './static', './static').out == 'static\n'
    assert plain.denials('--', './static', '/usr/bin/env', './static', '/usr/bin/touch', 'marker')[0] == DENIED


def test_program_that_starts_itself_again(plain):
    plain.policy(DENY)
    done = plain.python('''import os, sys
if len(sys.argv) < 2: os.execv("/proc/self/exe", ["python3", "-I", "-c", "print('again')", "x"])''')
    assert done.out == 'again\n', done
    done = plain.python('''import os
os.execv(f"/proc/{os.getpid()}/exe", ["python3", "-I", "-c", "print('again')", "x"])''')
    assert done.out == 'again\n', done


def test_program_in_memory(plain):
    plain.policy(DENY)
    plain.file('act.py', '''import os
fd = os.memfd_create("mine"); os.write(fd, open("/bin/echo", "rb").read())
os.execve(fd, ["echo", "from memory"], {})''')
    assert plain.run('/usr/bin/python3', '-I', 'act.py').out == 'from memory\n'


def test_program_that_keeps_its_memory_to_itself(plain):
    plain.policy(DENY)
    plain.file('act.py', '''import ctypes, os, subprocess
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
subprocess._USE_VFORK = False
subprocess.run(["echo", "fine"]); subprocess.run(["sh", "-c", "touch marker"])''')
    result = plain.result('--', '/usr/bin/python3', '-I', 'act.py')
    assert result['stdout'] == 'fine\n' and not (plain.work / 'marker').exists(), result


def test_program_that_nobody_may_read(plain):
    """It could not be looked at when it is loaded."""
    plain.policy(DENY)
    plain.file('act', '#!/bin/sh\ncp /bin/echo mine; chmod 111 mine; ./mine words\nchmod 755 mine; ./mine again\n', 0o755)
    result = plain.result('--', './act')
    assert result['stdout'] == 'again\n', result
    denial, = result['attempts'][0]['denials']
    assert denial['object'] == f'{plain.work}/mine' and 'its file cannot be read' in denial['rule']


def test_crowd_of_programs_at_once(plain):
    plain.policy(DENY)
    plain.file('act.py', '''import subprocess
for round in range(3):
    crowd = [subprocess.Popen(["/bin/echo", str(i)], stdout=subprocess.PIPE) for i in range(200)]
    assert [p.communicate()[0] for p in crowd] == [b"%d\\n" % i for i in range(200)]
    crowd = [subprocess.Popen(["sh", "-c", "touch marker 2>/dev/null; echo %d" % i], stdout=subprocess.PIPE) for i in range(100)]
    assert [p.communicate()[0] for p in crowd] == [b"%d\\n" % i for i in range(100)]
print("end")''')
    result = plain.result('--', '/usr/bin/python3', '-I', 'act.py')
    assert result['stdout'] == 'end\n' and not (plain.work / 'marker').exists(), result


def test_threads_that_all_start_programs(plain):
    """Of several that try at once one wins, and the others are gone."""
    plain.policy(DENY)
    plain.file('threads.c', r'''#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *start(void *data) {
    char *argv[] = {"echo", "one", NULL};
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20; i++) execv("/no/such/program", argv);
    execv("/bin/echo", argv);
    return data;
}
int main(void) {
    for (int round = 0; round < 50; round++) {
        int status;
        if (fork() == 0) {
            pthread_t thread;
            pthread_barrier_init(&barrier, NULL, 8);
            for (int i = 0; i < 7; i++) pthread_create(&thread, NULL, start, NULL);
            start(NULL);
        }
        wait(&status);
        if (status) { printf("status %x\n", status); return 1; }
    }
    return 0;
}''')
    subprocess.run(['gcc', '-o', plain.work / 'threads', plain.work / 'threads.c', '-lpthread'], check=True)
    (plain.work / 'threads').chmod(0o755)
    result = plain.result('--', './threads')
    assert result['stdout'] == 'one\n' * 50 and result['exit_code'] == 0, result


def test_signals_while_it_waits(plain):
    """Signals that are handled, and stopping and going on, leave the question and the program as they are."""
    plain.policy(ASK)
    plain.file('act.py', '''import os, signal, subprocess, time
counts = 0
def count(*_):
    global counts; counts += 1
signal.signal(signal.SIGALRM, count); signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
child = os.fork()
if child == 0:
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    signal.signal(signal.SIGURG, lambda *_: None)
    os.execv("/usr/bin/touch", ["touch", "marker"])
for i in range(20):
    os.kill(child, signal.SIGURG); time.sleep(0.05)
os.kill(child, signal.SIGSTOP); time.sleep(0.2); os.kill(child, signal.SIGCONT)
open("waiting", "w")
print("ended", os.waitpid(child, 0)[1] in (0, signal.SIGALRM), counts > 5, flush=True)''')
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- /usr/bin/python3 -I act.py')
        asked(desk, 'python3 wants to run "/usr/bin/touch marker"')
        assert wait_until(lambda: (plain.work / 'waiting').exists())
        press(desk, 'y')
        desk.expect_exact('ended True True')
        desk.ready()


def test_caller_that_is_killed_while_it_waits(plain):
    plain.policy(ASK)
    plain.file('act.py', '''import os, signal, time
for i in range(3):
    child = os.fork()
    if child == 0: os.execv("/usr/bin/touch", ["touch", "marker"])
    time.sleep(0.3); os.kill(child, signal.SIGKILL); assert os.waitpid(child, 0)[1] == signal.SIGKILL
time.sleep(1); print("ended  well", flush=True)''')
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- /usr/bin/python3 -I act.py')
        desk.expect_exact('ended  well')
        desk.ready()
        assert desk.last_code() == 0
    assert not (plain.work / 'marker').exists()


@pytest.mark.parametrize('debugger', ['gdb', 'strace'])
def test_debugger_inside(plain, debugger):
    """Where a rule is about programs, what a debugger starts cannot be checked, and is refused with the reason."""
    if not shutil.which(debugger):
        pytest.skip(f'{debugger} is not installed')
    words = ['gdb', '-nx', '-batch', '-ex', 'run', '--args'] if debugger == 'gdb' else ['strace', '-f', '-o', 'trace']
    done = plain.run(*words, '/bin/echo', 'traced')
    assert 'traced' in done.out, done
    plain.policy(DENY)
    result = plain.result('--', *words, '/bin/echo', 'traced')
    assert 'traced' not in result['stdout']
    assert any('another program traces it' in d['rule'] for d in result['attempts'][0]['denials']), result


def test_debugger_attaches_to_what_runs(plain):
    if not shutil.which('strace'):
        pytest.skip('strace is not installed')
    plain.policy(DENY)
    plain.file('act', '#!/bin/bash\nsleep 60 & sleep 0.5\ntimeout 1 strace -o trace -p $!\nkill $!; test -s trace && echo attached\n', 0o755)
    assert 'attached' in plain.run('./act').out


def test_job_control_and_exit_codes_are_as_ever(plain):
    plain.policy(DENY)
    plain.file('act', '''#!/bin/bash
sh -c 'exit 7'; echo $?
sh -c 'kill -TERM $$'; echo $?
sleep 100 & kill -STOP $!; sleep 0.1; grep ^State /proc/$!/status; kill -CONT $!; kill $!; wait $!; echo $?
''', 0o755)
    assert plain.run('./act').out.split('\n') == ['7', '143', 'State:\tT (stopped)', '143', ''], plain.run('./act')


def test_nothing_is_left_when_the_run_is_ended(plain):
    plain.policy(DENY)
    plain.file('act', '#!/bin/bash\nwhile :; do /bin/true & /no/such & /bin/echo >/dev/null; done 2>/dev/null\n', 0o755)
    for _ in range(3):
        assert plain.result('--timeout', '1s', '--', './act')['timed_out']


def test_rules_that_only_allow_cost_nothing(plain):
    plain.policy('rules:\n  - {command: touch marker, do: allow}\n')
    if shutil.which('strace'):
        done = plain.run('strace', '-o', 'trace', '/bin/echo', 'traced')
        assert done.out == 'traced\n'


def test_file_is_replaced_while_a_person_thinks(plain):
    """The yes is to what was shown; what lies there by then is asked about anew."""
    plain.policy('rules:\n  - {command: tool, do: ask, why: a person looks first}\n')
    plain.file('act.py', '''import os, time
os.symlink("/usr/bin/true", "tool")
child = os.fork()
if child == 0: os.execv("./tool", ["tool", "marker"])
time.sleep(0.5); os.symlink("/usr/bin/touch", "new"); os.rename("new", "tool"); open("swapped", "w")
print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)''')
    with Terminal(plain, columns=150, rows=50) as desk:
        desk.sendline('ward run -- /usr/bin/python3 -I act.py')
        asked(desk, 'exec -a tool /usr/bin/true marker')
        assert wait_until(lambda: (plain.work / 'swapped').exists())
        press(desk, 'y')
        asked(desk, 'exec -a tool /usr/bin/touch marker')
        press(desk, 'n')
        desk.expect_exact('ended 1')
        desk.ready()
    assert not (plain.work / 'marker').exists()
