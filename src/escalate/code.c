/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is asked about before it runs: how much of it is shown, and the hosts it may reach. */
#include "question.h"
#include "../base/escape.h"
#include "../base/hosts.h"

#include <string.h>

enum { CODE_SHOWN = 500 };

/* How many characters there are, and where the first CODE_SHOWN of them end. */
static size_t measure(const char *code, size_t *ret_end)
{
	size_t length = strlen(code), count = 0;

	*ret_end = length;
	for (size_t at = 0; at < length; count++) {
		unsigned ignored;
		size_t step = utf8_decode(code + at, length - at, &ignored);

		if (count == CODE_SHOWN)
			*ret_end = at;
		at += step ? step : 1;
	}
	return count;
}

bool code_is_long(const struct ask *ask)
{
	size_t end;

	return given(ask->code) && measure(ask->code, &end) > CODE_SHOWN;
}

void add_code(struct lines *lines, const struct ask *ask, bool whole)
{
	_cleanup_buffer_ struct buffer size = {0};
	_cleanup_free_ char *text = NULL;
	size_t count, end;

	if (!given(ask->code))
		return;
	count = measure(ask->code, &end);
	whole |= count <= CODE_SHOWN;
	text = strndup(ask->code, whole ? strlen(ask->code) : end);
	if (!text)
		abort();
	if (whole)
		buffer_printf(&size, "%zu characters", count);
	else
		buffer_printf(&size, "the first %d of %zu characters; m shows all", CODE_SHOWN,
			      count);
	add_field(lines, "code", WRAP_WORDS, buffer_text(&size));
	add_block(lines, STYLE_PLAIN, text);
}

int domains_read(const char *line, struct list *ret_domains, struct error **ret_error)
{
	_cleanup_free_ char *copy = strdup(line);
	char *rest = copy, *word;
	int r = 0;

	if (!copy)
		abort();
	while (r == 0 && (word = strsep(&rest, " ,"))) {
		if (!*word)
			continue;
		r = host_pattern_check(word, ret_error);
		if (r == 0 && !list_has(ret_domains, word))
			list_add(ret_domains, word);
	}
	return r;
}

void domains_grants(const struct list *before, const struct list *domains, struct list *ret_grants)
{
	static const char connect[] = "connect ";

	for (size_t i = 0; i < before->count; i++)
		if (strncmp(before->items[i], connect, strlen(connect)) != 0)
			list_add(ret_grants, before->items[i]);
	for (size_t i = 0; i < domains->count; i++)
		list_add_printf(ret_grants, "%s%s", connect, domains->items[i]);
}
