/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's mode and its incidents, in STATE/agents/ID, which no sandbox reaches:
 *
 *     mode.json            whether it is in safe mode, and what counts against it
 *     incidents/ID.json    what put it there, and what people said to that
 *     refused              what a person has said no to, a line for each
 *     holders/RUN          its runs under way (holders.h), so that all of them can be told
 *     unsettled            there is no room to write what one of them did: an incident to be
 *
 * All of it is written whole and renamed, under one lock for each agent: a kill at any moment
 * leaves what was, or what is. What cannot be read is an error, and nobody is in normal mode by
 * one. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../base/list.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct agent_mode {
	bool safe;
	char incident[ID_TEXT]; /* the one that is open; "" where none is */
	uint64_t freezes;	/* how often its runs were told to stand still, ever */
	int64_t voided;		/* tokens that were made up to this second are void; 0: none */
};

/* Where it all lies. Caller frees. */
char *agent_place(const char *state, const char *agent);
/* Makes the place. */
int agent_place_make(const char *state, const char *agent, struct error **ret_error);
/* An agent of which nothing is known is in normal mode. What was left unsettled is settled first.
 */
int mode_read(const char *state, const char *agent, struct agent_mode *ret_mode,
	      struct error **ret_error);

/* A token of an agent in safe mode does not hold, nor one that it had when it came there. issued:
 * when it was made. */
int mode_check_token(const struct agent_mode *mode, const char *agent, int64_t issued,
		     struct error **ret_error);

/* One more medium violation; the same object counts once a run. *ret_count: how many there are now
 * that are no older. */
int mode_count(const char *state, const char *agent, const char *run, const char *object,
	       uint64_t within_ns, uint64_t *ret_count, struct error **ret_error);

/* From here on the agent is in safe mode. violation is borrowed. Where an incident is open already,
 * it becomes part of that; *ret_new says which. All runs of before are to stand still. It holds at
 * once, and against a crash of the machine from mode_sync() on: what runs must not wait for a disk
 * until it is told. */
int incident_open(const char *state, const char *agent, const char *run, json_t *violation,
		  struct agent_mode *ret_mode, bool *ret_new, struct error **ret_error);
int mode_sync(const char *state, const char *agent, struct error **ret_error);
/* Where that could not be written: the run's own file becomes the word for it, which takes no room
 * on a full disk. Whoever reads the mode next opens the incident, or has an error. */
void mode_leave_unsettled(const char *state, const char *agent, const char *run);
/* Later facts: members that it has not yet; or one more in a list. Takes them over. */
int incident_add(const char *state, const char *agent, const char *id, json_t *members,
		 struct error **ret_error);
int incident_append(const char *state, const char *agent, const char *id, const char *key,
		    json_t *value, struct error **ret_error);
int incident_read(const char *state, const char *agent, const char *id, json_t **ret_incident,
		  struct error **ret_error);

/* What is to become of commands that stand still. */
enum incident_word { INCIDENT_WAIT, INCIDENT_RESUME, INCIDENT_KILL };
int incident_answer(const char *state, const char *agent, const char *id, enum incident_word word,
		    const char *by, struct error **ret_error);
/* The last word to those that were told to stand still by that one. */
enum incident_word incident_word(const json_t *incident, uint64_t freezes);
/* The agent is in normal mode again, with nothing against it. note: what was found. */
int incident_close(const char *state, const char *agent, const char *id, const char *by,
		   const char *note, struct error **ret_error);

/* All there are, the oldest first within each agent. Stops early when each returns non-zero. One
 * that cannot be read is an error behind all others. */
int incidents_each(const char *state, int (*each)(json_t *incident, void *data), void *data,
		   struct error **ret_error);
/* By id or a prefix that names just one. New reference. */
int incident_find(const char *state, const char *id, json_t **ret_incident,
		  struct error **ret_error);

/* A person's no to a target, and those that were given in other runs, "OPERATION OBJECT" each. */
int refused_note(const char *state, const char *agent, const char *run, const char *operation,
		 const char *object, struct error **ret_error);
int refused_load(const char *state, const char *agent, const char *run, struct list *ret_targets,
		 struct error **ret_error);
