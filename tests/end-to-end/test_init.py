# SPDX-License-Identifier: Apache-2.0
"""ward init: into the settings of agents and out again, and nothing else in them changes."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest

from support import SOURCE, Person, Terminal, Ward, wait_until

AGENTS = {  # name: title, the program, the file in a project, the file below the home
    'claude': ('Claude Code', 'claude', '.claude/settings.json', '.claude/settings.json'),
    'codex': ('Codex', 'codex', '.codex/hooks.json', '.codex/hooks.json'),
    'gemini': ('Gemini CLI', 'gemini', '.gemini/settings.json', '.gemini/settings.json'),
    'cursor': ('Cursor', 'cursor-agent', '.cursor/hooks.json', '.cursor/hooks.json'),
    'windsurf': ('Windsurf', 'windsurf', '.windsurf/hooks.json', '.codeium/windsurf/hooks.json'),
    'opencode': ('OpenCode', 'opencode', '.opencode/plugin/ward.js', '.config/opencode/plugin/ward.js'),
}
JSON = [name for name in AGENTS if name != 'opencode']
EVENTS = {
    'claude': {'hook_event_name': 'PreToolUse', 'session_id': 's', 'permission_mode': 'default', 'tool_name': 'Bash',
               'tool_input': {'command': 'rm -rf /'}},
    'codex': {'hook_event_name': 'PreToolUse', 'session_id': 's', 'permission_mode': 'default', 'tool_name': 'Bash', 'model': 'm', 'turn_id': 't',
              'tool_input': {'command': 'rm -rf /'}},
    'gemini': {'hook_event_name': 'BeforeTool', 'session_id': 's', 'tool_name': 'run_shell_command', 'tool_input': {'command': 'rm -rf /'}},
    'cursor': {'hook_event_name': 'beforeShellExecution', 'conversation_id': 'c', 'workspace_roots': ['/'], 'command': 'rm -rf /'},
    'windsurf': {'agent_action_name': 'pre_run_command', 'tool_info': {'command_line': 'rm -rf /', 'cwd': '/'}},
}
MINE = '{\n    "model": "x",\n    "list": [1,2],  \n    "text": "\\u00e9"\n}\n'


@pytest.fixture
def here(ward):
    """ward, with no program but the system's own in PATH, as root and as a plain user."""
    return prepare(ward)


@pytest.fixture
def me_here(plain):
    return prepare(plain)


def prepare(ward):
    (ward.place / 'bin').mkdir()
    ward.person.own(ward.place / 'bin')
    ward.variables['PATH'] = str(ward.place / 'bin')
    ward.variables.pop('XDG_CONFIG_HOME')
    return ward


def init(ward, *words, code=0, **how):
    done = ward('init', *words, **how)
    assert done.code == code, done
    return done


def tree(*places):
    """All that is there: names, modes, bytes."""
    found = {}
    for place in places:
        for directory, directories, files in os.walk(place):
            for name in directories + files:
                path = os.path.join(directory, name)
                state = os.lstat(path)
                content = open(path, 'rb').read() if os.path.isfile(path) else os.readlink(path) if os.path.islink(path) else None
                found[path] = (oct(state.st_mode), state.st_uid, content)
    return found


def commands(value):
    """Every command that stands in settings."""
    if isinstance(value, dict):
        return [value[key] for key in ('command',) if key in value] + sum((commands(inner) for inner in value.values()), [])
    return sum(map(commands, value), []) if isinstance(value, list) else []


def test_agents_are_found_by_their_programs_and_by_their_settings(me_here):
    me_here.file(me_here.place / 'bin' / 'codex', '', 0o755)
    me_here.file(me_here.home / '.gemini' / 'x')
    me_here.file('.cursor/x')
    me_here.file(me_here.place / 'bin' / 'windsurf', '', 0o644)  # no program
    done = init(me_here, '--dry-run')
    assert f"found: Codex ({me_here.place}/bin/codex), Gemini CLI (~/.gemini), Cursor ({me_here.work}/.cursor)\n" in done.out
    assert 'not found: Claude Code, Windsurf, OpenCode\n' in done.out
    assert set(re.findall(r'^\+\+\+ (.*)', done.out, re.MULTILINE)) == {
        f'{me_here.work}/{name}' for name in ('.codex/hooks.json', '.gemini/settings.json', '.cursor/hooks.json', '.ward.yaml')}


@pytest.mark.parametrize('agent', AGENTS)
def test_each_is_found_by_its_program(me_here, agent):
    title, program, project, _ = AGENTS[agent]
    me_here.file(me_here.place / 'bin' / program, '', 0o755)
    done = init(me_here, '--write', '--no-policy')
    assert f'found: {title} (' in done.out and (me_here.work / project).exists()


def test_without_any_agent_one_can_be_named(me_here):
    before = tree(me_here.home, me_here.work)
    done = init(me_here, '--write', '--no-policy')
    assert 'not found: Claude Code, Codex, Gemini CLI, Cursor, Windsurf, OpenCode' in done.out and '--agent NAME' in done.out
    assert tree(me_here.home, me_here.work) == before


@pytest.mark.parametrize('scope', ['--project', '--user'])
@pytest.mark.parametrize('agent', AGENTS)
def test_there_again_and_back(here, agent, scope):
    path = here.work / AGENTS[agent][2] if scope == '--project' else here.home / AGENTS[agent][3]
    before = tree(here.work, here.home)
    done = init(here, '--agent', agent, scope, '--write', '--no-policy')
    assert path.exists() and 'Written.' in done.out and '+++ ' in done.out
    assert ('Commit these settings only if' in done.out) == (scope == '--project')
    written = tree(here.work, here.home)
    assert written != before and all(owner == here.person.uid for _, owner, _ in written.values())
    again = init(here, '--agent', agent, scope, '--write', '--no-policy')
    assert 'already there: ' in again.out and 'nothing to do' in again.out
    assert tree(here.work, here.home) == written
    init(here, '--agent', agent, scope, '--remove', '--write')
    after = tree(here.work, here.home)
    after.pop(str(here.home / '.config'), None)
    assert after == before
    assert 'nothing of ward' in init(here, '--agent', agent, scope, '--remove', '--write').out


@pytest.mark.parametrize('agent', JSON)
def test_what_the_user_has_stays(here, agent):
    path = here.file(AGENTS[agent][2], MINE, 0o640)
    init(here, '--agent', agent, '--write', '--no-policy')
    settings = json.loads(path.read_text())
    assert {key: settings[key] for key in ('model', 'list', 'text')} == json.loads(MINE)
    lines = path.read_text().splitlines()
    assert [line.rstrip(',') for line in MINE.splitlines()[:4]] == [line.rstrip(',') for line in lines[:4]]
    backup = path.with_name(path.name + '.ward-backup')
    assert backup.read_text() == MINE and path.stat().st_mode & 0o777 == backup.stat().st_mode & 0o777 == 0o640
    init(here, '--remove', '--write')
    assert path.read_text() == MINE and not backup.exists() and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize('agent', JSON)
def test_the_command_works_and_fails_closed(here, agent):
    init(here, '--agent', agent, '--write', '--no-policy')
    path = here.work / AGENTS[agent][2]
    found = set(commands(json.loads(path.read_text())))
    assert found == {f"{here.binary} hook || /bin/sh -c 'cat >/dev/null; exit 2'"}
    line, event = found.pop(), json.dumps({**EVENTS[agent], 'cwd': str(here.work)})
    done = here('-c', line, program='/bin/sh', input=event)
    assert 'refused by ward' in done.out + done.err, done
    assert done.code == (2 if agent == 'windsurf' else 0)
    gone = here('-c', line.replace(here.binary, str(here.place / 'gone')), program='/bin/sh', input=event)
    assert gone.code == 2
    killed = here.file(here.place / 'killed', '#!/bin/sh\nkill -9 $$\n', 0o755)
    assert here('-c', line.replace(here.binary, str(killed)), program='/bin/sh', input=event).code == 2


def test_a_ward_that_is_killed_in_the_middle_blocks(me_here):
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    line = commands(json.loads((me_here.work / '.claude/settings.json').read_text())).pop()
    shell = me_here.popen('-c', line, program='/bin/sh', stdin=subprocess.PIPE)
    children = pathlib.Path(f'/proc/{shell.pid}/task/{shell.pid}/children')
    assert wait_until(lambda: children.read_text().split())
    os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
    assert me_here.finish(shell).code == 2


def test_ward_is_named_shortly_where_path_means_it(me_here):
    os.symlink(me_here.binary, me_here.place / 'bin' / 'ward')
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    assert commands(json.loads((me_here.work / '.claude/settings.json').read_text())) == ["ward hook || /bin/sh -c 'cat >/dev/null; exit 2'"]


def test_a_ward_of_another_name_is_not_put_in(me_here):
    other = me_here.place / 'other'
    shutil.copy(me_here.binary, other)
    other.chmod(0o755)
    assert 'the name ward' in init(me_here, '--agent', 'claude', '--write', code=125, program=str(other)).err


def test_another_ward_in_path_is_not_meant(me_here):
    me_here.file(me_here.place / 'bin' / 'ward', '#!/bin/sh\n', 0o755)
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    assert commands(json.loads((me_here.work / '.claude/settings.json').read_text())) == [f"{me_here.binary} hook || /bin/sh -c 'cat >/dev/null; exit 2'"]


@pytest.mark.parametrize('agent', AGENTS)
def test_a_ward_that_moved_is_brought_up_to_date(me_here, agent):
    path = me_here.work / AGENTS[agent][2]
    if agent != 'opencode':
        me_here.file(AGENTS[agent][2], MINE)
    init(me_here, '--agent', agent, '--write', '--no-policy')
    moved = me_here.place / "it's moved" / 'ward'
    moved.parent.mkdir()
    shutil.copy(me_here.binary, moved)
    moved.chmod(0o755)
    me_here.person.own(moved.parent, moved)
    first = path.read_text()
    init(me_here, '--agent', agent, '--write', '--no-policy', program=str(moved))
    text = path.read_text()
    assert text != first and me_here.binary not in text
    if agent == 'opencode':
        assert json.dumps(str(moved)) in text
    else:
        line = set(commands(json.loads(text))).pop()
        done = me_here('-c', line, program='/bin/sh', input=json.dumps({**EVENTS[agent], 'cwd': str(me_here.work)}))
        assert 'refused by ward' in done.out + done.err
        assert path.with_name(path.name + '.ward-backup').read_text() == MINE
    init(me_here, '--agent', agent, '--remove', '--write')
    assert agent == 'opencode' and not path.exists() or path.read_text() == MINE


def test_others_beside_it_stay_and_the_backup_too(me_here):
    path = me_here.file('.claude/settings.json', MINE)
    backup = path.with_name('settings.json.ward-backup')
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    settings = json.loads(path.read_text())
    settings['hooks']['PreToolUse'].insert(0, {'matcher': 'Edit', 'hooks': [{'type': 'command', 'command': 'lint'}]})
    settings['hooks']['PreToolUse'][1]['hooks'].append({'type': 'command', 'command': 'log'})
    settings['hooks']['Stop'] = []
    path.write_text(json.dumps(settings))
    assert 'already there' in init(me_here, '--agent', 'claude', '--write', '--no-policy').out
    assert path.read_text() == json.dumps(settings)
    done = init(me_here, '--remove', '--write')
    settings['hooks']['PreToolUse'][1]['hooks'].pop(0)
    assert json.loads(path.read_text()) == settings
    assert backup.read_text() == MINE and str(backup) in done.out


def test_the_first_backup_stays(me_here):
    path = me_here.file('.claude/settings.json', MINE)
    me_here.file('.claude/settings.json.ward-backup', '{"first": 1}')
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    assert 'hooks' in json.loads(path.read_text())
    init(me_here, '--remove', '--write')
    assert path.read_text() == MINE and (me_here.work / '.claude/settings.json.ward-backup').read_text() == '{"first": 1}'


def test_without_a_terminal_nothing_is_written(me_here):
    me_here.file('.claude/settings.json', MINE)
    before = tree(me_here.work, me_here.home)
    done = init(me_here, code=1)
    assert '+++ ' in done.out and '--write' in done.out
    assert init(me_here, '--dry-run').out.count('+++ ') == 2
    assert tree(me_here.work, me_here.home) == before


def test_at_a_terminal_each_file_is_asked_about(me_here):
    me_here.file('.claude/settings.json', MINE)
    me_here.file('.gemini/x')
    terminal = Terminal(me_here, NO_COLOR='1')
    terminal.type('ward init --agent claude --agent gemini', 'Claude Code: ', 'ward hook || /bin/sh -c', 'Write it? [y/N] ')
    terminal.type('y', 'Written.', 'As it was before ward: ', 'Gemini CLI: ', 'Write it? [y/N] ')
    terminal.type('n', '.ward.yaml', 'Write it? [y/N] ')
    terminal.type('', 'Agents that are running', 'ward init --remove')
    terminal.ready()
    assert terminal.last_code() == 1
    assert 'hooks' in json.loads((me_here.work / '.claude/settings.json').read_text())
    assert not (me_here.work / '.gemini/settings.json').exists() and not (me_here.work / '.ward.yaml').exists()
    terminal.type('ward init --remove', 'Write it? [y/N] ')
    terminal.sendeof()
    terminal.ready()
    assert terminal.last_code() == 1
    terminal.type('ward init --remove', 'Write it? [y/N] ')
    terminal.type('yes', 'Written.')
    terminal.ready()
    assert terminal.last_code() == 0 and (me_here.work / '.claude/settings.json').read_text() == MINE


def test_what_was_typed_before_is_no_answer(me_here):
    me_here.file('.claude/x')
    terminal = Terminal(me_here, NO_COLOR='1')
    terminal.type('ward init --agent claude --no-policy\ny\ny', 'Write it? [y/N] ')
    terminal.type('n')
    terminal.ready()
    assert not (me_here.work / '.claude/settings.json').exists()


def test_a_file_that_changes_while_the_question_stands_is_left_alone(me_here):
    path = me_here.file('.claude/settings.json', MINE)
    terminal = Terminal(me_here, NO_COLOR='1')
    terminal.type('ward init --agent claude --no-policy', 'Write it? [y/N] ')
    path.write_text('{"new": 1}')
    terminal.type('y', 'changed meanwhile')
    terminal.ready()
    assert terminal.last_code() == 125 and path.read_text() == '{"new": 1}'
    assert not path.with_name('settings.json.ward-backup').exists()


@pytest.mark.parametrize('content, said', [
    ('{\n  // mine\n  "a": 1\n}', 'settings.json:2:1: Claude Code: there is a comment'), ('{"a": }', 'settings.json:1:'), ('[]', 'not an object'),
    ('{"a": 1, "a": 2}', 'duplicate'), (b'{"a": "\xff"}', 'not JSON'), (b'{"a": 1}\0', 'zero byte'), ('{"hooks": []}', 'hooks is not an object'),
    ('{"hooks": {"PreToolUse": {}}}', 'hooks.PreToolUse is not a list'), ('{"a": "' + 'x' * (1 << 20) + '"}', 'longer than 1 MiB'),
    ('{"a":' * 300 + '1' + '}' * 300, 'too deeply'), (b'\xef\xbb\xbf{}', 'not JSON')])
def test_what_cannot_be_changed_is_left_alone(me_here, content, said):
    path = me_here.file('.claude/settings.json', content)
    before = path.read_bytes()
    done = init(me_here, '--agent', 'claude', '--agent', 'gemini', '--write', '--no-policy', code=125)
    assert said in done.err and 'settings.json' in done.err and path.read_bytes() == before
    assert os.listdir(path.parent) == ['settings.json']
    if said not in ('zero byte', 'longer than 1 MiB'):
        assert 'add it by hand: {"hooks": {"PreToolUse": ' in done.err
    assert (me_here.work / '.gemini/settings.json').exists()  # one does not keep the others


def test_what_cannot_be_read_stands_in_no_ones_way_out(me_here):
    init(me_here, '--agent', 'claude', '--write', '--no-policy')
    mine = me_here.file('.gemini/settings.json', '{} // mine')
    mixed = me_here.file('.codex/hooks.json', '{"hooks": {"PreToolUse": [{"hooks": [{"command": "ward hook"}]}]}} // mine')
    done = init(me_here, '--remove', '--write', code=125)
    assert 'hooks.json:1:1' in done.err and 'by hand' in done.err and 'settings.json' not in done.err
    assert not (me_here.work / '.claude').exists() and mine.exists() and mixed.exists()


def make_fifo(ward):
    os.mkfifo(ward.work / '.claude/settings.json')


def make_directory(ward):
    (ward.work / '.claude/settings.json').mkdir()


def make_link_out(ward):
    ward.file(ward.place / 'elsewhere', '{}')
    (ward.work / '.claude/settings.json').symlink_to(ward.place / 'elsewhere')


def make_link_to_nowhere(ward):
    (ward.work / '.claude/settings.json').symlink_to('nothing')


def make_round_link(ward):
    (ward.work / '.claude/settings.json').symlink_to('settings.json')


def make_file_on_the_way(ward):
    shutil.rmtree(ward.work / '.claude')
    ward.file('.claude', 'x')


def make_directory_link_out(ward):
    shutil.rmtree(ward.work / '.claude')
    (ward.place / 'elsewhere').mkdir()
    ward.person.own(ward.place / 'elsewhere')
    (ward.work / '.claude').symlink_to(ward.place / 'elsewhere')


def make_linked_backup(ward):
    ward.file('.claude/settings.json', MINE)
    (ward.work / '.claude/settings.json.ward-backup').symlink_to('/etc/passwd')


@pytest.mark.parametrize('make', [make_fifo, make_directory, make_link_out, make_link_to_nowhere, make_round_link, make_file_on_the_way,
                                  make_directory_link_out, make_linked_backup])
def test_what_is_no_file_of_the_users_is_left_alone(here, make):
    here.file('.claude/x')
    make(here)
    before = tree(here.place)
    done = init(here, '--agent', 'claude', '--write', '--no-policy', code=125)
    assert str(here.work / '.claude') in done.err and tree(here.place) == before


def test_a_link_within_the_home_is_followed_and_stays(here):
    target = here.file(here.home / 'dotfiles' / 'claude.json', MINE)
    (here.home / '.claude').mkdir()
    here.person.own(here.home / '.claude')
    link = here.home / '.claude' / 'settings.json'
    link.symlink_to('../dotfiles/claude.json')
    done = init(here, '--agent', 'claude', '--user', '--write')
    assert 'this is a link, and what it leads to is changed: ~/dotfiles/claude.json' in done.out
    assert link.is_symlink() and 'hooks' in json.loads(target.read_text())
    assert (here.home / 'dotfiles' / 'claude.json.ward-backup').read_text() == MINE
    init(here, '--user', '--remove', '--write')
    assert link.is_symlink() and target.read_text() == MINE and os.listdir(target.parent) == ['claude.json']


def test_a_directory_that_is_a_link_stays_when_it_is_empty(me_here):
    (me_here.home / 'dotfiles').mkdir()
    me_here.person.own(me_here.home / 'dotfiles')
    (me_here.home / '.claude').symlink_to('dotfiles')
    init(me_here, '--agent', 'claude', '--user', '--write')
    init(me_here, '--user', '--remove', '--write')
    assert (me_here.home / '.claude').is_symlink() and os.listdir(me_here.home / 'dotfiles') == []


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_what_belongs_to_others_is_left_alone(binary, user, place):
    root = prepare(Ward(binary, Person('root'), place))
    os.chown(root.work, user.uid, user.gid)
    before = tree(root.place)
    done = init(root, '--agent', 'claude', '--write', code=125)
    assert f'belongs to {user.name}, not to you' in done.err and f'as {user.name}' in done.err and tree(root.place) == before
    # And the other way round: a file, and a directory, of root's in a project of the user's.
    root.person = user
    for path in ('.claude/settings.json', '.codex'):
        (root.work / path).parent.mkdir(exist_ok=True)
        os.chown((root.work / path).parent, user.uid, user.gid)
    (root.work / '.claude/settings.json').write_text(MINE)
    (root.work / '.codex').mkdir(mode=0o777)
    os.chmod(root.work / '.codex', 0o777)
    os.chown(root.home, user.uid, user.gid)
    before = tree(root.place)
    for agent in ('claude', 'codex'):
        done = init(root, '--agent', agent, '--write', '--no-policy', code=125)
        assert 'belongs to root, not to you' in done.err
    assert tree(root.place) == before


def test_a_full_disk_loses_nothing(here):
    here.file('.claude/settings.json', MINE)
    before = tree(here.work)
    done = init(here, '--agent', 'claude', '--write', '--no-policy', code=125,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)))
    assert 'cannot be written' in done.err and tree(here.work) == before


def test_a_directory_that_cannot_be_written(me_here):
    path = me_here.file('.claude/settings.json', MINE)
    path.parent.chmod(0o500)
    before = tree(me_here.work)
    done = init(me_here, '--agent', 'claude', '--write', '--no-policy', code=125)
    assert 'cannot be written: Permission denied' in done.err and tree(me_here.work) == before
    path.parent.chmod(0o700)


def test_settings_are_shown_escaped(me_here):
    me_here.file('.claude/settings.json', '{\n\t"a": "\u202e\u200b\x7f"\n}\n')
    done = init(me_here, '--dry-run', '--agent', 'claude', '--no-policy')
    assert '\t"a": "\\u{202e}\\u{200b}\\x7f"' in done.out


def test_a_switch_that_stops_hooks_is_told(me_here):
    me_here.file('.claude/settings.json', '{"disableAllHooks": true}')
    for _ in range(2):
        assert 'does not run hooks there: disableAllHooks is true' in init(me_here, '--agent', 'claude', '--write', '--no-policy').out


def test_variables_name_other_directories(me_here):
    place = me_here.place / 'settings'
    place.mkdir()
    me_here.person.own(place)
    env = {'CLAUDE_CONFIG_DIR': str(place / 'c'), 'CODEX_HOME': str(place), 'XDG_CONFIG_HOME': str(place / 'x')}
    init(me_here, '--agent', 'claude', '--agent', 'codex', '--agent', 'opencode', '--user', '--write', env=env)
    assert sorted(name for name, (_, _, content) in tree(place).items() if content is not None) == [
        str(place / name) for name in ('c/settings.json', 'hooks.json', 'x/opencode/plugin/ward.js')]


def test_in_the_home_the_users_settings_are_meant(me_here):
    init(me_here, '--agent', 'windsurf', '--write', cwd=me_here.home)
    assert (me_here.home / '.codeium/windsurf/hooks.json').exists() and not (me_here.home / '.ward.yaml').exists()


def test_in_a_directory_of_a_repository_its_settings_are_meant(me_here):
    me_here.file('.git/x'), me_here.file('deep/er/x')
    init(me_here, '--agent', 'claude', '--write', cwd=me_here.work / 'deep/er')
    assert (me_here.work / '.claude/settings.json').exists() and (me_here.work / '.ward.yaml').exists()


def test_what_holds_for_all_projects_is_not_put_into_one(me_here):
    init(me_here, '--agent', 'claude', '--user', '--write')
    done = init(me_here, '--agent', 'claude', '--write', '--no-policy')
    assert 'already asks ward in all projects: ~/.claude/settings.json' in done.out and os.listdir(me_here.work) == []
    assert 'still asks ward in all projects (--user): ~/.claude/settings.json' in init(me_here, '--remove', '--write').out
    init(me_here, '--agent', 'claude', '--project', '--write', '--no-policy')
    assert os.listdir(me_here.work) == ['.claude']


def test_a_plugin_of_somebody_elses_is_left_alone(me_here):
    path = me_here.file('.opencode/plugin/ward.js', '// mine\n')
    done = init(me_here, '--agent', 'opencode', '--write', '--no-policy', code=125)
    assert "is not ward's" in done.err
    init(me_here, '--agent', 'opencode', '--remove', '--write')
    assert path.read_text() == '// mine\n'


def test_from_inside_the_sandbox_nothing_is_put_in_or_taken_out(here):
    path = here.file('.claude/settings.json', MINE)
    inside = here.run(here.binary, 'init', '--agent', 'claude', '--agent', 'codex', '--write')
    assert inside.code != 0 and path.read_text() == MINE and not (here.work / '.codex/hooks.json').exists(), inside
    init(here, '--agent', 'claude', '--write')
    written = path.read_text()
    inside = here.run(here.binary, 'init', '--remove', '--write')
    assert inside.code != 0 and path.read_text() == written and (here.work / '.ward.yaml').exists(), inside


@pytest.mark.parametrize('words', [['--agent', 'emacs'], ['--agent'], ['x'], ['--project', '--user'], ['--write', '--dry-run'], ['--yes']])
def test_words_that_mean_nothing(me_here, words):
    done = init(me_here, *words, code=125)
    assert 'ward init --help' in done.err and done.out == ''
    assert 'emacs' not in words or 'claude, codex, gemini, cursor, windsurf, opencode' in done.err


# --- the policy to begin with ----------------------------------------------------------------------------------------

def examples():
    """The starter, and each of its commented-out parts, as they are in the file."""
    text = (SOURCE / 'data' / 'starter.yaml').read_text()
    return text, [part for part in re.split(r'\n\n+', text) if re.search(r'^#(\S|  )', part, re.MULTILINE)]


def uncommented(part):
    return re.sub(r'^#(?=\S|  )', '', part, flags=re.MULTILINE)


def test_the_starter_is_made_once_and_is_valid(here):
    init(here, '--agent', 'claude', '--write')
    path = here.work / '.ward.yaml'
    assert path.read_text() == examples()[0]
    assert here('policy', 'check').code == 0
    assert here.run('/bin/true').code == 0
    done = here('policy', 'trust')
    assert done.code == 0, done
    init(here, '--remove', '--write')
    assert not path.exists()


def test_every_example_of_the_starter_is_valid(plain):
    text, parts = examples()
    assert len(parts) >= 5
    whole = text
    for part in parts:
        assert uncommented(part) != part
        plain.file('.ward.yaml', text.replace(part, uncommented(part)))
        done = plain('policy', 'check')
        assert done.code == 0, (part, done)
        whole = whole.replace(part, uncommented(part))
    plain.file('.ward.yaml', whole)
    done = plain('policy', 'check')
    assert done.code == 0, done
    assert plain('policy', 'trust').code == 0 and plain.run('true').code == 0


def test_a_policy_that_is_there_stays(me_here):
    path = me_here.file('.ward.yaml', 'version: 1\n')
    init(me_here, '--agent', 'claude', '--write')
    done = init(me_here, '--remove', '--write')
    assert path.read_text() == 'version: 1\n' and 'left as it is' in done.out


# --- the documents ---------------------------------------------------------------------------------------------------

def test_the_document_says_what_is_written(me_here):
    os.symlink(me_here.binary, me_here.place / 'bin' / 'ward')
    document = (SOURCE / 'docs' / 'agents.md').read_text()
    section = document[document.index('## By hand'):]
    for agent, (title, _, project, user) in AGENTS.items():
        row = re.search(rf'^\| {title} \| `([^`]*)`, `~/([^`]*)` \| (.*) \|$', section, re.MULTILINE)
        assert row and (row.group(1), row.group(2)) == (project, user)
        if agent != 'opencode':
            init(me_here, '--agent', agent, '--write', '--no-policy')
            assert json.loads(row.group(3).strip('`').replace('\\|', '|')) == json.loads((me_here.work / project).read_text())
