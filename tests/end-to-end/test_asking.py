# SPDX-License-Identifier: Apache-2.0
"""The question to a person and what follows from the answer, at a real terminal."""
import json
import os
import re
import stat
import time

import pexpect
import pytest

from support import Terminal, Tmux, resting, rests, wait_until

ASKED = 'help\r\n> '
QUIET = 0.6  # keys within the first half second do not count


def furnish(ward):
    """A terminal, a directory outside the workspace, and two package installers that write there: pip a file, which can be granted
    while it waits, and npm a named pipe, which can be granted only by running again."""
    outside = ward.place / 'site'
    outside.mkdir()
    ward.person.own(outside)
    pip = ward.file(ward.place / 'bin' / 'pip', f'#!/bin/sh\necho "package $2" > {outside}/"$2" && echo installed "$2"\n', 0o755)
    ward.file(ward.place / 'bin' / 'npm', f'#!/bin/sh\nmkfifo {outside}/"$2" && echo installed "$2"\n', 0o755)
    screen = Terminal(ward, columns=120, rows=50)
    screen.does(f'PATH={pip.parent}:$PATH')
    screen.outside = outside
    return screen


@pytest.fixture
def desk(plain):
    screen = furnish(plain)
    yield screen
    screen.close(force=True)


@pytest.fixture
def desks(ward):
    """As root, and as a plain user."""
    screen = furnish(ward)
    yield screen
    screen.close(force=True)


def asked(screen, *texts):
    """Waits for a question that holds the texts, and for keys to count."""
    screen.expect_exact('ward asks: ')
    screen.expect_exact(ASKED)
    shown = re.sub(r'\x1b\[[0-9;]*m', '', screen.before)  # ward's own bold
    for text in texts:
        assert text in shown, shown
    time.sleep(QUIET)
    screen.listens = True
    return shown


def press(screen, *keys):
    """Each when keys count; something is shown for it at once. On a busy machine the half second may last longer, so that a
    key has to be pressed again."""
    for key in keys:
        if not getattr(screen, 'listens', False):
            time.sleep(QUIET)
        screen.listens = False
        screen.expect([pexpect.TIMEOUT], timeout=0)  # what has come by now stays to be read, as does what comes
        more = f'(?s)(?=.{{{len(screen.buffer) + 1}}})'
        for _ in range(10):
            screen.send(key)
            if screen.expect([more, pexpect.TIMEOUT], timeout=5) == 0:
                break


def kinds(ward):
    return [record['kind'] for record in ward.records()]


def last_start(ward):
    return [record for record in ward.records() if record['kind'] == 'run.start'][-1]


def test_a_package_is_installed(desks):
    """The whole story: it waits, asked, approved for the session, goes on, not asked again, all of it on record."""
    ward = desks.ward
    target, permission = desks.outside / 'numpy', f'write {desks.outside}/numpy'
    desks.sendline('ward run -- pip install numpy')
    asked(desks, 'pip install numpy', f'wants to {permission} (a new file)', f'yes gives  {permission}\r\n', 'goes on where it stands',
          'for the session: pip install')
    press(desks, 's')
    desks.expect_exact('installed numpy')
    desks.ready()
    assert desks.last_code() == 0 and target.read_text() == 'package numpy\n'

    target.write_text('')
    assert desks.does('ward run -- pip install numpy') == 'installed numpy\n' and target.read_text() == 'package numpy\n'

    records = [r for r in ward.records() if r['kind'] != 'run.denials']
    assert [r['kind'] for r in records] == ['run.start', 'ask', 'answer', 'run.end', 'run.start', 'run.end']
    ask, answer, end, second = records[1:5]
    assert (ask['ask'], ask['grants']) == ('grant', [permission])
    assert (answer['answer'], answer['scope'], answer['grants']) == ('approve', 'session', [permission]) and answer['by']
    attempt, = end['result']['attempts']
    assert attempt['exit_code'] == 0 and [(d['object'], d['answer']) for d in attempt['denials']] == [(str(target), 'granted')]
    assert (second['verdict'], second['source']) == ('allow', 'cache') and second['decisions'][-1]['grant'] == answer['grant']
    assert ward.verify().code == 0

    grants = [json.loads(line) for line in desks.does('ward grants --json').splitlines()]
    assert [(g['covers'], g['permissions'], g['refusal']) for g in grants] == [('pip install', [permission], False)]
    assert 'is taken back' in desks.does(f'ward grants revoke {grants[0]["id"]}')
    target.write_text('')
    desks.sendline('ward run -- pip install numpy')
    asked(desks, 'pip install numpy')
    press(desks, 'n')
    desks.ready()
    assert desks.last_code() != 0 and target.read_text() == ''


def test_a_package_is_installed_by_running_again(desks):
    """The same where it cannot be granted in place: refused, asked, approved, run again."""
    ward = desks.ward
    desks.sendline('ward run -- npm install numpy')
    asked(desks, 'npm install numpy', f'write {desks.outside}/numpy', f'write {desks.outside}/**\r\n', 'starts again',
          'for the session: npm install', 'command failed; retry')
    press(desks, 's')
    desks.expect_exact('ward: Execution failed: write ')
    desks.expect_exact('ward: retrying command')
    desks.expect_exact('installed numpy')
    desks.ready()
    assert desks.last_code() == 0 and (desks.outside / 'numpy').is_fifo()

    printed = desks.does('ward run -- npm install pandas')
    assert printed == 'installed pandas\n' and (desks.outside / 'pandas').exists()

    records = [r for r in ward.records() if r['kind'] != 'run.denials']
    assert [r['kind'] for r in records] == ['run.start', 'run.attempt', 'ask', 'answer', 'run.retry', 'run.end', 'run.start', 'run.end']
    ask, answer, retry, end = records[2:6]
    assert ask['grants'] == [f'write {desks.outside}/**'] and ask['refused'][0].startswith(f'write {desks.outside}/numpy')
    assert (answer['answer'], answer['scope'], answer['grants']) == ('approve', 'session', [f'write {desks.outside}/**'])
    assert answer['by'] and retry['attempt'] == 2
    attempts = end['result']['attempts']
    assert [a['exit_code'] != 0 for a in attempts] == [True, False]
    assert attempts[0]['denials'][0]['answer'] == 'granted' and attempts[1]['denials'] == []
    second = records[6]
    assert (second['verdict'], second['source']) == ('allow', 'cache') and second['decisions'][-1]['grant']
    assert ward.verify().code == 0

    grants = [json.loads(line) for line in desks.does('ward grants --json').splitlines()]
    assert [(g['covers'], g['permissions'], g['refusal']) for g in grants] == [('npm install', [f'write {desks.outside}/**'], False)]
    assert 'is taken back' in desks.does(f'ward grants revoke {grants[0]["id"]}')
    desks.sendline('ward run -- npm install scipy')
    asked(desks, 'npm install scipy')
    press(desks, 'n')
    desks.ready()
    assert desks.last_code() != 0 and not (desks.outside / 'scipy').exists()


def test_a_yes_to_one_tool_is_no_yes_to_another(desk):
    desk.sendline('ward run -- pip install numpy')
    asked(desk)
    press(desk, 's')
    desk.ready()
    desk.sendline(f'ward run -- sh -c "echo x > {desk.outside}/numpy"')
    asked(desk, f'write {desk.outside}/numpy')
    press(desk, 'n')
    desk.expect_exact('ward: refused: write ')
    desk.ready()
    assert (desk.outside / 'numpy').read_text() == 'package numpy\n'


@pytest.mark.parametrize('tool', ['pip', 'npm'])
def test_once_is_once(desk, tool):
    for _ in range(2):
        desk.sendline(f'ward run -- {tool} install a')
        asked(desk)
        press(desk, 'y')
        desk.expect_exact('installed a')
        desk.ready()
        (desk.outside / 'a').unlink()
    assert desk.does('ward grants').strip() == 'nothing is granted'


@pytest.mark.parametrize('tool', ['pip', 'npm'])
def test_for_a_time(desk, tool):
    desk.sendline(f'ward run -- {tool} install a')
    asked(desk)
    press(desk, 't', '5')
    desk.expect_exact('installed a')
    desk.ready()
    if tool == 'npm':
        (desk.outside / 'a').unlink()
    assert desk.does(f'ward run -- {tool} install a') == 'installed a\n'
    grant = json.loads(desk.does('ward grants --json'))
    assert 0 < grant['expires'] - grant['made'] <= 300


@pytest.mark.parametrize('act, told', [('mkfifo', 'exec command rejected by user'), ('echo x >', 'a person said no')],
                         ids=['again', 'in-place'])
def test_a_no_leaves_the_command_its_own_exit_code(desk, act, told):
    desk.sendline(f'ward run -- sh -c "{act} {desk.outside}/f || exit 7"')
    asked(desk)
    press(desk, 'n')
    desk.expect_exact(told)
    desk.ready()
    assert 'ward asks' not in desk.before
    assert desk.last_code() == 7
    assert 'denied' == desk.ward.records()[-1]['result']['attempts'][0]['denials'][0]['answer']
    assert kinds(desk.ward).count('ask') == 1


def test_what_was_refused_in_place_is_not_offered_by_another_name(desk):
    """The directory for the pipe would open the file in it, to which somebody has just said no."""
    desk.sendline(f'ward run -- sh -c "echo x > {desk.outside}/f; mkfifo {desk.outside}/p"')
    asked(desk, f'yes gives  write {desk.outside}/f')
    press(desk, 'n')
    desk.expect_exact(f'ward: refused: write {desk.outside}/p')
    desk.ready()
    assert 'ward asks' not in desk.before and kinds(desk.ward).count('ask') == 1


def test_running_again_is_offered_for_the_rest_only(desk):
    """With what was granted in place, without asking for it a second time."""
    other = desk.ward.place / 'other'
    other.mkdir()
    desk.ward.person.own(other)
    desk.sendline(f'ward run -- sh -c "echo x >> {desk.outside}/f && mkfifo {other}/p"')
    asked(desk, f'yes gives  write {desk.outside}/f')
    press(desk, 'y')
    shown = asked(desk, f'yes gives  write {other}/**\r\n', 'starts again')
    assert f'write {desk.outside}/**' not in shown
    press(desk, 'y')
    desk.ready()
    assert desk.last_code() == 0 and (desk.outside / 'f').read_text() == 'x\nx\n' and (other / 'p').is_fifo()


@pytest.mark.parametrize('key', ['q', '\x03', '\x04'], ids=['abort', 'ctrl-c', 'eof'])
def test_abort_and_no_before_the_start_refuse_it(desk, key):
    desk.sendline('ward run -- git push')
    asked(desk, 'git push', 'may this command run')
    press(desk, key)
    desk.expect_exact('exec command rejected by user')
    desk.ready()
    assert desk.last_code() == 126
    start = last_start(desk.ward)
    assert start['verdict'] == 'deny' and start['source'] == 'person' and desk.ward.verify().code == 0


def test_a_reason_reaches_the_agent(desk):
    desk.sendline('ward run --json -- git push > out')
    asked(desk)
    press(desk, 'r')
    desk.type('ask me tomorrow', 'ask me tomorrow')
    desk.ready()
    result = json.loads((desk.ward.work / 'out').read_text())
    assert result['error']['kind'] == 'rejected' and 'ask me tomorrow' in result['error']['message']
    assert result['exit_code'] == -1 and result['verdict'] == 'deny' and result['source'] == 'person'


def test_it_asks_at_the_terminal_also_from_a_pipeline(desk):
    desk.sendline('echo | ward run -- pip install numpy 2>&1 | cat > out')
    asked(desk)
    press(desk, 'y')
    desk.ready()
    assert 'installed numpy' in (desk.ward.work / 'out').read_text()


def test_input_that_was_read_is_not_read_again(desk):
    desk.sendline(f'echo text | ward run -- sh -c "cat; mkfifo {desk.outside}/f"')
    desk.expect_exact('its standard input was already read')
    desk.expect_exact('ward: refused: write ')
    desk.ready()
    assert not (desk.outside / 'f').exists()


def test_input_from_a_file_is_read_again(desk):
    desk.ward.file('input', 'one\ntwo\n')
    desk.sendline(f'ward run -- sh -c "read line; mkfifo {desk.outside}/f && cat > copy" < input')
    asked(desk, 'starts again')
    press(desk, 'y')
    desk.ready()
    assert (desk.ward.work / 'copy').read_text() == 'two\n'


def test_input_that_was_read_is_no_matter_to_a_call_that_waits(desk):
    desk.sendline(f'printf "one\\ntwo\\n" | ward run -- sh -c "read line; cat > {desk.outside}/f"')
    asked(desk, 'goes on where it stands')
    press(desk, 'y')
    desk.ready()
    assert (desk.outside / 'f').read_text() == 'two\n'


def test_without_the_sandbox_only_by_name(desks):
    desks.sendline(f'ward run -- sh -c "mkfifo {desks.outside}/f && readlink /proc/self/ns/pid > {desks.outside}/ns"')
    asked(desks, '[u] without the sandbox')
    press(desks, 'u', 'y')
    desks.expect_exact('retrying command without sandbox')
    desks.ready()
    assert (desks.outside / 'ns').read_text().strip() == os.readlink('/proc/self/ns/pid')
    end = desks.ward.records()[-1]['result']
    assert [a['level'] for a in end['attempts']] == ['restricted', 'none']


@pytest.mark.parametrize('flags', ['--approval on-request', '--sandbox require'])
def test_without_the_sandbox_is_not_offered(desk, flags):
    if 'on-request' in flags:
        desk.sendline(f'ward run {flags} -- npm install a')
        asked(desk, 'may this command run')
        press(desk, 'y')
    else:
        desk.sendline(f'ward run {flags} -- npm install a')
    shown = asked(desk, f'write {desk.outside}')
    assert 'without the sandbox' not in shown
    desk.send('u')  # which means nothing
    time.sleep(QUIET)
    press(desk, 'n')
    desk.ready()
    assert not (desk.outside / 'a').exists()


def test_nobody_is_asked_for_a_whole_home(desk):
    printed = desk.does('ward run -- mkfifo ~/.newpipe')
    assert 'ward: refused: write ' in printed and 'ward asks' not in printed
    desk.sendline('ward run -- mkdir ~/.newcache')  # in place for what it is, which is one directory
    asked(desk, f'yes gives  write {desk.ward.home}/.newcache/**\r\n')
    press(desk, 'y')
    desk.ready()
    assert desk.last_code() == 0 and (desk.ward.home / '.newcache').is_dir()


def test_never_asks_nothing(desk):
    printed = desk.does('ward run --approval never -- pip install a')
    assert 'ward: refused: write ' in printed and 'ward asks' not in printed
    assert 'refused: ' in desk.does('ward run --approval never -- git push') and desk.last_code() == 126


def test_a_time_out_is_never_asked_about(desk):
    printed = desk.does(f'ward run --timeout 0.5s -- sh -c "mkfifo {desk.outside}/f; sleep 60"')
    assert 'timed out' in printed and 'ward asks' not in printed
    assert desk.last_code() == 124


def test_what_a_person_ended_is_not_asked_about(desk):
    rest = resting()
    desk.sendline(f'ward run -- sh -c "mkfifo {desk.outside}/f; echo wait$((1)); exec sleep {rest}"; echo over$((1))')
    desk.expect_exact('wait1')
    assert rests(rest)
    desk.sendcontrol('c')
    desk.expect_exact('over1')
    assert 'ward asks' not in desk.before
    desk.ready()


def test_a_command_that_succeeds_is_not_asked_about(desk):
    printed = desk.does(f'ward run -- sh -c "mkfifo {desk.outside}/f; true"')
    assert 'ward asks' not in printed and 'ward: refused: write ' in printed


def test_a_job_in_the_background_never_touches_the_terminal(desk):
    printed = desk.does('ward run -- pip install a > out 2>&1 & wait')
    desk.does('true')
    assert 'ward asks' not in printed + desk.does('cat out')


@pytest.mark.parametrize('act', ['mkfifo', 'echo x >'], ids=['again', 'in-place'])
def test_the_same_refusal_is_not_asked_about_twice_but_another_is(desk, act):
    other = desk.ward.place / 'other'
    other.mkdir()
    desk.ward.person.own(other)
    desk.sendline(f'ward run -- sh -c "rm -f {desk.outside}/f; {act} {desk.outside}/f && {act} {other}/f"')
    asked(desk, f'write {desk.outside}')
    press(desk, 'y')
    asked(desk, f'write {other}')
    press(desk, 'y')
    desk.ready()
    assert desk.last_code() == 0 and (other / 'f').exists()


@pytest.mark.parametrize('tool, given', [('npm', '/**'), ('pip', '/numpy')])
def test_always_writes_the_rule_that_was_shown(desk, tool, given):
    desk.sendline(f'ward run -- {tool} install numpy')
    asked(desk, '[a] always')
    press(desk, 'a')
    desk.expect_exact(f'{tool} install')
    desk.expect_exact('back > ')
    press(desk, 'y')
    desk.expect_exact('installed numpy')
    desk.ready()
    file = desk.ward.config / 'ward' / 'ward.yaml'
    text = file.read_text()
    assert f'command: "{tool} install"' in text and 'do: allow' in text and f'write {desk.outside}{given}"' in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 'ok' in desk.does('ward policy check')
    if tool == 'npm':
        (desk.outside / 'numpy').unlink()
    assert desk.does(f'ward run --session another -- {tool} install numpy') == 'installed numpy\n'
    assert last_start(desk.ward)['source'] == 'rule'


def test_never_again_is_a_rule_too(desk):
    desk.sendline('ward run -- git push')
    asked(desk, '[v] never again')
    press(desk, 'v', 'y')
    desk.expect_exact('exec command rejected by user')
    desk.ready()
    assert 'do: deny' in (desk.ward.config / 'ward' / 'ward.yaml').read_text()
    assert 'refused: ' in desk.does('ward run -- git push') and desk.last_code() == 126


@pytest.mark.parametrize('flags, command, question', [
    ('--approval unless-trusted', 'ls', True), ('--approval on-request', 'touch f', True), ('--approval on-request', 'ls', False),
    ('--approval on-failure', 'touch f', False), ('--escalated', 'ls', True), ('--sandbox forbid', 'ls', True),
    ('--approval on-failure', 'git push --force', True)])
def test_what_is_asked_before_the_start(desk, flags, command, question):
    desk.sendline(f'ward run {flags} -- {command}; echo over$((1))')
    if question:
        asked(desk, command)
        press(desk, 'n')
    desk.expect_exact('over1')
    assert 'ward asks' not in desk.before
    desk.ready()


def test_started_without_the_sandbox_after_a_yes(desks):
    desks.sendline('ward run --escalated -- readlink /proc/self/ns/pid')
    asked(desks, 'unsandboxed')
    press(desks, 'y')
    desks.expect_exact(os.readlink('/proc/self/ns/pid'))
    desks.ready()
    assert desks.ward.records()[-1]['result']['attempts'][0]['level'] == 'none'


def test_the_command_itself_is_shown(desk):
    request = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run',
                          'params': {'argv': ['git', 'push'], 'approval_command': 'ls -l', 'env': ['GIT_SSH=evil'], 'reason': 'just looking'}})
    desk.ward.file('request', request + '\n')
    desk.sendline('ward serve --stdio < request > out')
    shown = asked(desk, '| GIT_SSH=evil git push', 'this is: ls -l; just looking')
    assert '| ls -l' not in shown
    press(desk, 'n')
    desk.ready()


@pytest.mark.parametrize('act, given', [('mkfifo', '/**'), ('echo x >', '/f')], ids=['again', 'in-place'])
def test_a_grant_is_the_thing_that_was_shown(desk, act, given):
    """Not what a link leads to later."""
    other, second = desk.ward.home / 'other', desk.ward.home / 'second'
    for directory in (other, second):
        directory.mkdir()
        desk.ward.person.own(directory)
    desk.does(f'ln -s {other} {desk.ward.place}/work/link')
    desk.sendline(f'ward run --session l -- sh -c "{act} link/f"')
    asked(desk, f'yes gives  write {other}{given}\r\n')
    press(desk, 's')
    desk.ready()
    assert (other / 'f').exists()
    desk.does(f'rm {other}/f; rmdir {other}; ln -s {second} {other}')
    desk.sendline(f'ward run --session l -- sh -c "{act} link/f"')
    asked(desk, f'write {second}')
    press(desk, 'n')
    desk.ready()
    assert not (second / 'f').exists()


def test_a_yes_counts_only_for_what_was_on_the_screen(plain):
    places = [plain.place / f'd{i}' for i in range(30)]
    for place in places:
        place.mkdir()
        plain.person.own(place)
    screen = Terminal(plain, rows=24, columns=80)
    plain.file('many', ''.join(f'mkfifo {place}/f\n' for place in places) + 'exit 1\n')
    screen.sendline('ward run -- sh many')
    asked(screen, 'more lines')
    press(screen, 'y')
    screen.expect_exact(': any key --')
    assert not any((place / 'f').exists() for place in places)
    press(screen, 'q')
    screen.expect_exact(ASKED)
    press(screen, 'n')
    screen.ready()
    screen.close(force=True)


def test_a_required_wall_is_required_with_a_remembered_answer_too(desk):
    desk.ward.policy('sandbox: {require: [netns]}\n')
    desk.sendline('ward run --session w --net full -- git push')
    asked(desk)
    press(desk, 's')
    desk.expect_exact('netns')
    desk.ready()
    assert 'netns' in desk.does('ward run --session w --net full -- git push') and desk.last_code() == 125
    assert 'there is no grant' in desk.does('ward grants revoke zz') and kinds(desk.ward).count('grant.revoke') == 0


def test_an_answer_without_the_sandbox_covers_nothing_else(desk):
    desk.sendline('ward run --session u --escalated -- pip install a')
    asked(desk, 'for the session: exactly this command')
    press(desk, 's')
    desk.expect_exact('installed a')
    desk.ready()
    desk.sendline('ward run --session u --escalated -- pip install b')
    asked(desk)
    press(desk, 'n')
    desk.ready()
    assert not (desk.outside / 'b').exists()


HOSTILE = ['\x1b]0;owned\x07', '\x1b[2J\x1b[H', '\u202e', '\u200b', 'р\u0430ypal', '\r\nward asks: fine?\r\n  yes  [y]', '\x9b31m', '\ufeff']


@pytest.mark.parametrize('field', ['command', '--reason', '--tool', '--call-id', '--turn'])
def test_hostile_text_cannot_draw(desk, field):
    text = ''.join(HOSTILE)
    script = desk.ward.file('agent.py', f'''import os, sys
text = {text!r}
if {field == 'command'}:
    os.execvp("ward", ["ward", "run", "--", "git", "push", text])
os.execvp("ward", ["ward", "run", {field!r}, text, "--", "git", "push"])
''')
    desk.sendline(f'/usr/bin/python3 {script}')
    shown = asked(desk)
    for piece in ('\x1b]0', '\x1b[2J', '\x1b[H', '\u202e', '\u200b', '\x9b', '\ufeff', '\r\nward asks: fine'):
        assert piece not in shown, repr(shown)
    press(desk, 'n')
    desk.ready()
    assert desk.last_code() == 126


def test_fifty_runs_in_one_session(desk):
    desk.sendline('ward run --session many -- npm install first')
    asked(desk)
    press(desk, 's')
    desk.expect_exact('installed first')
    desk.ready()
    desk.does('for i in $(seq 50); do ward run --session many -- npm install p$i < /dev/null > out.$i 2>&1 & done 2> /dev/null; wait 2> /dev/null')
    desk.does('true')
    assert len(list(desk.outside.iterdir())) == 51
    assert kinds(desk.ward).count('run.end') == 51 and kinds(desk.ward).count('ask') == 1
    assert desk.ward.verify().code == 0


def test_twenty_runs_at_once_in_what_was_granted_in_place(desk):
    """An answer for the session gives the same to runs that come later, whoever writes first."""
    desk.ward.file(desk.ward.place / 'bin' / 'pip', f'#!/bin/sh\necho "$2" >> {desk.outside}/all && echo installed "$2"\n', 0o755)
    desk.sendline('ward run --session many -- pip install first')
    asked(desk, f'yes gives  write {desk.outside}/all\r\n')
    press(desk, 's')
    desk.expect_exact('installed first')
    desk.ready()
    desk.does('for i in $(seq 20); do ward run --session many -- pip install p$i < /dev/null > out.$i 2>&1 & done 2> /dev/null; wait 2> /dev/null')
    desk.does('true')
    assert sorted((desk.outside / 'all').read_text().split()) == sorted(['first', *(f'p{i}' for i in range(1, 21))])
    assert kinds(desk.ward).count('run.end') == 21 and kinds(desk.ward).count('ask') == 1 and desk.ward.verify().code == 0


def test_a_session_ends_with_its_answers(desk):
    desk.sendline('ward run --session mine -- pip install a')
    asked(desk)
    press(desk, 's')
    desk.ready()
    assert desk.does('ward run --session mine -- pip install a') == 'installed a\n'
    assert 'mine' in desk.does('ward session') and 'has ended' in desk.does('ward session end mine')
    desk.sendline('ward run --session mine -- pip install a')
    asked(desk)
    press(desk, 'n')
    desk.ready()


def test_nobody_there_means_no_and_says_what_would_permit_it(ward):
    done = ward.run('git', 'push')
    assert done.code == 126 and 'nobody can be asked' in done.err and '{command: git push, do: allow}' in done.err
    done = ward.run('ls', flags=['--escalated'])
    assert done.code == 126 and '--level none' in done.err
    assert kinds(ward).count('ask') == 0 and ward.verify().code == 0


@pytest.fixture
def pane(plain):
    tmux = Tmux(plain, 80, 24)
    yield tmux
    tmux.end()


def question_on(pane, line):
    """The lines of the pane once a question stands there."""
    pane.keys('-l', 'clear; ' + line)
    pane.keys('Enter')
    pane.shows('help\n>')
    return [line.rstrip() for line in pane.screen().splitlines() if line.strip()]


def refuse_on(pane):
    """As press does it."""
    for _ in range(10):
        time.sleep(QUIET)
        pane.keys('n')
        if wait_until(lambda: 'exec command rejected by user' in pane.screen(), 5, 0.1):
            return
    pytest.fail(pane.screen())


def test_what_a_person_sees(pane):
    lines = question_on(pane, f'{pane.ward.binary} run --session s --agent robot --reason "release day" -- git push --force')
    assert lines == [
        'ward asks: may this command run?',
        '  | git push --force',
        f'  in         {pane.ward.work}',
        '  asked by   agent robot, session s',
        '  agent says (its own words, unchecked) release day',
        '  why        it rewrites or deletes what others may already have',
        '  risk       high: publishing, history; cannot be undone',
        '             - it sends commits to others',
        '             - it rewrites or deletes what others may already have',
        '  yes means  it runs in the sandbox, and gets nothing beyond that',
        '  yes  [y] once  [s] for the session: exactly this command  [t] for a time',
        '  no   [n] this time  [r] and say why  [v] never again  [q] abort  [l] later',
        '       [d] details  [?] help',
        '>']
    refuse_on(pane)


def test_details_come_on_a_key(pane):
    question_on(pane, f'{pane.ward.binary} run --session s --agent robot -- git push --force')
    for _ in range(10):
        time.sleep(QUIET)
        pane.keys('d')
        if wait_until(lambda: 'any key --' in pane.screen(), 5, 0.1):
            break
    text = pane.screen()
    for part in ('  in short   run: git', '  will       runs: git push --force', '  touches    ', '  whom       you',
                 '  way back   there is none', '  past       ', '  confidence '):
        assert part in text, text
    pane.keys('Space')
    refuse_on(pane)


def test_hostile_text_leaves_a_real_terminal_as_it_is(pane, plain):
    plain.file('agent.py', f'''import os
text = {''.join(HOSTILE)!r}
os.execv({plain.binary!r}, ["ward", "run", "--session", "s", "--reason", text, "--tool", text, "--", "git", "push", text])
''')
    lines = question_on(pane, '/usr/bin/python3 agent.py')
    text = '\n'.join(lines)
    assert lines[0] == 'ward asks: may this command run?'
    for start in ('ward asks', '  yes  [y]', '  no   [n]'):
        assert sum(line.startswith(start) for line in lines) == 1, text
    for shown in ('\\x1b]0;owned\\x07', '\\x1b[2J', '\\u{202e}', '\\u{200b}'):
        assert shown in text.replace('\n             ', '').replace('\n  | ', ''), text
    assert lines[-1] == '>'
    refuse_on(pane)
