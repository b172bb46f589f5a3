/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody has registered for a session: a policy of its own, and how its questions are
 * handled. It lies in STATE/sessions/ID/policy.json and is gone with the session. decide/policy.h
 * reads it. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct session_policy {
	const char *text;    /* YAML; NULL: nothing but the rest of this */
	bool trusted;	     /* counts in full, else it can only narrow */
	bool queued;	     /* whoever asks gets a ticket instead of waiting */
	bool allows;	     /* where nobody answers: what stays in the sandbox may run; else no */
	uint64_t timeout_ns; /* for an answer; 0: the usual */
	const char *by;
};

/* Somebody has registered something for some session: else one look is enough. */
bool session_policy_is_used(const char *state);
/* Where it would lie; NULL: that is no session. Caller frees. */
char *session_policy_path(const char *state, const char *session);
/* Replaces what was there, whole or not at all. The session need not have begun. */
int session_policy_write(const char *state, const char *session,
			 const struct session_policy *policy, struct error **ret_error);
/* Nothing registered is no error. */
int session_policy_remove(const char *state, const char *session, struct error **ret_error);
/* As it lies there: session, policy, trusted, asks, default, timeout, by, time. Caller frees; NULL:
 * none. */
json_t *session_policy_read(const char *state, const char *session);
/* Whoever asks gets a ticket instead of waiting. */
bool session_policy_is_queued(const char *state, const char *session);
/* How long its questions wait; 0: nobody has said so. */
uint64_t session_policy_timeout(const char *state, const char *session);
