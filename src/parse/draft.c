/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as they grow, and their way into the plan. */
#include "draft.h"

#include <string.h>

enum { COMMAND_LIMIT = 10000 };

/* Growing arrays in the arena: the old copies stay behind, which at most doubles them. */

static void *grown(struct arena *arena, void *items, size_t count, size_t room, size_t size)
{
	void *copy = arena_alloc(arena, room * size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

/* One past the end stays zero, which ends an argv. */
static bool is_full(size_t count, size_t *room)
{
	if (count + 1 < *room)
		return false;
	*room = MAX(*room * 2, (size_t)4);
	return true;
}

struct draft *draft_new(struct lexer *lexer)
{
	return arena_alloc(lexer->state->arena, sizeof(struct draft));
}

bool draft_is_empty(const struct draft *draft)
{
	const struct command *command = &draft->command;

	return command->argc + command->assignment_count + command->redirect_count == 0;
}

void draft_begin(struct lexer *lexer, struct draft *draft)
{
	lexer->word_start = lexer->at;
	if (draft_is_empty(draft))
		draft->command.span = lex_span(lexer, lexer->at, lexer->at);
}

void draft_add_argument(struct state *state, struct draft *draft, const char *text,
			struct snippet source)
{
	struct command *command = &draft->command;

	if (is_full(command->argc, &draft->argv_room)) {
		command->argv = grown(state->arena, command->argv, command->argc, draft->argv_room,
				      sizeof(char *));
		command->sources = grown(state->arena, command->sources, command->argc,
					 draft->argv_room, sizeof(struct snippet));
	}
	command->sources[command->argc] = source;
	command->argv[command->argc++] = text;
}

void draft_add_assignment(struct state *state, struct draft *draft, const char *text,
			  struct snippet source)
{
	struct command *command = &draft->command;

	if (is_full(command->assignment_count, &draft->assignments_room)) {
		command->assignments =
			grown(state->arena, command->assignments, command->assignment_count,
			      draft->assignments_room, sizeof(char *));
		command->assignment_sources =
			grown(state->arena, command->assignment_sources, command->assignment_count,
			      draft->assignments_room, sizeof(struct snippet));
	}
	command->assignment_sources[command->assignment_count] = source;
	command->assignments[command->assignment_count++] = text;
}

void draft_add_redirect(struct state *state, struct draft *draft, struct redirect redirect)
{
	struct command *command = &draft->command;

	if (is_full(command->redirect_count, &draft->redirects_room))
		command->redirects =
			grown(state->arena, command->redirects, command->redirect_count,
			      draft->redirects_room, sizeof(struct redirect));
	command->redirects[command->redirect_count++] = redirect;
}

/* a[ b ]=c is one word to bash, and without a ] the text is none to it. */
static bool opens_subscript(const char *word)
{
	size_t name =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return name > 0 && word[name] == '[' && !strchr(word + name, ']');
}

void draft_finish(struct lexer *lexer, struct draft **draft)
{
	struct state *state = lexer->state;
	struct plan *plan = state->plan;
	struct command *command = &(*draft)->command;
	bool coprocess = (*draft)->coprocess;

	if (draft_is_empty(*draft))
		return;
	if (plan->count >= COMMAND_LIMIT) {
		lex_stop(lexer, "it holds too many commands");
		return;
	}
	if (coprocess)
		lex_open_coprocess(lexer);
	/* bash writes it down as `coproc COPROC >x` where it stands in a substitution, and then
	 * runs a command of that name */
	if (coprocess && command->argc == 0)
		plan_opaque(state->arena, plan, OPAQUE_DISPUTED,
			    "a coproc without a command may run one called COPROC", command->span);
	if (command->argc && opens_subscript(command->argv[0]))
		plan_opaque(state->arena, plan, OPAQUE_DISPUTED,
			    "a subscript may go on in the next word", command->span);
	/* An argv of no words must still be a list that ends. */
	if (!command->argv)
		command->argv = arena_new_array(state->arena, const char *, 1);
	command->pipeline = lex_pipeline(lexer);
	command->stage = lexer->stage;
	command->place = lexer->place;
	command->conditional = lexer->conditional;
	if (lexer->place)
		lexer->place->filled = true;
	if (command->argc == 0 && command->assignment_count == 0)
		command->of = lexer->closed;
	if (is_full(plan->count, &state->commands_room))
		plan->commands = grown(state->arena, plan->commands, plan->count,
				       state->commands_room, sizeof(struct command));
	plan->commands[plan->count++] = *command;
	if (coprocess)
		lex_close(lexer);
	lexer->closed = NULL;
	*draft = draft_new(lexer);
}
