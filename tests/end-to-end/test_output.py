# SPDX-License-Identifier: Apache-2.0
"""What is kept of the output for the result, and what streams on."""
import json

import pytest

KEPT = 1 << 20  # of each stream


def test_output_that_is_not_utf8_is_marked_lossy(ward):
    result = ward.result('--', 'printf', r'a\377b\200')
    assert result['stdout'] == 'a�b�'
    assert result['lossy'] is True


def test_utf8_is_not_lossy(plain):
    result = plain.result('--', 'printf', 'Grüße, 世界 🙂')
    assert result['stdout'] == 'Grüße, 世界 🙂'
    assert 'lossy' not in result


def test_control_bytes_survive_in_json(plain):
    assert plain.result('--', 'printf', r'a\033[1m\r\n\001')['stdout'] == 'a\033[1m\r\n\001'


def test_a_nul_byte_is_marked_lossy(plain):
    """Too many readers of JSON cannot take one."""
    result = plain.result('--', 'printf', r'a\000b')
    assert (result['stdout'], result['lossy']) == ('a�b', True)


def test_aggregated_output_has_the_order_in_which_it_came(ward):
    script = 'for i in 1 2 3 4 5; do echo out$i; sleep 0.1; echo err$i >&2; sleep 0.1; done'
    result = ward.result('--', 'sh', '-c', script)
    assert result['aggregated_output'].split() == [f'{stream}{i}' for i in range(1, 6) for stream in ('out', 'err')]
    assert result['stdout'].split() == [f'out{i}' for i in range(1, 6)]
    assert result['stderr'].split() == [f'err{i}' for i in range(1, 6)]


def test_exactly_a_mebibyte_is_kept_whole(plain):
    result = plain.result('--', 'sh', '-c', f'head -c {KEPT} /dev/zero | tr "\\0" k')
    assert result['stdout'] == 'k' * KEPT
    assert result['truncated'] is False


@pytest.mark.parametrize('stream', ['stdout', 'stderr'])
def test_beyond_a_mebibyte_head_and_tail_are_kept(plain, stream):
    script = 'echo HEAD; head -c 3000000 /dev/zero | tr "\\0" x; echo TAIL'
    result = plain.result('--', 'sh', '-c', f'{{ {script}; }} {">&2" if stream == "stderr" else ""}')
    text = result[stream]
    assert result['truncated'] is True
    assert text.startswith('HEAD\nxxx') and text.endswith('xxxTAIL\n')
    assert KEPT <= len(text) <= KEPT + 200
    assert f'{3000000 + 10 - KEPT} bytes left out' in text
    assert result['aggregated_output'].startswith('HEAD\n') and result['aggregated_output'].endswith('TAIL\n')


def test_one_stream_too_long_leaves_the_other_whole(plain):
    result = plain.result('--', 'sh', '-c', 'echo small >&2; head -c 3000000 /dev/zero')
    assert result['stderr'] == 'small\n'
    assert result['truncated'] is True


def test_streaming_goes_on_in_full_beyond_what_is_kept(ward):
    done = ward.sh('head -c 5000000 /dev/zero | tr "\\0" y; head -c 3000000 /dev/zero | tr "\\0" z >&2')
    assert done.code == 0
    assert done.raw_out == b'y' * 5000000
    assert done.raw_err == b'z' * 3000000


def test_the_output_limit_ends_the_run(ward):
    result = ward.result('--output', '1M', '--', 'yes')
    assert result['limit'] == 'output'
    assert result['timed_out'] is False
    assert result['status'] == 137
    assert result['stdout'].startswith('y\ny\n')


def test_output_within_its_limit_ends_nothing(plain):
    result = plain.result('--output', '1M', '--', 'head', '-c', '1000000', '/dev/zero')
    assert (result['limit'], result['exit_code'], len(result['stdout'])) == (None, 0, 1000000)


def test_notices_go_to_stderr_behind_the_commands_output(ward):
    done = ward.sh('echo out; echo err >&2; echo x > /etc/ward-test-file; exit 1', '--level', 'restricted')
    assert done.out == 'out\n'
    assert done.err.startswith('err\n')
    for line in done.err.splitlines()[1:]:
        assert line.startswith(('ward: ', '      ')) or 'ward-test-file' in line, line


def test_quiet_prints_no_notices(plain):
    outside = plain.place / 'outside'
    outside.mkdir(mode=0o755)
    plain.person.own(outside)
    assert 'ward: refused' in plain.sh(f'2>/dev/null; echo x > {outside}/f').err
    assert 'ward: ' not in plain.sh(f'echo x > {outside}/f', '--quiet').err


def test_a_notice_names_what_was_refused_and_the_flag_that_permits_it(ward):
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    (outside / 'notes').write_text('')
    ward.person.own(outside / 'notes')
    done = ward.sh(f'echo x > {outside}/notes')
    assert f'ward: refused: write {outside}/notes' in done.err
    assert f'--write {outside}/notes' in done.err
    flag = done.err[done.err.index('--write'):].split()[:2]
    assert ward.sh(f'echo x > {outside}/notes', *flag).code == 0
    assert (outside / 'notes').read_text() == 'x\n'


def test_a_notice_cannot_steer_the_terminal(plain):
    """Names come from the command; what is printed of them is escaped."""
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    done = plain.python('import sys\ntry: open(sys.argv[1], "w")\nexcept OSError: sys.exit(1)', f'{outside}/\033]0;owned\a\r\nx')
    assert 'ward: refused' in done.err
    assert '\033' not in done.err and '\a' not in done.err and '\r' not in done.err
    assert len([line for line in done.err.splitlines() if 'refused' in line]) == 1


def test_a_name_that_is_not_utf8_is_lossy_in_its_denial(plain):
    result = plain.result('--', '/usr/bin/python3', '-c',
                          'import os, sys\nfor d in (b"/usr/\\377name",):\n try: os.open(d, os.O_CREAT | os.O_WRONLY)\n'
                          ' except OSError: pass')
    denial, = result['attempts'][0]['denials']
    assert denial['object'] == '/usr/�name'
    assert denial['lossy'] is True


def test_many_refusals_are_summed_up_on_stderr_and_whole_in_the_result(plain):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    script = f'for i in $(seq 40); do echo x > {outside}/f$i; done 2>/dev/null; false'
    done = plain.sh(script)
    assert len(done.err.splitlines()) <= 10
    assert '35 more' in done.err
    assert len(plain.denied(script)) == 40


def test_how_many_refusals_are_not_listed_is_said(plain):
    result = plain.result('--', 'sh', '-c', 'for i in $(seq 1500); do echo > /usr/ward-test-$i; done 2> /dev/null; true')
    listed = len(result['attempts'][0]['denials'])
    assert listed >= 1000
    assert listed == 1500 or f'{1500 - listed} further refusals' in result['sandbox_warnings'][0]


def test_the_same_refusal_again_is_counted_not_repeated(plain):
    result = plain.result('--', 'sh', '-c', 'for i in 1 2 3 4 5; do echo x > /usr/ward-test; done 2>/dev/null')
    denial, = result['attempts'][0]['denials']
    assert denial['count'] == 5


def test_a_closed_standard_output_or_error_does_no_harm(ward):
    """Whatever ward opens first would get their numbers: the command's output must not land there."""
    for closed in ('>&-', '2>&-', '>&- 2>&-', '<&-', '<&- >&- 2>&-'):
        assert ward.shell(f'$WARD run -- sh -c "echo OUT; echo ERR >&2; exit 5" {closed}').code == 5, closed
    log = ward.log.read_bytes()
    assert not any(line.startswith((b'OUT', b'ERR')) for line in log.splitlines())
    assert ward.verify().code == 0
    assert len(ward.records()) == 10


def test_a_closed_standard_error_does_not_stop_the_result(plain):
    done = plain.shell('$WARD run --json -- echo hello 2>&-')
    assert json.loads(done.out)['stdout'] == 'hello\n'


def test_output_that_cannot_be_written_is_not_lost_silently(plain):
    done = plain.shell('$WARD run -- echo hello > /dev/full')
    assert done.code != 0
    done = plain.shell('$WARD run --json -- echo hello > /dev/full')
    assert (done.code, done.err) == (125, 'ward: writing the result: No space left on device\n')


def test_output_does_not_wait_for_a_streak_of_calls(ward):
    """The supervisor waits up to 5 ms for the next call of a busy program; what is printed ends that. Else this takes 3 s and more."""
    script = '''if True:
        import os
        for number in range(600):
            for _ in range(11): os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY, 0o644))
            os.write(1, b'x' * 100000)'''
    took = []
    for _ in range(4):  # others on the machine only slow
        result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
        assert result['exit_code'] == 0
        took.append(result['duration_ms'])
        if took[-1] < 2500:
            return
    assert not took
