/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a patch is about. */
#include "hook.h"

#include <string.h>

void patch_paths(const char *patch, struct list *ret_paths)
{
	static const char *const marks[] = {
		"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "};

	for (const char *line = patch; line && *line;) {
		size_t length = strcspn(line, "\r\n");

		for (size_t i = 0; i < ELEMENTS(marks); i++) {
			size_t mark = strlen(marks[i]);

			if (length > mark && strncmp(line, marks[i], mark) == 0)
				list_add_printf(ret_paths, "%.*s", (int)(length - mark),
						line + mark);
		}
		line += length;
		line += strspn(line, "\r\n");
	}
}
