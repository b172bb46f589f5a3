/* SPDX-License-Identifier: Apache-2.0 */
/* ward incidents: which agents are in safe mode and why, what becomes of their commands, and the
 * way out. */
#include "incidents.h"
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/escalate/approver.h"
#include "../../src/record/state.h"
#include "../../src/serve/incident_acts.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward incidents [list] [--all] [--agent A] [--json]\n"
	"       ward incidents show ID [--json]\n"
	"       ward incidents resume ID | kill ID\n"
	"       ward incidents close ID --note TEXT\n"
	"\n"
	"An agent under `trust` that tries what a rule denies, goes beyond its token or passes "
	"limits too\n"
	"often is put in safe mode: its commands stand still, what it was granted ends, new ones "
	"only read\n"
	"the workspace and logs. An incident tells why, and is open until a person closes it.\n"
	"\n"
	"  list      those that are open; --all: closed ones, too\n"
	"  show      one of them: what was tried, and what there was at that moment\n"
	"  resume    lets the commands go on that stand still, without what was granted\n"
	"  kill      ends them\n"
	"  close     takes the agent out of safe mode; what still stands still is ended\n"
	"\n"
	"  --note TEXT   what the review found\n"
	"  --agent A     only those of this agent\n"
	"  --json        one object a line, for programs\n"
	"  --help        this text\n"
	"\n"
	"example: ward incidents, then ward incidents close 01m7 --note 'it was our test'\n";

enum act { ACT_LIST, ACT_SHOW, ACT_RESUME, ACT_KILL, ACT_CLOSE };

static const char *const acts[] = {[ACT_LIST] = "list",
				   [ACT_SHOW] = "show",
				   [ACT_RESUME] = "resume",
				   [ACT_KILL] = "kill",
				   [ACT_CLOSE] = "close"};

struct order {
	enum act act;
	const char *id, *note, *agent;
	bool all, json;
	size_t count;
};

static bool is_listed(const struct order *order, const json_t *incident)
{
	const char *agent = text_of(incident, "agent"), *state = text_of(incident, "state");

	return (order->all || !state || strcmp(state, "open") == 0) &&
	       (!order->agent || (agent && strcmp(order->agent, agent) == 0));
}

static int list_one(json_t *incident, void *data)
{
	struct order *order = data;

	if (!is_listed(order, incident) || output_is_closed())
		return 0;
	order->count++;
	if (order->json)
		output_json(incident);
	else
		incident_print_short(incident);
	return 0;
}

static int act_on(const char *state, const struct order *order, struct error **ret_error)
{
	_cleanup_free_ char *by = approver_name();
	json_t *incident = NULL;
	int r = incident_find(state, order->id, &incident, ret_error);

	if (r < 0)
		return r;
	switch (order->act) {
	case ACT_SHOW:
		if (order->json)
			output_json(incident);
		else
			incident_print(incident);
		break;
	case ACT_CLOSE:
		r = incident_review(state, incident, by, order->note, ret_error);
		if (r == 0)
			printf("%s is closed: agent %s is in normal mode\n",
			       text_of(incident, "id"), text_of(incident, "agent"));
		break;
	default:
		r = incident_decide(state, incident,
				    order->act == ACT_RESUME ? INCIDENT_RESUME : INCIDENT_KILL, by,
				    ret_error);
		if (r == 0)
			printf("%s: its commands %s\n", text_of(incident, "id"),
			       order->act == ACT_RESUME ? "go on" : "are ended");
	}
	json_decref(incident);
	return r;
}

/* 1: help is wanted; -1: said what is wrong. */
static int read_words(int argc, char **argv, struct order *order)
{
	bool has_act = false;

	for (int i = 1; i < argc; i++) {
		size_t act = 0;

		while (act < ELEMENTS(acts) && strcmp(acts[act], argv[i]) != 0)
			act++;
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return 1;
		if (strcmp(argv[i], "--json") == 0) {
			order->json = true;
		} else if (strcmp(argv[i], "--all") == 0) {
			order->all = true;
		} else if (strcmp(argv[i], "--agent") == 0 && i + 1 < argc) {
			order->agent = argv[++i];
		} else if (strcmp(argv[i], "--note") == 0 && i + 1 < argc) {
			order->note = argv[++i];
		} else if (!has_act && act < ELEMENTS(acts)) {
			order->act = (enum act)act;
			has_act = true;
		} else if (has_act && order->act != ACT_LIST && !order->id && argv[i][0] != '-') {
			order->id = argv[i];
		} else {
			(void)output_usage("incidents",
					   "'%s' is not list, show ID, resume ID, kill ID, close "
					   "ID or an option",
					   argv[i]);
			return -1;
		}
	}
	if (order->act == ACT_LIST || order->id)
		return 0;
	(void)output_usage("incidents", "%s needs the id of an incident", acts[order->act]);
	return -1;
}

int verb_incidents(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	struct order order = {0};
	int r = read_words(argc, argv, &order);

	if (r < 0)
		return EXIT_WARD;
	if (r > 0) {
		printf("%s", help);
		return output_end("incidents", 0);
	}
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = order.act == ACT_LIST ? incidents_each(state, list_one, &order, &error)
					  : act_on(state, &order, &error);
	if (r == 0 && order.act == ACT_LIST && order.count == 0 && !order.json)
		printf("%s\n", order.all ? "there was no incident" : "no incident is open");
	return r < 0 ? output_error("incidents", error) : output_end("incidents", 0);
}
