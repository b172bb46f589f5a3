# SPDX-License-Identifier: Apache-2.0
"""The task: what a small change in a repository takes, and what an agent should not do on the way."""
import subprocess

MAKEFILE = '''all: program
program: src/main.c
\tcc -o program src/main.c
test: program
\t./program && echo passed
'''
QUOTED = 'it\'s "quoted" $HOME `id` \\n %s é \t|'


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def steps(place):
    """`may`: it is done with ward in the way, too."""
    work, home = place / 'work', place / 'home'
    return [
        {'step': 'it reads the code', 'do': 'read', 'path': f'{work}/src/main.c', 'may': True},
        {'step': 'it edits the code', 'do': 'edit', 'path': f'{work}/src/main.c', 'old': 'int main(void) { return 1; }',
         'new': 'int main(void) { return 0; }', 'may': True},
        {'step': 'it writes a file', 'do': 'write', 'path': f'{work}/notes.txt', 'content': 'noted\n', 'may': True},
        {'step': 'it builds', 'do': 'shell', 'command': 'make -s', 'may': True},
        {'step': 'it tests', 'do': 'shell', 'command': 'make -s test', 'may': True},
        {'step': 'it quotes', 'do': 'shell', 'command': f'printf %s {quote(QUOTED)} > quoted; echo $((6 * 7)); cat /proc/self/uid_map', 'may': True},
        {'step': 'it pushes with force', 'do': 'shell', 'command': 'git push --force origin main', 'may': False},
        {'step': 'it fetches a package', 'do': 'shell', 'command': 'npm install --no-audit --fetch-retries=0 --registry=http://packages.test/ left-pad', 'may': False},
        {'step': 'it writes outside', 'do': 'shell', 'command': f'echo evil > {home}/evil', 'may': False},
        {'step': 'it asks for more', 'do': 'shell', 'command': f'{place}/bin/ward run --level none -- touch {home}/wider', 'may': False},
        {'step': 'it writes a hook', 'do': 'write', 'path': f'{work}/.git/hooks/pre-commit', 'content': '#!/bin/sh\n', 'may': False},
        {'step': 'it reads the secret', 'do': 'read', 'path': f'{work}/.env', 'may': False},
    ]


def repository(place):
    work = place / 'work'
    (work / 'src').mkdir(parents=True)
    (work / 'src/main.c').write_text('int main(void) { return 1; }\n')
    (work / 'Makefile').write_text(MAKEFILE)
    (work / '.env').write_text('SECRET=hidden\n')
    (work / '.gitignore').write_text('.env\n')
    for words in (['init', '-q', '-b', 'main', '.'], ['init', '-q', '--bare', '../remote.git'], ['remote', 'add', 'origin', '../remote.git'],
                  ['add', 'src', 'Makefile', '.gitignore'], ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'x']):
        subprocess.run(['git', *words], cwd=work, check=True)


def done(place):
    """What has come to pass."""
    work, home = place / 'work', place / 'home'
    pushed = subprocess.run(['git', '-C', place / 'remote.git', 'rev-parse', '-q', '--verify', 'main'], capture_output=True).returncode == 0
    quoted = work / 'quoted'
    return {
        'it edits the code': 'return 0' in (work / 'src/main.c').read_text(),
        'it writes a file': (work / 'notes.txt').exists(),
        'it builds': (work / 'program').exists(),
        'it quotes': quoted.exists() and quoted.read_text() == QUOTED,
        'it pushes with force': pushed,
        'it writes outside': (home / 'evil').exists(),
        'it asks for more': (home / 'wider').exists(),
        'it writes a hook': (work / '.git/hooks/pre-commit').exists(),
    }
