// SPDX-License-Identifier: Apache-2.0
// Which characters can be trusted to look like what they are: src/base/glyph.c for the pages. A test holds the two against
// each other, character by character.

// What stands for itself, in order. Everything else is shown by its code.
const upright = [
	[0x20, 0x7e], [0xa1, 0xac], [0xae, 0x2ff], [0x370, 0x373], [0x376, 0x377], [0x37b, 0x37f],
	[0x384, 0x38a], [0x38c, 0x38c], [0x38e, 0x3a1], [0x3a3, 0x481], [0x48a, 0x52f], [0x531, 0x556],
	[0x55a, 0x58a], [0x10d0, 0x10ff], [0x13a0, 0x13f5], [0x1d00, 0x1dbf], [0x1e00, 0x1f15], [0x1f20,
	0x1f45], [0x1f50, 0x1f57], [0x1f60, 0x1f7d], [0x1f80, 0x1fb4], [0x2010, 0x2027], [0x2030,
	0x205e], [0x2070, 0x2071], [0x2074, 0x208e], [0x20a0, 0x20c0], [0x2100, 0x218b], [0x2190,
	0x22ff], [0x2300, 0x23ff], [0x2460, 0x24ff], [0x2500, 0x259f], [0x25a0, 0x27bf], [0x27c0,
	0x27ff], [0x2801, 0x28ff], [0x2900, 0x2aff], [0x2b00, 0x2bff], [0x2c60, 0x2cee], [0x2e80,
	0x2fd5], [0x3001, 0x3029], [0x3030, 0x303e], [0x3041, 0x3096], [0x309b, 0x30ff], [0x3105,
	0x312f], [0x3131, 0x3163], [0x3165, 0x318e], [0x3190, 0x4dff], [0x4e00, 0xa48c], [0xa4d0,
	0xa4ff], [0xa640, 0xa66e], [0xa680, 0xa69d], [0xa700, 0xa7ca], [0xab30, 0xabbf], [0xac00,
	0xd7a3], [0xf900, 0xfad9], [0xfb00, 0xfb06], [0xfe30, 0xfe6b], [0xff01, 0xff60], [0xff61,
	0xff9f], [0xffe0, 0xffe6], [0xfffd, 0xfffd], [0x1d400, 0x1d7ff], [0x1f000, 0x1f3fa], [0x1f400,
	0x1faff], [0x20000, 0x323af],
];

// Characters of other scripts that common fonts draw like ASCII.
const lookalikes = new Map([
	[0xb4, "'"], [0xb8, ','], [0xd7, 'x'], [0x131, 'i'], [0x17f, 'f'], [0x184, 'b'], [0x1bd, 's'],
	[0x1c0, 'l'], [0x1c3, '!'], [0x251, 'a'], [0x261, 'g'], [0x26a, 'i'], [0x28b, 'v'],
	[0x2b9, "'"], [0x2bb, "'"], [0x2bc, "'"], [0x2c2, '<'], [0x2c3, '>'], [0x2c6, '^'],
	[0x2c8, "'"], [0x2cb, '`'], [0x2d0, ':'], [0x2d7, '-'], [0x2dc, '~'], [0x37e, ';'],
	[0x37f, 'J'], [0x384, "'"], [0x387, '.'], [0x391, 'A'], [0x392, 'B'], [0x395, 'E'],
	[0x396, 'Z'], [0x397, 'H'], [0x399, 'I'], [0x39a, 'K'], [0x39c, 'M'], [0x39d, 'N'],
	[0x39f, 'O'], [0x3a1, 'P'], [0x3a4, 'T'], [0x3a5, 'Y'], [0x3a7, 'X'], [0x3b1, 'a'],
	[0x3b3, 'y'], [0x3b9, 'i'], [0x3ba, 'k'], [0x3bd, 'v'], [0x3bf, 'o'], [0x3c1, 'p'],
	[0x3c3, 'o'], [0x3c5, 'u'], [0x3c9, 'w'], [0x3f2, 'c'], [0x3f3, 'j'], [0x3f9, 'C'],
	[0x405, 'S'], [0x406, 'I'], [0x408, 'J'], [0x410, 'A'], [0x412, 'B'], [0x415, 'E'],
	[0x417, '3'], [0x41a, 'K'], [0x41c, 'M'], [0x41d, 'H'], [0x41e, 'O'], [0x420, 'P'],
	[0x421, 'C'], [0x422, 'T'], [0x423, 'Y'], [0x425, 'X'], [0x42c, 'b'], [0x430, 'a'],
	[0x433, 'r'], [0x435, 'e'], [0x43a, 'k'], [0x43c, 'm'], [0x43d, 'h'], [0x43e, 'o'],
	[0x43f, 'n'], [0x440, 'p'], [0x441, 'c'], [0x442, 't'], [0x443, 'y'], [0x445, 'x'],
	[0x44c, 'b'], [0x455, 's'], [0x456, 'i'], [0x458, 'j'], [0x461, 'w'], [0x475, 'v'],
	[0x4ae, 'Y'], [0x4af, 'y'], [0x4bb, 'h'], [0x4bd, 'e'], [0x4c0, 'l'], [0x4cf, 'l'],
	[0x501, 'd'], [0x50c, 'G'], [0x51b, 'q'], [0x51c, 'W'], [0x51d, 'w'], [0x54d, 'U'],
	[0x54f, 'S'], [0x555, 'O'], [0x55a, "'"], [0x561, 'w'], [0x563, 'q'], [0x566, 'q'],
	[0x570, 'h'], [0x578, 'n'], [0x57c, 'n'], [0x57d, 'u'], [0x581, 'g'], [0x584, 'f'],
	[0x585, 'o'], [0x589, ':'], [0x10e7, 'y'], [0x10ff, 'o'], [0x13a0, 'D'], [0x13a1, 'R'],
	[0x13a2, 'T'], [0x13a9, 'Y'], [0x13aa, 'A'], [0x13ab, 'J'], [0x13ac, 'E'], [0x13b3, 'W'],
	[0x13b7, 'M'], [0x13bb, 'H'], [0x13bd, 'Y'], [0x13c0, 'G'], [0x13c3, 'Z'], [0x13cf, 'b'],
	[0x13d4, 'W'], [0x13d5, 'S'], [0x13d9, 'V'], [0x13da, 'S'], [0x13de, 'L'], [0x13df, 'C'],
	[0x13e2, 'P'], [0x13e6, 'K'], [0x13f3, 'G'], [0x1d04, 'c'], [0x1d0f, 'o'], [0x1d1c, 'u'],
	[0x1d20, 'v'], [0x1d21, 'w'], [0x1d22, 'z'], [0x1d26, 'r'], [0x1e9d, 'f'], [0x2010, '-'],
	[0x2011, '-'], [0x2012, '-'], [0x2013, '-'], [0x2018, "'"], [0x2019, "'"], [0x201a, ','],
	[0x201b, "'"], [0x201c, '"'], [0x201d, '"'], [0x201f, '"'], [0x2024, '.'], [0x2032, "'"],
	[0x2033, '"'], [0x2035, '`'], [0x2039, '<'], [0x203a, '>'], [0x2043, '-'], [0x2044, '/'],
	[0x204e, '*'], [0x2212, '-'], [0x2215, '/'], [0x2216, '\\'], [0x2217, '*'], [0x2223, '|'],
	[0x2236, ':'], [0x223c, '~'], [0x22c1, 'v'], [0x2571, '/'], [0x2572, '\\'], [0x2768, '('],
	[0x2769, ')'], [0x276e, '<'], [0x276f, '>'], [0x2774, '{'], [0x2775, '}'], [0x27cb, '/'],
	[0x27cd, '\\'], [0x29f5, '\\'], [0x29f8, '/'], [0x29f9, '\\'], [0x2c82, 'B'], [0x2c85, 'r'],
	[0x2c8e, 'H'], [0x2c92, 'I'], [0x2c94, 'K'], [0x2c98, 'M'], [0x2c9a, 'N'], [0x2c9e, 'O'],
	[0x2c9f, 'o'], [0x2ca2, 'P'], [0x2ca3, 'p'], [0x2ca4, 'C'], [0x2ca5, 'c'], [0x2ca6, 'T'],
	[0x2cac, 'X'], [0x2cd0, 'L'], [0x3003, '"'], [0x3014, '('], [0x3015, ')'], [0x30ce, '/'],
	[0x31d1, '|'], [0x31d3, '/'], [0xa4d0, 'B'], [0xa4d1, 'P'], [0xa4d2, 'd'], [0xa4d3, 'D'],
	[0xa4d4, 'T'], [0xa4d6, 'G'], [0xa4d7, 'K'], [0xa4d9, 'J'], [0xa4da, 'C'], [0xa4dc, 'Z'],
	[0xa4dd, 'F'], [0xa4df, 'M'], [0xa4e0, 'N'], [0xa4e1, 'L'], [0xa4e2, 'S'], [0xa4e3, 'R'],
	[0xa4e6, 'V'], [0xa4e7, 'H'], [0xa4ea, 'W'], [0xa4eb, 'X'], [0xa4ec, 'Y'], [0xa4ee, 'A'],
	[0xa4f0, 'E'], [0xa4f2, 'l'], [0xa4f3, 'O'], [0xa4f4, 'U'], [0xa4f8, '.'], [0xa4fd, ':'],
	[0xa731, 's'], [0xa789, ':'], [0xa78c, "'"], [0xab47, 'r'], [0xab75, 'i'], [0xab83, 'w'],
	[0xab93, 'z'], [0xaba9, 'v'], [0xabaa, 's'], [0xabaf, 'c'],
]);

function isUpright(code) {
	let low = 0;
	let high = upright.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (code < upright[middle][0])
			high = middle;
		else if (code > upright[middle][1])
			low = middle + 1;
		else
			return true;
	}
	return false;
}

const within = (code, first, last) => code >= first && code <= last;

// The ASCII character that one of another script passes for, '?' for one of several, '' for none.
function lookalike(code) {
	const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
	const roman = 'I---V----X--LCDMi---v----x--lcdm';

	if (code < 0x80)
		return '';
	if (within(code, 0xff01, 0xff5e))
		return String.fromCharCode(code - 0xff01 + 0x21);
	if (within(code, 0x1d400, 0x1d6a3)) // letters for mathematics, in 13 styles
		return letters[(code - 0x1d400) % 52];
	if (within(code, 0x1d7ce, 0x1d7ff))
		return String((code - 0x1d7ce) % 10);
	if (within(code, 0x2160, 0x217f))
		return roman[code - 0x2160] === '-' ? '?' : roman[code - 0x2160];
	if (within(code, 0x1d6a4, 0x1d7cd) || within(code, 0x2100, 0x2138) || within(code, 0x2070, 0x208e) ||
	    within(code, 0xfb00, 0xfb06) || within(code, 0xfe50, 0xfe6b) || within(code, 0x1d2c, 0x1dbf) ||
	    within(code, 0x2b0, 0x2b8))
		return '?'; // letter-like signs, raised and lowered letters, ligatures, small forms
	return lookalikes.get(code) || '';
}

const isLetter = (code) => within(code, 0x41, 0x5a) || within(code, 0x61, 0x7a);

// Letters of an alphabet other than ASCII, roughly; not signs, and not ASCII letters in costume.
function isForeignLetter(code) {
	return (code >= 0xc0 && code < 0x2000 && !(code >= 0x2b0 && code < 0x370) && !(code >= 0x1d00 && code < 0x1e00)) ||
	       (code >= 0x2c00 && code < 0xfb00 && !(code >= 0x3000 && code < 0x3040)) || code >= 0x20000;
}

const inWord = (glyph) => !glyph.isCode &&
	(isLetter(glyph.code) || isForeignLetter(glyph.code) || within(glyph.code, 0x30, 0x39));

const blanks = new Map([[0x0a, '\\n'], [0x09, '\\t'], [0x0d, '\\r']]);

function showCode(glyph) {
	const digits = glyph.code.toString(16);

	glyph.isCode = true;
	glyph.text = glyph.code < 0x100 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits.padStart(4, '0')}}`;
}

// A word in an alphabet of its own is shown as it is written. One that mixes letters that pass for ASCII with ASCII, or that is
// made of nothing else, could be taken for another word.
function markLookalikes(word) {
	const ascii = word.some((glyph) => isLetter(glyph.code));
	const foreign = word.some((glyph) => glyph.code >= 0x80 && !glyph.like);

	for (const glyph of word) {
		if (glyph.like && (ascii || !foreign))
			showCode(glyph);
		else
			glyph.like = '';
	}
}

function readGlyph(character) {
	const code = character.codePointAt(0);
	const glyph = {text: character, code, isCode: false, like: ''};

	if (!isUpright(code)) {
		showCode(glyph);
		glyph.text = blanks.get(code) || glyph.text;
		return glyph;
	}
	glyph.like = lookalike(code);
	// Signs and styled letters belong to no word: they are never what they seem.
	if (glyph.like && !(isForeignLetter(code) && isLetter(glyph.like.charCodeAt(0))))
		showCode(glyph);
	return glyph;
}

// The text as a row of glyphs: {text: what to draw, code, isCode: drawn as \xNN or \u{NNNN}, like: the ASCII character that it
// passes for}. Every character comes out in some glyph.
export function readGlyphs(text) {
	const glyphs = Array.from(text, readGlyph);
	let start = 0;

	for (let i = 0; i <= glyphs.length; i++) {
		if (i < glyphs.length && inWord(glyphs[i]))
			continue;
		if (i > start)
			markLookalikes(glyphs.slice(start, i));
		start = i + 1;
	}
	return glyphs;
}

// The same in runs of one kind, for drawing: [{text, isCode, title}].
export function readRuns(text) {
	const runs = [];

	// Nearly all text is this, and a page has much of it.
	if (/^[\x20-\x7e]*$/.test(text))
		return text ? [{text, isCode: false, title: ''}] : [];
	for (const glyph of readGlyphs(text)) {
		const last = runs[runs.length - 1];

		if (last && !last.isCode && !glyph.isCode)
			last.text += glyph.text;
		else
			runs.push({text: glyph.text, isCode: glyph.isCode,
				   title: glyph.like && glyph.like !== '?' ? `looks like ${glyph.like}` : ''});
	}
	return runs;
}
