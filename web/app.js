// SPDX-License-Identifier: Apache-2.0
// The pages of ward's inbox: who is there, which page is shown, whether the server is still heard.
import {Agents, Sessions} from '/agents.js';
import {Events, login, post, session} from '/api.js';
import {button, byId, el, goTo, say} from '/dom.js';
import {History} from '/history.js';
import {Inbox} from '/inbox.js';
import {listenKeys, showKeys} from '/keys.js';
import {Run} from '/run.js';
import {Stats} from '/stats.js';
import * as store from '/store.js';
import {plain} from '/text.js';

const PAGES = [['inbox', 'Inbox', Inbox], ['history', 'History', History], ['agents', 'Agents', Agents], ['stats', 'Numbers', Stats],
	       ['sessions', 'Access', Sessions]];
const VIEWS = new Map([...PAGES.map(([name, , View]) => [name, View]), ['ask', Inbox], ['runs', Run]]);

const main = byId('main');
let view = null;
let events = null;

const context = {
	go(path) {
		location.hash = path;
	},
	// With the number and the hash of the question that was on the screen: an answer is to that one, and no other.
	answer(ask, answer) {
		return post(`/api/asks/${encodeURIComponent(ask.id)}/answer`, {...answer, nonce: ask.nonce, hash: ask.hash});
	},
	loggedOut,
};

// "#/ask/ID", "#/history?query=x": the view, and what it is told.
function readPlace() {
	const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
	const [name, id] = path.split('/');

	return {name: VIEWS.has(name) ? name : 'inbox', words: {...Object.fromEntries(new URLSearchParams(query)), ...(id ? {id: decodeURIComponent(id)} : {})}};
}

function drawNav(name) {
	byId('nav').replaceChildren(el('ul', {role: 'list'}, PAGES.map(([page, label], i) => el('li', {}, el('a', {
		href: `#/${page}`, 'aria-keyshortcuts': String(i + 1), 'aria-current': page === name || (page === 'inbox' && name === 'ask') ||
		(page === 'history' && name === 'runs') ? 'page' : null}, label,
		page === 'inbox' ? el('span', {class: 'nav-count', id: 'nav-count'}) : null)))));
	drawCount();
}

function drawCount() {
	const count = store.list().length;
	const mark = byId('nav-count');

	if (mark)
		mark.textContent = count ? ` ${count}` : '';
	document.title = `${count ? `(${count}) ` : ''}${view?.title || 'ward'} – ward`;
}

function show() {
	const {name, words} = readPlace();
	const View = VIEWS.get(name);

	if (!(view instanceof View)) {
		view?.leave();
		view = new View(context);
		main.replaceChildren(view.element);
		scrollTo(0, 0);
	}
	drawNav(name);
	view.arrive(words);
}

// A link that was pasted into an open page is a link.
function moved() {
	if (location.hash.startsWith('#login='))
		location.reload();
	else if (view)
		show();
}

/* Coming in */

// The code is taken out of the address at once: it stays in no history, and nobody reads it over a shoulder.
function takeCode() {
	const code = new URLSearchParams(location.hash.slice(1)).get('login');

	if (code !== null)
		history.replaceState(null, '', '/#/inbox');
	return code;
}

function closed(title, ...text) {
	events?.close();
	events = null;
	view?.leave();
	view = null;
	byId('bar').hidden = true;
	byId('lost').hidden = true;
	document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
	main.replaceChildren(el('section', {class: 'door', 'aria-label': 'Log in'}, el('img', {src: '/icon.svg', alt: '', width: '48', height: '48'}),
		el('h1', {tabindex: '-1'}, title), text.map((each) => el('p', {}, each))));
	goTo(main.querySelector('h1'));
	document.title = 'ward';
}

function loggedOut(title) {
	addEventListener('hashchange', moved);
	closed(title, ['Run ', el('code', {}, 'ward web'), ' in a terminal: it prints a link that lets this browser in once.']);
}

async function comeIn() {
	const code = takeCode();
	let failed = null;

	if (code !== null)
		failed = await login(code).then(() => null, (error) => error);
	try {
		const {name} = await session();

		start(plain(name));
		if (failed)
			say('The link was used or has expired; you were logged in already.');
	} catch (error) {
		if (failed?.status === 429)
			closed('Too many attempts', 'Wait a minute, then open the link again.');
		else if (failed?.status === 403)
			loggedOut('This link does not work any more');
		else if (error.status === 401)
			loggedOut('You are not logged in');
		else
			closed('The server does not answer', error.message, button('Try again', () => location.reload()));
	}
}

/* While the page lives */

function tellLost(ms) {
	const seconds = Math.ceil(ms / 1000);

	byId('link').className = 'link is-lost';
	byId('link').textContent = 'not connected';
	if (byId('lost').hidden) {
		byId('lost').replaceChildren(el('strong', {}, 'Connection lost.'), ' What is shown may be old, and answers do not get through. ',
			el('span', {id: 'lost-when', 'aria-hidden': 'true'}), ' ', button('Try now', () => events?.connect()));
		byId('lost').hidden = false;
	}
	byId('lost-when').textContent = `Trying again in ${seconds} s.`;
}

// Whatever happened meanwhile: who we are, and what waits, is read anew.
async function tellUp(name) {
	try {
		await session();
		await store.reload();
	} catch (error) {
		if (error.status === 401)
			loggedOut('You were logged out');
		return;
	}
	byId('lost').hidden = true;
	byId('link').className = 'link';
	byId('link').textContent = name;
	byId('link').title = 'connected';
}

function start(name) {
	byId('bar').hidden = false;
	byId('link').textContent = name;
	store.listen(drawCount);
	addEventListener('hashchange', moved);
	document.addEventListener('visibilitychange', () => {
		if (!document.hidden && events)
			store.reload().catch(() => {});
	});
	store.reload().catch(() => {}).finally(() => {
		show();
		events = new Events(() => tellUp(name), lost, (kind, data) => {
			if (kind === 'asks')
				store.note(data);
			else if (kind === 'session')
				loggedOut('You were logged out');
			else if (kind === 'resync')
				store.reload().catch(() => {});
			view?.heard?.(kind, data);
		});
	});
}

// A server that ended our session ends the stream, too, and takes no new one.
function lost(ms) {
	tellLost(ms);
	session().catch((error) => error.status === 401 && loggedOut('You were logged out'));
}

byId('help').addEventListener('click', showKeys);
byId('skip').addEventListener('click', (event) => {
	event.preventDefault();
	main.focus();
});
listenKeys((name) => {
	if (!view)
		return false;
	if (name === '?')
		showKeys();
	else if (PAGES[Number(name) - 1])
		context.go(`/${PAGES[Number(name) - 1][0]}`);
	else
		return Boolean(view.key?.(name));
	return true;
});
comeIn();
