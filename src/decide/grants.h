/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are remembered: what was granted or refused to a session, for which commands, by
 * whom, and until when. One file a session, in ward's own state; it ends with the session. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../base/list.h"
#include "../base/moment.h"
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
	char *agent;		     /* to whom; NULL: nobody was named */
	int64_t made;		     /* seconds since 1970 */
	struct moment expires;	     /* no wall: with the session */
	uint64_t uses;		     /* by so many runs; 0: by any number */
	uint64_t used;		     /* by so many so far */
	int64_t last;		     /* when it was used last; 0: never */
};

struct grants {
	struct grant *items;
	size_t count, room;
};

/* Where they lie. Caller frees. */
char *grants_file(const char *state, const char *session);
/* Those that a run looks for: about one of two keys, and given to this agent (NULL: to a run that
 * names none), because two agents may name one session; a no is one to all of them. What is used up
 * still holds for the run that has used it. */
struct grants_wanted {
	const char *key, *exact, *run, *agent;
	bool by_wall;	 /* the wall clock alone says what has ended: see CHECK_CLOCK */
	bool taken_back; /* those that were taken back, too: see CHECK_RECALL */
};
/* Those of one session that hold now, oldest first; none if nothing was ever granted. wanted: NULL
 * for all. A file that cannot be read is an error: an answer must not be forgotten silently. */
int grants_load(const char *state, const char *session, const struct grants_wanted *wanted,
		struct grants *ret_grants, struct error **ret_error);
/* Those of all sessions that live. spent: what is used up, too, which a run may still hold. */
int grants_load_all(const char *state, bool spent, struct grants *ret_grants,
		    struct error **ret_error);
void grants_done(struct grants *grants);
void grant_done(struct grant *grant);
/* As a new object, for programs. */
json_t *grant_to_json(const struct grant *grant);

/* Remembers it: id, where there is none, and made are filled in. */
int grants_add(const char *state, struct grant *grant, struct error **ret_error);
/* By id or a prefix that names just one. */
int grants_find(const struct grants *grants, const char *id, size_t *ret_at,
		struct error **ret_error);
/* All of those that are of one session, at once. *ret_length: of the file behind it, see
 * record/holders.h. */
int grants_revoke(const char *state, const char *session, const struct grants *grants,
		  uint64_t *ret_length, struct error **ret_error);
/* A run makes use of it: 0, or 1 where as many as may be already have. Counted once a run. */
int grants_use(const char *state, const struct grant *grant, const char *run,
	       struct error **ret_error);

/* True if the grant is about this key, and nothing speaks against the command that did not then. */
bool grant_covers(const struct grant *grant, const char *key, const struct assessment *assessment);
