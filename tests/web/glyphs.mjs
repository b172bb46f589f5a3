// SPDX-License-Identifier: Apache-2.0
// The same as glyphs.c by the pages' own module, whose path is the argument.
import {readFileSync} from 'node:fs';

const {readGlyphs} = await import(process.argv[2]);

for (const line of readFileSync(0, 'utf8').split('\n').slice(0, -1))
	process.stdout.write(`${readGlyphs(line).map((glyph) => (glyph.isCode ? '|' : '') + glyph.text).join('')}\n`);
