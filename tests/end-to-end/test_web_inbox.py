# SPDX-License-Identifier: Apache-2.0
"""The inbox as a whole: ward web, runs that ask, and people at browsers."""
import json

import pytest

from support import SOURCE, wait_until
from web import Web, fill_log
from web_pages import browser, mock, one_mock, settle  # noqa: F401


@pytest.fixture
def outside(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    return path


@pytest.fixture
def web(plain):
    web = Web(plain)
    yield web
    web.end()


def enter(browser, web, *words):
    page = browser.open()
    page.goto(web.ward('web', 'link', *words).out.strip())
    page.wait('.list-head')
    return page


def start(ward, outside, name='f'):
    return ward.popen('run', '--agent', 'bot', '--wait', '600s', '--', 'sh', '-c', f'echo x > {outside}/{name}; echo done')


def look_at(page, number=0):
    page.wait('.row')
    page.click(f'.row >> nth={number}')
    page.wait('.answers')


def test_a_yes_in_the_browser_lets_the_call_go_on(browser, web, plain, outside):
    page = enter(browser, web, '--as', 'alice')
    assert 'login' not in page.url_of() and all('login=' not in url for url in page.asked())
    process = start(plain, outside)
    look_at(page)
    assert f'write {outside}/f' in page.text('.yes')
    settle(page)
    page.click('.answers .yes-button')
    page.wait('.ended')
    assert plain.finish(process).code == 0 and (outside / 'f').exists()
    answer = [record for record in plain.records() if record['kind'] == 'answer'][-1]
    assert answer['by'] == 'web:alice'
    page.click('.ways >> text=The run')
    page.wait('.facts')
    page.until('document.querySelector(".facts").textContent.includes("exit 0")')
    page.goto(f'http://{web.host}/#/history')
    page.wait('.history tbody tr')
    assert 'echo done' in page.text('.history tbody')
    for name, there in {'agents': '.cards', 'stats': '.plot', 'sessions': '.logins'}.items():
        page.goto(f'http://{web.host}/#/{name}')
        page.wait(there)
    assert page.troubles() == []
    page.close()


def test_of_two_approvers_at_once_the_first_counts_and_the_other_is_told_who(browser, web, plain, outside):
    process = start(plain, outside)
    one, other = enter(browser, web, '--as', 'alice'), enter(browser, web, '--as', 'bob')
    look_at(one)
    other.route('**/api/events', 503, '{}')  # he does not hear of it in time
    other.reload()
    look_at(other)
    settle(one)
    settle(other)
    one.press('d')
    one.click('dialog .dialog-end button >> nth=0')
    one.wait('.ended')
    other.click('.answers .yes-button')
    other.wait('.ended')
    assert 'did not count' in other.text('.ended') and 'alice' in other.text('.ended')
    assert 'a person said no' in plain.finish(process).err and not (outside / 'f').exists()
    one.close()
    other.close()


def test_an_answer_from_the_terminal_is_seen_at_once(browser, web, plain, outside):
    process = start(plain, outside)
    page = enter(browser, web)
    look_at(page)
    entry, = [json.loads(line) for line in plain('pending', '--json').out.splitlines()]
    assert plain('deny', entry['id']).code == 0
    page.wait('.ended')
    plain.finish(process)
    page.close()


def test_a_server_that_dies_is_noticed_and_found_again(browser, web, plain, outside):
    page = enter(browser, web)
    first = start(plain, outside, 'a')
    page.wait('.row')
    web.process.kill()
    page.wait('#lost:not([hidden])')
    assert 'Connection lost' in page.text('#lost')
    web.process.wait()
    second = start(plain, outside, 'b')
    web.end()
    web.start()
    page.wait('#lost', 'hidden')
    page.until('document.querySelectorAll(".row").length === 2')
    for _ in range(2):
        look_at(page)
        page.press('d')
        page.click('dialog .dialog-end button >> nth=0')
        page.wait('.ended')
        page.goto(f'http://{web.host}/#/inbox')
    assert plain.finish(first).out == plain.finish(second).out == 'done\n' and list(outside.iterdir()) == []
    page.close()


def test_a_stolen_link_lets_nobody_in_and_an_expired_one_neither(browser, web, plain):
    page, thief = browser.open(), browser.open()
    page.goto(web.link)
    page.wait('.list-head')
    thief.goto(web.link)
    thief.wait('.door')
    assert 'does not work any more' in thief.text('.door') and 'ward web' in thief.text('.door')
    page.reload()
    page.wait('.list-head')
    cookie, = page.cookies()
    assert cookie['httpOnly'] and cookie['sameSite'] == 'Strict'
    link = plain('web', 'link').out.strip()
    for file in (plain.state / 'ward' / 'web' / 'links').iterdir():
        file.write_text(json.dumps({key: 1 if isinstance(value, int) else value for key, value in json.loads(file.read_text()).items()}))
    thief.goto('about:blank')
    thief.goto(link)
    thief.wait('.door')
    assert 'does not work any more' in thief.text('.door')
    page.close()
    thief.close()


def test_a_session_that_is_ended_elsewhere_is_over_on_its_page(browser, web, plain):
    page, other = enter(browser, web), enter(browser, web, '--as', 'bob')
    page.goto(f'http://{web.host}/#/sessions')
    page.wait('.logins')
    page.click('.logins .card:not(:has(.tag)) button')
    other.wait('.door')
    assert 'logged out' in other.text('.door')
    page.until('document.querySelectorAll(".logins .card").length === 1')
    page.click('.logins button')
    page.wait('.door')
    page.reload()
    page.wait('.door')
    page.close()
    other.close()


def test_another_site_can_neither_answer_nor_read_nor_frame(browser, web, plain, outside, mock):
    """The mock is another origin on the same machine: to the browser it is even the same site, so the cookie goes along."""
    process = start(plain, outside)
    page = enter(browser, web)
    look_at(page)
    ask_id = page.evaluate('document.querySelector(".row").dataset.id')
    known = page.evaluate(f'fetch("/api/asks/{ask_id}").then((each) => each.json())')
    evil = page.another()
    evil.goto(mock.url + 'evil')
    body = json.dumps({'answer': 'approve', 'scope': 'once', 'nonce': known['nonce'], 'hash': known['hash']})
    url = f'http://{web.host}/api/asks/{ask_id}/answer'
    for mode, kind in (('no-cors', 'text/plain'), ('no-cors', 'application/json'), ('cors', 'text/plain'), ('cors', 'application/json')):
        assert evil.evaluate(f'''fetch("{url}", {{method: "POST", mode: "{mode}", credentials: "include", headers: {{"Content-Type": "{kind}"}},
            body: {json.dumps(body)}}}).then((each) => each.type, () => "refused")''') == 'refused'
    assert evil.evaluate(f'fetch("http://{web.host}/api/asks", {{credentials: "include"}}).then(() => "read", () => "refused")') == 'refused'
    assert page.evaluate(f'fetch("/api/asks/{ask_id}").then((each) => each.status)') == 200 and not (outside / 'f').exists()
    evil.evaluate(f'''new Promise((done) => document.body.append(Object.assign(document.createElement("iframe"), {{src: "http://{web.host}/", onload: () => done(1)}})))''')
    assert [url for url in evil.frames_of() if web.host in url] == [] and len(evil.frames_of()) == 2
    # A form needs nobody's leave to be sent: there it is the server alone that refuses.
    evil.evaluate(f'''(() => {{
        const form = Object.assign(document.createElement("form"), {{method: "POST", enctype: "text/plain", action: "{url}"}});
        form.append(Object.assign(document.createElement("input"), {{name: {json.dumps(body[:-1] + ', "x": "')}, value: \'"}}\'}}));
        document.body.append(form);
        form.submit();
    }})()''')
    assert wait_until(lambda: [each[2] for each in evil.heard() if each[:2] == ['POST', url]] == [403])
    assert page.evaluate(f'fetch("/api/asks/{ask_id}").then((each) => each.status)') == 200 and not (outside / 'f').exists()
    rebound = browser.open()
    rebound.goto(f'http://rebound.test:{web.address[1]}/')
    assert rebound.count('#main') == 0
    assert rebound.evaluate('fetch("/api/session").then((each) => each.status)') == 421
    rebound.close()
    page.press('d')
    page.click('dialog .dialog-end button >> nth=0')
    page.wait('.ended')
    plain.finish(process)
    page.close()


# Milliseconds from a step to the frame in which all it asked for is drawn, as the page itself sees it.
TIMED = '''(async (act, ready) => {
    const begin = performance.now();
    act();
    while (!ready())
        await new Promise((done) => setTimeout(done));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - begin;
})'''


@pytest.mark.soak
def test_a_hundred_thousand_runs_can_be_looked_through(browser, plain, record_property):
    fill_log(plain.state / 'ward', 100_000, lambda number: f'make target-{number}')
    for path in (plain.state / 'ward', *(plain.state / 'ward').iterdir()):
        plain.person.own(path)
    (plain.state / 'ward').chmod(0o700)
    assert plain('log', '-n', '1').code == 0  # the store is made from the log
    web = Web(plain)
    try:
        page = enter(browser, web)
        page.goto(f'http://{web.host}/#/history')
        page.wait('.history tbody tr')
        first = 'document.querySelector(".history code")?.textContent'
        # Again from elsewhere: opening it, the next page, a rare word, one that is nowhere.
        page.goto(f'http://{web.host}/#/sessions')
        page.wait('.logins')
        opened = page.evaluate(f'{TIMED}(() => location.hash = "/history", () => {first} === "make target-99999")')
        turned = page.evaluate(f'{TIMED}(() => document.querySelectorAll(".pager button")[1].click(), () => {first} === "make target-99949")')
        search = '(() => { const at = document.querySelector("[type=search]"); at.value = "%s"; at.dispatchEvent(new Event("input")); })'
        found = page.evaluate(f'{TIMED}({search % "target-777"}, () => {first} === "make target-77799")')
        missed = page.evaluate(f'{TIMED}({search % "nowhere"}, () => document.querySelectorAll(".history tbody tr").length === 0)')
        # The search waits until somebody has typed: 150 ms.
        figures = {'opened': opened, 'turned': turned, 'found': found - 150, 'missed': missed - 150}
        for name, value in figures.items():
            record_property(name, round(value))
        print({name: f'{value:.0f} ms' for name, value in figures.items()})
        assert page.troubles() == []
        page.close()
    finally:
        web.end()


def test_every_page_is_built_in(web):
    names = (SOURCE / 'web' / 'pages.list').read_text().split()
    assert sorted(names) == sorted(path.name for path in (SOURCE / 'web').iterdir() if path.name != 'pages.list')
    reader = web.browser(enter=False)
    for name in names:
        reply = reader.get('/' if name == 'index.html' else f'/{name}')
        assert reply.status == 200 and reply.data == (SOURCE / 'web' / name).read_bytes(), name
        assert "default-src 'none'" in reply.headers['Content-Security-Policy'] and reply.headers['X-Content-Type-Options'] == 'nosniff'
