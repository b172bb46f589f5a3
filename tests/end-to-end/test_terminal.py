# SPDX-License-Identifier: Apache-2.0
"""At a terminal the command has a terminal of its own, and programs for people work in it."""
import os
import re
import signal
import subprocess
import time

import pytest

from support import Terminal, all_gone, marker, processes, resting, rests, wait_until


@pytest.fixture
def terminal(ward):
    terminal = Terminal(ward)
    yield terminal
    terminal.close(force=True)


@pytest.fixture
def screen(plain):
    """The same for the plain user alone."""
    terminal = Terminal(plain)
    yield terminal
    terminal.close(force=True)


def test_all_three_streams_are_a_terminal(terminal):
    terminal.type("ward run -- sh -c 'test -t 0 && test -t 1 && test -t 2 && tty && echo all$((3))'", '/dev/pts/', 'all3')
    terminal.ready()
    assert terminal.last_code() == 0


def test_the_terminal_is_not_the_hosts_own(terminal):
    ours = terminal.does('stat -L -c %i:%d /dev/stdin').strip()
    theirs = terminal.does('ward run -- stat -L -c %i:%d /dev/stdin').strip()
    assert re.fullmatch(r'\d+:\d+', ours) and re.fullmatch(r'\d+:\d+', theirs) and ours != theirs


def test_no_pty_gives_none(screen):
    assert 'not a tty' in screen.does('ward run --no-pty -- tty')
    assert screen.does('ward run --no-pty -- echo a$((1))b') == 'a1b\n'


def test_json_gives_none(screen):
    assert '"stdout":"not a tty' in screen.does('ward run --json -- tty </dev/null')


def test_exit_codes_come_through(terminal):
    terminal.does("ward run -- sh -c 'exit 9'")
    assert terminal.last_code() == 9


def test_the_window_has_its_size(terminal):
    assert terminal.does('ward run -- stty size') == '24 80\n'
    terminal.setwinsize(50, 132)
    assert terminal.does('ward run -- stty size') == '50 132\n'


WINDOW = '''
import os, signal, time
signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b"now %d x %d\\n" % tuple(os.get_terminal_size())))
print("ready to look", flush=True)
for _ in range(600): time.sleep(0.1)
'''


def test_a_change_of_the_windows_size_arrives(terminal):
    terminal.ward.file('window.py', WINDOW)
    terminal.type('ward run -- /usr/bin/python3 window.py', 'ready to look')
    for rows, columns in ((40, 120), (20, 60), (33, 77)):
        terminal.setwinsize(rows, columns)
        terminal.expect_exact(f'now {columns} x {rows}')
    terminal.sendintr()
    terminal.expect_exact('KeyboardInterrupt')
    terminal.ready()


def test_ctrl_c_interrupts(terminal):
    rest = resting()
    terminal.type(f"ward run -- sh -c 'echo go$((1)); exec sleep {rest}'", 'go1')
    assert rests(rest)
    terminal.sendintr()
    terminal.ready()
    assert terminal.last_code() == 130


def test_ctrl_c_is_the_commands_to_handle(screen):
    screen.type("ward run -- bash -c 'trap \"echo caught$((2)); exit 5\" INT; echo go$((1)); while :; do sleep 0.05; done'", 'go1')
    screen.sendintr()
    screen.expect_exact('caught2')
    screen.ready()
    assert screen.last_code() == 5


def test_ctrl_c_ends_a_whole_pipeline(screen):
    rest = resting()
    screen.type(f"ward run -- sh -c 'echo go$((1)) >&2; exec sleep {rest}' | cat", 'go1')
    assert rests(rest)
    screen.sendintr()
    screen.ready()


def test_ctrl_backslash_quits(screen):
    rest = resting()
    screen.type(f"ward run -- sh -c 'echo go$((1)); exec sleep {rest}'", 'go1')
    assert rests(rest)
    screen.send('\x1c')
    screen.ready()
    assert screen.last_code() == 131


def test_a_prompt_of_read_works(terminal):
    terminal.type("ward run -- bash -c 'read -p \"name$((1))? \" x; echo hello-$x'", 'name1? ')
    terminal.type('you', 'hello-you')
    terminal.ready()


def test_a_secret_is_not_echoed(screen):
    screen.type("ward run -- bash -c 'read -s -p \"secret$((1))? \" x; echo; echo length-${#x}'", 'secret1? ')
    screen.sendline('hidden')
    screen.expect_exact('length-6')
    assert 'hidden' not in screen.before
    screen.ready()


def test_the_controlling_terminal_works(screen):
    screen.type("ward run -- sh -c 'echo on-tty$((1)) > /dev/tty; read x < /dev/tty; echo got-$x' < /dev/null", 'on-tty1')
    screen.type('abc', 'got-abc')
    screen.ready()


def test_the_end_of_input_is_typed_as_ever(screen):
    screen.type('ward run -- cat > typed')
    screen.keyboard()
    screen.sendline('one')
    screen.sendline('two')
    screen.sendeof()
    screen.ready()
    assert (screen.ward.work / 'typed').read_text() == 'one\ntwo\n'


def test_keys_typed_before_they_are_read_are_not_lost(screen):
    screen.type("ward run -- sh -c 'echo go$((1)); sleep 1; read x; echo got-$x'", 'go1')
    screen.sendline('early')
    screen.expect_exact('got-early')
    screen.ready()


def test_stderr_in_a_file_stays_apart(screen):
    assert screen.does("ward run -- sh -c 'echo out; echo err >&2; test -t 1 || echo none' 2> err") == 'out\n'
    assert (screen.ward.work / 'err').read_text() == 'err\n'


def test_much_output_is_whole(screen):
    text = screen.does('ward run -- seq 30000')
    assert text.split() == [str(i) for i in range(1, 30001)]


def test_bytes_of_a_full_screen_program_pass_as_they_are(screen):
    raw = "\\033[2J\\033[5;5HX\\033[31mred\\033[0m\\t\\303\\274"
    assert '\x1b[2J\x1b[5;5HX\x1b[31mred\x1b[0m\tü' in screen.does(f"ward run -- printf '{raw}\\n'")


MODES = {
    'an ordinary end': 'ward run -- true',
    'modes that the command left': "ward run -- sh -c 'stty raw -echo -icanon; exit 1'",
    'a command that was killed': "ward run -- sh -c 'stty raw -echo; kill -9 $$'",
    'a command that is not there': 'ward run -- no-such-program',
    'a refusal': "ward run -c 'rm -rf /'",
    'a time-out': "ward run --timeout 1s -- sh -c 'stty raw -echo; sleep 300'",
    'a full-screen program that was killed': "ward run --timeout 2s -- vi file",
}


@pytest.mark.parametrize('after', MODES)
def test_the_terminals_modes_are_restored_after(terminal, after):
    before = terminal.does('stty -g')
    terminal.does(MODES[after])
    assert terminal.does('stty -g') == before


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminals_modes_are_restored_when_ward_is_signalled(screen, number):
    rest = resting()
    before = screen.does('stty -g')
    screen.type(f"ward run -- sh -c 'stty raw -echo; echo go$((1)); exec sleep {rest}'", 'go1')
    assert rests(rest)
    ours = [pid for pid in processes(rest) if os.readlink(f'/proc/{pid}/exe').endswith('/ward')]
    os.kill(min(ours), number)
    screen.ready()
    assert screen.does('stty -g') == before


QUICK = '''
#include <stdio.h>
#include <termios.h>
#include <unistd.h>
int main(void)
{
	struct termios modes;
	tcgetattr(0, &modes);
	modes.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(0, TCSANOW, &modes);
	usleep(20000);
	tcgetattr(0, &modes);
	puts(modes.c_lflag & (ICANON | ECHO) ? "lost" : "kept");
}
'''


def test_modes_that_a_command_sets_at_once_stay(screen):
    """The terminal is ready before the command: what that sets first thing is not overwritten, busy as the machine may be."""
    screen.ward.file('quick.c', QUICK)
    assert screen.does('gcc -O2 -static -o quick quick.c') == ''
    busy = [subprocess.Popen(['sh', '-c', 'while :; do :; done']) for _ in range(2 * os.cpu_count())]
    try:
        for _ in range(60):
            assert screen.does('ward run -- ./quick') == 'kept\n'
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_vi_edits_a_file(terminal):
    terminal.type('ward run -- vi -i NONE file', '~')
    time.sleep(0.3)
    terminal.send('ihello from vi\x1b')
    time.sleep(0.2)
    terminal.send(':wq\r')
    terminal.ready()
    assert (terminal.ward.work / 'file').read_text() == 'hello from vi\n'
    assert terminal.does('echo still$((1))') == 'still1\n'


def test_less_pages_a_file_and_a_pipe(terminal):
    terminal.does('export LESSHISTFILE=-')  # what it would keep at home is not what this is about
    for line in ('seq 1000 > numbers; ward run -- less numbers', 'seq 1000 | ward run -- less', 'seq 1000 | ward run -- less -X'):
        terminal.type(line, '\n22')
        time.sleep(0.3)
        terminal.send('G')
        terminal.expect_exact('1000')
        terminal.send('q')
        terminal.ready()


def test_the_python_prompt_works(screen):
    screen.type('ward run -- /usr/bin/python3 -I -q', '>>> ')
    screen.type('6 * 7', '42', '>>> ')
    screen.type('import readline, os; os.isatty(0)', 'True', '>>> ')
    screen.send('import tim')
    screen.send('e\r')
    screen.expect_exact('>>> ')
    screen.sendintr()
    screen.expect_exact('KeyboardInterrupt')
    screen.sendeof()
    screen.ready()


def test_top_shows_the_sandboxs_own_processes(terminal):
    text = terminal.does('ward run --approval never -- top -b -n 1 | cat')
    assert 'Tasks:' in text and 'top' in text and 'pytest' not in text
    terminal.type('ward run --approval never -- top -d 1', 'Tasks:')
    time.sleep(0.5)
    terminal.send('q')
    terminal.ready()


def test_closing_the_terminal_ends_the_run(ward):
    word = marker()
    terminal = Terminal(ward)
    terminal.type(f"ward run -- sh -c 'echo go$((1)); sleep 300; :' {word}", 'go1')
    assert wait_until(lambda: processes(word))
    terminal.close(force=True)
    assert all_gone(word)


def test_notices_stand_on_lines_of_their_own(screen):
    outside = screen.ward.place / 'outside'
    outside.mkdir()
    screen.ward.person.own(outside)
    screen.sendline(f"ward run --approval never -- sh -c 'echo x > {outside}/f'")
    screen.expect_exact(f'\r\nward: refused: write {outside}/f')
    screen.ready()
