/* SPDX-License-Identifier: Apache-2.0 */
/* ward approve, ward deny, ward defer: an answer to a question that waits. */
#include "others.h"
#include "output.h"
#include "verbs.h"
#include "../../src/base/units.h"
#include "../../src/decide/routes.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/state.h"
#include "../../src/record/store.h"
#include "../../src/serve/ticket.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char approve_help[] =
	"usage: ward approve ID [OPTION...]\n"
	"\n"
	"Says yes to a question of `ward pending`, by its id or the first 14 characters of it. "
	"What waits goes\n"
	"on at once.\n"
	"\n"
	"  --scope SCOPE  once (default), session, always, or a time: 30m\n"
	"  --uses N       of a yes for the session or a time: for so many runs, this one "
	"included\n"
	"  --extent N     to another of the extents that the question names: 0 is the narrowest\n"
	"  --grant PERMISSION  give just this, which lies within what is asked: 'write ./src/a.c'; "
	"repeatable\n"
	"  --monitor      follow the run: what it opens, reaches and starts, and all its output, "
	"is "
	"kept\n"
	"  --unsandboxed  without the sandbox, where the question offers that\n"
	"  --reason TEXT  for the record, and for the agent to read\n"
	"  --user USER    a question of that user's; for root\n"
	"  --as NAME      in the name of that approver: for root alone\n"
	"  --help         this text\n"
	"\n"
	"Where the policy has a route for the question (docs/policy.md, routes), it must be yours "
	"to "
	"answer, and\n"
	"more than one may have to say yes: `ward pending` shows who, and who has.\n";

static const char deny_help[] =
	"usage: ward deny ID [OPTION...]\n"
	"\n"
	"Says no to a question of `ward pending`, by its id or the first 14 characters of it.\n"
	"\n"
	"  --scope SCOPE  once (default), session, or always: never again\n"
	"  --abort        the run is ended\n"
	"  --reason TEXT  the agent gets to read it\n"
	"  --user USER    a question of that user's; for root\n"
	"  --as NAME      in the name of that approver: for root alone\n"
	"  --help         this text\n";

static const char defer_help[] =
	"usage: ward defer ID [OPTION...]\n"
	"\n"
	"Puts a question of `ward pending` off: it stays there under the same id, and whoever "
	"asked "
	"gets a ticket\n"
	"(75). When it is answered, the command runs without its caller; `ward wait TICKET` has "
	"what "
	"came of it.\n"
	"A call that waits is refused for now, and the command is run again when the answer is "
	"yes.\n"
	"\n"
	"  --for TIME     how long it waits for its answer, then that is no; default: 7d\n"
	"  --reason TEXT  for the record\n"
	"  --user USER    a question of that user's; for root\n"
	"  --help         this text\n";

/* "once", "session", "always", or a time. */
static int put_scope(json_t *answer, const char *scope, struct error **ret_error)
{
	uint64_t ns;
	int r;

	if (strcmp(scope, "once") == 0 || strcmp(scope, "session") == 0 ||
	    strcmp(scope, "always") == 0) {
		json_object_set_new(answer, "scope", json_string(scope));
		return 0;
	}
	r = parse_duration(scope, &ns, NULL);
	if (r < 0 || ns < 1000000000)
		return fail(ret_error, E_USAGE,
			    "'%s' is not once, session, always or a time such as 30m", scope);
	json_object_set_new(answer, "scope", json_string("time"));
	json_object_set_new(answer, "seconds", json_integer((json_int_t)(ns / 1000000000)));
	return 0;
}

/* progress: of one that others must answer, too, or NULL. */
static void say_done(json_t *entry, json_t *answer, json_t *progress)
{
	json_t *ask = json_object_get(entry, "ask"), *extent = json_object_get(answer, "extent");
	json_t *grants =
		       json_object_get(answer, "grants") ? json_object_get(answer, "grants")
		       : extent
			       ? json_object_get(json_array_get(json_object_get(ask, "extents"),
								(size_t)json_integer_value(extent)),
						 "grants")
			       : json_object_get(ask, "grants"),
	       *grant, *other;
	size_t i;

	printf("%s: %s\n", text_of(entry, "id"), text_of(answer, "answer"));
	if (strcmp(text_of(answer, "answer"), "approve") == 0)
		json_array_foreach (grants, i, grant) {
			printf("  %-9s ", i ? "" : "gives");
			output_text(COLOUR_NONE, json_string_value(grant));
			putchar('\n');
		}
	json_array_foreach (json_object_get(entry, "also"), i, other) {
		printf("  %-9s ", i ? "" : "also to");
		output_text(COLOUR_NONE, text_of(other, "run"));
		putchar('\n');
	}
	if (progress) {
		printf("  %-9s ", "answers");
		output_text(COLOUR_NONE, text_of(progress, "text"));
		putchar('\n');
	}
}

static int put_grant(json_t *answer, const char *grant, struct error **ret_error)
{
	json_t *grants = json_object_get(answer, "grants"), *text = json_string(grant);

	if (!text)
		return fail(ret_error, E_USAGE, "the permission is not UTF-8");
	if (!grants)
		json_object_set_new(answer, "grants", grants = json_array());
	json_array_append_new(grants, text);
	return 1;
}

/* Another's name: root could become him, and nobody else could. */
static int take_name(const char *name, struct approver_id *who, struct error **ret_error)
{
	if (geteuid() != 0)
		return fail(ret_error, E_USAGE, "only root answers in another's name");
	if (!*name || !routing_is_member(name) || strchr(name, ':'))
		return fail(ret_error, E_USAGE, "'%s' is no user's name", name);
	approver_id_done(who);
	*who = approver_as(name);
	return 1;
}

/* One option of either verb: how many more words it has taken, or a failure. */
static int put_option(const char *verb, char **argv, json_t *answer, struct approver_id *who,
		      struct error **ret_error)
{
	bool approves = strcmp(verb, "approve") == 0, defers = strcmp(verb, "defer") == 0;
	uint64_t number;

	if (strcmp(argv[0], "--unsandboxed") == 0 && approves)
		return json_object_set_new(answer, "unsandboxed", json_true());
	if (strcmp(argv[0], "--monitor") == 0 && approves)
		return json_object_set_new(answer, "monitor", json_true());
	if (strcmp(argv[0], "--abort") == 0 && !approves && !defers)
		return json_object_set_new(answer, "answer", json_string("abort"));
	if (!argv[1])
		return fail(ret_error, E_USAGE, "'%s' is no option, or needs a value", argv[0]);
	if (strcmp(argv[0], "--for") == 0 && defers &&
	    parse_duration(argv[1], &number, NULL) == 0 && number >= 1000000000) {
		json_object_set_new(answer, "seconds",
				    json_integer((json_int_t)(number / 1000000000)));
		return 1;
	}
	if (strcmp(argv[0], "--as") == 0)
		return take_name(argv[1], who, ret_error);
	if (strcmp(argv[0], "--scope") == 0 && !defers)
		return put_scope(answer, argv[1], ret_error) < 0 ? -1 : 1;
	if (strcmp(argv[0], "--reason") == 0) {
		json_t *text = json_string(argv[1]);

		if (!text)
			return fail(ret_error, E_USAGE, "the reason is not UTF-8");
		json_object_set_new(answer, "reason", text);
		return 1;
	}
	if (strcmp(argv[0], "--grant") == 0 && approves)
		return put_grant(answer, argv[1], ret_error);
	if (strcmp(argv[0], "--uses") == 0 && approves &&
	    parse_count(argv[1], &number, NULL) == 0) {
		json_object_set_new(answer, "uses", json_integer((json_int_t)number));
		return 1;
	}
	if (strcmp(argv[0], "--extent") == 0 && approves &&
	    parse_count(argv[1], &number, NULL) == 0) {
		json_object_set_new(answer, "extent", json_integer((json_int_t)number));
		return 1;
	}
	return fail(ret_error, E_USAGE, "'%s' is no option, or its value none", argv[0]);
}

/* It does not wait any more: where the log knows the answer, that is said instead. */
static void say_answered(const char *state, const char *id, struct error **error)
{
	struct store *store = NULL;
	json_t *answer = NULL;
	const char *by, *reason;

	if (strlen(id) < QUEUE_ID_LEAST || store_open(state, &store, NULL) < 0)
		return;
	answer = store_answer(store, id);
	store_close(store);
	if (!answer)
		return;
	by = text_of(answer, "by");
	reason = text_of(answer, "reason");
	error_free(*error);
	*error = NULL;
	if (strcmp(text_of(answer, "answer"), "nobody") == 0)
		fail(error, E_INPUT, "nobody answered %s in time: it ended at %s",
		     text_of(answer, "question"), text_of(answer, "time"));
	else
		fail(error, E_INPUT, "%s was answered already: %s%s%s by %s, at %s%s%s",
		     text_of(answer, "question"), text_of(answer, "answer"),
		     text_of(answer, "scope") ? ", " : "",
		     text_of(answer, "scope") ? text_of(answer, "scope") : "", by ? by : "a rule",
		     text_of(answer, "time"), reason ? ": " : "", reason ? reason : "");
	error_hint(error, "`ward show %s` says what came of it", text_of(answer, "run"));
	json_decref(answer);
}

static int answer_verb(int argc, char **argv, const char *word, const char *help)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_approver_id_ struct approver_id who = approver_here();
	_cleanup_free_ char *state = NULL;
	json_t *answer = json_pack("{s:s}", "answer", word), *entry = NULL, *progress = NULL;
	const char *id = NULL, *user = NULL;
	int r = 0;

	for (int i = 1; i < argc && r >= 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			json_decref(answer);
			return output_end(word, 0);
		}
		if (argv[i][0] != '-' && !id) {
			id = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--user") == 0 && argv[i + 1]) {
			user = argv[++i];
			continue;
		}
		r = put_option(word, argv + i, answer, &who, &error);
		i += r > 0;
	}
	if (r < 0 || !id) {
		json_decref(answer);
		return output_usage(word, "%s",
				    error ? error->message : "it needs the ID of a question");
	}
	output_begin();
	r = user ? others_become(user, &error) : 0;
	if (r == 0)
		r = state_directory(&state, &error);
	if (r == 0)
		r = queue_find(state, id, QUEUE_ID_LEAST, &entry, &error);
	if (r < 0 && state)
		say_answered(state, id, &error);
	if (r == 0)
		r = queue_answer(state, entry, answer, &who, &error);
	if (r == 0) {
		progress = queue_progress(state, entry);
		say_done(entry, answer, progress);
	}
	/* A ticket that nobody keeps goes on, too. */
	if (r == 0 && text_of(entry, "ticket"))
		ticket_adopt(state, NULL);
	json_decref(progress);
	json_decref(entry);
	json_decref(answer);
	return r < 0 ? output_error(word, error) : output_end(word, 0);
}

int verb_approve(int argc, char **argv)
{
	return answer_verb(argc, argv, "approve", approve_help);
}

int verb_deny(int argc, char **argv)
{
	return answer_verb(argc, argv, "deny", deny_help);
}

int verb_defer(int argc, char **argv)
{
	return answer_verb(argc, argv, "defer", defer_help);
}
