/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the MCP server share: its calls, and how they are answered. */
#pragma once

#include "mcp.h"
#include "mcp_message.h"
#include "mcp_ticket.h"
#include "runner.h"
#include "wire.h"

enum {
	MCP_CALLS_MOST = 16,	  /* that run or wait at once */
	MCP_LINE_MOST = 16 << 20, /* bytes of a message */
	MCP_BATCH_MOST = 64,
};

/* Requests that came as one array are answered by one. */
struct mcp_batch {
	json_t *responses;
	size_t waiting; /* requests that are not answered yet, and one while it is being read */
};

enum mcp_tool {
	TOOL_NONE = -1,
	TOOL_RUN,
	TOOL_CHECK,
	TOOL_READ,
	TOOL_WRITE,
	TOOL_PATCH,
	TOOL_PENDING,
};

/* A tool that runs something. */
struct mcp_call {
	struct mcp_server *server;
	uint64_t number;
	enum mcp_tool tool;
	enum mcp_version version;
	struct runner *runner;
	char *what; /* the command, for pending */
	bool asks;  /* the client can put questions to its user */

	/* The request that is to be answered; NULL: it was cancelled, or waits for the client to
	 * come again. */
	json_t *id;
	struct mcp_batch *batch;
	bool cancelled;

	/* The question that stands; NULL: none. */
	json_t *ask;
	json_t *form_id; /* of elicitation/create; NULL: the client is to come again */
	int64_t since;

	/* For a client that comes again. */
	unsigned char request[crypto_generichash_BYTES];
	uint64_t round;
	int64_t parked;	 /* until then; 0: it is not */
	json_t *outcome; /* that nobody has asked for yet */

	json_t *notices;

	json_t *token;	     /* of progress; NULL: not wanted */
	struct buffer fresh; /* output that was not told of yet */
	uint64_t moved, left_out;
	int64_t told_ms;
};

struct mcp_server {
	struct wire wire;
	const struct mcp_settings *settings;
	enum mcp_version version; /* MCP_NONE before initialize */
	json_t *capabilities;
	char *client; /* its name, as it says */
	struct mcp_call *calls[MCP_CALLS_MOST];
	uint64_t numbers, forms; /* given out so far */
	mcp_key key;
};

/* mcp_tools.c */
enum mcp_tool mcp_tool_from_name(const char *name);
const char *mcp_tool_name(enum mcp_tool tool);
/* What the client is told at the beginning. */
const char *mcp_instructions(void);
/* All tools, as far as that version knows what is said of them. Caller owns it. */
json_t *mcp_tools(enum mcp_version version);
/* A result of tools/call from an object; NULL as structured: the text alone. */
json_t *mcp_tool_result(enum mcp_version version, json_t *structured, const char *text,
			bool is_error);

/* mcp_arguments.c: arguments of a tool, as a request. *ret_input: a file for its standard input,
 * -1: none; caller closes it. */
int mcp_arguments(const struct mcp_settings *settings, enum mcp_tool tool, json_t *arguments,
		  struct request *ret_request, int *ret_input, struct error **ret_error);
/* mcp_outcome.c: the result of a run as the result of its tool. */
json_t *mcp_outcome(const struct mcp_call *call, json_t *result);

/* mcp_call.c */
/* Begins a call, or takes up one that waits; answers at once where it cannot. */
void mcp_call_tool(struct mcp_server *server, const struct mcp_message *message,
		   enum mcp_version version, json_t *capabilities, struct mcp_batch *batch);
void mcp_call_cancel(struct mcp_server *server, json_t *id);
void mcp_call_serve(struct mcp_call *call);
/* Tells of output, and lets go of what nobody came for. */
void mcp_call_tick(struct mcp_call *call);
void mcp_call_free(struct mcp_call *call);
/* Events of its run: a line for a person. */
void mcp_on_notice(void *data, const char *text);

/* mcp_question.c */
void mcp_on_ask(void *data, json_t *ask);
void mcp_on_withdrawn(void *data, const char *id);
void mcp_forget_ask(struct mcp_call *call);
/* Answers the request of a call, which then has none. Takes result over. */
void mcp_call_answer(struct mcp_call *call, json_t *result);
/* What came to a form. */
void mcp_call_response(struct mcp_server *server, const struct mcp_message *message);
/* A request with the requestState of a call that waits. */
void mcp_come_again(struct mcp_server *server, const struct mcp_message *message,
		    struct mcp_batch *batch);
/* Questions that stand. Caller owns it. */
json_t *mcp_pending(const struct mcp_server *server);

/* mcp.c */
void mcp_answer(struct mcp_server *server, struct mcp_batch *batch, json_t *message);
/* One request of a batch, or its reading, is over without a message. */
void mcp_batch_less(struct mcp_server *server, struct mcp_batch *batch);
int64_t mcp_now_ms(void);
