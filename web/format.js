// SPDX-License-Identifier: Apache-2.0
// Times and sizes in words.

const UNITS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

// "3 min": the largest unit that fits.
export function span(seconds) {
	const whole = Math.max(0, Math.round(seconds));
	const [size, unit] = UNITS.find(([each]) => whole >= each) || [1, 's'];

	return `${Math.floor(whole / size)} ${unit}`;
}

export function age(time) {
	return span((Date.now() - Date.parse(time)) / 1000);
}

// How long until then; '' where that is not said.
export function left(time) {
	const ms = Date.parse(time || '') - Date.now();

	return Number.isNaN(ms) ? '' : ms <= 0 ? 'over' : span(ms / 1000);
}

const clock = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});

export function moment(time) {
	const ms = Date.parse(time || '');

	return Number.isNaN(ms) ? '' : clock.format(ms);
}

export function took(ms) {
	if (ms === null || ms === undefined)
		return '';
	return ms < 1000 ? `${Math.round(ms * 10) / 10} ms` : ms < 60000 ? `${Math.round(ms / 100) / 10} s` : span(ms / 1000);
}

export function bytes(count) {
	const unit = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;

	for (; count >= 1024 && i + 1 < unit.length; i++)
		count /= 1024;
	return `${i ? Math.round(count * 10) / 10 : count} ${unit[i]}`;
}

export function percent(share) {
	return share === null || share === undefined ? '–' : `${Math.round(share * 100)} %`;
}

export function plural(count, one, many) {
	return `${count.toLocaleString('en')} ${count === 1 ? one : many || `${one}s`}`;
}
