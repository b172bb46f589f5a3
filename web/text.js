// SPDX-License-Identifier: Apache-2.0
// An agent's text on the page: escaped as on ward's terminal, and never cut without saying so.
import {button, el} from '/dom.js';
import {readRuns} from '/glyphs.js';

// One line, whatever is in it. As nodes for an element.
export function shown(text) {
	return readRuns(String(text ?? '')).map((run) => run.isCode
		? el('span', {class: run.text === '\\t' ? 'code-point tab' : 'code-point', title: run.title || null}, run.text) : document.createTextNode(run.text));
}

// The same as a string, for attributes and titles.
export function plain(text) {
	return readRuns(String(text ?? '')).map((run) => run.text).join('');
}

const characters = (text) => Array.from(text);

// One line in a list: its beginning, and how much more there is.
export function beginning(text, most) {
	const all = characters(String(text ?? ''));

	if (all.length <= most)
		return shown(text);
	return [...shown(all.slice(0, most).join('')),
		el('span', {class: 'more'}, ` … ${(all.length - most).toLocaleString('en')} more characters`)];
}

// What stands for something else, in words. null where all is as it seems.
export function warning(text) {
	const runs = readRuns(String(text ?? '')).filter((run) => run.isCode && run.text !== '\\n' && run.text !== '\\t');
	const alike = [...new Set(runs.filter((run) => run.title).map((run) => `${run.text} ${run.title}`))];

	if (!runs.length)
		return null;
	return el('p', {class: 'caution'}, el('strong', {}, 'Not what it seems: '),
		  alike.length ? `${alike.slice(0, 4).join(', ')}${alike.length > 4 ? ` and ${alike.length - 4} more` : ''}. ` : '',
		  runs.some((run) => !run.title) ? 'What cannot be seen, or changes what stands beside it, is shown by its code.' : '');
}

const ofDiff = (line) => line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : null;

function lines(text, diff) {
	return text.split('\n').map((line) => el('span', {class: ['line', diff && ofDiff(line)].filter(Boolean).join(' ')}, shown(line), '\n'));
}

const LINES = 60;
const CHARACTERS = 6000;

// Several lines, each as it is; long ones behind a button that says how long they are.
export function block(text, {label, diff = false, most = CHARACTERS} = {}) {
	const whole = String(text ?? '').replace(/\n$/, '');
	const pre = el('pre', {class: 'block', tabindex: '0', role: 'region', 'aria-label': label});
	const short = characters(whole).slice(0, most).join('').split('\n').slice(0, LINES).join('\n');

	if (short.length === whole.length) {
		pre.append(...lines(whole, diff));
		return pre;
	}
	pre.append(...lines(short, diff));
	const more = button(`Show all ${characters(whole).length.toLocaleString('en')} characters, ${
		whole.split('\n').length.toLocaleString('en')} lines`, () => {
		pre.replaceChildren(...lines(whole, diff));
		more.remove();
		cut.remove();
		pre.focus();
	}, {class: 'show-all'});
	const cut = el('p', {class: 'caution cut'}, 'This is only its beginning.');

	return el('div', {class: 'block-cut'}, pre, cut, more);
}

// What a yes creates, permission by permission.
export function gives(grants) {
	return grants?.length ? el('ul', {class: 'grants'}, grants.map((grant) => el('li', {}, el('code', {}, shown(grant)))))
		: el('p', {}, 'It runs in the sandbox and gets nothing beyond that.');
}
