# SPDX-License-Identifier: Apache-2.0
"""Whatever is broken, no hook says yes, and no line that a hook gave earlier runs its command."""
import json
import os
import random
import signal
import subprocess
import time

import pytest

from support import PATIENCE, all_gone, marker, wait_until
from test_hook import REWRITING, shell

OTHERS = {
    'cursor': lambda ward, command: {'conversation_id': 'c', 'generation_id': 'g', 'hook_event_name': 'beforeShellExecution',
                                     'workspace_roots': [str(ward.work)], 'command': command, 'cwd': ''},
    'windsurf': lambda ward, command: {'agent_action_name': 'pre_run_command', 'trajectory_id': 't',
                                       'tool_info': {'command_line': command, 'cwd': str(ward.work)}},
}
ALL = [*REWRITING, *OTHERS]


def event(ward, dialect, command):
    return json.dumps(OTHERS[dialect](ward, command) if dialect in OTHERS else shell(ward, dialect, command)[0])


def line_of(ward, dialect, command):
    """The line that the hook gives for it while all is well."""
    done = ward('hook', input=event(ward, dialect, command))
    if dialect in OTHERS:
        said = done.err if dialect == 'windsurf' else json.loads(done.out)['agent_message']
        return said.strip().split('run it as: ')[1]
    return shell(ward, dialect, command)[1](json.loads(done.out))


def break_policy(ward):
    ward.policy('sandbox: {level: [\n')


def open_policy(ward):
    """Others could have written it."""
    ward.policy('sandbox: {level: none}\n').chmod(0o666)


def close_state(ward):
    state = ward.state / 'ward'
    state.mkdir(exist_ok=True)
    os.chown(state, 0, 0)
    state.chmod(0o755)


def state_is_a_file(ward):
    ward.file(ward.state / 'ward', 'x')


FAULTS = [break_policy, open_policy, close_state, state_is_a_file]


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('dialect', ALL)
def test_what_is_broken_refuses(plain, dialect, fault):
    fault(plain)
    done = plain('hook', input=event(plain, dialect, 'touch made'))
    assert done.code == 2 and 'refused' in done.err, done
    said = json.loads(done.out) if done.out.strip() else {}
    text = json.dumps(said)
    assert '"allow"' not in text and 'run --agent' not in text, done


@pytest.mark.parametrize('fault', [break_policy, open_policy, close_state])
@pytest.mark.parametrize('dialect', ALL)
def test_a_line_that_was_given_before_refuses_too(plain, dialect, fault):
    line = line_of(plain, dialect, 'touch made')
    fault(plain)
    done = plain('-c', line, program='/bin/sh')
    assert done.code in (125, 126) and not (plain.work / 'made').exists(), done


def test_without_ward_the_line_runs_nothing(plain):
    line = line_of(plain, 'claude', 'touch made').replace(plain.binary, plain.binary + '-gone')
    assert plain('-c', line, program='/bin/sh').code == 127 and not (plain.work / 'made').exists()


FULL = '''mount -t tmpfs -o size=16k,uid={uid},gid={gid},mode=700 none {state} || exit 99
mkdir {state}/ward && chown {uid}:{gid} {state}/ward && chmod 700 {state}/ward
{before}
cat /dev/zero > {state}/full 2>/dev/null
exec setpriv --reuid {uid} --regid {gid} --clear-groups -- "$@"'''


def on_full_disk(ward, *words, before='', **how):
    """With a state that has no byte left; before: while it still has some."""
    script = FULL.format(uid=ward.person.uid, gid=ward.person.gid, state=ward.state, before=before)
    process = subprocess.Popen(['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', *words], env=ward.variables, cwd=ward.work,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = ward.finish(process, **how)
    assert done.code != 99, done
    return done


@pytest.mark.skipif(os.geteuid() != 0, reason='mounts a small file system')
@pytest.mark.parametrize('command', ['touch made', 'git push --force', 'rm -rf /'])
@pytest.mark.parametrize('dialect', ALL)
def test_a_full_disk_lets_nothing_through(plain, dialect, command):
    done = on_full_disk(plain, plain.binary, 'hook', input=event(plain, dialect, command).encode())
    assert done.code == 2 and 'run --agent' not in done.out, done


@pytest.mark.skipif(os.geteuid() != 0, reason='mounts a small file system')
@pytest.mark.parametrize('dialect', ALL)
def test_a_line_on_a_full_disk_refuses(plain, dialect):
    line = line_of(plain, dialect, 'touch made')
    done = on_full_disk(plain, '/bin/sh', '-c', line)
    assert done.code == 125 and not (plain.work / 'made').exists(), done


def is_whole(text):
    """An answer, or nothing at all: never a part that could be read as something else."""
    if not text.strip():
        return True
    said = json.loads(text)
    return set(said) <= {'hookSpecificOutput'}


def test_killed_at_any_time_it_has_said_all_or_nothing(plain):
    """What the agent does then is the agent's: most let the call through, so docs/agents.md tells of it. The hook itself says no yes that
    it has not thought to its end."""
    ends = set()
    for number in range(60):
        process = plain.popen('hook', stdin=subprocess.PIPE)
        process.stdin.write(event(plain, 'claude', 'git push --force').encode())
        if number % 3 == 0:  # still reading
            process.stdin.flush()
        else:
            process.stdin.close()
            process.stdin = None
        time.sleep(random.random() * 0.004)
        process.send_signal(signal.SIGKILL)
        done = plain.finish(process)
        ends.add(done.code)
        assert done.code in (-signal.SIGKILL, 0) and is_whole(done.out), done
        assert done.code == 0 or '"allow"' not in done.out, done
    assert -signal.SIGKILL in ends
    assert plain.verify().code == 0


def test_killed_while_it_runs_the_command_ends_with_it(plain):
    word = marker()
    line = line_of(plain, 'claude', f'sh -c "sleep 300; touch made" {word}')
    process = plain.popen('-c', 'exec ' + line, program='/bin/sh')
    assert wait_until(lambda: b'sleep' in b''.join(open(f'/proc/{pid}/cmdline', 'rb').read() for pid in children(process.pid)), PATIENCE)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all_gone(word) and not (plain.work / 'made').exists()


def children(pid):
    """All below it that are there, as far as can be seen."""
    found, look = [], [pid]
    while look:
        parent = look.pop()
        try:
            with open(f'/proc/{parent}/task/{parent}/children') as file:
                below = [int(child) for child in file.read().split()]
        except OSError:
            continue
        found += below
        look += below
    return [child for child in found if os.path.exists(f'/proc/{child}/cmdline')]


def test_where_nobody_answers_from_elsewhere_it_is_a_no(plain):
    """The policy lets questions wait for somebody at another place, and nobody is there, nor anything that could tell of him."""
    plain.policy('wait: 300ms\n')
    line = line_of(plain, 'gemini', 'git push --force')
    done = plain('-c', line, program='/bin/sh', env={'XDG_RUNTIME_DIR': '/nowhere'})
    assert done.code == 126, done
