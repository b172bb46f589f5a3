# SPDX-License-Identifier: Apache-2.0
"""Answers that come back from webhooks to the inbox's server: one that is signed, fresh and new counts, nothing else does."""
import hashlib
import hmac
import http.client
import json
import time
import urllib.parse

import pytest

from receiver import SECRET, end_deliverers, pending, receiving
from support import PATIENCE, wait_until
from web import serving


class Scene:
    """A run that waits, what the receiver was told of it, and the server that takes answers."""

    def __init__(self, ward, receiver, web):
        self.ward, self.receiver, self.web = ward, receiver, web

    def ask(self, shape='generic', word='x'):
        self.ward.policy(f'rules: [{{command: "printf **", do: ask, why: the test}}]\nnotify:\n  callback: http://{self.web.host}\n  approvers:\n'
                         f'    - {{name: team, webhook: "{self.receiver.url}", shape: {shape}, secret_file: "{self.ward.home}/secret"}}\n'
                         f'    - {{name: other, webhook: "http://127.0.0.1:9/", attempts: 1, secret_file: "{self.ward.home}/secret"}}\n')
        before = len(self.receiver.seen)
        process = self.ward.popen('run', '--', 'printf', word)
        assert wait_until(lambda: len(self.receiver.seen) > before)
        return process, self.receiver.bodies()[-1]

    def post(self, path, body, headers):
        connection = http.client.HTTPConnection(*self.web.address, timeout=PATIENCE)
        # Under whatever name a proxy in front of it has.
        connection.request('POST', path, body, {'Host': 'ward.example', **headers})
        try:
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    def answer(self, message, answer, path=None, when=None, secret=SECRET, **more):
        callback = message['callback']
        body = json.dumps({'ask': message['question']['id'], 'nonce': callback['nonce'], 'hash': callback['hash'], 'answer': answer, 'by': 'alice',
                           **more}).encode()
        return self.send(path or urllib.parse.urlparse(callback['url']).path, body, when, secret)

    def send(self, path, body, when=None, secret=SECRET):
        when = str(int(when or time.time()))
        signature = hmac.new(secret.encode(), when.encode() + b'.' + body, hashlib.sha256).hexdigest()
        return self.post(path, body, {'Ward-Signature': f't={when},v1={signature}', 'Content-Type': 'application/json'})[0]


@pytest.fixture
def scene(plain):
    plain.file(plain.home / 'secret', SECRET + '\n', 0o600)
    with receiving() as receiver, serving(plain) as web:
        yield Scene(plain, receiver, web)
        end_deliverers(plain)


def test_a_signed_answer_counts_once(scene):
    process, message = scene.ask()
    body = json.dumps({'ask': message['question']['id'], 'nonce': message['callback']['nonce'], 'hash': message['callback']['hash'],
                       'answer': {'answer': 'approve', 'reason': 'fine'}, 'by': 'alice'}).encode()
    assert scene.send('/hook/team', body) == 200
    assert scene.ward.finish(process).out == 'x'
    answer, = [record for record in scene.ward.records() if record['kind'] == 'answer']
    assert (answer['answer'], answer['by'], answer['reason']) == ('approve', 'alice through channel team', 'fine')
    assert scene.send('/hook/team', body) == 409
    # Nor to the next question that is like it.
    process, message = scene.ask()
    assert scene.send('/hook/team', body) == 409 and pending(scene.ward)
    assert scene.answer(message, {'answer': 'deny'}) == 200
    assert scene.ward.finish(process).code == 126


def test_nothing_else_counts(scene):
    process, message = scene.ask()
    yes = {'answer': 'approve'}
    assert scene.answer(message, yes, secret='f' * 32) == 401
    assert scene.answer(message, yes, when=time.time() - 400) == 401
    assert scene.answer(message, yes, when=time.time() + 400) == 401
    assert scene.post('/hook/team', b'{}', {})[0] == 401
    assert scene.answer(message, yes, path='/hook/nobody') == 401
    assert scene.answer(message, yes, path='/hook/../hook/team') == 401
    assert scene.answer(message, yes, path='/hook/other') == 403
    assert scene.answer(message, {'answer': 'approve', 'scope': 'always'}) == 422
    assert scene.answer(message, {'answer': 'approve', 'grants': ['write /']}) == 422
    assert scene.answer(message, yes, hash='0' * 64) == 410
    assert scene.answer(message, yes, more=1) == 400
    assert scene.send('/hook/team', b'\xff\x00') == 400
    assert scene.send('/hook/team', b'{' * 70000) in (400, 413)
    # What ward sent, signed with the same secret, sent back to it.
    _, headers, body = scene.receiver.seen[-1]
    assert scene.post('/hook/team', body, {'Ward-Signature': headers['Ward-Signature']})[0] == 400
    connection = http.client.HTTPConnection(*scene.web.address, timeout=PATIENCE)
    connection.request('GET', '/hook/team')
    assert connection.getresponse().status == 405
    connection.close()
    assert process.poll() is None and len(pending(scene.ward)) == 1
    scene.ward('deny', pending(scene.ward)[0]['id'])
    assert scene.ward.finish(process).code == 126
    assert scene.answer(message, yes) == 410


def test_a_button_in_slack_answers(scene):
    process, message = scene.ask('slack')
    button, = [element for block in message['blocks'] for element in block.get('elements', []) if element['action_id'] == 'approve once']
    form = urllib.parse.urlencode({'payload': json.dumps({'type': 'block_actions', 'user': {'id': 'U024BE7LH', 'username': 'bob'},
                                                          'actions': [{'action_id': button['action_id'], 'value': button['value']}]})}).encode()
    when = str(int(time.time()))

    def press(signed):
        return scene.post('/hook/team', form, {'X-Slack-Signature': 'v0=' + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest(),
                                               'X-Slack-Request-Timestamp': when, 'Content-Type': 'application/x-www-form-urlencoded'})[0]
    assert press(f'v0:{when}1:'.encode() + form) == 401
    assert scene.send('/hook/team', form) == 401
    assert press(f'v0:{when}:'.encode() + form) == 200
    assert scene.ward.finish(process).out == 'x'
    answer, = [record for record in scene.ward.records() if record['kind'] == 'answer']
    assert answer['by'] == 'bob (U024BE7LH) through channel team'
    assert press(f'v0:{when}:'.encode() + form) == 409


def test_strangers_who_try_much_are_slowed_and_others_are_not_refused_for_good(scene):
    statuses = [scene.post('/hook/team', b'{}', {'Ward-Signature': 't=1,v1=' + '0' * 64})[0] for _ in range(120)]
    assert set(statuses) == {401, 429}
    process, message = scene.ask()
    assert wait_until(lambda: scene.answer(message, {'answer': 'deny'}) == 200)
    assert scene.ward.finish(process).code == 126
