# SPDX-License-Identifier: Apache-2.0
"""One result of one shape, whatever happened: ward run --json (design, section 7)."""
import json
import os
import re
import signal

import pytest

from support import warnings_here

WALLS = {'userns', 'mountns', 'pidns', 'ipcns', 'utsns', 'netns', 'cgroupns', 'readonly', 'masks', 'dev', 'proc', 'tmp', 'run',
         'landlock', 'seccomp', 'notify', 'no_new_privs', 'capabilities', 'environment', 'fds', 'init'}
NOT_STARTED = {'exit_code': -1, 'signal': None, 'timed_out': False, 'limit': None, 'duration_ms': 0, 'stdout': '',
               'truncated': False}


def holds(result, **expected):
    assert {key: result[key] for key in expected} == expected, json.dumps(result, indent=1)


def is_synthetic(result, kind, message, status, hint=None):
    """A failure before the start: exit_code -1, the message on stderr and aggregated, no duration."""
    holds(result, status=status, stderr=result['error']['message'], aggregated_output=result['error']['message'], **NOT_STARTED)
    assert result['error']['kind'] == kind
    assert message in result['error']['message']
    if hint:
        assert hint in result['error']['hint']


def test_success_has_the_commands_own_output(ward):
    result = ward.result('--', 'sh', '-c', 'echo out; echo err >&2')
    holds(result, status=0, verdict='allow', source='default', exit_code=0, signal=None, timed_out=False, limit=None,
          stdout='out\n', stderr='err\n', truncated=False, sandbox_warnings=warnings_here(), error=None)
    assert sorted(result['aggregated_output'].splitlines()) == ['err', 'out']
    assert result['duration_ms'] > 0
    assert 'lossy' not in result


def test_every_run_has_an_id_of_its_own(plain):
    ids = {plain.result('--', 'true')['run'] for _ in range(5)}
    assert len(ids) == 5
    assert all(re.fullmatch(r'[0-9a-z]{20,40}', run) for run in ids)


def test_decisions_are_told_stage_by_stage(plain):
    decisions = plain.result('--', 'true')['decisions']
    assert [(d['stage'], d['verdict'], d['source']) for d in decisions] == [
        ('assess', 'safe', 'default'), ('decide', 'allow', 'default')]


def test_the_attempt_names_its_level_and_all_walls(ward):
    attempt, = ward.result('--', 'true')['attempts']
    assert attempt['level'] == 'restricted'
    assert attempt['exit_code'] == 0
    assert attempt['denials'] == []
    assert set(attempt['walls']) >= WALLS


def test_failure_keeps_exit_code_and_output(ward):
    result = ward.result('--', 'sh', '-c', 'echo out; echo err >&2; exit 3')
    holds(result, status=3, exit_code=3, signal=None, stdout='out\n', stderr='err\n', error=None)
    assert result['attempts'][0]['exit_code'] == 3
    assert result['duration_ms'] > 0


def test_a_command_that_failed_after_a_refusal_keeps_exit_code_and_output(ward):
    """It started: its exit code and its output are its own; what was refused stands beside them."""
    result = ward.result('--', 'sh', '-c', 'echo out; echo err >&2; echo x > /etc/ward-test-file; exit 3')
    holds(result, status=3, exit_code=3, stdout='out\n')
    assert 'err\n' in result['stderr'] and 'out\n' in result['aggregated_output']
    assert result['duration_ms'] > 0
    assert [d['object'] for d in result['attempts'][0]['denials']] == ['/etc/ward-test-file']


def test_a_refusal_that_was_wards_is_the_error_of_a_failed_command(plain):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    result = plain.result('--', 'sh', '-c', f'echo x > {outside}/file || exit 3')
    holds(result, status=3, exit_code=3)
    assert result['error']['kind'] == 'sandbox_denied'
    assert str(outside / 'file') in result['error']['message']
    assert '--write' in result['error']['hint']


def test_a_refusal_is_no_error_of_a_command_that_succeeded(plain):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    result = plain.result('--', 'sh', '-c', f'echo x > {outside}/file || true; echo fine')
    holds(result, status=0, exit_code=0, stdout='fine\n', error=None)
    assert len(result['attempts'][0]['denials']) == 1


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1])
def test_a_signal_is_told_as_such(plain, number):
    result = plain.result('--', 'sh', '-c', f'echo before; kill -{int(number)} $$')
    holds(result, status=128 + number, exit_code=128 + number, signal=number, timed_out=False, stdout='before\n', error=None)


def test_not_found(ward):
    result = ward.result('--', 'no-such-program-anywhere')
    is_synthetic(result, 'engine', 'no-such-program-anywhere: not found', 127, hint='PATH')


def test_not_found_by_path(plain):
    is_synthetic(plain.result('--', './no-such-program'), 'engine', 'not found', 127)


def test_not_executable(ward):
    ward.file('plain.txt', 'text', mode=0o644)
    is_synthetic(ward.result('--', './plain.txt'), 'engine', 'plain.txt cannot be executed', 126, hint='execute permission')


def test_a_directory_is_not_executable(plain):
    is_synthetic(plain.result('--', '/etc'), 'engine', '/etc cannot be executed', 126)


def test_timeout_is_returned_with_the_output_so_far(ward):
    result = ward.result('--timeout', '1s', '--', 'sh', '-c', 'echo early; echo warning >&2; sleep 300')
    holds(result, status=124, timed_out=True, limit='time', stdout='early\n', stderr='warning\n')
    assert result['error']['kind'] == 'timeout'
    assert '1 s' in result['error']['message']
    assert result['duration_ms'] >= 1000


@pytest.mark.parametrize('command', ['rm -rf /', 'rm -r -f /*', 'dd if=/dev/zero of=/dev/sda', ':(){ :|:& };:'])
def test_what_is_forbidden_never_starts(ward, command):
    result = ward.result('-c', command)
    is_synthetic(result, 'rejected', 'refused: ', 126, hint='a person runs it')
    holds(result, verdict='deny', source='rule', attempts=[])
    assert [d['verdict'] for d in result['decisions']] == ['forbidden', 'deny']


def test_forbidden_is_seen_through_wrappers(plain):
    is_synthetic(plain.result('--', 'env', 'X=1', 'nice', 'rm', '-rf', '/'), 'rejected', 'refused', 126)


def test_forbidden_holds_without_the_sandbox_too(plain):
    is_synthetic(plain.result('--level', 'none', '--', 'rm', '-rf', '/'), 'rejected', 'refused', 126)


def test_unwritable_state_is_an_engine_failure(plain):
    plain.state.chmod(0o500)
    flag = plain.work / 'ran'
    result = plain.result('--', 'touch', flag)
    plain.state.chmod(0o700)
    is_synthetic(result, 'engine', 'state directory', 125, hint='XDG_STATE_HOME')
    assert not flag.exists()


def test_a_broken_record_is_an_engine_failure(ward):
    assert ward.run('true').code == 0
    ward.log.write_bytes(ward.log.read_bytes().splitlines(keepends=True)[0])
    flag = ward.work / 'ran'
    result = ward.result('--', 'touch', flag)
    is_synthetic(result, 'engine', '', 125, hint='ward audit verify')
    assert not flag.exists()


@pytest.mark.parametrize('flags, message', [
    (['--no-such-flag'], 'unknown option --no-such-flag'),
    (['--timeout', 'soon', '--', 'true'], '--timeout'),
    (['--level', 'airtight', '--', 'true'], '--level'),
    (['--net', 'some', '--', 'true'], '--net'),
    (['--env', 'NOVALUE', '--', 'true'], '--env'),
    (['--write', '/no/such/place', '--', 'true'], '/no/such/place'),
    (['--allow-socket', 'no-such', '--', 'true'], 'no-such'),
    (['--workspace', '/no/such/place', '--', 'true'], '--workspace'),
    (['--cwd', '/no/such/place', '--', 'true'], '--cwd'),
    (['-c', 'true', 'false'], 'both'),
    (['--timeout'], '--timeout needs a value'),
    (['--json=yes', '--', 'true'], '--json takes no value'),
    (['--session', '../../escape', '--', 'true'], 'session'),
    ([], 'no command'),
    (['--', ''], 'no command'),
])
def test_bad_flags_are_engine_failures(plain, flags, message):
    is_synthetic(plain.result(*flags), 'engine', message, 125)


@pytest.mark.parametrize('flags', [['--no-such-flag', '--json', '--', 'true'], ['--no-such-flag', 'value', '--json', '-c', 'true'],
                                   ['--timeout', 'soon', '--json', '--', 'true']])
def test_bad_flags_before_json_are_told_as_an_object(plain, flags):
    done = plain('run', *flags)
    assert done.code == 125 and done.err == ''
    is_synthetic({**json.loads(done.out), 'status': done.code}, 'engine', flags[0], 125)


@pytest.mark.parametrize('flags', [['--no-such-flag', '--', 'ls', '--json'], ['--no-such-flag', '-c', 'true', 'ls', '--json']])
def test_the_json_of_a_command_is_not_wards(plain, flags):
    done = plain('run', *flags)
    assert done.code == 125 and done.out == '' and '--no-such-flag' in done.err


def test_json_goes_to_stdout_alone(ward):
    done = ward('run', '--json', '--', 'sh', '-c', 'echo out; echo err >&2; echo x > /etc/ward-test-file')
    assert json.loads(done.out)['stdout'] == 'out\n'
    assert done.err == ''


def test_resources_are_reported(ward):
    result = ward.result('--', '/usr/bin/python3', '-c', 'x = bytearray(50 << 20)\nfor i in range(2000000): pass\n'
                         'open("big", "wb").write(x); import os; os.sync()')
    used = result['resources']
    assert used['cpu_ms'] > 10
    assert used['max_rss_kb'] > 50 << 10
    assert used['io_write_kb'] >= 50 << 10
    assert used['processes'] == 1


def test_processes_are_counted(plain):
    assert plain.result('--', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; :')['resources']['processes'] == 10


def test_of_what_was_ended_the_use_is_known_as_far_as_it_can_be_seen(plain):
    used = plain.result('--timeout', '1s', '--', 'sh', '-c', """for i in 1 2 3; do sleep 60 & done
        exec /usr/bin/python3 -c 'x = bytearray(50 << 20); import time; time.sleep(60)'""")['resources']
    assert used['max_rss_kb'] > 50 << 10 and used['processes'] == 4, used


def test_level_none_reports_itself(ward):
    result = ward.result('--level', 'none', '--', 'sh', '-c', 'echo out; exit 4')
    holds(result, status=4, exit_code=4, verdict='allow', source='flag', stdout='out\n', error=None)
    attempt, = result['attempts']
    assert attempt['level'] == 'none' and attempt['walls'] == [] and attempt['masks'] == []


def test_masks_that_stood_are_listed(ward):
    ward.file('.env', 'KEY=1')
    masks = ward.result('--', 'true')['attempts'][0]['masks']
    assert str(ward.work / '.env') in masks
    assert str(ward.state / 'ward') in masks
    assert not os.access('/etc/shadow', os.R_OK) or not ward.person.is_root or '/etc/shadow' in masks
