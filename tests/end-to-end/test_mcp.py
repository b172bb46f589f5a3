# SPDX-License-Identifier: Apache-2.0
"""ward mcp: the protocol in every version, its tools, questions to the client's user, and input that means no good."""
import base64
import json
import os
import random

import jsonschema
import pytest

from mcp_client import META, NEW, OLD, Client, says
from support import Ward, all_gone, marker, processes, rests, resting, wait_until

EVERY = OLD + [NEW]
TOOLS = ['run', 'check', 'read_file', 'write_file', 'apply_patch', 'pending']


@pytest.fixture
def outside(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    return path


# --- the protocol ---

@pytest.mark.parametrize('version', OLD)
def test_every_version_with_a_handshake_is_spoken(plain, version):
    with Client(plain, version=version) as client:
        assert client.hello['protocolVersion'] == version
        assert client.hello['serverInfo']['name'] == 'ward' and client.hello['serverInfo']['version'] == plain('--version').out.split()[1]
        assert client.hello['capabilities'] == {'tools': {}} and 'sandbox' in client.hello['instructions']
        assert client.result('ping') == {}
        tools = client.result('tools/list')['tools']
        assert [tool['name'] for tool in tools] == TOOLS
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool['inputSchema'])
            assert ('annotations' in tool) == (version >= '2025-03-26')
            assert ('outputSchema' in tool) == ('title' in tool) == (version >= '2025-06-18')
        result = client.whole('run', command='echo $((6 * 7))')
        assert json.loads(result['content'][0]['text'])['stdout'] == '42\n'
        assert ('structuredContent' in result) == (version >= '2025-06-18')
        assert client.end() == 0


def test_the_new_version_needs_no_handshake(plain):
    with Client(plain, version=NEW) as client:
        found = client.result('server/discover')
        assert found['supportedVersions'] == EVERY[::-1] and found['resultType'] == 'complete'
        assert found['capabilities'] == {'tools': {}} and found['ttlMs'] >= 0 and found['cacheScope'] in ('public', 'private')
        assert found['_meta'][META + 'serverInfo']['name'] == 'ward'
        tools = client.result('tools/list')
        assert [tool['name'] for tool in tools['tools']] == TOOLS and 'ttlMs' in tools and tools['resultType'] == 'complete'
        assert client.tool('run', argv=['echo', 'a b'])['stdout'] == 'a b\n'
        assert client.request('ping')['error']['code'] == -32601  # it is no longer there
        assert client.end() == 0


@pytest.mark.parametrize('wanted, given', [('1999-01-01', '2025-11-25'), (NEW, '2025-11-25'), ('', '2025-11-25'), ('2025-06-18', '2025-06-18')])
def test_a_handshake_with_an_unknown_version_is_answered_with_the_newest_that_has_one(plain, wanted, given):
    with Client(plain, start=False) as client:
        assert client.result('initialize', protocolVersion=wanted, capabilities={})['protocolVersion'] == given


def test_a_request_of_an_unknown_version_is_told_which_there_are(plain):
    with Client(plain, start=False) as client:
        error = client.request('tools/list', {META + 'protocolVersion': '2031-01-01', META + 'clientCapabilities': {}})['error']
        assert error['code'] == -32022 and error['data'] == {'supported': EVERY[::-1], 'requested': '2031-01-01'}
        assert client.request('tools/list', {META + 'protocolVersion': NEW})['error']['code'] == -32602
        assert client.request('server/discover')['error']['code'] == -32602


def test_nothing_but_ping_comes_before_the_handshake(plain):
    with Client(plain, start=False) as client:
        assert client.result('ping') == {}
        assert client.request('tools/list')['error']['code'] == -32600
        assert client.request('tools/call', name='run', arguments={'command': 'true'})['error']['code'] == -32600


def test_batches_are_for_the_one_version_that_has_them(plain):
    messages = [{'jsonrpc': '2.0', 'id': 'a', 'method': 'ping'}, {'jsonrpc': '2.0', 'method': 'notifications/x'},
                {'jsonrpc': '2.0', 'id': 'b', 'method': 'tools/call', 'params': {'name': 'run', 'arguments': {'command': 'echo b'}}}, 7]
    with Client(plain, version='2025-03-26') as client:
        client.send(messages)
        answers = {answer.get('id'): answer for answer in client.read()}
        assert set(answers) == {'a', 'b', None} and answers[None]['error']['code'] == -32600
        assert json.loads(answers['b']['result']['content'][0]['text'])['stdout'] == 'b\n'
        for wrong in ([], messages * 17):
            client.send(wrong)
            assert client.read()['error']['code'] == -32600
    with Client(plain, version='2025-06-18') as client:
        client.send(messages)
        assert client.read()['error']['code'] == -32600
        assert client.result('ping') == {}


def test_what_is_not_there_is_said_to_be_so(plain):
    with Client(plain) as client:
        assert client.request('resources/list')['error']['code'] == -32601
        assert client.request('logging/setLevel', level='debug')['error']['code'] == -32601
        assert client.request('tools/call', name='sudo', arguments={})['error']['code'] == -32602
        assert client.request('tools/call', name='run', arguments=[])['error']['code'] == -32602
        assert client.request('tools/list', cursor='x')['error']['code'] == -32602


# --- tools ---

def test_run_tells_what_became_of_it(plain):
    with Client(plain) as client:
        result = client.tool('run', command='pwd; echo err >&2; cat; exit 3', cwd='sub/..', stdin='in\0\u00e9', env=['A=1'])
        assert (result['exit_code'], result['stderr'], result['error']) == (3, 'err\n', None)
        assert result['stdout'].startswith(f'{plain.work}\nin') and result['stdout'].endswith('\u00e9')
        assert client.tool('run', argv=['sleep', '300'], timeout=0.5)['timed_out'] is True
        assert plain.result('--session', 's', '--', 'true')['status'] == 0
        ignored = int(client.tool('run', command='grep SigIgn /proc/self/status')['stdout'].split()[1], 16)
        assert ignored & ~(3 << 31) == 0  # 32 and 33 are the C library's own: posix_spawn leaves them ignored


@pytest.mark.parametrize('arguments, text', [
    ({}, 'command'), ({'command': 'a', 'argv': ['a']}, 'either'), ({'command': 1}, 'command'), ({'command': 'true', 'level': 'none'}, "'level'"),
    ({'command': 'true', 'timeout': 'x'}, 'timeout'), ({'command': 'true', 'unsandboxed': 1}, 'unsandboxed'), ({'argv': []}, 'argv'),
    ({'command': 'a\0b'}, ''), ({'command': 'true', 'cwd': 7}, 'cwd'), ({'command': 'true', 'workspace': '/'}, "'workspace'"),
])
def test_arguments_that_do_not_fit_are_told_to_the_agent(plain, arguments, text):
    with Client(plain) as client:
        result = client.whole('run', **arguments)
        assert result['isError'] and text in result['content'][0]['text'] and 'structuredContent' not in result


def test_a_broken_policy_is_named_with_its_place(plain):
    path = plain.policy('sandbox:\n  limits:\n    memory: lots\n')
    with Client(plain) as client:
        for tool, arguments in (('run', {'command': 'true'}), ('check', {'command': 'true'}), ('read_file', {'path': 'x'})):
            result = client.whole(tool, **arguments)
            place = result.get('structuredContent', {}).get('error')
            assert result['isError'] and (f"{path}:3:13: " in result['content'][0]['text'] if not place else place['file'] == str(path)), result


def test_output_is_told_as_it_comes(plain):
    with Client(plain) as client:
        number = client.begin('tools/call', {'progressToken': 'p'}, name='run',
                              arguments={'command': 'echo first; until [ -e go ]; do sleep 0.05; done; echo last; seq 100000'})
        note = client.read()
        assert note['method'] == 'notifications/progress' and note['params']['progressToken'] == 'p'
        assert note['params']['message'] == 'first\n'
        plain.file('go')
        answer = client.until(number)
        assert answer['result']['structuredContent']['stdout'].startswith('first\nlast\n')
        steps = [note['params']['progress']] + [note['params']['progress'] for note in client.notes]
        assert steps == sorted(set(steps)) and len(steps) > 1
        assert sum(len(note['params']['message']) for note in client.notes) < 3 << 20


def test_output_that_is_told_of_steers_no_terminal(plain):
    with Client(plain) as client:
        number = client.begin('tools/call', {'progressToken': 7}, name='run', arguments={
            'command': r"printf 'a\033]0;x\007b\302\233c\303\251\177d\r\n'; until [ -e go ]; do sleep 0.05; done"})
        assert client.read()['params']['message'] == 'a]0;xbc\u00e9d\n'
        plain.file('go')
        assert client.until(number)['result']['structuredContent']['stdout'] == 'a\x1b]0;x\x07b\x9bc\u00e9\x7fd\r\n'


def test_a_call_that_is_cancelled_ends_and_is_not_answered(plain):
    with Client(plain) as client:
        time = resting()
        number = client.begin('tools/call', name='run', arguments={'argv': ['sleep', time]})
        assert rests(time)
        client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': number}})
        assert all_gone(f'sleep\0{time}')
        assert client.result('ping') == {}  # and nothing came before
        client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'none'}})
        assert client.result('ping') == {}


def test_the_end_of_input_ends_all_runs(ward):
    with Client(ward) as client:
        times = [resting() for _ in range(3)]
        for time in times:
            client.begin('tools/call', name='run', arguments={'command': f'trap "" TERM; sleep {time}; sleep {time}'})
        assert all(rests(time) for time in times)
        assert client.end() == 0
        assert all(all_gone(f'sleep\0{time}') for time in times)


def test_runs_die_with_a_server_that_is_killed(binary, who, user, place):
    """Also where root runs them as the owner of the workspace."""
    ward = Ward(binary, who, place)
    if who.is_root:
        user.own(ward.work)
    with Client(ward) as client:
        time = resting()
        client.begin('tools/call', name='run', arguments={'argv': ['sleep', time]})
        assert rests(time)
        os.kill(client.process.pid, 9)
        assert all_gone(f'sleep\0{time}')


def test_several_run_at_once_and_no_more_than_there_is_room_for(plain):
    with Client(plain) as client:
        time = resting()
        numbers = [client.begin('tools/call', name='run', arguments={'argv': ['sleep', time]}) for _ in range(16)]
        result = client.whole('run', command='true')
        assert result['isError'] and '16 calls' in result['content'][0]['text']
        client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': numbers[3]}})
        assert wait_until(lambda: not client.whole('run', command='true')['isError'])


def test_files_are_written_and_read(plain):
    with Client(plain) as client:
        assert client.tool('write_file', path='new/deep/file', content='one\ntwo\nthr\u00e9e') == {
            'path': f'{plain.work}/new/deep/file', 'size': 14, 'created': True}
        plain.work.joinpath('new/deep/file').chmod(0o750)
        read = client.tool('read_file', path='new/deep/file')
        assert (read['content'], read['lines'], read['total_lines'], read['encoding']) == ('one\ntwo\nthr\u00e9e', 3, 3, 'utf-8')
        assert client.tool('read_file', path=str(plain.work / 'new/deep/file'), first_line=2, line_count=1)['content'] == 'two\n'
        assert client.tool('read_file', path='new/deep/file', first_line=9)['content'] == ''
        bytes_ = bytes(range(256))
        assert client.tool('write_file', path='new/deep/file', content=base64.b64encode(bytes_).decode(), encoding='base64')['created'] is False
        assert plain.work.joinpath('new/deep/file').read_bytes() == bytes_
        assert plain.work.joinpath('new/deep/file').stat().st_mode & 0o777 == 0o750
        read = client.tool('read_file', path='new/deep/file')
        assert read['encoding'] == 'base64' and base64.b64decode(read['content']) == bytes_
        assert os.listdir(plain.work / 'new/deep') == ['file']
        plain.file('long', 'x' * 99 + '\n' + '\u00e9' * (1 << 20))
        read = client.tool('read_file', path='long')
        assert read['truncated'] and read['total_lines'] == 2 and read['encoding'] == 'utf-8'
        assert client.tool('read_file', path='long', first_line=2)['content'] == '\u00e9' * (1 << 19)
        plain.file('latin', b'\xe9\n')
        assert client.tool('read_file', path='latin')['encoding'] == 'base64'
        os.mkfifo(plain.work / 'fifo')
        plain.person.own(plain.work / 'fifo')
        for path, text in (('none', 'No such file'), ('new', 'directory'), ('fifo', 'regular'), ('/etc/shadow', 'ermission')):
            assert text in client.tool('read_file', path=path)
        assert 'directory' in client.tool('write_file', path='new', content='')
        assert 'base64' in client.tool('write_file', path='x', content='?', encoding='base64')
        assert not (plain.work / 'x').exists()


def test_what_a_link_leads_to_is_written_and_the_link_stays(plain, outside):
    plain.file('target', 'old\n')
    os.symlink('target', plain.work / 'link')
    os.symlink(outside / 'file', plain.work / 'away')
    with Client(plain, asks=False) as client:
        assert client.tool('write_file', path='link', content='new\n')['created'] is False
        assert os.readlink(plain.work / 'link') == 'target' and plain.work.joinpath('target').read_text() == 'new\n'
        assert 'leads to nothing' in client.tool('write_file', path='away', content='x')
        plain.file(outside / 'file', 'old')
        assert '--write' in client.tool('write_file', path='away', content='x')
        assert outside.joinpath('file').read_text() == 'old'


PATCH = '''*** Begin Patch
*** Update File: a.c
@@ int main(void)
 {
-	return 1;
+	return 0;
 }
*** Add File: sub/new.txt
+first
+second
*** Delete File: gone
*** Update File: old
*** Move to: sub/moved
@@
-x
+y
*** End Patch
'''


def test_a_patch_is_applied_as_a_whole(plain):
    plain.file('a.c', 'int f(void)\n{\n\treturn 1;\n}\nint main(void)\n{\n\treturn 1;\n}\n', 0o755)
    plain.file('gone', 'x')
    plain.file('old', 'x\r\nz\r\n')
    with Client(plain) as client:
        files = client.tool('apply_patch', patch=PATCH)['files']
        assert [(file['path'], file['action'], file['added'], file['removed']) for file in files] == [
            ('a.c', 'update', 1, 1), ('sub/new.txt', 'add', 2, 0), ('gone', 'delete', 0, 0), ('old', 'move', 1, 1)]
        assert plain.work.joinpath('a.c').read_text() == 'int f(void)\n{\n\treturn 1;\n}\nint main(void)\n{\n\treturn 0;\n}\n'
        assert plain.work.joinpath('a.c').stat().st_mode & 0o777 == 0o755
        assert plain.work.joinpath('sub/new.txt').read_text() == 'first\nsecond\n'
        assert plain.work.joinpath('sub/moved').read_bytes() == b'y\r\nz\r\n'
        assert sorted(os.listdir(plain.work)) == ['a.c', 'sub']


@pytest.mark.parametrize('patch, text', [
    ('*** Begin Patch\n*** Update File: a\n@@\n one\n-zwei\n+2\n*** Add File: new\n+x\n*** End Patch\n', "patch line 5 does not match: 'zwei'"),
    ('*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a\n@@ nowhere\n-two\n*** End Patch\n', "patch line 5 does not match: 'nowhere'"),
    ('*** Begin Patch\n*** Add File: new\n+x\n*** Add File: a\n+x\n*** End Patch\n', 'a is there already'),
    ('*** Begin Patch\n*** Add File: new\n+x\n*** Delete File: none\n*** End Patch\n', 'No such file'),
    ('*** Begin Patch\n*** Add File: new\n+x\n', 'does not end'),
    ('*** Begin Patch\n*** Add File: new\n-x\n*** End Patch\n', 'patch line 3'),
    ('--- a\n+++ b\n', '*** Begin Patch'),
])
def test_a_patch_that_does_not_fit_changes_nothing_and_says_where(plain, patch, text):
    plain.file('a', 'one\ntwo\n')
    with Client(plain) as client:
        assert text in client.tool('apply_patch', patch=patch)
        assert os.listdir(plain.work) == ['a'] and plain.work.joinpath('a').read_text() == 'one\ntwo\n'


def test_files_are_touched_by_the_rules_of_the_sandbox(plain, outside):
    plain.file('.env', 'TOKEN=1\n')
    plain.file('.git/config', '[core]\n')
    with Client(plain, asks=False) as client:
        assert '--read .env' in client.tool('read_file', path='.env')
        for path in (outside / 'x', '.git/hooks/pre-commit', '.git/config'):
            assert 'refused: write' in client.tool('write_file', path=str(path), content='[x]\n')
            assert 'ermission denied' in client.tool('apply_patch', patch=f'*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n') \
                or not os.path.exists(plain.work / path)
        assert not os.listdir(outside) and plain.work.joinpath('.git/config').read_text() == '[core]\n'
        # /tmp is the session's own, for files as for commands
        client.tool('write_file', path='/tmp/mine', content='x')
        assert client.tool('run', command='cat /tmp/mine')['stdout'] == 'x' and not os.path.exists('/tmp/mine')


def test_check_runs_nothing(plain):
    with Client(plain) as client:
        assert client.tool('check', command='touch made')['verdict'] == 'allow'
        assert client.tool('check', argv=['rm', '-rf', '/'])['verdict'] == 'deny'
        assert not os.listdir(plain.work)


# --- questions ---

@pytest.mark.parametrize('version', ['2025-06-18', '2025-11-25', NEW])
def test_the_user_is_asked_and_the_call_goes_on(plain, outside, version):
    with Client(plain, version=version, answer=lambda form: says('approve once')) as client:
        result = client.tool('run', command=f'echo x > {outside}/a && echo y > {outside}/b', reason='the task needs it')
        assert result['exit_code'] == 0 and len(client.forms) == 2
        form = client.forms[0]
        assert f'write {outside}/a' in form['message'] and 'the task needs it' in form['message'] and 'risk' in form['message']
        answer = form['requestedSchema']['properties']['answer']
        values = answer['enum'] if version == '2025-06-18' else [choice['const'] for choice in answer['oneOf']]
        assert values[0] == 'deny once' and 'approve once' in values and 'default' not in answer
        assert len(answer['enumNames'] if version == '2025-06-18' else [choice['title'] for choice in answer['oneOf']]) == len(values)
        assert form['requestedSchema']['required'] == ['answer']
        # a rule is written only where it was shown
        assert ('approve always' in values) == ('"always" would write' in form['message'])
    decided = [record for record in plain.records() if record['kind'] == 'answer']
    assert decided and all('user of' in json.dumps(record) for record in decided)


@pytest.mark.parametrize('version', ['2025-11-25', NEW])
@pytest.mark.parametrize('answer', [
    {'action': 'decline'}, {'action': 'cancel'}, {'action': 'accept'}, {'action': 'accept', 'content': {}}, says('yes'), says('approve'),
    says(True), {'action': 'ACCEPT', 'content': {'answer': 'approve once'}}, {}, {'action': 'accept', 'content': 'approve once'},
    says('approve unsandboxed')])
def test_whatever_is_no_choice_is_a_no(plain, outside, version, answer):
    with Client(plain, version=version, answer=lambda form: answer) as client:
        client.tool('run', command=f'echo x > {outside}/a')
        assert client.forms and not os.listdir(outside)


def test_a_yes_for_the_session_holds_for_it(plain, outside):
    with Client(plain, answer=lambda form: says('approve session')) as client:
        for _ in range(2):
            assert client.tool('run', command=f'echo x >> {outside}/a')['exit_code'] == 0
        assert len(client.forms) == 1
    with Client(plain, '--session', 'another') as client:
        assert client.tool('run', command=f'echo x >> {outside}/a')['exit_code'] != 0


@pytest.mark.parametrize('version, capabilities', [('2025-11-25', {}), ('2025-11-25', {'elicitation': {'url': {}}}), ('2025-03-26', {'elicitation': {}}),
                                                   (NEW, {}), ('2025-11-25', {'elicitation': True})])
def test_who_cannot_ask_is_told_what_to_ask_for(plain, outside, version, capabilities):
    with Client(plain, version=version, start=False) as client:
        client.capabilities = capabilities
        if version != NEW:
            client.result('initialize', protocolVersion=version, capabilities=capabilities)
        result = client.tool('run', command=f'echo x > {outside}/a')
        assert f'--write {outside}' in result['error']['hint'] and 'tell your user' in result['notices'][-1] and not client.forms
        result = client.tool('run', command='true', allow_host=['packages.example:443'])
        assert result['exit_code'] == -1 and 'connect packages.example:443' in result['error']['message']
        assert client.tool('run', command='id', unsandboxed=True)['exit_code'] == -1


@pytest.mark.parametrize('wish', [{'write': ['/srv']}, {'read': ['~/.ssh']}, {'allow_host': ['packages.example']}, {'allow_socket': ['docker']},
                                  {'unsandboxed': True}])
def test_what_is_wanted_beyond_the_policy_is_asked_first(plain, wish):
    plain.policy('approval: on-failure\n')
    with Client(plain) as client:
        result = client.tool('run', command='touch ran', **wish)
        assert len(client.forms) == 1 and result['exit_code'] == -1 and result['error']['kind'] == 'rejected'
        assert not os.listdir(plain.work)


def test_pending_lists_what_stands(plain, outside):
    with Client(plain) as client:
        assert client.tool('pending') == {'questions': []}
        number = client.begin('tools/call', name='run', arguments={'command': f'echo x > {outside}/a'})
        form = client.read()
        assert form['method'] == 'elicitation/create'
        question, = client.tool('pending')['questions']
        assert question['grants'] == [f'write {outside}/a'] and question['tool'] == 'run' and f'{outside}/a' in question['command']
        client.send({'jsonrpc': '2.0', 'id': form['id'], 'error': {'code': -1, 'message': 'no'}})
        assert client.until(number)['result']['structuredContent']['exit_code'] != 0
        assert client.tool('pending') == {'questions': []} and not os.listdir(outside)


def test_a_question_that_nobody_waits_for_is_taken_back(plain, outside):
    with Client(plain) as client:
        client.begin('tools/call', name='run', arguments={'command': f'echo x > {outside}/a', 'timeout': 300})
        form = client.read()
        client.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': client.number}})
        note = client.read()
        assert note['method'] == 'notifications/cancelled' and note['params']['requestId'] == form['id']
        client.send({'jsonrpc': '2.0', 'id': form['id'], 'result': says('approve once')})  # too late
        assert client.result('ping') == {} and not os.listdir(outside)


def test_a_request_state_counts_once_and_for_its_request_alone(plain, outside):
    with Client(plain, version=NEW) as client:
        params = {'name': 'write_file', 'arguments': {'path': f'{outside}/a', 'content': 'x'}}
        first = client.result('tools/call', **params)
        state, (key,) = first['requestState'], first['inputRequests']
        yes = {key: says('approve once')}
        other = {'name': 'write_file', 'arguments': {'path': f'{outside}/b', 'content': 'x'}}
        for wrong in ({**params, 'requestState': state[:-3] + 'AAA'}, {**params, 'requestState': ''}, {**params, 'requestState': 'A' * 5000},
                      {**params, 'requestState': 7}, {**other, 'requestState': state}):
            assert client.request('tools/call', **wrong, inputResponses=yes)['error']['code'] == -32602
        assert not os.listdir(outside)
        # without an answer it is asked again, and the state before is worth nothing
        again = client.result('tools/call', **params, requestState=state, inputResponses={'x': says('approve once')})
        assert again['resultType'] == 'input_required' and again['requestState'] != state
        assert client.request('tools/call', **params, requestState=state, inputResponses=yes)['error']['code'] == -32602
        assert client.tool('pending')['questions'][0]['id'] == key
        done = client.result('tools/call', **params, requestState=again['requestState'], inputResponses=yes)
        assert done['structuredContent']['created'] and os.listdir(outside) == ['a']
        assert client.request('tools/call', **params, requestState=again['requestState'], inputResponses=yes)['error']['code'] == -32602
    with Client(plain, version=NEW) as client:  # another server, another key
        assert client.request('tools/call', **params, requestState=again['requestState'], inputResponses=yes)['error']['code'] == -32602


def test_those_who_do_not_come_again_give_way(plain, outside):
    with Client(plain, version=NEW) as client:
        for number in range(18):
            result = client.result('tools/call', name='run', arguments={'command': f'echo x > {outside}/{number}'})
            assert result['resultType'] == 'input_required'
        assert len(client.tool('pending')['questions']) == 16
        assert client.end() == 0
    assert not os.listdir(outside)


def test_who_cannot_ask_is_answered_elsewhere_and_not_by_the_agent(plain, outside):
    plain.policy('wait: 10m\n')

    def standing():
        return [json.loads(line) for line in plain('pending', '--json').out.splitlines()]
    with Client(plain, asks=False) as client:
        number = client.begin('tools/call', name='run', arguments={'command': f'echo x > {outside}/a'})
        assert wait_until(standing)
        first, = standing()
        # the agent's own yes is a question, too
        own = client.begin('tools/call', name='run', arguments={'argv': [plain.binary, 'approve', first['id']]})
        assert wait_until(lambda: len(standing()) == 2)
        second, = [question for question in standing() if question['id'] != first['id']]
        assert plain('deny', second['id']).code == 0
        assert client.until(own)['result']['structuredContent']['exit_code'] == -1 and not os.listdir(outside)
        assert plain('approve', first['id']).code == 0
        assert client.until(number)['result']['structuredContent']['exit_code'] == 0 and os.listdir(outside) == ['a']


def test_the_profile_of_the_command_line_is_no_question(plain, outside):
    plain.policy(f"profiles: {{wide: {{files: {{write: ['{outside}']}}}}}}\n")
    with Client(plain, '--profile', 'wide', asks=False) as client:
        assert client.tool('run', command=f'echo x > {outside}/a')['exit_code'] == 0
    with Client(plain, asks=False) as client:
        assert client.tool('run', command=f'echo x > {outside}/a')['exit_code'] != 0


# --- no good ---

HOSTILE = [
    b'', b'{', b'null', b'7', b'"x"', b'{}', b'[[[[', b'[' * 100000, b'{"a":' * 50000, b'\xff\xfe', b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":7}', b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run\\u0000","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a\\u0000b"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":7,"name":"run"}}', b'{"jsonrpc":"2.0","id":"ward-1","result":{"action":"accept"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}', b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":7,"clientInfo":[]}}',
]


@pytest.mark.parametrize('initialized', [False, True])
def test_hostile_messages_are_answered_or_ignored_and_harm_nothing(plain, initialized):
    with Client(plain, start=initialized) as client:
        for line in HOSTILE:
            client.write(line + b'\n')
        client.send({'jsonrpc': '2.0', 'id': 'end', 'method': 'ping'})
        while True:
            message = client.read()
            if message.get('id') == 'end':
                break
            assert 'error' in message or message['result'].get('isError') or 'protocolVersion' in message['result'], message
        assert client.end() == 0
    assert not os.listdir(plain.work)


def test_a_message_that_is_too_long_is_left_out(plain):
    with Client(plain) as client:
        client.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b'y' * (17 << 20) + b'"}}\n')
        assert client.read()['error']['code'] == -32600
        assert client.result('ping') == {}


def test_changed_bytes_never_crash_it(plain):
    seed = json.dumps({'jsonrpc': '2.0', 'id': 5, 'method': 'tools/call',
                       'params': {'name': 'check', 'arguments': {'command': 'ls -l'}, '_meta': {'progressToken': 1}}}).encode()
    chance = random.Random(7)
    with Client(plain) as client:
        for _ in range(500):
            line = bytearray(seed)
            for _ in range(chance.randrange(1, 4)):
                line[chance.randrange(len(line))] = chance.randrange(256)
            client.write(bytes(line).replace(b'\n', b' ') + b'\n')
        client.send({'jsonrpc': '2.0', 'id': 'end', 'method': 'ping'})
        while client.read().get('id') != 'end':
            pass
        assert client.end() == 0


def test_a_client_that_reads_nothing_does_not_stop_the_server_for_good(plain):
    word = marker()
    with Client(plain) as client:
        client.begin('tools/call', {'progressToken': 1}, name='run', arguments={'argv': ['yes', word]})
        assert wait_until(lambda: processes(word))
        client.process.stdout.close()
        client.process.stdin.close()
        assert client.process.wait(90) == 0
    assert all_gone(word)


def test_nothing_but_messages_is_written(plain):
    plain.policy('sandbox: {network: {mode: nonsense}}\n')
    with Client(plain) as client:
        result = client.tool('run', command='true')
        assert result['exit_code'] == -1 and result['error'] and 'ward.yaml' in json.dumps(result)
        assert client.end() == 0
        assert client.process.stderr.read() == b''


@pytest.mark.parametrize('words', [['--workspace', '/none'], ['--agent', '../x'], ['--session', '/'], ['more'], ['--level', 'none']])
def test_words_that_mean_nothing_are_refused(plain, words):
    done = plain('mcp', *words)
    assert done.code == 125 and done.err.startswith('ward mcp:') and not done.out
