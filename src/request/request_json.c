/* SPDX-License-Identifier: Apache-2.0 */
/* The request's JSON form: one table of keys, read and written by the kind of each. */
#include "request.h"
#include "text_json.h"
#include "../base/units.h"

#include <math.h>
#include <stdint.h>

static int wrong(struct error **ret_error, const char *key, const char *wanted)
{
	return fail(ret_error, E_INPUT, "request: '%s' must be %s", key, wanted);
}

/* What the flags' own parsers say, told of the key. */
static int wrong_text(struct error **ret_error, const char *key)
{
	if (ret_error && *ret_error)
		(*ret_error)->code = E_INPUT;
	return error_wrap(ret_error, "request: '%s'", key);
}

/* A C string would end at the NUL and say something else than the JSON did. */
static int text_of(const char *key, const json_t *value, const char **ret_text,
		   struct error **ret_error)
{
	if (!json_is_string(value))
		return wrong(ret_error, key, "a string");
	if (strlen(json_string_value(value)) != json_string_length(value))
		return fail(ret_error, E_INPUT, "request: '%s' holds a NUL character", key);
	*ret_text = json_string_value(value);
	return 0;
}

static int read_text(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	const char *text;
	int r = text_of(key, value, &text, ret_error);

	if (r < 0)
		return r;
	*(char **)place = strdup(text);
	if (!*(char **)place)
		abort();
	return 0;
}

static void write_text(json_t *object, const char *key, const void *place)
{
	const char *text = *(char *const *)place;

	if (text)
		json_put_text(object, key, text);
}

/* Whose current directory a relative path would start from is nothing that JSON can say. */
static int read_path(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	int r = read_text(key, value, place, ret_error);

	if (r == 0 && **(char **)place != '/')
		return wrong(ret_error, key, "an absolute path");
	return r;
}

static int read_words(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value))
		return wrong(ret_error, key, "a list of strings");
	json_array_foreach (value, i, item) {
		const char *text;
		int r = text_of(key, item, &text, ret_error);

		if (r < 0)
			return r;
		list_add(place, text);
	}
	return 0;
}

static void write_words(json_t *object, const char *key, const void *place)
{
	const struct list *list = place;

	if (list->count)
		json_put_list(object, key, list);
}

static int read_argv(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	int r = read_words(key, value, place, ret_error);
	const struct list *argv = place;

	if (r == 0 && (argv->count == 0 || argv->items[0][0] == '\0'))
		return wrong(ret_error, key, "a list that begins with the name of a program");
	return r;
}

static int read_environment(const char *key, const json_t *value, void *place,
			    struct error **ret_error)
{
	int r = read_words(key, value, place, ret_error);
	const struct list *list = place;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		if (list->items[i][0] == '=' || !strchr(list->items[i], '='))
			return wrong(ret_error, key, "a list of NAME=VALUE");
	return r;
}

static int read_flag(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	if (!json_is_boolean(value))
		return wrong(ret_error, key, "true or false");
	*(bool *)place = json_is_true(value);
	return 0;
}

static void write_flag(json_t *object, const char *key, const void *place)
{
	if (*(const bool *)place)
		json_put(object, key, json_true());
}

static int read_level(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	int level = json_is_string(value) ? level_from_name(json_string_value(value)) : -1;

	if (level < 0)
		return wrong(ret_error, key, "none, restricted or container");
	*(enum level *)place = (enum level)level;
	return 0;
}

static void write_level(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, level_name(*(const enum level *)place));
}

static int read_approval(const char *key, const json_t *value, void *place,
			 struct error **ret_error)
{
	int approval = json_is_string(value) ? approval_from_name(json_string_value(value)) : -1;

	if (approval < 0)
		return wrong(ret_error, key, "never, on-failure, on-request or unless-trusted");
	*(enum approval *)place = (enum approval)approval;
	return 0;
}

static void write_approval(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, approval_name(*(const enum approval *)place));
}

static int read_caches(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	int caches = json_is_string(value) ? caches_from_name(json_string_value(value)) : -1;

	if (caches < 0)
		return wrong(ret_error, key, "private or off");
	*(enum caches *)place = (enum caches)caches;
	return 0;
}

static void write_caches(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, caches_name(*(const enum caches *)place));
}

static int read_preference(const char *key, const json_t *value, void *place,
			   struct error **ret_error)
{
	int preference =
		json_is_string(value) ? preference_from_name(json_string_value(value)) : -1;

	if (preference < 0)
		return wrong(ret_error, key, "auto, require or forbid");
	*(enum preference *)place = (enum preference)preference;
	return 0;
}

static void write_preference(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, preference_name(*(const enum preference *)place));
}

static int read_escalation(const char *key, const json_t *value, void *place,
			   struct error **ret_error)
{
	int escalation =
		json_is_string(value) ? escalation_from_name(json_string_value(value)) : -1;

	if (escalation < 0)
		return wrong(ret_error, key, "none, container or unsandboxed");
	*(enum escalation *)place = (enum escalation)escalation;
	return 0;
}

static void write_escalation(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, escalation_name(*(const enum escalation *)place));
}

static int read_network(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	int network = json_is_string(value) ? network_from_name(json_string_value(value)) : -1;

	if (network < 0)
		return wrong(ret_error, key, "none, restricted or full");
	*(enum network *)place = (enum network)network;
	return 0;
}

static void write_network(json_t *object, const char *key, const void *place)
{
	json_put_text(object, key, network_name(*(const enum network *)place));
}

static int read_mode(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	static const enum mode modes[] = {MODE_EXEC, MODE_SHELL, MODE_PATCH};

	for (size_t i = 0; json_is_string(value) && i < ELEMENTS(modes); i++) {
		if (strcmp(json_string_value(value), mode_name(modes[i])) == 0) {
			*(enum mode *)place = modes[i];
			return 0;
		}
	}
	return wrong(ret_error, key, "exec, shell or patch");
}

/* exec and shell are told by "argv" and "command" already. */
static void write_mode(json_t *object, const char *key, const void *place)
{
	if (*(const enum mode *)place == MODE_PATCH)
		json_put_text(object, key, mode_name(MODE_PATCH));
}

typedef int (*parse_text)(const char *text, uint64_t *ret_value, struct error **ret_error);

/* A string as on the command line, or a number in the flag's plain unit, of which factor make one.
 */
static int read_amount(const char *key, const json_t *value, void *place, parse_text parse,
		       double factor, const char *wanted, struct error **ret_error)
{
	const double most = 0x1p62;
	double number;

	if (json_is_string(value)) {
		const char *text;
		int r = text_of(key, value, &text, ret_error);

		if (r < 0)
			return r;
		return parse(text, place, ret_error) < 0 ? wrong_text(ret_error, key) : 0;
	}
	if (!json_is_number(value) || (factor == 1 && !json_is_integer(value)))
		return wrong(ret_error, key, wanted);
	number = json_number_value(value) * factor;
	if (!(number >= 0 && number <= most))
		return wrong(ret_error, key, wanted);
	*(uint64_t *)place =
		factor == 1 ? (uint64_t)json_integer_value(value) : (uint64_t)llround(number);
	return 0;
}

static int read_size(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	return read_amount(key, value, place, parse_size, 1, "a size such as \"512M\", or bytes",
			   ret_error);
}

static int read_count(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	return read_amount(key, value, place, parse_count, 1, "a whole number", ret_error);
}

static int read_duration(const char *key, const json_t *value, void *place,
			 struct error **ret_error)
{
	return read_amount(key, value, place, parse_duration, 1e9,
			   "a duration such as \"30s\", or seconds", ret_error);
}

static int read_cpu(const char *key, const json_t *value, void *place, struct error **ret_error)
{
	return read_amount(key, value, place, parse_cpu, 1e3,
			   "a share such as \"50%\", or a number of CPUs", ret_error);
}

static void write_amount(json_t *object, const char *key, const void *place)
{
	if (*(const uint64_t *)place)
		json_put_count(object, key, *(const uint64_t *)place);
}

/* 0 says something here (keep nothing), so it is written too. */
static void write_kept(json_t *object, const char *key, const void *place)
{
	json_put_count(object, key, *(const uint64_t *)place);
}

static void write_duration(json_t *object, const char *key, const void *place)
{
	if (*(const uint64_t *)place)
		json_put(object, key, json_real((double)*(const uint64_t *)place / 1e9));
}

static void write_cpu(json_t *object, const char *key, const void *place)
{
	if (*(const uint64_t *)place)
		json_put(object, key, json_real((double)*(const uint64_t *)place / 1e3));
}

struct kind {
	size_t size;
	int (*read)(const char *key, const json_t *value, void *place, struct error **ret_error);
	void (*write)(json_t *object, const char *key, const void *place);
};

static const struct kind text = {sizeof(char *), read_text, write_text};
static const struct kind path = {sizeof(char *), read_path, write_text};
static const struct kind words = {sizeof(struct list), read_words, write_words};
static const struct kind program = {sizeof(struct list), read_argv, write_words};
static const struct kind variables = {sizeof(struct list), read_environment, write_words};
static const struct kind flag = {sizeof(bool), read_flag, write_flag};
static const struct kind isolation = {sizeof(enum level), read_level, write_level};
static const struct kind reach = {sizeof(enum network), read_network, write_network};
static const struct kind asking = {sizeof(enum approval), read_approval, write_approval};
static const struct kind layers = {sizeof(enum caches), read_caches, write_caches};
static const struct kind wish = {sizeof(enum preference), read_preference, write_preference};
static const struct kind extent = {sizeof(enum escalation), read_escalation, write_escalation};
static const struct kind manner = {sizeof(enum mode), read_mode, write_mode};
static const struct kind size = {sizeof(uint64_t), read_size, write_amount};
static const struct kind kept = {sizeof(uint64_t), read_size, write_kept};
static const struct kind count = {sizeof(uint64_t), read_count, write_amount};
static const struct kind duration = {sizeof(uint64_t), read_duration, write_duration};
static const struct kind share = {sizeof(uint64_t), read_cpu, write_cpu};

static const struct field {
	const char *key;
	const struct kind *kind;
	size_t offset;
} fields[] = {
	{"argv", &program, offsetof(struct request, argv)},
	{"command", &text, offsetof(struct request, script)},
	{"mode", &manner, offsetof(struct request, mode)},
	{"shell", &text, offsetof(struct request, shell)},
	{"login", &flag, offsetof(struct request, login)},
	{"approval_command", &text, offsetof(struct request, approval_command)},
	{"workspace", &path, offsetof(struct request, workspace)},
	{"cwd", &path, offsetof(struct request, cwd)},
	{"level", &isolation, offsetof(struct request, level)},
	{"net", &reach, offsetof(struct request, network)},
	{"approval", &asking, offsetof(struct request, approval)},
	{"caches", &layers, offsetof(struct request, caches)},
	{"sandbox", &wish, offsetof(struct request, sandbox)},
	{"escalated", &flag, offsetof(struct request, escalated)},
	{"escalation", &extent, offsetof(struct request, escalation)},
	{"policy", &path, offsetof(struct request, policy)},
	{"profile", &text, offsetof(struct request, profile)},
	{"read", &words, offsetof(struct request, read)},
	{"write", &words, offsetof(struct request, write)},
	{"read_only", &words, offsetof(struct request, read_only)},
	{"make", &words, offsetof(struct request, make)},
	{"deny", &words, offsetof(struct request, deny)},
	{"env", &variables, offsetof(struct request, environment)},
	{"keep_env", &words, offsetof(struct request, keep_environment)},
	{"allow_socket", &words, offsetof(struct request, sockets)},
	{"allow_host", &words, offsetof(struct request, allow_hosts)},
	{"deny_host", &words, offsetof(struct request, deny_hosts)},
	{"publish", &words, offsetof(struct request, publish)},
	{"container", &words, offsetof(struct request, container)},
	{"allow_syscall", &words, offsetof(struct request, allow_calls)},
	{"deny_syscall", &words, offsetof(struct request, deny_calls)},
	{"require", &words, offsetof(struct request, require)},
	{"trace_reads", &flag, offsetof(struct request, trace_reads)},
	{"memory", &size, offsetof(struct request, limits.memory)},
	{"cpu", &share, offsetof(struct request, limits.millicpus)},
	{"cpu_time", &duration, offsetof(struct request, limits.cpu_ns)},
	{"processes", &count, offsetof(struct request, limits.processes)},
	{"disk", &size, offsetof(struct request, limits.disk)},
	{"output", &size, offsetof(struct request, limits.output)},
	{"wait", &duration, offsetof(struct request, wait_ns)},
	{"timeout", &duration, offsetof(struct request, limits.time_ns)},
	{"idle", &duration, offsetof(struct request, limits.idle_ns)},
	{"files", &count, offsetof(struct request, limits.files)},
	{"keep_output", &kept, offsetof(struct request, keep_output)},
	{"agent", &text, offsetof(struct request, agent)},
	{"session", &text, offsetof(struct request, session)},
	{"tool", &text, offsetof(struct request, tool)},
	{"call_id", &text, offsetof(struct request, call_id)},
	{"turn", &text, offsetof(struct request, turn)},
	{"reason", &text, offsetof(struct request, reason)},
	{"token", &text, offsetof(struct request, token)},
	{"requires_approval", &flag, offsetof(struct request, requires_approval)},
	{"approved", &flag, offsetof(struct request, approved)},
	{"approved_by_policy", &flag, offsetof(struct request, approved_by_policy)},
	{"sandbox_warnings", &words, offsetof(struct request, sandbox_warnings)},
	{"json", &flag, offsetof(struct request, json)},
	{"quiet", &flag, offsetof(struct request, quiet)},
	{"no_pty", &flag, offsetof(struct request, no_pty)},
};

static void *place_of(struct request *request, const struct field *field)
{
	return (char *)request + field->offset;
}

static const struct field *find_field(const char *key)
{
	for (size_t i = 0; i < ELEMENTS(fields); i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int load(const char *json, size_t length, json_t **ret_object, struct error **ret_error)
{
	json_error_t fault;
	json_t *object;

	if (length > REQUEST_LIMIT)
		return fail(ret_error, E_INPUT, "request: %zu bytes are more than the %d allowed",
			    length, REQUEST_LIMIT);
	/* NUL is let in here so that the key which holds it can be named. */
	object = json_loadb(json, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
	if (!object) {
		fail(ret_error, E_INPUT, "request: %s at line %d, column %d", fault.text,
		     fault.line, fault.column);
		if (ret_error) {
			(*ret_error)->line = fault.line;
			(*ret_error)->column = fault.column;
		}
		return -E_INPUT;
	}
	if (!json_is_object(object)) {
		json_decref(object);
		return fail(ret_error, E_INPUT, "request: the JSON must be an object");
	}
	*ret_object = object;
	return 0;
}

/* As events of agents call it. */
static int settle_tool(json_t *object, struct error **ret_error)
{
	json_t *name = json_object_get(object, "tool_name");

	if (!name)
		return 0;
	if (json_object_get(object, "tool"))
		return fail(ret_error, E_INPUT, "request: 'tool' and 'tool_name' are the same");
	json_object_set(object, "tool", name);
	json_object_del(object, "tool_name");
	return 0;
}

/* Carried along word by word, so there is an end to it. */
static int check_warnings(const struct request *request, struct error **ret_error)
{
	const struct list *warnings = &request->sandbox_warnings;

	if (warnings->count > CALLER_WARNINGS)
		return fail(ret_error, E_INPUT, "request: more than %d sandbox_warnings",
			    CALLER_WARNINGS);
	for (size_t i = 0; i < warnings->count; i++)
		if (strlen(warnings->items[i]) > CALLER_WARNING_LENGTH)
			return fail(ret_error, E_INPUT,
				    "request: one of the sandbox_warnings is longer than %d bytes",
				    CALLER_WARNING_LENGTH);
	return 0;
}

static int read_fields(json_t *object, struct request *request, struct error **ret_error)
{
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value) {
		const struct field *field = find_field(key);
		int r;

		if (!field) {
			fail(ret_error, E_INPUT, "request: there is no key '%.80s'", key);
			return error_hint(ret_error, "docs/request.schema.json lists the keys");
		}
		r = field->kind->read(key, value, place_of(request, field), ret_error);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Exactly one of "argv" and "command" says what to run, and "mode" may not contradict it. */
static int settle_mode(const json_t *object, struct request *request, struct error **ret_error)
{
	bool shell = json_object_get(object, "command") != NULL;

	if (shell == (json_object_get(object, "argv") != NULL))
		return fail(ret_error, E_INPUT,
			    "request: exactly one of 'argv' and 'command' must be there");
	if (!json_object_get(object, "mode"))
		request->mode = shell ? MODE_SHELL : MODE_EXEC;
	else if ((request->mode == MODE_SHELL) != shell)
		return fail(ret_error, E_INPUT, "request: mode '%s' goes with '%s'",
			    mode_name(request->mode), shell ? "argv" : "command");
	return 0;
}

static void swap_bytes(void *a, void *b, size_t length)
{
	char kept_bytes[sizeof(struct list)];

	memcpy(kept_bytes, a, length);
	memcpy(a, b, length);
	memcpy(b, kept_bytes, length);
}

int request_from_json(const char *json, size_t length, struct request *request,
		      struct error **ret_error)
{
	_cleanup_request_ struct request fresh = {0};
	json_t *object = NULL;
	int r = load(json, length, &object, ret_error);

	if (r < 0)
		return r;
	r = settle_tool(object, ret_error);
	if (r == 0)
		r = read_fields(object, &fresh, ret_error);
	if (r == 0)
		r = check_warnings(&fresh, ret_error);
	if (r == 0)
		r = settle_mode(object, &fresh, ret_error);
	for (size_t i = 0; r == 0 && i < ELEMENTS(fields); i++) {
		const struct field *field = &fields[i];
		/* The command is one thing in three fields: an old one must not shine through. */
		bool command = field->kind == &program || field->kind == &manner ||
			       field->offset == offsetof(struct request, script);

		if (command || json_object_get(object, field->key))
			swap_bytes(place_of(request, field), place_of(&fresh, field),
				   field->kind->size);
	}
	if (r == 0) {
		request->has_level |= json_object_get(object, "level") != NULL;
		request->has_network |= json_object_get(object, "net") != NULL;
		request->has_approval |= json_object_get(object, "approval") != NULL;
		request->has_caches |= json_object_get(object, "caches") != NULL;
	}
	json_decref(object);
	return r;
}

json_t *request_to_json(const struct request *request)
{
	json_t *object = json_object();

	for (size_t i = 0; i < ELEMENTS(fields); i++)
		fields[i].kind->write(object, fields[i].key,
				      (const char *)request + fields[i].offset);
	return object;
}
