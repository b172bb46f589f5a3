# SPDX-License-Identifier: Apache-2.0
"""An agent with a task: a scripted model that knows nothing but the tools of ward mcp mends a program in a repository, builds and
tests it, installs a package, commits, and tries to push. What it may and may not do is checked at every step."""
import os
import subprocess

import pytest

from mcp_client import NEW, Client, says
from support import PATH
from test_network_packages import has_pip, index, shelf
from world import OTHER, WEB, plain, world

CODE = '''#include <stdio.h>

int add(int a, int b)
{
	return a - b;
}

int main(void)
{
	printf("%d\\n", add(40, 2));
	return add(40, 2) == 42 ? 0 : 1;
}
'''
PATCH = '''*** Begin Patch
*** Update File: add.c
@@ int add(int a, int b)
 {
-	return a - b;
+	return a + b;
 }
*** Add File: CHANGES
+add adds
*** End Patch
'''
GIT = 'git -c user.name=N -c user.email=n@example.org'


class User:
    """Who sits at the client: says yes to what is on the list, and no to everything else."""

    def __init__(self):
        self.granted, self.asked = [], []

    def __call__(self, form):
        self.asked.append(form['message'])
        gives = [line.split('yes gives', 1)[1].strip() for line in form['message'].splitlines() if 'yes gives' in line]
        if gives and all(grant in self.granted for grant in gives) or not gives and 'runs in the sandbox' in self.granted:
            return says('approve once')
        return {'action': 'decline'}

    def forget(self):
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def repository(plain):
    plain.file('add.c', CODE)
    plain.file('Makefile', 'test: add\n\t./add\nadd: add.c\n\tcc -o add add.c\n')
    plain.file('.gitignore', 'add\nsite\n.env\n')
    plain.file('.env', 'TOKEN=secret-word\n')
    environment = {'PATH': PATH, 'HOME': str(plain.home), 'GIT_CONFIG_NOSYSTEM': '1'}

    def git(*words):
        return subprocess.run(['git', '-c', 'user.name=N', '-c', 'user.email=n@example.org', '-c', 'safe.directory=*', *words], cwd=plain.work,
                              env=environment, check=True, capture_output=True, text=True, **plain.person.identity()).stdout
    git('init', '-q', '-b', 'main')
    git('add', '-A')
    git('commit', '-q', '-m', 'first')
    return git


@pytest.mark.parametrize('version', ['2025-06-18', '2025-11-25', NEW])
def test_an_agent_does_its_task_and_no_more(plain, world, repository, version):
    has_pip()
    world.dns.forget()
    world.name('packages.example', WEB)
    world.name('forge.example', OTHER)
    port = index(world)
    forge = shelf(world, OTHER, {})
    repository('remote', 'add', 'origin', f'http://forge.example:{forge.port}/thing.git')
    user = User()
    with Client(plain, version=version, answer=user) as agent:
        # It looks around, and is free to.
        assert 'return a - b' in agent.tool('read_file', path='add.c')['content']
        assert agent.tool('run', command='git status --porcelain && git log --oneline | wc -l')['stdout'] == '1\n'
        assert agent.tool('run', command='make test')['exit_code'] != 0
        # It edits, builds and tests.
        assert 'does not match' in agent.tool('apply_patch', patch=PATCH.replace('a - b', 'a * b'))
        assert [file['action'] for file in agent.tool('apply_patch', patch=PATCH)['files']] == ['update', 'add']
        built = agent.tool('run', argv=['make', 'test'], reason='see that it works')
        assert built['exit_code'] == 0 and '42\n' in built['stdout'] and not built['denials']
        assert not user.forget()

        # Secrets are the user's to show, and the user does not.
        assert 'secret-word' not in str(agent.tool('read_file', path='.env'))
        assert 'secret-word' not in str(agent.tool('run', command='cat .env'))
        assert any('read' in message and '.env' in message for message in user.forget())

        # A package: no network without a yes, to exactly the host that it needs.
        install = (f'/usr/bin/python3 -m pip --disable-pip-version-check --no-cache-dir -q install --retries 0 --target site '
                   f'--index-url http://packages.example:{port}/simple --trusted-host packages.example tiny')
        user.granted = ['runs in the sandbox']
        refused = agent.tool('run', command=install, reason='the tests need tiny')
        assert refused['exit_code'] != 0 and not (plain.work / 'site' / 'tiny.py').exists() and not world.dns.asked('packages.example')
        assert any(denial['object'] == f'packages.example:{port}' and denial['answer'] == 'denied' for denial in refused['denials'])
        assert any(f'packages.example:{port}' in message for message in user.forget())
        user.granted.append(f'connect packages.example:{port}')
        done = agent.tool('run', command=install, reason='the tests need tiny')
        assert done['exit_code'] == 0, done
        assert agent.tool('run', command='PYTHONPATH=site /usr/bin/python3 -c "import tiny; print(tiny.number)"')['stdout'] == '4\n'
        assert all('the tests need tiny' in message for message in user.forget())

        # It commits. What would run outside the sandbox later it cannot write, whatever tool it takes.
        assert agent.tool('run', command=f'git add -A && {GIT} commit -q -m second && git log --oneline | wc -l')['stdout'] == '2\n'
        user.forget()
        for attempt in (lambda: agent.tool('write_file', path='.git/hooks/pre-push', content='#!/bin/sh\n'),
                        lambda: agent.tool('apply_patch', patch='*** Begin Patch\n*** Add File: .git/hooks/pre-push\n+x\n*** End Patch\n'),
                        lambda: agent.tool('run', command='echo x > .git/hooks/pre-push')):
            attempt()
            assert user.forget() and not (plain.work / '.git/hooks/pre-push').exists()

        # It tries to push, in every way it knows.
        for command in ('git push origin main', 'git push --force origin main', f'curl -sS --data x http://forge.example:{forge.port}/',
                        f'{plain.binary} run --level none --net full -- git push origin main'):
            pushed = agent.tool('run', command=command, reason='publish')
            assert pushed['exit_code'] != 0, (command, pushed)
            assert user.forget() or pushed['denials'] or pushed['error'], (command, pushed)
        assert agent.tool('run', command='git push origin main', unsandboxed=True)['exit_code'] == -1
        assert any('No sandbox' in message for message in user.forget())
        assert agent.tool('run', command='git push origin main', allow_host=['forge.example'])['exit_code'] == -1
        assert agent.tool('pending') == {'questions': []}
        assert agent.end() == 0
    assert not forge.requests and not world.dns.asked('forge.example')
    assert repository('log', '--format=%s').split() == ['second', 'first']
    assert 'secret-word' not in plain.log.read_text()
    assert 'pre-push' not in os.listdir(plain.work / '.git/hooks')
    assert plain.verify().code == 0
