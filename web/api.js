// SPDX-License-Identifier: Apache-2.0
// What the server is asked, and what it tells by itself.
import {plain} from '/text.js';

let csrf = '';

export class Refused extends Error {
	constructor(status, body) {
		super(plain(body?.error?.message || `the server answered ${status}`));
		this.status = status;
		this.body = body || {};
		this.hint = plain(body?.error?.hint || '');
	}
}

const PATIENCE_MS = 15000;

async function request(path, options) {
	const response = await fetch(path, {credentials: 'same-origin', cache: 'no-store', redirect: 'error',
					    signal: AbortSignal.timeout(PATIENCE_MS), ...options});
	const body = await response.json().catch(() => null);

	// Half an answer is none, whatever it began with.
	if (!response.ok || !body)
		throw new Refused(response.status, body);
	return body;
}

export const get = (path) => request(path);

export function post(path, body) {
	return request(path, {method: 'POST', body: JSON.stringify(body ?? {}),
			      headers: {'Content-Type': 'application/json', 'X-Ward-CSRF': csrf}});
}

// Who we are, by the cookie; and the word that every later POST carries.
export async function session() {
	const body = await get('/api/session');

	csrf = body.csrf;
	return body;
}

// The code of the link: it works once.
export async function login(code) {
	const body = await request('/api/login', {method: 'POST', body: JSON.stringify({code}),
						  headers: {'Content-Type': 'application/json'}});

	csrf = body.csrf;
	return body;
}

const FIRST_MS = 500;
const LONGEST_MS = 10000;

// Follows the events for as long as the page lives. up(): connected anew, whatever was missed meanwhile; down(ms): not
// connected, tried again after that time; told(kind, data).
export class Events {
	constructor(up, down, told) {
		Object.assign(this, {up, down, told, wait: FIRST_MS, timer: 0, source: null});
		this.connect();
	}

	connect() {
		clearTimeout(this.timer);
		this.source?.close();
		this.source = new EventSource('/api/events');
		this.source.onopen = () => {
			this.wait = FIRST_MS;
			this.up();
		};
		this.source.onerror = () => this.again();
		for (const kind of ['asks', 'run', 'session', 'resync'])
			this.source.addEventListener(kind, (event) => this.hear(kind, event.data));
	}

	hear(kind, data) {
		try {
			this.told(kind, JSON.parse(data || '{}'));
		} catch {
			this.told('resync', {});
		}
	}

	// The browser's own way of trying again gives up for good on some errors.
	again() {
		this.source.close();
		this.down(this.wait);
		this.timer = setTimeout(() => this.connect(), this.wait);
		this.wait = Math.min(this.wait * 2, LONGEST_MS);
	}

	close() {
		clearTimeout(this.timer);
		this.source?.close();
	}
}
