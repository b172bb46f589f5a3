# SPDX-License-Identifier: Apache-2.0
"""ward web: what was run, by whom, and what it writes."""
import json
import urllib.parse

import pytest

from support import wait_until
from web import Stream, fill_log, serving


def history(browser, **parameters):
    reply = browser.get('/api/history?' + urllib.parse.urlencode(parameters))
    assert reply.status == 200, reply
    return reply.json


def own(ward, directory):
    for path in (directory, *directory.iterdir()):
        ward.person.own(path)
    directory.chmod(0o700)


def test_the_history_is_found_page_by_page(plain):
    fill_log(plain.state / 'ward', 2000, lambda number: f'make target-{number}' + (' 100%_sure \\x' if number % 500 == 7 else ''))
    own(plain, plain.state / 'ward')
    with serving(plain) as web:
        browser = web.browser()
        first = history(browser, limit=3)
        assert [row['command'] for row in first['rows']] == ['make target-1999', 'make target-1998', 'make target-1997']
        assert first['rows'][0] | {'time': ''} == {
            'run': '01m00000000000000000001999', 'time': '', 'agent': 'agent-4', 'session': 's199', 'command': 'make target-1999',
            'verdict': 'ask', 'source': 'rule', 'exit_code': 1, 'duration_ms': 1.5, 'denials': 0, 'ended': True, 'error': None}
        seen, cursor = [], ''
        while cursor is not None:
            page = history(browser, limit=300, before=cursor)
            seen += [row['command'].split()[1] for row in page['rows']]
            cursor = page['next']
        assert seen == [f'target-{number}' for number in reversed(range(2000))]
        for text in ('100%_sure', 'SURE \\X', '\\', '%_', 'get-1507 1'):
            assert len(history(browser, query=text)['rows']) == (1 if '1507' in text else 4), text
        assert history(browser, query='target-1234')['rows'][0]['command'] == 'make target-1234'
        assert history(browser, query='" OR 1; --')['rows'] == [] and history(browser, query="x'y")['rows'] == []
        assert {row['agent'] for row in history(browser, agent='agent-3', limit=500)['rows']} == {'agent-3'}
        assert len(history(browser, agent='agent-3', query='target-19', verdict='deny', limit=500)['rows']) == len(
            [number for number in range(2000) if number % 5 == 3 and number % 3 == 2 and f'target-{number}'.startswith('target-19')])
        assert history(browser, agent='nobody')['rows'] == []
        agents = browser.get('/api/agents').json['agents']
        assert sorted((agent['agent'], agent['runs'], agent['waiting']) for agent in agents) == [(f'agent-{n}', 400, 0) for n in range(5)]
        assert sum(session['runs'] for session in agents[0]['sessions']) == 400
        run = browser.get('/api/runs/01m00000000000000000001999').json
        assert run == json.loads(plain('show', '01m00000000000000000001999', '--json').out)
        assert browser.get('/api/runs/' + '0' * 26).status == 404


def test_the_figures_are_those_of_ward_stats(plain):
    with serving(plain) as web:
        browser = web.browser()
        assert plain('run', '--', 'true').code == 0
        stats = browser.get('/api/stats?days=7').json
        assert stats == json.loads(plain('stats', '--json', '--days', '7').out) and stats['commands'] == 1
        for wrong in ('0', 'x', '99999'):
            assert browser.get(f'/api/stats?days={wrong}').status == 400


@pytest.mark.parametrize('query', ['limit=0', 'limit=501', 'limit=x', 'limit=-1', 'before=x', 'before=1e9', 'before=99999999999999999999', 'query=%ff',
                                   'query=%00', 'query=%', 'query=%4', 'query=' + 'x' * 1025, 'agent=%c3'])
def test_a_question_that_is_none_is_refused(plain, query):
    with serving(plain) as web:
        assert web.browser().get('/api/history?' + query).status == 400


def test_what_runs_while_it_serves_is_found_at_once(ward):
    with serving(ward) as web:
        browser = web.browser()
        assert history(browser)['rows'] == []
        assert ward('run', '--agent', 'bot', '--session', 'one', '--', 'echo', 'Süß needle').code == 0
        row, = history(browser, query='süß NEEDLE'.replace('ü', 'ü'))['rows']
        assert (row['agent'], row['session'], row['exit_code'], row['verdict']) == ('bot', 'one', 0, 'allow')
        assert [(a['agent'], a['runs']) for a in browser.get('/api/agents').json['agents']] == [('bot', 1)]
        # A log that was moved aside takes its runs with it.
        for name in ('audit.log', 'audit.head'):
            (ward.state / 'ward' / name).rename(ward.place / name)
        assert ward('run', '--', 'echo', 'another').code == 0
        assert [row['command'] for row in history(browser)['rows']] == ['echo another']
        assert history(browser, query='needle')['rows'] == []
        assert [(a['agent'], a['runs']) for a in browser.get('/api/agents').json['agents']] == [(None, 1)]


def pieces(events):
    return [(data['stream'], data['data']) for name, data in events if name == 'output']


def test_the_output_of_a_run_that_is_followed_comes_as_it_is_written(ward):
    with serving(ward) as web:
        browser = web.browser()
        go, outside = ward.work / 'go', ward.place / 'outside'
        outside.mkdir()
        ward.person.own(outside)
        process = ward.popen('run', '--wait', '600s', '--', 'sh', '-c',
                             f'echo x > {outside}/f; echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo second; exit 3')
        assert wait_until(lambda: browser.get('/api/asks').json['asks'])
        ask, = browser.get('/api/asks').json['asks']
        assert browser.answer(ask, monitor=True).status == 200
        assert wait_until(lambda: (ward.state / 'ward/monitored' / ask['run'] / 'output').exists())
        stream = Stream(browser, f'/api/runs/{ask["run"]}/output')
        assert stream.status == 200
        first = stream.until(lambda name, data: 'first' in data.get('data', ''))
        go.write_text('')
        rest = stream.until(lambda name, data: name == 'end')
        assert ''.join(text for _, text in pieces(first + rest)).replace('\r', '') == 'first\nsecond\n'
        assert rest[-1] == ('end', {'exit_code': 3})
        assert list(stream.events()) == []
        stream.close()
        ward.finish(process)
        again = Stream(browser, f'/api/runs/{ask["run"]}/output')
        events = list(again.events())
        assert ''.join(text for _, text in pieces(events)).replace('\r', '') == 'first\nsecond\n' and events[-1] == ('end', {'exit_code': 3})
        again.close()


def test_output_that_nobody_keeps_is_not_known(ward):
    with serving(ward) as web:
        browser = web.browser()
        assert ward('run', '--', 'echo', 'x').code == 0
        run = history(browser)['rows'][0]['run']
        stream = Stream(browser, f'/api/runs/{run}/output')
        (name, data), = stream.events()
        assert name == 'unknown' and 'not kept' in data['why']
        stream.close()
        assert browser.get(f'/api/runs/{"0" * 26}/output').status == 404


def test_a_deferred_command_runs_when_its_answer_comes(ward):
    with serving(ward) as web:
        browser = web.browser()
        process = ward.popen('run', '--', 'sh', '-c', 'echo out; echo err >&2; git push --force origin main')
        assert wait_until(lambda: browser.get('/api/asks').json['asks'])
        ask, = browser.get('/api/asks').json['asks']
        assert browser.answer(ask, 'defer').status == 200
        assert ward.finish(process).code == 75
        assert wait_until(lambda: [a for a in browser.get('/api/asks').json['asks'] if a.get('ticket')])
        again, = browser.get('/api/asks').json['asks']
        assert browser.answer(again).status == 200
        ticket = again['ticket']
        assert wait_until(lambda: ward('wait', ticket, '--json', '--timeout', '60s').code != 75)
        run = json.loads(ward('wait', ticket, '--json').out)['run']
        stream = Stream(browser, f'/api/runs/{run}/output')
        events = list(stream.events())
        assert ('stdout', 'out\n') in pieces(events) and any(name == 'stderr' and 'err\n' in text for name, text in pieces(events)), events
        assert events[-1][0] == 'end'
        stream.close()
