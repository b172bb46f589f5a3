# SPDX-License-Identifier: Apache-2.0
"""Notifications on a desktop, by a notify-send that stands in a mount namespace of the test's own; and the daemon, which sees to
what was left behind."""
import json
import os

import pytest

from daemon import serving
from receiver import end_deliverers, jobs, pending, receiving
from support import Person, Ward, wait_until


@pytest.fixture
def root(binary, place):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, Person('root'), place)
    yield ward
    end_deliverers(ward)


def test_a_notification_has_the_words_of_the_question_and_no_markup(root):
    out = root.home / 'words'
    stand_in = root.file(root.home / 'notify-send', f'#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > {out}.part; mv {out}.part {out}\n', 0o755)
    root.policy('rules: [{command: "printf **", do: ask, why: the test}]\nnotify:\n  approvers:\n    - {name: desk, desktop: true}\n')
    place = '/usr/bin/notify-send' if os.path.exists('/usr/bin/notify-send') else '/usr/local/bin'
    mount = (f'mount --bind {stand_in} {place}' if place.endswith('send')
             else f'mount -t tmpfs none {place} && cp {stand_in} {place}/notify-send')
    process = root.popen('-m', 'sh', '-c', f'{mount} && exec "$@"', 'sh', root.binary, 'run', '--agent', 'robot', '--', 'printf', '<b>x</b>&\x1b[2J',
                         program='/usr/bin/unshare')
    assert wait_until(out.exists)
    question, = pending(root)
    words = out.read_bytes().decode().split('\0')[:-1]
    assert words[:3] == ['--app-name=ward', '--urgency=critical', '--'] and len(words) == 5
    assert words[3].startswith('ward: a question waits for an answer')
    assert words[4].startswith('robot: ') and '&lt;b&gt;x&lt;/b&gt;&amp;' in words[4] and '<' not in words[4] and '\x1b' not in words[4]
    assert f'ward approve {question["id"]}' in words[4]
    root('deny', question['id'])
    root.finish(process)


def test_the_daemon_sees_to_what_was_left_behind(plain):
    with receiving() as receiver:
        receiver.reply = lambda number: (500, {}, b'')
        plain.policy('rules: [{command: "printf **", do: ask, why: the test}]\nnotify:\n  approvers:\n'
                     f'    - {{name: team, webhook: "{receiver.url}", backoff: 10ms, attempts: 20}}\n')
        process = plain.popen('run', '--', 'printf', 'x')
        assert wait_until(lambda: receiver.seen)
        end_deliverers(plain)
        plain('deny', pending(plain)[0]['id'])
        plain.finish(process)
        left, = jobs(plain)
        receiver.reply = lambda number: (204, {}, b'')
        before = len(receiver.seen)
        with serving(plain):
            assert wait_until(lambda: not jobs(plain))
        assert [json.loads(body)['delivery'] for _, _, body in receiver.seen[before:]] == [left['id']]
        end_deliverers(plain)
