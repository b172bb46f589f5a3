/* SPDX-License-Identifier: Apache-2.0 */
/* A command as the lexer reads it. */
#pragma once

#include "lexer.h"

struct draft {
	struct command command;
	size_t argv_room, assignments_room, redirects_room;
	bool coprocess; /* coproc stands before it */
};

struct draft *draft_new(struct lexer *lexer);
bool draft_is_empty(const struct draft *draft);
/* The command begins where the lexer stands, if it has not begun. */
void draft_begin(struct lexer *lexer, struct draft *draft);
void draft_add_argument(struct state *state, struct draft *draft, const char *text,
			struct snippet source);
void draft_add_assignment(struct state *state, struct draft *draft, const char *text,
			  struct snippet source);
void draft_add_redirect(struct state *state, struct draft *draft, struct redirect redirect);
/* Adds what was read to the plan and begins anew. */
void draft_finish(struct lexer *lexer, struct draft **draft);

/* redirects.c */
bool lex_at_redirect(struct lexer *lexer);
void lex_redirect(struct lexer *lexer, struct draft *draft, int fd);

/* places.c */
/* Something that other commands stand in begins or ends here. */
void lex_open(struct lexer *lexer, enum spot_kind kind, const char *name);
void lex_open_coprocess(struct lexer *lexer);
void lex_close(struct lexer *lexer);
/* Ends what began in this list and was not ended. */
void lex_close_to(struct lexer *lexer, const struct spot *bottom);
/* compounds.c */
void lex_define_function(struct lexer *lexer, struct draft **draft, const char *name);
/* The () of a definition, if they are there. */
void lex_take_parentheses(struct lexer *lexer);
/* True if the word was one (behind a pipe `time` is a program); *ret_esac if it ends the case
 * around it. */
bool lex_reserved(struct lexer *lexer, struct draft **draft, const struct word *word, bool piped,
		  bool *ret_esac);
