/* SPDX-License-Identifier: Apache-2.0 */
/* Caveats as people read them: a word and what it is about. A table; what is not in it is refused,
 * because nobody can hold to what he does not understand. */
#include "parts.h"
#include "../base/path.h"
#include "../base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void caveat_time(int64_t when, char ret_text[CAVEAT_TIME])
{
	time_t seconds = (time_t)when;
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) || parts.tm_year > 9999 - 1900 ||
	    strftime(ret_text, CAVEAT_TIME, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		abort();
}

/* Exactly as it is written, so that there is one text for one time. */
int caveat_read_time(const char *text, int64_t *ret_time)
{
	struct tm parts = {0};
	char again[CAVEAT_TIME];
	time_t seconds;

	if (strlen(text) != 20 ||
	    sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
		   &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6)
		return -1;
	parts.tm_year -= 1900;
	parts.tm_mon--;
	seconds = timegm(&parts);
	if (seconds < 0)
		return -1;
	caveat_time(seconds, again);
	if (strcmp(text, again) != 0)
		return -1;
	*ret_time = seconds;
	return 0;
}

/* The value of one caveat into the powers; false where it is not to be understood. */
typedef bool take_function(const char *value, const char *mark, struct powers *powers);

static bool take_agent(const char *value, const char *mark _unused_, struct powers *powers)
{
	if (!*value)
		return false;
	if (powers->agent && strcmp(powers->agent, value) != 0)
		return false; /* nobody is two agents */
	free(powers->agent);
	powers->agent = strdup(value);
	return true;
}

static bool take_expires(const char *value, const char *mark _unused_, struct powers *powers)
{
	int64_t expires;

	if (caveat_read_time(value, &expires) < 0)
		return false;
	if (!powers->expires || expires < powers->expires)
		powers->expires = expires;
	return true;
}

static bool take_workspace(const char *value, const char *mark _unused_, struct powers *powers)
{
	_cleanup_free_ char *normal = path_normalise(value);

	if (value[0] != '/' || strcmp(normal, value) != 0)
		return false;
	list_add(&powers->workspaces, value);
	return true;
}

static bool take_command(const char *value, const char *mark _unused_, struct powers *powers)
{
	static const char kind[] = "sha256:";
	const char *hash = value + strlen(kind);

	if (strncmp(value, kind, strlen(kind)) != 0 || strlen(hash) != TOKEN_COMMAND - 1 ||
	    strspn(hash, "0123456789abcdef") != TOKEN_COMMAND - 1)
		return false;
	if (powers->command[0] && strcmp(powers->command, hash) != 0)
		return false;
	memcpy(powers->command, hash, TOKEN_COMMAND);
	return true;
}

static bool take_uses(const char *value, const char *mark, struct powers *powers)
{
	struct token_use *use;
	uint64_t most;

	/* In an approval it would be counted under no name, with those of all others. */
	if (!*mark || strspn(value, "0123456789") != strlen(value) || value[0] == '0' ||
	    strlen(value) > 15 || parse_count(value, &most, NULL) < 0)
		return false;
	powers->uses = reallocarray(powers->uses, powers->use_count + 1, sizeof(*use));
	if (!powers->uses)
		abort();
	use = &powers->uses[powers->use_count++];
	*use = (struct token_use){.most = most, .expires = powers->expires};
	snprintf(use->mark, sizeof(use->mark), "%s", mark);
	return true;
}

/* Lines of which each begins with the word: any of them is allowed by this caveat. */
static bool take_allow(const char *value, const char *mark _unused_, struct powers *powers)
{
	static const char next[] = "\nallow ";
	struct list *list;

	powers->allows =
		reallocarray(powers->allows, powers->allow_count + 1, sizeof(*powers->allows));
	if (!powers->allows)
		abort();
	list = &powers->allows[powers->allow_count++];
	*list = (struct list){0};
	for (const char *end; value; value = end ? end + strlen(next) : NULL) {
		_cleanup_free_ char *line = NULL;

		end = strstr(value, next);
		line = end ? strndup(value, (size_t)(end - value)) : strdup(value);
		if (!*line || strchr(line, '\n'))
			return false;
		list_take(list, STEAL(line));
	}
	return true;
}

static const struct {
	const char *word;
	take_function *take;
	bool lines; /* it may have several */
} kinds[] = {
	{"allow ", take_allow, true},	   {"agent ", take_agent, false},
	{"expires ", take_expires, false}, {"workspace ", take_workspace, false},
	{"command ", take_command, false}, {"uses ", take_uses, false},
};

int caveat_take(const struct bytes *text, const char *mark, struct powers *powers,
		struct error **ret_error)
{
	_cleanup_free_ char *line = strndup((const char *)text->data, text->length);

	for (size_t i = 0; strlen(line) == text->length && i < ELEMENTS(kinds); i++) {
		const char *value = line + strlen(kinds[i].word);

		if (strncmp(line, kinds[i].word, strlen(kinds[i].word)) != 0)
			continue;
		for (const char *c = line; *c; c++)
			if (((unsigned char)*c < ' ' && !(*c == '\n' && kinds[i].lines)) ||
			    *c == 0x7f)
				value = NULL;
		if (value && kinds[i].take(value, mark, powers))
			return 0;
		return fail(ret_error, E_REJECTED, "the token's caveat about '%.*s' cannot hold",
			    (int)strlen(kinds[i].word) - 1, kinds[i].word);
	}
	fail(ret_error, E_REJECTED, "the token has a caveat that this ward does not know");
	return error_hint(ret_error, "`ward token show` prints its caveats");
}

static bool add_text(struct macaroon *macaroon, const char *word, const char *value)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_printf(&text, "%s %s", word, value);
	return macaroon_add(macaroon, text.data, text.length);
}

static bool add_allow(struct macaroon *macaroon, const struct list *allow)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < allow->count; i++)
		buffer_printf(&text, "%sallow %s", i ? "\n" : "", allow->items[i]);
	return macaroon_add(macaroon, text.data, text.length);
}

int caveats_write(struct macaroon *macaroon, const struct caveats *caveats,
		  struct error **ret_error)
{
	char when[CAVEAT_TIME], uses[24];
	_cleanup_buffer_ struct buffer command = {0};
	struct powers checked = {0};
	size_t from = macaroon->count;
	bool whole = true;
	int r = 0;

	caveat_time(caveats->expires, when);
	snprintf(uses, sizeof(uses), "%" PRIu64, caveats->uses);
	buffer_printf(&command, "sha256:%s", caveats->command ? caveats->command : "");
	if (caveats->allow && caveats->allow->count)
		whole = add_allow(macaroon, caveats->allow);
	if (caveats->agent)
		whole = whole && add_text(macaroon, "agent", caveats->agent);
	if (caveats->expires)
		whole = whole && add_text(macaroon, "expires", when);
	if (caveats->workspace)
		whole = whole && add_text(macaroon, "workspace", caveats->workspace);
	if (caveats->command)
		whole = whole && add_text(macaroon, "command", command.data);
	if (caveats->uses)
		whole = whole && add_text(macaroon, "uses", uses);
	if (!whole) {
		fail(ret_error, E_USAGE, "a token has at most %d caveats of at most %d bytes",
		     MACAROON_CAVEATS, MACAROON_FIELD);
		return error_hint(ret_error, "say less, or mint another one");
	}
	/* What cannot be read again is not written. */
	for (size_t i = from; i < macaroon->count && r == 0; i++)
		r = caveat_take(&macaroon->caveats[i].id, "new", &checked, ret_error);
	powers_done(&checked);
	return r;
}
