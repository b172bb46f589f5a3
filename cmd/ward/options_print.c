/* SPDX-License-Identifier: Apache-2.0 */
/* From a request back to flags, over the same table: a new flag joins by its kind. */
#include "options_table.h"
#include "../../src/base/escape.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
	const char *name;
	uint64_t size;
};

/* In the largest unit that leaves nothing over; the last is 1, or what is left has three digits. */
static char *amount_text(uint64_t amount, const struct unit *units)
{
	char *text;
	int r;

	while (units[1].name && amount % units->size)
		units++;
	r = amount % units->size
		    ? asprintf(&text, "%" PRIu64 ".%03" PRIu64 "%s", amount / units->size,
			       amount % units->size, units->name)
		    : asprintf(&text, "%" PRIu64 "%s", amount / units->size, units->name);
	if (r < 0)
		abort();
	return text;
}

static const struct unit bytes[] = {
	{"G", UINT64_C(1) << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}, {NULL, 0}};
static const struct unit times[] = {{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
				    {"ms", 1000000},	  {"us", 1000},	      {NULL, 0}};
static const struct unit shares[] = {{"", 1000}, {NULL, 0}};
static const struct unit ones[] = {{"", 1}, {NULL, 0}};

static const char *const *words_of(const struct option *option, const struct request *request,
				   const char *one[static 2], char **ret_made)
{
	const void *field = (const char *)request + option->offset;
	const struct list *list = field;
	uint64_t number = option->kind == SIZE || option->kind == DURATION || option->kind == CPU ||
					  option->kind == COUNT
				  ? *(const uint64_t *)field
				  : 0;

	switch (option->kind) {
	case WORD:
	case PLACE:
		one[0] = *(char *const *)field;
		break;
	case LIST:
	case VARIABLE:
	case HOST:
	case PUBLISH:
	case CONTAINER:
		return list->count ? (const char *const *)list->items : one;
	case SIZE:
		one[0] = *ret_made = number ? amount_text(number, bytes) : NULL;
		break;
	case COUNT:
		one[0] = *ret_made = number ? amount_text(number, ones) : NULL;
		break;
	case DURATION:
		one[0] = *ret_made = number ? amount_text(number, times) : NULL;
		break;
	case CPU:
		one[0] = *ret_made = number ? amount_text(number, shares) : NULL;
		break;
	case LEVEL:
		one[0] = request->has_level ? level_name(request->level) : NULL;
		break;
	case NETWORK:
		one[0] = request->has_network ? network_name(request->network) : NULL;
		break;
	case APPROVAL:
		one[0] = request->has_approval ? approval_name(request->approval) : NULL;
		break;
	case CACHES:
		one[0] = request->has_caches ? caches_name(request->caches) : NULL;
		break;
	case PREFERENCE:
		one[0] = request->sandbox != PREFERENCE_AUTO ? preference_name(request->sandbox)
							     : NULL;
		break;
	case ESCALATION:
		one[0] = request->escalation != ESCALATION_UNSANDBOXED
				 ? escalation_name(request->escalation)
				 : NULL;
		break;
	case FLAG:
	case HELP:
		break;
	}
	return one;
}

/* -q is --quiet. */
static bool is_another_name(const struct option *option)
{
	for (const struct option *other = options_table; other < option; other++)
		if (other->kind == option->kind && other->offset == option->offset)
			return true;
	return false;
}

void options_print(const struct request *request, struct buffer *line)
{
	for (const struct option *option = options_table; option->name; option++) {
		const char *one[2] = {NULL, NULL};
		_cleanup_free_ char *made = NULL;
		const char *const *words;

		if (option->kind == HELP || is_another_name(option))
			continue;
		if (option->kind == FLAG) {
			if (*(const bool *)((const char *)request + option->offset))
				buffer_printf(line, " %s", option->name);
			continue;
		}
		for (words = words_of(option, request, one, &made); *words; words++) {
			buffer_printf(line, " %s ", option->name);
			escape_for_bash(line, *words);
		}
	}
}
