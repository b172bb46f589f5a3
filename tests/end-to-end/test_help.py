# SPDX-License-Identifier: Apache-2.0
"""Help, and what is said to those who mistyped."""
import re

import pytest

from support import SOURCE

RUN_FLAGS = ['-c', '--workspace', '--cwd', '--level', '--shell', '--login', '--read', '--write', '--read-only', '--deny', '--net',
             '--allow-socket', '--allow-host', '--deny-host', '--publish', '--allow-syscall', '--deny-syscall', '--require', '--trace-reads', '--wait', '--timeout', '--output',
             '--env', '--keep-env', '--caches', '--agent', '--session', '--tool', '--call-id', '--turn',
             '--reason', '--json', '--quiet', '--no-pty']
FLAGS = {
    'run': RUN_FLAGS + ['--approval', '--sandbox', '--escalated', '--profile', '--policy'],
    'check': ['--json', '--batch'],
    'events': ['--follow', '--since', '--run', '--agent', '--session', '--kind', '--json'],
    'watch': ['Enter', '--lines'],
    'pending': ['--json'],
    'approve': ['--scope', '--extent', '--unsandboxed', '--reason'],
    'deny': ['--scope', '--abort', '--reason'],
    'grants': ['--json', '--session', 'revoke'],
    'session': ['--json', 'end'],
    'web': ['--as', '--port', '--listen', '--anywhere', '--host', 'link', 'sessions', 'revoke'],
    'caches': ['--json', 'clear', '--all'],
    'notify': ['list', 'retry', 'drop', '--json', '--all'],
    'top': ['--once', '--json', '--agent', '--session', '--user', '--all', 'Enter'],
    'stats': ['--days', '--agent', '--json'],
    'trust': ['task', 'override', 'reset', 'learn', 'accept', '--why', '--json'],
    'log': ['--json', '-n', '--agent', '--session', '--denied'],
    'show': ['--json', 'last'],
    'audit': ['verify', 'export', '--since'],
    'policy': ['check', 'show', 'sets', 'trust', 'untrust', '--json', '--flags', '--policy', '--workspace'],
    'init': ['--agent', '--project', '--user', '--remove', '--no-policy', '--write', '--dry-run'],
    'mcp': ['--workspace', '--profile', '--agent', '--session'],
    'serve': ['--stdio', '--events'],
}
VERBS = list(FLAGS)


@pytest.mark.parametrize('verb', VERBS)
def test_the_help_of_every_verb_names_its_options(plain, verb):
    done = plain(verb, '--help')
    assert done.code == 0 and done.err == ''
    assert done.out.startswith(f'usage: ward {verb}')
    missing = [flag for flag in FLAGS[verb] if not re.search(rf'(?<![\w-]){re.escape(flag)}(?![\w-])', done.out)]
    assert not missing
    assert all(len(line) <= 120 for line in done.out.splitlines())


@pytest.mark.parametrize('verb', VERBS)
def test_an_unknown_option_says_what_to_do(plain, verb):
    done = plain(verb, '--no-such-option')
    assert done.code == 125 and done.out == ''
    assert f'ward {verb} --help' in done.err
    assert '--no-such-option' in done.err or verb == 'serve'


def test_help_lists_the_verbs(plain):
    for words in (['--help'], ['-h'], ['help']):
        done = plain(*words)
        assert done.code == 0
        for verb in VERBS:
            assert re.search(rf'^  {verb} ', done.out, re.MULTILINE), verb
    assert plain().code == 125


def test_an_unknown_verb_says_what_to_do(plain):
    done = plain('runn', '--', 'true')
    assert done.code == 125 and done.out == ''
    assert "'runn'" in done.err and 'ward --help' in done.err and 'ward run -- COMMAND' in done.err


def test_help_about_a_verb_is_the_verbs_own(plain):
    assert plain('help', 'run').out == plain('run', '--help').out != ''
    assert plain('help', 'policy').out == plain('policy', '--help').out != ''
    assert plain('help', 'runn').code == 125


def test_the_version(plain):
    assert re.fullmatch(r'ward \d+\.\d+\.\d+\n', plain('--version').out)


def test_help_that_cannot_be_written_is_a_failure(plain):
    assert plain.shell('$WARD run --help > /dev/full; echo $?').out == '125\n'


def test_the_manual_names_every_flag_of_the_help(plain):
    manual = (SOURCE / 'docs' / 'ward.1').read_text()
    for flag in RUN_FLAGS:
        assert re.search(rf'^\.It Fl {re.escape(flag[1:])}\b', manual, re.MULTILINE), f'{flag} is not in the manual'


def test_the_manual_has_no_flag_that_is_not_there(plain):
    manual = (SOURCE / 'docs' / 'ward.1').read_text()
    section = manual[manual.index('Options of ward run'):manual.index('Inside the sandbox')]
    help = plain('run', '--help').out
    for name in re.findall(r'^\.It Fl -([\w-]+)', section, re.MULTILINE):
        assert f'--{name}' in help, name
