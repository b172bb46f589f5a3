# SPDX-License-Identifier: Apache-2.0
"""Agents under trust: what they lack is given, told of, asked for or refused by its tier."""
import json

import jsonschema
import pytest

from daemon import Refused, serving, wait_for
from support import SOURCE, Terminal, Tmux
from test_pending import outside, pending, waits  # noqa: F401

ASK = json.loads((SOURCE / 'docs' / 'ask.schema.json').read_text())


def says(ward, text=''):
    ward.policy('trust: {agents: [robot, "ci-*"]}\n' + text)


def run(ward, script, agent='robot', *flags):
    return ward.popen('run', '--json', '--agent', agent, *flags, '--', 'sh', '-c', script)


def records(ward, kind):
    return [record for record in ward.records() if record['kind'] == kind]


def test_low_is_given_for_the_run_with_a_notice(ward, outside):
    says(ward, f'tiers: {{low: ["write {outside}/**"]}}\n')
    result = json.loads(ward.finish(run(ward, f'echo x > {outside}/f')).out)
    assert result['exit_code'] == 0 and (outside / 'f').read_text() == 'x\n'
    decision = [decision for decision in result['decisions'] if decision['stage'] == 'grant'][0]
    assert decision['source'] == 'trust' and decision['by'] == 'tier low' and decision['scope'] == 'once'
    assert records(ward, 'ask')[0]['tier'] == 'low' and records(ward, 'answer')[0]['source'] == 'trust'
    notice, = records(ward, 'notice')
    assert notice['tier'] == 'low' and f'write {outside}/f' in notice['text'] and notice['time']
    assert pending(ward) == []
    assert 'unasked (tier low' in ward('run', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {outside}/g').err


def test_a_person_is_not_bound(ward, outside):
    says(ward, f'tiers: {{low: ["write {outside}/**"]}}\n')
    for flags in ([], ['--agent', 'somebody']):
        assert ward('run', *flags, '--', 'sh', '-c', f'echo x > {outside}/f').code != 0
    assert not (outside / 'f').exists() and records(ward, 'ask') == []


def test_high_waits_for_a_yes_without_being_told_to_wait(ward, outside):
    says(ward, f'tiers: {{high: ["write {outside}/**"]}}\n')
    process = run(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    jsonschema.validate(question['ask'], ASK)
    assert question['ask']['tier'] == 'high' and 'objection_seconds' not in question['ask']
    assert ward('approve', question['id']).code == 0
    assert json.loads(ward.finish(process).out)['exit_code'] == 0
    assert records(ward, 'ask')[0]['tier'] == 'high' and records(ward, 'answer')[0]['source'] == 'person'


def test_high_that_nobody_answers_is_a_no(ward, outside):
    says(ward, f'tiers: {{high: ["write {outside}/**"], answer: 200ms}}\n')
    assert json.loads(ward.finish(run(ward, f'echo x > {outside}/f')).out)['exit_code'] != 0
    assert not (outside / 'f').exists() and records(ward, 'answer')[0]['answer'] == 'nobody'


def test_medium_that_nobody_saw_is_a_no(ward, outside):
    says(ward, f'tiers: {{medium: ["write {outside}/**"], objection: 10ms, answer: 500ms}}\n')
    assert json.loads(ward.finish(run(ward, f'echo x > {outside}/f')).out)['exit_code'] != 0
    assert not (outside / 'f').exists() and records(ward, 'ask')[0]['tier'] == 'medium'


def test_medium_that_was_seen_runs_without_an_objection(ward, outside):
    says(ward, f'tiers: {{medium: ["write {outside}/**"], objection: 10ms}}\n')
    process = run(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    jsonschema.validate(question['ask'], ASK)
    assert question['ask']['tier'] == 'medium' and question['ask']['objection_seconds'] == 0
    assert process.poll() is None  # to list it for a program is not to see it
    desk = Terminal(ward)
    assert question['id'] in desk.does('ward pending')
    done = json.loads(ward.finish(process).out)
    assert done['exit_code'] == 0 and (outside / 'f').exists()
    answer, = records(ward, 'answer')
    assert answer['source'] == 'trust' and answer['by'].startswith('nobody objected; seen by ')


def test_an_objection_counts(ward, outside):
    says(ward, f'tiers: {{medium: ["write {outside}/**"], objection: 600s}}\n')
    process = run(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    assert ward('deny', question['id'], '--reason', 'not now').code == 0
    assert json.loads(ward.finish(process).out)['exit_code'] != 0 and not (outside / 'f').exists()


def test_critical_is_refused_with_the_command_for_a_person(ward, outside):
    says(ward, f'tiers: {{critical: ["write {outside}/**"]}}\n')
    result = json.loads(ward.finish(run(ward, f'echo x > {outside}/f; echo "$?"')).out)
    assert not (outside / 'f').exists() and pending(ward) == []
    said = [decision for decision in result['decisions'] if decision['stage'] == 'grant'][0]['approval']
    assert not said['granted'] and 'a person runs it: cd ' in said['reason'] and f'echo x > {outside}/f' in said['reason']
    assert 'a person runs it: cd ' in ward('run', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {outside}/f').err
    answer = records(ward, 'answer')[0]
    assert (answer['answer'], answer['tier'], answer['source']) == ('deny', 'critical', 'trust')
    assert result['attempts'][0]['denials'][0]['answer'] == 'denied'


def test_the_last_line_says_what_refused_it(ward, outside):
    says(ward, f'tiers: {{critical: ["write {outside}/**"]}}\n')
    said = ward('run', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {outside}/f').err
    assert f'refused: write {outside}/f (openat by sh); its tier is critical, and a person runs it' in said, said
    assert 'a person said no' not in said and 'rejected by user' not in said


def test_a_line_that_is_cut_is_not_seen(ward, outside):
    """Silence is no consent to what does not stand on the screen: a name or a command can be long."""
    says(ward, f'tiers: {{medium: ["write {outside}/**"], objection: 10ms}}\n')
    tmux = Tmux(ward, 60, 24)
    try:
        tmux.keys(f'{ward.binary} watch', 'Enter')
        tmux.shows('ward watch: 0 questions')
        process = run(ward, f'echo x > {outside}/f; true {"and more " * 20}')
        question, = waits(ward)
        tmux.shows('1 question ')
        assert not list((ward.state / 'ward' / 'asks').glob('*.seen')) and process.poll() is None
        tmux.keys('Enter')
        assert json.loads(ward.finish(process).out)['exit_code'] == 0 and (outside / 'f').exists()
    finally:
        tmux.end()


def test_what_is_asked_before_it_runs_needs_a_yes(ward):
    says(ward)
    process = run(ward, 'git push --force origin main')
    question, = waits(ward)
    assert question['ask']['tier'] == 'high'
    ward('deny', question['id'])
    ward.finish(process)


def test_medium_risk_within_what_it_holds_runs_at_once_with_a_notice(ward):
    says(ward, 'rules: [{command: "rm **", do: allow, why: the test}]\n')
    ward.file('lib/a', 'x')
    done = ward.finish(run(ward, 'rm -rf lib', 'ci-1'))
    assert json.loads(done.out)['exit_code'] == 0
    notice, = records(ward, 'notice')
    assert notice['tier'] == 'medium' and 'rm -rf lib' in notice['text']


def test_a_project_makes_it_only_stricter(ward, outside):
    says(ward, f'tiers: {{low: ["write {outside}/**"], objection: 60s, answer: 60s}}\n')
    ward.file('.ward.yaml', f'trust: {{agents: [other]}}\ntiers: {{low: ["unsandboxed"], critical: ["write {outside}/f"], objection: 1s, answer: 120s}}\n')
    shown = json.loads(ward('policy', 'show', '--json').out)
    assert shown['tiers']['agents'] == ['robot', 'ci-*'] and shown['tiers']['objection_ms'] == 60000 and shown['tiers']['answer_ms'] == 60000
    assert shown['tiers']['critical'] == {'says': [], 'raises': [f'write {outside}/f']}
    warnings = ward('policy', 'check').err + ward('policy', 'check').out
    assert 'trust.agents other' in warnings and 'tiers.objection 1s' in warnings and 'tiers.answer 120s' in warnings
    ward.finish(run(ward, f'echo x > {outside}/f; echo y > {outside}/g'))
    assert not (outside / 'f').exists() and (outside / 'g').exists()


def test_a_program_of_an_approver_says_that_a_person_has_seen_it(ward, outside):
    says(ward, f'tiers: {{medium: ["write {outside}/**"], objection: 10ms}}\n')
    with serving(ward) as daemon:
        agent, approver = daemon.agent(), daemon.approver()
        number = agent.send('run', command=f'echo x > {outside}/f', workspace=str(ward.work), agent='robot')
        question = wait_for(lambda: approver.call('pending')['asks'])[0]
        with pytest.raises(Refused):
            agent.call('seen', ask=question['id'])
        with pytest.raises(Refused):
            approver.call('seen', ask=question['id'], hash='0' * 64)
        assert not (outside / 'f').exists()
        assert approver.call('seen', ask=question['id'], hash=question['hash']) == {'ask': question['id']}
        assert agent.answer(number)['exit_code'] == 0 and (outside / 'f').exists()
