/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of coding agents: each calls a program before it uses a tool, with one JSON object, and
 * does as the answer says. What is asked is the same everywhere, so a dialect is a table: how to
 * know it, where its words stand, and how it wants to be answered. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <jansson.h>
#include <stdbool.h>

enum { HOOK_LIMIT = 8 << 20 };

enum hook_action {
	HOOK_SHELL, /* a command for a shell */
	HOOK_READ,  /* files that are read */
	HOOK_WRITE, /* files that are changed */
	HOOK_OTHER, /* nothing that ward has a word about */
};

/* What an agent is about to do. Texts are borrowed from the object, unless said otherwise; NULL
 * where there is none. */
struct hook_call {
	const struct dialect *dialect;
	json_t *object; /* owned */
	enum hook_action action;
	const char *event, *session, *cwd, *root, *tool, *call_id, *turn, *reason, *mode;
	const char *command; /* HOOK_SHELL */
	json_t *input;	     /* that the command stands in, to be given back with another one */
	struct list paths;   /* HOOK_READ, HOOK_WRITE: owned, as the agent wrote them */
	bool asks, rewrites; /* as of the dialect, unless this version of the agent is worse */
	bool sandboxed;	     /* it goes into a sandbox of the agent's own */
	bool nameless;	     /* it is about a tool, and does not say which */
};

enum hook_word {
	HOOK_ALLOW, /* go on, with the command that is given */
	HOOK_ASK,   /* a person is to be asked */
	HOOK_DENY,
	HOOK_SILENCE, /* no word: the agent's own rules hold */
};

struct hook_answer {
	enum hook_word word;
	char *reason;  /* owned; always there with ask and deny */
	char *command; /* owned; NULL: as it was */
};

struct dialect {
	const char *name; /* as a ward agent is called */
	bool asks;	  /* it can put a question to a person */
	bool rewrites;	  /* another command can be given in place of the one */
	bool (*is)(json_t *object);
	void (*read)(struct hook_call *call);
	json_t *(*write)(const struct hook_call *call, const struct hook_answer *answer);
};

/* Fails where it is no object of any dialect, or its parts are not what they should be;
 * ret_call->dialect is then the one that it seems to be, or NULL. */
int hook_read(const char *text, size_t length, struct hook_call *ret_call,
	      struct error **ret_error);
void hook_call_done(struct hook_call *call);
void hook_answer_done(struct hook_answer *answer);
/* The answer in the dialect's own words; "{}" is none. Caller frees. */
char *hook_write(const struct hook_call *call, const struct hook_answer *answer);
/* Whether a person sits behind the agent who would see its questions. */
bool hook_is_attended(const struct hook_call *call);

extern const struct dialect hook_dialects[];
extern const size_t hook_dialect_count;

/* hook_versions.c: whether an answer to ask stops this Claude Code; what holds for this turn of
 * Codex, as its transcript says. */
bool claude_asks(json_t *object);
void codex_look(struct hook_call *call, const char *transcript);

/* hook_patch.c: the files that a patch in the agents' own form names. */
void patch_paths(const char *patch, struct list *ret_paths);
