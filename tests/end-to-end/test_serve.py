# SPDX-License-Identifier: Apache-2.0
"""ward serve --stdio: JSON-RPC 2.0, one object a line."""
import json
import os
import signal
import subprocess
import threading
import time

import jsonschema
import pytest

from support import SCHEMA, Person, Ward, all_gone, marker, processes, wait_until


def serve(ward, *lines, **how):
    """Sends the lines, returns the answers in order; the server ends at the end of its input."""
    text = ''.join((line if isinstance(line, str) else json.dumps(line)) + '\n' for line in lines)
    done = ward('serve', '--stdio', input=text, **how)
    assert done.code == 0, done
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert all(answer['jsonrpc'] == '2.0' for answer in answers)
    return answers


def call(method, params=None, id=1):
    return {'jsonrpc': '2.0', 'id': id, 'method': method, **({} if params is None else {'params': params})}


def test_ping_answers_with_the_version(ward):
    answer, = serve(ward, call('ping', id='a'))
    assert answer['id'] == 'a' and answer['result']['version'] == ward('--version').out.split()[1]


def test_run_answers_with_a_result(ward):
    answer, = serve(ward, call('run', {'argv': ['sh', '-c', 'echo out; echo err >&2; exit 3']}))
    jsonschema.validate(answer['result'], SCHEMA)
    result = answer['result']
    assert (result['exit_code'], result['stdout'], result['stderr']) == (3, 'out\n', 'err\n')


def test_run_takes_shell_text_and_what_the_flags_take(plain):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    plain.policy(f"sandbox: {{files: {{write: ['{outside}']}}}}\n")  # else it would be asked about
    answers = serve(plain,
                    call('run', {'command': 'echo $((6 * 7)) | cat'}, 1),
                    call('run', {'argv': ['sleep', '300'], 'timeout': '500ms'}, 2),
                    call('run', {'command': f'echo x > {outside}/f', 'write': [str(outside)]}, 3),
                    call('run', {'command': 'pwd; echo $X', 'cwd': '/usr', 'env': ['X=1']}, 4),
                    call('run', {'command': 'true', 'agent': 'robot', 'reason': 'why', 'session': 's'}, 5))
    results = [answer['result'] for answer in answers]
    assert [answer['id'] for answer in answers] == [1, 2, 3, 4, 5]
    assert results[0]['stdout'] == '42\n'
    assert results[1]['timed_out'] is True
    assert results[2]['exit_code'] == 0 and (outside / 'f').exists()
    assert results[3]['stdout'] == '/usr\n1\n'
    assert [r['agent'] for r in plain.records() if r['kind'] == 'run.start'][-1] == 'robot'


def test_denials_and_refusals_are_results_too(plain):
    first, second, third = serve(plain, call('run', {'command': 'echo x > /usr/ward-test; true'}), call('run', {'command': 'rm -rf /'}),
                                 call('run', {'argv': ['no-such-program']}))
    assert [d['object'] for d in first['result']['attempts'][0]['denials']] == ['/usr/ward-test']
    assert second['result']['verdict'] == 'deny' and second['result']['error']['kind'] == 'rejected'
    assert third['result']['exit_code'] == -1 and third['result']['error']['kind'] == 'engine'


def test_the_requests_are_not_the_commands_input(plain):
    first, second = serve(plain, call('run', {'argv': ['cat']}, 1), call('ping', id=2))
    assert first['result']['stdout'] == '' and second['id'] == 2


def test_every_run_is_recorded(ward):
    serve(ward, *[call('run', {'argv': ['true']}, number) for number in range(5)])
    assert [record['kind'] for record in ward.records()] == ['run.start', 'run.end'] * 5
    assert ward.verify().code == 0


def test_bad_json_is_answered_and_does_not_end_the_server(plain):
    answers = serve(plain, '{not json', '', '[1, 2', '"text"', '{}', '[]', '\x00\x01', call('ping', id=7))
    assert answers[-1]['id'] == 7
    codes = [answer['error']['code'] for answer in answers[:-1]]
    assert set(codes) <= {-32700, -32600} and len(codes) == 6
    assert codes[0] == -32700
    assert all(answer['id'] is None for answer in answers[:-1])


def test_an_unknown_method_names_those_there_are(plain):
    answer, = serve(plain, call('fly'))
    assert answer['error']['code'] == -32601 and 'run' in answer['error']['message'] and answer['id'] == 1


def test_bad_parameters_are_named(plain):
    bad = [None, {}, [], 'x', {'argv': []}, {'argv': 'x'}, {'argv': ['x'], 'command': 'y'}, {'argv': ['true'], 'no_such_key': 1},
           {'argv': ['true'], 'timeout': 'soon'}, {'argv': ['true'], 'level': 'airtight'}, {'argv': ['true'], 'cwd': 'relative'}]
    answers = serve(plain, *[call('run', params) for params in bad])
    assert [answer['error']['code'] for answer in answers] == [-32602] * len(bad)
    assert 'no_such_key' in answers[7]['error']['message']
    assert not plain.log.exists()


def test_a_line_that_is_too_long_is_answered_and_skipped(plain):
    answers = serve(plain, '"' + 'x' * (20 << 20) + '"', call('ping', id=2))
    assert answers[0]['error']['code'] == -32600 and 'too long' in answers[0]['error']['message']
    assert answers[1]['id'] == 2


def test_a_last_line_without_its_end_is_answered(plain):
    done = plain('serve', '--stdio', input=json.dumps(call('ping', id=3)))
    assert json.loads(done.out)['id'] == 3


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_server_ends_what_it_runs(plain, number):
    word = marker()
    process = plain.popen('serve', '--stdio', stdin=subprocess.PIPE)
    request = call('run', {'argv': ['sh', '-c', f'setsid sh -c "sleep 300; :" {word} & sleep 300']})
    process.stdin.write(json.dumps(request).encode() + b'\n')
    process.stdin.flush()
    assert wait_until(lambda: len(processes(word)) >= 2)
    process.send_signal(number)
    gone = all_gone(word)
    process.kill()
    process.communicate()
    assert gone, 'the run goes on without its server'
    assert plain.verify().code == 0


def test_its_words_fit_together(plain):
    for words in (('--events',), ('--stdio', '--system'), ('--loudly',)):
        done = plain('serve', *words)
        assert done.code == 125 and '--stdio' in done.err


def test_another_program_takes_system_calls_and_asks_for_more(plain):
    """What widens is a question, and nobody is there to answer it."""
    program = ['/usr/bin/python3', '-c', 'import os; os.memfd_create("x")']
    wider, narrower, never = serve(plain, call('run', {'argv': ['true'], 'allow_syscall': ['modify_ldt']}, 1),
                                   call('run', {'argv': program, 'deny_syscall': ['memfd_create']}, 2),
                                   call('run', {'argv': ['true'], 'deny_syscall': ['execve']}, 3))
    assert wider['result']['verdict'] == 'deny' and "a person's yes" in wider['result']['error']['message'], wider
    assert 'Operation not permitted' in narrower['result']['stderr']
    assert "'execve' cannot be denied" in never['result']['error']['message']
    plain.policy('sandbox: {syscalls: {allow: [modify_ldt]}}\n')
    given, = serve(plain, call('run', {'argv': ['true'], 'allow_syscall': ['modify_ldt']}))
    assert given['result']['verdict'] == 'allow' and given['result']['exit_code'] == 0, given


def test_agents_of_one_program_have_a_tmp_each(plain):
    """They come over one connection, from one process."""
    answers = serve(plain, *(call('run', {'command': f'touch /tmp/{agent}; ls /tmp', 'agent': agent}, agent) for agent in ('a', 'b', 'a')),
                    call('run', {'command': 'ls /tmp'}, 'none'), call('run', {'command': 'true', 'agent': '../x'}, 'bad'))
    said = [answer['result']['stdout'].split() for answer in answers[:4]]
    assert said == [['a', 'agent-a'], ['agent-b', 'b'], ['a', 'agent-a'], []]
    assert "'../x' cannot be the id of an agent" in answers[4]['result']['error']['message']


def test_a_run_as_somebody_else_ends_with_the_server_too(binary, user, place):
    """The kernel forgets with the identity that a process is to end with its parent."""
    if os.geteuid() != 0:
        pytest.skip('needs root to be somebody else')
    ward = Ward(binary, Person('root'), place)
    os.chown(ward.work, user.uid, user.gid)
    word = marker()
    process = ward.popen('serve', '--stdio', stdin=subprocess.PIPE)
    process.stdin.write(json.dumps(call('run', {'argv': ['sh', '-c', f'setsid sh -c "sleep 300; :" {word} & sleep 300']})).encode() + b'\n')
    process.stdin.flush()
    assert wait_until(lambda: len(processes(word)) >= 2)
    process.kill()
    process.communicate()
    assert all_gone(word)


def test_a_command_meets_a_closed_pipe_as_anywhere_else(plain):
    answer, = serve(plain, call('run', {'command': "grep SigIgn /proc/self/status; bash -c 'yes | head -1; echo ${PIPESTATUS[0]}'"}))
    assert answer['result']['stdout'].split('\n', 1)[1] == 'y\n141\n' and answer['result']['stderr'] == ''


def test_a_client_that_does_not_read_costs_nothing(plain):
    process = plain.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(json.dumps(call('run', {'command': 'yes'})).encode() + b'\n')
    process.stdin.flush()

    def used():
        with open(f'/proc/{process.pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[11:13]

    def rests():
        before = used()
        time.sleep(0.3)
        return used() == before
    assert wait_until(lambda: used() != ['0', '0'] or rests())
    assert wait_until(rests)
    process.stdout.close()
    process.stdin.close()
    assert wait_until(lambda: process.poll() is not None)


def test_answers_are_heard_when_no_more_can_run(plain):
    """As many runs as there may be, each with a question, and one more."""
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    process = plain.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    patience = threading.Timer(120, process.kill)
    patience.start()

    def send(message):
        process.stdin.write(json.dumps(message).encode() + b'\n')
        process.stdin.flush()
    for number in range(65):
        send(call('run', {'command': f'echo x > {outside}/{number}'}, number))
    asked, ended = [], {}
    while len(asked) < 64 or len(ended) < 65:
        message = json.loads(process.stdout.readline())
        if 'method' not in message:
            ended[message['id']] = message
        elif message['method'] == 'ask':
            asked.append(message['id'])
        if len(asked) == 64:
            for number in asked:
                send({'jsonrpc': '2.0', 'id': number, 'result': {'answer': 'approve', 'scope': 'once'}})
            asked.append(None)
    assert 'as many runs' in ended[64]['error']['message'] and len(list(outside.iterdir())) == 64
    process.stdin.close()
    assert process.wait(60) == 0
    patience.cancel()


def test_a_client_that_cannot_ask_has_said_no(plain):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    process = plain.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    patience = threading.Timer(120, process.kill)
    patience.start()
    process.stdin.write(json.dumps(call('run', {'command': f'echo x > {outside}/f'})).encode() + b'\n')
    process.stdin.flush()
    message = {}
    while message.get('id') != 1 or 'method' in message:
        message = json.loads(process.stdout.readline())
        if message.get('method') == 'ask':
            error = {'jsonrpc': '2.0', 'id': message['id'], 'error': {'code': -32601, 'message': 'no such method'}}
            process.stdin.write(json.dumps(error).encode() + b'\n')
            process.stdin.flush()
    assert message['result']['exit_code'] != 0 and not (outside / 'f').exists()
    process.stdin.close()
    assert process.wait(60) == 0
    patience.cancel()
