/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as every text of a question: what is drawn holds nothing but glyphs of known width and
 * ward's own styles, fits the width, and ends with the choices. The first byte sets the size. */
#include "../../src/base/escape.h"
#include "../../src/base/glyph.h"
#include "../../src/escalate/question.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, unsigned columns)
{
	size_t length = strlen(text), step;
	unsigned width = 0;

	for (size_t i = 0; i < length; i += step) {
		unsigned code = 0;

		if (text[i] == '\x1b') {
			if (text[i + 1] != '[' || !strchr("017", text[i + 2]) || text[i + 3] != 'm')
				abort();
			step = 4;
			continue;
		}
		step = utf8_decode(text + i, length - i, &code);
		if (step == 0 || glyph_width(code) == 0)
			abort();
		width += glyph_width(code);
	}
	if (width > columns)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned columns = size > 0 ? 40 + data[0] % 100 : 80, rows = size > 0 ? data[0] / 4 : 24;
	_cleanup_free_ char *text = strndup((const char *)data + (size > 0), size - (size > 0));
	char *items[] = {text, NULL};
	const char *words[] = {text, NULL};
	const struct list list = {items, 1, 2};
	const struct assessment assessment = {CLASS_ASK, RISK_HIGH, words, words};
	struct extent extents[] = {{text, &list, text}, {text, &list, text}, {text, &list, text}};
	const struct ask ask = {
		.kind = size % 3 ? ASK_RETRY : ASK_IN_PLACE,
		.command = text,
		.cwd = text,
		.agent = text,
		.session = text,
		.tool = text,
		.call_id = text,
		.turn = text,
		.reason = text,
		.why = text,
		.retry_reason = text,
		.assessment = &assessment,
		.refused = &list,
		.grants = &list,
		.covers = text,
		.always_rule = text,
		.always_file = text,
		.never_rule = text,
		.may_unsandbox = true,
		.starts_again = true,
		.operation = size % 5 ? NULL : text,
		.code = size % 5 ? NULL : text,
		.domains = &list,
		.program = text,
		.object = text,
		.note = text,
		.extents = extents,
		.extent_count = ELEMENTS(extents),
		.extent = size % ELEMENTS(extents),
	};
	_cleanup_list_ struct list whole = {0}, fitted = {0};

	ask_whole(&ask, columns, true, &whole);
	for (size_t i = 0; i < whole.count; i++)
		check(whole.items[i], columns);
	ask_fit(&ask, columns, rows, size % 2, &fitted);
	for (size_t i = 0; i < fitted.count; i++)
		check(fitted.items[i], columns);
	if (fitted.count > MAX(rows, 12u) || !strstr(fitted.items[fitted.count - 1], "help"))
		abort();
	return 0;
}
