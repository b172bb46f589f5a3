/* SPDX-License-Identifier: Apache-2.0 */
/* ward events: every step of every run, one JSON object a line. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/list.h"
#include "../../src/base/units.h"
#include "../../src/record/eventlog.h"
#include "../../src/record/state.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward events [--follow] [--since ID|TIME] [--run ID] [--agent ID] [--session ID] "
	"[--kind KIND,...]\n"
	"\n"
	"Prints what happened, one JSON object a line (docs/events.md): what was assessed, "
	"decided, "
	"asked and\n"
	"answered, each attempt, denial and use of a grant, and how the run ended.\n"
	"\n"
	"  -f, --follow   go on with what happens, as it happens; begins with now unless --since "
	"or "
	"--run is\n"
	"                 given. With --run it ends with that run\n"
	"  --since ID     what follows the event with this id: nothing is left out, nothing comes "
	"twice\n"
	"  --since TIME   what was recorded since: 2026-01-31T12:00:00Z, or a time before now, "
	"10m\n"
	"  --run ID       only of this run; --agent, --session: only of this agent, this session\n"
	"  --kind KIND    only of this kind, or of these: asked,answered; may be given again\n"
	"  --json         one object a line, which it always is\n"
	"  --help         this text\n"
	"\n"
	"example: ward events --follow --kind denial,asked\n";

struct wanted {
	bool follow;
	const char *since, *run, *agent, *session;
	struct list kinds;
	bool over; /* the run that it is about has ended */
};

static bool is_text(const json_t *event, const char *key, const char *wanted)
{
	const char *text = text_of(event, key);

	return !wanted || (text && strcmp(text, wanted) == 0);
}

/* A run by the beginning of its id, as elsewhere. */
static bool is_run(const json_t *event, const char *wanted)
{
	const char *run = text_of(event, "run");

	return !wanted || (run && strncmp(run, wanted, strlen(wanted)) == 0);
}

static void show(struct wanted *wanted, const json_t *event)
{
	const char *kind = text_of(event, "kind");

	if (!is_run(event, wanted->run) || !is_text(event, "agent", wanted->agent) ||
	    !is_text(event, "session", wanted->session))
		return;
	if (wanted->kinds.count == 0 || list_has(&wanted->kinds, kind))
		output_json(event);
	wanted->over |= wanted->run && strcmp(kind, "ended") == 0;
}

/* "10m": as the log writes that time. False where it is neither. */
static bool read_time(const char *text, char ret_time[static TIME_TEXT])
{
	struct timespec time = {0};
	struct tm parts = {0};
	uint64_t ns;
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);

	if (rest && (strcmp(rest, "Z") == 0 || (rest[0] == '.' && strlen(rest) == 5))) {
		time.tv_sec = timegm(&parts);
		if (rest[0] == '.')
			time.tv_nsec = strtol(rest + 1, NULL, 10) * 1000000;
	} else if (parse_duration(text, &ns, NULL) == 0) {
		clock_gettime(CLOCK_REALTIME, &time);
		time.tv_sec -= (time_t)(ns / 1000000000);
	} else {
		return false;
	}
	time_text_of(&time, ret_time);
	return true;
}

static int find_place(const struct wanted *wanted, const char *state, struct event_place *ret_place,
		      struct error **ret_error)
{
	char time[TIME_TEXT];

	*ret_place = (struct event_place){0};
	if (!wanted->since)
		return wanted->follow && !wanted->run ? event_place_now(state, ret_place, ret_error)
						      : 0;
	if (strchr(wanted->since, '.') ||
	    strspn(wanted->since, "0123456789") == strlen(wanted->since))
		if (event_place_read(wanted->since, ret_place))
			return 0;
	if (read_time(wanted->since, time))
		return event_place_since(state, time, ret_place, ret_error);
	return fail(
		ret_error, E_USAGE,
		"--since %s: not the id of an event, nor a time such as 2026-01-31T12:00:00Z or "
		"10m",
		wanted->since);
}

/* A reader that goes away ends it at once, not with the next event. */
static bool wait_for_more(const struct eventlog *log)
{
	struct pollfd fds[] = {{eventlog_fd(log), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};

	while (poll(fds, ELEMENTS(fds), -1) < 0)
		if (errno != EINTR)
			return false;
	return !(fds[1].revents & (POLLERR | POLLNVAL));
}

static int tell(struct wanted *wanted, const char *state, struct error **ret_error)
{
	struct eventlog *log = NULL;
	struct event_place after;
	json_t *event;
	int r;

	r = state_directory_make(state, ret_error);
	if (r == 0)
		r = find_place(wanted, state, &after, ret_error);
	if (r == 0)
		r = eventlog_open(state, after, wanted->follow, &log, ret_error);
	while (r == 0 && !wanted->over) {
		while (!wanted->over && !output_is_closed() &&
		       (r = eventlog_next(log, &event, ret_error)) > 0) {
			show(wanted, event);
			json_decref(event);
		}
		r = MIN(r, 0);
		if (fflush(stdout) != 0 || r < 0 || !wanted->follow || wanted->over ||
		    !wait_for_more(log))
			break;
	}
	eventlog_close(log);
	return r;
}

static void add_kinds(struct list *kinds, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *kind;

	while ((kind = strsep(&rest, ",")))
		if (*kind)
			list_add(kinds, kind);
}

/* -1: go on. */
static int take_option(int option, struct wanted *wanted)
{
	switch (option) {
	case 'j':
		break;
	case 'f':
		wanted->follow = true;
		break;
	case 'S':
		wanted->since = optarg;
		break;
	case 'r':
		wanted->run = optarg;
		break;
	case 'a':
		wanted->agent = optarg;
		break;
	case 's':
		wanted->session = optarg;
		break;
	case 'k':
		add_kinds(&wanted->kinds, optarg);
		break;
	default:
		return 1;
	}
	return 0;
}

int verb_events(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"follow", no_argument, NULL, 'f'},
		{"since", required_argument, NULL, 'S'},
		{"run", required_argument, NULL, 'r'},
		{"agent", required_argument, NULL, 'a'},
		{"session", required_argument, NULL, 's'},
		{"kind", required_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	struct wanted wanted = {0};
	int option, r;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":fh", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return output_end("events", 0);
		}
		if (take_option(option, &wanted) != 0)
			return output_bad_option("events", argv, options, option);
	}
	if (optind < argc)
		return output_usage("events", "unexpected word '%s'", argv[optind]);
	r = state_directory(&state, &error);
	if (r == 0)
		r = tell(&wanted, state, &error);
	list_done(&wanted.kinds);
	return r < 0 ? output_error("events", error) : output_end("events", 0);
}
