// SPDX-License-Identifier: Apache-2.0
// A browser on a string: one JSON object a line says what to do, one answers. {"page": N, "do": NAME, "with": [...]}: a method of
// that page's, or one of those below. A page of its own context each: another person at another machine.
import {createInterface} from 'node:readline';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE_MS = 60000;
// --no-sandbox: tests run as root. Nothing but the tests' own pages is opened.
const browser = await chromium.launch({executablePath: process.argv[2], args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
	// No name is ever looked up; one is a name of this machine that nobody gave it.
	'--host-resolver-rules=MAP rebound.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']});
const pages = [];

// What went wrong on a page without anybody asking: scripts' errors, and what the policy of the page refused.
function listen(page) {
	page.troubles = [];
	page.asked = [];
	page.heard = [];
	page.on('pageerror', (error) => page.troubles.push(String(error)));
	page.on('console', (message) => {
		if (message.type() === 'error' && !/Failed to load resource|ERR_CONNECTION_REFUSED/.test(message.text()))
			page.troubles.push(message.text());
	});
	page.on('dialog', (dialog) => {
		page.troubles.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	page.on('request', (request) => page.asked.push(request.url()));
	page.on('response', (response) => page.heard.push([response.request().method(), response.url(), response.status()]));
}

const own = {
	async open(_, options) {
		const context = await browser.newContext({viewport: {width: 1280, height: 800}, locale: 'en-GB', timezoneId: 'UTC', ...options});
		const page = await context.newPage();

		page.setDefaultTimeout(PATIENCE_MS);
		listen(page);
		return pages.push(page) - 1;
	},
	// Another tab of the same person.
	async another(page) {
		const other = await page.context().newPage();

		other.setDefaultTimeout(PATIENCE_MS);
		listen(other);
		return pages.push(other) - 1;
	},
	close: (page) => page.context().close(),
	press: (page, key) => page.keyboard.press(key),
	type: (page, text) => page.keyboard.type(text),
	mouse: (page, what, ...words) => page.mouse[what](...words),
	frames_of: (page) => page.frames().map((frame) => frame.url()),
	url_of: (page) => page.url(),
	text: (page, selector) => page.locator(selector).first().innerText(),
	texts: (page, selector) => page.locator(selector).allInnerTexts(),
	count: (page, selector) => page.locator(selector).count(),
	wait: async (page, selector, state = 'visible') => { await page.locator(selector).first().waitFor({state}); },
	// Not waitForFunction: it looks again by eval, which the pages forbid.
	async until(page, script) {
		for (const end = Date.now() + PATIENCE_MS; !await page.evaluate(script); await page.waitForTimeout(20))
			if (Date.now() > end)
				throw new Error('it has not come about');
	},
	focused: (page) => page.evaluate(() => { const at = document.activeElement; return `${at.tagName} ${at.textContent.trim().slice(0, 60)}`; }),
	troubles: (page) => page.troubles.splice(0),
	asked: (page) => page.asked,
	heard: (page) => page.heard,
	cookies: (page) => page.context().cookies(),
	clock: (page, what, ...words) => page.clock[what](...words),
	// The faults that it finds, in short.
	async axe(page) {
		await page.evaluate(axe);
		const {violations} = await page.evaluate(() => window.axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}));

		return violations.flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`.slice(0, 400)));
	},
	route: (page, pattern, status, body) => page.route(pattern, (route) => route.fulfill({status, contentType: 'application/json', body})),
	drop: (page, pattern) => page.route(pattern, (route) => route.abort()),
};

async function act({page, do: name, with: words = []}) {
	const at = pages[page];

	if (own[name])
		return own[name](at, ...words);
	const value = await at[name](...words);

	return typeof value === 'object' && value !== null && value.constructor !== Object && !Array.isArray(value) ? null : value;
}

for await (const line of createInterface({input: process.stdin})) {
	let said;

	try {
		said = {value: await act(JSON.parse(line)) ?? null};
	} catch (error) {
		said = {error: String(error)};
	}
	process.stdout.write(`${JSON.stringify(said)}\n`);
}
await browser.close();
