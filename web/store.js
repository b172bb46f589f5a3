// SPDX-License-Identifier: Apache-2.0
// The requests that wait, kept in step with the server.
import {get} from '/api.js';

const asks = new Map();
const listeners = new Set();
const ended = new Set(); // ids that went while the list was on its way
let loaded = false;
let loading = null;
let again = false;

export const LEVELS = ['low', 'medium', 'high', 'critical'];

// The question with what the queue knows of it: as one object, whichever way it came.
function flatten(entry) {
	if (!entry.ask)
		return entry;
	const {ask, ...rest} = entry;

	return {...ask, ...rest};
}

export const level = (ask) => LEVELS.includes(ask.risk?.level) ? ask.risk.level : 'unknown';

export function list() {
	return [...asks.values()].sort((a, b) => (a.since || '') < (b.since || '') ? -1 : (a.since || '') > (b.since || '') ? 1 : a.id < b.id ? -1 : 1);
}

export const find = (id) => asks.get(id);
export const isLoaded = () => loaded;

// listener(added, removed): ids.
export function listen(listener) {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

function tell(added, removed) {
	for (const listener of listeners)
		listener(added, removed);
}

async function load() {
	ended.clear();
	const {asks: now} = await get('/api/asks');
	const fresh = new Map(now.map(flatten).filter((ask) => !ended.has(ask.id)).map((ask) => [ask.id, ask]));
	const added = loaded ? [...fresh.keys()].filter((id) => !asks.has(id)) : [];
	const removed = [...asks.keys()].filter((id) => !fresh.has(id));

	removed.forEach((id) => asks.delete(id));
	fresh.forEach((ask, id) => asks.set(id, ask));
	loaded = true;
	tell(added, removed);
}

// All of them anew. Whoever asks for it while one is on its way gets the one after it.
export function reload() {
	if (loading) {
		again = true;
		return loading;
	}
	loading = (async () => {
		do {
			again = false;
			await load();
		} while (again);
	})().finally(() => { loading = null; });
	return loading;
}

// One with everything. Throws where it is not there any more: 404, or 410 with what was answered.
export async function fetchOne(id) {
	return flatten(await get(`/api/asks/${encodeURIComponent(id)}`));
}

export function remove(id) {
	ended.add(id);
	if (asks.delete(id))
		tell([], [id]);
}

const GATHER_MS = 120;
let gathering = 0;

// An event of the server's about one of them. A new one, or one that somebody has said yes to while others must, too, comes with
// the list: fetched alone, the server would take it for seen, and silence would begin to count.
export function note({id, state}) {
	if (state !== 'open')
		remove(id);
	else
		gathering ||= setTimeout(() => {
			gathering = 0;
			reload().catch(() => {});
		}, GATHER_MS);
}
