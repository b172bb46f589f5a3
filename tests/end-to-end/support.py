# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: ward called as a person or a program calls it, and looks at the machine around it."""
import contextlib
import ctypes
import json
import os
import pathlib
import pwd
import signal
import subprocess
import termios
import time
import uuid

import jsonschema
import pexpect

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((SOURCE / 'docs' / 'result.schema.json').read_text())
# Seconds, for what takes milliseconds: a sanitized build on a busy machine must pass too.
PATIENCE = int(os.environ.get('WARD_PATIENCE') or 90)
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


def landlock_version():
    """Of this kernel; 0 where it has none."""
    return max(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1), 0)


def warnings_here():
    """What every result warns of on this kernel, where all namespaces stand: what its Landlock cannot hold yet."""
    lost = [text for since, text in ((3, 'cutting files is held by mounts alone'), (6, 'signals are held by the pid namespace alone, abstract sockets without Landlock')) if landlock_version() < since]
    return ['fewer walls stand here: ' + '; '.join(lost)] if lost else []


class Done:
    """A finished call: its exit code and what it wrote."""

    def __init__(self, code, raw_out, raw_err):
        self.code, self.raw_out, self.raw_err = code, raw_out, raw_err
        self.out, self.err = (raw.decode(errors='replace') for raw in (raw_out, raw_err))

    def __repr__(self):
        return f'exit {self.code}\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}'


class Person:
    """Who calls ward: root, or a plain user that root can become."""

    def __init__(self, name):
        entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid, self.home = name, entry.pw_uid, entry.pw_gid, entry.pw_dir
        self.is_root = self.uid == 0

    def identity(self):
        """Arguments for subprocess."""
        if self.uid == os.geteuid():
            return {}
        return {'user': self.uid, 'group': self.gid, 'extra_groups': []}

    def by_words(self):
        """The same in front of a command. A child that becomes somebody else must be a copy of all that python holds, which takes
        longer than a run; but for a moment it is another program."""
        if self.uid == os.geteuid():
            return [], {}
        return ['/usr/bin/setpriv', f'--reuid={self.uid}', f'--regid={self.gid}', '--clear-groups'], {}

    def become(self):
        """For a child that does it itself."""
        if self.uid != os.geteuid():
            os.setgroups([])
            os.setgid(self.gid)
            os.setuid(self.uid)

    def own(self, *paths):
        for path in paths:
            if self.uid != os.geteuid():
                os.chown(path, self.uid, self.gid, follow_symlinks=False)


class Ward:
    """ward, with a home, a state directory and a workspace that are this test's alone."""

    def __init__(self, binary, person, place):
        self.binary, self.person, self.place = str(binary), person, place
        self.home, self.work = place / 'home', place / 'work'
        self.state, self.config = place / 'state', place / 'config'
        for directory in (self.home, self.work, self.state, self.config):
            directory.mkdir()
            person.own(directory)
        self.variables = {
            'PATH': PATH, 'HOME': str(self.home), 'USER': person.name, 'LOGNAME': person.name, 'SHELL': '/bin/sh',
            'LANG': 'C.UTF-8', 'TERM': 'xterm', 'XDG_STATE_HOME': str(self.state), 'XDG_CONFIG_HOME': str(self.config),
        }
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.variables[name] = os.environ[name]

    @property
    def log(self):
        return self.state / 'ward' / 'audit.log'

    def file(self, name, content='', mode=None):
        """A file of the caller's; the name is relative to the workspace."""
        path = self.work / name
        missing = [parent for parent in reversed(path.parents) if not parent.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            path.chmod(mode)
        self.person.own(*missing, path)
        return path

    def policy(self, text):
        """The user's own policy file."""
        return self.file(self.config / 'ward' / 'ward.yaml', text, 0o600)

    def allow(self, *commands):
        """A rule for each, for commands that a person would be asked about."""
        self.policy('rules:\n' + ''.join(f'  - {{command: "{command}", do: allow, why: the test}}\n' for command in commands))

    def popen(self, *words, env=None, cwd=None, program=None, watched=True, **how):
        """Starts it and returns at once; the caller waits. A variable with the value None is left out. watched: it is ward from the
        first moment on."""
        variables = {**self.variables, **(env or {})}
        how.setdefault('stdin', subprocess.DEVNULL)
        how.setdefault('stdout', subprocess.PIPE)
        how.setdefault('stderr', subprocess.PIPE)
        how.setdefault('start_new_session', True)
        front, identity = ([], self.person.identity()) if watched else self.person.by_words()
        return subprocess.Popen([*front, program or self.binary, *map(str, words)],
                                env={name: value for name, value in variables.items() if value is not None},
                                cwd=cwd or self.work, **identity, **how)

    def finish(self, process, input=None, timeout=PATIENCE):
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return Done(process.returncode, out or b'', err or b'')

    def __call__(self, *words, input=None, timeout=PATIENCE, **how):
        if input is not None:
            how['stdin'] = subprocess.PIPE
            input = input if isinstance(input, bytes) else input.encode()
        return self.finish(self.popen(*words, watched=False, **how), input, timeout)

    def run(self, *command, flags=(), **how):
        return self('run', *flags, '--', *command, **how)

    def sh(self, script, *flags, **how):
        """A script for sh, which is the same everywhere."""
        return self('run', *flags, '--', 'sh', '-c', script, **how)

    def python(self, script, *arguments, flags=(), **how):
        return self('run', *flags, '--', '/usr/bin/python3', '-I', '-c', script, *arguments, **how)

    def shell(self, line, **how):
        """A line of the caller's own shell, outside; $WARD is ward."""
        how['env'] = {'WARD': self.binary, **how.get('env', {})}
        return self('-c', line, program='/bin/bash', **how)

    def result(self, *words, **how):
        """The result object of ward run --json, held against the schema and against the exit status."""
        done = self('run', '--json', *words, **how)
        lines = done.raw_out.splitlines()
        assert len(lines) == 1, f'--json prints one object and nothing else: {done}'
        result = json.loads(lines[0])
        jsonschema.validate(result, SCHEMA)
        result['status'] = done.code
        return result

    def denials(self, *words, **how):
        """What was refused, as (operation, object) pairs in order; ward itself must have worked."""
        result = self.result(*words, **how)
        assert result['attempts'], result
        return [(denial['operation'], denial['object']) for denial in result['attempts'][-1]['denials']]

    def denied(self, script, *flags, **how):
        return self.denials(*flags, '--', 'sh', '-c', script, **how)

    def records(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def verify(self):
        return self('audit', 'verify')


class Terminal(pexpect.spawn):
    """A person's shell at a terminal, with ward on its path. What is typed is echoed, so what is expected is written
    differently there: echo A$((1)) and A1."""

    PROMPT = 'READY> '

    def __init__(self, ward, rows=24, columns=80, **env):
        inputrc = ward.file(ward.place / 'inputrc', 'set enable-bracketed-paste off\n')
        variables = {**ward.variables, 'PATH': f'{os.path.dirname(ward.binary)}:{PATH}', 'PS1': self.PROMPT, 'INPUTRC': str(inputrc),
                     'HISTFILE': '', **env}
        super().__init__('/bin/bash', ['--norc', '--noprofile', '-i'], env=variables, cwd=str(ward.work), dimensions=(rows, columns),
                         preexec_fn=ward.person.become, encoding='utf-8', codec_errors='replace', timeout=PATIENCE / 2)
        self.delaybeforesend = None
        self.ward = ward
        self.ready()

    def ready(self):
        self.expect_exact(self.PROMPT)

    def keyboard(self):
        """Waits until ward hands on the keys: none is a signal here any more."""
        assert wait_until(lambda: not termios.tcgetattr(self.child_fd)[3] & termios.ISIG)

    def type(self, line, *expected):
        """Types a line and waits for each of the texts in turn."""
        self.sendline(line)
        for text in expected:
            self.expect_exact(text)

    def does(self, line):
        """Types a line, waits for the prompt, and returns what was printed."""
        self.sendline(line)
        self.expect_exact('\n')
        self.ready()
        return self.before.replace('\r\n', '\n')

    def last_code(self):
        self.sendline('echo "code $?"')
        self.expect(r'code (\d+)\r\n')
        code = int(self.match.group(1))
        self.ready()
        return code


class Tmux:
    """A terminal multiplexer of this test's own."""

    def __init__(self, ward, columns, rows):
        self.ward, self.socket = ward, str(ward.place / 'home' / 'tmux')
        shell = 'env PS1="READY> " bash --norc --noprofile -i'
        assert self('new-session', '-d', '-s', 't', '-x', str(columns), '-y', str(rows), shell).code == 0
        self.shows('READY>')

    def __call__(self, *words):
        return self.ward('-S', self.socket, '-f', '/dev/null', *words, program='/usr/bin/tmux', timeout=PATIENCE)

    def screen(self):
        return self('capture-pane', '-p', '-t', 't').out

    def shows(self, text):
        assert wait_until(lambda: text in self.screen(), PATIENCE, 0.1), f'{text!r} is not on:\n{self.screen()}'

    def keys(self, *keys):
        assert self('send-keys', '-t', 't', *keys).code == 0

    def end(self):
        """With all that runs in it: a leak checker that loses its helper to the hang-up goes on for ever."""
        leader = self('list-panes', '-t', 't', '-F', '#{pane_pid}').out.split()
        self('kill-server')
        if leader:
            wait_until(lambda: not in_session(int(leader[0])), 5, 0.05)
            for pid in in_session(int(leader[0])):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def in_session(leader):
    """The processes of a session."""
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if os.getsid(int(name)) == leader:
                found.append(int(name))
    return found


def marker():
    """A word that no other process has on its command line."""
    return 'mark-' + uuid.uuid4().hex


def processes(word):
    """The processes that have the word on their command line, threads of the tests aside."""
    found = []
    for entry in pathlib.Path('/proc').iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if word.encode() in (entry / 'cmdline').read_bytes():
                found.append(int(entry.name))
    return found


def resting():
    """A time for sleep(1), five minutes long, that no other process sleeps."""
    return f'300.{uuid.uuid4().int % 10 ** 12:012}'


def resters(time):
    """Who sleeps it: not ward, which has it among its words, and whose last process may be closing a watch for a moment longer."""
    found = []
    for pid in processes(f'sleep\0{time}'):
        with contextlib.suppress(OSError):
            if pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().startswith(b'sleep\0'):
                found.append(pid)
    return found


def rests(time, in_front=False):
    """Whether sleep itself is there before long, and not only the shell that starts it: dash loses a SIGINT that comes between
    the two. in_front: and is in the foreground of its terminal."""
    def is_there(pid):
        with contextlib.suppress(OSError):
            group, _, _, foreground = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[2:6]
            return not in_front or foreground == group
    return wait_until(lambda: any(map(is_there, resters(time))))


def wait_until(condition, seconds=PATIENCE, step=0.02):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step)
    return bool(condition())


def all_gone(word, seconds=PATIENCE):
    """True once no process with the word is left; ends those that are, so that one failure stays one."""
    if wait_until(lambda: not processes(word), seconds):
        return True
    for pid in processes(word):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return False
