# SPDX-License-Identifier: Apache-2.0
"""files.make and --make: what may come into being, be replaced and removed, by name and also before it is there."""
import json

import pytest

SCRIPT = '''import os, pathlib, sys
home = pathlib.Path(os.environ['HOME'])
def tries(name, act):
    try: act(); print(name, 'done')
    except OSError as error: print(name, error.errno)
def replaced():
    (home / '.tool.json.new').write_text('new'); os.rename(home / '.tool.json.new', home / '.tool.json')
tries('plain', lambda: (home / '.tool.json').write_text('x'))
tries('replaced', replaced)
tries('directory', lambda: os.mkdir(home / '.tool'))
tries('in it', lambda: (home / '.tool/file').write_text('x'))
tries('tree', lambda: (os.makedirs(home / '.tool/state/deep'), (home / '.tool/state/deep/x').write_text('x'), os.rename(home / '.tool/state/deep', home / '.tool/state/other')))
tries('beside', lambda: (home / '.other').write_text('x'))
tries('removed', lambda: os.unlink(home / '.tool.json'))
'''
MAKE = ['~/.tool.json*', '~/.tool', '~/.tool/state/**']
EXPECTED = {'plain': 'done', 'replaced': 'done', 'directory': 'done', 'in it': '13', 'tree': 'done', 'beside': '13', 'removed': 'done'}


def script(ward, text, *flags):
    """As a program that is there: text on the command line is weighed, and this one would be asked about."""
    path = ward.file(ward.place / 'script.py', text)
    return ward('run', *flags, '--', '/usr/bin/python3', '-I', path)


def ends(done):
    return dict(line.rsplit(' ', 1) for line in done.out.splitlines())


@pytest.mark.parametrize('again', [False, True])
def test_what_is_named_is_made(ward, again):
    flags = [word for path in MAKE for word in ('--make', path)]
    assert ends(script(ward, SCRIPT, *flags)) == EXPECTED
    assert (ward.home / '.tool/state/other/x').read_text() == 'x' and not (ward.home / '.tool.json').exists()
    if again:  # now the directories are there
        (ward.home / '.tool/state/other/x').unlink()
        (ward.home / '.tool/state/other').rmdir()
        assert ends(script(ward, SCRIPT, *flags)) == {**EXPECTED, 'directory': '17'}


def test_a_directory_that_is_named_shows_no_secrets(plain):
    plain.file(plain.home / '.config/gh/hosts.yml', 'token')
    plain.file(plain.home / '.netrc', 'token')
    assert plain.run('cat', plain.home / '.config/gh/hosts.yml', flags=['--make', '~/.config']).code != 0
    assert plain.run('cat', plain.home / '.netrc', flags=['--make', '~/.net*']).code != 0
    assert plain.run('cat', plain.home / '.netrc', flags=['--make', '~/.netrc']).out == 'token'


def test_a_policy_says_it_too(plain):
    plain.policy(f'sandbox: {{files: {{make: {json.dumps(MAKE)}}}}}\n')
    assert ends(script(plain, SCRIPT)) == EXPECTED
    plain.policy(f'sandbox: {{files: {{make: {json.dumps(MAKE)}, deny: [~/.tool.json], read_only: [~/.tool/state]}}}}\n')
    assert {'plain': '13', 'tree': '13'}.items() <= ends(script(plain, SCRIPT)).items()


def test_a_project_that_is_not_trusted_does_not(plain):
    plain.file('.ward.yaml', f'sandbox: {{files: {{make: {json.dumps(MAKE)}}}}}\n')
    assert ends(script(plain, SCRIPT))['plain'] == '13'
    assert 'files.make' in plain('policy', 'check').out


def test_another_program_is_asked_about_it(plain):
    request = {'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': {'command': 'true', 'make': ['~/.tool.json*']}}
    result = json.loads(plain('serve', '--stdio', input=json.dumps(request) + '\n').out)['result']
    assert result['verdict'] == 'deny' and "a person's yes" in result['error']['message']


@pytest.mark.parametrize('path', ['/*/x', '~/*/.tool', '~/**/x', '/proc/x', '/sys/**', '/', '/*', '/**', 'link/x', '$NOT_SET/x'])
def test_what_cannot_be_named_is_an_error(plain, path):
    (plain.work / 'link').symlink_to('/var')
    done = plain('run', '--make', path, '--', 'true')
    assert done.code == 125 and '--make' in done.err, done


def test_in_a_policy_it_is_one_with_its_place(plain):
    plain.policy("sandbox:\n  files:\n    make: ['~/*/x']\n")
    done = plain('policy', 'check')
    assert done.code == 1 and ':3:12: ' in done.out and 'what can be made' in done.out, done


def test_what_runs_programs_is_not_meant_by_a_pattern(plain):
    text = '''import os, pathlib
home = pathlib.Path(os.environ['HOME'])
for name in ('.bashrc', '.profile', '.gitconfig', '.mcp.json', '.claude.json'):
    try: (home / name).write_text('x'); print('made', name)
    except PermissionError: pass
try: os.mkdir(home / '.git'); (home / '.git/config').write_text('x'); print('made .git/config')
except PermissionError: pass
'''
    assert script(plain, text, '--make', '~/.*').out == ''
    assert script(plain, text, '--make', '~/.*', '--make', '~/.profile').out == 'made .profile\n'
