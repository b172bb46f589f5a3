# SPDX-License-Identifier: Apache-2.0
"""Channels of the policy: who is told of what, that it arrives whatever the receiver does, and who may answer."""
import json
import signal
import socket
import subprocess
import threading
import time

import pytest

from receiver import SECRET, deliverers, end_deliverers, is_signed, jobs, pending, receiving
from support import wait_until


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


@pytest.fixture
def each(ward):
    ward.file(ward.home / 'secret', SECRET + '\n', 0o600)
    yield ward
    end_deliverers(ward)


@pytest.fixture
def plain(plain):
    plain.file(plain.home / 'secret', SECRET + '\n', 0o600)
    yield plain
    end_deliverers(plain)


def tell(ward, url, more='', top='', group='approvers'):
    ward.policy(f'rules: [{{command: "printf **", do: ask, why: the test}}]\nnotify:\n{top}  {group}:\n    - name: team\n'
                f'      webhook: {url}\n      secret_file: {ward.home}/secret\n      backoff: 10ms\n{more}')


def channel(ward, text):
    ward.policy(f'rules: [{{command: "printf **", do: ask, why: the test}}]\nnotify:\n  approvers:\n    - name: team\n{text}')


def records(ward, kind):
    return [record for record in ward.records() if record['kind'] == kind]


def test_a_question_is_posted_signed_and_waits_for_its_answer(each, receiver):
    ward = each
    tell(ward, receiver.url)
    process = ward.popen('run', '--agent', 'robot', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    path, headers, body = receiver.seen[0]
    message = json.loads(body)
    question, = pending(ward)
    assert path == '/hook' and headers['Ward-Delivery'] == message['delivery'] and headers['Ward-Event'] == 'asked'
    assert headers['Content-Type'] == 'application/json' and is_signed(SECRET, headers['Ward-Signature'], body)
    assert not is_signed(SECRET, headers['Ward-Signature'], body + b' ')
    assert (message['event'], message['to'], message['channel'], message['callback']) == ('asked', 'approvers', 'team', None)
    assert message['question']['id'] == question['id'] and message['question']['ask']['command'] == 'printf x'
    assert message['question']['ask']['agent'] == 'robot' and 'nonce' not in message['question']
    assert ward('approve', question['id']).code == 0
    assert ward.finish(process).out == 'x'
    assert wait_until(lambda: not jobs(ward))
    assert len(receiver.seen) == 1 and not records(ward, 'notify.failed')


def test_nobody_is_told_of_a_run_that_asks_nothing(plain, receiver):
    tell(plain, receiver.url)
    assert plain.run('true').code == 0
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    assert receiver.events() == ['asked']


def test_without_channels_nothing_is_started(plain):
    plain.policy('rules: []\n')
    assert plain.run('true').code == 0
    assert not deliverers(plain) and not (plain.state / 'ward' / 'notify').exists()


def test_agents_risk_and_events_are_picked(plain, receiver):
    tell(plain, receiver.url, '      agents: ["claude*"]\n      "on": [asked]\n')
    # Nobody is told, so nobody can be asked.
    assert plain('run', '--agent', 'other', '--', 'printf', 'x').code == 126
    process = plain.popen('run', '--agent', 'claude-1', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    process.send_signal(signal.SIGTERM)
    plain.finish(process)
    tell(plain, receiver.url, '      risk: critical\n      "on": [asked]\n')
    process = plain.popen('run', '--', 'printf', 'y')
    assert wait_until(lambda: pending(plain))
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    tell(plain, receiver.url)
    process = plain.popen('run', '--', 'printf', 'z')
    assert wait_until(lambda: len(receiver.seen) > 1)
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    assert [body['question']['ask']['command'] for body in receiver.bodies() if body['event'] == 'asked'] == ['printf x', 'printf z']


def test_it_is_told_that_nobody_answered(plain, receiver):
    tell(plain, receiver.url, group='security')
    assert plain('run', '--wait', '200ms', '--agent', 'robot', '--', 'printf', 'x').code == 126
    assert wait_until(lambda: receiver.seen)
    message, = receiver.bodies()
    assert message['event'] == 'unanswered' and message['to'] == 'security' and message['about']['agent'] == 'robot'
    assert message['about']['kind'] == 'answered'


def test_it_is_told_of_a_run_near_its_limit_where_it_wants_to_be(plain, receiver):
    tell(plain, receiver.url, more='      on: [near_limit]\n')
    assert plain('run', '--agent', 'robot', '--timeout', '2s', '--', 'sleep', '500').code == 124
    assert wait_until(lambda: receiver.seen)
    message, = receiver.bodies()
    assert message['event'] == 'near_limit' and (message['about']['limit'], message['about']['most']) == ('time', 2000)


def test_it_is_told_that_a_grant_ended_while_its_command_ran(plain, receiver):
    target = plain.place / 'outside'
    target.mkdir()
    plain.person.own(target)
    plain.policy(f'notify:\n  security:\n    - {{name: team, webhook: "{receiver.url}"}}\n')
    process = plain.popen('run', '--wait', '5m', '--', 'sh', '-c', f'echo x > {target}/f; read line', stdin=subprocess.PIPE)
    assert wait_until(lambda: pending(plain))
    assert plain('approve', pending(plain)[0]['id'], '--scope', '1s').code == 0
    assert wait_until(lambda: receiver.seen)
    assert plain.finish(process, b'\n').code == 0
    message, = receiver.bodies()
    assert message['event'] == 'expired' and str(target) in message['about']['permission']


def test_a_policy_that_is_broken_for_a_while_keeps_nobody_from_being_told(plain, receiver):
    receiver.reply = lambda number: (503, {}, b'')
    tell(plain, receiver.url)
    process = plain.popen('run', '--agent', 'robot', '--wait', '10m', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    before = (plain.config / 'ward' / 'ward.yaml').read_text()
    plain.policy(before + 'nonsense: [\n')
    assert plain('run', '--', 'true').code == 125
    time.sleep(4)  # it looks now and then
    receiver.reply = lambda number: (204, {}, b'')
    plain.policy(before)
    assert wait_until(lambda: not list((plain.state / 'ward' / 'notify' / 'out').iterdir())), receiver.seen
    question, = pending(plain)
    assert plain('approve', question['id']).code == 0 and plain.finish(process).out == 'x'


def test_a_project_names_no_channels(plain, receiver):
    plain.file('.ward.yaml', f'notify:\n  approvers:\n    - name: team\n      webhook: {receiver.url}\n')
    plain.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    for trust in (False, True):
        if trust:
            assert plain('policy', 'trust').code == 0
        assert plain.run('printf', 'x').code == 126
        assert 'ignored: channels are named by' in plain('policy', 'show').out
    assert not receiver.seen and not deliverers(plain)


def test_what_a_policy_says_of_channels_is_shown_and_read_back(plain):
    tell(plain, 'https://chat.example/x', '      shape: slack\n      risk: high\n      agents: [a]\n', '  callback: https://ward.example\n')
    shown = plain('policy', 'show').out
    assert SECRET not in shown
    first = json.loads(plain('policy', 'show', '--json').out)['notify']
    # The secret is in no policy, and what is shown is one.
    plain.policy(shown)
    second = json.loads(plain('policy', 'show', '--json').out)['notify']
    for entry in (*first['channels'], *second['channels']):
        del entry['line']
    assert first == second and first['channels'][0]['shape'] == 'slack'


@pytest.mark.parametrize('statuses', [[500, 503, 204], [429, 408, 200], [425, 502, 201]])
def test_a_receiver_that_recovers_gets_it_once_more_with_the_same_id_and_body(plain, receiver, statuses):
    receiver.reply = lambda number: (statuses[min(number, 2)], {}, b'')
    tell(plain, receiver.url)
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: len(receiver.seen) == 3)
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    assert wait_until(lambda: not jobs(plain))
    assert len({headers['Ward-Delivery'] for _, headers, _ in receiver.seen}) == 1
    assert len({body for _, _, body in receiver.seen}) == 1
    assert all(is_signed(SECRET, headers['Ward-Signature'], body) for _, headers, body in receiver.seen)


@pytest.mark.parametrize('reply, why', [
    ((400, {}, b''), 'status 400'),
    ((410, {}, b''), 'status 410'),
    ((302, {'Location': '/elsewhere'}, b''), 'leads elsewhere'),
    ((307, {'Location': 'http://127.0.0.1:1/'}, b''), 'leads elsewhere'),
], ids=['refuses', 'is gone', 'redirects', 'redirects on'])
def test_a_final_no_is_given_up_at_once_and_on_record(plain, receiver, reply, why):
    receiver.reply = lambda number: reply
    tell(plain, receiver.url)
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: [job for job in jobs(plain) if job['state'] == 'dead'])
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    job, = jobs(plain)
    assert why in job['why'] and job['attempts'] == 1 and len(receiver.seen) == 1
    assert receiver.seen[0][0] == '/hook'
    record, = records(plain, 'notify.failed')
    assert (record['delivery'], record['channel'], record['event']) == (job['id'], 'team', 'asked')


@pytest.mark.parametrize('reply', [(200, {}, b'x' * 5_000_000), (200, {'Content-Type': 'application/json'}, b'\xff\x00{"answer": {"answer": "approve"}}')],
                         ids=['huge', 'garbage'])
def test_what_a_receiver_says_counts_for_nothing(plain, receiver, reply):
    receiver.reply = lambda number: reply
    tell(plain, receiver.url)
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    assert wait_until(lambda: not jobs(plain))
    assert process.poll() is None and pending(plain)
    plain('deny', pending(plain)[0]['id'])
    assert plain.finish(process).code == 126


def test_one_that_is_down_is_given_up_listed_retried_and_dropped(plain, receiver):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
    tell(plain, f'http://127.0.0.1:{port}/', '      attempts: 3\n')
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: [job for job in jobs(plain) if job['state'] == 'dead'])
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    job, = jobs(plain)
    assert job['attempts'] == 3 and job['id'] in plain('notify').out and 'dead' in plain('notify', 'list').out
    assert plain('notify', 'retry', 'zzzzzzzz').code != 0
    tell(plain, receiver.url)
    assert plain('notify', 'retry', job['id']).out == '1 will be tried again\n'
    assert wait_until(lambda: receiver.seen)
    assert receiver.seen[0][1]['Ward-Delivery'] == job['id'] and receiver.seen[0][2].decode() == job['body']
    assert wait_until(lambda: not jobs(plain))
    receiver.reply = lambda number: (400, {}, b'')
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: jobs(plain) and jobs(plain)[0]['state'] == 'dead')
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    assert plain('notify', 'drop', '--all').out == '1 dropped\n' and not jobs(plain)


def test_one_that_stalls_holds_up_neither_the_run_nor_the_other_channels(plain, receiver):
    over = threading.Event()
    with receiving() as slow:
        slow.reply = lambda number: (over.wait(60), (204, {}, b''))[1]
        plain.policy('rules: [{command: "printf **", do: ask, why: the test}]\nnotify:\n  approvers:\n'
                     f'    - {{name: slow, webhook: "{slow.url}", timeout: 60s}}\n    - {{name: fast, webhook: "{receiver.url}"}}\n')
        for number in range(6):
            process = plain.popen('run', '--', 'printf', f'{number}')
            assert wait_until(lambda: len(receiver.seen) == number + 1)
            plain('approve', pending(plain)[0]['id'])
            assert plain.finish(process).out == f'{number}'
        assert slow.seen and not over.is_set()
        over.set()
        assert wait_until(lambda: len({headers['Ward-Delivery'] for _, headers, _ in slow.seen}) == 6)


def test_a_secret_that_others_can_read_signs_nothing(plain, receiver):
    tell(plain, receiver.url, '      attempts: 1\n')
    (plain.home / 'secret').chmod(0o644)
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: jobs(plain) and jobs(plain)[0]['state'] == 'dead')
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    assert 'read or changed by others' in jobs(plain)[0]['why'] and not receiver.seen


def test_no_command_reads_the_secret(each, receiver):
    ward = each
    ward.file('secret', SECRET, 0o600)
    ward.file('url', receiver.url, 0o600)
    ward.policy(f'notify:\n  approvers:\n    - {{name: team, webhook_file: "{ward.work}/url", secret_file: "{ward.work}/secret", agents: [x]}}\n')
    for name in ('secret', 'url'):
        done = ward.run('cat', name)
        assert done.code == 1 and done.out == '' and 'ermission denied' in done.err


def test_slack_gets_blocks_with_buttons_and_an_agents_words_as_words(plain, receiver):
    tell(plain, receiver.url, '      shape: slack\n', '  callback: http://127.0.0.1:9\n')
    process = plain.popen('run', '--agent', 'robot', '--', 'printf', '<!channel> `@here` <https://evil.example|ok>')
    assert wait_until(lambda: receiver.seen)
    text = receiver.seen[0][2].decode()
    message = json.loads(text)
    assert '<' not in text and '>' not in text and '@' not in message['text']
    buttons = [element for block in message['blocks'] for element in block.get('elements', [])]
    assert {button['action_id'] for button in buttons} >= {'approve once', 'deny once'}
    question, = pending(plain)
    assert all(button['value'].startswith(question['id'] + ' ') for button in buttons)
    plain('deny', question['id'])
    plain.finish(process)


@pytest.fixture
def program(plain):
    def make(text, name='told'):
        return plain.file(plain.home / name, f'#!/bin/sh\n{text}\n', 0o700)
    return make


def test_a_program_is_told_and_may_answer(plain, program):
    out = plain.home / 'out'
    path = program(f'cat > {out}; echo \'{{"answer": {{"answer": "approve", "reason": "fine"}}}}\'')
    channel(plain, f'      program: [{path}]\n')
    done = plain('run', '--', 'printf', 'x')
    assert done.out == 'x' and json.loads(out.read_text())['question']['ask']['command'] == 'printf x'
    answer, = records(plain, 'answer')
    assert (answer['answer'], answer['by'], answer['reason']) == ('approve', 'program of channel team', 'fine')


@pytest.mark.parametrize('said, why', [
    ('nonsense', 'no JSON object'),
    ('{"answer": {"answer": "yes"}}', 'an answer is approve'),
    ('{"answer": {"answer": "approve", "scope": "always"}}', ''),
    ('{"answer": "approve"}', 'not asked'),
], ids=['garbage', 'no word', 'no choice', 'no object'])
def test_a_program_that_says_something_else_has_said_nothing(plain, program, said, why):
    channel(plain, f"      program: [{program(f'cat > /dev/null; echo {chr(39)}{said}{chr(39)}')}]\n")
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: plain.log.exists() and records(plain, 'notify.failed'))
    assert why in records(plain, 'notify.failed')[0]['why']
    assert process.poll() is None and pending(plain)
    plain('deny', pending(plain)[0]['id'])
    assert plain.finish(process).code == 126


def test_a_program_for_security_answers_nothing(plain, program):
    path = program('cat > /dev/null; echo \'{"answer": {"answer": "approve"}}\'')
    plain.policy('rules: [{command: "printf **", do: ask, why: the test}]\nnotify:\n  security:\n'
                 f'    - {{name: guards, program: [{path}], "on": [asked]}}\n')
    process = plain.popen('run', '--wait', '10m', '--', 'printf', 'x')
    assert wait_until(lambda: plain.log.exists() and records(plain, 'notify.failed'))
    assert pending(plain) and process.poll() is None
    plain('deny', pending(plain)[0]['id'])
    assert plain.finish(process).code == 126


@pytest.mark.parametrize('text, why', [('exit 3', 'exit code 3'), ('kill -9 $$', 'signal 9'), ('exec sleep 300', 'in time')],
                         ids=['fails', 'dies', 'stalls'])
def test_a_program_that_fails_is_tried_again_and_given_up(plain, program, text, why):
    count = plain.home / 'count'
    channel(plain, f'      program: [{program(f"echo x >> {count}; {text}")}]\n      attempts: 2\n      backoff: 10ms\n      timeout: 1s\n')
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: jobs(plain) and jobs(plain)[0]['state'] == 'dead')
    assert why in jobs(plain)[0]['why'] and count.read_text() == 'x\nx\n'
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)


def test_a_program_that_a_command_could_have_written_is_not_started(plain, program):
    mark = plain.home / 'mark'
    path = plain.file('told', f'#!/bin/sh\ntouch {mark}\n', 0o700)
    channel(plain, f'      program: [{path}]\n')
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: jobs(plain) and jobs(plain)[0]['state'] == 'dead')
    assert 'commands can write' in jobs(plain)[0]['why'] and not mark.exists()
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)


def test_mail_goes_through_sendmail_without_a_header_of_the_agents(plain, program):
    out = plain.home / 'mail'
    path = program(f'echo "$@" > {out}.words; cat > {out}.part; mv {out}.part {out}', 'sendmail')
    channel(plain, f'      mail: [a@example.org, b@example.org]\n      from: ward@example.org\n      sendmail: {path}\n')
    process = plain.popen('run', '--agent', 'robot', '--reason', 'x\r\nBcc: evil@example.org', '--', 'printf', 'y\r\nBcc: evil@example.org\r\n.\r\n\u202e')
    assert wait_until(out.exists)
    text = out.read_bytes().decode()
    head, _, rest = text.partition('\n\n')
    assert (out.parent / 'mail.words').read_text() == '-i -f ward@example.org -- a@example.org b@example.org\n'
    assert 'Bcc' not in head and '\r' not in text and '\u202e' not in text and 'Bcc' in rest
    assert head.splitlines()[:3] == ['From: ward <ward@example.org>', 'To: a@example.org,', ' b@example.org']
    question, = pending(plain)
    assert f'ward approve {question["id"]}' in rest
    plain('deny', question['id'])
    plain.finish(process)
