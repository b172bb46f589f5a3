# SPDX-License-Identifier: Apache-2.0
"""ward stats: figures about questions, from what runs have left on record."""
import json

import pytest

from test_pending import outside, waits  # noqa: F401


@pytest.fixture
def ward(plain):
    return plain


def stats(ward, *flags):
    done = ward('stats', '--json', *flags)
    assert done.code == 0, done
    return json.loads(done.out)


def answer(ward, script, verb, *flags):
    process = ward.popen('run', '--wait', '600s', *flags, '--', 'sh', '-c', script)
    question, = waits(ward)
    assert ward(verb, question['id']).code == 0
    ward.finish(process)


def test_nothing_on_record(ward):
    assert 'questions' in ward('stats').out and stats(ward)['asks'] == 0


def test_figures_and_rules_of_what_was_asked(ward, outside):  # noqa: F811
    for _ in range(2):
        assert ward.run('true').code == 0
    for name in ('f', 'g'):
        answer(ward, f'echo x > {outside}/{name}', 'approve', '--agent', 'robot')
        (outside / name).unlink()
    answer(ward, f'echo x > {outside}/f', 'approve', '--agent', 'robot')
    answer(ward, f'echo x > {outside}/h', 'deny')
    found = stats(ward)
    assert (found['commands'], found['asks'], found['approved'], found['denied']) == (6, 4, 3, 1)
    assert found['asks_per_100'] == pytest.approx(400 / 6) and found['approved_share'] == 0.75
    assert found['median_ms'] >= 0 and len(found['by_day']) == 30 and found['by_day'][-1]['asks'] == 4
    agents = {entry['agent']: entry for entry in found['by_agent']}
    assert agents['robot']['asks'] == 3 and agents[None]['asks'] == 1
    assert found['by_approver'][0]['by'] == ward.person.name and found['by_approver'][0]['answers'] == 4
    # The same command asked twice for the same file: the narrow rule spares both.
    rule = found['rules'][0]
    assert rule['do'] == 'allow' and rule['asks'] == 2 and f'{outside}/f' in rule['rule']
    assert 'exactly this command' in rule['admits']
    assert stats(ward, '--agent', 'robot')['asks'] == 3 and stats(ward, '--agent', 'other')['commands'] == 0
    shown = ward('stats').out
    assert '4 questions' in shown and 'rules that would have spared most' in shown and rule['rule'].split('\n')[0] in shown
    # What it says is a rule that holds.
    ward.policy('rules:\n' + rule['rule'] + '\n')
    assert ward('policy', 'check').code == 0
    assert ward.sh(f'echo x > {outside}/f').code == 0


def test_a_tier_is_no_question(ward, outside):  # noqa: F811
    ward.policy(f'trust: {{agents: [robot]}}\ntiers: {{low: ["write {outside}/**"]}}\n')
    assert ward('run', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {outside}/f').code == 0
    found = stats(ward)
    assert found['asks'] == 0 and found['commands'] == 1


def test_wrong_words(ward):
    for words in (['--days', '0'], ['--days', 'x'], ['--days', '100000'], ['more'], ['--what']):
        done = ward('stats', *words)
        assert done.code == 125 and done.out == ''
