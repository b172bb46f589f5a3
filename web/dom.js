// SPDX-License-Identifier: Apache-2.0
// Elements. Text only ever becomes text nodes: nothing here parses markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else if (name === 'value')
			element.value = value;
		else
			element.setAttribute(name, value === true ? '' : value);
	}
	element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

export function el(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
	return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

// For those who hear the page.
export function say(text) {
	byId('said').textContent = text;
}

// Moves the focus to what has come; not before somebody has done something: a page that has just been opened begins at its
// beginning.
let armed = false;

for (const name of ['pointerdown', 'keydown', 'hashchange'])
	addEventListener(name, () => { armed = true; }, {capture: true});

export function goTo(element) {
	if (armed)
		element.focus({preventScroll: true});
}

export function button(label, onclick, attributes) {
	return el('button', {type: 'button', onclick, ...attributes}, label);
}

let labels = 0;

export function newId(word) {
	labels++;
	return `${word}-${labels}`;
}

// One of several, as radio buttons. options: [{value, label, note}]; change(value).
export function choose(legend, options, chosen, change, shape = '') {
	const name = newId('choice');

	return el('fieldset', {class: `choose ${shape}`}, el('legend', {}, legend), options.map((option) => {
		const id = newId('option');

		return el('div', {class: 'option'},
			  el('input', {type: 'radio', id, name, value: option.value, checked: option.value === chosen,
				       onchange: () => change(option.value)}),
			  el('label', {for: id}, el('span', {class: 'option-label'}, option.label),
			     option.note ? el('span', {class: 'option-note'}, option.note) : null));
	}));
}

export function check(label, note, change) {
	const id = newId('check');

	return el('div', {class: 'option'}, el('input', {type: 'checkbox', id, onchange: (event) => change(event.target.checked)}),
		  el('label', {for: id}, el('span', {class: 'option-label'}, label), note ? el('span', {class: 'option-note'}, note) : null));
}

// A label and what it is of. make(id) gives the control.
export function field(label, note, make) {
	const id = newId('field');

	return el('div', {class: 'field'}, el('label', {for: id}, label), note ? el('p', {class: 'note', id: `${id}-note`}, note) : null,
		  make({id, 'aria-describedby': note ? `${id}-note` : null}));
}

// A dialog over the page. The browser keeps the focus inside and gives it back.
export function openDialog(title, content, attributes) {
	const id = newId('dialog');
	const back = document.activeElement;
	const dialog = el('dialog', {'aria-labelledby': id, ...attributes},
			  el('div', {class: 'dialog-head'}, el('h2', {id}, title),
			     button('Close', () => dialog.close(), {class: 'quiet'})), content);

	dialog.addEventListener('close', () => {
		dialog.remove();
		if (back && back.isConnected)
			back.focus();
	});
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}
