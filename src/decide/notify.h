/* SPDX-License-Identifier: Apache-2.0 */
/* Channels by which people are told that something waits for them, or went wrong: named by the
 * system's or the user's policy, never by a project, for they run and post outside the sandbox. */
#pragma once

#include "../assess/assess.h"
#include "../base/error.h"
#include "../base/list.h"
#include <stdint.h>
#include <sys/types.h>

enum channel_kind { CHANNEL_NONE, CHANNEL_WEBHOOK, CHANNEL_PROGRAM, CHANNEL_DESKTOP, CHANNEL_MAIL };
enum channel_shape { SHAPE_GENERIC, SHAPE_SLACK };
enum channel_group { GROUP_APPROVERS, GROUP_SECURITY, GROUPS };

/* What a channel may be told of, as bits. */
enum notice {
	NOTICE_ASKED = 1,      /* a question waits */
	NOTICE_UNANSWERED = 2, /* nobody has answered one in time */
	NOTICE_EXPIRED = 4,    /* a grant ended while its command ran */
	NOTICE_INCIDENT = 8,   /* an agent was put into safe mode */
	NOTICE_NEAR = 16,      /* a run comes near to a limit */
	NOTICE_END = 32,
};

struct notify_channel {
	char *name; /* no other has it */
	enum channel_group group;
	enum channel_kind kind;
	char *url, *url_file; /* of a webhook: one of them, the other is NULL */
	enum channel_shape shape;
	char *secret_file, *secret_variable; /* at most one */
	bool insecure;			     /* http to other machines */
	struct list program;		     /* argv; the first is absolute */
	struct list mail;		     /* to whom */
	char *from;			     /* NULL: whoever runs ward */
	char *sendmail;			     /* absolute */
	unsigned notices;		     /* enum notice */
	enum risk risk;			     /* of questions: so much at least */
	struct list agents;		     /* patterns; empty: all, and runs without one */
	uint64_t timeout_ns, backoff_ns;     /* of one attempt; before the second attempt */
	unsigned attempts;
	char *file;
	int line;
};

struct notify {
	struct notify_channel *channels;
	size_t count;
	char *callback; /* where answers are taken: the URL in front of /hook/NAME; NULL: nowhere */
};

void notify_channel_done(struct notify_channel *channel);
void notify_done(struct notify *notify);

const char *notice_name(enum notice notice); /* one bit */
const char *channel_kind_name(enum channel_kind kind);
const char *channel_group_name(enum channel_group group);
const char *channel_shape_name(enum channel_shape shape);
const struct notify_channel *notify_find(const struct notify *notify, const char *name);
/* Of a risk that is not known ("" or NULL) it is told. */
bool channel_wants(const struct notify_channel *channel, enum notice notice, const char *agent,
		   const char *risk);
/* Questions of that agent reach somebody. */
bool notify_reaches_approvers(const struct notify *notify, const char *agent);
/* Answers can come back from it. */
bool channel_can_answer(const struct notify *notify, const struct notify_channel *channel);

/* The words of a file or variable that only its owner can read. home stands for ~. NULL without
 * one: *ret is then empty. Caller frees, after wiping. */
enum { SECRET_LEAST = 16, SECRET_MOST = 4096 };
int channel_secret(const struct notify_channel *channel, const char *home, char **ret_secret,
		   struct error **ret_error);
int channel_url(const struct notify_channel *channel, const char *home, char **ret_url,
		struct error **ret_error);
/* Why the program must not be started, in words, or NULL: somebody else, or a command in that
 * workspace (may be NULL), could have changed it. */
const char *channel_program_fault(const struct list *words, uid_t uid, const char *workspace);
/* "https://host[:port][/path]", or http with any host where it is permitted, else to this machine
 * alone; no user, no fragment, nothing that is not plain ASCII. */
bool channel_url_is_good(const char *url, bool insecure);
