# SPDX-License-Identifier: Apache-2.0
"""ward web: questions seen and answered in a browser."""
import json
import stat

import pytest

from support import wait_until
from web import Stream, serving


@pytest.fixture
def web(ward):
    with serving(ward) as web:
        yield web


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def start(ward, script, *flags, wait='600s'):
    return ward.popen('run', '--wait', wait, *flags, '--', 'sh', '-c', script)


def waits(browser, count=1):
    """The questions, when there are so many."""
    assert wait_until(lambda: len(browser.get('/api/asks').json['asks']) == count)
    return browser.get('/api/asks').json['asks']


def test_a_link_lets_in_once_as_whoever_started_the_server(ward, web):
    browser = web.browser(enter=False)
    reply = browser.enter(web.link)
    assert reply.status == 200 and reply.json['name'] == ward.person.name
    assert browser.get('/api/asks').json == {'asks': []}
    again = web.browser(enter=False).enter(web.link)
    assert again.status == 403 and 'ward web link' in again.json['error']['hint']


def test_what_is_kept_of_links_and_sessions_opens_nothing(ward, web):
    browser = web.browser()
    ward('web', 'link')
    kept = [path for path in (ward.state / 'ward/web').rglob('*') if path.is_file()]
    assert len(kept) >= 3
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        secrets = [web.link.partition('#login=')[2], browser.cookie.partition('=')[2].partition('.')[2], browser.token]
        assert not any(secret in path.read_text() or secret in path.name for secret in secrets)


def test_a_yes_lets_the_call_go_on_under_the_approvers_name(ward, web, outside):
    browser = web.browser('--as', 'Alice Ä')
    process = start(ward, f'echo x > {outside}/f; echo done')
    ask, = waits(browser)
    assert ask['ask']['grants'] == [f'write {outside}/f']
    assert browser.get(f'/api/asks/{ask["id"]}').json == ask | {'may_approve': True}
    reply = browser.answer(ask, reason='fine')
    assert reply.status == 200 and reply.json['answered']['by'] == 'web:Alice Ä', reply
    done = ward.finish(process)
    assert done.code == 0 and (outside / 'f').read_text() == 'x\n'
    answer = [record for record in ward.records() if record['kind'] == 'answer'][-1]
    assert (answer['by'], answer['answer'], answer['reason']) == ('web:Alice Ä', 'approve', 'fine')


def test_a_name_in_the_answer_itself_counts_for_nothing(ward, web, outside):
    browser = web.browser('--as', 'alice')
    process = start(ward, f'echo x > {outside}/f')
    ask, = waits(browser)
    reply = browser.answer(ask, 'deny', by='mallory')
    assert reply.status == 200 and reply.json['answered']['by'] == 'web:alice', reply
    ward.finish(process)
    assert [record['by'] for record in ward.records() if record['kind'] == 'answer'] == ['web:alice']


def test_without_a_terminal_runs_ask_as_long_as_it_serves(ward, web):
    browser = web.browser()
    process = ward.popen('run', '--', 'sh', '-c', 'git push --force origin main')
    ask, = waits(browser)
    assert browser.answer(ask, 'abort').status == 200
    assert ward.finish(process).code == 126


def test_an_answer_to_something_else_is_none(ward, web, outside):
    browser = web.browser()
    process = start(ward, f'echo x > {outside}/f')
    ask, = waits(browser)
    for change in ({'nonce': 'x' * 26}, {'hash': '0' * 64}, {'nonce': None}, {'hash': ask['hash'][:-1]}):
        reply = browser.answer(ask | change)
        assert reply.status == 409 and reply.json['state'] == 'open', reply
    assert browser.post(f'/api/asks/{ask["id"]}/answer', {'answer': 'approve'}).status == 409
    for wrong in ({'scope': 'forever'}, {'extent': 99}, {'unsandboxed': True}, {'answer': 'perhaps'}, {'what': 1}):
        reply = browser.answer(ask, **({'answer': 'approve'} | wrong))
        assert reply.status == 400, (wrong, reply)
    assert len(waits(browser)) == 1 and not (outside / 'f').exists()
    assert browser.answer(ask, 'deny').status == 200
    ward.finish(process)


def test_of_two_approvers_the_first_counts_and_the_other_is_told(ward, web, outside):
    alice, bob = web.browser('--as', 'alice'), web.browser('--as', 'bob')
    process = start(ward, f'echo x > {outside}/f')
    ask, = waits(alice)
    assert alice.answer(ask, 'deny', reason='no').status == 200
    late = bob.answer(ask)
    assert late.status == 409, late
    assert late.json['answered'] | {'time': None} == {'by': 'web:alice', 'answer': 'deny', 'scope': 'once', 'reason': 'no', 'time': None}
    ward.finish(process)
    gone = bob.get(f'/api/asks/{ask["id"]}')
    assert gone.status == 410 and gone.json['answered']['by'] == 'web:alice', gone
    assert not (outside / 'f').exists()


def test_a_yes_that_several_must_say_waits_for_the_others(ward, web):
    ward.policy(f'version: 1\napprovers:\n  all: ["web:alice", "web:bob", "user:{ward.person.name}"]\n'
                'rules:\n  - {command: touch, do: ask, why: a test}\n'
                'routes:\n  - steps: [{from: all, need: 3, reason: required}]\n    not_own: false\n')
    alice, bob, carol = (web.browser('--as', name) for name in ('alice', 'bob', 'carol'))
    process = ward.popen('run', '--wait', '600s', '-c', 'touch made')
    ask, = waits(alice)
    seen = [browser.get(f'/api/asks/{ask["id"]}').json for browser in (alice, carol)]
    assert [one['may_approve'] for one in seen] == [True, False] and seen[0]['progress']['need'] == 3
    stream = Stream(bob, '/api/events')
    assert alice.answer(ask).status == 400, 'it needs a reason'
    reply = alice.answer(ask, reason='fine')
    assert reply.status == 200 and reply.json['waiting'] == {'have': 1, 'need': 3}, reply
    stream.until(lambda name, data: data == {'id': ask['id'], 'state': 'open'})
    stream.close()
    for browser in (alice, carol):
        assert browser.answer(ask, reason='more').status == 403
    assert carol.answer(ask, 'deny').status == 403
    assert not (ward.work / 'made').exists() and len(waits(bob)) == 1
    stream = Stream(bob, '/api/events')
    assert ward('approve', ask['id'], '--reason', 'me too').code == 0
    stream.until(lambda name, data: data == {'id': ask['id'], 'state': 'open'})
    assert bob.get(f'/api/asks/{ask["id"]}').json['progress']['have'] == 2
    stream.close()
    reply = bob.answer(ask, reason='fine too')
    assert reply.status == 200 and 'waiting' not in reply.json, reply
    assert ward.finish(process).code == 0 and (ward.work / 'made').exists()


def test_an_answer_from_a_terminal_is_told_with_who_gave_it(ward, web, outside):
    browser = web.browser()
    process = start(ward, f'echo x > {outside}/f')
    ask, = waits(browser)
    assert ward('approve', ask['id']).code == 0
    ward.finish(process)
    assert wait_until(lambda: (browser.get(f'/api/asks/{ask["id"]}').json.get('answered') or {}).get('answer') == 'approve')
    late = browser.answer(ask, 'deny')
    assert late.status == 409 and late.json['answered']['by'].split('@')[0] == ward.person.name


def test_a_question_whose_run_is_gone_was_withdrawn(ward, web, outside):
    browser = web.browser()
    process = start(ward, f'echo x > {outside}/f')
    ask, = waits(browser)
    stream = Stream(browser, '/api/events')
    process.kill()
    ward.finish(process)
    waits(browser, 0)
    stream.until(lambda name, data: name == 'asks' and data == {'id': ask['id'], 'state': 'withdrawn'})
    stream.close()
    assert browser.answer(ask).json['state'] == 'withdrawn'


def test_what_happens_is_told_as_it_happens_and_again_to_one_who_was_away(ward, web, outside):
    browser = web.browser()
    stream = Stream(browser, '/api/events')
    process = start(ward, f'echo x > {outside}/f')
    events = stream.until(lambda name, data: name == 'asks')
    started = [data for name, data in events if name == 'run']
    ask, = waits(browser)
    assert events[-1] == ('asks', {'id': ask['id'], 'state': 'open'})
    assert started == [{'run': ask['run'], 'state': 'started'}]
    last = stream.last
    stream.close()
    assert browser.answer(ask).status == 200
    ward.finish(process)
    again = Stream(browser, '/api/events', last=last)
    events = again.until(lambda name, data: name == 'run')
    assert events == [('asks', {'id': ask['id'], 'state': 'answered'}), ('run', {'run': ask['run'], 'state': 'ended'})]
    again.close()
    for unknown in ('x', last.partition('.')[0] + '.99999', 'a.b.c'):
        stream = Stream(browser, '/api/events', last=unknown)
        assert next(stream.events()) == ('resync', {})
        stream.close()


def test_sessions_are_listed_and_ended_from_a_terminal_and_a_page(ward, web):
    alice, bob = web.browser('--as', 'alice'), web.browser('--as', 'bob')
    listed = {row['name']: row for row in alice.get('/api/session').json['sessions']}
    assert listed['alice']['this'] and not listed['bob']['this']
    assert [json.loads(line)['name'] for line in ward('web', 'sessions', '--json').out.splitlines()] == ['alice', 'bob']
    stream = Stream(bob, '/api/events')
    assert alice.post(f'/api/session/{listed["bob"]["id"]}/revoke').status == 200
    assert stream.until(lambda name, data: name == 'session')[-1] == ('session', {'state': 'ended'})
    assert list(stream.events()) == []
    assert bob.get('/api/asks').status == 401
    stream = Stream(alice, '/api/events')
    done = ward('web', 'revoke', listed['alice']['id'])
    assert done.code == 0 and done.out == '1 session ended\n'
    stream.until(lambda name, data: name == 'session')
    assert alice.get('/api/asks').status == 401
    assert ward('web', 'revoke', listed['alice']['id']).code == 125
    assert ward('web', 'sessions').out == 'nobody is logged in\n'


def test_revoking_all_ends_links_too(ward, web):
    browser = web.browser()
    link = ward('web', 'link').out.strip()
    assert ward('web', 'revoke', 'all').code == 0
    assert browser.get('/api/session').status == 401
    assert web.browser(enter=False).enter(link).status == 403


def test_a_session_goes_on_when_the_server_starts_again(ward, web):
    browser = web.browser()
    before = web.host
    web.end()
    assert ward('web', 'link').code == 125
    web.start()
    assert web.host == before and browser.get('/api/session').status == 200


def test_a_second_server_is_a_link_to_the_first(ward, web):
    done = ward('web')
    assert done.code == 0 and 'serves already' in done.err
    assert web.browser(enter=False).enter(done.out.strip()).status == 200


def test_out_is_out(web):
    browser = web.browser()
    assert browser.post('/api/logout').status == 200
    assert browser.get('/api/session').status == 401


def test_a_run_that_comes_near_to_a_limit_is_told_of(ward, web):
    browser = web.browser()
    stream = Stream(browser, '/api/events')
    process = ward.popen('run', '--timeout', '2s', '--', 'sleep', '500')
    told = stream.until(lambda name, data: name == 'run' and data['state'] == 'near')[-1][1]
    assert told['limit'] == 'time'
    assert ward.finish(process).code == 124
    stream.close()
