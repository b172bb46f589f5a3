/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to answer a question: one table of keys. */
#include "question.h"

#include <string.h>

enum { COVERS_SHORT = 28 };

static bool offers_longer(const struct ask *ask)
{
	return given(ask->covers);
}

static bool offers_always(const struct ask *ask)
{
	return given(ask->covers) && given(ask->always_rule) && given(ask->always_file);
}

static bool offers_wider(const struct ask *ask)
{
	return ask->extent + 1 < ask->extent_count;
}

static bool offers_narrower(const struct ask *ask)
{
	return ask->extent > 0;
}

static bool offers_domains(const struct ask *ask)
{
	return ask->domains;
}

static bool offers_longer_no(const struct ask *ask)
{
	return ask->kind == ASK_IN_PLACE && given(ask->covers);
}

static bool offers_never(const struct ask *ask)
{
	return given(ask->never_rule);
}

static bool offers_unsandboxed(const struct ask *ask)
{
	return ask->may_unsandbox;
}

static const struct choice choices[] = {
	{'y', false, "once", "yes, for this run and no other", NULL},
	{'s', false, "for the session", "yes, until the agent's session ends", offers_longer},
	{'t', false, "for a time", "yes, for 5 minutes, 30 minutes, an hour or as you say",
	 offers_longer},
	{'a', false, "always", "yes from now on: shows the rule and asks once more", offers_always},
	{'w', false, "wider",
	 "shows the next that a yes could give and is wider; y, s, t, a then mean that",
	 offers_wider},
	{'o', false, "narrower", "the same for the next that is narrower", offers_narrower},
	{'e', false, "change hosts", "changes the list of hosts that it may reach", offers_domains},
	{'u', false, "without the sandbox", "yes, with no wall around it: asks once more",
	 offers_unsandboxed},
	{'n', true, "this time", "no", NULL},
	{'x', true, "for the session", "no, until the agent's session ends", offers_longer_no},
	{'r', true, "and say why", "no, with a line that the agent gets to read", NULL},
	{'v', true, "never again", "no from now on: shows the rule and asks once more",
	 offers_never},
	{'q', true, "abort", "no, and the agent is to stop what it is at", NULL},
	{'?', true, "help", "what the keys mean", NULL},
	{'m', true, "see all", "the whole question, page by page", NULL},
};

static bool is_offered(const struct ask *ask, const struct choice *choice)
{
	return !choice->offered || choice->offered(ask);
}

const struct choice *choice_of(const struct ask *ask, char key)
{
	for (size_t i = 0; i < ELEMENTS(choices); i++)
		if (choices[i].key == key && is_offered(ask, &choices[i]))
			return &choices[i];
	return NULL;
}

/* Beside its key stands only what cannot be taken for another choice. */
static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:./_-* ";

	return given(text) && strlen(text) <= COVERS_SHORT && strspn(text, plain) == strlen(text) &&
	       !strstr(text, "  ");
}

bool covers_is_plain(const struct ask *ask)
{
	return is_plain(ask->covers);
}

/* What stands beside the name of a choice; NULL: nothing. */
static const char *detail(const struct ask *ask, const struct choice *choice)
{
	const char *text = choice->key == 's'	? ask->covers
			   : choice->key == 'w' ? ask->extents[ask->extent + 1].name
			   : choice->key == 'o' ? ask->extents[ask->extent - 1].name
						: NULL;

	return is_plain(text) ? text : NULL;
}

void add_choices(struct lines *lines, const struct ask *ask)
{
	for (int refuses = 0; refuses < 2; refuses++) {
		lines_begin(lines, refuses ? "  no   " : "  yes  ", "       ");
		for (size_t i = 0; i < ELEMENTS(choices); i++) {
			char key[] = {'[', choices[i].key, ']', '\0'};
			const char *beside =
				is_offered(ask, &choices[i]) ? detail(ask, &choices[i]) : NULL;
			unsigned width = 4 + (unsigned)strlen(choices[i].name) +
					 (beside ? 2 + lines_width(beside) : 0);

			if (choices[i].refuses != refuses || !is_offered(ask, &choices[i]) ||
			    choices[i].key == 'm') /* is named where something was cut */
				continue;
			if (lines->used > lines->start) {
				lines_keep_after_blank(lines, width + 1);
				if (lines->used > lines->start)
					lines_add(lines, STYLE_PLAIN, WRAP_EXACT, " ");
			}
			lines_add(lines, STYLE_STRONG, WRAP_EXACT, key);
			lines_add(lines, STYLE_PLAIN, WRAP_EXACT, " ");
			lines_add(lines, STYLE_PLAIN, WRAP_EXACT, choices[i].name);
			if (beside) {
				lines_add(lines, STYLE_PLAIN, WRAP_EXACT, ":");
				lines_keep_after_blank(lines, lines_width(beside));
				lines_add(lines, STYLE_PLAIN, WRAP_EXACT, beside);
			}
		}
		lines_end(lines);
	}
}

void ask_help(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines)
{
	_cleanup_(lines_done) struct lines lines = {.columns = MAX(columns, COLUMNS_LEAST),
						    .styled = colour};

	for (size_t i = 0; i < ELEMENTS(choices); i++) {
		char key[] = {choices[i].key, '\0'};

		if (!is_offered(ask, &choices[i]))
			continue;
		lines_begin(&lines, "  ", "     ");
		lines_add(&lines, STYLE_STRONG, WRAP_EXACT, key);
		lines_add(&lines, STYLE_PLAIN, WRAP_EXACT, "  ");
		lines_add(&lines, STYLE_PLAIN, WRAP_WORDS, choices[i].help);
		lines_end(&lines);
	}
	lines_begin(&lines, "  ", "     ");
	lines_add(
		&lines, STYLE_PLAIN, WRAP_WORDS,
		"|  a line of the command; : the same line goes on. Codes such as \\u{202e} stand "
		"for characters that cannot be seen or that pass for others.");
	lines_end(&lines);
	lines_begin(&lines, "  ", "     ");
	lines_add(&lines, STYLE_PLAIN, WRAP_WORDS,
		  "Ctrl-C, Ctrl-D and half an hour of silence mean no.");
	lines_end(&lines);
	*ret_lines = lines.done;
	lines.done = (struct list){0};
}
