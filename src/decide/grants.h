/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are remembered: what was granted or refused to a session, for which commands, by
 * whom, and until when. One file a session, in ward's own state; it ends with the session. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../base/list.h"
#include "../assess/assess.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct grant {
	char *id;
	char *session;
	char *key, *covers;	 /* as approval_key_make gives them; covers may be NULL */
	bool refusal;		 /* a no instead of a yes */
	struct list permissions; /* "OPERATION RESOURCE"; empty: it may run in the sandbox. A no
				    that has any is to these, not to the command */
	struct list reasons; /* what spoke against it then: a command with more against it is not
				covered */
	char *by, *reason, *command; /* who, why, and what it was said about; each may be NULL */
	int64_t made, expires;	     /* seconds since 1970; 0: with the session */
};

struct grants {
	struct grant *items;
	size_t count, room;
};

/* Where they lie. Caller frees. */
char *grants_file(const char *state, const char *session);
/* Those of one session that hold now, oldest first; none if nothing was ever granted. A file that
 * cannot be read is an error: an answer must not be forgotten silently. */
int grants_load(const char *state, const char *session, struct grants *ret_grants,
		struct error **ret_error);
/* Those of all sessions that live. */
int grants_load_all(const char *state, struct grants *ret_grants, struct error **ret_error);
void grants_done(struct grants *grants);
void grant_done(struct grant *grant);
/* As a new object, for programs. */
json_t *grant_to_json(const struct grant *grant);

/* Remembers it: id, where there is none, and made are filled in. */
int grants_add(const char *state, struct grant *grant, struct error **ret_error);
/* By id or a prefix that names just one. The caller is done with it by grant_done(). */
int grants_find(const char *state, const char *id, struct grant *ret_grant,
		struct error **ret_error);
int grants_revoke(const char *state, const struct grant *grant, struct error **ret_error);

/* True if the grant is about this key, and nothing speaks against the command that did not then. */
bool grant_covers(const struct grant *grant, const char *key, const struct assessment *assessment);
