# SPDX-License-Identifier: Apache-2.0
"""`ward init` as a person has it: at a terminal, with an agent that has written settings of its own."""
import os
import pathlib
import pty
import select
import signal
import subprocess
import time

PATIENCE = 60
QUESTION = b' it? [y/N] '


def tree(*places):
    """All that is there: names, modes, bytes. But for ward's own state."""
    found = {}
    for place in places:
        for directory, directories, files in os.walk(place):
            for name in directories + files:
                path = pathlib.Path(directory, name)
                if not path.is_relative_to(places[0] / '.local/state/ward'):
                    content = path.read_bytes() if path.is_file() else os.readlink(path) if path.is_symlink() else None
                    found[str(path)] = (oct(path.lstat().st_mode), content)
    return found


def differences(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def at_terminal(words, cwd, env):
    """With a yes to each question: the exit status, what was said, and how often it was asked."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, cwd=cwd, env={**env, 'TERM': 'xterm', 'NO_COLOR': '1'}, stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, preexec_fn=lambda: os.close(os.open(os.ttyname(theirs), os.O_RDWR)))
    os.close(theirs)
    said, asked, end = b'', 0, time.monotonic() + PATIENCE
    while time.monotonic() < end and select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:  # nobody holds the other side any more
            break
        said += part
        if said.count(QUESTION) > asked:
            asked += 1
            os.write(ours, b'y\n')
    os.close(ours)
    try:
        code = process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    return code, said.decode(errors='replace'), asked


def there_and_back(place, scope):
    """What went wrong on the way into the settings of the one agent in PATH, and out again."""
    agent, complaints = place.agent, []

    def ward(*words):
        return at_terminal([place.path / 'bin/ward', 'init', '--no-policy', scope, *words], place.work, place.variables)

    def check(is_so, what, said):
        if not is_so:
            complaints.append(f'init {scope}: {what}: {said}')

    before = tree(place.home, place.work)
    shown = place.ward('init', '--no-policy', scope)
    check(shown.returncode == 1 and f'found: {agent.title} ({agent.program}' in shown.stdout and '\n+++ ' in shown.stdout, 'it is not found and shown', shown)
    check(shown.stdout.count('\n+++ ') == 1, 'others are found', shown)
    check(tree(place.home, place.work) == before, 'without a yes it is written', shown)
    code, said, asked = ward()
    written = tree(place.home, place.work)
    check(code == 0 and asked == 1 and '+++ ' in said and written != before, 'it is not written', said)
    code, said, asked = ward()
    check(code == 0 and asked == 0 and tree(place.home, place.work) == written, 'once more it is not the same', said)
    code, said, asked = ward('--remove')
    left = differences(before, tree(place.home, place.work))
    check(code == 0 and asked == 1 and not left, f'it is not as before: {left}', said)
    return complaints, before, written
