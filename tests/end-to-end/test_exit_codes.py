# SPDX-License-Identifier: Apache-2.0
"""Exit codes of ward run: the command's own; 128+N; 124, 125, 126, 127 (design, section 7)."""
import pathlib
import tempfile

import pytest


@pytest.mark.parametrize('code', [0, 1, 2, 42, 123, 124, 125, 126, 127, 128, 255])
def test_the_commands_own_exit_code_is_wards(plain, code):
    assert plain.sh(f'exit {code}').code == code


@pytest.mark.parametrize('signal', [1, 2, 3, 6, 9, 11, 13, 14, 15])
def test_a_signal_gives_128_and_its_number(plain, signal):
    assert plain.sh(f'kill -{signal} $$').code == 128 + signal


@pytest.mark.parametrize('script, code, words', [
    ('$WARD run -- no-such-program-anywhere', 127, ['no-such-program-anywhere: not found', '-c']),
    ('$WARD run -- ./missing', 127, ['./missing: not found']),
    ('touch data; $WARD run -- ./data', 126, ['./data cannot be executed', 'execute permission']),
    ('$WARD run --timeout 300ms -- sleep 300', 124, ['timed out after 0.3 s']),
    ("$WARD run -c 'rm -rf /'", 126, ['refused: it deletes the whole file system', 'a person runs it']),
    ('$WARD run --approval never -- git push --force', 126, ['refused: it rewrites', 'the approval policy is never', 'exactly: ["git", "push", "--force"]']),
    ('$WARD run --approval never --sandbox forbid -- true', 126, ['without the sandbox', 'the approval policy is never', '--level none']),
    ('$WARD run --bad-flag -- true', 125, ['unknown option --bad-flag', '`ward run --help`']),
    ('$WARD run', 125, ['there is no command to run', 'ward run -- COMMAND']),
    ('XDG_STATE_HOME=/proc/nowhere $WARD run -- true', 125, ['state directory', 'XDG_STATE_HOME']),
])
def test_the_table(ward, script, code, words):
    done = ward.shell(script)
    assert done.code == code, done
    for word in words:
        assert word in done.err, done
    assert done.out == ''


def test_a_refusal_by_a_rule_names_the_rule(plain):
    path = plain.policy('rules:\n  - {command: make, do: deny, why: not here}\n')
    done = plain.run('make')
    assert done.code == 126 and 'refused: not here' in done.err and f'the rule at {path}:2' in done.err, done


def test_the_rule_that_a_refusal_names_permits_it(plain):
    done = plain.run('git', 'push', '--force', flags=['--approval', 'never'])
    rule = done.err[done.err.index('{exactly:'):].strip()
    plain.policy(f'rules:\n  - {rule}\n')
    assert plain.run('git', 'push', '--force', flags=['--approval', 'never']).code not in (0, 125, 126)  # git's own: there is no repository


def test_a_program_on_the_path_that_cannot_be_executed_is_told_from_one_that_is_not_there(plain):
    plain.file('bin/tool', '#!/bin/sh\n', mode=0o644)
    path = f'{plain.work}/bin:/usr/bin:/bin'
    assert plain.run('tool', env={'PATH': path}).code == 126
    (plain.work / 'bin' / 'tool').chmod(0o755)
    assert plain.run('tool', env={'PATH': path}).code == 0


def test_a_missing_interpreter_is_not_found(plain):
    plain.file('scripted', '#!/no/such/interpreter\n', mode=0o755)
    for level in ('restricted', 'none'):
        done = plain('run', '--level', level, '--', './scripted')
        assert done.code == 127 and './scripted: what it is to be run by was not found' in done.err and 'first line' in done.err, done
    done = plain.run('scripted', env={'PATH': f'{plain.work}:/usr/bin'})
    assert done.code == 127 and f'{plain.work}/scripted: what it' in done.err, done


def test_a_program_that_the_sandboxs_own_tmp_hides_is_told_as_such(plain):
    with tempfile.TemporaryDirectory(dir='/tmp') as place:
        script = pathlib.Path(place, 'script')
        script.write_text('#!/bin/sh\necho ran\n')
        script.chmod(0o755)
        pathlib.Path(place).chmod(0o755)
        done = plain.run(script)
        assert done.code == 127 and f'{script}: not found: the sandbox has a /tmp of its own' in done.err, done
        assert f'--read {script}' in done.err


def test_a_script_without_first_line_is_run_by_sh(ward):
    ward.file('script', 'echo "$0 $1 $#"; exit 7\n', mode=0o755)
    done = ward.run('./script', 'a b', 'c')
    assert (done.code, done.out) == (7, './script a b 2\n')


def test_arguments_are_taken_literally(ward):
    words = ['a b', '$HOME', '*', '', "it's", '"quoted"', 'new\nline', '--json', '-c', '\\', 'ü']
    done = ward.run('printf', '%s\\0', *words)
    assert done.raw_out.decode().split('\0')[:-1] == words


def test_options_end_at_the_first_word_that_is_none(plain):
    assert plain('run', 'echo', '--json', '--', '-c').out == '--json -- -c\n'


def test_shell_text_runs_in_bash_unless_told_otherwise(plain):
    assert plain('run', '-c', 'echo ${BASH_VERSION:+bash} | cat').out == 'bash\n'
    assert plain('run', '--shell', '/bin/sh', '-c', 'echo ${BASH_VERSION:-none}').out == 'none\n'
    assert plain('run', '-c', 'exit 9').code == 9


def test_a_login_shell_loads_the_profile_only_when_asked(plain):
    profile = plain.home / '.profile'
    profile.write_text('export FROM_PROFILE=yes\n')
    plain.person.own(profile)
    assert plain('run', '-c', 'echo ${FROM_PROFILE:-no}').out == 'no\n'
    assert plain('run', '--login', '-c', 'echo ${FROM_PROFILE:-no}').out == 'yes\n'


def test_a_missing_shell_is_not_found(plain):
    assert plain('run', '--shell', '/no/such/shell', '-c', 'true').code == 127


def test_check_explains_and_runs_nothing(plain):
    for words, code in ((['true'], 0), (['git', 'push'], 1), (['rm', '-rf', '/'], 2)):
        assert plain('check', '--', *words).code == code
    assert plain('check', '--', 'touch', 'ran').code == 0
    assert not (plain.work / 'ran').exists()
    assert plain('check', '--no-such').code == 125
