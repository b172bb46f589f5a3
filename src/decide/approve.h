/* SPDX-License-Identifier: Apache-2.0 */
/* When a person is asked: the approval policies as one function each, without any state. */
#pragma once

#include "../assess/assess.h"
#include "../request/request.h"

enum verdict_kind { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };
const char *verdict_name(enum verdict_kind kind);

/* What speaks for or against a request before it has run. */
struct standing {
	enum class class;
	bool has_rule;		/* a rule of the policy names it */
	enum verdict_kind rule; /* and says this */
	bool certain;		/* a rule that refuses does so whatever is only known later */
	bool wants_approval;	/* whoever sends it wants a yes to it */
	bool vouched;		/* a caller whose word counts says that there was one */
	bool approved;		/* a yes that still holds covers it */
	bool refused;		/* a no that still holds covers it */
	bool trusted;		/* the agent's score unlocks it */
	bool locked;		/* it takes a higher one */
	bool only_reads;
	bool none_by_policy; /* the policy itself puts it outside the sandbox */
	bool wants_more;     /* it wants what only a yes that names it gives: to start without the
				sandbox */
	bool more_approved;  /* and a rule or a yes named that */
};

struct ruling {
	enum verdict_kind kind;
	const char *source; /* rule, cache, trust, caller, default */
};

/* Whether nothing would run under wanted that is asked about or refused under now. */
bool approval_is_stricter(enum approval wanted, enum approval now);
/* Before the first attempt. */
struct ruling approve_first(enum approval approval, const struct standing *standing);
/* After a denial: may a person be asked for what was missing, still sandboxed; and for running
 * without the sandbox? */
bool approve_missing(enum approval approval);
bool approve_unsandboxed(enum approval approval, enum preference preference);

/* After a denial: the next level that a person may be asked for, in the order restricted,
 * container, none; the level itself where there is none. apart: a container would be another place
 * than where the command was refused. */
enum level approve_next(enum approval approval, enum preference preference, enum escalation most,
			bool apart, enum level level);
