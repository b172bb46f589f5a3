/* SPDX-License-Identifier: Apache-2.0 */
/* ward session: the sittings that ward knows, and ending one. */
#include "output.h"
#include "verbs.h"
#include "../../src/decide/grants.h"
#include "../../src/record/session.h"
#include "../../src/record/state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward session [--json]\n"
	"       ward session end [ID]\n"
	"\n"
	"Lists sessions: those that a caller named with --session, and those of terminals and of\n"
	"processes that called ward (pid-PID-START), which end when the process does. A session "
	"has a\n"
	"private /tmp and the answers that people gave for it (ward grants).\n"
	"\n"
	"end ends one, this one unless another is named: its /tmp and its answers are gone.\n"
	"\n"
	"  --json   one object a line, for programs\n"
	"  --help   this text\n";

struct listing {
	const char *state, *own;
	bool json;
};

static int show(const char *id, bool lives, int64_t used, void *data)
{
	const struct listing *listing = data;
	struct grants grants = {0};
	bool own = strcmp(id, listing->own) == 0;
	char when[64];
	time_t time = (time_t)used;

	(void)grants_load(listing->state, id, /* wanted= */ NULL, &grants, NULL);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime(&time));
	if (listing->json) {
		json_t *object =
			json_pack("{s:s, s:b, s:b, s:I, s:I}", "id", id, "lives", lives, "own", own,
				  "used", (json_int_t)used, "grants", (json_int_t)grants.count);

		output_json(object);
		json_decref(object);
	} else {
		printf("%-32s  %s  %zu answer%s  %s%s\n", id, when, grants.count,
		       grants.count == 1 ? "" : "s", lives ? "lives" : "ended",
		       own ? ", this one" : "");
	}
	grants_done(&grants);
	return 0;
}

int verb_session(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL, *own = session_default(NULL);
	struct listing listing = {.own = own};
	const char *ended = NULL;
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("session", 0);
		}
		if (strcmp(argv[i], "--json") == 0)
			listing.json = true;
		else if (strcmp(argv[i], "end") == 0 && i + 2 >= argc)
			ended = i + 1 < argc ? argv[++i] : own;
		else
			return output_usage("session", "'%s' is not --json or end [ID]", argv[i]);
	}
	output_begin();
	r = state_directory(&state, &error);
	listing.state = state;
	if (r == 0)
		r = ended ? session_end(state, ended, &error) : session_list(state, show, &listing);
	if (r == 0 && ended)
		printf("%s has ended\n", ended);
	return r < 0 ? output_error("session", error) : output_end("session", 0);
}
