// SPDX-License-Identifier: Apache-2.0
// The keyboard: one table for what the keys do and for the help that tells it.
import {check, el, openDialog} from '/dom.js';

const KEYS = [
	['j, k', 'next, previous request or run'],
	['Enter', 'open it'],
	['a', 'approve: choose how, then confirm'],
	['d', 'deny, with a reply to the agent'],
	['p', 'put it off'],
	['x', 'stop the run'],
	['Esc', 'back, or close'],
	['/', 'search the history'],
	['n, b', 'older, newer page of the history'],
	['1 to 5', 'the pages, from left to right'],
	['?', 'this list'],
];

const STORED = 'ward-keys';
let on = localStorage.getItem(STORED) !== 'off';

const isTyping = (target) => target.closest?.('input, textarea, select, [contenteditable]');

// Calls press(name) for single keys outside of fields and dialogs; true: it was for something.
export function listenKeys(press) {
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && !'jk'.includes(event.key) ||
		    isTyping(event.target) || document.querySelector('dialog[open]'))
			return;
		// Single letters can be turned off: those who speak to their machine type them by accident.
		if (!on && event.key.length === 1)
			return;
		if (press(event.key))
			event.preventDefault();
	});
}

export function showKeys() {
	const toggle = check('Single keys do this', 'Turn it off if you dictate, or if they get in your way.', (now) => {
		on = now;
		localStorage.setItem(STORED, on ? 'on' : 'off');
	});

	toggle.querySelector('input').checked = on;
	openDialog('Keys', el('div', {class: 'dialog-body'}, el('dl', {class: 'keys'}, KEYS.map(([key, does]) =>
		el('div', {}, el('dt', {}, key.split(', ').map((each, i) => [i ? ', ' : '', el('kbd', {}, each)])), el('dd', {}, does)))), toggle));
}
