/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to answer a question: one table of keys. */
#include "question.h"
#include "route.h"

#include <string.h>

enum { COVERS_SHORT = 28 };

static bool offers_time(const struct ask *ask)
{
	return given(ask->covers);
}

/* Nobody knows how long a session is: where a yes may hold for so long and no longer, it has an end
 * that is said. */
static bool offers_longer(const struct ask *ask)
{
	return given(ask->covers) && !route_grant_seconds(ask->route);
}

static bool offers_always(const struct ask *ask)
{
	return offers_longer(ask) && given(ask->always_rule) && given(ask->always_file);
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

/* Where there is something to leave out. */
static bool offers_edit(const struct ask *ask)
{
	return ask_is_editable(ask) &&
	       (ask->grants->count > 1 || strchr(ask->grants->items[0], '*') ||
		(strncmp(ask->grants->items[0], "connect ", 8) == 0 &&
		 !strchr(ask->grants->items[0], ':')));
}

static bool offers_monitor(const struct ask *ask)
{
	return ask->kind != ASK_IN_PLACE && (!ask->grants || !list_has(ask->grants, "unsandboxed"));
}

/* It runs already. */
static bool offers_late_monitor(const struct ask *ask)
{
	return ask->kind == ASK_IN_PLACE;
}

static bool offers_longer_no(const struct ask *ask)
{
	return ask->kind == ASK_IN_PLACE && given(ask->covers);
}

static bool offers_never(const struct ask *ask)
{
	return given(ask->never_rule);
}

static bool offers_details(const struct ask *ask)
{
	return ask->background;
}

static bool offers_unsandboxed(const struct ask *ask)
{
	return ask->may_unsandbox;
}

static bool offers_later(const struct ask *ask)
{
	return ask->may_defer;
}

static const struct choice choices[] = {
	{'y', false, "once", "yes, for this run and no other", NULL},
	{'s', false, "for the session", "yes, until the agent's session ends", offers_longer},
	{'t', false, "for a time", "yes, for 5 minutes, 30 minutes, an hour or as you say",
	 offers_time},
	{'a', false, "always", "yes from now on: shows the rule and asks once more", offers_always},
	{'w', false, "wider",
	 "shows the next that a yes could give and is wider; y, s, t, a then mean that",
	 offers_wider},
	{'o', false, "narrower", "the same for the next that is narrower", offers_narrower},
	{'e', false, "change hosts", "changes the list of hosts that it may reach", offers_domains},
	{'e', false, "edit", "changes what a yes gives to something narrower", offers_edit},
	{'k', false, "watched",
	 "yes, for this run; what it opens, reaches, starts and prints is kept, and you are told "
	 "at "
	 "its end",
	 offers_monitor},
	{'k', false, "watched",
	 "yes, for this run; what it changes, reaches and starts from now on and all that it "
	 "prints is kept, and you are told at its end. What it did before and what it reads is not "
	 "known",
	 offers_late_monitor},
	{'u', false, "without the sandbox", "yes, with no wall around it: asks once more",
	 offers_unsandboxed},
	{'n', true, "this time", "no", NULL},
	{'x', true, "for the session", "no, until the agent's session ends", offers_longer_no},
	{'r', true, "and say why", "no, with a line that the agent gets to read", NULL},
	{'v', true, "never again", "no from now on: shows the rule and asks once more",
	 offers_never},
	{'q', true, "abort", "no, and the agent is to stop what it is at", NULL},
	{'l', true, "later",
	 "neither: it stays in the queue, and whoever wants it gets a ticket to wait with",
	 offers_later},
	{'d', true, "details",
	 "what will happen, what can go wrong, whom it touches, the way back, the past",
	 offers_details},
	{'?', true, "help", "what the keys mean", NULL},
	{'m', true, "see all", "the whole question, page by page", NULL},
};

/* The rows stay short: the help names these, and m is named where something was cut. */
static bool is_quiet(char key)
{
	return key == 'm' || key == 'k';
}

static bool is_offered(const struct ask *ask, const struct choice *choice)
{
	if (ask->no_yes && !choice->refuses)
		return false;
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
			    is_quiet(choices[i].key))
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
		  ask->goes_on
			  ? "Ctrl-C, Ctrl-D and half an hour of silence answer nothing: it goes "
			    "on waiting."
			  : "Ctrl-C, Ctrl-D and half an hour of silence mean no.");
	lines_end(&lines);
	*ret_lines = lines.done;
	lines.done = (struct list){0};
}
