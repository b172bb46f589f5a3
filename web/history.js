// SPDX-License-Identifier: Apache-2.0
// What ran, newest first, a page at a time.
import {get} from '/api.js';
import {button, el, field, goTo, say} from '/dom.js';
import {moment, plural, took} from '/format.js';
import {beginning, plain} from '/text.js';

const PAGE = 50;
const TYPING_MS = 150;

const VERDICTS = {allow: 'ran', ask: 'asked', deny: 'refused'};

export function ending(row) {
	if (row.ended === false || (row.exit_code === null && !row.error))
		return 'running';
	if (row.timed_out)
		return 'timed out';
	if (row.limit)
		return `limit: ${plain(row.limit)}`;
	if (row.signal)
		return `signal ${plain(row.signal)}`;
	return row.exit_code === -1 || row.exit_code === undefined ? plain(row.error || 'did not start') : `exit ${row.exit_code}`;
}

function makeRow(row) {
	const id = row.run || row.id;
	const bad = row.ended !== false && row.exit_code !== 0;

	return el('tr', {class: row.verdict === 'deny' ? 'refused' : null},
		  el('td', {class: 'cell-time nowrap'}, el('time', {datetime: row.time}, moment(row.time))),
		  el('td', {class: 'cell-command'}, el('a', {href: `#/runs/${id}`, class: 'run-link', tabindex: '-1'}, el('code', {}, beginning(row.command, 180)))),
		  el('td', {class: 'cell-agent'}, row.agent ? beginning(row.agent, 30) : el('span', {class: 'note'}, 'you')),
		  el('td', {class: `nowrap verdict-${VERDICTS[row.verdict] ? row.verdict : 'other'}`}, VERDICTS[row.verdict] || plain(row.verdict)),
		  el('td', {class: bad ? 'nowrap ending-bad' : 'nowrap'}, ending(row)),
		  el('td', {class: 'number nowrap'}, took(row.duration_ms)),
		  el('td', {class: 'number'}, row.denials ? el('strong', {}, String(row.denials)) : '0'));
}

export class History {
	constructor(context) {
		this.context = context;
		this.title = 'History';
		this.before = []; // the cursors of the pages before this one
		this.cursor = null;
		this.serial = 0;
		this.wanted = {query: '', agent: '', session: '', verdict: ''};
		this.heading = el('h1', {tabindex: '-1'}, 'History');
		this.body = el('tbody');
		this.note = el('p', {class: 'note', role: 'status'});
		this.newer = button('‹ Newer', () => this.turn(-1));
		this.older = button('Older ›', () => this.turn(1));
		this.body.addEventListener('focusin', (event) => this.rove(event.target.closest('.run-link')));
		this.element = el('section', {class: 'page', 'aria-label': 'History'}, this.heading, this.filters(), this.note,
			el('div', {class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': 'Runs, newest first'}, el('table', {class: 'history'}, el('caption', {class: 'unseen'}, 'Runs, newest first'),
				el('thead', {}, el('tr', {}, ['When', 'Command', 'Agent', 'Verdict', 'Ended', 'Took', 'Refusals'].map((name, i) =>
					el('th', {scope: 'col', class: i > 4 ? 'number' : null}, name)))), this.body)),
			el('nav', {class: 'pager', 'aria-label': 'Pages of the history'}, this.newer, this.older));
	}

	filters() {
		const later = (change) => {
			Object.assign(this.wanted, change);
			clearTimeout(this.timer);
			this.timer = setTimeout(() => this.fresh(), TYPING_MS);
		};

		const input = (name, label, type, placeholder) => field(label, null, (ids) => this.inputs[name] = el('input', {...ids, type, placeholder,
			autocomplete: 'off', spellcheck: 'false', oninput: (event) => later({[name]: event.target.value})}));

		this.inputs = {};
		return el('search', {class: 'filters'}, input('query', 'Search', 'search', 'any words of it'), input('agent', 'Agent', 'text', 'any'),
			  input('session', 'Session', 'text', 'any'),
			  field('Verdict', null, (ids) => el('select', {...ids, onchange: (event) => later({verdict: event.target.value})},
				[['', 'any'], ...Object.entries(VERDICTS)].map(([value, name]) => el('option', {value}, name)))));
	}

	arrive(words = {}) {
		for (const name of ['query', 'agent', 'session'])
			this.inputs[name].value = this.wanted[name] = words[name] || '';
		goTo(this.heading);
		this.fresh();
	}

	fresh() {
		this.before = [];
		this.cursor = null;
		this.load();
	}

	turn(by) {
		if (by > 0 && this.next) {
			this.before.push(this.cursor);
			this.cursor = this.next;
		} else if (by < 0 && this.before.length) {
			this.cursor = this.before.pop();
		} else {
			return;
		}
		this.next = null; // until the page is there
		this.load().then(() => this.heading.scrollIntoView());
	}

	async load() {
		const serial = ++this.serial;
		const words = new URLSearchParams({limit: String(PAGE)});

		for (const [name, value] of Object.entries({...this.wanted, before: this.cursor}))
			if (value)
				words.set(name, value);
		try {
			const {rows, next} = await get(`/api/history?${words}`);

			if (serial === this.serial)
				this.draw(rows, next);
		} catch (error) {
			if (serial === this.serial)
				this.note.textContent = `The history could not be read: ${error.message}.`;
		}
	}

	draw(rows, next) {
		this.next = next;
		this.body.replaceChildren(...rows.map(makeRow));
		this.body.querySelector('.run-link')?.setAttribute('tabindex', '0');
		this.newer.disabled = !this.before.length;
		this.older.disabled = !next;
		this.note.textContent = rows.length ? `Page ${this.before.length + 1}, ${plural(rows.length, 'run')}` : 'Nothing was found.';
	}

	rove(link) {
		if (!link)
			return;
		this.body.querySelectorAll('.run-link[tabindex="0"]').forEach((other) => other.setAttribute('tabindex', '-1'));
		link.setAttribute('tabindex', '0');
	}

	step(by) {
		const links = [...this.body.querySelectorAll('.run-link')];
		const at = links.indexOf(document.activeElement);

		links[at < 0 ? Math.max(links.findIndex((link) => link.tabIndex === 0), 0) : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
	}

	key(name) {
		const inside = this.body.contains(document.activeElement);

		if (name === '/')
			this.inputs.query.focus();
		else if (name === 'j' || (name === 'ArrowDown' && inside))
			this.step(1);
		else if (name === 'k' || (name === 'ArrowUp' && inside))
			this.step(-1);
		else if (name === 'n' || name === 'b')
			this.turn(name === 'n' ? 1 : -1);
		else
			return false;
		return true;
	}

	// Something ran: said, not drawn, so that nothing moves under a reader.
	heard(kind, {state}) {
		if (kind === 'run' && state === 'ended' && !this.before.length)
			this.note.textContent = 'There are newer runs.';
	}

	leave() {
		this.serial++;
		clearTimeout(this.timer);
		say('');
	}
}
