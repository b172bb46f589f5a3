/* SPDX-License-Identifier: Apache-2.0 */
/* A burst of wishes becomes one question with a list. What could do harm by itself is never in one:
 * it is asked about alone, and before the rest, so that nothing grave hides among much that is not.
 */
#include "flow_wish.h"
#include "base/path.h"
#include "base/hosts.h"
#include "base/units.h"
#include "decide/within.h"
#include "escalate/hint.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
	GATHER_MS = 100,
	LIST_MOST = 8, /* that a person can look at; the rest is asked after */
};

/* A new file or directory, in no place that others read settings or programs from. */
static bool is_plain_file(const struct wish *wish)
{
	if (strcmp(wish->operation, "write") != 0 || wish_destroys(wish) ||
	    strstr(wish->object, "/.") || (wish->tree && hint_is_broad(wish->object)))
		return false;
	return !flow_is_system_place(wish->object); /* nobody gives these away in passing */
}

/* A host by its name. */
static bool is_plain_host(const struct wish *wish)
{
	struct in6_addr address;

	return strcmp(wish->operation, "connect") == 0 && wish->host && !wish->warning &&
	       (!wish->protocol || strcmp(wish->protocol, "tcp") == 0) &&
	       !address_read(wish->host, &address);
}

static bool is_plain(const struct wish *wish)
{
	return is_plain_file(wish) || is_plain_host(wish);
}

/* What the question would be of for an agent under trust; -1 for others. */
static int tier_of(struct flow *flow, const struct wish *wish)
{
	_cleanup_list_ struct list grants = {0};

	if (!flow_is_tiered(flow))
		return -1;
	wish_permission(wish, &grants);
	return (int)flow_tier_of(flow, &grants);
}

void burst_gather(struct flow *flow)
{
	uint64_t end = monotonic_ns() + GATHER_MS * 1000000ull, now;
	const struct wish *wish = observer_wish(flow->observer);
	int tier = wish ? tier_of(flow, wish) : -1;

	/* What nobody is asked about need not wait. */
	if (tier == TIER_LOW || tier == TIER_CRITICAL)
		return;
	while ((now = monotonic_ns()) < end) {
		struct pollfd ready = {observer_fd(flow->observer), POLLIN, 0};

		if (poll(&ready, 1, (int)((end - now) / 1000000) + 1) > 0)
			observer_serve(flow->observer);
		run_look(flow->run);
	}
	flow_tell(flow);
}

const struct wish *burst_grave(struct flow *flow)
{
	const struct wish *wish = observer_wish(flow->observer);

	while (wish && is_plain(wish))
		wish = observer_wish_after(flow->observer, wish->number);
	return wish;
}

/* "write /srv/a: a new file (sh)". */
static void describe(const struct wish *wish, const char *permission, struct list *wants)
{
	_cleanup_buffer_ struct buffer note = {0};

	if (wish_is_file(wish))
		wish_describe_file(wish, &note);
	list_add_printf(wants, "%s%s%s (%s)", permission, note.length ? ": " : "",
			buffer_text(&note), *wish->program ? wish->program : "it");
}

/* Those that go together, files before hosts. */
static size_t collect(struct flow *flow, struct asked items[static LIST_MOST], struct list *grants,
		      struct list *wants)
{
	const struct wish *wish = observer_wish(flow->observer);
	int tier = wish ? tier_of(flow, wish) : -1;
	size_t count = 0;

	for (int files = 1; files >= 0; files--)
		for (wish = observer_wish(flow->observer); wish && count < LIST_MOST;
		     wish = observer_wish_after(flow->observer, wish->number)) {
			_cleanup_list_ struct list own = {0};

			if (!is_plain(wish) || wish_is_file(wish) != files ||
			    tier_of(flow, wish) != tier)
				continue;
			wish_permission(wish, &own);
			asked_make(wish, own.items[0], &items[count++]);
			list_add(grants, own.items[0]);
			describe(wish, own.items[0], wants);
		}
	return count;
}

/* Permits what the call waits for, where it was given: the ledger notes each with its own call. */
static bool permit(struct flow *flow, const char *permission, const struct list *grants,
		   const struct answer *answer)
{
	bool given = false;

	for (size_t i = 0; i < grants->count; i++) {
		if (!permission_within(permission, grants->items[i]))
			continue;
		observer_permit(flow->observer, grants->items[i],
				&(struct term){answer->grant, answer->expires});
		given = true;
	}
	return given;
}

/* What the person left in the list is given, and what was taken out refused. */
static void settle(struct flow *flow, const struct asking_about *about, const struct list *grants,
		   const struct answer *answer)
{
	struct answer silent = *answer;

	for (size_t i = 0; i < about->count; i++) {
		const struct asked *asked = &about->items[i];
		const char *said = answer->kind == ANSWER_NOBODY ? "none" : "denied";

		if (answer->kind == ANSWER_APPROVE) {
			if (permit(flow, asked->permission, grants, answer))
				said = "granted";
			else
				list_add(&flow->refused, asked->permission);
		} else if (answer->kind != ANSWER_NOBODY) {
			/* Its reason is said once. */
			wish_note_refusal(flow, asked, i == 0 ? answer : &silent);
			silent.reason = NULL;
		}
		observer_settle(flow->observer, asked->number, said);
	}
}

static void ask_about(struct flow *flow, struct asking_about *about, struct list *grants,
		      const struct list *wants)
{
	const struct meanwhile meanwhile = {observer_fd(flow->observer), wish_serve_others,
					    wish_is_obsolete, about};
	_cleanup_free_ char *object = NULL;
	struct ask question = {
		.kind = ASK_IN_PLACE,
		.program = about->items[0].program,
		.wants = wants,
		.why = "no rule allows these; the calls wait, and nothing was changed "
		       "or sent yet",
		.meanwhile = &meanwhile};
	_cleanup_answer_ struct answer answer = {0};
	struct error *error = NULL;

	if (asprintf(&object, "%zu things at once", about->count) < 0)
		abort();
	question.object = object;
	for (size_t i = 1; i < about->count; i++)
		if (strcmp(about->items[i].program, about->items[0].program) != 0)
			question.program = "the command"; /* several of its programs */
	if (flow_put(flow, "grant", &question, grants, &answer, &error) < 0) {
		wish_give_up(flow, error);
		answer.kind = ANSWER_NOBODY;
	}
	settle(flow, about, grants, &answer);
}

bool burst_ask(struct flow *flow)
{
	_cleanup_list_ struct list grants = {0}, wants = {0};
	struct asked items[LIST_MOST];
	struct asking_about about = {.flow = flow, .items = items};

	about.count = collect(flow, items, &grants, &wants);
	if (about.count > 1)
		ask_about(flow, &about, &grants, &wants);
	for (size_t i = 0; i < about.count; i++)
		asked_done(&items[i]);
	return about.count > 1;
}
