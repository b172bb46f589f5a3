# SPDX-License-Identifier: Apache-2.0
"""Answers given on the pages of the inbox: each of them, what it says before it is given, and when it does not count."""
import json
import threading

import jsonschema
import pytest

from support import SOURCE, wait_until
from web_mock import ask
from web_pages import answers, browser, furnish, mock, one_mock, page, settle  # noqa: F401

SCHEMA = json.loads((SOURCE / 'docs' / 'ask.schema.json').read_text())
ANSWER = {**SCHEMA['definitions']['answer'], 'definitions': SCHEMA['definitions']}


def test_a_yes_counts_only_when_it_can_have_been_meant(page, mock):
    """The clock of the page is the test's: it stands still between what is done."""
    mock.asks = [ask(1)]
    page.clock('install', {'time': 1000})
    page.goto(mock.url)
    page.wait('.row')
    page.clock('pauseAt', 10_000_000)
    page.click('.row')
    page.wait('.answers .yes-button')
    yes = 'document.querySelector(".answers .yes-button").getBoundingClientRect()'
    press = lambda: page.mouse('click', page.evaluate(f'{yes}.x') + 20, page.evaluate(f'{yes}.y') + 10)
    press()
    assert 'Too soon' in page.text('.bar-note')
    page.clock('runFor', 400)
    press()
    assert answers(mock) == []
    page.clock('runFor', 1200)
    page.evaluate('document.querySelector(".answers").style.paddingBottom = "40px"')
    page.clock('runFor', 100)
    press()
    assert answers(mock) == []
    page.clock('runFor', 1200)
    page.evaluate('dispatchEvent(new Event("focus"))')
    press()
    page.evaluate('document.querySelector(".answers .yes-button").click()')
    assert answers(mock) == []
    page.clock('runFor', 1200)
    page.evaluate('document.querySelector(".answers .yes-button").click()')  # no person
    assert answers(mock) == []
    press()
    page.wait('.ended')
    assert answers(mock) == [{'answer': 'approve', 'scope': 'once', 'nonce': 'n' * 26, 'hash': '0' * 64}]
    assert mock.posts[-1][2] == 'token'


YES = {'once': ([], {'scope': 'once', 'extent': 0}), 'session': (['[value=session]'], {'scope': 'session', 'extent': 0}),
       'time': (['[value=time]'], {'scope': 'time', 'seconds': 1800, 'extent': 0}), 'always': (['[value=always]'], {'scope': 'always', 'extent': 0}),
       'wider': (['[value="1"]', '[value=session]'], {'scope': 'session', 'extent': 1}), 'followed': (['[type=checkbox]'], {'scope': 'once', 'extent': 0, 'monitor': True})}


@pytest.mark.parametrize('way', YES)
def test_each_way_of_saying_yes(page, mock, way):
    furnish(mock)
    page.goto(mock.url + f'#/ask/{mock.asks[1]["id"]}')
    page.wait('.answers')
    page.press('a')
    page.wait('dialog')
    marks, expected = YES[way]
    for mark in marks:
        page.check(f'dialog input{mark}')
    assert ('connect b.example:443' in page.text('.result')) == (way == 'wider')
    assert ('# one' in page.text('.result')) == (way == 'always')
    settle(page)
    page.click('dialog .yes-button')
    page.wait('.ended')
    sent, = answers(mock)
    assert sent == {'answer': 'approve', 'nonce': 'n' * 26, 'hash': '0' * 64, **expected}
    jsonschema.validate({key: value for key, value in sent.items() if key not in ('nonce', 'hash')}, ANSWER)
    assert 'approved' in page.text('.ended') and page.count('.row') == 3


def test_a_yes_to_less(page, mock):
    furnish(mock)
    page.goto(mock.url + f'#/ask/{mock.asks[1]["id"]}')
    page.wait('.answers')
    page.press('a')
    page.click('dialog summary')
    page.fill('dialog details textarea', '')
    settle(page)
    page.click('dialog .yes-button')
    assert 'deny it instead' in page.text('dialog .bar-note')
    page.fill('dialog details textarea', 'connect c.example:443\n\n')
    assert page.text('.result .grants') == 'connect c.example:443'
    page.check('dialog input[value=always]')
    assert 'choose a shorter time' in page.text('.result')
    page.check('dialog input[value=once]')
    settle(page)
    page.click('dialog .yes-button')
    page.wait('.ended')
    assert answers(mock)[0]['grants'] == ['connect c.example:443']


NO = {'once': ('d', [], 'not there', {'answer': 'deny', 'scope': 'once', 'reason': 'not there'}), 'session': ('d', ['session'], '', {'answer': 'deny', 'scope': 'session'}),
      'never': ('d', ['always'], '', {'answer': 'deny', 'scope': 'always'}), 'stop': ('x', [], 'enough', {'answer': 'abort', 'reason': 'enough'}),
      'later': ('p', [], '', {'answer': 'defer', 'seconds': 86400})}


@pytest.mark.parametrize('way', NO)
def test_each_way_of_not_saying_yes(page, mock, way):
    furnish(mock)
    key, marks, reply, expected = NO[way]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    page.press(key)
    for mark in marks:
        page.check(f'dialog input[value={mark}]')
    assert way != 'never' or 'do: allow' in page.text('.result')
    page.fill('dialog textarea', reply)
    page.click('dialog .dialog-end button >> nth=0')
    page.wait('.ended')
    sent, = answers(mock)
    assert {key: value for key, value in sent.items() if key not in ('nonce', 'hash')} == expected
    jsonschema.validate(expected, ANSWER)


def test_without_the_sandbox_is_said_by_name(page, mock):
    furnish(mock)
    page.goto(mock.url + f'#/ask/{mock.asks[3]["id"]}')
    page.wait('.answers')
    assert page.count('.answers .yes-button') == 0  # critical: never in one step
    page.press('a')
    page.check('dialog input[type=checkbox]')
    assert 'without the sandbox' in page.text('.result') and page.text('dialog .yes-button') == 'Approve without the sandbox'
    settle(page)
    page.click('dialog .yes-button')
    page.wait('.ended')
    assert answers(mock)[0]['unsandboxed'] is True and answers(mock)[0]['scope'] == 'once'


def test_one_question_about_several_calls_can_be_answered_in_part(page, mock):
    mock.asks = [ask(1, kind='in_place', editable=True, wants=['sh wants to write a', 'sh wants to write b'], grants=['write a', 'write b'])]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    assert 'sh wants to write b' in page.text('.ask')
    page.press('a')
    page.uncheck('dialog fieldset input[type=checkbox] >> nth=0')
    assert page.text('.result .grants') == 'write b'
    settle(page)
    page.click('dialog .yes-button')
    page.wait('.ended')
    assert answers(mock)[0]['grants'] == ['write b']


def test_who_must_answer_and_why_is_said(page, mock):
    mock.asks = [ask(1, route={'names': ['pay'], 'grant_seconds': 600, 'steps': []})]
    mock.asks[0]['progress'] = {'state': 'open', 'step': 0, 'steps': 2, 'have': 1, 'need': 2, 'reason': True, 'may': ['bob'], 'text': 'two of the owners',
                                'said': [{'by': 'alice', 'step': 0, 'answer': 'approve', 'reason': 'it is fine'}]}
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    assert '1 of 2, step 1 of 2' in page.text('.ask') and 'alice said yes: it is fine' in page.text('.ask') and '1 of 2' in page.text('.row')
    assert page.count('.answers .yes-button') == 0
    assert wait_until(lambda: mock.streams)
    mock.asks[0] = {**mock.asks[0], 'progress': {**mock.asks[0]['progress'], 'text': 'only bob is left'}}
    page.press('a')
    mock.tell('asks', id=mock.asks[0]['id'], state='open')
    page.until('document.querySelector(".ask").textContent.includes("only bob is left")')
    page.check('dialog input[value=time]')
    assert page.texts('dialog option') == ['5 minutes']
    settle(page)
    page.click('dialog .yes-button')
    assert 'needs a reason' in page.text('dialog .bar-note')
    page.fill('dialog textarea', 'because')
    settle(page)
    page.click('dialog .yes-button')
    page.wait('.ended')
    assert answers(mock)[0] | {'nonce': 0, 'hash': 0} == {'answer': 'approve', 'scope': 'time', 'seconds': 300, 'reason': 'because', 'nonce': 0, 'hash': 0}


def test_who_may_not_approve_is_not_offered_it(page, mock):
    mock.asks = [{**ask(1), 'may_approve': False}]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    assert page.texts('.answers button') == ['Deny …', 'Put off …', 'Stop run …'] and 'would not count' in page.text('.bar-note')
    page.press('a')
    assert page.count('dialog') == 0
    page.press('d')
    page.wait('dialog')


REFUSALS = {'answered': ((409, {'error': {'message': 'answered'}, 'answered': {'by': 'alice', 'answer': 'deny', 'scope': 'once'}}), '.ended', 'denied by alice before'),
            'altered': ((409, {'error': {'message': 'it was altered'}}), '.bar-note', 'it was altered'),
            'several': ((200, {'answered': {'answer': 'approve'}, 'waiting': {'have': 1, 'need': 2}}), '.bar-note', '1 of 2'),
            'in steps': ((200, {'answered': {'answer': 'approve'}, 'progress': {'state': 'open', 'have': 2, 'need': 3}}), '.bar-note', '2 of 3'),
            'broken': ((500, {'error': {'message': 'no room', 'hint': 'make some'}}), '.bar-note', 'no room (make some)')}


@pytest.mark.parametrize('what', REFUSALS)
def test_an_answer_that_did_not_count_is_told(page, mock, what):
    mock.asks = [ask(1), ask(2)]
    mock.refusal, place, said = REFUSALS[what]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    settle(page)
    page.click('.answers .yes-button')
    page.until(f'document.querySelector({json.dumps(place)})?.textContent.includes({json.dumps(said)})')


def test_an_answer_that_got_lost_is_not_said_to_have_counted(page, mock):
    mock.asks = [ask(1)]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    page.drop('**/answer')
    settle(page)
    page.click('.answers .yes-button')
    page.until('document.querySelector(".bar-note").textContent.includes("did not say whether")')
    assert page.count('.answers .yes-button') == 1


def test_what_takes_a_requests_place_does_not_get_its_answer(page, mock):
    mock.asks = [ask(1), ask(2)]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    page.press('a')
    page.wait('dialog')
    assert wait_until(lambda: mock.streams)
    mock.answered = {'by': 'alice', 'answer': 'deny', 'scope': 'once'}
    gone = mock.asks.pop(0)['id']
    mock.tell('asks', id=gone, state='answered')
    page.wait('.ended')
    page.until('document.querySelector(".ended h2").textContent === "It was denied by alice."')  # which is asked for then
    assert page.count('dialog') == 0 and page.count('.answers') == 0
    page.press('a')
    page.press('Enter')
    assert answers(mock) == []


def test_a_dialog_answers_what_it_shows_and_nothing_that_came_since(page, mock):
    mock.asks = [ask(1, command='make tea')]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    page.press('a')
    page.wait('dialog')
    mock.asks = [ask(1, command='rm -rf /') | {'nonce': 'm' * 26}]
    mock.refusal = (409, {'error': {'message': 'it was altered'}})
    settle(page)
    page.click('dialog .yes-button')
    page.until('document.querySelector(".ask pre").textContent.includes("rm -rf /")')
    page.wait('dialog', 'detached')
    assert [each['nonce'] for each in answers(mock)] == ['n' * 26]
    mock.refusal = None
    settle(page)
    page.click('.answers .yes-button')
    page.wait('.ended')
    assert answers(mock)[-1]['nonce'] == 'm' * 26


def test_a_late_reply_takes_nobodys_place(page, mock):
    """What is told of one request stands on its own page, and not where another is looked at."""
    mock.asks = [ask(1), ask(2)]
    other = mock.asks[1]['id']
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    mock.held = threading.Event()
    settle(page)
    page.click('.answers .yes-button')
    assert wait_until(lambda: answers(mock))
    page.click('.answers .yes-button')  # once more, which is once too often
    page.evaluate(f'location.hash = "#/ask/{other}"')
    page.until('document.querySelector(".ask pre")?.textContent.includes("make target-2")')
    page.press('d')
    page.wait('dialog')
    mock.held.set()
    page.until('document.getElementById("said").textContent.includes("approved")')
    assert page.count('dialog') == 1 and 'make target-2' in page.text('.ask pre') and page.count('.ended') == 0
    assert len(answers(mock)) == 1
