/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known around a question, as lines: behind a key, so that the question stays short. */
#include "opinion.h"
#include "question.h"

#include <stdio.h>
#include <string.h>

/* Commands are to be read byte by byte, the rest is prose. */
static enum wrap wrap_of(const char *text)
{
	return strncmp(text, "runs", 4) == 0 || strncmp(text, "writes", 6) == 0 ? WRAP_EXACT
										: WRAP_WORDS;
}

/* A list that is empty because nothing is known says so. */
static void add_known(struct lines *lines, const char *label, const struct list *list,
		      const char *none)
{
	for (size_t i = 0; i < list->count; i++)
		add_field(lines, i ? "" : label, wrap_of(list->items[i]), list->items[i]);
	if (list->count == 0)
		add_field(lines, label, WRAP_WORDS, none);
}

static void add_way_back(struct lines *lines, const struct background *background)
{
	static const char *const words[] = {[KNOWN_NOT] = "unknown: ward cannot tell",
					    [KNOWN_YES] = "there is one",
					    [KNOWN_NO] = "there is none"};
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, words[background->can_roll_back]);
	if (background->can_roll_back == KNOWN_YES)
		buffer_printf(&text, "; time: %s", background->rollback_time);
	add_field(lines, "way back", WRAP_WORDS, buffer_text(&text));
	for (size_t i = 0; i < background->rollback_steps.count; i++)
		add_field(lines, "", WRAP_WORDS, background->rollback_steps.items[i]);
}

static void add_history(struct lines *lines, const struct background *background)
{
	_cleanup_list_ struct list past = {0};

	for (size_t i = 0; i < background->similar_count; i++)
		list_add_printf(&past, "%.10s %s: %s", background->similar[i].date,
				background->similar[i].outcome, background->similar[i].description);
	if (background->ran)
		list_add_printf(&past, "%llu of %llu that ran went well",
				(unsigned long long)background->succeeded,
				(unsigned long long)background->ran);
	add_known(lines, "past", &past, "nothing like it is on record");
	add_field(lines, "", WRAP_WORDS, background->history_gap);
}

void add_own_risk(struct buffer *text, const struct ask *ask)
{
	if (opinion_raises(ask->opinion))
		buffer_printf(text, " (ward itself: %s; the model's word made it more)",
			      risk_name(ask->opinion->own));
}

void add_opinion(struct lines *lines, const struct ask *ask)
{
	const struct opinion *opinion = ask->opinion;
	_cleanup_buffer_ struct buffer text = {0};

	if (!opinion)
		return;
	if (opinion->fault)
		buffer_printf(&text, "(no opinion of the model's: %s)", opinion->fault);
	else
		buffer_printf(&text, "(a model's opinion, unchecked) %s, %s: %s",
			      risk_name(opinion->level), opinion->category, opinion->summary);
	add_field(lines, "model says", WRAP_WORDS, buffer_text(&text));
}

void add_past(struct lines *lines, const struct ask *ask)
{
	_cleanup_free_ char *past = ask->background ? background_past(ask->background) : NULL;

	add_field(lines, "past", WRAP_WORDS, past);
}

void add_details(struct lines *lines, const struct ask *ask)
{
	const struct background *background = ask->background;
	_cleanup_buffer_ struct buffer confidence = {0};

	if (!background)
		return;
	add_field(lines, "in short", WRAP_WORDS, background->summary);
	add_known(lines, "will", &background->effects, "unknown");
	add_known(lines, "can fail", &background->failures, "no way is known");
	add_known(lines, "touches", &background->systems, "nothing outside the sandbox is known");
	add_known(lines, "whom", &background->users, "unknown");
	add_way_back(lines, background);
	add_history(lines, background);
	if (ask->assessment) {
		buffer_printf(&confidence, "%.0f %%", 100 * ask->assessment->confidence);
		add_field(lines, "confidence", WRAP_WORDS, buffer_text(&confidence));
	}
}

void ask_details(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines)
{
	_cleanup_(lines_done) struct lines lines = {.columns = MAX(columns, COLUMNS_LEAST),
						    .styled = colour};

	add_details(&lines, ask);
	*ret_lines = lines.done;
	lines.done = (struct list){0};
}
