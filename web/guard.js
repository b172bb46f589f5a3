// SPDX-License-Identifier: Apache-2.0
// A yes that was meant for something else counts for nothing: no button that says yes works in the first half second after it
// came, moved, or the window was come back to; nor by a key that is held down. As on the terminal.

const REST_MS = 500;
const MOVED = 3; // in pixels

let returned = 0;

for (const name of ['focus', 'pageshow'])
	addEventListener(name, () => { returned = performance.now(); });
document.addEventListener('visibilitychange', () => { returned = performance.now(); });

// Watches the button while it is on the page. yes(event) is called for a click that counts, soon() for one that came too soon.
export function guardYes(button, yes, soon) {
	let rested = performance.now();
	let place = null;

	const look = () => {
		if (!button.isConnected) {
			if (!place)
				requestAnimationFrame(look);
			return;
		}
		const now = button.getBoundingClientRect();

		if (!place || Math.abs(now.x - place.x) > MOVED || Math.abs(now.y - place.y) > MOVED ||
		    Math.abs(now.width - place.width) > MOVED) {
			rested = performance.now();
			place = now;
		}
		button.classList.toggle('settling', performance.now() - Math.max(rested, returned) < REST_MS);
		requestAnimationFrame(look);
	};

	button.classList.add('settling');
	requestAnimationFrame(look);
	button.addEventListener('keydown', (event) => {
		if (event.repeat)
			event.preventDefault();
	});
	button.addEventListener('click', (event) => {
		if (!event.isTrusted || performance.now() - Math.max(rested, returned) < REST_MS) {
			event.preventDefault();
			soon();
			return;
		}
		yes(event);
	});
	return button;
}
