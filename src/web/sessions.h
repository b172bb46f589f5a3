/* SPDX-License-Identifier: Apache-2.0 */
/* Who may use the inbox: links that let somebody in once, and the sessions that come of them. Both
 * are files of mode 0600 in STATE/web, with the hash of their secret and never the secret itself;
 * sessions outlive the server. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "secret.h"
#include <stdint.h>

enum {
	LINK_SECONDS = 10 * 60,
	LINKS_MOST = 32, /* that have not been used; the oldest go */
	SESSION_IDLE_SECONDS = 12 * 3600,
	SESSION_SECONDS = 7 * 24 * 3600,
	SESSIONS_MOST = 64, /* the one that was longest unused goes */
	/* ID.SECRET */
	SESSION_COOKIE_TEXT = ID_TEXT + SECRET_TEXT,
	APPROVER_NAME_MOST = 64,
};

struct web_session {
	char id[ID_TEXT];
	char *name;	     /* of the approver */
	char *agent;	     /* the browser's own word; may be NULL */
	int64_t since, seen; /* seconds since 1970 */
	int64_t uid;	     /* of who logged in with it; -1: not from this machine */
};

void web_session_done(struct web_session *session);
#define _cleanup_web_session_ _cleanup_(web_session_done)

/* STATE/web, which is made where it is not there. */
int web_directory(const char *state, int *ret_fd, struct error **ret_error);
/* Who the links of this user are for unless told: the login name. Caller frees. */
char *web_default_name(void);
/* A name that can stand in a record: printable UTF-8 of at most so many bytes. Error or 0. */
int web_check_name(const char *name, struct error **ret_error);

/* A code that lets somebody in once, as that approver, within LINK_SECONDS. */
int web_link_make(const char *state, const char *name, char code[static SECRET_TEXT],
		  struct error **ret_error);
/* Uses it up. True if it held; then *ret_name, which the caller frees, is who it was for. Of two at
 * once only one gets true. */
bool web_link_use(const char *state, const char *code, char **ret_name);

/* None that was made so far lets in any more. */
int web_links_end(const char *state, struct error **ret_error);

/* uid: of who logs in; -1: not known. */
int web_session_make(const char *state, const char *name, const char *agent, int64_t uid,
		     char cookie[static SESSION_COOKIE_TEXT], struct error **ret_error);
/* The session that the cookie opens, if it holds; it was seen just now. */
bool web_session_find(const char *state, const char *cookie, struct web_session *ret_session);
/* What a page must send along with all that changes something. */
void web_session_token(const char *cookie, char token[static SECRET_HASH_TEXT]);
/* Those that hold, in the order in which they were made; those that do not are removed. each: may
 * be NULL. */
int web_session_list(const char *state, void (*each)(void *data, const struct web_session *session),
		     void *data, struct error **ret_error);
/* True if there was one. */
bool web_session_end(const char *state, const char *id);
/* True as long as it is there. */
bool web_session_is_there(const char *state, const char *id);
