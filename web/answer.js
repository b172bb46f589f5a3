// SPDX-License-Identifier: Apache-2.0
// The dialogs that an answer is given in: what it would be to, for how long, and what it would write.
import {button, check, choose, el, field, openDialog} from '/dom.js';
import {guardYes} from '/guard.js';
import {badge} from '/risk.js';
import {beginning, block, gives, shown} from '/text.js';

const REASON_MOST = 4096; // bytes

const TIMES = [[300, '5 minutes'], [1800, '30 minutes'], [7200, '2 hours'], [28800, '8 hours'], [86400, '1 day'], [604800, '7 days']];

export const yesOnce = () => ({answer: 'approve', scope: 'once'});

const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

function reasonField(label, note, said) {
	return field(label, note, (ids) => el('textarea', {...ids, rows: '2', maxlength: String(REASON_MOST), spellcheck: 'true',
		oninput: (event) => { said.reason = event.target.value; }}));
}

function timeField(label, seconds, change, most = Infinity) {
	return field(label, null, (ids) => el('select', {...ids, onchange: (event) => change(Number(event.target.value))},
		TIMES.filter(([value]) => value <= most).map(([value, name]) => el('option', {value: String(value), selected: value === seconds}, name))));
}

// What the dialog is about: again, so that nobody has to remember.
function about(ask) {
	return el('div', {class: 'about'}, badge(ask), el('code', {}, beginning(ask.command || ask.summary, 300)));
}

function withReason(said, answer) {
	return said.reason?.trim() ? {...answer, reason: said.reason.trim()} : answer;
}

// What the answer would do: always in sight, beside the button that gives it.
const makeResult = () => el('div', {class: 'result', role: 'region', 'aria-label': 'What this does', 'aria-live': 'polite', tabindex: '0'});

// A dialog whose button sends what make() says, as an answer to what is asked now, whatever the view shows by then.
function ask(view, title, label, content, make, {isYes = false, tone = '', result = null} = {}) {
	const asked = view.ask;
	const note = el('p', {class: 'bar-note', role: 'status'});
	const send = async () => {
		const error = make.check?.();

		if (error) {
			note.textContent = error;
			return;
		}
		note.textContent = 'Sending …';
		if (!await view.send(make(), asked))
			note.textContent = view.note.textContent;
		else
			dialog.close();
	};
	const submit = el('button', {type: 'button', class: tone}, label);

	if (isYes)
		guardYes(submit, send, () => { note.textContent = 'Too soon: have a look first, then press again.'; });
	else
		submit.addEventListener('click', send);
	const dialog = openDialog(title, [el('div', {class: 'dialog-body'}, about(asked), content),
		el('div', {class: 'dialog-end'}, result, note, submit, button('Cancel', () => dialog.close()))], {class: 'answer'});

	return {dialog, submit};
}

class Yes {
	constructor(view) {
		this.view = view;
		this.ask = view.ask;
		this.said = {scope: view.has('approve once') ? 'once' : 'session', seconds: 1800, extent: this.ask.extent ?? 0, monitor: false,
			     unsandboxed: !view.ask.choices.some((way) => /^approve (once|session|time|always)$/.test(way)), grants: null, domains: null, reason: ''};
		this.result = makeResult();
		const make = () => this.make();

		make.check = () => this.check();
		this.parts = ask(view, 'Approve', 'Approve', [this.extents(), this.scopes(), this.narrower(), this.hosts(), this.extras(),
			reasonField(this.ask.progress?.reason ? 'Reason (required)' : 'Reason (optional)', 'For the record; the agent can read it.', this.said)],
			make, {isYes: true, tone: 'yes-button', result: this.result});
		this.refresh();
		this.parts.dialog.querySelector('input:checked, textarea')?.focus();
	}

	set(change) {
		Object.assign(this.said, change);
		this.refresh();
	}

	extents() {
		if (!(this.ask.extents?.length > 1))
			return null;
		return choose('To what', this.ask.extents.map((extent, i) => ({value: String(i), label: shown(extent.name ?? 'as it asks'),
			note: extent.grants.length > 1 ? shown(extent.grants.join(', ')) : null})), String(this.said.extent),
			(value) => this.set({extent: Number(value)}));
	}

	scopes() {
		const all = [{value: 'once', label: 'Once'}, {value: 'session', label: 'For the session'}, {value: 'time', label: 'For a time'},
			     {value: 'always', label: 'Always'}];
		const longer = all.slice(1).some(({value}) => this.view.has(`approve ${value}`));

		const most = this.ask.route?.grant_seconds;

		this.said.seconds = TIMES.findLast(([value]) => value <= Math.min(most || 1800, 1800))?.[0] || TIMES[0][0];
		this.time = timeField('For how long', this.said.seconds, (seconds) => this.set({seconds}), Math.max(most || Infinity, TIMES[0][0]));
		return [choose('How long it holds', all.filter(({value}) => this.view.has(`approve ${value}`)), this.said.scope,
			       (scope) => this.set({scope}), 'in-line'),
			longer && this.ask.covers ? el('p', {class: 'note'}, 'Longer than once, it covers: ', shown(this.ask.covers)) : null, this.time];
	}

	// One question about several calls: each can be left out.
	each() {
		const left = new Set(this.ask.grants);

		return el('fieldset', {}, el('legend', {}, 'To which of them'), this.ask.grants.map((grant, i) => {
			const box = check(shown(this.ask.wants[i]), null, (on) => {
				left[on ? 'add' : 'delete'](grant);
				this.set({grants: left.size === this.ask.grants.length ? null : this.ask.grants.filter((other) => left.has(other))});
			});

			box.querySelector('input').checked = true;
			return box;
		}));
	}

	narrower() {
		if (this.ask.wants?.length && this.ask.wants.length === this.ask.grants?.length)
			return this.each();
		if (!this.ask.editable)
			return null;
		const before = (this.ask.grants || []).join('\n');

		this.edit = el('details', {}, el('summary', {}, 'Give less than that'),
			field('Permissions, one a line', 'Each must lie within what is asked for. Paths are relative to the workspace unless they begin with / or ~.',
			      (ids) => el('textarea', {...ids, rows: '3', class: 'mono', spellcheck: 'false', value: before,
				oninput: (event) => this.set({grants: event.target.value.trim() === before ? null : linesOf(event.target.value)})})));
		return this.edit;
	}

	hosts() {
		if (!this.ask.domains)
			return null;
		const before = this.ask.domains.join('\n');

		return field('Hosts that the code may reach, one a line', null, (ids) => el('textarea', {...ids, rows: '2', class: 'mono', spellcheck: 'false',
			value: before, oninput: (event) => this.set({domains: event.target.value.trim() === before ? null : linesOf(event.target.value)})}));
	}

	extras() {
		return el('div', {class: 'extras'},
			  this.view.has('approve monitored') ? check('Follow the run', 'What it opens, reaches and starts, and all its output, is kept; you are told at its end.',
				(monitor) => this.set({monitor})) : null,
			  this.view.has('approve unsandboxed') ? check('Without the sandbox', 'Once. Nothing holds it then but its user’s own rights.',
				(unsandboxed) => this.set({unsandboxed})) : null);
	}

	grants() {
		const wide = this.ask.extents?.[this.said.extent]?.grants ?? this.ask.grants ?? [];

		return this.said.grants ?? wide;
	}

	rule() {
		const extent = this.ask.extents?.[this.said.extent];

		return extent ? extent.rule : this.ask.always_rule;
	}

	check() {
		const {scope, grants, reason} = this.said;

		if (this.ask.progress?.reason && !reason.trim())
			return 'A yes to this needs a reason.';
		if (grants && !grants.length)
			return 'Nothing is left of it: deny it instead.';
		if (grants && scope === 'always')
			return 'A rule cannot be written for less than was asked: choose a shorter time.';
		if (scope === 'always' && !this.rule())
			return 'No rule can be written for this: choose a shorter time.';
		return '';
	}

	refresh() {
		const {scope, unsandboxed} = this.said;
		const name = {once: 'once', session: 'for the session', time: `for ${TIMES.find(([value]) => value === this.said.seconds)[1]}`, always: 'always'}[scope];

		this.time.hidden = scope !== 'time';
		this.result.replaceChildren(el('h3', {}, 'This yes gives exactly'),
			unsandboxed ? el('p', {class: 'caution'}, 'Everything: it runs without the sandbox, once.') : gives(this.grants()),
			...this.written());
		this.parts.submit.textContent = unsandboxed ? 'Approve without the sandbox' : `Approve ${name}${this.said.monitor ? ', and follow it' : ''}`;
	}

	// The rule, before it is written.
	written() {
		if (this.said.scope !== 'always')
			return [];
		const error = !this.rule() || this.said.grants ? this.check() : '';

		return error ? [el('p', {class: 'caution'}, error)]
			: [el('p', {}, 'and writes this rule into ', el('code', {}, shown(this.ask.always_file || 'your policy')), ':'),
			   block(this.rule(), {label: 'The rule'})];
	}

	make() {
		const {scope, seconds, extent, monitor, unsandboxed, grants, domains} = this.said;

		if (unsandboxed)
			return withReason(this.said, {answer: 'approve', scope: 'once', unsandboxed: true, ...(monitor ? {monitor} : {})});
		return withReason(this.said, {answer: 'approve', scope, ...(scope === 'time' ? {seconds} : {}), ...(this.ask.extents ? {extent} : {}),
					      ...(grants ? {grants} : {}), ...(domains ? {domains} : {}), ...(monitor ? {monitor} : {})});
	}
}

export const approve = (view) => new Yes(view);

export function deny(view) {
	const said = {scope: 'once', reason: ''};
	const rule = makeResult();
	const options = [{value: 'once', label: 'This time'}, {value: 'session', label: 'For the session'}, {value: 'always', label: 'Never again'}];
	const parts = ask(view, 'Deny', 'Deny', [
		reasonField('Reply to the agent (optional)', 'It reads this: say what it should do instead.', said),
		choose('For how long', options.filter(({value}) => view.has(`deny ${value}`)), said.scope, (scope) => {
			said.scope = scope;
			rule.replaceChildren(...scope === 'always' ? [el('h3', {}, 'This writes into ', el('code', {}, shown(view.ask.always_file || 'your policy'))),
				block(view.ask.never_rule, {label: 'The rule'})] : []);
			parts.submit.textContent = {once: 'Deny', session: 'Deny for the session', always: 'Deny and never ask again'}[scope];
		}, 'in-line')], () => withReason(said, {answer: 'deny', scope: said.scope}), {tone: 'no-button', result: rule});

	parts.dialog.querySelector('textarea').focus();
}

export function defer(view) {
	const said = {seconds: 86400, reason: ''};

	ask(view, 'Put off', 'Put off', [
		el('p', {}, 'It stays in the inbox, and whoever asked gets a ticket. When it is answered, the command runs without its caller.'),
		timeField('It waits for its answer', said.seconds, (seconds) => { said.seconds = seconds; }),
		reasonField('Reason (optional)', null, said)], () => withReason(said, {answer: 'defer', seconds: said.seconds}));
}

export function stop(view) {
	const said = {reason: ''};

	ask(view, 'Stop the run', 'Stop the run', [el('p', {}, 'The command is ended, and the agent is told to stop its turn.'),
		reasonField('Reason (optional)', 'The agent reads it.', said)], () => withReason(said, {answer: 'abort'}), {tone: 'no-button'});
}
