# SPDX-License-Identifier: Apache-2.0
"""Streaming, pipes, signals, time-outs: a command under ward runs as it would without."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from support import all_gone, marker, processes, resting, rests, wait_until

DAEMONS = {  # ways to leave one's parent
    'setsid': 'setsid sh -c "sleep 300; :" {0} & wait',
    'nohup': 'nohup sh -c "sleep 300; :" {0} >/dev/null 2>&1 & wait',
    'double fork': '( ( sh -c "sleep 300; :" {0} & ) & ); sleep 300',
    'daemon': 'python3 -c "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: os.closerange(0, 99); '
              'time.sleep(300)" {0}; sleep 300',
}


def test_output_arrives_before_the_command_ends(ward):
    process = ward.popen('run', '--', 'sh', '-c', 'echo first; echo warning >&2; read x; echo second', stdin=subprocess.PIPE)
    assert process.stdout.readline() == b'first\n'
    assert process.stderr.readline() == b'warning\n'
    assert process.poll() is None
    assert ward.finish(process, b'\n').out == 'second\n'


def test_a_line_without_its_end_arrives_too(plain):
    process = plain.popen('run', '--', 'sh', '-c', 'printf "name? "; read x; echo "hello $x"', stdin=subprocess.PIPE)
    assert os.read(process.stdout.fileno(), 100) == b'name? '
    assert plain.finish(process, b'you\n').out == 'hello you\n'


def test_streams_stay_apart(ward):
    done = ward.shell('$WARD run -- sh -c "echo out; echo err >&2" 2>err | cat > out; cat out; echo --; cat err')
    assert done.out == 'out\n--\nerr\n'


def test_streams_that_are_one_keep_their_order(ward):
    done = ward.shell('$WARD run -- sh -c "for i in \\$(seq 200); do echo out\\$i; echo err\\$i >&2; done" > both 2>&1; cat both')
    assert done.out.split() == [f'{s}{i}' for i in range(1, 201) for s in ('out', 'err')]


def test_appending_to_a_file_appends(ward):
    assert ward.shell('echo a > f; $WARD run -- echo b >> f; { echo c; $WARD run -- echo d; echo e; } >> f; cat f').out == 'a\nb\nc\nd\ne\n'


def test_a_reader_that_goes_away_ends_the_writer(ward):
    done = ward.shell('$WARD run -- yes | head -1; echo ${PIPESTATUS[0]}')
    assert done.out == 'y\n141\n'


def test_a_slow_reader_slows_the_command_and_loses_nothing(plain):
    process = plain.popen('run', '--', 'sh', '-c', 'seq 200000; echo done > finished')
    time.sleep(1)
    assert not (plain.work / 'finished').exists()
    assert plain.finish(process).out.splitlines() == [str(i) for i in range(1, 200001)]


def test_a_child_that_holds_the_output_open_does_not_hold_ward(ward):
    """The command is over when it ends; what it left behind ends with it."""
    word = marker()
    done = ward.sh(f'sh -c "sleep 300; :" {word} & echo started')
    assert (done.code, done.out) == (0, 'started\n')
    assert all_gone(word)


def test_everything_printed_before_the_end_is_there(plain):
    for _ in range(10):
        assert len(plain.sh('head -c 300000 /dev/zero; head -c 300000 /dev/zero | cat; exit 3').raw_out) == 600000


@pytest.mark.parametrize('name', ['INT', 'TERM', 'HUP', 'QUIT', 'USR1', 'USR2'])
def test_signals_are_forwarded(ward, name):
    process = ward.popen('run', '--', 'sh', '-c', f'trap "echo got {name}; exit 7" {name}; echo ready; while :; do sleep 0.05; done')
    assert process.stdout.readline() == b'ready\n'
    process.send_signal(getattr(signal, 'SIG' + name))
    done = ward.finish(process)
    assert (done.code, done.out) == (7, f'got {name}\n')


@pytest.mark.parametrize('level', ['restricted', 'none'])
def test_signals_at_the_end_of_a_command_do_not_change_its_exit_code(plain, level):
    """They find init gone already."""
    for _ in range(20):
        # A leak checker that is signalled at its work never comes to its end.
        process = plain.popen('run', '--level', level, '--', 'sh', '-c', 'echo ready; exit 3', env={'ASAN_OPTIONS': 'detect_leaks=0'})
        process.stdout.readline()
        for _ in range(300):
            process.send_signal(signal.SIGCONT)
        assert plain.finish(process).code == 3


@pytest.mark.parametrize('name', ['INT', 'TERM', 'HUP'])
def test_a_forwarded_signal_that_ends_the_command_is_its_exit_code(plain, name):
    rest = resting()
    process = plain.popen('run', '--', 'sh', '-c', f'exec sleep {rest}')
    assert rests(rest)
    process.send_signal(getattr(signal, 'SIG' + name))
    assert plain.finish(process).code == 128 + getattr(signal, 'SIG' + name)


def test_a_command_may_ignore_a_signal(plain):
    process = plain.popen('run', '--', 'sh', '-c', 'trap "" TERM; echo ready; read x; echo survived', stdin=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert plain.finish(process, b'\n').out == 'survived\n'


def test_signals_reach_every_process_of_the_commands_group(plain):
    word = marker()
    child = "trap 'echo child; exit' INT; echo ready; while :; do sleep 0.05; done"
    process = plain.popen('run', '--', 'sh', '-c', f'sh -c "{child}" {word}')
    assert process.stdout.readline() == b'ready\n'
    process.send_signal(signal.SIGINT)
    assert 'child' in plain.finish(process).out
    assert all_gone(word)


@pytest.mark.parametrize('way', DAEMONS)
def test_a_timeout_ends_daemons_too(ward, way):
    word = marker()
    result = ward.result('--timeout', '1s', '--', 'sh', '-c', DAEMONS[way].format(word))
    assert result['status'] == 124 and result['timed_out'] is True
    assert all_gone(word)


@pytest.mark.parametrize('way', DAEMONS)
def test_the_end_of_the_command_ends_daemons_too(ward, way):
    word = marker()
    script = DAEMONS[way].format(word).replace('; sleep 300', '').replace(' wait', ' :')
    assert ward.sh(f'{script}; sleep 0.3').code == 0
    assert all_gone(word)


def test_a_timeout_cannot_be_escaped_by_ignoring_signals_or_stopping(ward):
    word = marker()
    for script in ('trap "" TERM INT HUP; while :; do sleep 1; done', 'kill -STOP $$', 'while :; do :; done', 'kill -STOP 0; sleep 300'):
        assert ward.run('sh', '-c', script, word, flags=['--timeout', '1s']).code == 124, script
    assert all_gone(word)


def test_a_timeout_keeps_the_output_so_far_on_the_screen(plain):
    done = plain.sh('echo early; sleep 300', '--timeout', '1s')
    assert (done.code, done.out) == (124, 'early\n')
    assert 'timed out after 1 s' in done.err


def test_a_command_within_its_time_is_not_touched(plain):
    result = plain.result('--timeout', '60s', '--', 'sleep', '0.2')
    assert (result['exit_code'], result['timed_out'], result['limit']) == (0, False, None)


@pytest.mark.parametrize('text', ['1500ms', '1.5s', '1.5', '0.025m'])
def test_durations_are_written_in_many_ways(plain, text):
    assert plain.run('sleep', '300', flags=['--timeout', text]).code == 124


def test_level_none_runs_with_a_notice(ward):
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    done = ward.sh(f'echo x > {outside}/file; echo done', '--level', 'none')
    assert (done.code, done.out) == (0, 'done\n')
    assert 'without the sandbox' in done.err
    assert (outside / 'file').exists()
    assert [r['level'] for r in ward.records() if r['kind'] == 'run.start'] == ['none']


@pytest.mark.parametrize('way', DAEMONS)
def test_level_none_ends_its_tree_too(ward, way):
    word = marker()
    done = ward.run('sh', '-c', DAEMONS[way].format(word), flags=['--level', 'none', '--timeout', '1s'])
    assert done.code == 124
    assert all_gone(word)
    script = DAEMONS[way].format(word).replace('; sleep 300', '').replace(' wait', ' :')
    assert ward.run('sh', '-c', f'{script}; sleep 0.3', flags=['--level', 'none']).code == 0
    assert all_gone(word)


def test_level_none_ends_a_tree_that_forks_on(plain):
    word = marker()
    script = f'f() {{ sh -c "sleep 300; :" {word} & sh -c "sleep 300 & sleep 300; :" {word} & }}; (f; (f; (f; wait) & wait) & wait) & wait'
    assert plain.run('sh', '-c', script, flags=['--level', 'none', '--timeout', '1s']).code == 124
    assert all_gone(word)


@pytest.mark.parametrize('signal_name', ['INT', 'TERM'])
def test_a_run_ended_by_signal_leaves_nothing(ward, signal_name):
    word = marker()
    rest = resting()
    process = ward.popen('run', '--', 'sh', '-c', f'setsid sh -c "sleep 300; :" {word} & exec sleep {rest}')
    assert rests(rest) and wait_until(lambda: processes(f'sleep 300; :\0{word}'))
    process.send_signal(getattr(signal, 'SIG' + signal_name))
    assert ward.finish(process).code > 128
    assert all_gone(word)


@pytest.mark.parametrize('flags', [[], ['--level', 'none']], ids=['restricted', 'none'])
def test_a_caller_that_ignores_sigchld_gets_the_exit_code_all_the_same(plain, flags):
    ignoring = 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])'
    done = plain('-c', ignoring, plain.binary, 'run', *flags, '--', 'sh', '-c', '/bin/true; echo done; exit 7',
                 program='/usr/bin/python3')
    assert (done.code, done.out) == (7, 'done\n')


def test_a_long_command_line_runs(plain):
    done = plain.run('sh', '-c', 'echo $#', 'sh', *['x' * 100000] * 12)
    assert (done.code, done.out) == (0, '12\n')
    assert plain.verify().code == 0


def test_many_processes_and_much_output_at_once(plain):
    done = plain.sh('for i in $(seq 50); do (for j in $(seq 100); do echo "$i $j"; done) & done; wait')
    assert sorted(done.out.splitlines()) == sorted(f'{i} {j}' for i in range(1, 51) for j in range(1, 101))


@pytest.mark.parametrize('flags', [[], ['--json']], ids=['streaming', 'json'])
def test_memory_does_not_grow_with_the_output(plain, flags):
    sanitized = b'__asan_init' in pathlib.Path(plain.binary).read_bytes()
    process = plain.popen('run', *flags, '--', 'sh', '-c', 'head -c 300M /dev/zero; touch written; read x', stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL)
    assert wait_until((plain.work / 'written').exists)
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    assert plain.finish(process, b'\n').code == 0
    most = int(status.split('VmHWM:')[1].split()[0])
    assert most <= (80 << 10 if sanitized else 8 << 10), f'{most} KiB'


def test_the_result_of_a_run_that_was_signalled_is_whole(plain):
    rest = resting()
    process = plain.popen('run', '--json', '--', 'sh', '-c', f'echo before; exec sleep {rest}')
    assert rests(rest)
    process.send_signal(signal.SIGTERM)
    result = json.loads(plain.finish(process).out)
    assert (result['signal'], result['exit_code'], result['stdout'], result['timed_out']) == (15, 143, 'before\n', False)
