#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a coding agent that runs as the command, under whatever name it is called by. It does what the real ones do: makes
its directories at its first start, reads its login, rewrites its settings beside themselves, keeps a history, talks to its API, and
runs a tool in a sandbox of its own. It prints what became of each as one JSON object."""
import json
import os
import pathlib
import socket
import subprocess
import sys

NAME = pathlib.Path(sys.argv[0]).name
HOME = pathlib.Path(os.environ['HOME'])
DATA = pathlib.Path(os.environ.get('XDG_DATA_HOME') or HOME / '.local/share')
STATE = pathlib.Path(os.environ.get('XDG_STATE_HOME') or HOME / '.local/state')
CONFIG = pathlib.Path(os.environ.get('XDG_CONFIG_HOME') or HOME / '.config')
done = {}


def atomic(path, text):
    """As all of them do it: beside it, and over it."""
    beside = path.with_name(f'{path.name}.tmp.{os.getpid()}.1')
    beside.write_text(text)
    beside.chmod(0o600)
    os.rename(beside, path)
    return path.read_text()


def plainly(path, text):
    path.write_text(text)
    return path.read_text()


def make(path):
    path.mkdir(parents=True, exist_ok=True)
    return path.is_dir()


def note(path, text):
    make(path.parent)
    with open(path, 'a') as file:
        file.write(text + '\n')
    return path.read_text()


def locked(path):
    os.mkdir(path)
    os.utime(path)
    os.rmdir(path)
    return True


def call(host):
    with socket.create_connection((host, 443), 30) as peer:
        return peer.recv(100).decode()


def tool(*words):
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return [ran.returncode, ran.stdout, ran.stderr]


def step(name, act, *arguments):
    try:
        done[name] = act(*arguments)
    except OSError as error:
        done[name] = f'{type(error).__name__}: {error.strerror}'


HOSTS = {'claude': 'api.anthropic.com', 'codex': 'api.openai.com', 'gemini': 'generativelanguage.googleapis.com', 'opencode': 'opencode.ai'}
KEYS = {'claude': 'ANTHROPIC_API_KEY', 'codex': 'OPENAI_API_KEY', 'gemini': 'GEMINI_API_KEY', 'opencode': 'OPENCODE_API_KEY'}
PLACES = {  # login, history, state that is replaced, and what runs programs
    'claude': [HOME / '.claude/.credentials.json', HOME / '.claude/projects/-work/one.jsonl', HOME / '.claude.json',
               [HOME / '.claude/settings.json', HOME / '.claude/hooks/x.sh', HOME / '.claude/commands/x.md', HOME / '.claude/local/claude',
                HOME / '.claude/shell-snapshots/x.sh', HOME / '.claude/CLAUDE.md']],
    'codex': [HOME / '.codex/auth.json', HOME / '.codex/sessions/2026/one.jsonl', HOME / '.codex/models_cache.json',
              [HOME / '.codex/config.toml', HOME / '.codex/hooks.json', HOME / '.codex/rules/x', HOME / '.codex/AGENTS.md', HOME / '.codex/tmp/arg0/x']],
    'gemini': [HOME / '.gemini/oauth_creds.json', HOME / '.gemini/tmp/work/chats/one.json', HOME / '.gemini/projects.json',
               [HOME / '.gemini/settings.json', HOME / '.gemini/extensions/x', HOME / '.gemini/tmp/bin/rg', HOME / '.gemini/trusted_hooks.json',
                HOME / '.gemini/bin/rg']],
    'opencode': [DATA / 'opencode/auth.json', DATA / 'opencode/storage/session/one.json', STATE / 'opencode/model.json',
                 [CONFIG / 'opencode/opencode.json', CONFIG / 'opencode/plugin/x.js', DATA / 'opencode/bin/rg', STATE / 'opencode/plugin-meta.json']],
}
login, history, state, runs = PLACES[NAME]

step('first start', make, login.parent)
done['login'] = login.read_text() if login.exists() else None
step('login written', plainly, login, '{"token": "plain"}')
step('login replaced', atomic, login, '{"token": "new"}')
step('history', note, history, 'said')
make(state.parent)
step('lock', locked, state.with_name(state.name + '.lock')) if NAME == 'claude' else None
before = json.loads(state.read_text()) if state.exists() else {}
step('state', atomic, state, json.dumps({**before, 'starts': before.get('starts', 0) + 1, 'mcpServers': {'evil': {'command': 'sh'}}}))
done['may write'] = [os.access(path, os.W_OK) for path in (login, history, HOME)]
for path in runs:
    step('runs ' + path.name, lambda: (path.parent.mkdir(parents=True, exist_ok=True), atomic(path, 'evil')))
step('profile', plainly, HOME / '.bashrc', 'evil')
done['secrets'] = {}
for secret in json.loads(os.environ.get('LOOK_FOR', '[]')):
    try:
        done['secrets'][secret] = (HOME / secret).read_text()
    except OSError as error:
        done['secrets'][secret] = f'{type(error).__name__}: {error.strerror}'
step('other login', lambda: [other[0].read_text() for name, other in PLACES.items() if name != NAME][0])
step('api', call, HOSTS[NAME])
step('elsewhere', call, 'web.example')
done['key'] = {name: os.environ.get(key) for name, key in KEYS.items()}
step('edit', plainly, pathlib.Path('edited'), 'x')
for name, words in json.loads(os.environ.get('TOOLS', '{}')).items():
    step('tool ' + name, tool, *words)
print(json.dumps(done))
