# SPDX-License-Identifier: Apache-2.0
"""runtime=runsc: the command runs under gVisor's kernel. What that can hold it holds, what nobody can know is said, and what only the machine's kernel could do is refused."""
import json
import os
import pathlib
import shutil
import signal

import pytest

from support import Terminal, all_gone, marker, wait_until

pytestmark = pytest.mark.skipif(not shutil.which('runsc'), reason='needs runsc')
RUNSC = ('--level', 'container', '--container', 'runtime=runsc')


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def family(pid):
    """All that descends from a process, as the machine sees it."""
    parents = {}
    for entry in pathlib.Path('/proc').iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
        except OSError:
            pass
    found, grows = {pid}, True
    while grows:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grows = found | more, bool(more)
    return found - {pid}


def test_a_command_runs_as_itself_under_another_kernel(ward):
    result = ward.result(*RUNSC, '--', 'sh', '-c', 'id -u; id -g; grep -E "^Cap" /proc/self/status; uname -v')
    lines = result['stdout'].split('\n')
    assert lines[:2] == [str(ward.person.uid), str(ward.person.gid)], result
    assert {line.split()[1] for line in lines[2:6]} == {'0' * 16}
    assert lines[-2] != os.uname().version, 'not the machine\'s own kernel'


def test_the_walls_are_those_that_stood(ward):
    attempt, = ward.result(*RUNSC, '--', 'true')['attempts']
    assert attempt['level'] == 'container'
    assert set(attempt['walls']) == {'userns', 'mountns', 'pidns', 'ipcns', 'utsns', 'netns', 'cgroupns', 'readonly', 'masks', 'dev', 'proc', 'tmp', 'run', 'no_new_privs',
                                     'capabilities', 'environment', 'fds', 'guard', 'gvisor'}


def test_what_cannot_be_known_is_said_once_a_session(ward):
    first, second = (ward('run', '--session', 'one', *RUNSC, '--', 'true') for _ in range(2))
    assert first.err.count('a kernel of its own') == 1 and 'a kernel of its own' not in second.err, (first, second)
    result = ward.result('--session', 'one', *RUNSC, '--', 'true')
    assert [warning for warning in result['sandbox_warnings'] if 'a kernel of its own' in warning], 'in the result always'


@pytest.mark.parametrize('flags, message', [
    (('--allow-host', 'web.example:80'), 'a network with a list of hosts'),
    (('--net', 'full'), 'the whole network'),
    (('--publish', '8000'), 'published ports'),
    (('--deny-syscall', 'ptrace'), 'denied system calls'),
    (('--make', '/srv/new'), '--make'),
    (('--require', 'landlock'), 'the wall landlock'),
    (('--require', 'seccomp'), 'the wall seccomp'),
    (('--require', 'notify'), 'the wall notify'),
])
def test_what_it_cannot_hold_is_refused(ward, flags, message):
    done = ward('run', *RUNSC, *flags, '--', 'touch', 'ran')
    assert done.code == 125 and message in done.err and 'runtime=crun' in done.err and not (ward.work / 'ran').exists(), done


def test_rules_about_programs_are_refused(ward):
    ward.policy('rules:\n- {command: git push, do: deny}\n')
    done = ward('run', *RUNSC, '--', 'touch', 'ran')
    assert done.code == 125 and 'rules about the programs' in done.err and not (ward.work / 'ran').exists(), done


def test_walls_that_stand_can_be_required(ward):
    assert ward('run', *RUNSC, '--require', 'gvisor', '--require', 'guard', '--', 'true').code == 0
    done = ward('run', '--require', 'gvisor', '--', 'touch', 'ran')
    assert done.code == 125 and 'gvisor' in done.err and not (ward.work / 'ran').exists(), done


def test_a_policy_names_it(ward):
    ward.policy('sandbox:\n  level: container\n  container: {runtime: runsc}\n')
    attempt, = ward.result('--', 'true')['attempts']
    assert 'gvisor' in attempt['walls']


def test_the_workspace_is_writable_at_once_and_nothing_else(ward, outside):
    result = ward.result(*RUNSC, '--', 'sh', '-c', f'echo in > new; echo t > /tmp/t; cat new /tmp/t; echo x > {outside}/f; mkdir {outside}/d')
    assert result['stdout'] == 'in\nt\n' and not list(outside.iterdir()), result
    assert (ward.work / 'new').stat().st_uid == ward.person.uid
    told = {(denial['operation'], denial['object'], denial['program']) for denial in result['attempts'][0]['denials']}
    assert told == {('write', f'{outside}/f', None), ('write', f'{outside}/d', None)}, 'as far as it is known'


def test_tmp_is_the_session_s(ward):
    flags = ('--session', 'one', *RUNSC)
    assert ward.sh('mkdir /tmp/made && echo kept > /tmp/made/file', *flags).code == 0
    assert ward.sh('cat /tmp/made/file', *flags).out == 'kept\n'
    assert ward.sh('cat /tmp/made/file', '--session', 'one').out == 'kept\n', 'whoever makes the walls'
    assert not os.path.exists('/tmp/made')


def test_a_permission_is_a_permission(ward, outside):
    assert ward.sh(f'echo x > {outside}/f', *RUNSC, '--write', str(outside)).code == 0
    assert (outside / 'f').read_text() == 'x\n'


def test_secrets_are_masked(ward):
    ward.file('.env', 'TOKEN=5ecret')
    done = ward.sh('cat .env; mv .env other; cat other; rm .env; ln .env hard; cat hard', *RUNSC)
    assert '5ecret' not in done.out + done.err and (ward.work / '.env').read_text() == 'TOKEN=5ecret', done


def test_names_that_run_programs_are_held(ward):
    ward.file('.git/hooks/pre-commit', '#!/bin/sh\n')
    ward.file('.git/config', '[core]\n')
    result = ward.result(*RUNSC, '--', 'sh', '-c', '''
echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit; echo evil > .git/config; mv .git other
mkdir sub sub/.git; git init -q made; echo evil > .bashrc; echo evil > plain; mv plain .mcp.json; ln plain .bashrc; ln -s plain .zshrc
mkdir bare bare/objects bare/refs; mkdir .vscode; mkdir dir; mv dir .claude; mkdir -p deep/dir/hooks; mv deep/dir deep/.git; mkdir .GIT; true''')
    assert (ward.work / '.git/hooks/pre-commit').read_text() == '#!/bin/sh\n' and (ward.work / '.git/config').read_text() == '[core]\n'
    assert os.listdir(ward.work / '.git/hooks') == ['pre-commit']
    assert sorted(path.name for path in ward.work.iterdir()) == ['.git', 'bare', 'deep', 'dir', 'made', 'plain', 'sub'], result
    assert not list((ward.work / 'sub').iterdir()) and not list((ward.work / 'made').iterdir()) and os.listdir(ward.work / 'deep') == ['dir']
    assert os.listdir(ward.work / 'bare') == ['objects']
    assert {f'{ward.work}/sub/.git', f'{ward.work}/.bashrc', f'{ward.work}/.mcp.json', f'{ward.work}/.claude'} <= {denial['object'] for denial in result['attempts'][0]['denials']}


def test_two_at_once_make_no_repository(ward):
    """One name of the two, by whoever comes first: also where both are asked for at the same time."""
    ward.python("""
import os, threading
def make(path):
    gate.wait()
    try: os.mkdir(path)
    except OSError: pass
for i in range(60):
    os.makedirs(f"r{i}/hooks"); gate = threading.Barrier(2)
    both = [threading.Thread(target=make, args=(f"r{i}/{name}",)) for name in ("objects", "refs")]
    [one.start() for one in both]; [one.join() for one in both]
""", flags=RUNSC)
    made = [sorted(os.listdir(path)) for path in ward.work.glob('r*')]
    assert len(made) == 60 and all(len(names) == 2 for names in made), made


def test_modes_of_files_are_as_they_were_set(ward):
    assert ward.sh('echo x > file; chmod 750 file; mkdir -m 711 dir; umask 077; echo y > other', *RUNSC).code == 0
    assert [(ward.work / name).stat().st_mode & 0o7777 for name in ('file', 'dir', 'other')] == [0o750, 0o711, 0o600]


def test_a_repository_can_be_read(ward):
    ward('init', '-q', '.', program='/usr/bin/git')
    result = ward.result(*RUNSC, '--', 'sh', '-c', 'git status --short && touch new && git status --short; git add new')
    assert result['stdout'] == '?? new\n' and 'Read-only file system' in result['stderr'], result
    assert not result['attempts'][0]['denials'], 'git asks whether it may, and does without'


def test_there_is_no_network_but_its_own(ward):
    result = ward.result(*RUNSC, '--', '/usr/bin/python3', '-c', '''
import socket
for target in ("127.0.0.1", 22), ("192.0.2.1", 80), ("web.example", 80):
    try: socket.create_connection(target, 5); print("reached")
    except OSError: print("no")
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); c.sendall(b"x"); print(s.accept()[0].recv(1))''')
    assert result['stdout'] == "no\nno\nno\nb'x'\n", result


def test_exit_codes_signals_and_input(ward):
    assert ward.sh('exit 7', *RUNSC).code == 7
    result = ward.result(*RUNSC, '--', 'sh', '-c', 'exit 143')
    assert (result['exit_code'], result['signal']) == (143, None), 'not taken for a signal'
    assert ward.result(*RUNSC, '--', 'sh', '-c', 'kill -TERM $$')['signal'] == 15
    assert ward('run', *RUNSC, '--', 'cat', input=b'given').out == 'given'
    assert ward('run', *RUNSC, '--', 'no-such-program').code == 127
    ward.file('plain', 'no program')
    assert ward('run', *RUNSC, '--', './plain').code == 126
    script = ward.file('script', 'echo without a first line')
    script.chmod(0o755)
    assert ward('run', *RUNSC, '--', './script').out == 'without a first line\n'


def test_input_from_a_file_and_the_two_outputs(ward):
    ward.file('input', 'from a file\n')
    done = ward('-c', f'exec "$0" run {" ".join(RUNSC)} -- sh -c "cat; echo error >&2" < input', ward.binary, program='/bin/sh')
    assert done.code == 0 and done.out == 'from a file\n' and 'error\n' in done.err, done


def test_output_comes_as_it_is_written(ward):
    process = ward.popen('run', *RUNSC, '--', 'sh', '-c', 'echo first; while [ ! -e end ]; do sleep 0.1; done; echo second')
    assert process.stdout.readline() == b'first\n'
    ward.file('end')
    assert ward.finish(process).code == 0


def test_a_script_of_a_shell(ward):
    assert ward('run', *RUNSC, '-c', 'echo a | tr a b').out == 'b\n'


def test_time_ends_it_and_nothing_is_left(ward):
    word = marker()
    process = ward.popen('run', '--json', *RUNSC, '--timeout', '3s', '--', 'sh', '-c', 'touch begun; sleep 600 & sleep 600; :', word)
    assert wait_until(lambda: (ward.work / 'begun').exists())
    members = family(process.pid)
    done = ward.finish(process)
    assert done.code == 124 and len(members) >= 5, (done, members)
    assert wait_until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in members)) and all_gone(word)


def test_limits_hold(ward):
    result = ward.result(*RUNSC, '--memory', '64M', '--', '/usr/bin/python3', '-c', 'import time; x = bytearray(300 << 20); time.sleep(60); print(len(x))')
    assert result['limit'] == 'memory' and '3145' not in result['stdout'], result
    result = ward.result(*RUNSC, '--cpu-time', '2s', '--', 'sh', '-c', 'while :; do :; done')
    assert result['limit'] == 'cpu', result
    assert ward.sh('ulimit -n', *RUNSC, '--files', '64').out == '64\n'
    result = ward.result(*RUNSC, '--processes', '40', '--', 'sh', '-c', 'for i in $(seq 200); do sleep 60 & done; wait')
    assert result['limit'] == 'processes', result
    result = ward.result(*RUNSC, '--disk', '20M', '--', 'sh', '-c', 'head -c 200M /dev/zero > big; echo all')
    assert result['limit'] == 'disk' or 'all' not in result['stdout'], result
    result = ward.result(*RUNSC, '--output', '1k', '--', 'sh', '-c', 'while :; do echo more; done')
    assert result['limit'] == 'output', result


def test_what_gives_up_for_want_of_a_process_has_met_its_limit(ward):
    """A kernel of its own ends where it may make no thread, and that may be before ward counts."""
    process = ward.popen('run', '--json', *RUNSC, '--processes', '40', '--', 'sh', '-c',
                         'echo > begun; until test -e go; do sleep 0.05; done; for i in $(seq 200); do sleep 60 & done; wait')
    assert wait_until(lambda: (ward.work / 'begun').exists())
    inside = len(family(process.pid))
    process.send_signal(signal.SIGSTOP)
    (ward.work / 'go').touch()
    met = wait_until(lambda: not inside <= len(family(process.pid)) <= inside + 40)
    # Mostly. Where a group refuses it nothing, as users have none, it goes on until ward counts.
    wait_until(lambda: len(family(process.pid)) < inside, 3)
    process.send_signal(signal.SIGCONT)
    result = json.loads(ward.finish(process).out)
    assert met and result['limit'] == 'processes', (met, result)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(ward, number):
    process = ward.popen('run', *RUNSC, '--', '/usr/bin/python3', '-c', f'''
import signal, time
def heard(number, frame): print(number, flush=True); raise SystemExit(3)
signal.signal({int(number)}, heard)
open("begun", "w").close()
while True: time.sleep(0.1)''')
    assert wait_until(lambda: (ward.work / 'begun').exists())
    process.send_signal(number)
    done = ward.finish(process)
    assert done.code == 3 and done.out == f'{int(number)}\n', done


def test_a_signal_before_it_is_there_ends_it(ward):
    process = ward.popen('run', *RUNSC, '--', 'sleep', '600')
    assert wait_until(lambda: len(family(process.pid)) >= 2)
    process.send_signal(signal.SIGTERM)
    assert ward.finish(process).code in (143, -15, 125)


def test_a_terminal_of_its_own(ward):
    desk = Terminal(ward)
    try:
        desk.sendline(f'ward run {" ".join(RUNSC)} -- sh -c "test -t 0 && test -t 1 && echo a-terminal; stty size; read line; echo got \\$line"')
        desk.expect_exact('a-terminal')
        desk.expect_exact('24 80')
        desk.sendline('words')
        desk.expect_exact('got words')
        desk.ready()
        desk.sendline(f'ward run {" ".join(RUNSC)} -- sh -c "trap \\"echo heard; exit 5\\" INT; echo be\\gun; while :; do sleep 0.1; done"; echo code $?')
        desk.expect_exact('begun')
        desk.sendintr()
        desk.expect_exact('heard')
        desk.expect_exact('code 5')
        desk.ready()
    finally:
        desk.close(force=True)


def test_killed_it_leaves_nothing(ward):
    word = marker()
    before = {line.split()[1] for line in open('/proc/mounts')}
    process = ward.popen('run', *RUNSC, '--', 'sh', '-c', 'touch begun; sleep 600; :', word)
    assert wait_until(lambda: (ward.work / 'begun').exists())
    members = family(process.pid)
    names = set()
    for pid in members:
        try:
            names.add(pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')[0])
        except OSError:
            pass
    assert {b'runsc-sandbox', b'runsc-gofer'} <= names, names
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in members)) and all_gone(word), [pid for pid in members if os.path.exists(f'/proc/{pid}')]
    assert before == {line.split()[1] for line in open('/proc/mounts')}
    assert not [name for name in os.listdir('/run') if name in ('rootfs', 'bundle', 'state', '.ward')] and not os.path.exists('/var/run/runsc')


def test_a_root_of_its_own(ward, root):
    done = ward('run', *RUNSC, '--container', f'rootfs={root}', '--', 'sh', '-c', 'cat /etc/os-release; echo made > made; echo no > /etc/os-release; echo no > /new')
    assert done.out == 'NAME=small\n' and (ward.work / 'made').read_text() == 'made\n', done
    assert (root / 'etc/os-release').read_text() == 'NAME=small\n' and not (root / 'new').exists()


def test_it_is_on_record(ward):
    result = ward.result(*RUNSC, '--', 'true')
    start, = [record for record in ward.records() if record['kind'] == 'run.start']
    assert (start['run'], start['level']) == (result['run'], 'container'), start
    assert ward.verify().code == 0
