/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: permissions that travel. A token is a macaroon whose caveats are lines of text; each says
 * less than what stands before it, whoever wrote it.
 *
 *     token_read(text)     the token as its holder has it, nothing believed yet
 *     token_check(key)     the chain is ours and whole: what all caveats together leave
 *     token_admits(bearer) and this agent, workspace and command are meant
 *
 * book.h knows what a chain cannot say: keys, the clock, what was revoked, how often it was used. A
 * caveat that is not known refuses the token. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../base/list.h"
#include "../base/moment.h"
#include "macaroon.h"
#include <stdbool.h>
#include <stdint.h>

enum {
	TOKEN_TEXT = 128 * 1024, /* characters at most */
	TOKEN_DISCHARGES = 8,
	TOKEN_KEY_NAME = 17,  /* 16 hexadecimal digits */
	TOKEN_MARK = 33,      /* 32 of them */
	TOKEN_COMMAND = 65,   /* 64 */
	TOKEN_LIFE = 60 * 60, /* seconds, where nothing else is said */
	TOKEN_APPROVER = 64,  /* "ed25519:" and 43 characters */
};

struct token {
	struct macaroon root;
	struct macaroon *discharges;
	size_t count;
};

/* base64url without padding, of the macaroon and the discharges behind it. */
int token_read(const char *text, struct token *ret_token, struct error **ret_error);
/* Caller frees. */
char *token_write(const struct token *token);
void token_done(struct token *token);
#define _cleanup_token_ _cleanup_(token_done)

/* How often it may be used: by all that come of the same beginning. */
struct token_use {
	char mark[TOKEN_MARK];
	uint64_t most;
	int64_t expires; /* all that come of it, whatever they say of their own end */
};

/* What all caveats together leave. */
struct powers {
	char id[ID_TEXT];
	char key[TOKEN_KEY_NAME]; /* the name of the key that it was made with */
	int64_t issued, expires;  /* seconds since 1970 */
	struct moment ends;	  /* the latter by both clocks: see book_check_time() */
	char *agent;
	struct list workspaces;	     /* the workspace lies in each */
	char command[TOKEN_COMMAND]; /* hash of the one command; "": any */
	struct list *allows; /* of each caveat that allows, what it allows: "OPERATION PATTERN".
				What all of them allow is allowed */
	size_t allow_count;
	struct token_use *uses;
	size_t use_count;
	struct list marks;     /* of the chain behind each caveat: revoked by any of them */
	struct list approvers; /* that it needs, in order; "ed25519:KEY" */
	size_t approved;       /* how many of them have */
};

/* The name of its key, before anything is believed. */
int token_key_name(const struct token *token, char ret_name[TOKEN_KEY_NAME],
		   struct error **ret_error);
/* key: NULL to look at a token that is not to be believed. */
int token_check(const struct token *token, const unsigned char *key, struct powers *ret_powers,
		struct error **ret_error);
void powers_done(struct powers *powers);
#define _cleanup_powers_ _cleanup_(powers_done)

/* Who brings it. Each may be NULL. */
struct bearer {
	const char *agent;
	const char *workspace; /* resolved */
	const char *command;   /* hash */
};
int token_admits(const struct powers *powers, const struct bearer *bearer,
		 struct error **ret_error);

/* What is to be said in caveats; all but allow may be NULL or 0. */
struct caveats {
	const struct list *allow; /* empty: nothing more is said of it */
	const char *agent, *workspace, *command;
	int64_t expires;
	uint64_t uses;
	const char *approver; /* "ed25519:KEY" */
};
/* A new one: allow, agent and expires must be there, and are its first caveats. */
int token_mint(const unsigned char key[MACAROON_KEY], const char *key_name, int64_t now,
	       const struct caveats *caveats, struct token *ret_token, struct error **ret_error);
/* Only ever narrower. Approvals that it has are lost: they were for the token as it was. */
int token_narrow(struct token *token, const struct caveats *caveats, struct error **ret_error);

/* approval.c: an approver has a pair of keys; the public one is in the caveat. */
void approver_make(unsigned char ret_seed[32], char ret_public[TOKEN_APPROVER]);
/* Approves what asks for this approver, until then at most. */
int token_approve(struct token *token, const unsigned char seed[32], int64_t expires,
		  struct error **ret_error);

/* What the chain as it stands is revoked by. */
void token_mark(const struct token *token, char ret_mark[TOKEN_MARK]);
/* The hash of a command as a caveat has it: its words, or text for a shell (then argv is NULL). */
void token_command_hash(const struct list *argv, const char *script, char ret_hash[TOKEN_COMMAND]);
