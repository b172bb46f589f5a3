// SPDX-License-Identifier: Apache-2.0
// The risk at a glance: a colour, a word and a shape, none of which is needed for the others.
import {el} from '/dom.js';
import {level} from '/store.js';

export function badge(ask) {
	const word = level(ask);

	return el('span', {class: `risk risk-${word}`}, el('span', {class: 'risk-shape', 'aria-hidden': 'true'}),
		  el('span', {class: 'risk-word'}, word === 'unknown' ? 'not assessed' : word, el('span', {class: 'risk-noun'}, ' risk')));
}
