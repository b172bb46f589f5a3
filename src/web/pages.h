/* SPDX-License-Identifier: Apache-2.0 */
/* The pages, as they were built into the program from web/. */
#pragma once

#include <stddef.h>

struct web_page {
	const char *path; /* "/app.js" */
	const char *type; /* its media type */
	const char *tag;  /* of this very text, quoted, as ETag has it */
	const unsigned char *data;
	size_t length;
};

/* NULL: there is none. */
const struct web_page *page_find(const char *path);
