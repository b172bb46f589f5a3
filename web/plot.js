// SPDX-License-Identifier: Apache-2.0
// Small plots. Each stands beside a table of the same numbers: nobody needs to see it.
import {el, svg} from '/dom.js';

const WIDTH = 420;
const HEIGHT = 150;
const LEFT = 34;
const FOOT = 22;
const HEAD = 10;

// A round number that the axis can end with.
function ceiling(most) {
	const step = 10 ** Math.floor(Math.log10(most || 1));

	return [1, 2, 5, 10].map((each) => each * step).find((each) => each >= most) || 1;
}

const across = (i, count) => LEFT + (i + 0.5) * ((WIDTH - LEFT) / count);

function axes(top, labels) {
	const down = (share) => HEAD + (1 - share) * (HEIGHT - HEAD - FOOT);
	const each = Math.ceil(labels.length / 5);

	return [[0, 0.5, 1].map((share) => [svg('line', {class: 'grid', x1: LEFT, x2: WIDTH, y1: down(share), y2: down(share)}),
		svg('text', {class: 'tick', x: LEFT - 6, y: down(share) + 4, 'text-anchor': 'end'}, String(Math.round(top * share * 10) / 10))]),
		labels.map((label, i) => i % each ? null : svg('text', {class: 'tick', x: across(i, labels.length), y: HEIGHT - 5, 'text-anchor': 'middle'}, label))];
}

function bars(series, top, count) {
	const wide = Math.max(2, Math.min(28, (WIDTH - LEFT) / count * 0.7));
	const scale = (HEIGHT - HEAD - FOOT) / top;
	const marks = [];

	for (let i = 0; i < count; i++) {
		let foot = HEIGHT - FOOT;

		for (const {name, values} of series) {
			const high = (values[i] || 0) * scale;

			foot -= high;
			if (high > 0)
				marks.push(svg('rect', {class: `mark-${name}`, x: across(i, count) - wide / 2, y: foot, width: wide, height: high},
					       svg('title', {}, `${name}: ${values[i]}`)));
		}
	}
	return marks;
}

// Gaps where nothing is known.
function line(series, top, count) {
	const scale = (HEIGHT - HEAD - FOOT) / top;
	const place = (value, i) => [across(i, count), HEIGHT - FOOT - value * scale];
	let path = '';
	let pen = false;

	series.values.forEach((value, i) => {
		if (value !== null && value !== undefined)
			path += `${pen ? 'L' : 'M'}${place(value, i).join(' ')}`;
		pen = value !== null && value !== undefined;
	});
	return [svg('path', {class: 'curve', d: path}), series.values.map((value, i) => value === null || value === undefined ? null
		: svg('circle', {class: 'dot', cx: place(value, i)[0], cy: place(value, i)[1], r: 2.5}))];
}

// labels: one a place; series: [{name, label, values}], stacked as bars, or one as a line. The table has all of it.
export function plot(title, labels, series, {asLine = false, unit = ''} = {}) {
	const sums = labels.map((_, i) => series.reduce((sum, each) => sum + (each.values[i] || 0), 0));
	const top = ceiling(Math.max(...sums, 0));

	return el('figure', {class: 'plot'}, el('figcaption', {}, title, series.length > 1 ? el('span', {class: 'legend', 'aria-hidden': 'true'},
			series.map(({name, label}) => el('span', {class: `key-${name}`}, label))) : null),
		svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', focusable: 'false'}, axes(top, labels),
		    asLine ? line(series[0], top, labels.length) : bars(series, top, labels.length)),
		el('details', {}, el('summary', {}, 'The numbers'), el('div', {class: 'table-wrap', tabindex: '0', role: 'region', 'aria-label': `${title}, the numbers`},
			el('table', {}, el('caption', {class: 'unseen'}, title),
			   el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Day'), series.map(({label}) => el('th', {scope: 'col', class: 'number'}, label)))),
			   el('tbody', {}, labels.map((label, i) => el('tr', {}, el('th', {scope: 'row'}, label), series.map(({values}) =>
				el('td', {class: 'number'}, values[i] === null || values[i] === undefined ? '–' : `${Math.round(values[i] * 10) / 10}${unit}`)))))))));
}
