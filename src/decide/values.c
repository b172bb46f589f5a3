/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a policy: which words, sizes, hosts and paths there are. */
#include "layer.h"
#include "network.h"
#include "sockets.h"
#include "../base/buffer.h"
#include "../base/container_word.h"
#include "../base/path.h"
#include "../base/units.h"
#include "../sys/calls.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[SET_APPROVAL] = "approval",
	[SET_WAIT] = "wait",
	[SET_LEVEL] = "level",
	[SET_NETWORK] = "network.mode",
	[SET_CACHES] = "caches",
	[SET_ESCALATION] = "escalation",
	[SET_READ] = "files.read",
	[SET_READ_ONLY] = "files.read_only",
	[SET_WRITE] = "files.write",
	[SET_DENY] = "files.deny",
	[SET_MAKE] = "files.make",
	[SET_ALLOW_HOST] = "network.allow",
	[SET_DENY_HOST] = "network.deny",
	[SET_PUBLISH] = "network.publish",
	[SET_SOCKET] = "sockets",
	[SET_KEEP_ENV] = "environment.keep",
	[SET_SET_ENV] = "environment.set",
	[SET_CONTAINER] = "container",
	[SET_REQUIRE] = "require",
	[SET_TRACE_READS] = "trace_reads",
	[SET_ON_VIOLATION] = "on_violation",
	[SET_ALLOW_CALL] = "syscalls.allow",
	[SET_DENY_CALL] = "syscalls.deny",
	[SET_MEMORY] = "limits.memory",
	[SET_CPU] = "limits.cpu",
	[SET_CPU_TIME] = "limits.cpu_time",
	[SET_PROCESSES] = "limits.processes",
	[SET_DISK] = "limits.disk",
	[SET_OUTPUT] = "limits.output",
	[SET_TIME] = "limits.time",
	[SET_IDLE] = "limits.idle",
	[SET_FILES] = "limits.files",
	[SET_PROFILE] = "profile",
	[SET_TRUST_AGENT] = "trust.agents",
	[SET_TIER_LOW] = "tiers.low",
	[SET_TIER_MEDIUM] = "tiers.medium",
	[SET_TIER_HIGH] = "tiers.high",
	[SET_TIER_CRITICAL] = "tiers.critical",
	[SET_OBJECTION] = "tiers.objection",
	[SET_ANSWER] = "tiers.answer",
};

const char *setting_name(enum setting_kind kind)
{
	return names[kind];
}

static int refuse(struct error **ret_error, const char *hint, const char *text, const char *what)
{
	fail(ret_error, E_POLICY, "'%s' is not %s", text, what);
	error_hint(ret_error, "%s", hint);
	return -E_POLICY;
}

static int check_word(const char *text, int value, const char *what, const char *hint,
		      uint64_t *ret_number, struct error **ret_error)
{
	*ret_number = (uint64_t)value;
	return value >= 0 ? 0 : refuse(ret_error, hint, text, what);
}

static int check_path(const char *text, struct error **ret_error)
{
	_cleanup_free_ char *expanded = NULL;
	const char *fault;
	char name[64];

	if (text[0] == '~' && text[1] && text[1] != '/')
		return refuse(ret_error, "write it from / on: only ~/ is known, the user's own",
			      text, "a path");
	expanded = path_expand(text, name, sizeof(name), &fault);
	if (!expanded) {
		fail(ret_error, E_POLICY, "the variable '%s' in '%s' %s", name, text, fault);
		error_hint(ret_error, "set it, or write the path itself; a $ that is meant as "
				      "itself is written [$]");
		return -E_POLICY;
	}
	return 0;
}

/* What is made has a name of its own: only that may be a pattern, or all of a directory. */
static int check_make(const char *text, struct error **ret_error)
{
	int r = check_path(text, ret_error);

	if (r == 0 && !path_names_one_place(text))
		r = refuse(ret_error, "write a path, DIR/**, or a pattern in the last part alone",
			   text, "what can be made");
	return r;
}

/* The same fault, of a file. */
static int of_policy(int r, struct error *const *error, struct error **ret_error)
{
	if (r == 0)
		return 0;
	fail(ret_error, E_POLICY, "%s", (*error)->message);
	error_hint(ret_error, "%s", (*error)->hint ? (*error)->hint : "write a whole number");
	return -E_POLICY;
}

static int check_port(const char *text, struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;

	return of_policy(network_check_port(text, &error), &error, ret_error);
}

static int check_publish(const char *text, struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;

	return of_policy(network_check_publish(text, &error), &error, ret_error);
}

static int check_host(const char *text, struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;

	return of_policy(network_check_host(text, &error), &error, ret_error);
}

static int check_socket(const char *text, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer hint = {0};

	if (text[0] == '/' || (text[0] == '~' && text[1] == '/') || socket_named(text))
		return 0;
	buffer_add_text(&hint, "write ");
	for (const struct known_socket *socket = known_sockets; socket->name; socket++)
		buffer_printf(&hint, "%s, ", socket->name);
	buffer_add_text(&hint, "or an absolute path");
	return refuse(ret_error, buffer_text(&hint), text, "a socket that ward knows");
}

bool value_is_variable(const char *name)
{
	if (!*name || isdigit((unsigned char)*name))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static int check_wall(const char *text, const struct list *walls, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer hint = {0};

	if (!walls || list_has(walls, text))
		return 0;
	buffer_add_text(&hint, "there are:");
	for (size_t i = 0; i < walls->count; i++)
		buffer_printf(&hint, " %s", walls->items[i]);
	return refuse(ret_error, buffer_text(&hint), text, "a wall");
}

static int check_limit(enum setting_kind kind, const char *text, uint64_t *ret_number,
		       struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;
	int r;

	if (kind == SET_CPU)
		r = parse_cpu(text, ret_number, &error);
	else if (kind == SET_PROCESSES || kind == SET_FILES)
		r = parse_count(text, ret_number, &error);
	else if (kind == SET_CPU_TIME || kind == SET_TIME || kind == SET_IDLE || kind == SET_WAIT ||
		 kind == SET_OBJECTION || kind == SET_ANSWER)
		r = parse_duration(text, ret_number, &error);
	else
		r = parse_size(text, ret_number, &error);
	if (r < 0)
		return of_policy(r, &error, ret_error);
	if (*ret_number == 0)
		return refuse(ret_error, "leave the key out for no limit", text,
			      "a limit: it must be more than 0");
	return 0;
}

static int check_profile(const char *text, struct error **ret_error)
{
	size_t length = strlen(text);

	if (length > 0 && length <= 64 && isalnum((unsigned char)text[0]) &&
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		    length)
		return 0;
	return refuse(ret_error, "write letters, digits, '.', '-' and '_', at most 64", text,
		      "a name for a profile");
}

int value_check(enum setting_kind kind, const char *text, const struct list *walls,
		uint64_t *ret_number, struct error **ret_error)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(ret_error, "leave control characters and line breaks out",
				      text, "a value");
	if (!*text && kind != SET_SET_ENV) {
		fail(ret_error, E_POLICY, "an empty value for %s", names[kind]);
		error_hint(ret_error, "write a value, or remove it");
		return -E_POLICY;
	}
	switch (kind) {
	case SET_APPROVAL:
		return check_word(text, approval_from_name(text), "a way of asking",
				  "write never, on-failure, on-request or unless-trusted",
				  ret_number, ret_error);
	case SET_LEVEL:
		return check_word(text, level_from_name(text), "a level",
				  "write none, restricted or container", ret_number, ret_error);
	case SET_NETWORK:
		return check_word(text, network_from_name(text), "a network mode",
				  "write none, restricted or full", ret_number, ret_error);
	case SET_CACHES:
		return check_word(text, caches_from_name(text), "a way with caches",
				  "write private or off", ret_number, ret_error);
	case SET_ESCALATION:
		return check_word(text, escalation_from_name(text), "how far a yes may go",
				  "write none, container or unsandboxed", ret_number, ret_error);
	case SET_READ:
	case SET_WRITE:
	case SET_READ_ONLY:
	case SET_DENY:
		return check_path(text, ret_error);
	case SET_CONTAINER:
		return container_check_word(text, E_POLICY, ret_error);
	case SET_MAKE:
		return check_make(text, ret_error);
	case SET_ALLOW_HOST:
	case SET_DENY_HOST:
		return check_host(text, ret_error);
	case SET_PUBLISH:
		return check_publish(text, ret_error);
	case SET_SOCKET:
		return check_socket(text, ret_error);
	case SET_KEEP_ENV:
		return value_is_variable(text) ? 0
					       : refuse(ret_error, "write a name such as NPM_TOKEN",
							text, "the name of a variable");
	case SET_TIER_LOW:
	case SET_TIER_MEDIUM:
	case SET_TIER_HIGH:
	case SET_TIER_CRITICAL:
		/* As a whole: which command it is for does not matter here. */
		return strcmp(text, "unsandboxed") == 0 || strcmp(text, "container") == 0
			       ? 0
			       : value_check_permission(text, ret_error);
	case SET_TRUST_AGENT:
		return glob_fault(text)
			       ? refuse(ret_error, "write a name, or a pattern such as ci-*", text,
					"an agent")
			       : 0;
	case SET_TRACE_READS:
		return check_word(text,
				  strcmp(text, "true") == 0    ? 1
				  : strcmp(text, "false") == 0 ? 0
							       : -1,
				  "a yes or no", "write true or false", ret_number, ret_error);
	case SET_ON_VIOLATION:
		return check_word(text,
				  strcmp(text, "kill") == 0	? 1
				  : strcmp(text, "freeze") == 0 ? 0
								: -1,
				  "what becomes of commands", "write freeze or kill", ret_number,
				  ret_error);
	case SET_REQUIRE:
		return check_wall(text, walls, ret_error);
	case SET_ALLOW_CALL:
		return call_check_allow(text, E_POLICY, ret_error);
	case SET_DENY_CALL:
		return call_check_deny(text, E_POLICY, ret_error);
	case SET_PROFILE:
		return check_profile(text, ret_error);
	case SET_SET_ENV:
		return 0;
	default:
		return check_limit(kind, text, ret_number, ret_error);
	}
}

enum resource { PATHS, HOSTS, PORTS, PUBLISHED, SOCKETS, CALLS, TWO_WORDS, TEXT };

static const struct {
	const char *operation;
	enum resource resource;
	const char *example;
} operations[] = {
	{"read", PATHS, "read ~/.npmrc"},
	{"write", PATHS, "write ~/.cache/pip/**"},
	{"delete", PATHS, "delete build/**"},
	{"exec", PATHS, "exec /usr/bin/git"},
	{"connect", HOSTS, "connect example.org:443"},
	{"bind", PUBLISHED, "bind 8080"},
	{"unix", SOCKETS, "unix ssh-agent"},
	{"host-loopback", PORTS, "host-loopback 5432"},
	{"http", TWO_WORDS, "http GET https://example.org/*"},
	{"sql", TWO_WORDS, "sql update settings"},
	{"deploy", TEXT, "deploy staging"},
	{"secret", TEXT, "secret NPM_TOKEN"},
	{"syscall", CALLS, "syscall modify_ldt"},
	{"profile", TEXT, "profile code-net"},
	{"container", TEXT, "container make test"},
	{"unsandboxed", TEXT, "unsandboxed make install"},
};

int value_check_permission(const char *text, struct error **ret_error)
{
	size_t length = strcspn(text, " ");
	const char *resource = text + length + strspn(text + length, " ");

	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(ret_error, "leave control characters and line breaks out",
				      text, "a permission");
	for (size_t i = 0; i < ELEMENTS(operations); i++) {
		_cleanup_free_ char *hint = NULL;

		if (strlen(operations[i].operation) != length ||
		    memcmp(operations[i].operation, text, length) != 0)
			continue;
		if (asprintf(&hint, "write it as '%s'", operations[i].example) < 0)
			abort();
		if (!*resource || (operations[i].resource == TWO_WORDS && !strchr(resource, ' ')))
			return refuse(ret_error, hint, text, "a permission: it is not complete");
		switch (operations[i].resource) {
		case PATHS:
			return check_path(resource, ret_error);
		case HOSTS:
			return check_host(resource, ret_error);
		case PORTS:
			return check_port(resource, ret_error);
		case PUBLISHED:
			return check_publish(resource, ret_error);
		case SOCKETS:
			return check_socket(resource, ret_error);
		case CALLS:
			return call_check_allow(resource, E_POLICY, ret_error);
		default:
			return 0;
		}
	}
	return refuse(ret_error,
		      "write an operation and what it is for, such as 'connect example.org:443'; "
		      "operations are read, write, delete, exec, connect, bind, unix, "
		      "host-loopback, http, sql, deploy, secret, syscall, profile, container and "
		      "unsandboxed",
		      text, "a permission");
}
