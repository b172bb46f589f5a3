/* SPDX-License-Identifier: Apache-2.0 */
/* The request as a value: its defaults, its words, its end. */
#include "request.h"
#include "../base/escape.h"

#include <string.h>

enum { KEEP_OUTPUT = 1024 * 1024 };

static const char *const level_names[] = {
	[LEVEL_NONE] = "none", [LEVEL_RESTRICTED] = "restricted", [LEVEL_CONTAINER] = "container"};
static const char *const network_names[] = {
	[NETWORK_NONE] = "none", [NETWORK_RESTRICTED] = "restricted", [NETWORK_FULL] = "full"};
static const char *const approval_names[] = {[APPROVAL_NEVER] = "never",
					     [APPROVAL_ON_FAILURE] = "on-failure",
					     [APPROVAL_ON_REQUEST] = "on-request",
					     [APPROVAL_UNLESS_TRUSTED] = "unless-trusted"};
static const char *const preference_names[] = {[PREFERENCE_AUTO] = "auto",
					       [PREFERENCE_REQUIRE] = "require",
					       [PREFERENCE_FORBID] = "forbid"};
static const char *const escalation_names[] = {[ESCALATION_NONE] = "none",
					       [ESCALATION_CONTAINER] = "container",
					       [ESCALATION_UNSANDBOXED] = "unsandboxed"};
static const char *const caches_names[] = {[CACHES_PRIVATE] = "private", [CACHES_OFF] = "off"};
static const char *const mode_names[] = {
	[MODE_EXEC] = "exec", [MODE_SHELL] = "shell", [MODE_PATCH] = "patch"};

void request_init(struct request *request)
{
	*request = (struct request){
		.mode = MODE_EXEC,
		.level = LEVEL_RESTRICTED,
		.network = NETWORK_NONE,
		.approval = APPROVAL_ON_FAILURE,
		.escalation = ESCALATION_UNSANDBOXED,
		.keep_output = KEEP_OUTPUT,
	};
}

void request_done(struct request *request)
{
	struct list *lists[] = {&request->argv,	       &request->read,
				&request->write,       &request->read_only,
				&request->make,	       &request->deny,
				&request->environment, &request->keep_environment,
				&request->sockets,     &request->allow_calls,
				&request->deny_calls,  &request->require,
				&request->allow_hosts, &request->deny_hosts,
				&request->publish,     &request->sandbox_warnings,
				&request->container};
	char *texts[] = {request->script,	  request->shell,   request->approval_command,
			 request->workspace,	  request->cwd,	    request->agent,
			 request->session,	  request->tool,    request->call_id,
			 request->turn,		  request->reason,  request->policy,
			 request->asked,	  request->profile, request->bound,
			 request->caller.program, request->token};

	for (size_t i = 0; i < ELEMENTS(lists); i++)
		list_done(lists[i]);
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		free(texts[i]);
	*request = (struct request){0};
}

static const char *name_at(const char *const *names, size_t count, unsigned value)
{
	return value < count ? names[value] : NULL;
}

static int value_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

const char *level_name(enum level level)
{
	return name_at(level_names, ELEMENTS(level_names), level);
}

int level_from_name(const char *name)
{
	return value_of(level_names, ELEMENTS(level_names), name);
}

const char *network_name(enum network network)
{
	return name_at(network_names, ELEMENTS(network_names), network);
}

int network_from_name(const char *name)
{
	return value_of(network_names, ELEMENTS(network_names), name);
}

const char *approval_name(enum approval approval)
{
	return name_at(approval_names, ELEMENTS(approval_names), approval);
}

int approval_from_name(const char *name)
{
	return value_of(approval_names, ELEMENTS(approval_names), name);
}

const char *preference_name(enum preference preference)
{
	return name_at(preference_names, ELEMENTS(preference_names), preference);
}

int preference_from_name(const char *name)
{
	return value_of(preference_names, ELEMENTS(preference_names), name);
}

const char *escalation_name(enum escalation escalation)
{
	return name_at(escalation_names, ELEMENTS(escalation_names), escalation);
}

int escalation_from_name(const char *name)
{
	return value_of(escalation_names, ELEMENTS(escalation_names), name);
}

const char *caches_name(enum caches caches)
{
	return name_at(caches_names, ELEMENTS(caches_names), caches);
}

int caches_from_name(const char *name)
{
	return value_of(caches_names, ELEMENTS(caches_names), name);
}

const char *mode_name(enum mode mode)
{
	return name_at(mode_names, ELEMENTS(mode_names), mode);
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

/* A newline inside quotes would break the one line, so words with control characters take the $''
 * form. */
static void add_word(struct buffer *line, const char *word)
{
	if (line->length)
		buffer_add_char(line, ' ');
	if (!has_control(word)) {
		escape_for_shell(line, word);
		return;
	}
	buffer_add_text(line, "$'");
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;

		if (c == '\n')
			buffer_add_text(line, "\\n");
		else if (c == '\t')
			buffer_add_text(line, "\\t");
		else if (c < ' ' || c == 0x7f)
			buffer_printf(line, "\\%03o",
				      c); /* \x would swallow a hex digit after it */
		else if (c == '\'' || c == '\\')
			buffer_printf(line, "\\%c", c);
		else
			buffer_add_char(line, (char)c);
	}
	buffer_add_char(line, '\'');
}

char *request_command_text(const struct request *request)
{
	struct buffer line = {0};

	if (request->mode != MODE_SHELL) {
		for (size_t i = 0; i < request->argv.count; i++) {
			const char *word = request->argv.items[i];

			/* A program of such a name would look like a variable for the next word. */
			if (i == 0 && strchr(word, '=') && !strpbrk(word, "'") &&
			    !has_control(word))
				buffer_printf(&line, "'%s'", word);
			else
				add_word(&line, word);
		}
		return buffer_steal(&line);
	}
	if (!request->shell && !request->login && request->script &&
	    !has_control(request->script)) {
		buffer_add_text(&line, request->script);
		return buffer_steal(&line);
	}
	add_word(&line, request->shell ? request->shell : "bash");
	if (request->login)
		add_word(&line, "-l");
	add_word(&line, "-c");
	add_word(&line, request->script ? request->script : "");
	return buffer_steal(&line);
}
