# SPDX-License-Identifier: Apache-2.0
"""Completion in bash, zsh and fish: it offers what the help says, and what ward can list."""
import pathlib
import re
import shutil

import pexpect
import pytest

from support import PATIENCE

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / 'completions'


def offered(ward, *words):
    done = ward('complete', '--', *words)
    assert (done.code, done.err) == (0, '')
    return [line.split('\t')[0] for line in done.out.splitlines()]


def verbs(ward):
    return re.findall(r'^  ([a-z]+) +\S', ward('--help').out.split('Examples')[0], re.MULTILINE)


def test_every_verb_and_every_option_of_its_help_is_offered(plain):
    ward = plain
    assert {'run', 'check', 'approve', 'policy'} < set(verbs(ward))
    assert offered(ward, '') == [*verbs(ward), '--help', '--version']
    for verb in verbs(ward):
        shown = ward(verb, '--help').out
        listed = {name for line in re.findall(r'^  (-[^\n]*)', shown, re.MULTILINE) for name in re.findall(r'(?:^|, |  )(--?[a-z][-a-z]*)', line)}
        assert listed <= set(offered(ward, verb, '-')), verb
        for second in set(re.findall(rf'^(?:usage: |       )ward {verb} ([a-z]+)', shown, re.MULTILINE)):
            assert second in offered(ward, verb, ''), (verb, second)


@pytest.mark.parametrize('words, wanted', [
    (['run', '--net', ''], ['none', 'restricted', 'full']),
    (['run', '--net', 'r'], ['restricted']),
    (['run', '--net=f'], ['--net=full']),
    (['run', '--approval', 'on-'], ['on-failure', 'on-request']),
    (['run', '--workspace', ''], [':directories']),
    (['run', '--write', 'a'], [':files']),
    (['check', '--write', 'a'], [':files']),
    (['run', '--', 'mak'], [':command 2']),
    (['run', '--net', '--', 'mak'], []),
    (['run', '--json', '--', 'make', 'al'], [':command 3']),
    (['run', '--allow-host', 'registry:np'], ['registry:npm']),
    (['policy', 'tr'], ['trust']),
    (['policy', 'trust', ''], [':directories']),
    (['token', 'mint', '--exp'], ['--expires']),
    (['trust', 'over'], ['override']),
    (['trust', 'reset', 'me', '--w'], ['--why']),
    (['incidents', 'k'], ['kill']),
    (['nonsense', ''], []),
    (['show', 'l'], ['last']),
])
def test_what_comes_next(plain, words, wanted):
    assert offered(plain, *words) == wanted


def test_runs_are_offered_with_their_command_and_nothing_steers_the_terminal(plain):
    ward = plain
    assert ward('run', '--', 'true', 'a\tb\x1b]0;x\x07\n').code == 0
    line, = ward('complete', '--', 'show', '0').out.splitlines()
    name, about = line.split('\t')
    assert re.fullmatch('[0-9a-z]{26}', name) and about.startswith('true') and about.isprintable()


def test_without_words_it_says_what_it_wants(plain):
    done = plain('complete')
    assert done.code == 125 and 'give the words after ward' in done.err


def script_of(ward, name):
    """Where the plain user can read it."""
    return ward.file(name, (SCRIPTS / name).read_text())


def test_bash(plain):
    script = f'''source {script_of(plain, 'ward.bash')}
    try() {{ COMP_LINE="$*" COMP_POINT=${{#COMP_LINE}} COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _ward; echo "${{COMPREPLY[*]}}"; }}
    compopt() {{ :; }}
    PATH=$1:$PATH; mkdir place; touch placid
    try ward pol; try ward run --net r; try ward run --workspace pl; try ward run --write pl; try ward run -- tru; try ward run --allow-host registry : np'''
    done = plain('-c', script.replace('$1', str(pathlib.Path(plain.binary).parent)), program='/bin/bash')
    assert done.out.splitlines()[:4] == ['policy', 'restricted', 'place', 'place placid'], done
    assert 'true' in done.out.splitlines()[4].split()


@pytest.mark.skipif(not shutil.which('fish'), reason='needs fish')
def test_fish(plain):
    def completed(line):
        script = f'set -x PATH {pathlib.Path(plain.binary).parent} $PATH; source {script_of(plain, "ward.fish")}; complete -C "{line}"'
        done = plain('--no-config', '-c', script, program=shutil.which('fish'))
        assert done.code == 0, done
        return [each.split('\t')[0] for each in done.out.splitlines()]
    plain.file('placid', '')
    assert completed('ward pol') == ['policy']
    assert completed('ward run --net ') == ['full', 'none', 'restricted']
    assert 'registry:npm' in completed('ward run --allow-host reg')
    assert completed('ward run --write plac') == ['placid']
    assert 'true' in completed('ward run -- tru')


@pytest.mark.skipif(not shutil.which('zsh'), reason='needs zsh')
@pytest.mark.parametrize('typed, wanted', [('ward pol', 'ward policy '), ('ward run --net re', 'ward run --net restricted '),
                                           ('ward run --allow-host registry:np', 'ward run --allow-host registry:npm '),
                                           ('ward run --write plac', 'ward run --write placid '), ('ward run -- ls plac', 'ward run -- ls placid ')])
def test_zsh(plain, typed, wanted):
    plain.file('placid', '')
    setup = f'fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D; path=({pathlib.Path(plain.binary).parent} $path); PS1="READY> "; '
    child = pexpect.spawn(shutil.which('zsh'), ['-f', '-i'], cwd=plain.work, encoding='utf-8', timeout=PATIENCE, dimensions=(40, 200),
                          env={'PATH': '/usr/bin:/bin', 'HOME': str(plain.home), 'TERM': 'dumb', 'LANG': 'C.UTF-8', 'XDG_STATE_HOME': str(plain.state)})
    try:
        child.sendline(setup + 'show() { print -r -- "shown [$BUFFER]"; BUFFER=; zle accept-line }; zle -N show; bindkey "^X" show; print set-up')
        child.expect_exact('set-up\r\n')
        child.expect_exact('READY> ')
        child.send(typed + '\t\x18')
        child.expect(r'shown \[([^\]]*)\]')
        assert child.match.group(1) == wanted
    finally:
        child.close(force=True)
