/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the files of one agent. */
#pragma once

#include "incidents.h"

/* The agent's directory, locked until both are closed. */
struct agent_files {
	int directory, incidents, lock;
};
#define AGENT_FILES_NONE ((struct agent_files){-1, -1, -1})

int agent_files_open(const char *state, const char *agent, struct agent_files *ret_files,
		     struct error **ret_error);
void agent_files_close(struct agent_files *files);
#define _cleanup_agent_files_ _cleanup_(agent_files_close)

/* A whole object; NULL with 0 where there is no such file. */
enum { AGENT_FILE_MOST = 8 * 1024 * 1024 };
int agent_file_read(int directory, const char *name, json_t **ret_object, struct error **ret_error);
/* Whole, and for its owner alone. */
enum durable { DURABLE_LATER, DURABLE_NOW };
int agent_file_write(int directory, const char *name, const json_t *object, enum durable durable,
		     struct error **ret_error);
/* Opens the incident that could not be written when there was cause for it; 0 where there is none
 * such. */
int mode_settle(const char *state, const char *agent, struct error **ret_error);
#define MODE "mode.json"
/* object: NULL where there is none yet. What ward cannot have written is an error. */
int mode_of_json(const json_t *object, struct agent_mode *ret_mode, struct error **ret_error);
