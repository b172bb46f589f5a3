# SPDX-License-Identifier: Apache-2.0
"""Programs of every day that write outside the permissions: they wait for the answer, go on, and do their work as if it had always
been allowed. Each says how often a person is asked for it: more would wear him down."""
import io
import json
import os
import re
import shutil
import stat
import tarfile

import pytest

from support import Terminal
from test_asking import press
from test_asking_in_place import last_result
from test_files_in_place import outside
from test_story import wheel

QUESTION = re.compile(r'ward asks: .*?help\r\n> |READY> ', re.S)


@pytest.fixture
def desk(ward):
    screen = Terminal(ward, columns=200, rows=50)
    screen.does('export GIT_CONFIG_GLOBAL=/dev/null LESSHISTFILE=-')
    yield screen
    screen.close(force=True)


def act(desk, script, key='y', code=0):
    """Runs the script, gives every answer, and returns what was asked for."""
    desk.ward.file('act.sh', 'set -e\n' + script)
    desk.sendline('ward run -- bash act.sh')
    wanted = []
    while True:
        desk.expect(QUESTION)
        if desk.after == desk.PROMPT:
            break
        shown = re.sub(r'\x1b\[[0-9;]*m', '', desk.after)
        wanted += re.findall(r'yes gives  (\S.*?)\r\n', shown)
        assert len(wanted) < 40, wanted
        desk.listens = False
        press(desk, key)
    printed = desk.before
    assert desk.last_code() == code, printed
    result = last_result(desk.ward)
    assert len(result['attempts']) == 1
    refused = [denial for denial in result['attempts'][0]['denials'] if denial['answer'] != 'granted']
    assert not refused, refused
    return wanted


def needs(*programs):
    for program in programs:
        if not shutil.which(program, path='/usr/local/bin:/usr/bin:/bin'):
            pytest.skip(f'{program} is not there')
