# SPDX-License-Identifier: Apache-2.0
"""Tokens in requests that other programs send: `token` in what ward serve --stdio is sent."""
import json
import subprocess

import jsonschema
import pytest

from support import SCHEMA, processes, resting, rests
from test_serve import call, serve
from test_tokens import MINUTE, mint, narrow, shown, violations, work  # noqa: F401


def run(token, script, id=1, **more):
    return call('run', {'agent': 'bot', 'token': token, 'argv': ['sh', '-c', script], **more}, id)


def is_refused(answer):
    return 'error' in answer or (answer['result']['verdict'], answer['result']['attempts']) == ('deny', [])


def test_a_request_gets_what_its_token_permits_and_nothing_else(work):
    work.file('.env', 'KEY=1\n')
    work.policy('sandbox: {files: {write: [.]}}\n')
    token = mint(work, '--allow', 'read src/**', '--allow', 'write out/**', *MINUTE)
    first, second = serve(work, run(token, 'cat src/a.txt && echo x > out/x', 1),
                          run(token, 'cat secret.txt .env; echo x > other', 2))
    jsonschema.validate(first['result'], SCHEMA)
    assert (first['result']['exit_code'], first['result']['stdout'], first['result']['source']) == (0, 'text\n', 'token')
    assert violations(first['result']) == [] and (work.work / 'out/x').exists()
    assert second['result']['stdout'] == '' and second['result']['exit_code'] != 0
    assert {('read', str(work.work / 'secret.txt')), ('write', str(work.work / 'other'))} <= set(violations(second['result']))
    assert len(second['result']['attempts']) == 1 and not (work.work / 'other').exists()
    assert not any(record['kind'] == 'ask' for record in work.records())


@pytest.mark.parametrize('more', [{'agent': 'other'}, {'agent': None}, {'write': ['.']}, {'read': ['/']}, {'net': 'full'}, {'level': 'none'},
                                  {'allow_host': ['a.example']}, {'sandbox': 'forbid'}, {'escalated': True}, {'keep_env': ['HOME']}, {'profile': 'code'}])
def test_a_request_for_more_or_of_another_is_refused(plain, more):
    token = mint(plain, '--allow', 'write out/**', *MINUTE)
    request = run(token, 'echo started', **more)
    request['params'] = {key: value for key, value in request['params'].items() if value is not None}
    answer, = serve(plain, request)
    assert is_refused(answer), answer
    assert not any(record['kind'] == 'run.start' for record in plain.records())
    assert any(record['kind'] == 'token.refused' for record in plain.records())


def test_a_bad_or_used_token_is_refused_and_the_server_goes_on(plain):
    once = mint(plain, '--allow', 'read .', '--uses', '1', *MINUTE)
    revoked = mint(plain, '--allow', 'read .', *MINUTE)
    assert plain('token', 'revoke', revoked).code == 0
    bad = ['', 'AAAA', once[:-8], once + 'A', 'x' * 200000, revoked]
    answers = serve(plain, *(run(token, 'echo started', number) for number, token in enumerate(bad)),
                    run(once, 'echo started', 'first'), run(once, 'echo started', 'second'), call('ping', id='last'))
    assert [answer['id'] for answer in answers] == [*range(len(bad)), 'first', 'second', 'last']
    assert all(is_refused(answer) for answer in answers[:len(bad)])
    assert answers[-3]['result']['stdout'] == 'started\n'
    assert is_refused(answers[-2]) and 'result' in answers[-1]


def test_the_token_of_a_request_is_in_no_record_and_no_list_of_processes(work):
    token, rest = mint(work, '--allow', 'read src/**', *MINUTE), resting()
    less = narrow(work, token, '--uses', '2')
    process = work.popen('serve', '--stdio', '--events', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write((json.dumps(run(less, f'env; cat /proc/*/cmdline /proc/*/environ; sleep {rest}')) + '\n').encode())
    process.stdin.flush()
    assert rests(rest)
    assert processes(less) == []
    assert work('token', 'revoke', token).code == 0, 'and what it runs ends'
    done = work.finish(process)
    assert less not in done.out + done.err and '"stdout"' in done.out
    for path in (work.state / 'ward').rglob('*'):
        assert not path.is_file() or less.encode() not in path.read_bytes(), path
    assert shown(work, token)['id'] in work.log.read_text()
