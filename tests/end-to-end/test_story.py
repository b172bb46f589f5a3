# SPDX-License-Identifier: Apache-2.0
"""The story that ward was made for: a package install with pip against a local index is refused by the sandbox, asked about,
approved for the session, goes on in place and succeeds; the next install is not asked; the log shows the chain."""
import io
import json
import time
import zipfile

import pytest

from support import Terminal
from test_asking import asked, press
from world import WEB, Page, plain, ward, world

HOST, TARGET = 'packages.example', 'connect packages.example:443'


def wheel(name):
    """The smallest package that pip installs."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, 'w') as archive:
        about = f'{name}-1.0.dist-info'
        archive.writestr(f'{name}.py', f'print("{name} works")\n')
        archive.writestr(f'{about}/METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
        archive.writestr(f'{about}/WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        archive.writestr(f'{about}/RECORD', f'{name}.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n')
    return data.getvalue()


class Index(Page):
    """A package index: /simple/NAME/ and the wheels behind it."""

    def do_GET(self):
        name = self.path.strip('/').split('/')[-1].split('-')[0]
        if self.path.startswith('/simple/'):
            self.page, kind = f'<a href="/wheels/{name}-1.0-py3-none-any.whl">{name}</a>\n'.encode(), 'text/html'
        else:
            self.page, kind = wheel(name), 'application/octet-stream'
        self.server.requests.append(self.path)
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(self.page)))
        self.end_headers()
        self.wfile.write(self.page)

    do_HEAD = do_GET


@pytest.fixture(scope='module')
def server(world):
    world.name(HOST, WEB)
    return world.web(WEB, 443, handler=Index, names=[HOST])


@pytest.fixture
def index(world, server):
    world.dns.forget()
    server.requests.clear()
    return server


def sit_down(ward, world):
    """A person's terminal, with pip told of the index."""
    configuration = ward.file(ward.home / '.config/pip/pip.conf', f'[global]\nindex-url = https://{HOST}/simple\n'
                              'disable-pip-version-check = true\nno-cache-dir = true\nbreak-system-packages = true\n')
    certificate = ward.file('index.pem', world.ca.read_bytes())
    return Terminal(ward, columns=120, rows=50, PIP_CONFIG_FILE=str(configuration), PIP_CERT=str(certificate), PIP_TARGET='site')


def test_the_story(ward, world, index):
    desk = sit_down(ward, world)
    try:
        # A package install is refused by the sandbox and asked about, while it waits.
        desk.sendline('ward run -- pip install numpy')
        asked(desk, f'pip wants {HOST}:443', 'pip install numpy', f'yes gives  {TARGET}\r\n', 'goes on where it stands',
              'for the session: pip install')
        assert not world.dns.queries and not index.requests  # nothing has left
        # It is approved for the session, goes on in place and succeeds.
        press(desk, 's')
        desk.expect_exact('Successfully installed numpy-1.0')
        desk.ready()
        assert desk.last_code() == 0
        assert index.requests == ['/simple/numpy/', '/wheels/numpy-1.0-py3-none-any.whl'] and world.dns.asked(HOST)
        assert desk.does('PYTHONPATH=site /usr/bin/python3 -c "import numpy"') == 'numpy works\n'

        # The next install is not asked.
        printed = desk.does('ward run -- pip install pandas')
        assert 'Successfully installed pandas-1.0' in printed and 'ward asks' not in printed

        # The log shows the chain.
        records = [r for r in ward.records() if r['kind'] != 'run.denials']
        assert [r['kind'] for r in records] == ['run.start', 'ask', 'answer', 'run.end', 'run.start', 'run.end']
        first, ask, answer, end, second, last = records
        assert (ask['ask'], ask['grants'], ask['run']) == ('grant', [TARGET], first['run'])
        assert (answer['answer'], answer['scope'], answer['grants']) == ('approve', 'session', [TARGET])
        assert answer['by'].startswith(ward.person.name) and answer['grant']
        result = end['result']
        assert result['exit_code'] == 0 and len(result['attempts']) == 1
        assert {(d['operation'], d['object'], d['program'], d['answer']) for d in result['attempts'][0]['denials']} == {
            ('connect', f'{HOST}:443', 'pip', 'granted')}
        grant = [d for d in result['decisions'] if d['stage'] == 'grant']
        assert [(d['verdict'], d['source'], d['scope'], d['grant']) for d in grant] == [('allow', 'person', 'session', answer['grant'])]
        assert second['decisions'][-1]['grant'] == answer['grant'] and (second['verdict'], second['source']) == ('allow', 'cache')
        assert last['result']['attempts'][0]['denials'] == []
        assert ward.verify().code == 0

        # And so do the commands that read it.
        shown = desk.does(f'ward show {first["run"]}')
        assert TARGET.split()[1] in shown and 'session' in shown and 'granted' in shown, shown
        assert 'pip install numpy' in desk.does('ward log')
        grants = [json.loads(line) for line in desk.does('ward grants --json').splitlines()]
        assert [(g['id'], g['covers'], g['permissions']) for g in grants] == [(answer['grant'], 'pip install', [TARGET])]

        # Taken back, it is asked again; and another tool was never meant.
        desk.does(f'ward grants revoke {answer["grant"]}')
        desk.sendline('ward run -- pip install scipy')
        asked(desk, f'pip wants {HOST}:443')
        press(desk, 'n')
        desk.ready()
        assert desk.last_code() != 0 and not (ward.work / 'site' / 'scipy.py').exists()
    finally:
        desk.close(force=True)


def test_always_is_a_rule_that_was_shown_and_names_the_host_alone(plain, world, index):
    desk = sit_down(plain, world)
    try:
        desk.sendline('ward run -- pip install numpy')
        asked(desk, f'pip wants {HOST}:443', '[a] always')
        press(desk, 'a')
        desk.expect_exact(f'permissions: ["{TARGET}"]')
        desk.expect_exact('other keys: back > ')
        time.sleep(1.5)  # keys do not count at once here either
        press(desk, 'y')
        desk.expect_exact('Successfully installed numpy-1.0')
        desk.ready()
        assert f'permissions: ["{TARGET}"]' in (plain.config / 'ward' / 'ward.yaml').read_text()
        printed = desk.does('ward run --session another -- pip install pandas')
        assert 'Successfully installed pandas-1.0' in printed and 'ward asks' not in printed
        desk.sendline('ward run -- pip install --index-url https://elsewhere.example/simple scipy')
        asked(desk, 'pip wants elsewhere.example:443')
        press(desk, 'n')
        desk.ready()
    finally:
        desk.close(force=True)
