/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of ward token have been told. */
#pragma once

#include "../../src/base/list.h"
#include "../../src/token/token.h"
#include <stdbool.h>

struct token_words {
	const char *verb;
	char *token; /* as it was given, or read from standard input; owned */
	struct list allow, argv;
	const char *agent, *approver, *script, *key;
	char *workspace;  /* resolved */
	uint64_t life_ns; /* 0: not said */
	uint64_t uses;
	bool json, retire;
};

/* Error, 1 where help is wanted, or 0. */
int token_words_read(int argc, char **argv, struct token_words *words, struct error **ret_error);
void token_words_done(struct token_words *words);
/* What they say as caveats; borrows from the words and from command. */
void token_words_caveats(const struct token_words *words, int64_t now,
			 char command[static TOKEN_COMMAND], struct caveats *ret_caveats);
/* token_show.c: for people or programs, whether it is to be believed or not. */
void token_show(const struct token *token, const struct powers *powers, bool json);
