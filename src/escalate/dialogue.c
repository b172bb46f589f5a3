/* SPDX-License-Identifier: Apache-2.0 */
/* The dialogue with the person at the terminal: draw the question, wait for one key, ask once more
 * where the answer reaches far. Whatever goes wrong is a no. */
#include "../base/escape.h"
#include "../base/units.h"
#include "question.h"
#include "route.h"
#include "terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const uint64_t second = 1000000000;

enum { PATIENCE_SECONDS = 30 * 60, TIME_MOST_DAYS = 30 };

struct dialogue {
	struct tty tty;
	const struct ask *ask;	     /* the one below */
	struct ask shown;	     /* what is asked, as the person has chosen to see it */
	struct list domains, grants; /* of it, where the person has changed them */
	bool edited;		     /* the grants: a yes says which */
	const struct list *asked;    /* that a yes to the question as it came gives */
	struct answer *answer;
	bool styled;
	bool over;    /* the answer stands */
	bool redrawn; /* the window changed: what was being asked is to be drawn anew */
	bool cut;     /* not all that a yes is about is on the screen */
	bool seen;    /* but it was shown to its end */
};

static void settle(struct dialogue *d, enum answer_kind kind, enum answer_scope scope)
{
	d->answer->kind = kind;
	d->answer->scope = scope;
	d->over = true;
}

static void refuse(struct dialogue *d, const char *reason)
{
	settle(d, ANSWER_DENY, SCOPE_ONCE);
	d->answer->reason = strdup(reason);
	d->answer->unsaid = true;
}

/* Takes care of everything that is not a key or text. */
static void take(struct dialogue *d, enum heard heard)
{
	if (heard == HEARD_STOP)
		refuse(d, "interrupted");
	else if (heard == HEARD_HANG_UP)
		refuse(d, "no answer");
	else if (heard == HEARD_OBSOLETE)
		settle(d, ANSWER_NOBODY, SCOPE_ONCE);
	else if (heard == HEARD_RESIZE)
		d->redrawn = true;
}

/* One key, pressed alone; 0 where the dialogue is over or must be drawn anew. */
static char next_key(struct dialogue *d)
{
	while (!d->over && !d->redrawn) {
		struct input input;
		enum heard heard = tty_listen(&d->tty, &input);

		if (heard == HEARD_KEY && input.data[0] != '\0')
			return input.data[0];
		take(d, heard);
	}
	return 0;
}

static void say(struct dialogue *d, const char *text)
{
	tty_write(&d->tty, text, strlen(text));
}

static void say_lines(struct dialogue *d, const struct list *lines, size_t first, size_t count)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = first; i < first + count && i < lines->count; i++) {
		buffer_add_text(&text, lines->items[i]);
		buffer_add_char(&text, '\n');
	}
	say(d, buffer_text(&text));
}

/* Where the window is narrower than the narrowest layout, each line takes more than one row. */
static unsigned rows(const struct dialogue *d)
{
	unsigned count = d->tty.rows;

	if (d->tty.columns < COLUMNS_LEAST)
		count = count * d->tty.columns / COLUMNS_LEAST;
	return MAX(count, 4u);
}

/* False where the person did not want to see them to the end. */
static bool show_pages(struct dialogue *d, const struct list *lines)
{
	size_t page = rows(d) - 2;
	bool all = true;

	for (size_t first = 0; first < lines->count; first += page) {
		size_t end = MIN(first + page, lines->count);
		char status[80], key;

		say(d, "\n");
		say_lines(d, lines, first, end - first);
		snprintf(status, sizeof(status), "-- %zu of %zu; %s: any key --", end, lines->count,
			 end < lines->count ? "q: back, next" : "back");
		say(d, status);
		key = next_key(d);
		all = key != 0 && key != 'q';
		if (!all)
			break;
	}
	say(d, "\n");
	return all;
}

/* Asks once more, below an explanation and a text to be read. Only y counts. */
static bool confirm(struct dialogue *d, const char *explanation, const char *block,
		    const char *question)
{
	_cleanup_(lines_done) struct lines lines = {.columns = MAX(d->tty.columns, COLUMNS_LEAST),
						    .styled = d->styled};

	lines_begin(&lines, "", "");
	lines_add(&lines, STYLE_STRONG, WRAP_WORDS, explanation);
	lines_end(&lines);
	if (block)
		add_block(&lines, STYLE_PLAIN, block);
	if (lines.done.count > rows(d) - 3) {
		if (!show_pages(d, &lines.done))
			return false;
	} else {
		say(d, "\n");
		say_lines(d, &lines.done, 0, lines.done.count);
	}
	say(d, question);
	say(d, " [y] yes, other keys: back > ");
	take(d, tty_quiet(&d->tty));
	return next_key(d) == 'y';
}

static bool edit_line(struct dialogue *d, const char *prompt, bool enter_alone,
		      struct buffer *ret_line)
{
	enum heard heard = tty_edit(&d->tty, prompt, enter_alone, ret_line);

	take(d, heard);
	return heard == HEARD_KEY;
}

static bool choose_custom_time(struct dialogue *d, uint64_t *ret_seconds)
{
	for (;;) {
		_cleanup_buffer_ struct buffer line = {0};
		uint64_t ns;
		size_t last;

		if (!edit_line(d, "for how long (90s, 10m, 2h)? ", true, &line) || line.length == 0)
			return false;
		last = line.length - 1;
		if (line.data[last] >= 'a' && parse_duration(line.data, &ns, NULL) == 0 &&
		    ns >= second && ns <= TIME_MOST_DAYS * 86400 * second) {
			*ret_seconds = ns / second;
			return true;
		}
		say(d, "\nThat is no time from 1s to 30d.");
	}
}

static bool choose_time(struct dialogue *d, uint64_t *ret_seconds)
{
	static const struct {
		char key;
		unsigned seconds;
	} times[] = {{'5', 300}, {'3', 1800}, {'1', 3600}};
	char key;

	say(d, "\nFor how long?\n[5] 5m  [3] 30m  [1] 1h  [c] other\nother keys: back > ");
	key = next_key(d);
	for (size_t i = 0; i < ELEMENTS(times); i++)
		if (times[i].key == key) {
			*ret_seconds = times[i].seconds;
			return true;
		}
	return key == 'c' && choose_custom_time(d, ret_seconds);
}

/* Never longer than its route lets a yes hold, which the question says. */
static bool choose_bounded_time(struct dialogue *d, uint64_t *ret_seconds)
{
	uint64_t most = route_grant_seconds(d->ask->route);

	if (!choose_time(d, ret_seconds))
		return false;
	if (most)
		*ret_seconds = MIN(*ret_seconds, most);
	return true;
}

/* A yes that must have a reason is none without one. */
static void ask_reason(struct dialogue *d)
{
	_cleanup_buffer_ struct buffer line = {0};
	bool lossy;

	if (!d->over || d->answer->kind != ANSWER_APPROVE || !d->ask->wants_reason)
		return;
	if (edit_line(d, "why? ", false, &line) && line.length > 0) {
		d->answer->reason = escape_to_utf8(line.data, line.length, &lossy);
		return;
	}
	if (d->answer->kind == ANSWER_APPROVE) {
		*d->answer = (struct answer){.kind = ANSWER_NOBODY, .extent = d->shown.extent};
		d->over = false;
		d->redrawn = true;
	}
}

static bool confirm_rule(struct dialogue *d, const char *rule, const char *what)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_printf(&text, "%s: this rule would be written", what);
	if (d->ask->always_file)
		buffer_printf(&text, " to %s", d->ask->always_file);
	buffer_add_char(&text, ':');
	return confirm(d, buffer_text(&text), rule, "Write it?");
}

static void answer_unsandboxed(struct dialogue *d)
{
	if (!confirm(
		    d,
		    "Without the sandbox the command can read, change and delete all that you can, "
		    "use the network, and see every secret of yours. ward cannot hold it back.",
		    d->ask->command, "Run it so?"))
		return;
	d->answer->unsandboxed = true;
	settle(d, ANSWER_APPROVE, SCOPE_ONCE);
}

static void answer_with_reason(struct dialogue *d)
{
	_cleanup_buffer_ struct buffer line = {0};
	bool lossy;

	if (!edit_line(d, "why not? ", false, &line))
		return;
	if (line.length > 0)
		d->answer->reason = escape_to_utf8(line.data, line.length, &lossy);
	settle(d, ANSWER_DENY, SCOPE_ONCE);
}

/* What a yes gives becomes wider, or narrower: the question is drawn anew, so that nobody says yes
 * to what was not shown. */
static void change_extent(struct dialogue *d, bool wider)
{
	const struct extent *extent;

	d->edited = false;
	d->shown.extent += wider ? 1 : -1;
	extent = &d->shown.extents[d->shown.extent];
	d->shown.grants = extent->grants;
	d->shown.always_rule = extent->rule;
	d->answer->extent = d->shown.extent;
	d->seen = false;
	d->redrawn = true;
}

/* What a yes gives is drawn anew from these. */
static void take_domains(struct dialogue *d, struct list *domains)
{
	struct list grants = {0};

	domains_grants(d->shown.grants, domains, &grants);
	list_done(&d->domains);
	list_done(&d->grants);
	d->domains = *domains;
	d->grants = grants;
	*domains = (struct list){0};
	d->shown.domains = &d->domains;
	d->shown.grants = &d->grants;
	d->seen = false;
}

static void change_domains(struct dialogue *d)
{
	_cleanup_buffer_ struct buffer line = {0};

	d->redrawn = true;
	for (size_t i = 0; i < d->shown.domains->count; i++)
		buffer_printf(&line, "%s%s", i ? " " : "", d->shown.domains->items[i]);
	if (line.length > LINE_MOST)
		return;
	for (;;) {
		_cleanup_list_ struct list domains = {0};
		_cleanup_buffer_ struct buffer text = {0};
		struct error *error = NULL;

		if (!edit_line(d, "hosts: ", true, &line))
			return;
		if (domains_read(buffer_text(&line), &domains, &error) == 0) {
			take_domains(d, &domains);
			return;
		}
		escape_for_terminal(&text, error->message, strlen(error->message));
		error_free(error);
		say(d, "\n");
		say(d, buffer_text(&text));
	}
}

/* One line for each; an empty one is left out. What is no less than was asked is said, and the
 * question stands as it was. */
static void change_grants(struct dialogue *d)
{
	const struct list *asked =
		d->shown.extent_count ? d->shown.extents[d->shown.extent].grants : d->asked;
	const char *needed = d->shown.kind != ASK_IN_PLACE || d->shown.wants ? NULL
			     : d->shown.extent_count ? d->shown.extents[0].grants->items[0]
						     : d->asked->items[0];
	_cleanup_list_ struct list texts = {0}, grants = {0};
	_cleanup_buffer_ struct buffer text = {0};
	struct error *error = NULL;

	d->redrawn = true;
	for (size_t i = 0; i < d->shown.grants->count; i++) {
		_cleanup_buffer_ struct buffer line = {0};

		buffer_add_text(&line, d->shown.grants->items[i]);
		if (line.length > LINE_MOST || !edit_line(d, "gives: ", true, &line))
			return;
		if (line.length)
			list_add(&texts, buffer_text(&line));
	}
	if (answer_edit(&texts, d->shown.workspace, asked, needed, &grants, &error) == 0) {
		list_done(&d->grants);
		d->grants = grants;
		grants = (struct list){0};
		d->shown.grants = &d->grants;
		d->shown.always_rule = NULL; /* which was for what was asked */
		d->edited = true;
		d->seen = false;
		return;
	}
	escape_for_terminal(&text, error->message, strlen(error->message));
	error_free(error);
	buffer_add_text(&text, "; press a key");
	say(d, buffer_text(&text));
	d->redrawn = false;
	(void)next_key(d);
	d->redrawn = true;
}

static void keep_domains(struct dialogue *d)
{
	const struct list *domains = d->shown.domains;

	for (size_t i = 0; d->edited && d->answer->kind == ANSWER_APPROVE && i < d->grants.count;
	     i++)
		list_add(&d->answer->grants, d->grants.items[i]);
	for (size_t i = 0; d->answer->kind == ANSWER_APPROVE && domains && i < domains->count; i++)
		list_add(&d->answer->domains, domains->items[i]);
	list_done(&d->domains);
	list_done(&d->grants);
}

static void show_list(struct dialogue *d,
		      void (*make)(const struct ask *, unsigned, bool, struct list *))
{
	_cleanup_list_ struct list lines;

	make(d->ask, d->tty.columns, d->styled, &lines);
	if (show_pages(d, &lines) && make == ask_whole)
		d->seen = true;
}

/* Returns false where the key means nothing and the question stands as it is. */
static bool answer_key(struct dialogue *d, char key)
{
	if (!choice_of(d->ask, key))
		return false;
	/* Nobody says yes to what was not shown. */
	if (d->cut && !d->seen && strchr("ystaku", key))
		key = 'm';
	switch (key) {
	case 'y':
		settle(d, ANSWER_APPROVE, SCOPE_ONCE);
		break;
	case 's':
		settle(d, ANSWER_APPROVE, SCOPE_SESSION);
		break;
	case 't':
		if (choose_bounded_time(d, &d->answer->seconds))
			settle(d, ANSWER_APPROVE, SCOPE_TIME);
		break;
	case 'a':
		if (confirm_rule(d, d->ask->always_rule, "Always"))
			settle(d, ANSWER_APPROVE, SCOPE_ALWAYS);
		break;
	case 'w':
	case 'o':
		change_extent(d, key == 'w');
		break;
	case 'e':
		if (d->ask->domains)
			change_domains(d);
		else
			change_grants(d);
		break;
	case 'k':
		d->answer->monitor = true;
		settle(d, ANSWER_APPROVE, SCOPE_ONCE);
		break;
	case 'u':
		answer_unsandboxed(d);
		break;
	case 'n':
		settle(d, ANSWER_DENY, SCOPE_ONCE);
		break;
	case 'x':
		settle(d, ANSWER_DENY, SCOPE_SESSION);
		break;
	case 'r':
		answer_with_reason(d);
		break;
	case 'v':
		if (confirm_rule(d, d->ask->never_rule, "Never again"))
			settle(d, ANSWER_DENY, SCOPE_ALWAYS);
		break;
	case 'q':
		settle(d, ANSWER_ABORT, SCOPE_ONCE);
		break;
	case 'd':
		show_list(d, ask_details);
		break;
	case 'l':
		settle(d, ANSWER_DEFER, SCOPE_ONCE);
		break;
	case '?':
		show_list(d, ask_help);
		break;
	case 'm':
		show_list(d, ask_whole);
		break;
	}
	ask_reason(d);
	return true;
}

static void draw_question(struct dialogue *d)
{
	_cleanup_list_ struct list lines;

	tty_reset(&d->tty);
	d->cut = ask_fit(d->ask, d->tty.columns, rows(d) - 2, d->styled, &lines);
	say_lines(d, &lines, 0, lines.count);
	say(d, "> ");
	take(d, tty_quiet(&d->tty));
}

/* What was answered stays on the screen. */
static void conclude(struct dialogue *d)
{
	const struct answer *answer = d->answer;
	_cleanup_buffer_ struct buffer text = {0};

	if (answer->kind == ANSWER_NOBODY)
		buffer_add_text(&text, "\nno longer asked: who wanted it is gone");
	else if (answer->kind == ANSWER_ABORT)
		buffer_add_text(&text, "abort");
	else if (answer->kind == ANSWER_DEFER)
		buffer_add_text(&text, "later");
	else if (answer->kind == ANSWER_DENY)
		buffer_add_text(&text, answer->scope == SCOPE_ALWAYS	? "never again"
				       : answer->scope == SCOPE_SESSION ? "no, for the session"
									: "no");
	else if (answer->monitor)
		buffer_add_text(&text, "yes, once, watched");
	else if (answer->unsandboxed)
		buffer_add_text(&text, "yes, without the sandbox");
	else if (answer->scope == SCOPE_TIME)
		buffer_printf(&text, "yes, for %llu seconds", (unsigned long long)answer->seconds);
	else
		buffer_add_text(&text, answer->scope == SCOPE_SESSION  ? "yes, for the session"
				       : answer->scope == SCOPE_ALWAYS ? "yes, always"
								       : "yes, once");
	if (answer->kind == ANSWER_DENY && answer->reason) {
		buffer_add_text(&text, ": ");
		escape_for_terminal(&text, answer->reason, strlen(answer->reason));
	}
	buffer_add_char(&text, '\n');
	say(d, buffer_text(&text));
}

void ask_on(int fd, const struct ask *ask, uint64_t patience_ns, struct answer *ret_answer)
{
	const char *no_colour = getenv("NO_COLOR");
	struct dialogue d = {.shown = *ask, .asked = ask->grants, .answer = ret_answer};
	_cleanup_close_ int turn = -1;

	*ret_answer = (struct answer){.kind = ANSWER_NOBODY, .extent = ask->extent};
	d.ask = &d.shown;
	take(&d, tty_await_turn(fd, ask->meanwhile, patience_ns, &turn));
	if (!d.over && !tty_take(&d.tty, fd, ask->meanwhile, patience_ns))
		return;
	if (d.over) {
		if (ret_answer->kind != ANSWER_NOBODY)
			ret_answer->by = approver_name_at(fd);
		return;
	}
	d.styled = !d.tty.dumb && !(no_colour && *no_colour);
	while (!d.over) {
		char key;

		d.redrawn = false;
		draw_question(&d);
		do {
			key = next_key(&d);
		} while (key != 0 && !answer_key(&d, key));
	}
	if (ret_answer->kind != ANSWER_NOBODY)
		ret_answer->by = approver_name_at(fd);
	keep_domains(&d);
	conclude(&d);
	tty_give_back(&d.tty);
}

bool terminal_is_attended(void)
{
	_cleanup_close_ int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	return terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

static void tell(void *data, const char *text)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	_cleanup_buffer_ struct buffer line = {0};

	(void)data;
	if (fd < 0 || tcgetpgrp(fd) != getpgrp())
		return;
	buffer_add_text(&line, "\r\nward: ");
	escape_for_terminal(&line, text, strlen(text));
	buffer_add_text(&line, "\r\n");
	(void)!write(fd, line.data, line.length);
}

int ask_terminal(const struct ask *ask, struct answer *ret_answer, struct error **ret_error)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	sigset_t stops, before;

	(void)ret_error; /* a terminal that cannot be used is nobody to ask, not a failure */
	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	if (fd < 0 || tcgetpgrp(fd) != getpgrp())
		return 0;
	/* Should ward fall into the background while it asks, it must come to the no, not stop. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	ask_on(fd, ask, PATIENCE_SECONDS * second, ret_answer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

static bool is_there(void *data)
{
	(void)data;
	return terminal_is_attended();
}

static int ask_there(void *data, const struct ask *ask, struct answer *ret_answer,
		     struct error **ret_error)
{
	(void)data;
	return ask_terminal(ask, ret_answer, ret_error);
}

const struct approver terminal_approver = {is_there, ask_there, tell, NULL};
