// SPDX-License-Identifier: Apache-2.0
// The requests that wait, oldest first, and the one that is looked at beside them.
import {incidentParts} from '/agents.js';
import {openAsk} from '/ask.js';
import {byId, el, goTo, say} from '/dom.js';
import {age, left, plural} from '/format.js';
import {badge} from '/risk.js';
import * as store from '/store.js';
import {beginning, plain} from '/text.js';

const COMMAND_SHOWN = 160;
const TICK_MS = 10000;

function timing(ask) {
	const until = left(ask.until);

	return `${age(ask.since)} ago${until ? ` · ${until === 'over' ? 'time is over' : `${until} left`}` : ''}`;
}

function rowParts(ask) {
	return [el('span', {class: 'row-head'}, badge(ask),
		   el('span', {class: 'row-agent'}, ask.agent ? beginning(ask.agent, 40) : 'you'),
		   ask.progress?.need > 1 ? el('span', {class: 'tag'}, `${ask.progress.have} of ${ask.progress.need}`) : null,
		   el('time', {class: 'row-time', datetime: ask.since, 'data-time': ''}, timing(ask))),
		el('span', {class: 'row-command'}, beginning(ask.command || ask.summary, COMMAND_SHOWN)),
		el('span', {class: 'row-summary'}, beginning(ask.kind === 'before' ? ask.why || ask.summary : ask.summary, 140))];
}

function makeRow(ask) {
	return el('li', {}, el('a', {class: `row level-${store.level(ask)}`, href: `#/ask/${ask.id}`, tabindex: '-1', 'data-id': ask.id}, rowParts(ask)));
}

function spoken(added) {
	const first = store.find(added[0]);

	return added.length > 1 ? `${added.length} new requests`
		: `New request, ${store.level(first)} risk, from ${plain(first.agent || 'you')}: ${plain(first.summary).slice(0, 200)}`;
}

export class Inbox {
	constructor(context) {
		this.context = context;
		this.title = 'Inbox';
		this.rows = new Map();
		this.current = '';
		this.detail = null;
		this.heading = el('h1', {tabindex: '-1'}, 'Inbox');
		this.count = el('p', {class: 'note count'});
		this.listing = el('ul', {class: 'rows', role: 'list', 'aria-label': 'Requests that wait, oldest first'});
		this.incidents = el('div', {class: 'incidents'});
		this.side = el('section', {class: 'pane', 'aria-label': 'The request'});
		this.element = el('div', {class: 'inbox'},
				  el('section', {class: 'list-pane', 'aria-label': 'Waiting'},
				     el('div', {class: 'list-head'}, this.heading, this.count), this.incidents, this.listing),
				  this.side);
		this.listing.addEventListener('focusin', (event) => this.rove(event.target.closest('.row')));
		this.stop = store.listen((added, removed) => this.change(added, removed));
		this.timer = setInterval(() => this.tick(), TICK_MS);
		this.fill();
		this.showIncidents();
	}

	// What a run or a person has done may have opened one, or closed it. What is being written stays.
	async showIncidents() {
		const parts = await incidentParts(() => this.showIncidents());

		if (!this.incidents.contains(document.activeElement) || parts.length !== this.incidents.children.length)
			this.incidents.replaceChildren(...parts);
	}

	heard(kind) {
		if (kind === 'run' || kind === 'resync')
			this.showIncidents();
	}

	// Rows that are there stay what they are: the focus, and what a pointer is over, must not go.
	fill() {
		store.list().forEach((ask, i) => {
			const row = this.rows.get(ask.id) || makeRow(ask);
			const said = JSON.stringify(ask.progress ?? null);

			if (row.said !== undefined && row.said !== said) {
				row.firstChild.replaceChildren(...rowParts(ask));
				if (ask.id === this.current)
					this.detail?.tellProgress(ask.progress);
			}
			row.said = said;
			this.rows.set(ask.id, row);
			if (this.listing.children[i] !== row)
				this.listing.insertBefore(row, this.listing.children[i] || null);
		});
		this.settle();
	}

	// What depends on how many there are.
	settle() {
		const asks = store.list();
		const counts = store.LEVELS.toReversed().map((level) => [level, asks.filter((ask) => store.level(ask) === level).length]);

		this.count.textContent = !store.isLoaded() ? 'Loading …' : asks.length === 0 ? 'Nothing waits for an answer.'
			: `${plural(asks.length, 'waits', 'wait')}: ${counts.filter(([, n]) => n).map(([level, n]) => `${n} ${level}`).join(', ')}`;
		document.title = `${asks.length ? `(${asks.length}) ` : ''}${this.title} – ward`;
		if (!this.listing.querySelector('.row[tabindex="0"]'))
			this.listing.querySelector('.row')?.setAttribute('tabindex', '0');
		if (!this.detail)
			this.side.replaceChildren(el('p', {class: 'empty'}, asks.length ? 'Choose a request to see what it would do.'
				: 'All quiet. New requests appear here by themselves.'));
		this.element.classList.toggle('is-open', Boolean(this.detail));
	}

	// Rows keep their places: a new one comes where its time puts it, which is at the end.
	change(added, removed) {
		const focused = document.activeElement?.closest?.('.rows .row')?.dataset.id;
		const next = removed.includes(focused) ? this.neighbour(focused, removed) : null;

		for (const id of removed) {
			this.rows.get(id)?.remove();
			this.rows.delete(id);
		}
		this.fill();
		next?.focus();
		if (added.length)
			say(spoken(added));
		if (removed.includes(this.current))
			this.detail?.gone();
	}

	neighbour(id, removed) {
		const ids = [...this.rows.keys()];
		const at = ids.indexOf(id);
		const near = [...ids.slice(at + 1), ...ids.slice(0, at).toReversed()].find((other) => !removed.includes(other));

		return near ? this.rows.get(near).firstChild : this.heading;
	}

	tick() {
		for (const [id, row] of this.rows) {
			const ask = store.find(id);

			if (ask)
				row.querySelector('[data-time]').textContent = timing(ask);
		}
	}

	rove(row) {
		if (!row)
			return;
		this.listing.querySelectorAll('.row[tabindex="0"]').forEach((other) => other.setAttribute('tabindex', '-1'));
		row.setAttribute('tabindex', '0');
	}

	// Which one is open: '' for none.
	show(id) {
		if (id === this.current && (this.detail || !id))
			return;
		this.detail?.close();
		this.current = id;
		this.detail = id ? openAsk(id, this.side, this.context) : null;
		for (const [other, row] of this.rows) {
			if (other === id)
				row.firstChild.setAttribute('aria-current', 'true');
			else
				row.firstChild.removeAttribute('aria-current');
		}
		this.rove(this.rows.get(id)?.firstChild);
		this.settle();
	}

	arrive({id = ''}) {
		this.show(id);
		if (!id)
			goTo(this.rows.get(this.last)?.firstChild || this.heading);
		this.last = id || this.last;
	}

	step(by) {
		const rows = [...this.listing.querySelectorAll('.row')];
		const at = rows.findIndex((row) => row.getAttribute('tabindex') === '0');
		const inside = this.listing.contains(document.activeElement);

		rows[inside ? Math.min(Math.max(at + by, 0), rows.length - 1) : Math.max(at, 0)]?.focus();
	}

	key(name) {
		const inside = this.listing.contains(document.activeElement); // elsewhere arrows scroll

		if (name === 'j' || (name === 'ArrowDown' && inside))
			this.step(1);
		else if (name === 'k' || (name === 'ArrowUp' && inside))
			this.step(-1);
		else if (name === 'Escape' && this.current)
			this.context.go('/inbox');
		else if (name === '/')
			this.context.go('/history');
		else
			return this.detail ? this.detail.key(name) : false;
		return true;
	}

	leave() {
		this.stop();
		clearInterval(this.timer);
		this.detail?.close();
		byId('said').textContent = '';
	}
}
