# SPDX-License-Identifier: Apache-2.0
"""The pages of the inbox in a browser: what they show, to whom, and by which keys."""
import pytest

from support import wait_until
from web_mock import ask
from web_pages import RULE, answers, browser, furnish, mock, one_mock, page, settle, visit  # noqa: F401

EVIL = '<img src=x onerror="hacked=1"><script>hacked=1</script>\u202e\u2066\u200b\x1b[31m\x07\u0430dmin \ufeff"\'&amp;javascript:hacked=1'


@pytest.mark.parametrize('look', ['light', 'dark'])
def test_nothing_stands_in_the_way_of_those_who_cannot_see_or_point(browser, mock, look):
    furnish(mock)
    page = browser.open(colorScheme=look)
    faults = {}
    visit(page, mock, lambda name: faults.update({name: page.axe()}))
    assert len(faults) == 15 and not any(faults.values()), {name: each for name, each in faults.items() if each}
    page.route('**/api/session', 401, '{}')
    page.reload()
    page.wait('.door')
    assert page.axe() == [] and page.troubles() == []
    page.close()


def test_all_of_it_fits_a_phone(browser, mock):
    furnish(mock)
    page = browser.open(viewport={'width': 360, 'height': 640}, hasTouch=True, isMobile=True)
    faults = {}

    def see(name):
        if page.evaluate('document.documentElement.scrollWidth') > 360:
            faults[name] = page.evaluate('[...document.querySelectorAll("main *")].filter((each) => each.getBoundingClientRect().right > 360).map((each) => each.className)')
        if name.startswith(('ask 0', 'dialog a', 'history')):
            faults.update({name: found} if (found := page.axe()) else {})
        if name.startswith('history') and (cut := page.evaluate('[...document.querySelectorAll(".history .cell-command")].filter((each) => '
                                                                'each.offsetWidth < each.parentElement.offsetWidth).length')):
            faults[name] = f'{cut} commands have a part of the width'
    visit(page, mock, see)
    assert faults == {} and page.troubles() == []
    page.close()


def made_evil(value):
    """The same with all text as bad as it can be; what the page must know to work stays."""
    if isinstance(value, dict):
        return {key: each if key in ('id', 'run', 'since', 'until', 'time', 'date', 'kind', 'nonce', 'hash', 'choices', 'last', 'seen', 'ended_at', 'csrf') or
                (key == 'level' and each in ('low', 'medium', 'high', 'critical') and 'reasons' in value) else made_evil(each) for key, each in value.items()}
    return [made_evil(each) for each in value] if isinstance(value, list) else EVIL if isinstance(value, str) else value


def test_hostile_text_is_only_ever_text(browser, mock):
    furnish(mock)
    mock.asks = [made_evil(entry) for entry in mock.asks]
    mock.rows, mock.agents, mock.incidents, mock.sessions, mock.run, mock.stats = map(made_evil, (
        mock.rows, mock.agents, mock.incidents, mock.sessions, mock.run, mock.stats))
    mock.output = [('output', {'stream': EVIL, 'data': EVIL}), ('unknown', {'why': EVIL})]
    page, seen = browser.open(), {}

    def see(name):
        seen[name] = page.evaluate(r'''({
            hacked: typeof hacked, made: document.querySelectorAll('script:not([src="/app.js"]), main img, dialog img, iframe').length,
            raw: /[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/.test(document.documentElement.outerHTML + document.title),
            shown: /\\u\{202e\}/.test(document.body.innerText), links: [...document.links].filter((each) => !each.getAttribute('href').startsWith('#')).length})''')
    visit(page, mock, see)
    assert len(seen) == 15
    for name, each in seen.items():
        assert (each['hacked'], each['made'], each['raw'], each['links']) == ('undefined', 0, False, 0), (name, each)
        assert each['shown'] or name == 'dialog ?', name
    assert page.troubles() == [] and all(url.startswith(mock.url) for url in page.asked())
    page.close()


def test_what_is_cut_says_so_and_can_be_seen_whole(page, mock):
    mock.asks = [ask(1, command='x' * 6100 + 'THE END')]
    page.goto(mock.url)
    page.wait('.row')
    assert '5,947 more characters' in page.text('.row')
    page.click('.row')
    page.wait('.cut')
    assert 'THE END' not in page.text('.ask')
    page.click('.show-all')
    assert 'THE END' in page.text('.ask') and page.count('.cut') == 0


def test_an_agents_text_is_drawn_as_on_the_terminal(page, mock):
    mock.asks = [ask(1, command='echo \u202eevil p\u0430ypal')]
    page.goto(mock.url + f'#/ask/{mock.asks[0]["id"]}')
    page.wait('.answers')
    assert page.text('pre.block').strip() == 'echo \\u{202e}evil p\\u{0430}ypal' and 'looks like a' in page.text('.caution')


def test_the_keyboard_is_enough(page, mock):
    furnish(mock)
    page.goto(mock.url)
    page.wait('.row')
    page.press('Tab')
    assert page.focused() == 'A Skip to the content'
    for _ in range(3):
        page.press('j')
    page.press('k')
    page.press('Enter')
    page.wait('.answers')
    assert 'pip wants' in page.focused() and 'pip wants' in page.text('.ask')
    page.press('a')
    page.wait('dialog')
    assert page.evaluate('document.activeElement.value') == '0'
    page.press('Escape')
    page.wait('dialog', 'detached')
    assert 'pip wants' in page.focused()
    page.press('a')
    for _ in range(30):
        if page.evaluate('document.activeElement.className.includes("yes-button")'):
            break
        page.press('Tab')
    settle(page)
    page.press('Enter')
    page.wait('.ended')
    assert answers(mock)[0]['answer'] == 'approve'
    assert 'approved' in page.focused()
    page.press('Tab')
    page.press('Enter')
    page.wait('.answers')
    page.press('d')
    page.type('do it otherwise')
    for _ in range(2):
        page.press('Tab')
    page.press('Tab')
    page.press('Enter')
    page.until('document.querySelector(".ended")?.textContent.includes("denied") || document.activeElement.textContent')
    page.press('Escape')
    page.press('/')
    page.wait('.history tbody tr')
    page.press('/')
    page.type('make 11')
    page.until('document.querySelectorAll(".history tbody tr").length === 11')
    page.evaluate('document.activeElement.blur()')
    page.press('j')
    page.press('Enter')
    page.wait('.facts')
    page.press('?')
    page.wait('dialog')
    page.press('Escape')
    page.press('4')
    page.wait('.tiles')


def test_keys_can_be_turned_off_and_do_nothing_while_one_types(page, mock):
    furnish(mock)
    page.goto(mock.url + '#/history')
    page.wait('.history tbody tr')
    page.click('input[type=search]')
    page.type('ad?1')
    assert page.evaluate('location.hash') == '#/history' and page.count('dialog') == 0
    page.click('#help')
    page.uncheck('dialog input')
    page.press('Escape')
    page.press('1')
    assert page.evaluate('location.hash') == '#/history'
    page.evaluate('localStorage.clear()')


def test_new_requests_come_by_themselves_and_are_said(page, mock):
    mock.asks = [ask(1)]
    page.goto(mock.url)
    page.wait('.row')
    assert wait_until(lambda: mock.streams)
    page.press('j')
    assert 'make target-1' in page.focused()
    mock.asks.append(ask(2, 'high', summary='something new'))
    mock.tell('asks', id=mock.asks[1]['id'], state='open')
    page.until('document.querySelectorAll(".row").length === 2')
    assert page.evaluate('document.getElementById("said").textContent') == 'New request, high risk, from bot: something new'
    assert 'make target-1' in page.focused()  # nothing has moved
    assert page.title().startswith('(2)') and page.texts('.row .risk-word')[1].startswith('high')
    # Only what somebody looks at is fetched alone: the server takes it for seen then.
    assert not any('/api/asks/' in url for url in page.asked())
    gone = mock.asks.pop(0)['id']
    mock.tell('asks', id=gone, state='answered')
    page.until('document.querySelectorAll(".row").length === 1')
    assert 'make target-2' in page.focused()
    mock.asks[0]['progress'] = {'have': 1, 'need': 2}
    mock.tell('resync')
    page.until('document.querySelector(".row").textContent.includes("1 of 2")')
    assert 'make target-2' in page.focused()


def test_five_hundred_wait(page, mock):
    mock.asks = [ask(i, ['low', 'medium', 'high', 'critical'][i % 4]) for i in range(500)]
    page.goto(mock.url)
    page.until('document.querySelectorAll(".row").length === 500')
    assert page.text('.count') == '500 wait: 125 critical, 125 high, 125 medium, 125 low'
    page.press('j')
    page.press('j')
    page.press('Enter')
    page.wait('.answers')
    assert 'make target-1' in page.text('.ask')
    assert wait_until(lambda: mock.streams)
    for entry in mock.asks[100:]:
        mock.tell('asks', id=entry['id'], state='withdrawn')
    page.until('document.querySelectorAll(".row").length === 100')
    assert page.evaluate('document.querySelector(".row[aria-current]").dataset.id') == mock.asks[1]['id']


def test_history_is_paged_and_searched(page, mock):
    furnish(mock)
    page.goto(mock.url + '#/history')
    page.until('document.querySelectorAll(".history tbody tr").length === 50')
    page.press('n')
    page.until('document.querySelector(".page .note").textContent.startsWith("Page 2")')
    page.press('n')
    page.until('document.querySelectorAll(".history tbody tr").length === 20')
    assert page.evaluate('document.querySelectorAll(".pager button")[1].disabled')
    page.press('b')
    page.until('document.querySelectorAll(".history tbody tr").length === 50')
    page.fill('input[type=search]', 'make 119')
    page.until('document.querySelectorAll(".history tbody tr").length === 1')
    page.goto(mock.url + '#/history?agent=nobody')
    page.until('document.querySelector(".page .note").textContent === "Nothing was found."')


def test_what_a_run_writes_is_shown_as_it_comes(page, mock):
    furnish(mock)
    page.goto(mock.url + f'#/runs/{"0" * 26}')
    page.until('document.querySelector(".output")?.textContent.includes("oh")')
    assert page.evaluate('document.querySelector(".output").textContent') == 'hello\n\tthere \\x1b[31m\noh\n'
    page.until('document.querySelector(".page").textContent.includes("It has ended, exit 0.")')
    mock.output = [('unknown', {'why': 'nobody keeps it'})]
    page.reload()
    page.until('document.querySelector(".page")?.textContent.includes("not known here: nobody keeps it")')


def test_the_numbers_are_drawn_and_told(page, mock):
    furnish(mock)
    page.goto(mock.url + '#/stats')
    page.wait('.plot')
    assert page.count('.plot svg') == 3 and page.count('.mark-approved') == 20 and page.count('.dot') == 40
    assert '20' in page.text('.tile') and 'within two seconds' in page.text('.caution') and RULE.strip() in page.evaluate('document.querySelector(".rules").textContent')
    assert 'too fast to have read' in page.text('.page') and 'It also admits: all of pip download' in page.text('.rules')
    page.click('.plot summary')
    assert page.texts('.plot tbody tr')[0].split() == ['10-10', '5', '2', '1'] and page.texts('.plot tbody tr')[20].split() == ['10-30', '0', '0', '0']
