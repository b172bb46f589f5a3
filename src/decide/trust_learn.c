/* SPDX-License-Identifier: Apache-2.0 */
/* Learning: what persons approve again and again is proposed as a rule. What was approved, accepted
 * and withdrawn is kept in STATE/agents/NAME/learn.jsonl, one object a line. */
#include "../assess/assess.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../parse/plan.h"
#include "../request/text_json.h"
#include "policy.h"
#include "remember.h"
#include "trust_lines.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An id has as many digits as it takes that nobody finds two commands with one. What is kept is
 * bounded, so that there is always room to withdraw it. */
enum { SHAPES_MOST = 1000, ID_LENGTH = 32, LINE_MOST = 16 * 1024, FILE_FULL = 4 * 1024 * 1024 };

#define FILE_NAME "learn.jsonl"

/* --- what is never learnt --- */

static bool is_plain(const struct command *command)
{
	return command->argc > 0 && command->wrapper_count == 0 && command->program == 0 &&
	       command->code_count == 0 && !command->dynamic && !command->unnamed &&
	       !command->unseen && !policy_is_interpreter(command->argv[0]);
}

bool trust_may_learn(const struct policy *policy, const struct plan *plan,
		     const struct assessment *assessment, const struct list *grants,
		     const struct sets_places *places)
{
	if (plan->count == 0 || plan->opaque || plan->alters || trust_is_never(assessment))
		return false;
	for (size_t i = 0; i < plan->count; i++)
		if (!is_plain(&plan->commands[i]))
			return false;
	for (size_t i = 0; i < grants->count; i++) {
		const char *grant = grants->items[i];

		if (strncmp(grant, "unsandboxed", 11) == 0 || strncmp(grant, "container", 9) == 0 ||
		    strncmp(grant, "exec ", 5) == 0 || strncmp(grant, "secret ", 7) == 0 ||
		    strncmp(grant, "profile ", 8) == 0 || strncmp(grant, "unix ", 5) == 0 ||
		    tiers_never(&policy->tiers, grant, places))
			return false;
	}
	return true;
}

/* --- what is kept --- */

static void shape_done(struct trust_shape *shape)
{
	free(shape->id);
	free(shape->covers);
	list_done(&shape->words);
	free(shape->directory);
	list_done(&shape->grants);
	free(shape->command);
	list_done(&shape->runs);
	free(shape->rule);
	free(shape->file);
}

void trust_shapes_done(struct trust_shapes *shapes)
{
	for (size_t i = 0; i < shapes->count; i++)
		shape_done(&shapes->items[i]);
	free(shapes->items);
	*shapes = (struct trust_shapes){0};
}

static char *copy_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

static void copy_array(const json_t *object, const char *key, struct list *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(object, key), i, item)
		if (json_is_string(item))
			list_add(list, json_string_value(item));
}

static struct trust_shape *shape_of(struct trust_shapes *shapes, const json_t *object)
{
	const char *id = json_string_value(json_object_get(object, "id"));
	struct trust_shape *shape;

	for (size_t i = 0; id && i < shapes->count; i++)
		if (strcmp(shapes->items[i].id, id) == 0)
			return &shapes->items[i];
	if (!id || shapes->count >= SHAPES_MOST)
		return NULL;
	shapes->items = reallocarray(shapes->items, shapes->count + 1, sizeof(*shapes->items));
	if (!shapes->items)
		abort();
	shape = &shapes->items[shapes->count++];
	*shape = (struct trust_shape){.id = strdup(id),
				      .covers = copy_text(object, "covers"),
				      .directory = copy_text(object, "directory")};
	copy_array(object, "words", &shape->words);
	copy_array(object, "grants", &shape->grants);
	return shape;
}

static int take_line(void *data, const char *line, size_t length)
{
	struct trust_shapes *shapes = data;
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const char *run = json_string_value(json_object_get(object, "run"));
	struct trust_shape *shape = NULL;

	if (!kind) {
		json_decref(object);
		return -EBADMSG;
	}
	if (strcmp(kind, "withdrawn") == 0)
		trust_shapes_done(shapes);
	else
		shape = shape_of(shapes, object);
	if (shape && strcmp(kind, "approved") == 0 && run && !list_has(&shape->runs, run)) {
		list_add(&shape->runs, run);
		free(shape->command);
		shape->command = copy_text(object, "command");
	} else if (shape && strcmp(kind, "accepted") == 0) {
		free(shape->rule);
		free(shape->file);
		shape->rule = copy_text(object, "rule");
		shape->file = copy_text(object, "file");
		shape->until = json_integer_value(json_object_get(object, "until"));
		list_done(&shape->runs); /* counted anew for when it ends */
	}
	json_decref(object);
	return 0;
}

static void mark_proposed(const struct policy *policy, struct trust_shapes *shapes)
{
	uint64_t after = policy->trust.learn_after;
	int64_t now = time(NULL);

	for (size_t i = 0; i < shapes->count; i++)
		shapes->items[i].proposed =
			after && shapes->items[i].runs.count >= after &&
			!(shapes->items[i].rule && shapes->items[i].until > now);
}

int trust_learn_read(const char *state, const struct policy *policy, const char *agent,
		     struct trust_shapes *ret_shapes, struct error **ret_error)
{
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0};
	int r = trust_lines_read(state, agent, FILE_NAME, take_line, &shapes, ret_error);

	*ret_shapes = (struct trust_shapes){0};
	if (r < 0)
		return r;
	mark_proposed(policy, &shapes);
	*ret_shapes = shapes;
	shapes = (struct trust_shapes){0};
	return 0;
}

/* What was learnt, and nobody else changes it meanwhile: neither an approval, nor a rule that is
 * accepted while it is being withdrawn. */
struct lesson {
	int directory, lock;
	off_t whole;
	struct trust_shapes shapes;
};

static void lesson_end(struct lesson *lesson)
{
	trust_shapes_done(&lesson->shapes);
	close_fd(&lesson->directory);
	close_fd(&lesson->lock);
}
#define _cleanup_lesson_ _cleanup_(lesson_end)

static int lesson_begin(const char *state, const struct policy *policy, const char *agent,
			bool make, struct lesson *lesson, struct error **ret_error)
{
	bool torn;
	int r;

	*lesson = (struct lesson){.directory = -1, .lock = -1};
	r = trust_open_directory(state, agent, make, &lesson->directory, ret_error);
	if (r < 0 || lesson->directory < 0)
		return r;
	r = lines_lock(lesson->directory, &lesson->lock);
	if (r == 0)
		r = lines_read(lesson->directory, FILE_NAME, take_line, &lesson->shapes,
			       &lesson->whole, &torn);
	if (r < 0)
		return lines_refuse(ret_error, -r, agent, "cannot read what was learnt");
	mark_proposed(policy, &lesson->shapes);
	return 0;
}

/* Takes ownership of the object. */
static int lesson_add(struct lesson *lesson, const char *agent, json_t *object,
		      struct error **ret_error)
{
	_cleanup_free_ char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
	int r;

	json_decref(object);
	if (!line)
		return fail(ret_error, E_ENGINE, "what was approved cannot be kept: no UTF-8");
	r = lines_append(lesson->directory, FILE_NAME, lesson->whole, line);
	if (r < 0)
		return lines_refuse(ret_error, -r, agent, "cannot keep anything");
	lesson->whole += (off_t)strlen(line) + 1;
	return take_line(&lesson->shapes, line, strlen(line));
}

static const struct trust_shape *find_shape(const struct trust_shapes *shapes, const char *id)
{
	for (size_t i = 0; i < shapes->count; i++)
		if (strcmp(shapes->items[i].id, id) == 0)
			return &shapes->items[i];
	return NULL;
}

static int by_text(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The same for what was approved under one key and given the same, in whatever order. */
static void make_id(const char *key, const struct list *grants, char ret_id[static ID_LENGTH + 1])
{
	_cleanup_list_ struct list sorted = {0};
	_cleanup_buffer_ struct buffer text = {0};
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * crypto_hash_sha256_BYTES + 1];

	for (size_t i = 0; i < grants->count; i++)
		list_add(&sorted, grants->items[i]);
	if (sorted.count)
		qsort(sorted.items, sorted.count, sizeof(*sorted.items), by_text);
	/* With their lengths: none passes for two. */
	buffer_printf(&text, "%zu %s", strlen(key), key);
	for (size_t i = 0; i < sorted.count; i++)
		buffer_printf(&text, "\n%zu %s", strlen(sorted.items[i]), sorted.items[i]);
	crypto_hash_sha256(hash, (const unsigned char *)buffer_text(&text), text.length);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	memcpy(ret_id, hex, ID_LENGTH);
	ret_id[ID_LENGTH] = '\0';
}

int trust_learn_note(const char *state, const struct policy *policy, const char *agent,
		     const char *key, const char *run, const struct trust_shape *shape,
		     char **ret_proposed, struct error **ret_error)
{
	_cleanup_lesson_ struct lesson lesson = {.directory = -1, .lock = -1};
	const struct trust_shape *noted;
	json_t *object = json_object();
	char id[ID_LENGTH + 1];
	int r;

	make_id(key, &shape->grants, id);
	json_put_text(object, "kind", "approved");
	json_put(object, "at", json_integer(time(NULL)));
	json_put_text(object, "id", id);
	json_put_text(object, "run", run);
	json_put_text(object, "command", shape->command);
	if (shape->covers)
		json_put_text(object, "covers", shape->covers);
	else
		json_put_list(object, "words", &shape->words);
	json_put_text(object, "directory", shape->directory);
	json_put_list(object, "grants", &shape->grants);
	r = lesson_begin(state, policy, agent, /* make= */ true, &lesson, ret_error);
	if (r < 0 || lesson.whole > FILE_FULL ||
	    json_dumpb(object, NULL, 0, JSON_COMPACT) > LINE_MOST) {
		json_decref(object);
		return r;
	}
	r = lesson_add(&lesson, agent, object, ret_error);
	mark_proposed(policy, &lesson.shapes);
	noted = find_shape(&lesson.shapes, id);
	/* Said once, when it becomes one. */
	if (r == 0 && ret_proposed && noted && noted->proposed &&
	    noted->runs.count == policy->trust.learn_after)
		*ret_proposed = strdup(id);
	return r;
}

/* --- proposals and rules --- */

/* A name as the glob that means it alone. */
static char *as_glob(const char *name)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (; *name; name++) {
		if (strchr("*?[]|\\{}!", *name))
			buffer_add_char(&text, '\\');
		buffer_add_char(&text, *name);
	}
	return buffer_steal(&text);
}

char *trust_learn_rule(const struct policy *policy, const char *agent,
		       const struct trust_shape *shape, int64_t now)
{
	_cleanup_free_ char *glob = as_glob(agent), *why = NULL;
	struct condition when = {
		.agents = {.items = (char *[]){glob, NULL}, .count = 1},
		.until = now + (int64_t)(policy->trust.learn_expires_ns / 1000000000),
	};
	struct rule rule = {.kind = VERDICT_ALLOW,
			    .pattern = shape->covers,
			    .exactly = shape->covers ? (struct list){0} : shape->words,
			    .in = shape->covers ? NULL : shape->directory,
			    .when = &when,
			    .permissions = shape->grants};

	if (asprintf(&why, "learnt: approved %zu times without incident (%s)", shape->runs.count,
		     shape->id) < 0)
		abort();
	rule.why = why;
	return remember_rule(&rule);
}

char *trust_learn_admits(const struct policy *policy, const char *agent,
			 const struct trust_shape *shape)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (shape->covers)
		buffer_printf(&text,
			      "every '%s' of %s, with whatever words and options behind it and in "
			      "every directory",
			      shape->covers, agent);
	else
		buffer_printf(&text, "exactly this command of %s in %s, and nothing else", agent,
			      shape->directory ? shape->directory : "its directory");
	for (size_t i = 0; i < shape->grants.count; i++)
		buffer_printf(&text, "%s%s", i ? ", " : "; it is given ", shape->grants.items[i]);
	buffer_printf(&text, "; for %g days", (double)policy->trust.learn_expires_ns / 1e9 / 86400);
	return buffer_steal(&text);
}

int trust_learn_accept(const char *state, const struct policy *policy, const char *agent,
		       const struct trust_shape *shape, const char *by, struct error **ret_error)
{
	int64_t now = time(NULL),
		until = now + (int64_t)(policy->trust.learn_expires_ns / 1000000000);
	_cleanup_lesson_ struct lesson lesson = {.directory = -1, .lock = -1};
	_cleanup_free_ char *rule = trust_learn_rule(policy, agent, shape, now),
			    *file = remember_file();
	const struct trust_shape *still;
	json_t *object;
	int r = lesson_begin(state, policy, agent, /* make= */ true, &lesson, ret_error);

	if (r < 0)
		return r;
	still = find_shape(&lesson.shapes, shape->id);
	if (!still || !still->proposed) {
		fail(ret_error, E_USAGE, "%s is not proposed any more", shape->id);
		return error_hint(ret_error, "a violation withdraws what was proposed: ward trust");
	}
	if (!rule || !file) {
		fail(ret_error, E_ENGINE, "no rule can be written for this");
		return error_hint(ret_error, "write one by hand: docs/policy.md");
	}
	/* On record first: what is not can be withdrawn by nobody. */
	object = json_object();
	json_put_text(object, "kind", "accepted");
	json_put(object, "at", json_integer(now));
	json_put_text(object, "id", shape->id);
	json_put_text(object, "by", by);
	json_put_text(object, "rule", rule);
	json_put_text(object, "file", file);
	json_put(object, "until", json_integer(until));
	if (shape->covers)
		json_put_text(object, "covers", shape->covers);
	r = lesson_add(&lesson, agent, object, ret_error);
	return r < 0 ? r : remember_write(file, rule, ret_error);
}

int trust_learn_withdraw(const char *state, const struct policy *policy, const char *agent,
			 const char *why, size_t *ret_count, struct error **ret_error)
{
	_cleanup_lesson_ struct lesson lesson = {.directory = -1, .lock = -1};
	json_t *object;
	size_t count = 0;
	int r = lesson_begin(state, policy, agent, /* make= */ false, &lesson, ret_error);

	if (ret_count)
		*ret_count = 0;
	if (r < 0 || lesson.shapes.count == 0)
		return r;
	/* Rules first: where one cannot be taken back, the next attempt finds it again. */
	for (size_t i = 0; r >= 0 && i < lesson.shapes.count; i++) {
		const struct trust_shape *shape = &lesson.shapes.items[i];

		r = shape->rule && shape->file
			    ? remember_strike(shape->file, shape->rule, ret_error)
			    : 0;
		count += r > 0;
	}
	if (r < 0)
		return r;
	object = json_object();
	json_put_text(object, "kind", "withdrawn");
	json_put(object, "at", json_integer(time(NULL)));
	json_put_text(object, "why", why);
	if (ret_count)
		*ret_count = count;
	return lesson_add(&lesson, agent, object, ret_error);
}
