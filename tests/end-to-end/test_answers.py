# SPDX-License-Identifier: Apache-2.0
"""What a question tells, and answers that give less than was asked, say something, or have a run followed."""
import json
import pathlib

import jsonschema
import pytest

from support import SOURCE, wait_until
from test_pending import outside, start, waits  # noqa: F401

ASK = json.loads((SOURCE / 'docs' / 'ask.schema.json').read_text())


def records_of(ward, kind):
    return [record for record in ward.records() if record['kind'] == kind]


def test_every_kind_of_question_is_as_the_schema_says(ward, outside):
    (outside / 'old').write_text('12345')
    ward.person.own(outside / 'old')
    scripts = {'before': 'git push --force origin main', 'in_place': f'echo x > {outside}/old'}
    ask = {}
    for kind in ('before', 'in_place'):
        process = start(ward, scripts[kind], '--agent', 'robot', '--reason', 'the release')
        question, = waits(ward)
        ask[kind] = question['ask']
        jsonschema.validate(ask[kind], ASK)
        assert ask[kind]['kind'] == kind and ask[kind]['agent'] == 'robot' and ask[kind]['reason'] == 'the release'
        ward('deny', question['id'], '--abort')
        ward.finish(process)
    before, place = ask['before'], ask['in_place']
    assert 'runs: git push --force origin main' in before['what_will_happen']
    assert before['rollback'] == {'can_rollback': False, 'time': 'unknown', 'steps': []}
    assert before['risk']['level'] == 'high' and before['failure_modes'] and before['affected_users'][0] == 'you'
    assert place['rollback']['can_rollback'] is False and 'what is there now is lost, ward keeps no copy' in place['failure_modes']
    assert any('1 file, 5 bytes there now' in effect for effect in place['what_will_happen'])
    assert f'{outside}/old' in place['affected_systems'] and f'{outside}/old' in place['summary']


def test_the_past_is_told_with_its_outcome(ward):
    for count in (0, 1):
        process = start(ward, 'git push --force origin main')
        question, = waits(ward)
        past = question['ask']['similar_operations']
        assert [run['outcome'] for run in past] == ['refused'] * count
        assert question['ask']['historical_success_rate'] is None and question['ask']['historical_runs'] == 0
        ward('deny', question['id'])
        ward.finish(process)
    assert 'git push --force' in past[0]['description'] and past[0]['date'][:2] == '20'


def test_a_success_rate_is_out_of_those_that_ran(ward):
    ward.file(ward.place / 'bin' / 'pip', '#!/bin/sh\nexit $3\n', 0o755)
    for code in ('0', '1', '0', '0'):
        ward('run', '--', 'pip', 'install', code)
    process = ward.popen('run', '--wait', '600s', '--approval', 'unless-trusted', '--', 'pip', 'install', '0')
    question, = waits(ward)
    ask = question['ask']
    assert ask['historical_runs'] == 4 and len(ask['similar_operations']) == 4
    ward('deny', question['id'])
    ward.finish(process)


def test_less_than_was_asked_for(ward, outside):
    (outside / 'd').mkdir()
    ward.person.own(outside / 'd')
    process = start(ward, f'echo x > {outside}/d/f && echo y > {outside}/d/g')
    question, = waits(ward)
    extents = question['ask']['extents']
    wide = next(i for i, extent in enumerate(extents) if extent['grants'] == [f'write {outside}/d/**'])
    for grant in (f'write {outside}/**', f'write {outside}/d/../x', f'write {outside}/d/g', 'write /etc/passwd', 'nonsense', 'unsandboxed'):
        done = ward('approve', question['id'], '--extent', str(wide), '--grant', grant)
        assert done.code != 0, grant
    assert ward('approve', question['id'], '--scope', 'always', '--grant', f'write {outside}/d/f').code != 0
    done = ward('approve', question['id'], '--extent', str(wide), '--grant', f'write {outside}/d/f', '--scope', 'session')
    assert done.code == 0 and f'write {outside}/d/f' in done.out
    second, = waits(ward)
    while second['id'] == question['id']:
        second, = waits(ward)
    assert second['ask']['object'] == f'{outside}/d/g'
    ward('deny', second['id'])
    ward.finish(process)
    assert (outside / 'd' / 'f').exists() and not (outside / 'd' / 'g').exists()
    answer = [record for record in ward.records() if record['kind'] == 'answer'][0]
    assert answer['grants'] == [f'write {outside}/d/f']


def test_what_is_said_with_a_yes_reaches_the_agent(ward, outside):
    process = ward.popen('run', '--json', '--wait', '600s', '--', 'sh', '-c', f'echo x > {outside}/f')
    question, = waits(ward)
    assert ward('approve', question['id'], '--scope', '30m', '--reason', 'only\x1b[2J today').code == 0
    done = ward.finish(process)
    result = json.loads(done.out)
    jsonschema.validate(result, json.loads((SOURCE / 'docs' / 'result.schema.json').read_text()))
    said = [decision for decision in result['decisions'] if 'approval' in decision][-1]['approval']
    assert said['granted'] and said['reason'] == 'only\x1b[2J today' and said['duration'] == 1800
    assert said['approver'].split('@')[0] == ward.person.name and said['allowed_domains'] == [] and not said['monitored']
    assert '\x1b' not in done.err


def test_what_is_asked_before_it_runs_cannot_be_edited(ward):
    process = start(ward, 'git push --force origin main')
    question, = waits(ward)
    assert question['ask']['editable'] is False
    assert ward('approve', question['id'], '--grant', 'write /tmp/x').code != 0
    ward('deny', question['id'])
    ward.finish(process)


def test_a_run_that_is_followed_tells_all_and_somebody_is_told(ward):
    ward.file('in', 'secret plans')
    process = start(ward, 'cat in; cat in > out; mkdir d; rm out; git push --force origin main; seq 3')
    question, = waits(ward)
    assert 'approve monitored' in question['ask']['choices']
    assert ward('approve', question['id'], '--monitor').code == 0
    done = ward.finish(process)
    run = records_of(ward, 'run.start')[0]['run']
    record, = records_of(ward, 'run.monitored')
    assert record['reads'] and not record['late'] and record['missing_bytes'] == 0 and record['by'].split('@')[0] == ward.person.name
    place = pathlib.Path(record['directory'])
    trace = [json.loads(line) for line in (place / 'trace').read_text().splitlines()]
    seen = {(line['operation'], line['object']) for line in trace}
    for part in (('read', f'{ward.work}/in'), ('write', f'{ward.work}/out'), ('write', f'{ward.work}/d'), ('delete', f'{ward.work}/out')):
        assert part in seen, seen
    assert any(operation == 'exec' and '/git push --force' in what for operation, what in seen), seen
    assert sum(record['seen'].values()) == len(trace)
    output = (place / 'output').read_text()
    assert output.startswith('secret plans') and '1\n2\n3\n' in output and record['output_bytes'] == len(output)
    assert place.stat().st_mode & 0o777 == 0o700
    assert f'has ended: ward show {run}' in ward('pending').out
    shown = ward('show', run).out
    assert 'followed   for ' in shown and f'cat read {ward.work}/in' in shown
    assert 'has ended' not in ward('pending').out and done.code is not None and ward.verify().code == 0


def test_a_call_in_place_is_followed_from_then_on(ward, outside):
    process = start(ward, f'echo before; echo x > {outside}/f; echo y > here; echo after')
    question, = waits(ward)
    assert ward('approve', question['id'], '--monitor').code == 0
    assert ward.finish(process).code == 0
    record, = records_of(ward, 'run.monitored')
    place = pathlib.Path(record['directory'])
    trace = [json.loads(line) for line in (place / 'trace').read_text().splitlines()]
    assert record['late'] and [line['object'] for line in trace] == [f'{outside}/f', f'{ward.work}/here']
    assert (place / 'output').read_text() == 'before\nafter\n'


def test_all_that_was_printed_before_is_kept(ward, outside):
    process = start(ward, f'seq 9999; echo x > {outside}/f; echo after', '--output', '60000')
    question, = waits(ward)
    assert ward('approve', question['id'], '--monitor').code == 0
    assert ward.finish(process).code == 0
    record, = records_of(ward, 'run.monitored')
    kept = (pathlib.Path(record['directory']) / 'output').read_text()
    assert kept == ''.join(f'{number}\n' for number in range(1, 10000)) + 'after\n' and record['missing_bytes'] == 0


def test_a_run_that_is_killed_is_told_too(ward):
    process = ward.popen('run', '--wait', '600s', '--', 'sh', '-c', 'git push --force origin main; echo begun; touch here; sleep 300')
    question, = waits(ward)
    assert ward('approve', question['id'], '--monitor').code == 0
    assert wait_until((ward.work / 'here').exists)
    process.kill()
    process.communicate()
    run = records_of(ward, 'run.start')[0]['run']
    assert wait_until(lambda: ward('log').code == 0 and f'has ended: ward show {run}' in ward('pending').out)
    record, = records_of(ward, 'run.monitored')
    assert record['lost'] and record['output_bytes'] == len((pathlib.Path(record['directory']) / 'output').read_text())
    shown = ward('show', run).out
    assert 'until whoever carried it out was killed' in shown and f'touch write {ward.work}/here' in shown
    assert 'has ended' not in ward('pending').out and ward.verify().code == 0


@pytest.mark.parametrize('flags', [['--scope', 'session'], ['--scope', '5m'], ['--scope', 'always']])
def test_to_follow_is_a_yes_for_this_run_alone(ward, outside, flags):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    done = ward('approve', question['id'], '--monitor', *flags)
    assert done.code != 0 and 'holds once' in done.err
    ward('deny', question['id'])
    ward.finish(process)


def test_what_has_no_room_is_said_to_be_missing(ward):
    process = start(ward, 'git push --force origin main; head -c 300000 /dev/zero | tr "\\0" x', '--disk', '100000')
    question, = waits(ward)
    assert ward('approve', question['id'], '--monitor').code == 0
    ward.finish(process)
    record, = records_of(ward, 'run.monitored')
    place = pathlib.Path(record['directory'])
    assert record['missing_bytes'] > 0 and sum(path.stat().st_size for path in place.iterdir()) <= 100000
