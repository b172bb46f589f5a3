# SPDX-License-Identifier: Apache-2.0
"""ward serve --stdio --events: several runs at once, what they tell as they go on, and their questions."""
import base64
import contextlib
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading

import jsonschema
import pytest

from support import PATIENCE, SCHEMA, SOURCE, all_gone, marker, processes, wait_until

ASK = json.loads((SOURCE / 'docs' / 'ask.schema.json').read_text())
ANSWER = {**ASK, '$ref': '#/definitions/answer'}
ASKS = 'rules: [{command: "printf **", do: ask, why: the test}]\n'


class Host:
    """A program that starts ward serve and speaks with it. What does not come in time is a failure, not a wait."""

    def __init__(self, ward):
        self.process = ward.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE)
        self.lines, self.heard = queue.Queue(), []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, **message):
        self.send_text(json.dumps({'jsonrpc': '2.0', **message}))

    def send_text(self, text):
        self.process.stdin.write(text.encode() + b'\n')
        self.process.stdin.flush()

    def run(self, id, script, **more):
        self.send(id=id, method='run', params={'argv': ['sh', '-c', script], **more})

    def expect(self, what):
        """The first message, of those that came and those to come, that what() holds for; it is taken out."""
        seen = 0
        while True:
            for number in range(seen, len(self.heard)):
                if what(self.heard[number]):
                    return self.heard.pop(number)
            seen = len(self.heard)
            message = self.lines.get(timeout=PATIENCE)
            assert message is not None, f'the server has ended; heard {self.heard}'
            assert message['jsonrpc'] == '2.0'
            self.heard.append(message)

    def told(self, method, id=None):
        """The parameters of a notification, of that run."""
        return self.expect(lambda m: m.get('method') == method and id in (None, m['params'].get('id')))['params']

    def asked(self, run):
        message = self.expect(lambda m: m.get('method') == 'ask' and m['params']['run'] == run)
        ask = message['params']['ask']
        jsonschema.validate(ask, ASK)
        assert message['id'] == ask['id']
        return ask

    def answer(self, ask, **answer):
        jsonschema.validate(answer, ANSWER)
        self.send(id=ask['id'], result=answer)

    def reply(self, id):
        return self.expect(lambda m: m.get('id') == id and 'method' not in m)

    def result(self, id):
        result = self.reply(id)['result']
        jsonschema.validate(result, SCHEMA)
        return result

    def output(self, id, wanted):
        """Waits until a run has told this on stdout."""
        said = ''
        while wanted not in said:
            said += self.told('run.output', id).get('data', '')
        return said

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join(PATIENCE)
            self.process.stdout.close()
            self.process.stderr.close()


@pytest.fixture
def host(plain):
    host = Host(plain)
    yield host
    host.close()


def test_runs_go_on_beside_each_other_and_tell_as_they_do(host):
    """Neither can end before the other has begun."""
    host.run(1, 'echo one; until [ -e two ]; do sleep 0.05; done; echo end one')
    assert host.output(1, 'one\n') == 'one\n'
    host.run('second', 'echo two >&2; touch two; exit 3')
    assert host.told('run.output', 'second') == {'id': 'second', 'stream': 'stderr', 'data': 'two\n'}
    first, second = host.result(1), host.result('second')
    assert (first['stdout'], second['stderr'], second['exit_code']) == ('one\nend one\n', 'two\n', 3)
    assert host.told('run.output', 1)['data'] == 'end one\n', 'output comes before the result'


def test_output_that_is_no_text_comes_as_it_is(host):
    host.run(1, r"printf '\377\000x'")
    assert base64.b64decode(host.told('run.output', 1)['base64'], validate=True) == b'\xff\0x'
    assert host.result(1)['lossy'] is True


def outside(ward, name='outside'):
    path = ward.place / name
    path.mkdir()
    ward.person.own(path)
    return path


def test_notices_are_told(plain, host):
    path = outside(plain)
    host.run(1, f'echo x > {path}/f', approval='never')
    assert str(path) in host.told('run.notice', 1)['text']
    host.result(1)


def test_a_call_waits_for_an_answer_and_goes_on(plain, host):
    path = outside(plain)
    host.run(1, f'echo x > {path}/f && echo written')
    ask = host.asked(1)
    assert ask['kind'] == 'in_place' and ask['object'] == f'{path}/f' and f'{path}/f' in ask['text']
    host.send(id=5, method='ping')
    assert host.reply(5)['result'], 'the server goes on meanwhile'
    host.answer(ask, answer='approve', scope='once')
    result = host.result(1)
    assert (path / 'f').read_text() == 'x\n' and result['stdout'] == 'written\n'
    decision, = [d for d in result['decisions'] if d['source'] == 'person']
    assert decision['by'].endswith(f'[{os.getpid()}]'), 'whoever started the server has answered'


def test_a_no_is_a_no_and_has_a_reason(plain, host):
    path = outside(plain)
    host.run(1, f'echo x > {path}/f')
    host.answer(host.asked(1), answer='deny', reason='not today')
    assert host.result(1)['exit_code'] != 0 and not (path / 'f').exists()


def test_an_error_in_place_of_an_answer_is_a_no(plain, host):
    plain.policy(ASKS)
    host.send(id=1, method='run', params={'argv': ['printf', 'x']})
    host.send(id=host.asked(1)['id'], error={'code': -32601, 'message': 'no such method'})
    result = host.result(1)
    assert result['verdict'] == 'deny' and 'no such method' in result['error']['message'], result


def test_before_the_run_each_answer_means_what_it_says(plain, host):
    plain.policy(ASKS)
    for number, (answer, verdict) in enumerate([({'answer': 'approve'}, 'allow'), ({'answer': 'abort'}, 'deny'),
                                                ({'answer': 'deny', 'reason': 'because'}, 'deny'),
                                                ({'answer': 'approve', 'scope': 'session'}, 'allow')]):
        host.send(id=number, method='run', params={'argv': ['printf', 'x']})
        ask = host.asked(number)
        assert ask['kind'] == 'before' and ask['why'] and ask['choices'][0] == 'approve once'
        host.answer(ask, **answer)
        result = host.result(number)
        assert (result['verdict'] == 'deny') == (verdict == 'deny'), result
        assert answer.get('reason', '') in str(result['error'])
    host.send(id=9, method='run', params={'argv': ['printf', 'x']})
    assert host.result(9)['stdout'] == 'x', 'the session is the server: nobody is asked again'


@pytest.mark.parametrize('answer', [None, 'approve', {}, {'answer': 'yes'}, {'answer': 'approve', 'scope': 'forever'},
                                    {'answer': 'approve', 'extra': 1}, {'answer': 'approve', 'scope': 'time'},
                                    {'answer': 'approve', 'scope': 'time', 'seconds': 0}, {'answer': 'approve', 'extent': 7},
                                    {'answer': 'approve', 'unsandboxed': 'yes'}, {'answer': 'approve', 'unsandboxed': True, 'scope': 'session'},
                                    {'answer': 'deny', 'scope': 'time', 'seconds': 5}, {'answer': 'approve', 'domains': ['a.example']},
                                    {'answer': 'deny', 'reason': 5}, {'answer': 'deny', 'reason': 'x' * 5000}])
def test_what_is_no_answer_is_said_back_and_the_question_stands(plain, host, answer):
    plain.policy(ASKS)
    host.send(id=1, method='run', params={'argv': ['printf', 'x']})
    ask = host.asked(1)
    host.send(id=ask['id'], result=answer)
    refused = host.told('ask.refused')
    assert refused['ask'] == ask['id'] and refused['message'] != 'no such question stands'
    host.answer(ask, answer='approve')
    assert host.result(1)['stdout'] == 'x'


def test_an_answer_to_nothing_is_said_back(plain, host):
    host.send(id='nothing', result={'answer': 'approve'})
    assert host.told('ask.refused') == {'ask': 'nothing', 'message': 'no such question stands'}
    plain.policy(ASKS)
    host.send(id=1, method='run', params={'argv': ['printf', 'x']})
    ask = host.asked(1)
    host.answer(ask, answer='approve')
    host.answer(ask, answer='approve')
    assert host.told('ask.refused')['message'] == 'no such question stands'
    assert host.result(1)['stdout'] == 'x'


def test_a_question_is_withdrawn_when_its_caller_is_gone(plain, host):
    path = outside(plain)
    host.run(1, f'sh -c "echo x > {path}/f" & asker=$!; until [ -e go ]; do sleep 0.05; done; kill -9 $asker; wait; echo over')
    ask = host.asked(1)
    plain.file('go')
    assert host.told('ask.withdrawn') == {'id': 1, 'ask': ask['id']}
    assert host.result(1)['stdout'] == 'over\n' and not (path / 'f').exists()


def test_questions_of_several_runs_stand_at_once(plain, host):
    plain.policy(ASKS)
    for number in range(5):
        host.send(id=number, method='run', params={'argv': ['printf', str(number)]})
    asks = [host.asked(number) for number in range(5)]
    assert len({ask['id'] for ask in asks}) == 5
    for number in (3, 0, 4, 1, 2):
        host.answer(asks[number], answer='approve' if number % 2 else 'deny')
    assert [host.result(number)['stdout'] if number % 2 else host.result(number)['verdict'] for number in range(5)] == \
        ['deny', '1', 'deny', '3', 'deny']


def test_cancel_tells_the_command_to_end(host):
    host.run(1, 'trap "echo told; exit 7" TERM; echo ready; while :; do sleep 0.05; done')
    host.output(1, 'ready\n')
    host.send(id=2, method='cancel', params={'id': 1})
    assert host.reply(2)['result'] == {'cancelled': True}
    result = host.result(1)
    assert result['exit_code'] == 7 and result['stdout'] == 'ready\ntold\n'
    host.send(id=3, method='cancel', params={'id': 1})
    assert host.reply(3)['result'] == {'cancelled': False}


def test_a_command_that_does_not_listen_is_ended(host):
    word = marker()
    host.run(1, f'trap "" TERM; echo ready; : {word}; while :; do sleep 1; done')
    host.output(1, 'ready\n')
    host.send(method='cancel', params={'id': 1})  # a notification has no answer
    result = host.result(1)
    assert result['signal'] == signal.SIGKILL and result['stdout'] == 'ready\n'
    assert all_gone(word)


def test_cancel_ends_a_run_that_waits_for_an_answer(plain, host):
    plain.policy(ASKS)
    host.send(id=1, method='run', params={'argv': ['printf', 'x']})
    ask = host.asked(1)
    host.send(id=2, method='cancel', params={'id': 1})
    assert host.told('ask.withdrawn')['ask'] == ask['id']
    assert host.result(1)['verdict'] == 'deny'


def test_cancel_at_once_is_an_end_of_some_kind(host):
    for number in range(20):
        host.run(number, 'sleep 300')
        host.send(method='cancel', params={'id': number})
    for number in range(20):
        reply = host.reply(number)
        assert reply.get('error') == {'code': -32001, 'message': 'the run was cancelled'} or reply['result']['stdout'] == ''


def test_sixty_four_runs_at_once_and_no_more(plain, host):
    for number in range(64):
        host.run(number, 'until [ -e go ]; do sleep 0.2; done; echo x')
    host.run(64, 'true')
    assert host.reply(64)['error']['code'] == -32000
    host.send(id='a', method='cancel', params={'id': 0})
    assert host.reply('a')['result'] == {'cancelled': True}, 'it still listens'
    plain.file('go')
    assert all(host.reply(number).get('result', {}).get('stdout') == 'x\n' for number in range(1, 64))
    host.reply(0)
    host.run(65, 'echo again')
    assert host.result(65)['stdout'] == 'again\n'


def test_the_end_of_input_ends_the_runs(plain):
    host, word = Host(plain), marker()
    for number in range(3):
        host.run(number, f'echo ready; : {word}; sleep 300; :')
    for number in range(3):
        host.output(number, 'ready\n')
    assert processes(word)
    assert host.close() == 0
    assert all_gone(word)
    assert plain.verify().code == 0


def test_the_end_of_the_reader_ends_the_server(plain):
    word = marker()
    process = plain.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE)
    process.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run',
                                    'params': {'command': f': {word}; while echo x; do sleep 0.05; done'}}).encode() + b'\n')
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == 125 and b'nobody reads' in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert all_gone(word)


def test_a_reader_that_does_not_read_holds_the_run_up(plain):
    """Neither does the server keep it all, nor does it turn in circles."""
    process = plain.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE)
    script = 'head -c 200000000 /dev/zero | tr "\\0" x'
    process.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run',
                                    'params': {'argv': ['sh', '-c', script], 'output': '1G'}}).encode() + b'\n')
    process.stdin.flush()

    def field(name):
        return next(int(line.split()[1]) for line in pathlib.Path(f'/proc/{process.pid}/status').read_text().splitlines()
                    if line.startswith(name))

    def stands():
        """It has filled the pipe, and waits."""
        before = field('voluntary_ctxt_switches')
        return before > 0 and not wait_until(lambda: field('voluntary_ctxt_switches') != before, 1)

    assert wait_until(stands)
    assert field('VmRSS') < (150 << 10), 'kilobytes'
    with process.stdout:
        total, last = 0, None
        for line in process.stdout:
            last = json.loads(line)
            if last.get('method') == 'run.output':
                total += len(last['params']['data'])
            if 'result' in last:
                break
    assert total == 200000000 and last['result']['exit_code'] == 0
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    process.stderr.close()


def test_garbage_is_answered_and_ends_nothing(host):
    host.run(1, 'echo ready; until [ -e go ]; do sleep 0.05; done')
    host.output(1, 'ready\n')
    for text in ['{', '[]', '"x"', '{"id": 7}', '{"id": {}, "method": "run"}', 'x' * (5 << 20), '{"result": {}}']:
        host.send_text(text)
        assert host.reply(None)['error']['code'] in (-32700, -32600)
    host.send(id=3, method='cancel', params=[])
    assert host.reply(3)['result'] == {'cancelled': False}
    host.send(id=4, method='run', params={'argv': ['true'], 'level': 'airtight'})
    assert 'level' in host.reply(4)['error']['message']
    host.send(method='cancel', params={'id': 1})
    host.reply(1)


def fits(pattern, found, names):
    """Whether it is as written: "..." is anything, or more of the kind; ID is the same everywhere."""
    if pattern == '...':
        return True
    if pattern == 'ID':
        return names.setdefault('ID', found) == found
    if isinstance(pattern, dict):
        more = '...' in pattern
        return isinstance(found, dict) and (more or set(found) == set(pattern)) and \
            all(key in found and fits(value, found[key], names) for key, value in pattern.items() if key != '...')
    if isinstance(pattern, list) and pattern[-1:] == ['...']:
        return isinstance(found, list) and all(fits(p, f, names) for p, f in zip(pattern[:-1], found)) and len(found) >= len(pattern) - 1
    return pattern == found


def test_the_protocol_is_as_it_is_written(plain):
    """Every example in docs/protocol.md, in order; and there is one for every message."""
    plain.person.own(plain.place)  # the directory around the workspace
    lines = [line.strip() for line in (SOURCE / 'docs' / 'protocol.md').read_text().splitlines() if line.startswith('    ')]
    assert {word for line in lines for word in re.findall(r'"method": "([^"]*)"', line)} == \
        {'run', 'cancel', 'ping', 'run.output', 'run.notice', 'ask', 'ask.withdrawn', 'ask.refused'}
    host, names = Host(plain), {}
    for line in lines:
        way, text = line.split(' ', 1)
        if way == '->':
            host.send_text(text.replace('"ID"', json.dumps(names.get('ID'))))
        else:
            pattern = json.loads(text)
            if pattern.get('method') == 'ask':
                names.clear()
            found = host.expect(lambda message: fits(pattern, message, dict(names)))
            assert fits(pattern, found, names)
    assert host.close() == 0
    assert (plain.place / 'outside').exists() and not (plain.place / 'elsewhere').exists()
    assert not host.heard or all(message.get('method') == 'run.notice' or message['method'] == 'run.output' for message in host.heard)
