// SPDX-License-Identifier: Apache-2.0
// How much is asked, how it is answered, and what would have saved asking.
import {get} from '/api.js';
import {el, field, goTo} from '/dom.js';
import {percent, plural, took} from '/format.js';
import {plot} from '/plot.js';
import {beginning, block, plain, shown} from '/text.js';

const number = (value) => value === null || value === undefined ? '–' : (Math.round(value * 10) / 10).toLocaleString('en');
const time = (ms) => took(ms) || '–';

function tile(label, value, note) {
	return el('div', {class: 'tile'}, el('dt', {}, label), el('dd', {}, el('span', {class: 'tile-value'}, value), note ? el('span', {class: 'note'}, note) : null));
}

export class Stats {
	constructor() {
		this.title = 'Numbers';
		this.days = 30;
		this.serial = 0;
		this.heading = el('h1', {tabindex: '-1'}, 'Numbers');
		this.content = el('div', {class: 'numbers'}, el('p', {class: 'note'}, 'Loading …'));
		this.element = el('section', {class: 'page', 'aria-label': 'Numbers'}, this.heading,
			el('div', {class: 'filters'}, field('Time', null, (ids) => el('select', {...ids, onchange: (event) => {
				this.days = Number(event.target.value);
				this.load();
			}}, [[7, '7 days'], [30, '30 days'], [90, '90 days'], [365, 'a year']].map(([value, label]) => el('option', {value: String(value), selected: value === 30}, label))))),
			this.content);
	}

	arrive() {
		goTo(this.heading);
		this.load();
	}

	async load() {
		const serial = ++this.serial;

		try {
			const stats = await get(`/api/stats?days=${this.days}`);

			if (serial === this.serial)
				this.content.replaceChildren(...draw(stats).flat().filter(Boolean));
		} catch (error) {
			if (serial === this.serial)
				this.content.replaceChildren(el('p', {class: 'caution'}, `They could not be read: ${error.message}.`));
		}
	}

	leave() {
		this.serial++;
	}
}

function table(title, heads, rows) {
	return rows.length ? el('section', {class: 'part'}, el('h2', {}, title), el('div', {class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': title},
		el('table', {}, el('caption', {class: 'unseen'}, title), el('thead', {}, el('tr', {}, heads.map((name, i) => el('th', {scope: 'col', class: i ? 'number' : null}, name)))),
		   el('tbody', {}, rows.map(([name, ...cells]) => el('tr', {}, el('th', {scope: 'row'}, name), cells.map((cell) => el('td', {class: 'number'}, cell)))))))) : null;
}

function plots(days) {
	const labels = days.map((each) => plain(each.day).slice(5));
	const count = (name, label = name) => ({name, label, values: days.map((each) => each[name])});

	return el('div', {class: 'plots'}, plot('Asks a day', labels, [count('approved'), count('denied'), count('unanswered')]),
		  plot('Asks per 100 commands', labels, [{name: 'per', label: 'asks per 100 commands', values: days.map((each) =>
			each.commands ? 100 * each.asks / each.commands : null)}], {asLine: true}),
		  plot('Median time to answer, in seconds', labels, [{name: 'median', label: 'seconds', values: days.map((each) =>
			each.median_ms === null || each.median_ms === undefined ? null : each.median_ms / 1000)}], {asLine: true}));
}

function rule(each) {
	return el('li', {class: 'card'}, el('p', {}, el('strong', {}, `${plural(each.asks ?? 0, 'ask')} less`), each.do === 'deny' ? ': it was always denied. For example ' : ': it was always approved. For example ',
			el('code', {}, beginning(each.example || '', 160))), block(each.rule, {label: 'The rule'}),
		  each.admits ? el('p', {class: 'note'}, 'It also admits: ', shown(each.admits)) : null);
}

function draw(stats) {
	return [
		(stats.warnings || []).map((text) => el('p', {class: 'caution strong'}, shown(text))),
		el('dl', {class: 'tiles'},
		   tile('Asks per 100 commands', number(stats.asks_per_100), `${plural(stats.asks ?? 0, 'ask')}, ${plural(stats.commands ?? 0, 'command')}`),
		   tile('Approved', percent(stats.approved_share), 'of what was answered'), tile('Median time to answer', time(stats.median_ms)),
		   tile('Nobody answered', number(stats.unanswered), 'so it was no')),
		stats.by_day?.length ? plots(stats.by_day) : null,
		stats.rules?.length ? el('section', {class: 'part'}, el('h2', {}, 'Rules that would have saved most asks'), el('ol', {class: 'rules', role: 'list'}, stats.rules.map(rule))) : null,
		table('Who answers', ['Name', 'Answers', 'Approved', 'Denied', 'Approved within 2 s', 'Median'], (stats.by_approver || []).map((each) =>
			[[shown(each.by || 'nobody named'), each.hasty ? el('span', {class: 'tag bad'}, 'too fast to have read') : ''], number(each.answers), number(each.approved), number(each.denied), number(each.approved_in_haste), time(each.median_ms)])),
		table('Who asks', ['Agent', 'Commands', 'Asks', 'Per 100', 'Approved', 'Denied', 'Median'], (stats.by_agent || []).map((each) =>
			[each.agent ? el('a', {href: `#/history?${new URLSearchParams({agent: each.agent})}`}, shown(each.agent)) : 'you', number(each.commands), number(each.asks),
			 number(each.asks_per_100), number(each.approved), number(each.denied), time(each.median_ms)])),
	];
}
