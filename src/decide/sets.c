/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of hosts: the built-in ones, the files that add to them, and what is asked of both. */
#include "sets_parts.h"
#include "layer.h"
#include "../base/buffer.h"
#include "../base/hosts.h"
#include "../base/path.h"

#include <arpa/inet.h>
#include <string.h>

static const char built_in[] =
#include <sets-data.h> /* made by the build from data/sets.yaml */
	;

static const char *const prefixes[] = {"registry:", "forge:", "model:"};

enum { WORD_LIMIT = 64, SUGGESTED_LIMIT = 16 };

/* What stands behind the prefix; NULL where there is none. */
static const char *word_of(const char *text)
{
	for (size_t i = 0; i < ELEMENTS(prefixes); i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return text + strlen(prefixes[i]);
	return NULL;
}

bool sets_is_name(const char *text)
{
	const char *word = word_of(text);
	size_t length = word ? strlen(word) : 0;

	return length > 0 && length <= WORD_LIMIT && word[0] >= 'a' && word[0] <= 'z' &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

bool sets_is_meant(const char *text)
{
	const char *word = word_of(text);

	return word && (*word < '0' || *word > '9');
}

int sets_check(const char *name, enum error_code code, struct error **ret_error)
{
	if (sets_is_name(name))
		return 0;
	fail(ret_error, code, "'%.100s' is not a set of hosts", name);
	error_hint(ret_error, "write registry:, forge: or model: and a word of small letters, "
			      "digits and '-', such as registry:npm");
	return -(int)code;
}

struct set *sets_find(const struct sets *sets, const char *name)
{
	for (size_t i = 0; i < sets->count; i++)
		if (strcmp(sets->items[i].name, name) == 0)
			return &sets->items[i];
	return NULL;
}

void set_add_host(struct set *set, const char *pattern, const char *origin, bool configured,
		  bool suggested)
{
	struct set_host *host;

	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->hosts[i].pattern, pattern) == 0 &&
		    (suggested || !set->hosts[i].suggested))
			return;
	set->hosts = reallocarray(set->hosts, set->count + 1, sizeof(*set->hosts));
	if (!set->hosts)
		abort();
	host = &set->hosts[set->count++];
	*host = (struct set_host){.pattern = strdup(pattern),
				  .origin = strdup(origin),
				  .configured = configured,
				  .suggested = suggested};
	if (!host->pattern || !host->origin)
		abort();
}

static void set_done(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->hosts[i].pattern);
		free(set->hosts[i].origin);
	}
	free(set->hosts);
	free(set->name);
	free(set->description);
	list_done(&set->programs);
}

void sets_done(struct sets *sets)
{
	for (size_t i = 0; i < sets->count; i++)
		set_done(&sets->items[i]);
	free(sets->items);
	*sets = (struct sets){0};
}

/* Where the machine and the user add to what is built in. Caller frees; may be NULL. */
static char *file_at(const struct sets_places *places, enum place place)
{
	if (place == PLACE_SYSTEM)
		return path_resolve(places->system ? places->system : "/etc", NULL,
				    "ward/sets.yaml");
	if (places->config_home && places->config_home[0] == '/')
		return path_resolve(places->config_home, NULL, "ward/sets.yaml");
	if (places->home && places->home[0] == '/')
		return path_resolve(places->home, NULL, ".config/ward/sets.yaml");
	return NULL;
}

/* 1 where there was a file. */
static int read_file_at(const struct sets_places *places, enum place place, const char *path,
			struct sets *sets, struct error **ret_error)
{
	const struct policy_places whose = {.uid = places->uid};
	_cleanup_free_ char *text = NULL;
	struct stamp stamp = {0};
	size_t length;
	bool trusted;
	int r = place_read(&whose, place, /* included= */ false, path, &stamp, &trusted, &text,
			   &length, ret_error);

	free(stamp.path);
	if (r <= 0)
		return r;
	r = sets_file_read(sets, text, length, path, ret_error);
	return r < 0 ? r : 1;
}

/* Where one set stands in what is built in, which is laid out alike throughout: a run that names a
 * set need not pay for all of them. Caller frees; NULL: there is none. */
static char *built_in_part(const char *name)
{
	_cleanup_free_ char *line = NULL;
	const char *start, *end;
	char *part;

	if (asprintf(&line, "\n  %s:\n", name) < 0)
		abort();
	start = strstr(built_in, line);
	if (!start)
		return NULL;
	for (end = start + strlen(line); strncmp(end, "    ", 4) == 0;)
		end += strcspn(end, "\n") + 1;
	if (asprintf(&part, "sets:%.*s", (int)(end - start), start) < 0)
		abort();
	return part;
}

/* What the files say, the tools aside; what is built in only of the set `only`, if it has that.
 * files (may be NULL) are those that were read. */
static int read_files(const struct sets_places *places, const char *only, struct sets *sets,
		      struct list *files, struct error **ret_error)
{
	_cleanup_free_ char *part = only ? built_in_part(only) : NULL;
	const char *text = part ? part : built_in;
	int r = sets_file_read(sets, text, strlen(text), /* name= */ "", ret_error);

	for (enum place place = PLACE_SYSTEM; place <= PLACE_USER && r >= 0; place++) {
		_cleanup_free_ char *path = file_at(places, place);

		r = path ? read_file_at(places, place, path, sets, ret_error) : 0;
		if (r > 0 && files)
			list_add(files, path);
	}
	return MIN(r, 0);
}

static int unknown(const struct sets *sets, const char *name, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer known = {0};

	for (size_t i = 0; i < sets->count; i++)
		buffer_printf(&known, "%s%s", i ? ", " : "", sets->items[i].name);
	fail(ret_error, E_USAGE, "there is no set of hosts called '%.100s'", name);
	return error_hint(ret_error, "there are: %s", buffer_text(&known));
}

int sets_load(const struct sets_places *places, const char *only, struct sets *ret_sets,
	      struct error **ret_error)
{
	_cleanup_sets_ struct sets sets = {0};
	int r = read_files(places, only, &sets, /* files= */ NULL, ret_error);

	if (r == 0 && only && !sets_find(&sets, only))
		r = unknown(&sets, only, ret_error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sets.count; i++)
		if (!only || strcmp(sets.items[i].name, only) == 0)
			sets_tools_add(&sets.items[i], places);
	*ret_sets = sets;
	sets = (struct sets){0};
	return 0;
}

bool sets_is_known(const char *name, const struct sets_places *places)
{
	_cleanup_sets_ struct sets sets = {0};
	_cleanup_free_ char *part = sets_is_name(name) ? built_in_part(name) : NULL;

	if (part || !places || !sets_is_name(name))
		return part;
	return read_files(places, name, &sets, /* files= */ NULL, /* ret_error= */ NULL) == 0 &&
	       sets_find(&sets, name);
}

int sets_expand(const char *name, const struct sets_places *places, struct list *hosts,
		struct error **ret_error)
{
	_cleanup_sets_ struct sets sets = {0};
	const struct set *set;
	int r = sets_load(places, name, &sets, ret_error);

	if (r < 0)
		return r;
	set = sets_find(&sets, name);
	for (size_t i = 0; i < set->count; i++)
		if (!set->hosts[i].suggested && !list_has(hosts, set->hosts[i].pattern))
			list_add(hosts, set->hosts[i].pattern);
	return 0;
}

/* A target that is looked for. */
struct target {
	const char *host;
	uint16_t port;
	const char *program;
};

static enum host_access judge(const struct host_rules *rules, const struct target *target)
{
	struct in6_addr address;

	if (strcmp(target->host, "localhost") == 0)
		return host_rules_loopback(rules, target->port);
	if (address_read(target->host, &address))
		return host_rules_address(rules, &address, target->port, /* named= */ false,
					  /* ret_rule= */ NULL);
	return host_rules_name(rules, target->host, target->port);
}

static bool covers(const char *pattern, const struct target *target)
{
	struct host_rules rules = {0};
	bool result = false;

	if (host_rules_add(&rules, pattern, /* deny= */ false, /* ret_error= */ NULL) == 0)
		result = judge(&rules, target) == HOST_ALLOWED;
	host_rules_done(&rules);
	return result;
}

enum { SCORE_FILE = 1, SCORE_TRUSTED = 2, SCORE_PROGRAM = 4 };

/* How well a target fits into a set; 0: it is none of its hosts. */
static int score(const struct set *set, const struct target *target)
{
	int best = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct set_host *host = &set->hosts[i];
		/* A suggestion alone counts for nothing: about a program that is none of the set's,
		 * the workspace has no word. */
		int value = host->suggested    ? 0
			    : host->configured ? SCORE_TRUSTED
					       : SCORE_TRUSTED | SCORE_FILE;

		if (!covers(host->pattern, target))
			continue;
		if (target->program && list_has(&set->programs, path_last(target->program)))
			value |= SCORE_PROGRAM;
		best = MAX(best, value);
	}
	return best;
}

static void add_suggested(const struct set *set, const struct target *target, bool first,
			  struct list *suggested)
{
	for (size_t i = 0; i < set->count && suggested->count < SUGGESTED_LIMIT; i++)
		if (set->hosts[i].suggested && covers(set->hosts[i].pattern, target) == first)
			list_add(suggested, set->hosts[i].pattern);
}

char *sets_of(const char *host, uint16_t port, const char *program,
	      const struct sets_places *places, struct list *hosts, struct list *suggested)
{
	const struct target target = {.host = host, .port = port, .program = program};
	_cleanup_sets_ struct sets sets = {0};
	const struct set *best = NULL;
	int best_score = 0;

	if (sets_load(places, /* only= */ NULL, &sets, /* ret_error= */ NULL) < 0)
		return NULL;
	for (size_t i = 0; i < sets.count; i++) {
		int value = score(&sets.items[i], &target);

		if (value > best_score) {
			best_score = value;
			best = &sets.items[i];
		}
	}
	if (!best)
		return NULL;
	for (size_t i = 0; i < best->count && best_score & SCORE_TRUSTED; i++)
		if (!best->hosts[i].suggested && !list_has(hosts, best->hosts[i].pattern))
			list_add(hosts, best->hosts[i].pattern);
	add_suggested(best, &target, /* first= */ true, suggested);
	add_suggested(best, &target, /* first= */ false, suggested);
	return strdup(best->name);
}

int sets_check_files(const struct sets_places *places, struct list *files, struct error **ret_error)
{
	_cleanup_sets_ struct sets sets = {0};

	return read_files(places, /* only= */ NULL, &sets, files, ret_error);
}

int sets_check_file(const char *path, struct error **ret_error)
{
	const struct sets_places places = {.uid = geteuid()};
	_cleanup_sets_ struct sets sets = {0};

	return MIN(read_file_at(&places, PLACE_EXTRA, path, &sets, ret_error), 0);
}

int sets_parse(const char *text, size_t length, const char *name, struct error **ret_error)
{
	_cleanup_sets_ struct sets sets = {0};

	return sets_file_read(&sets, text, length, name, ret_error);
}
