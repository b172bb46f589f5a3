// SPDX-License-Identifier: Apache-2.0
// One request with all that is known of it, and the ways to answer.
import {approve, deny, defer, stop, yesOnce} from '/answer.js';
import {button, el, goTo, say} from '/dom.js';
import {age, bytes, left, moment, percent, plural} from '/format.js';
import {guardYes} from '/guard.js';
import {badge} from '/risk.js';
import * as store from '/store.js';
import {beginning, block, gives, plain, shown, warning} from '/text.js';

// A heading and what stands under it; nothing where there is nothing.
function part(title, ...content) {
	const inside = content.flat().filter(Boolean);

	return inside.length ? el('section', {class: 'part', 'data-part': title}, el('h3', {}, title), inside) : null;
}

const words = (items, none) => items?.length ? el('ul', {}, items.map((item) => el('li', {}, shown(item))))
	: none ? el('p', {class: 'note'}, none) : null;

function facts(pairs) {
	return el('dl', {class: 'facts'}, pairs.filter(([, value]) => value && value.length !== 0)
		.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function deletes({deleted, more, bytes: size, restorable}) {
	if (!deleted && more)
		return 'deletes files, how many is unknown';
	return `deletes ${more ? 'at least ' : ''}${plural(deleted, 'file')}, ${bytes(size || 0)}${deleted ? `; git has ${restorable || 0} of them` : ''}`;
}

function reach(radius) {
	const files = {none: 'no files', workspace: 'files of the workspace', home: 'your home directory', system: 'files elsewhere on this machine'};
	const chip = (text, bad) => el('li', {class: bad ? 'bad' : null}, text);

	return el('ul', {class: 'chips', 'aria-label': 'How far it reaches'},
		  chip(files[radius.files] || 'files: unknown', radius.files === 'home' || radius.files === 'system'),
		  chip(radius.network ? 'talks to other machines' : 'no network', radius.network),
		  radius.remote ? chip('changes something there', true) : null,
		  radius.deleted !== undefined ? chip(deletes(radius), radius.deleted > 0 || radius.more) : null);
}

function risk(ask) {
	const known = ask.risk;

	if (!known)
		return part('Risk', el('p', {class: 'note'}, 'It was not assessed.'));
	return part('Risk', words(known.reasons), reach(known.blast_radius || {}),
		    known.unknown ? el('p', {}, 'Nothing is known of: ', el('code', {}, shown(known.unknown))) : null,
		    facts([['Confidence', percent(known.confidence)]]));
}

function wayBack(ask) {
	const rollback = ask.rollback || {};
	const said = rollback.can_rollback === true ? 'It can be undone' : rollback.can_rollback === false ? 'It cannot be undone' : 'Whether it can be undone is unknown';
	const time = rollback.can_rollback === false ? '' : rollback.time === 'unknown' ? '; how long that takes is unknown' : rollback.time ? `; time: ${plain(rollback.time)}` : '';

	return part('Way back', el('p', {class: rollback.can_rollback === false ? 'caution' : null}, `${said}${time}.`),
		    ask.risk?.way_back ? el('p', {}, shown(ask.risk.way_back)) : null,
		    rollback.steps?.length ? el('ol', {}, rollback.steps.map((step) => el('li', {}, shown(step)))) : null);
}

function past(ask) {
	const rate = ask.historical_success_rate;
	const similar = ask.similar_operations || [];

	return part('In the past',
		    rate === null || rate === undefined ? el('p', {class: 'note'}, 'Nothing like it is on record.')
			: el('p', {}, el('meter', {min: '0', max: '1', value: String(rate), 'aria-label': 'Share that succeeded'}),
			     ` ${percent(rate)} of ${plural(ask.historical_runs || 0, 'run')} like it succeeded.`),
		    ask.history_gap ? el('p', {class: 'note'}, shown(ask.history_gap)) : null,
		    similar.length ? el('table', {}, el('caption', {class: 'unseen'}, 'Similar operations'),
					el('thead', {}, el('tr', {}, ['When', 'Command', 'Outcome'].map((name) => el('th', {scope: 'col'}, name)))),
					el('tbody', {}, similar.map((each) => el('tr', {}, el('td', {class: 'nowrap'}, moment(each.date)),
						el('td', {}, el('code', {}, beginning(each.description, 200))), el('td', {}, shown(each.outcome)))))) : null);
}

function opinion(ask) {
	const said = ask.opinion;

	if (!said || typeof said !== 'object')
		return null;
	return part('A model’s opinion', said.fault ? el('p', {class: 'note'}, 'It has none: ', shown(said.fault)) : el('p', {}, shown(said.summary)),
		    facts([['It says', said.level && [shown(said.level), ' risk', said.own_level ? `; ward’s own rules say ${plain(said.own_level)}` : '']],
			   ['Kind', said.category && shown(said.category)], ['Model', said.model && shown(said.model)]]),
		    el('p', {class: 'note'}, 'It may raise the risk, never lower it, and answers nothing.'));
}

const WHO = 'Who answers';

// Of one that several must answer, or certain people: who may, and who has.
function route(ask) {
	const now = ask.progress;

	if (!now)
		return null;
	return part(WHO, el('p', {}, shown(now.text)),
		    facts([['Yes so far', `${now.have} of ${now.need}${now.steps > 1 ? `, step ${now.step + 1} of ${now.steps}` : ''}`],
			   ['May say yes now', now.may?.length ? shown(now.may.join(', ')) : null], ['Reason', now.reason ? 'each yes must say why' : null]]),
		    now.said?.length ? el('ul', {}, now.said.map((each) => el('li', {}, shown(each.by), ' said yes', each.reason ? [': ', shown(each.reason)] : ''))) : null);
}

function flags(ask) {
	return [ask.destroys ? 'A yes may end what is there now.' : null,
		ask.starts_again ? 'The command would start from its beginning: what it did before, it does again.' : null,
		ask.tier === 'critical' ? 'It is critical for this agent.' : null,
		ask.objection_seconds ? `Silence is a yes ${ask.objection_seconds} s after somebody has seen it.` : null,
		ask.lossy ? 'Some of its text was not UTF-8: � stands for what could not be shown.' : null]
		.filter(Boolean).map((text) => el('p', {class: 'caution'}, text));
}

// What is asked, how bad it may be, and why somebody must say so: enough to know whether to read on with care.
function headline(ask) {
	const asked = {before: 'May this command run?', retry: 'May it try again, with what it was refused?'}[ask.kind];
	const about = [...(ask.risk?.categories || []), ask.risk && !ask.risk.reversible ? 'cannot be undone' : null].filter(Boolean);

	return el('div', {class: `headline level-${store.level(ask)}`}, el('p', {class: 'headline-risk'}, badge(ask), about.length ? el('span', {}, shown(about.join(', '))) : null),
		  el('h2', {tabindex: '-1'}, ask.code ? 'May this code run?' : asked || beginning(ask.summary || ask.command, 300)),
		  ask.why ? el('p', {}, shown(ask.why)) : null);
}

function describe(ask) {
	const agentText = [ask.command, ask.cwd, ask.agent, ask.reason, ask.summary, ...(ask.grants || [])].filter(Boolean).join('\n');

	return [
		headline(ask),
		warning(agentText),
		flags(ask),
		ask.command ? block(ask.command, {label: 'The command'}) : null,
		facts([['In short', shown(ask.summary)], ['Agent', ask.agent ? shown(ask.agent) : 'you, without an agent'], ['Session', ask.session && shown(ask.session)],
		       ['Directory', ask.cwd && el('code', {}, shown(ask.cwd))], ['Tool', ask.tool && shown(ask.tool)],
		       ['Asked', [el('time', {datetime: ask.since, title: moment(ask.since)}, `${age(ask.since)} ago`), ask.until ? `, waits ${left(ask.until) === 'over' ? 'no longer' : `${left(ask.until)} more`}` : '']],
		       ['Again because', ask.retry_reason && shown(ask.retry_reason)]]),
		ask.reason ? part('The agent says', el('blockquote', {}, shown(ask.reason))) : null,
		el('section', {class: 'part yes'}, el('h3', {}, 'A yes gives exactly'), gives(ask.grants)),
		route(ask),
		part('All of these calls wait', words(ask.wants)),
		part('What will happen', words(ask.what_will_happen, 'Nothing is known before it runs.')),
		ask.code ? part('The code', ask.operation ? el('p', {}, shown(ask.operation)) : null,
				block(ask.code, {label: 'The code', diff: /^(---|diff --git|\*\*\* Begin Patch)/.test(ask.code)})) : null,
		ask.domains?.length ? part('Hosts that the code may reach', words(ask.domains)) : null,
		part('Refused so far', words(ask.refused)),
		risk(ask),
		part('What can go wrong', words(ask.failure_modes, 'No way is known.')),
		wayBack(ask),
		part('Touches', words(ask.affected_systems, 'Nothing outside the sandbox is known.')),
		part('Whom', words(ask.affected_users)),
		past(ask),
		opinion(ask),
		el('details', {}, el('summary', {}, 'As the terminal shows it'), block(ask.text, {label: 'As the terminal shows it', most: 20000})),
		facts([['Request', el('code', {}, ask.id)], ['Run', ask.run ? el('a', {href: `#/runs/${ask.run}`}, el('code', {}, ask.run)) : null],
		       ['Ticket', ask.ticket && el('code', {}, shown(ask.ticket))]]),
	];
}

// What came of it, in words. said: an answer as the server tells it.
function outcome(said) {
	const words = {approve: 'approved', deny: 'denied', abort: 'stopped', defer: 'put off'};
	const by = said.by ? ` by ${plain(said.by)}` : '';
	const scope = said.scope && said.scope !== 'once' ? `, ${{session: 'for the session', always: said.answer === 'deny' ? 'never again' : 'always',
		time: 'for a time'}[said.scope] || plain(said.scope)}` : '';

	return `${words[said.answer] || 'answered'}${scope}${by}`;
}

// Whether the server would take a yes of this person's.
const mayApprove = (ask) => ask.may_approve !== false;

class Ask {
	constructor(id, side, context) {
		Object.assign(this, {id, side, context, ask: null, open: true, note: el('p', {class: 'bar-note', role: 'status'})});
		side.replaceChildren(el('p', {class: 'empty'}, 'Loading …'));
		this.load();
	}

	async load() {
		try {
			const ask = await store.fetchOne(this.id);

			if (!this.open)
				return;
			// What stands in a dialog is not what is asked any more.
			if (this.ask && (this.ask.nonce !== ask.nonce || this.ask.hash !== ask.hash))
				document.querySelector('dialog.answer')?.close();
			this.ask = ask;
			this.draw();
		} catch (error) {
			if (this.open)
				this.end(error.body?.answered ? `It was ${outcome(error.body.answered)}.` : error.status === 404 || error.status === 410
					? 'It does not wait any more.' : `It could not be fetched: ${error.message}.`);
		}
	}

	has(choice) {
		return this.ask.choices?.includes(choice);
	}

	draw() {
		const heading = el('div', {class: 'back-line'}, el('a', {href: '#/inbox', class: 'back'}, '‹ All requests'));

		this.side.replaceChildren(heading, el('div', {class: 'ask-scroll'}, el('article', {class: 'ask'}, describe(this.ask))), this.makeBar());
		goTo(this.side.querySelector('h2'));
	}

	makeBar() {
		const once = mayApprove(this.ask) && this.has('approve once') && store.level(this.ask) !== 'critical' && !this.ask.progress?.reason
			? guardYes(el('button', {type: 'button', class: 'yes-button'}, 'Approve once'), () => this.send(yesOnce()),
				   () => this.tell('Too soon: have a look first, then press again.')) : null;
		const ways = (this.ask.choices || []).filter((way) => mayApprove(this.ask) || !way.startsWith('approve'));

		if (!mayApprove(this.ask))
			this.tell('Your yes would not count now: others answer this, or you have answered.');
		return el('div', {class: 'answers', role: 'group', 'aria-label': 'Answer'}, this.note, once,
			  ways.some((way) => way.startsWith('approve')) ? button('Approve …', () => approve(this), {'aria-keyshortcuts': 'a', class: 'yes-quiet'}) : null,
			  ways.some((way) => way.startsWith('deny')) ? button('Deny …', () => deny(this), {'aria-keyshortcuts': 'd', class: 'no-button'}) : null,
			  this.has('defer') ? button('Put off …', () => defer(this), {'aria-keyshortcuts': 'p'}) : null,
			  this.has('abort') ? button('Stop run …', () => stop(this), {'aria-keyshortcuts': 'x'}) : null);
	}

	// Somebody else has said yes, and it is not enough yet. Nothing else is drawn anew: an answer may be half written.
	tellProgress(progress) {
		if (!this.ask || this.ended)
			return;
		this.ask.progress = progress;
		this.side.querySelector(`[data-part="${WHO}"]`)?.replaceWith(route(this.ask) || '');
	}

	tell(text) {
		this.note.textContent = text;
	}

	// True if it counted. Throws nothing: what went wrong is said. One at a time: of two the second would be told that it came too late.
	async send(answer, asked = this.ask) {
		if (this.sending)
			return false;
		this.sending = true;
		this.tell('Sending …');
		try {
			const {answered, progress, waiting} = await this.context.answer(asked, answer);
			const others = waiting || (progress?.state === 'open' ? progress : null);

			if (others) {
				this.tell(`Your answer counts: ${others.have} of ${others.need} people have said yes.`);
				say(this.note.textContent);
				this.load();
				return true;
			}
			this.ended = true;
			store.remove(this.id);
			this.end(`It was ${outcome({...answer, ...answered})}.`);
			if (answer.answer === 'defer')
				store.reload().catch(() => {}); // it stands, under the same id
			return true;
		} catch (error) {
			this.refused(error);
			return false;
		} finally {
			this.sending = false;
		}
	}

	refused(error) {
		const who = error.body?.answered;

		if (who || error.status === 404 || error.status === 410) {
			this.ended = true;
			store.remove(this.id);
			this.end(who ? `Your answer did not count: it was ${outcome(who)} before.` : 'Your answer did not count: it does not wait any more.');
		} else if (error.status === 409) {
			this.tell(`Your answer did not count: ${error.message}. The request is shown anew.`);
			this.load();
		} else if (!error.status) {
			this.tell(`The server did not say whether your answer counted: ${error.message}. The request is shown anew.`);
			this.load();
		} else {
			this.tell(`Your answer did not count: ${error.message}${error.hint ? ` (${error.hint})` : ''}.`);
		}
	}

	// Nothing to answer any more. The next one is a step of its own: no answer is ever to what came in its place.
	end(text) {
		const next = store.list().find((ask) => ask.id !== this.id);

		this.ended = true;
		say(text);
		if (!this.open) // another one stands there now
			return;
		document.querySelector('dialog.answer')?.close();
		this.side.replaceChildren(el('div', {class: 'ended'}, el('h2', {tabindex: '-1'}, text),
			el('p', {class: 'ways'}, next ? el('a', {class: 'button', href: `#/ask/${next.id}`}, `Next request (${store.list().filter((ask) => ask.id !== this.id).length} left)`) : null,
			   this.ask?.run ? el('a', {class: 'button', href: `#/runs/${this.ask.run}`}, 'The run') : null,
			   el('a', {class: 'button', href: '#/inbox'}, 'All requests')),
			this.ask?.command ? block(this.ask.command, {label: 'The command'}) : null));
		goTo(this.side.querySelector('h2'));
	}

	// It went from the queue without us. Who answered is known to the server, perhaps only after a moment.
	async gone() {
		if (this.ended || !this.ask)
			return;
		this.end('It was answered, or does not wait any more.');
		for (let tries = 0; this.open && tries < 5; tries++) {
			const error = await store.fetchOne(this.id).then(() => null, (failure) => failure);

			if (this.open && error?.body?.answered) {
				this.side.querySelector('.ended h2').textContent = `It was ${outcome(error.body.answered)}.`;
				return;
			}
			await new Promise((done) => { setTimeout(done, 400); });
		}
	}

	key(name) {
		if (this.ended || !this.ask)
			return false;
		const way = {a: approve, d: deny, p: defer, x: stop}[name];
		const choice = {a: 'approve', d: 'deny', p: 'defer', x: 'abort'}[name];

		if (!way || (name === 'a' && !mayApprove(this.ask)) || !(this.ask.choices || []).some((each) => each.startsWith(choice)))
			return false;
		way(this);
		return true;
	}

	close() {
		this.open = false;
		document.querySelector('dialog.answer')?.close();
	}
}

export const openAsk = (id, side, context) => new Ask(id, side, context);
