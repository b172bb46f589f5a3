# SPDX-License-Identifier: Apache-2.0
"""Agents as the command: each has its own login, files and API, and nothing else; what its settings run is not its to change."""
import json
import os
import shutil

import pytest

from support import SOURCE, Terminal
from test_asking import asked, press
from world import WEB, plain, ward, world

AGENTS = ['claude', 'codex', 'gemini', 'opencode']
HOSTS = {'claude': 'api.anthropic.com', 'codex': 'api.openai.com', 'gemini': 'generativelanguage.googleapis.com', 'opencode': 'opencode.ai'}
KEYS = {'ANTHROPIC_API_KEY': 'a', 'OPENAI_API_KEY': 'o', 'GEMINI_API_KEY': 'g', 'OPENCODE_API_KEY': 'c', 'AWS_SECRET_ACCESS_KEY': 's'}
LOGINS = {'claude': '.claude/.credentials.json', 'codex': '.codex/auth.json', 'gemini': '.gemini/oauth_creds.json',
          'opencode': '.local/share/opencode/auth.json'}
REFUSED = 'PermissionError: Permission denied'
NOT_CONNECTED = 'ConnectionRefusedError: Connection refused'
SECRETS = ['.ssh/id_ed25519', '.config/gh/hosts.yml', '.local/share/keyrings/login', '.aws/credentials', '.netrc']


@pytest.fixture
def agents(plain):
    """The stand-in, under the agents' names, where programs are installed."""
    bin = plain.place / 'bin'
    bin.mkdir()
    for name in AGENTS:
        shutil.copy(SOURCE / 'tests/end-to-end/agent.py', bin / name)
        (bin / name).chmod(0o755)
    plain.variables['PATH'] = f'{bin}:{plain.variables["PATH"]}'
    for name in ('XDG_CONFIG_HOME', 'XDG_STATE_HOME'):  # as most people have it: the settings lie in the home
        del plain.variables[name]
    plain.variables.update(KEYS, LOOK_FOR=json.dumps(SECRETS))
    for secret in SECRETS:
        plain.file(plain.home / secret, 'secret')
    return plain


def contained(ward, name, *flags, code=0, **how):
    done = ward('run', '--profile', name, *flags, '--', name, **how)
    assert done.code == code, done
    return json.loads(done.out.splitlines()[-1])


def script(ward, text, *flags):
    """As a program that is there: text on the command line is weighed, and this one would be asked about."""
    path = ward.file(ward.place / 'script.py', text)
    return ward('run', *flags, '--', '/usr/bin/python3', '-I', path)


@pytest.fixture(scope='module')
def server(world):
    """At the one port there is for it."""
    return world.hello('model', port=443)


@pytest.fixture
def api(world, server):
    for host in HOSTS.values():
        world.name(host, WEB)
    world.name('web.example', WEB)
    world.dns.forget()
    return world


@pytest.mark.parametrize('logged_in', [False, True])
@pytest.mark.parametrize('name', AGENTS)
def test_an_agent_has_its_own_and_nothing_else(agents, api, name, logged_in):
    if logged_in:
        for login in LOGINS.values():
            agents.file(agents.home / login, '{"token": "old"}', 0o600)
    told = contained(agents, name)
    assert told['first start'] is True and told['login'] == ('{"token": "old"}' if logged_in else None)
    assert told['login written'] == '{"token": "plain"}' and told['login replaced'] == '{"token": "new"}'
    assert told['history'] == 'said\n' and told['may write'] == [True, True, False]
    assert (agents.home / LOGINS[name]).read_text() == '{"token": "new"}'  # outside, too
    assert (agents.home / LOGINS[name]).stat().st_mode & 0o777 == 0o600
    runs = {step: what for step, what in told.items() if step.startswith('runs ')}
    assert len(runs) >= 4 and set(runs.values()) == {REFUSED}, runs
    assert told['profile'] == REFUSED and told['secrets'] == {secret: REFUSED for secret in SECRETS}
    assert not logged_in or told['other login'] == REFUSED
    assert told['api'] == 'model' and told['elsewhere'] == NOT_CONNECTED
    assert not api.dns.asked('web.example')
    own = {'claude': 'a', 'codex': 'o', 'gemini': 'g', 'opencode': 'c'}[name]
    assert told['key'] == {agent: own if agent == name else None for agent in AGENTS}
    assert (agents.work / 'edited').exists()


@pytest.mark.parametrize('name', AGENTS)
def test_what_it_remembers_is_there_the_next_time(agents, api, name):
    contained(agents, name)
    told = contained(agents, name)
    assert told['login'] == '{"token": "new"}' and told['history'] == 'said\nsaid\n'
    assert json.loads(told['state'])['starts'] == 2


def test_what_claude_is_told_to_run_stays_as_it_was(agents, api):
    mine = {'mcpServers': {'mine': {'command': '/usr/bin/mine'}}, 'projects': {'/x': {'hasTrustDialogAccepted': False}}, 'starts': 7}
    settings = agents.file(agents.home / '.claude.json', json.dumps(mine), 0o600)
    result = agents.result('--profile', 'claude', '--', 'claude')
    assert json.loads(settings.read_text()) == {**mine, 'starts': 8}
    assert settings.stat().st_mode & 0o777 == 0o600
    assert any('`mcpServers` in it runs programs' in line for line in result['sandbox_warnings']), result
    assert not [path for path in agents.home.iterdir() if '.tmp' in path.name or '.lock' in path.name]


ATTACKS = '''
import json, os, pathlib, sys
home = pathlib.Path(os.environ['HOME'])
settings, beside = home / '.claude.json', home / '.claude.json.x'
evil = json.dumps({'mcpServers': {'evil': {'command': 'sh'}}})
def tries(name, act):
    try: act(); print(name, 'done', flush=True)
    except OSError as error: print(name, error.errno, flush=True)
def held():
    """Written after the rename, by whoever still has it open."""
    file = open(beside, 'w'); file.write('{}'); file.flush(); os.rename(beside, settings)
    file.seek(0); file.write(evil); file.flush(); file.truncate()
def folded():
    (home / '.claude.json.y').write_text(evil); os.rename(home / '.claude.json.y', home / '.CLAUDE.json')
def filled():
    """A directory, made elsewhere, that holds what is refused there."""
    work = pathlib.Path('made'); work.mkdir(); (work / 'bin').mkdir(); (work / 'bin/rg').write_text('evil')
    os.rename(work, home / '.gemini/tmp')
tries('in place', lambda: settings.write_text(evil))
tries('cut', lambda: os.truncate(settings, 0))
tries('removed', lambda: os.unlink(settings))
tries('linked', lambda: (beside.write_text(evil), os.link(beside, settings)))
tries('second name', lambda: os.link(settings, home / '.claude.json.z'))
tries('symlink', lambda: os.symlink('/etc/passwd', home / '.claude.json.s'))
tries('symlink moved', lambda: (os.symlink('/etc/passwd', 'l'), os.rename('l', home / '.claude.json.t')))
tries('directory', lambda: os.rename(home / '.claude', home / '.claude.json.d'))
tries('exchanged', lambda: os.rename(home / '.claude/projects', home / '.claude/hooks'))
tries('broken', lambda: (beside.write_text('{'), os.rename(beside, settings)))
tries('folded', folded)
tries('held', held)
tries('made elsewhere', filled)
'''


def test_no_way_leads_into_the_settings(agents, api):
    mine = agents.file(agents.home / '.claude.json', '{"mcpServers": {}}', 0o600)
    agents.file(agents.home / '.claude/settings.json', 'mine')
    agents.file(agents.home / '.claude/projects/x', 'mine')
    done = script(agents, ATTACKS, '--profile', 'claude')
    ends = dict(line.rsplit(' ', 1) for line in done.out.splitlines())
    assert ends.pop('held') == 'done' and set(ends.values()) <= {'1', '2', '13', '16', '17', '18'}, ends
    assert json.loads(mine.read_text()) == {'mcpServers': {}}
    assert {path.name for path in agents.home.iterdir()} <= {'.claude', '.claude.json', '.claude.json.x', '.claude.json.y', '.ssh', '.local', '.config', '.aws', '.netrc'}
    assert (agents.home / '.claude/settings.json').read_text() == 'mine' and not (agents.home / '.claude/hooks').exists()


RACES = '''
import ctypes, json, os, threading
home, libc = os.environ['HOME'], ctypes.CDLL(None)
evil = json.dumps({'mcpServers': {'evil': {'command': 'sh'}}}).encode()
name = ctypes.create_string_buffer((home + '/.claude.json.x').encode())
at, over = len(home) + len('/.claude.json'), False
def change():
    while not over:
        name[at] = 0
        name[at] = b'.'
threading.Thread(target=change, daemon=True).start()
source = (home + '/.claude.json.y').encode()
for _ in range(150):
    with open(source, 'wb') as file: file.write(evil)
    libc.rename(source, name)
    fd = libc.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    if fd >= 0: os.write(fd, evil); os.close(fd)
    libc.unlink(source)
    libc.link((home + '/.claude.json.x').encode(), name)
    libc.symlink(b'/etc/passwd', name)
over = True
print('end')
'''


def test_no_race_leads_into_the_settings(agents, api):
    """The name is another one at any moment: it is judged and used as it was read once."""
    mine = agents.file(agents.home / '.claude.json', '{"mcpServers": {}}', 0o600)
    assert script(agents, RACES, '--profile', 'claude').out == 'end\n'
    assert json.loads(mine.read_text()) == {'mcpServers': {}} and not mine.is_symlink() and mine.stat().st_nlink == 1


def test_what_is_closed_in_a_writable_place_is_not_made_either(agents, api):
    """~/.gemini/tmp is Gemini's own, the programs that it fetches into it are not."""
    text = '''import os, pathlib
tmp = pathlib.Path(os.environ['HOME']) / '.gemini/tmp'
os.makedirs(tmp / 'work/bin')
for name in ('bin', 'BIN', 'Bin.'):
    for act in (lambda: os.mkdir(tmp / name), lambda: (tmp / name).write_text('x'), lambda: os.rename(tmp / 'work', tmp / name),
                lambda: os.symlink('work', tmp / name)):
        try: act(); print('made', name)
        except PermissionError: pass
print('end')
'''
    for _ in range(2):  # before the directory is there, and when it is
        done = script(agents, text, '--profile', 'gemini')
        assert done.out == 'end\n', done
        shutil.rmtree(agents.home / '.gemini/tmp/work')


FILLED = '''import ctypes, os, pathlib, sys
own, names = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
libc = ctypes.CDLL(None)
def exchange(a, b):
    if libc.renameat2(-100, bytes(a), -100, bytes(b), 2) < 0: raise OSError
def attempt(act):
    try: act(); print('done', name)
    except OSError: pass
(own / 'filled').mkdir(parents=True)
(own / 'filled/run').write_text('x')
(own / 'file').write_text('x')
for name in names:
    name.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):  # before it is there, and when it is
        for act in (lambda: os.rename(own / 'filled', name), lambda: exchange(own / 'filled', name), lambda: os.symlink(own / 'filled', name),
                    lambda: (name / 'run').write_text('x'), lambda: os.rename(own / 'file', name / 'run'), lambda: os.link(own / 'file', name / 'run'),
                    lambda: (name / 'run').mkdir()):
            attempt(act)
        name.mkdir(exist_ok=True)
    if (name / 'mine').exists(): attempt(lambda: os.rename(name, own / 'taken'))
print('end')
'''


@pytest.mark.parametrize('there', [False, True])
@pytest.mark.parametrize('agent, own, names', [('claude', '.claude/projects/x', ['.claude/session-env/uuid']),
                                               ('opencode', '.local/share/opencode/log/x', ['.local/share/opencode/bin', '.config/opencode'])])
def test_a_directory_is_made_and_nothing_in_it(agents, api, agent, own, names, there):
    """The agent ends without it, and would run outside what lies in it."""
    for name in names if there else []:
        agents.file(agents.home / name / 'mine', 'mine')
    path = agents.file(agents.place / 'script.py', FILLED)
    done = agents('run', '--profile', agent, '--', '/usr/bin/python3', '-I', path, agents.home / own, *(agents.home / name for name in names))
    assert done.out == 'end\n', done
    for name in names:
        assert (agents.home / name).is_dir() and not os.path.lexists(agents.home / name / 'run')


@pytest.mark.parametrize('there', [False, True])
def test_what_opencode_fetches_stays_inside(agents, api, there):
    """Its list of models names packages and hosts that it uses outside, too."""
    if there:
        agents.file(agents.home / '.cache/x', 'x')
    agents.file('fetch.sh', '''cache=$HOME/.cache/opencode; mkdir -p $cache/bin; echo 1 > $cache/version
for name in models.json package.json bin/rg; do echo x 2>/dev/null > $cache/$name; done; cat $cache/models.json 2>/dev/null; echo end''')
    done = agents('run', '--profile', 'opencode', '--', 'sh', 'fetch.sh')
    assert done.out == ('x\nend\n' if there else 'end\n'), done
    cache = agents.home / '.cache/opencode'
    assert not there or not cache.exists()
    assert there or sorted(file.name for file in cache.rglob('*')) == ['bin', 'version']


SNAPSHOT = '''
set -e
git=$HOME/.local/share/opencode/snapshot/project/hash work=$PWD
if [ ! -e $git ]; then
    mkdir -p $git
    GIT_DIR=$git GIT_WORK_TREE=$work git init -q
    for setting in autocrlf=false longpaths=true symlinks=true fsmonitor=false untrackedCache=true; do
        git --git-dir $git config core.${setting%=*} ${setting#*=}
    done
    git --git-dir $git config feature.manyFiles true
    mkdir -p $git/objects/info
    echo $work/.git/objects > $git/objects/info/alternates
fi
date +%N > changed
git --git-dir $git --work-tree $work add --all .
tree=$(git --git-dir $git --work-tree $work write-tree)
git --git-dir $git cat-file -e $tree:changed
for key in core.fsmonitor=touch core.hooksPath=/tmp core.worktree=$HOME include.path=/tmp/x; do
    git --git-dir $git config ${key%=*} ${key#*=} 2>/dev/null && echo set $key
done
for hook in post-checkout post-index-change; do
    echo x 2>/dev/null > $git/hooks/$hook && echo made $hook
done
echo end
'''


def test_opencode_keeps_copies_of_the_workspace(agents, api):
    """In repositories of its own that it uses outside, too: what runs programs is closed in them as in any."""
    assert agents('init', '-q', '.', program='/usr/bin/git').code == 0
    agents.file('snapshot.sh', SNAPSHOT)
    for _ in range(2):  # before it is there, and when it is
        done = agents('run', '--profile', 'opencode', '--', 'sh', 'snapshot.sh')
        assert done.out == 'end\n', done
    made = agents.home / '.local/share/opencode/snapshot/project/hash'
    assert f'worktree = {agents.work}\n' in (made / 'config').read_text() and 'monitor = touch' not in (made / 'config').read_text()
    assert not [hook for hook in (made / 'hooks').glob('*') if hook.suffix != '.sample']


@pytest.mark.parametrize('directory, worktree', [('{data}', '{home}'), ('{data}', '{work}/sub'), ('{data}', '/'), ('{data}', '{work}/link/..'),
                                                 ('{work}/copy', '{work}'), ('{work}/copy', '{home}/.local/share/opencode/snapshot')])
def test_a_repository_says_nothing_else_about_where_its_files_lie(agents, api, directory, worktree):
    places = {'home': agents.home, 'work': agents.work, 'data': agents.home / '.local/share/opencode/snapshot/project/hash'}
    directory, worktree = directory.format(**places), worktree.format(**places)
    (agents.work / 'sub').mkdir()
    (agents.work / 'link').symlink_to(agents.home / '.ssh')
    agents.file('make.sh', f'''mkdir -p {directory}/refs; cd {directory}; echo 'ref: refs/heads/x' > HEAD
printf '[core]\\n\\tworktree = %s\\n' '{worktree}' > config; mkdir objects; mkdir objects 2>/dev/null
echo end''')
    done = agents('run', '--profile', 'opencode', '--', 'sh', 'make.sh')
    assert done.out == 'end\n' and 'mkdir' in done.err and not os.path.exists(f'{directory}/objects'), done
    assert os.path.exists(f'{directory}/config'), done  # it came as far as that


def test_a_yes_opens_the_settings_that_it_names(agents, api):
    screen = Terminal(agents, columns=120, rows=50, PATH=f'{os.path.dirname(agents.binary)}:{agents.variables["PATH"]}')
    agents.file(agents.home / '.claude/x')
    agents.file('write.sh', 'echo mine > ~/.claude/settings.json')
    screen.sendline('ward run --profile claude -- sh write.sh')
    asked(screen, '.claude/settings.json', 'a name that runs programs')
    press(screen, 'y')
    screen.ready()
    screen.close(force=True)
    assert (agents.home / '.claude/settings.json').read_text() == 'mine\n'


def test_what_runs_programs_is_named_by_itself(agents, api):
    agents.file(agents.home / '.claude/x')
    agents.file('write.sh', 'echo x > ~/.claude/settings.json; mkdir ~/.claude/shell-snapshots; echo x > ~/.bashrc')
    done = agents('run', '--profile', 'claude', '--', 'sh', 'write.sh')
    assert f'to allow: --make {agents.home}/.claude/settings.json' in done.err and f'--make {agents.home}/.bashrc' in done.err, done
    assert '--write' not in done.err and done.err.count('to allow') == 2, done  # nobody is asked for what is sourced outside


def test_the_profile_is_taken_by_itself(agents, api):
    done = agents('run', '--', 'claude')
    assert done.code == 0 and 'claude runs with the profile of that name' in done.err, done
    assert json.loads(done.out)['api'] == 'model'
    shown = json.loads(agents('check', '--json', '--', 'claude').out)
    assert shown['verdict'] == 'allow'


@pytest.mark.parametrize('flags, policy', [(['--net', 'none'], ''), (['--profile', 'agent'], ''), (['--agent', 'x'], ''), (['--env', 'A=b'], ''),
                                           ([], 'sandbox: {network: {mode: none}}\n')])
def test_the_profile_is_not_taken_against_what_was_said(agents, api, flags, policy):
    if policy:
        agents.file(agents.home / '.config/ward/ward.yaml', policy, 0o600)
    agents.file(agents.home / '.claude/.credentials.json', 'secret', 0o600)
    done = agents('run', *flags, '--', 'sh', '-c', 'exit 0')
    done = agents('run', *flags, '--', 'claude')
    assert 'runs with the profile' not in done.err and ('--profile claude' in done.err) == bool(policy), done
    assert 'PermissionError' in done.err or json.loads(done.out)['api'] == NOT_CONNECTED, done


def test_what_is_only_called_so_has_no_login(agents, api):
    """A program of the workspace may be anybody's."""
    agents.file('bin/claude', '#!/bin/sh\ncat ~/.claude/.credentials.json\n', 0o755)
    agents.file(agents.home / '.claude/.credentials.json', 'secret', 0o600)
    done = agents('run', '--', 'claude', env={'PATH': f'{agents.work}/bin:{agents.variables["PATH"]}'})
    assert 'secret' not in done.out and 'profile' not in done.err, done
    assert 'secret' not in agents('run', '--', './bin/claude').out


def test_a_rule_still_holds(agents, api):
    agents.file(agents.home / '.config/ward/ward.yaml', 'sandbox: {files: {read_only: [~/.claude/projects]}, network: {deny: [api.anthropic.com]}}\n', 0o600)
    told = contained(agents, 'claude')
    assert told['api'] == NOT_CONNECTED and told['history'] == REFUSED, told


def test_an_untrusted_project_does_not_widen_a_profile(agents, api):
    agents.file('.ward.yaml', 'profiles: {claude: {files: {make: [~/.bashrc], write: [~/.claude]}, network: {allow: [web.example]}}}\n')
    told = contained(agents, 'claude')
    assert told['profile'] == REFUSED and told['elsewhere'] == NOT_CONNECTED and told['runs settings.json'] == REFUSED


def test_sandboxes_of_its_tools_say_what_is_missing(agents, api):
    """Nobody inside gets a sandbox that is none: each says that it cannot, or builds what it can."""
    tools = {'unshare': ['unshare', '--user', '--map-root-user', 'id'], 'ward': [agents.binary, 'run', '--', 'sh', '-c', 'echo inside; echo x > ~/x']}
    if shutil.which('bwrap'):
        tools['bwrap'] = ['bwrap', '--ro-bind', '/', '/', '--unshare-all', 'id']
    told = contained(agents, 'claude', env={'TOOLS': json.dumps(tools)})
    assert told['tool unshare'][0] != 0 and 'not permitted' in told['tool unshare'][2], told
    assert told.get('tool bwrap', [1])[0] != 0
    code, out, err = told['tool ward']
    assert 'inside' not in out or code != 0, told['tool ward']
    assert 'ward:' in err and not (agents.home / 'x').exists(), told['tool ward']


def test_profiles_are_shown(agents):
    shown = json.loads(agents('policy', 'show', '--json').out)['profiles']
    assert set(AGENTS) <= set(shown)
    for name in AGENTS:
        assert shown[name]['files']['make'] and shown[name]['file'] is None
    flags = agents('policy', 'show', '--flags', '--profile', 'claude').out
    assert '--make' in flags and '--allow-host model:anthropic' in flags


def test_a_hook_hands_no_login_to_an_agent_within(plain):
    event = {'session_id': 's', 'permission_mode': 'default', 'hook_event_name': 'PreToolUse', 'tool_name': 'Bash', 'cwd': str(plain.work)}
    for command in (f'{plain.binary} run -- claude -p hi', f'{plain.binary} run claude', 'ward run --quiet -- codex'):
        answer = json.loads(plain('hook', input=json.dumps({**event, 'tool_input': {'command': command}})).out)
        assert answer['hookSpecificOutput']['permissionDecision'] == 'deny', command
