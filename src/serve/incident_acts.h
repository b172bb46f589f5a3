/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does about an incident, by whichever door: on record before it takes effect, and
 * the runs that stand still are told. */
#pragma once

#include "../record/incidents.h"

enum { INCIDENT_NOTE_MOST = 4096 };

/* Lets the commands go on that stand still, or ends them. The agent stays in safe mode. */
int incident_decide(const char *state, const json_t *incident, enum incident_word word,
		    const char *by, struct error **ret_error);
/* The agent is in normal mode again; what still stands still is ended. A review says something:
 * an empty note is refused. */
int incident_review(const char *state, const json_t *incident, const char *by, const char *note,
		    struct error **ret_error);
