/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <web-pages.h> /* made by the build from web/ */

#include <string.h>

const struct web_page *page_find(const char *path)
{
	for (const struct web_page *page = pages; page->path; page++)
		if (strcmp(page->path, path) == 0)
			return page;
	return NULL;
}
