/* SPDX-License-Identifier: Apache-2.0 */
/* ward's entries in an agent's settings. Others' entries, the order of keys and the layout stay as
 * they are. */
#include "setup.h"
#include "setup_text.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_EDITS = 64 };

/* Where the first comment stands, or 0: a line, counted from 1. */
static int comment_line(const char *text, size_t length)
{
	int line = 1;
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\n')
			line++;
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (!quoted && text[i] == '/' && i + 1 < length &&
			 (text[i + 1] == '/' || text[i + 1] == '*'))
			return line;
	}
	return 0;
}

int setup_check(const char *text, size_t length, const char *file, struct error **ret_error)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	json_error_t at;
	json_t *object;
	int line, r = 0;

	if (length > SETUP_LIMIT)
		return fail(ret_error, E_INPUT, "%s is longer than %d MiB", file,
			    SETUP_LIMIT >> 20);
	if (strspn(text, " \t\r\n") == length)
		return 0;
	object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
	if (!object) {
		line = comment_line(text, length);
		if (line && line <= at.line)
			fail(ret_error, E_INPUT,
			     "there is a comment, and ward changes plain JSON only");
		else
			fail(ret_error, E_INPUT, "this is not JSON: %s", at.text);
		return error_place(ret_error, file, line && line <= at.line ? line : at.line,
				   line && line <= at.line ? 1 : MAX(at.column, 1));
	}
	if (!json_is_object(object))
		r = fail(ret_error, E_INPUT, "%s is JSON, but not an object", file);
	else if (!node_read(arena, text))
		r = fail(ret_error, E_INPUT, "%s is nested too deeply", file);
	json_decref(object);
	return r;
}

/* --- whose an entry is ------------------------------------------------------------------------ */

/* One word of shell text, as escape_for_shell() writes it or a person would; NULL where it is more.
 * What ~ and variables in it stand for makes no difference here. Caller frees. */
static char *unquote(const char *text, size_t length)
{
	struct buffer word = {0};
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\'') {
			quoted = !quoted;
		} else if (!quoted && text[i] == '"') {
			continue;
		} else if (!quoted && text[i] == '\\' && i + 1 < length) {
			buffer_add_char(&word, text[++i]);
		} else if (!quoted && strchr(" \t\r\n;&|<>()`*?[]#!", text[i])) {
			buffer_done(&word);
			return NULL;
		} else {
			buffer_add_char(&word, text[i]);
		}
	}
	return buffer_steal(&word);
}

bool setup_is_ward(const char *program)
{
	const char *name = path_last(program);

	return strncmp(name, "ward", 4) == 0 && !isalpha((unsigned char)name[4]);
}

static const char *const otherwise[] = {" || /bin/sh -c 'cat >/dev/null; exit 2'", " || exit 2"};

/* `ward hook`, by whatever path, as this or an earlier ward or a person wrote it. */
static bool is_own_command(const char *command)
{
	_cleanup_free_ char *word = NULL;
	size_t length = strlen(command);

	for (size_t i = 0; i < ELEMENTS(otherwise); i++)
		if (length > strlen(otherwise[i]) &&
		    strcmp(command + length - strlen(otherwise[i]), otherwise[i]) == 0) {
			length -= strlen(otherwise[i]);
			break;
		}
	if (length < 6 || strncmp(command + length - 5, " hook", 5) != 0)
		return false;
	word = unquote(command, length - 5);
	return word && setup_is_ward(word);
}

/* A hook with its words apart: {"command": "ward", "args": ["hook"]}. */
static bool has_own_words(struct arena *arena, const struct node *hook, const char *text)
{
	const char *command = node_string(arena, node_member(hook, "command"), text), *first;
	const struct node *words = node_member(hook, "args");

	if (!command || !words || words->kind != '[' || words->count != 1)
		return false;
	first = node_string(arena, words->first, text);
	return first && strcmp(first, "hook") == 0 && setup_is_ward(command);
}

static bool is_own(struct arena *arena, const struct node *hook, const char *text)
{
	const char *command = node_string(arena, node_member(hook, "command"), text);

	return command && (node_member(hook, "args") ? has_own_words(arena, hook, text)
						     : is_own_command(command));
}

/* --- finding it ------------------------------------------------------------------------------- */

/* An entry of ward's, with the lists that it stands in. */
struct found {
	struct node *list, *entry; /* of an event */
	struct node *inner, *hook; /* in a group; else the entry itself is the hook */
};

static bool find_own(struct arena *arena, const struct setup_shape *shape, struct node *list,
		     const char *text, struct found *ret_found)
{
	if (!list || list->kind != '[')
		return false;
	for (struct node *entry = list->first; entry; entry = entry->next) {
		struct node *inner = shape->in_groups ? node_member(entry, "hooks") : NULL;

		if (!shape->in_groups) {
			if (is_own(arena, entry, text)) {
				*ret_found = (struct found){list, entry, NULL, entry};
				return true;
			}
			continue;
		}
		for (struct node *hook = inner && inner->kind == '[' ? inner->first : NULL; hook;
		     hook = hook->next)
			if (is_own(arena, hook, text)) {
				*ret_found = (struct found){list, entry, inner, hook};
				return true;
			}
	}
	return false;
}

/* The entry as the table has it, with the command. */
static json_t *make_entry(const struct setup_shape *shape, const char *command)
{
	json_t *entry = json_loads(shape->entry, 0, NULL);
	json_t *hook =
		shape->in_groups ? json_array_get(json_object_get(entry, "hooks"), 0) : entry;

	json_object_set_new(hook, "command", json_string(command));
	return entry;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* NULL where it is. */
static char *bring_up_to_date(struct arena *arena, const struct node *hook, const char *text,
			      const json_t *command)
{
	struct node *place = node_member(hook, "command"), *words = node_member(hook, "args");
	_cleanup_free_ char *next = NULL;

	if (!words)
		return strcmp(node_string(arena, place, text), json_string_value(command)) == 0
			       ? NULL
			       : text_replace(text, place, command);
	/* The latter of the two first, so that the other stays where it is. */
	if (words->start > place->start) {
		next = text_remove(text, hook, words);
		return text_replace(next, place, command);
	}
	next = text_replace(text, place, command);
	return text_remove(next, hook, words);
}

/* One step towards what is wanted: NULL in *ret_text where there is none left to do. */
static int add_step(const struct setup_shape *shape, const char *event, const char *text,
		    const char *command, char **ret_text, struct error **ret_error)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct node *root = node_read(arena, text), *hooks, *list;
	struct found found;
	json_t *value = NULL;

	*ret_text = NULL;
	if (!root)
		return fail(ret_error, E_INPUT, "this cannot be changed");
	hooks = node_member(root, "hooks");
	list = node_member(hooks, event);
	if (shape->has_version && !node_member(root, "version")) {
		*ret_text = text_add(text, root, root, "version", value = json_integer(1));
	} else if (!hooks) {
		*ret_text =
			text_add(text, root, root, "hooks",
				 value = json_pack("{s:[o]}", event, make_entry(shape, command)));
	} else if (hooks->kind != '{') {
		return fail(ret_error, E_INPUT, "hooks is not an object");
	} else if (!list) {
		*ret_text = text_add(text, root, hooks, event,
				     value = json_pack("[o]", make_entry(shape, command)));
	} else if (list->kind != '[') {
		return fail(ret_error, E_INPUT, "hooks.%s is not a list", event);
	} else if (!find_own(arena, shape, list, text, &found)) {
		*ret_text = text_add(text, root, list, NULL, value = make_entry(shape, command));
	} else {
		value = json_string(command);
		*ret_text = bring_up_to_date(arena, found.hook, text, value);
	}
	json_decref(value);
	return 0;
}

int setup_add(const struct setup_shape *shape, const char *text, const char *command,
	      char **ret_text, struct error **ret_error)
{
	bool is_empty = text[strspn(text, " \t\r\n")] == '\0';
	_cleanup_free_ char *now = strdup(is_empty ? "{}\n" : text);

	for (const char *const *event = shape->events; *event; event++)
		for (unsigned i = 0;; i++) {
			char *next = NULL;
			int r = add_step(shape, *event, now, command, &next, ret_error);

			if (r < 0)
				return r;
			if (!next || i > MOST_EDITS) {
				free(next);
				break;
			}
			free(now);
			now = next;
		}
	*ret_text = STEAL(now);
	return 0;
}

/* --- removing --------------------------------------------------------------------------------- */

/* Whether the original had something there: hooks, or an event of it. */
static bool had(const char *original, const char *event)
{
	json_t *object = original ? json_loads(original, 0, NULL) : NULL;
	json_t *hooks = json_object_get(object, "hooks");
	bool had = event ? json_object_get(hooks, event) != NULL : hooks != NULL;

	json_decref(object);
	return had;
}

static char *remove_step(const struct setup_shape *shape, const char *event, const char *text,
			 const char *original, bool *touched)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct node *root = node_read(arena, text), *hooks = node_member(root, "hooks");
	struct node *list = node_member(hooks, event);
	struct found found;

	if (find_own(arena, shape, list, text, &found)) {
		*touched = true;
		if (found.inner && found.inner->count > 1)
			return text_remove(text, found.inner, found.hook);
		return text_remove(text, found.list, found.entry);
	}
	if (!*touched)
		return NULL;
	if (list && list->kind == '[' && !list->first && !had(original, event))
		return text_remove(text, hooks, list);
	if (hooks && hooks->kind == '{' && !hooks->first && !had(original, NULL))
		return text_remove(text, root, hooks);
	return NULL;
}

/* The version that ward added, where nothing is left for it to be the version of. */
static char *remove_version(const char *text, const char *original)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct node *root = node_read(arena, text), *hooks = node_member(root, "hooks");
	struct node *version = node_member(root, "version");
	json_t *object = original ? json_loads(original, 0, NULL) : NULL;
	_cleanup_free_ char *without = NULL;

	if (version && !json_object_get(object, "version"))
		without = text_remove(text, root, version);
	json_decref(object);
	if (!without || !hooks || !hooks->first || (original && setup_same(without, original)))
		return STEAL(without);
	return NULL;
}

int setup_remove(const struct setup_shape *shape, const char *text, const char *original,
		 char **ret_text, struct error **ret_error)
{
	_cleanup_free_ char *now = strdup(text);
	bool touched = false;
	unsigned edits = 0;

	for (const char *const *event = shape->events; *event; event++)
		for (char *next; (next = remove_step(shape, *event, now, original, &touched));
		     edits++) {
			free(now);
			now = next;
			if (edits > MOST_EDITS)
				return fail(ret_error, E_INPUT, "ward stands in it too many times");
		}
	if (touched && shape->has_version) {
		char *next = remove_version(now, original);

		if (next) {
			free(now);
			now = next;
		}
	}
	if (touched && !original && setup_same(now, "{}"))
		free(STEAL(now));
	/* As it was before ward, so exactly as it was: blanks in what was empty, too. */
	if (touched && original && now && setup_same(now, original)) {
		free(now);
		now = strdup(original);
	}
	*ret_text = STEAL(now);
	return 0;
}

/* --- looking ---------------------------------------------------------------------------------- */

bool setup_is_there(const struct setup_shape *shape, const char *text)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct node *hooks = node_member(node_read(arena, text), "hooks");
	struct found found;

	for (const char *const *event = shape->events; *event; event++)
		if (find_own(arena, shape, node_member(hooks, *event), text, &found))
			return true;
	return false;
}

/* Blank text is an empty object, as agents take it. */
static json_t *object_of(const char *text)
{
	return json_loads(text[strspn(text, " \t\r\n")] ? text : "{}", JSON_REJECT_DUPLICATES,
			  NULL);
}

bool setup_same(const char *one, const char *other)
{
	json_t *a = object_of(one), *b = object_of(other);
	bool same = a && b && json_equal(a, b);

	json_decref(a);
	json_decref(b);
	return same;
}

char *setup_switched_off(const struct setup_shape *shape, const char *text)
{
	json_t *object = object_of(text);
	char *found = NULL;

	for (const char *const(*off)[3] = shape->off; off && (*off)[0] && !found; off++) {
		json_t *value = json_object_get(object, (*off)[0]);

		if ((*off)[1])
			value = json_object_get(value, (*off)[1]);
		if (json_is_boolean(value) &&
		    json_is_true(value) == (strcmp((*off)[2], "true") == 0) &&
		    asprintf(&found, "%s%s%s is %s", (*off)[0], (*off)[1] ? "." : "",
			     (*off)[1] ? (*off)[1] : "", (*off)[2]) < 0)
			abort();
	}
	json_decref(object);
	return found;
}
