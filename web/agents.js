// SPDX-License-Identifier: Apache-2.0
// Who asks: agents and their sessions. And who answers: the browsers that are logged in.
import {get, post, session} from '/api.js';
import {button, el, goTo, say} from '/dom.js';
import {age, moment, plural} from '/format.js';
import {plain, shown} from '/text.js';

function sessionRow(agent, each) {
	const words = new URLSearchParams({agent, session: each.session || ''});

	return el('tr', {}, el('td', {}, el('a', {href: `#/history?${words}`}, el('code', {}, shown(each.session || 'none')))), el('td', {class: 'number'}, String(each.runs ?? '')),
		  el('td', {class: 'nowrap'}, each.last ? `${age(each.last)} ago` : ''));
}

function agentPart(each) {
	const name = each.agent || '';

	return el('section', {class: 'card'}, el('h2', {}, name ? shown(name) : 'you, without an agent'),
		  el('p', {class: 'note'}, [plural(each.runs ?? 0, 'run'), each.last ? `, the last ${age(each.last)} ago` : '', ' · ',
			name ? el('a', {href: `#/history?agent=${encodeURIComponent(name)}`}, 'its history') : null]),
		  each.waiting ? el('p', {}, el('a', {href: '#/inbox'}, `${plural(each.waiting, 'request waits', 'requests wait')}`)) : null,
		  each.sessions?.length ? el('details', {open: each.sessions.length < 6}, el('summary', {}, plural(each.sessions.length, 'session')),
			el('div', {class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': `Sessions of ${plain(name || 'you')}`}, el('table', {}, el('caption', {class: 'unseen'}, `Sessions of ${plain(name || 'you')}`),
				el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Session'), el('th', {scope: 'col', class: 'number'}, 'Runs'), el('th', {scope: 'col'}, 'Last'))),
				el('tbody', {}, each.sessions.map((one) => sessionRow(name, one)))))) : null);
}

// What an agent in safe mode tried, and the way out: a person's review, which says something.
function incidentPart(each, act) {
	const note = el('input', {type: 'text', maxlength: '1000', 'aria-label': `What the review of the incident of ${plain(each.agent)} found`, placeholder: 'what the review found'});
	const tried = each.violations?.[0] ?? {};

	return el('section', {class: 'card incident'}, el('h2', {}, shown(each.agent), ' is in safe mode'),
		  el('p', {}, tried.operation ? 'It tried to ' : 'It tried: ', shown([tried.operation, tried.object].filter(Boolean).join(' ')), tried.rule ? [' (', shown(tried.rule), ')'] : null),
		  el('p', {class: 'note'}, `since ${moment(each.opened)} · `, el('code', {}, `ward incidents show ${plain(each.id)}`)),
		  el('p', {}, button('Resume its commands', () => act(each, {answer: 'resume'})), ' ', button('End its commands', () => act(each, {answer: 'kill'}), {class: 'no-button'})),
		  el('p', {}, note, ' ', button('Close the incident', () => act(each, {answer: 'close', note: note.value}))));
}

export async function incidentParts(done) {
	const {incidents} = await get('/api/incidents').catch(() => ({incidents: []}));
	const act = async (each, answer) => {
		try {
			await post(`/api/incidents/${encodeURIComponent(each.id)}/answer`, answer);
		} catch (error) {
			say(`It could not be done: ${error.message}`);
			return;
		}
		say(answer.answer === 'close' ? 'The incident is closed.' : 'Its commands were told.');
		await done();
	};

	return (incidents ?? []).map((each) => incidentPart(each, act));
}

class Page {
	constructor(title) {
		this.title = title;
		this.heading = el('h1', {tabindex: '-1'}, title);
		this.content = el('div', {}, el('p', {class: 'note'}, 'Loading …'));
		this.element = el('section', {class: 'page', 'aria-label': title}, this.heading, this.content);
	}

	async arrive() {
		goTo(this.heading);
		try {
			this.content.replaceChildren(...await this.load());
		} catch (error) {
			this.content.replaceChildren(el('p', {class: 'caution'}, `It could not be read: ${error.message}.`));
		}
	}

	leave() {}
}

export class Agents extends Page {
	constructor() {
		super('Agents');
	}

	async load() {
		const [{agents}, incidents] = await Promise.all([get('/api/agents'), incidentParts(() => this.arrive())]);

		return [...incidents,
			agents.length ? el('div', {class: 'cards'}, agents.map(agentPart)) : el('p', {class: 'empty'}, 'No agent has run anything yet.')].filter(Boolean);
	}
}

export class Sessions extends Page {
	constructor(context) {
		super('Access');
		this.context = context;
	}

	async load() {
		const {sessions} = await session();

		return [el('p', {class: 'note'}, 'Browsers that can answer in your name. What you do not know, end.'),
			el('ul', {class: 'logins', role: 'list'}, sessions.map((each) => el('li', {class: 'card'},
				el('div', {}, el('strong', {}, shown(each.name || 'a browser')), each.this ? el('span', {class: 'tag'}, 'this one') : null,
				   el('p', {class: 'note'}, shown(each.agent || ''), el('br'), `since ${moment(each.since)}, last seen ${age(each.seen)} ago`)),
				button(each.this ? 'Log out' : 'End', () => this.end(each), {class: 'no-button', 'aria-label': each.this ? 'Log out of this browser' : `End the session since ${moment(each.since)}`})))),
			el('p', {class: 'note'}, 'A new link for another browser: ', el('code', {}, 'ward web link'))];
	}

	async end(each) {
		try {
			await post(each.this ? '/api/logout' : `/api/session/${encodeURIComponent(each.id)}/revoke`);
		} catch (error) {
			say(`It could not be ended: ${error.message}`);
			this.content.prepend(el('p', {class: 'caution', role: 'alert'}, `It could not be ended: ${error.message}.`));
			return;
		}
		if (each.this) {
			this.context.loggedOut('You are logged out.');
			return;
		}
		say('The session was ended.');
		await this.arrive();
	}
}
