/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a question: what is asked, why, and exactly what a yes would give. */
#include "ask.h"
#include "question.h"
#include "route.h"

#include <string.h>

enum { COMMAND_MOST = 256 * 1024, FIELD_MOST = 16 * 1024 };

/* Text of others never starts left of this column, so it cannot pass for a label or a choice. */
static const char indent[] = "             ";
static const char gutter[] = "  | ", gutter_on[] = "  : ";

/* The parts of a question in the order in which they stand. */
enum part {
	PART_HEADING,
	PART_COMMAND,
	PART_CODE,
	PART_WHO,
	PART_SAYS,
	PART_WHY,
	PART_RISK,
	PART_OPINION,
	PART_PAST,
	PART_REFUSED,
	PART_YES,
	PART_THEN,
	PART_COVERS,
	PART_NOTES,
	PART_DETAILS,
	PARTS,
};

/* Where the screen is too small for all, lines are handed out in this order: first each part's
 * least, then one more each for as long as there are any. */
static const struct {
	enum part part;
	size_t least;
} importance[] = {
	{PART_HEADING, 2}, {PART_YES, 3},   {PART_COMMAND, 3}, {PART_CODE, 6},	 {PART_RISK, 1},
	{PART_THEN, 1},	   {PART_NOTES, 1}, {PART_REFUSED, 2}, {PART_COVERS, 1}, {PART_WHY, 1},
	{PART_SAYS, 1},	   {PART_WHO, 1},   {PART_OPINION, 1}, {PART_PAST, 1},
};

struct page {
	struct lines lines;
	size_t end[PARTS]; /* where each part ends; it starts where the one before ends */
};

static void begin_labelled(struct lines *lines, const char *label)
{
	lines_begin(lines, "  ", indent);
	lines_add(lines, STYLE_STRONG, WRAP_EXACT, label);
	while (lines->used < sizeof(indent) - 1)
		lines_add(lines, STYLE_PLAIN, WRAP_EXACT, " ");
	lines->start = lines->used;
}

void add_field(struct lines *lines, const char *label, enum wrap wrap, const char *text)
{
	if (!given(text))
		return;
	begin_labelled(lines, label);
	lines_add_some(lines, STYLE_PLAIN, wrap, text, strlen(text), FIELD_MOST);
	lines_end(lines);
}

void add_block(struct lines *lines, enum style style, const char *text)
{
	size_t left = COMMAND_MOST;

	for (;;) {
		size_t length = strcspn(text, "\n");
		bool last = text[length] == '\0' || strcmp(text + length, "\n") == 0;

		lines_begin(lines, gutter, gutter_on);
		if (length >= left && !last)
			length = strlen(text); /* the rest counts as left out */
		lines_add_some(lines, style, WRAP_EXACT, text, length, left);
		lines_end(lines);
		if (last || text[length] == '\0')
			return;
		text += length + 1;
		left -= MIN(left, length + 1);
	}
}

/* In quotes unless it is plain, so that a name with a comma cannot pass for two. */
static void add_quoted(struct buffer *text, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:./_-[]";

	if (strspn(value, plain) == strlen(value)) {
		buffer_add_text(text, value);
		return;
	}
	buffer_add_char(text, '"');
	for (; *value; value++)
		if (*value == '"')
			buffer_add_text(text, "\\x22");
		else
			buffer_add_char(text, *value);
	buffer_add_char(text, '"');
}

static void add_value(struct lines *lines, const char *name, const char *value)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (!given(value))
		return;
	buffer_printf(&text, "%s ", name);
	add_quoted(&text, value);
	if (lines->used > lines->start) {
		lines_add(lines, STYLE_PLAIN, WRAP_EXACT, ",");
		lines_keep_after_blank(lines, lines_width(buffer_text(&text)));
	}
	lines_add_some(lines, STYLE_PLAIN, WRAP_EXACT, buffer_text(&text), text.length, FIELD_MOST);
}

static void add_who(struct lines *lines, const struct ask *ask)
{
	add_field(lines, "in", WRAP_EXACT, ask->cwd);
	if (!given(ask->agent) && !given(ask->tool) && !given(ask->call_id) && !given(ask->turn) &&
	    !given(ask->session))
		return;
	begin_labelled(lines, "asked by");
	add_value(lines, "agent", ask->agent);
	add_value(lines, "tool", ask->tool);
	add_value(lines, "call", ask->call_id);
	add_value(lines, "turn", ask->turn);
	add_value(lines, "session", ask->session);
	lines_end(lines);
}

static void add_says(struct lines *lines, const struct ask *ask)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (!given(ask->reason))
		return;
	buffer_printf(&text, "(its own words, unchecked) %s", ask->reason);
	add_field(lines, "agent says", WRAP_WORDS, buffer_text(&text));
}

static void add_risk(struct lines *lines, const struct ask *ask)
{
	const struct assessment *assessment = ask->assessment;
	_cleanup_buffer_ struct buffer text = {0};

	if (!assessment)
		return;
	begin_labelled(lines, "risk");
	lines_add(lines, assessment->risk >= RISK_HIGH ? STYLE_WARNING : STYLE_STRONG, WRAP_EXACT,
		  risk_name(assessment->risk));
	add_own_risk(&text, ask);
	for (size_t i = 0; assessment->categories && assessment->categories[i]; i++)
		buffer_printf(&text, "%s %s", i == 0 ? ":" : ",", assessment->categories[i]);
	if (ask->destroys)
		buffer_add_text(&text, "; what is there now is lost, ward keeps no copy");
	else if (assessment->reversible && assessment->way_back)
		buffer_printf(&text, "; can be undone: %s", assessment->way_back);
	else
		buffer_printf(&text, "; %s be undone", assessment->reversible ? "can" : "cannot");
	lines_add_some(lines, STYLE_PLAIN, WRAP_WORDS, buffer_text(&text), text.length, FIELD_MOST);
	lines_end(lines);
	if (assessment->damage.measured) {
		_cleanup_free_ char *damage = damage_text(&assessment->damage);

		lines_begin(lines, indent, indent);
		lines_add(lines, STYLE_PLAIN, WRAP_WORDS, "gone: ");
		lines_add(lines, STYLE_PLAIN, WRAP_WORDS, damage);
		lines_end(lines);
	}
	for (size_t i = 0; assessment->reasons && assessment->reasons[i]; i++) {
		lines_begin(lines, indent, indent);
		lines_add(lines, STYLE_PLAIN, WRAP_WORDS, "- ");
		lines_add_some(lines, STYLE_PLAIN, WRAP_WORDS, assessment->reasons[i],
			       strlen(assessment->reasons[i]), FIELD_MOST);
		lines_end(lines);
	}
}

static void add_list(struct lines *lines, const char *label, enum style style,
		     const struct list *list)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (i == 0)
			begin_labelled(lines, label);
		else
			lines_begin(lines, indent, indent);
		lines_add_some(lines, style, WRAP_EXACT, list->items[i], strlen(list->items[i]),
			       FIELD_MOST);
		lines_end(lines);
	}
}

static void add_yes(struct lines *lines, const struct ask *ask)
{
	add_list(lines, "yes gives", STYLE_STRONG, ask->grants);
	if (!ask->grants || ask->grants->count == 0)
		add_field(lines, "yes means", WRAP_WORDS,
			  "it runs in the sandbox, and gets nothing beyond that");
	else if (list_has(ask->grants, "unsandboxed"))
		add_field(
			lines, "", WRAP_WORDS,
			"No sandbox: nothing stands between the command and all that you can do.");
	else if (list_has(ask->grants, "container"))
		add_field(lines, "", WRAP_WORDS,
			  "A container, with the root that the policy names: what it may write, "
			  "reach "
			  "and see of this machine stays as it is.");
}

static void add_tier(struct lines *lines, const struct ask *ask)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (!given(ask->tier))
		return;
	buffer_add_text(&text, ask->tier);
	if (ask->objection_ns)
		buffer_printf(&text,
			      ": without an objection it runs %llu seconds after somebody has seen "
			      "this",
			      (unsigned long long)(ask->objection_ns / 1000000000));
	add_field(lines, "tier", WRAP_WORDS, buffer_text(&text));
}

static void add_route(struct lines *lines, const struct ask *ask)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (!ask->route)
		return;
	route_describe(ask->route, &text);
	add_field(lines, "answers", WRAP_WORDS, buffer_text(&text));
	add_field(lines, "so far", WRAP_WORDS, ask->said);
}

static void add_then(struct lines *lines, const struct ask *ask)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (ask->others) {
		buffer_printf(
			&text,
			"to this run and to %zu more that wait for exactly the same; to no others",
			ask->others);
		add_field(lines, "goes", WRAP_WORDS, buffer_text(&text));
	}
	if (ask->starts_again)
		add_field(lines, "then", WRAP_WORDS, "the command starts again from its beginning");
	else if (ask->kind != ASK_BEFORE)
		add_field(lines, "then", WRAP_WORDS, "the command goes on where it stands");
}

static void add_notes(struct lines *lines)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (lines->lookalikes > 0) {
		buffer_add_text(&text, "characters that pass for others: ");
		for (size_t i = 0; i < lines->named.count; i++)
			buffer_printf(&text, "%s%s", i ? ", " : "", lines->named.items[i]);
		if (lines->lookalikes > lines->named.count)
			buffer_printf(&text, " and %zu more",
				      lines->lookalikes - lines->named.count);
		add_field(lines, "beware", WRAP_WORDS, buffer_text(&text));
	}
	if (lines->hidden)
		add_field(lines, "beware", WRAP_WORDS,
			  "characters that cannot be seen, or that move others, are shown by their "
			  "codes");
}

/* "pip wants packages.example:443 (registry:python: ...)". The words of others go on in the column
 * that they always stand in. */
static void add_wish(struct lines *lines, const struct ask *ask)
{
	_cleanup_buffer_ struct buffer text = {0};

	lines_begin(lines, "", indent);
	lines_add(lines, STYLE_STRONG, WRAP_WORDS, "ward asks: ");
	add_quoted(&text, given(ask->program) ? ask->program : "it");
	if (ask->wants) {
		buffer_printf(&text, " wants %zu things at once; a yes gives all of the list",
			      ask->wants->count);
		lines_add(lines, STYLE_STRONG, WRAP_WORDS, buffer_text(&text));
		lines_end(lines);
		return;
	}
	buffer_printf(&text, " wants %s%s", given(ask->verb) ? ask->verb : "",
		      given(ask->verb) ? " " : "");
	add_quoted(&text, ask->object ? ask->object : "");
	lines_add_some(lines, STYLE_STRONG, WRAP_EXACT, buffer_text(&text), text.length,
		       FIELD_MOST);
	buffer_done(&text);
	if (given(ask->note)) {
		buffer_printf(&text, " (%s)", ask->note);
		lines_add_some(lines, STYLE_STRONG, WRAP_WORDS, buffer_text(&text), text.length,
			       FIELD_MOST);
	}
	lines_end(lines);
}

static void add_heading(struct lines *lines, const struct ask *ask)
{
	if (ask->kind == ASK_IN_PLACE) {
		add_wish(lines, ask);
		return;
	}
	lines_begin(lines, "", "  ");
	lines_add(lines, STYLE_STRONG, WRAP_WORDS,
		  ask->kind == ASK_BEFORE ? "ward asks: may this command run?"
					  : "ward asks: give it what was refused?");
	lines_end(lines);
	add_field(lines, "operation", WRAP_WORDS, ask->operation);
}

static void make_page(const struct ask *ask, unsigned columns, bool colour, bool whole,
		      struct page *ret_page)
{
	struct lines *lines = &ret_page->lines;

	*ret_page =
		(struct page){.lines = {.columns = MAX(columns, COLUMNS_LEAST), .styled = colour}};
	for (enum part part = 0; part < PARTS; part++) {
		switch (part) {
		case PART_HEADING:
			add_heading(lines, ask);
			break;
		case PART_COMMAND:
			add_block(lines, STYLE_PLAIN, ask->command ? ask->command : "");
			break;
		case PART_CODE:
			add_code(lines, ask, whole);
			break;
		case PART_WHO:
			add_who(lines, ask);
			break;
		case PART_SAYS:
			add_says(lines, ask);
			break;
		case PART_WHY:
			add_field(lines, "why", WRAP_WORDS, ask->why);
			add_tier(lines, ask);
			add_route(lines, ask);
			if (ask->kind == ASK_RETRY)
				add_field(lines, "retry", WRAP_WORDS, ask->retry_reason);
			break;
		case PART_RISK:
			add_risk(lines, ask);
			break;
		case PART_OPINION:
			add_opinion(lines, ask);
			break;
		case PART_PAST:
			add_past(lines, ask);
			break;
		case PART_REFUSED:
			add_list(lines, "refused", STYLE_PLAIN, ask->refused);
			if (whole) /* which says little more than what a yes gives */
				add_list(lines, "wants", STYLE_PLAIN, ask->wants);
			break;
		case PART_YES:
			add_yes(lines, ask);
			break;
		case PART_THEN:
			add_then(lines, ask);
			break;
		case PART_COVERS:
			if (!covers_is_plain(ask))
				add_field(lines, "longer yes", WRAP_EXACT, ask->covers);
			break;
		case PART_NOTES:
			add_notes(lines);
			break;
		case PART_DETAILS:
			if (whole)
				add_details(lines, ask);
			break;
		case PARTS:
			break;
		}
		ret_page->end[part] = lines->done.count;
	}
}

/* --- the whole, or what fits --- */

static void copy_lines(const struct list *from, size_t first, size_t count, struct list *to)
{
	for (size_t i = first; i < first + count; i++)
		list_add(to, from->items[i]);
}

static size_t part_lines(const struct page *page, enum part part)
{
	return page->end[part] - (part > 0 ? page->end[part - 1] : 0);
}

static void say_cut(struct list *lines, size_t count, unsigned columns)
{
	list_add_printf(lines, "... %zu more line%s, %s", count, count == 1 ? "" : "s",
			columns < 50 ? "m shows all" : "press m to see all");
}

/* A cut inside these is said where it is; what is missing of the others is said once, at the end.
 */
static bool says_where_cut(enum part part, size_t shown)
{
	return shown > 1 && (part == PART_COMMAND || part == PART_CODE || part == PART_YES ||
			     part == PART_REFUSED);
}

/* How many lines of each part are to be seen. Returns how many are missing without a word where
 * they would stand. */
static size_t share_out(const struct page *page, size_t room, size_t shown[static PARTS])
{
	size_t left = room, missing = 0;
	bool grew = true;

	memset(shown, 0, PARTS * sizeof(*shown));
	for (bool first = true; grew && left > 0; first = false) {
		grew = first;
		for (size_t i = 0; i < ELEMENTS(importance); i++) {
			enum part part = importance[i].part;
			size_t more = MIN(part_lines(page, part) - shown[part],
					  first ? importance[i].least : 1);

			more = MIN(more, left);
			shown[part] += more;
			left -= more;
			grew |= more > 0;
		}
	}
	for (enum part part = 0; part < PARTS; part++)
		if (!says_where_cut(part, shown[part]))
			missing += part_lines(page, part) - shown[part];
	return missing;
}

bool ask_fit(const struct ask *ask, unsigned columns, unsigned rows, bool colour,
	     struct list *ret_lines)
{
	_cleanup_(lines_done) struct lines below = {.columns = MAX(columns, COLUMNS_LEAST),
						    .styled = colour};
	size_t shown[PARTS], missing, room;
	struct page page;
	bool airy, cut;

	*ret_lines = (struct list){0};
	make_page(ask, columns, colour, /* whole= */ false, &page);
	add_choices(&below, ask);
	room = rows > below.done.count ? rows - below.done.count : 1;
	airy = page.lines.done.count + 3 <= room;
	missing = share_out(&page, room, shown);
	if (missing > 0) /* it takes a line to say so */
		missing = share_out(&page, room - 1, shown);
	cut = code_is_long(ask) || shown[PART_CODE] < part_lines(&page, PART_CODE) ||
	      shown[PART_COMMAND] < part_lines(&page, PART_COMMAND) ||
	      shown[PART_YES] < part_lines(&page, PART_YES);
	for (enum part part = 0; part < PARTS; part++) {
		size_t first = part > 0 ? page.end[part - 1] : 0, count = part_lines(&page, part);

		if (shown[part] == count || !says_where_cut(part, shown[part])) {
			copy_lines(&page.lines.done, first, shown[part], ret_lines);
		} else {
			/* Both ends are kept: what matters of a long command may stand last. */
			size_t tail = (shown[part] - 1) / 2, head = shown[part] - 1 - tail;

			copy_lines(&page.lines.done, first, head, ret_lines);
			say_cut(ret_lines, count - head - tail, page.lines.columns);
			copy_lines(&page.lines.done, first + count - tail, tail, ret_lines);
		}
		if (airy && (part == PART_HEADING || part == PART_COMMAND ||
			     (part == PART_CODE && count > 0)))
			list_add(ret_lines, "");
	}
	if (missing > 0)
		say_cut(ret_lines, missing, page.lines.columns);
	if (airy)
		list_add(ret_lines, "");
	copy_lines(&below.done, 0, below.done.count, ret_lines);
	lines_done(&page.lines);
	return cut;
}

void ask_whole(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines)
{
	struct page page;

	make_page(ask, columns, colour, /* whole= */ true, &page);
	*ret_lines = page.lines.done;
	page.lines.done = (struct list){0};
	lines_done(&page.lines);
}

void ask_render(const struct ask *ask, unsigned columns, bool colour, struct buffer *ret_text)
{
	_cleanup_list_ struct list lines;

	*ret_text = (struct buffer){0};
	ask_fit(ask, columns, UINT32_MAX, colour, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		buffer_add_text(ret_text, lines.items[i]);
		buffer_add_char(ret_text, '\n');
	}
}

void answer_done(struct answer *answer)
{
	list_done(&answer->domains);
	list_done(&answer->grants);
	free(answer->reason);
	free(answer->by);
	free(answer->question);
	free(answer->grant);
	*answer = (struct answer){0};
}
