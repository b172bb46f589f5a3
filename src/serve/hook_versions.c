/* SPDX-License-Identifier: Apache-2.0 */
/* What the versions of an agent differ in where its hooks do not say so: whether a question of ours
 * stops it, whether it takes another command, and whether a sandbox of its own stands round the
 * command. Each was seen in the agents themselves (tests/agents); what is not known counts as the
 * worse. */
#include "hook.h"

#include "../base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a transcript: all of a long session, and the part of a line that its type stands in. */
enum { TRANSCRIPT_LIMIT = 512 << 20, TYPE_WITHIN = 256 };

struct version {
	unsigned part[3];
};

static bool is_at_least(const struct version *version, const struct version *wanted)
{
	for (size_t i = 0; i < ELEMENTS(version->part); i++)
		if (version->part[i] != wanted->part[i])
			return version->part[i] > wanted->part[i];
	return true;
}

/* Before this an 'ask' about what the user's own rules allow went on without a question: 2.1.77
 * does so, 2.1.110 does not. The agent names itself in the environment; the newest number the
 * prompt. */
bool claude_asks(json_t *object)
{
	static const struct version first = {{2, 1, 110}};
	const char *name = getenv("AI_AGENT");
	struct version version;

	if (json_object_get(object, "prompt_id"))
		return true;
	return name &&
	       sscanf(name, "claude-code_%u-%u-%u_", &version.part[0], &version.part[1],
		      &version.part[2]) == 3 &&
	       is_at_least(&version, &first);
}

static json_t *payload_of(const char *line, size_t length, const char *type)
{
	json_t *object, *payload = NULL;

	if (!memmem(line, length < TYPE_WITHIN ? length : TYPE_WITHIN, type, strlen(type)))
		return NULL;
	object = json_loadb(line, length, 0, NULL);
	if (object && json_string_value(json_object_get(object, "type")) &&
	    strcmp(json_string_value(json_object_get(object, "type")), type) == 0)
		payload = json_incref(json_object_get(object, "payload"));
	json_decref(object);
	return payload;
}

static FILE *open_transcript(const char *path)
{
	_cleanup_close_ int fd =
		path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TRANSCRIPT_LIMIT)
		return NULL;
	return fdopen(STEAL_FD(fd), "r");
}

/* Before 0.131 another command is an error, and an error lets the first one run. What the mode
 * calls bypassPermissions is that nobody is asked, whatever sandbox there is. The version and the
 * sandbox of each turn stand in the transcript only. */
void codex_look(struct hook_call *call, const char *transcript)
{
	static const struct version first = {{0, 131, 0}};
	FILE *file = open_transcript(transcript);
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t length;

	call->rewrites = call->sandboxed = false;
	while (file && (length = getline(&line, &room, file)) > 0) {
		json_t *meta = payload_of(line, (size_t)length, "session_meta");
		json_t *turn = payload_of(line, (size_t)length, "turn_context");
		const char *text = json_string_value(json_object_get(meta, "cli_version"));
		struct version version;

		/* The last word counts: a session goes on under another version. */
		if (meta)
			call->rewrites = text &&
					 sscanf(text, "%u.%u.%u", &version.part[0],
						&version.part[1], &version.part[2]) == 3 &&
					 is_at_least(&version, &first);
		text = json_string_value(json_object_get(turn, "turn_id"));
		if (turn && (!text || (call->turn && strcmp(text, call->turn) == 0))) {
			text = json_string_value(
				json_object_get(json_object_get(turn, "sandbox_policy"), "type"));
			call->sandboxed = text && (strcmp(text, "workspace-write") == 0 ||
						   strcmp(text, "read-only") == 0);
		}
		json_decref(meta);
		json_decref(turn);
	}
	if (file)
		fclose(file);
}
