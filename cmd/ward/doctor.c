/* SPDX-License-Identifier: Apache-2.0 */
/* ward doctor: builds the sandbox that a run would get, tries to break out of it, and says what
 * held. */
#include "bait.h"
#include "machine.h"
#include "output.h"
#include "verbs.h"
#include "../../src/sandbox/container/container.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/flow.h"
#include "../../src/record/session.h"
#include "../../src/record/state.h"
#include "../../src/sandbox/ladder.h"
#include "../../src/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
	"usage: ward doctor [--json]\n"
	"\n"
	"Builds the sandbox that a run would get here and tries to break out of it: reads planted "
	"secrets,\n"
	"writes outside, connects to the host, signals and traces its processes, and so on. Says "
	"of "
	"each\n"
	"whether it held and how that is known; and which walls this machine does not give, and "
	"why.\n"
	"\n"
	"  --json   one object, as docs/doctor.schema.json describes\n"
	"  --help   this text\n"
	"\n"
	"exit codes: 0 all that should hold held; 1 something did not; 125 no sandbox could be "
	"built\n";

/* How one probe came out. */
struct finding {
	int answer;    /* PROBE_... */
	bool expected; /* one of the walls against it is to be had here */
	char how[256];
};

static bool did_not_hold(const struct finding *finding)
{
	return finding->expected && finding->answer == PROBE_OPEN;
}

static void make_request(const struct bait *bait, const char *session, struct request *request)
{
	request_init(request);
	list_add_printf(&request->argv, "%s/ward", bait->place);
	list_add(&request->argv, "doctor");
	list_add(&request->argv, "--probe");
	for (size_t i = 0; i < TARGETS; i++)
		list_add(&request->argv, bait->targets[i]);
	if (asprintf(&request->workspace, "%s/workspace", bait->place) < 0)
		abort();
	request->cwd = strdup(request->workspace);
	list_add(&request->deny, bait->targets[TARGET_SECRET]);
	request->approval = APPROVAL_NEVER;
	request->has_approval = true;
	request->session = strdup(session);
	request->tool = strdup("ward doctor");
	request->caches = CACHES_OFF; /* nothing is to be kept for it */
	request->has_caches = true;
	request->limits.time_ns = 60ull * 1000 * 1000 * 1000;
	request->json = request->no_pty = true;
}

/* What the probes said, each on a line; what they did not say did not hold. */
static void read_answers(const struct output *output, struct finding *findings)
{
	_cleanup_free_ char *text =
		strndup(output->data ? output->data : "", output->data ? output->length : 0);
	char *rest = text, *line;

	for (size_t i = 0; i < probe_count; i++)
		findings[i] = (struct finding){.answer = PROBE_OPEN, .how = "it gave no answer"};
	while ((line = strsep(&rest, "\n"))) {
		unsigned number;
		int answer, at = 0;

		if (sscanf(line, "%u %d %n", &number, &answer, &at) < 2 || at == 0 ||
		    number >= probe_count || answer < PROBE_HELD || answer > PROBE_UNTRIED)
			continue;
		findings[number].answer = answer;
		snprintf(findings[number].how, sizeof(findings[number].how), "%.200s", line + at);
	}
}

/* The word of a probe is not enough where its effect can be seen from outside. */
static void look_outside(const struct bait *bait, struct finding *findings)
{
	char what[200];

	for (size_t i = 0; i < probe_count; i++) {
		if (probes[i].reached == TARGETS || !bait_was_reached(bait, probes[i].reached))
			continue;
		findings[i].answer = PROBE_OPEN;
		snprintf(what, sizeof(what), "%.*s", (int)strcspn(findings[i].how, ":"),
			 findings[i].how);
		snprintf(findings[i].how, sizeof(findings[i].how), "%s: it arrived outside", what);
	}
}

/* Layers over caches are no wall, and are tried apart: where the state lies. 0 or -errno. */
static int try_layers(const char *state)
{
	static const char *const parts[] = {"lower", "upper", "work"};
	_cleanup_free_ char *place = NULL;
	int r;

	if (asprintf(&place, "%s/doctor-%d", state, getpid()) < 0)
		abort();
	r = mkdir(place, 0700) < 0 ? -errno : 0;
	for (size_t i = 0; i < ELEMENTS(parts) && r == 0; i++) {
		_cleanup_free_ char *part = path_resolve(place, NULL, parts[i]);

		r = mkdir(part, 0700) < 0 ? -errno : 0;
	}
	if (r == 0)
		r = sandbox_try_layer(place);
	(void)remove_tree(AT_FDCWD, place);
	return r;
}

static json_t *texts(const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(list->items[i]));
	return array;
}

static json_t *finding_to_json(const struct probe *probe, const struct finding *finding)
{
	_cleanup_list_ struct list names = {0};

	if (probe->walls != WALLS_ALL)
		wall_names(probe->walls, &names);
	return json_pack("{s:s, s:o, s:b, s:s, s:o}", "wall", probe->wall, "held",
			 finding->answer == PROBE_UNTRIED
				 ? json_null()
				 : json_boolean(finding->answer == PROBE_HELD),
			 "expected", finding->expected, "how", finding->how, "by", texts(&names));
}

static json_t *missing_to_json(unsigned lost)
{
	json_t *array = json_array();

	for (unsigned wall = 0; wall < WALL_COUNT; wall++)
		if (lost & WALL_BIT(wall))
			json_array_append_new(
				array,
				json_pack("{s:s, s:s}", "wall", wall_name((enum wall)wall), "why",
					  ladder_remedy(ladder_cause((enum wall)wall, lost))));
	return array;
}

/* By the names that a policy knows them by. */
static const char *const runtimes[] = {"crun", "runc", "runsc"};

static json_t *runtimes_here(void)
{
	json_t *here = json_array();

	for (size_t i = 0; i < ELEMENTS(runtimes); i++) {
		_cleanup_free_ char *path = container_find_runtime(runtimes[i]);

		if (path)
			json_array_append_new(here, json_string(runtimes[i]));
	}
	return here;
}

static void show_json(const struct machine *machine, const struct finding *findings,
		      struct rung rung, int layers, bool held)
{
	_cleanup_list_ struct list stood = {0};
	_cleanup_free_ char *lost = ladder_explain(rung.lost, rung.abi, NETWORK_NONE);
	json_t *walls = json_array(), *object;

	wall_names(rung.walls, &stood);
	for (size_t i = 0; i < probe_count; i++)
		json_array_append_new(walls, finding_to_json(&probes[i], &findings[i]));
	object = json_pack(
		"{s:b, s:o, s:o, s:o, s:o, s:s, s:i, s:{s:s, s:o}, s:b, s:o, s:b, s:o}", "held",
		held, "walls", walls, "stood", texts(&stood), "missing", missing_to_json(rung.lost),
		"lost", lost ? json_string(lost) : json_null(), "kernel", machine->kernel,
		"landlock", machine->landlock, "cgroup", "version", machine->cgroup, "controllers",
		texts(&machine->controllers), "apparmor", machine->apparmor, "groups",
		texts(&machine->groups), "caches", layers == 0, "container", runtimes_here());
	output_json(object);
	json_decref(object);
}

static void show_machine(const struct machine *machine)
{
	char landlock[32] = "no Landlock";

	if (machine->landlock)
		snprintf(landlock, sizeof(landlock), "Landlock %d", machine->landlock);
	output_text(COLOUR_NONE, machine->kernel);
	printf(", %s, cgroup %s", landlock, machine->cgroup);
	for (size_t i = 0; i < machine->controllers.count; i++) {
		printf(i ? " " : " (");
		output_text(COLOUR_NONE, machine->controllers.items[i]);
	}
	printf("%s\n", machine->controllers.count ? ")" : "");
	for (size_t i = 0; i < machine->groups.count; i++) {
		output_text(COLOUR_YELLOW, machine->groups.items[i]);
		putchar('\n');
	}
	putchar('\n');
}

static void show_row(const char *wall, enum colour colour, const char *state, const char *how)
{
	char column[16];

	printf("%-18s ", wall);
	snprintf(column, sizeof(column), "%-9s", state);
	output_text(colour, column);
	putchar(' ');
	output_text(COLOUR_NONE, how);
	putchar('\n');
}

/* One row for each cause, and behind it what went with it. */
static void show_missing(unsigned lost)
{
	for (unsigned cause = 0; cause < WALL_COUNT; cause++) {
		_cleanup_buffer_ struct buffer with = {0};

		if (!(lost & WALL_BIT(cause)) || ladder_cause((enum wall)cause, lost) != cause)
			continue;
		buffer_add_text(&with, ladder_remedy((enum wall)cause));
		for (unsigned wall = 0; wall < WALL_COUNT; wall++)
			if (wall != cause && lost & WALL_BIT(wall) &&
			    ladder_cause((enum wall)wall, lost) == cause)
				buffer_printf(&with, "%s%s",
					      strstr(buffer_text(&with), "; with it: ")
						      ? ", "
						      : "; with it: ",
					      wall_name((enum wall)wall));
		show_row(wall_name((enum wall)cause), COLOUR_YELLOW, "not here",
			 buffer_text(&with));
	}
}

static void show_layers(int layers)
{
	char how[128] = "a layer of the workspace's own over those in the home directory";

	if (layers < 0)
		snprintf(how, sizeof(how), "no layers over them, they stay read-only: %s",
			 strerror(-layers));
	show_row("caches", layers < 0 ? COLOUR_YELLOW : COLOUR_GREEN,
		 layers < 0 ? "not here" : "layered", how);
}

/* No wall that every machine with AppArmor has: its administrator chooses. */
static void show_apparmor(const struct machine *machine, unsigned walls)
{
	bool stands = walls & WALL_BIT(WALL_APPARMOR);

	if (machine->apparmor)
		show_row("apparmor", stands ? COLOUR_GREEN : COLOUR_YELLOW,
			 stands ? "stands" : "not here",
			 stands ? "commands are under the profile ward-restricted"
				: ladder_remedy(WALL_APPARMOR));
}

static void show_runtimes(void)
{
	json_t *here = runtimes_here(), *name;
	_cleanup_buffer_ struct buffer how = {0};
	size_t i;

	json_array_foreach (here, i, name) {
		buffer_printf(&how, "%s%s", i ? ", " : "--level container by ",
			      json_string_value(name));
	}
	show_row("container", i ? COLOUR_GREEN : COLOUR_YELLOW, i ? "there" : "not here",
		 i ? buffer_text(&how) : "no OCI runtime is installed: apt install crun");
	json_decref(here);
}

static void show_table(const struct machine *machine, const struct finding *findings,
		       struct rung rung, int layers)
{
	size_t open = 0;

	show_machine(machine);
	for (size_t i = 0; i < probe_count; i++) {
		const struct finding *finding = &findings[i];

		open += did_not_hold(finding);
		if (finding->answer == PROBE_HELD)
			show_row(probes[i].wall, COLOUR_GREEN, "held", finding->how);
		else if (finding->answer == PROBE_UNTRIED)
			show_row(probes[i].wall, COLOUR_YELLOW, "untried", finding->how);
		else if (finding->expected)
			show_row(probes[i].wall, COLOUR_RED, "OPEN", finding->how);
		else
			show_row(probes[i].wall, COLOUR_YELLOW, "not here", finding->how);
	}
	show_layers(layers);
	show_apparmor(machine, rung.walls);
	show_runtimes();
	show_missing(rung.lost);
	putchar('\n');
	if (rung.lost || rung.abi < LANDLOCK_WHOLE) {
		_cleanup_free_ char *lost = ladder_explain(rung.lost, rung.abi, NETWORK_NONE);

		if (lost)
			output_text(COLOUR_NONE, lost);
		printf("%s", lost ? "\n" : "");
	}
	if (open)
		printf("%zu of %zu probes got through\n", open, probe_count);
	else
		printf("all that should hold here held\n");
}

/* The run itself: the flow of any other request. */
static int run_probes(const struct bait *bait, const char *state, struct result *result,
		      struct error **ret_error)
{
	_cleanup_request_ struct request request;
	_cleanup_free_ char *session = NULL;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	close_fd(&null);
	if (asprintf(&session, "doctor-%d", getpid()) < 0)
		abort();
	make_request(bait, session, &request);
	flow_run(&request, /* audience= */ NULL, result);
	(void)session_end(state, session, NULL);
	if (result->error) {
		*ret_error = STEAL(result->error);
		return -(int)(*ret_error)->code;
	}
	if (result->exit_code != 0)
		return fail(ret_error, E_ENGINE, "the probes ended with %d inside the sandbox",
			    result->exit_code);
	return 0;
}

static int examine(bool json)
{
	struct finding findings[probe_count];
	_cleanup_error_ struct error *error = NULL;
	_cleanup_result_ struct result result;
	_cleanup_free_ char *state = NULL;
	struct machine machine;
	struct bait bait = {0};
	struct rung rung;
	bool held = true;
	int r, layers = 0;

	output_begin();
	result_init(&result);
	machine_look(&machine);
	r = state_directory(&state, &error);
	if (r == 0 && (r = state_directory_make(state, &error)) == 0)
		layers = try_layers(state);
	if (r == 0 && (r = bait_lay(state, &bait, &error)) == 0 &&
	    (r = run_probes(&bait, state, &result, &error)) == 0) {
		rung = ladder_last();
		read_answers(&result.stdout_, findings);
		look_outside(&bait, findings);
		for (size_t i = 0; i < probe_count; i++) {
			findings[i].expected = probes[i].walls & ~rung.lost;
			held = held && !did_not_hold(&findings[i]);
		}
		if (json)
			show_json(&machine, findings, rung, layers, held);
		else
			show_table(&machine, findings, rung, layers);
	} else if (!json) {
		show_machine(&machine);
	}
	bait_take_up(&bait);
	machine_done(&machine);
	if (r < 0)
		return output_error("doctor", error);
	return output_end("doctor", held ? 0 : 1);
}

int verb_doctor(int argc, char **argv)
{
	bool json = false;

	/* How ward calls itself inside the sandbox. */
	if (argc == 2 + TARGETS && strcmp(argv[1], "--probe") == 0)
		return probes_run(argv + 2);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("doctor", 0);
		}
		if (strcmp(argv[i], "--json") != 0)
			return output_usage("doctor", "'%s' is not --json", argv[i]);
		json = true;
	}
	return examine(json);
}
