// SPDX-License-Identifier: Apache-2.0
// One run: what ran, who decided, what was refused, how it ended, and its output while it lasts.
import {get} from '/api.js';
import {el, goTo} from '/dom.js';
import {moment, took} from '/format.js';
import {ending} from '/history.js';
import {block, shown, warning} from '/text.js';

const OUTPUT_MOST = 500000; // characters; the beginning goes, and it is said

function facts(pairs) {
	return el('dl', {class: 'facts'}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '' && value.length !== 0)
		.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function table(caption, heads, rows) {
	return rows.length ? el('section', {class: 'part'}, el('h2', {}, caption), el('div', {class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': caption},
		el('table', {}, el('caption', {class: 'unseen'}, caption), el('thead', {}, el('tr', {}, heads.map((name) => el('th', {scope: 'col'}, name)))),
			el('tbody', {}, rows.map((cells) => el('tr', {}, cells.map((cell) => el('td', {}, shown(cell ?? '')))))))))
		: null;
}

function decisions(result) {
	return table('Decisions', ['Stage', 'Verdict', 'Source', 'By', 'Scope', 'When'], (result.decisions || []).map((each) =>
		[each.stage, each.verdict, each.source, each.by, each.scope, moment(each.time)]));
}

function denials(result) {
	return table('Refused', ['Operation', 'Object', 'Call', 'Rule', 'Answer'], (result.attempts || []).flatMap((attempt) => attempt.denials || []).map((each) =>
		[each.operation, each.object, each.syscall, each.rule, each.answer]));
}

function used(resources) {
	return resources ? facts([['Processor', took(resources.cpu_ms)], ['Memory', resources.max_rss_kb ? `${Math.round(resources.max_rss_kb / 1024)} MiB` : null],
				  ['Processes', String(resources.processes ?? '')], ['Read', resources.io_read_kb ? `${resources.io_read_kb} KiB` : null],
				  ['Written', resources.io_write_kb ? `${resources.io_write_kb} KiB` : null]]) : null;
}

// Escapes are drawn, lines and tabs are kept: it is output, not something to decide on.
function pieces(text) {
	return text.split(/(\r?\n|\t)/).flatMap((piece) => /^(\r?\n|\t)$/.test(piece) ? [piece === '\t' ? '\t' : '\n'] : shown(piece));
}

class Output {
	constructor(id) {
		this.pre = el('pre', {class: 'block output', tabindex: '0', role: 'log', 'aria-label': 'Output', 'aria-live': 'off'});
		this.note = el('p', {class: 'note', role: 'status'}, 'Waiting for output …');
		this.size = 0;
		this.decoders = {};
		this.element = el('section', {class: 'part'}, el('h2', {}, 'Output'), this.note, this.pre);
		this.source = new EventSource(`/api/runs/${encodeURIComponent(id)}/output`);
		this.source.addEventListener('output', (event) => this.add(JSON.parse(event.data)));
		this.source.addEventListener('end', (event) => this.end(JSON.parse(event.data)));
		this.source.addEventListener('unknown', (event) => this.unknown(JSON.parse(event.data || '{}')));
		this.source.onerror = () => {
			if (this.source.readyState === EventSource.CLOSED)
				this.note.textContent = 'The output cannot be followed.';
		};
		// The server tells it from its beginning each time.
		this.source.onopen = () => {
			this.pre.replaceChildren();
			this.size = 0;
		};
	}

	add({stream, data, base64}) {
		const decoder = this.decoders[stream] ||= new TextDecoder();
		const text = base64 ? decoder.decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), {stream: true}) : data || '';
		const low = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 30;

		this.note.textContent = this.size > OUTPUT_MOST ? 'The beginning of the output is not shown here: ward show has all that was kept.' : 'Output as it comes.';
		this.pre.append(el('span', {class: stream === 'stderr' ? 'stderr' : null}, pieces(text)));
		for (this.size += text.length; this.size > OUTPUT_MOST && this.pre.childNodes.length > 1;) {
			this.size -= this.pre.firstChild.textContent.length;
			this.pre.firstChild.remove();
		}
		if (low)
			this.pre.scrollTop = this.pre.scrollHeight;
	}

	end({exit_code: code}) {
		this.note.textContent = `It has ended${code === undefined || code === null ? '' : `, exit ${code}`}.`;
		this.close();
	}

	unknown({why}) {
		this.note.replaceChildren('Its output is not known here', why ? ': ' : '.', ...shown(why || ''));
		this.pre.hidden = true;
		this.close();
	}

	close() {
		this.source.close();
	}
}

export class Run {
	constructor(context) {
		this.context = context;
		this.title = 'Run';
		this.element = el('section', {class: 'page', 'aria-label': 'Run'});
	}

	async arrive({id}) {
		this.id = id;
		this.output?.close();
		this.output = null;
		this.element.replaceChildren(el('h1', {tabindex: '-1'}, 'Run'), el('p', {class: 'note'}, 'Loading …'));
		goTo(this.element.firstChild);
		try {
			const run = await get(`/api/runs/${encodeURIComponent(id)}`);

			if (this.id === id)
				this.draw(run);
		} catch (error) {
			if (this.id === id)
				this.element.lastChild.textContent = error.status === 404 ? 'There is no such run on record.' : `It could not be read: ${error.message}.`;
		}
	}

	draw(run) {
		const result = run.result || {};
		const attempt = (result.attempts || []).at(-1) || {};
		const heading = el('h1', {tabindex: '-1'}, 'Run ', el('code', {}, shown(this.id)));

		this.output ||= new Output(this.id);
		this.element.replaceChildren(el('p', {}, el('a', {href: '#/history', class: 'back always'}, '‹ History')), heading,
			...[block(run.command || '', {label: 'The command'}), warning(run.command),
			    run.error || result.error ? el('p', {class: 'caution'}, shown(typeof result.error?.message === 'string' ? result.error.message : run.error || 'it failed')) : null,
			    facts([['Began', moment(run.time)], ['Ended', run.ended ? [ending(run), run.ended_at ? ` · ${moment(run.ended_at)}` : ''] : 'still running'],
				   ['Took', took(run.duration_ms)], ['Agent', run.agent ? el('a', {href: `#/history?agent=${encodeURIComponent(run.agent)}`}, shown(run.agent)) : 'you'],
				   ['Session', run.session && shown(run.session)], ['Directory', run.cwd && el('code', {}, shown(run.cwd))],
				   ['Verdict', [shown(run.verdict || ''), run.source ? ' · by ' : '', shown(run.source || '')]], ['Risk', run.risk && shown(typeof run.risk === 'string' ? run.risk : run.risk.level || '')],
				   ['Level', run.level && shown(run.level)], ['Policy', run.policy && shown(run.policy)], ['Rule', run.rule && el('code', {}, shown(run.rule))],
				   ['Reason given', run.reason && shown(run.reason)]]),
			    this.output.element, decisions(result), denials(result), used(result.resources),
			    attempt.walls?.length ? el('details', {}, el('summary', {}, 'Walls that stood'), el('p', {}, shown(attempt.walls.join(', ')))) : null,
			    el('details', {}, el('summary', {}, 'All of the record'), block(JSON.stringify(run, null, 2), {label: 'The record'}))].filter(Boolean));
		goTo(heading);
	}

	heard(kind, {run, state, limit}) {
		if (kind === 'run' && run === this.id && state === 'near')
			this.output?.element.before(el('p', {class: 'caution'}, `It comes near to a limit: ${limit}.`));
		if (kind === 'run' && run === this.id && state === 'ended')
			get(`/api/runs/${encodeURIComponent(run)}`).then((record) => this.id === run && this.draw(record), () => {});
	}

	key(name) {
		if (name !== 'Escape')
			return false;
		this.context.go('/history');
		return true;
	}

	leave() {
		this.id = '';
		this.output?.close();
	}
}
