/* SPDX-License-Identifier: Apache-2.0 */
/* Shows each line of standard input as ward's terminal does, for the pages to be held against. */
#include "../../src/base/glyph.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *line = NULL;
	size_t size = 0, count;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) > 0) {
		struct glyph *glyphs = glyphs_read(line, (size_t)length - 1, &count);

		for (size_t i = 0; i < count; i++)
			printf("%s%.*s", glyphs[i].is_code ? "|" : "", glyphs[i].length,
			       glyphs[i].text);
		putchar('\n');
		free(glyphs);
	}
	free(line);
	return 0;
}
