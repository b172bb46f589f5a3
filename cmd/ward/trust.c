/* SPDX-License-Identifier: Apache-2.0 */
/* ward trust: the scores of agents, what changes them by a person's word, and what was learnt. */
#include "trust.h"
#include "output.h"
#include "verbs.h"
#include "../../src/escalate/approver.h"
#include "../../src/record/audit.h"
#include "../../src/record/session.h"
#include "../../src/record/state.h"
#include "../../src/request/text_json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: ward trust [--json] [AGENT]\n"
	"       ward trust task|override|reset AGENT --why TEXT\n"
	"       ward trust learn [--json] [ID]\n"
	"       ward trust learn accept ID\n"
	"\n"
	"Shows the score of each agent that the policy puts under `trust`, or of one: how it came "
	"about,\n"
	"what it unlocks and what comes next.\n"
	"\n"
	"  task        a task is done, and done well\n"
	"  override    you had to stop the agent, or to undo what it did\n"
	"  reset       back to what the policy lets an agent start with\n"
	"  learn       rules that ward proposes, because you have approved the same again and "
	"again, with\n"
	"              what else each would admit; accept writes one into your policy, for a time\n"
	"\n"
	"  --why TEXT  why; it is kept with the change\n"
	"  --json      for programs: one object, or one a line\n"
	"  --help      this text\n"
	"\n"
	"Scores are kept in ward's state, which no sandbox reaches: an agent cannot change its "
	"own.\n"
	"See docs/trust.md.\n";

static int load(struct trust_call *call, struct error **ret_error)
{
	struct policy_places places = {.uid = getuid(), .home = getenv("HOME")};
	char here[PATH_MAX];
	int r = state_directory(&call->state, ret_error);

	if (r < 0)
		return r;
	if (!getcwd(here, sizeof(here)))
		return fail_errno(ret_error, E_ENGINE, errno, "finding the directory");
	places.config_home = getenv("XDG_CONFIG_HOME");
	places.state = call->state;
	places.workspace = here;
	return policy_load(&places, &call->policy, ret_error);
}

static int check_bound(const struct trust_call *call, const char *agent, struct error **ret_error)
{
	int r = session_check_agent(agent, ret_error);

	if (r < 0 || trust_binds(call->policy, agent))
		return r;
	fail(ret_error, E_USAGE, "the policy does not put '%s' under trust", agent);
	return error_hint(ret_error, "name it in ~/.config/ward/ward.yaml: trust: {agents: [...]}");
}

/* On record before it takes effect. */
static int change(const struct trust_call *call, const char *what, const char *agent,
		  struct error **ret_error)
{
	_cleanup_free_ char *by = approver_name();
	struct audit *audit = NULL;
	json_t *body;
	int r = check_bound(call, agent, ret_error);

	if (r < 0)
		return r;
	if (!call->why || !*call->why) {
		fail(ret_error, E_USAGE, "why?");
		return error_hint(ret_error, "say so: ward trust %s %s --why TEXT", what, agent);
	}
	r = state_directory_make(call->state, ret_error);
	if (r == 0)
		r = audit_open(call->state, &audit, ret_error);
	if (r < 0)
		return r;
	body = json_object();
	json_put_text(body, "agent", agent);
	json_put_text(body, "change", what);
	json_put_text(body, "why", call->why);
	json_put_text(body, "by", by);
	r = audit_append(audit, "trust", NULL, body, ret_error);
	json_decref(body);
	audit_close(audit);
	if (r < 0)
		return r;
	if (strcmp(what, "reset") == 0)
		r = trust_reset(call->state, call->policy, agent, call->why, by, ret_error);
	else
		r = trust_note_by(call->state, call->policy, agent,
				  strcmp(what, "task") == 0 ? TRUST_TASK : TRUST_OVERRIDE,
				  call->why, by, /* key= */ NULL, ret_error);
	return r < 0 ? r : trust_show_agent(call, agent, ret_error);
}

static int learn(const struct trust_call *call, char **words, int count, struct error **ret_error)
{
	if (count == 2 && strcmp(words[0], "accept") == 0)
		return trust_accept_proposal(call, words[1], ret_error);
	if (count <= 1 && !(count == 1 && strcmp(words[0], "accept") == 0))
		return trust_list_proposals(call, count ? words[0] : NULL, ret_error);
	fail(ret_error, E_USAGE, "what is to be learnt?");
	return error_hint(ret_error, "ward trust learn, then ward trust learn accept ID");
}

static bool is_change(const char *word)
{
	return strcmp(word, "task") == 0 || strcmp(word, "override") == 0 ||
	       strcmp(word, "reset") == 0;
}

static int act(const struct trust_call *call, char **words, int count, struct error **ret_error)
{
	if (count > 0 && strcmp(words[0], "learn") == 0)
		return learn(call, words + 1, count - 1, ret_error);
	if (count == 2 && is_change(words[0]))
		return change(call, words[0], words[1], ret_error);
	if (count == 1 && !is_change(words[0]) && !call->why) {
		int r = check_bound(call, words[0], ret_error);

		return r < 0 ? r : trust_show_agent(call, words[0], ret_error);
	}
	if (count == 0 && !call->why)
		return trust_show_all(call, ret_error);
	if (count == 1 && is_change(words[0]))
		fail(ret_error, E_USAGE, "%s needs the name of an agent", words[0]);
	else
		fail(ret_error, E_USAGE,
		     count > 0 ? "'%s' is one word too many"
			       : "--why goes with task, override or reset",
		     count > 0 ? words[count - 1] : "");
	return error_hint(ret_error, "`ward trust --help` lists what there is");
}

int verb_trust(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"why", required_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	struct trust_call call = {0};
	int option, r;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			call.json = true;
			break;
		case 'w':
			call.why = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return output_end("trust", 0);
		default:
			return output_bad_option("trust", argv, options, option);
		}
	}
	r = load(&call, &error);
	if (r == 0)
		r = act(&call, argv + optind, argc - optind, &error);
	policy_free(call.policy);
	free(call.state);
	return r < 0 ? output_error("trust", error) : output_end("trust", 0);
}
