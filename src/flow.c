/* SPDX-License-Identifier: Apache-2.0 */
/* The flow, one direction: request -> plan -> assessment -> verdict -> (ask -> answer) -> sandbox
 * -> run -> observed -> (again, with what was missing) -> result -> record. Each stage takes the
 * value that the one before made; only this file and its parts, flow_*.c, know all of them. */
#include "flow_state.h"
#include "assess/loss.h"
#include "assess/radius.h"
#include "base/buffer.h"
#include "base/escape.h"
#include "base/id.h"
#include "base/io.h"
#include "base/path.h"
#include "base/units.h"
#include "decide/secrets.h"
#include "escalate/explain.h"
#include "parse/plan.h"
#include "record/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SEARCHES = 5 };

extern char **environ;

static int check_walls(const struct list *named, struct error **ret_error)
{
	_cleanup_list_ struct list walls = {0};

	wall_names(WALLS_ALL, &walls);
	for (size_t i = 0; i < named->count; i++)
		if (!list_has(&walls, named->items[i])) {
			fail(ret_error, E_USAGE, "there is no wall called '%s'", named->items[i]);
			return error_hint(ret_error, "docs/policy.md lists them under `require`");
		}
	return 0;
}

/* 1. What is not built is refused, not ignored. */
static int check(const struct request *request, struct error **ret_error)
{
	int r;

	if (request->level == LEVEL_NONE && request->deny_calls.count) {
		fail(ret_error, E_USAGE, "system calls cannot be denied without the sandbox");
		return error_hint(ret_error, "leave out --level none");
	}
	if (request->level == LEVEL_NONE && request->deny_hosts.count) {
		fail(ret_error, E_USAGE, "hosts cannot be denied without the sandbox");
		return error_hint(ret_error, "leave out --level none");
	}
	if (request->level == LEVEL_NONE && request->publish.count) {
		fail(ret_error, E_USAGE, "there are no ports to publish without the sandbox");
		return error_hint(ret_error, "leave out --level none, or --publish: the command's "
					     "ports are the host's then");
	}
	if (request->agent && (r = session_check_agent(request->agent, ret_error)) < 0)
		return r;
	return check_walls(&request->require, ret_error);
}

struct decision *flow_decided(struct flow *flow, const char *stage, const char *verdict,
			      const char *source)
{
	struct decision *decision = result_add_decision(flow->result, stage, verdict, source);
	char now[TIME_TEXT];

	time_text(now);
	decision->time = strdup(now);
	return decision;
}

static int begin_with(struct flow *flow, enum level level, enum network network, bool whole,
		      struct error **ret_error)
{
	const struct ground ground = {
		.level = level,
		.network = network,
		.uid = flow->identity.uid,
		.gid = flow->identity.gid,
		.whole = whole,
		.runtime = level == LEVEL_CONTAINER ? flow_likely_runtime(flow) : NULL,
		.likely = level == LEVEL_RESTRICTED ? secrets_of_most : NULL,
	};

	entry_done(&flow->entry);
	flow->entry_level = level;
	flow->entry_network = network;
	return sandbox_begin(&ground, &flow->entry, ret_error);
}

static int begin(struct flow *flow, enum level level, enum network network,
		 struct error **ret_error)
{
	return begin_with(flow, level, network, /* whole= */ false, ret_error);
}

/* 2. The sandbox is begun at once: what every command needs takes longest. What is asked for is a
 * guess, mostly right; what is judged counts. A namespace of its own takes all rights from init
 * whatever we have ourselves; where there is none, or we shall be somebody else, it is begun when
 * we are who the command runs as. */
static int begin_early(struct flow *flow, struct error **ret_error)
{
	const struct request *request = flow->request;
	struct error *error = NULL;
	int r;

	if (flow->identity.changes || flow_is_resumed(flow) ||
	    (request->level == LEVEL_NONE && !request->foreign))
		return 0;
	if ((r = identity_leave_groups(ret_error)) < 0)
		return r;
	if (begin_with(flow, request->foreign ? LEVEL_RESTRICTED : request->level,
		       request->foreign ? NETWORK_NONE : request->network, /* whole= */ true,
		       &error) < 0)
		error_free(error);
	return 0;
}

/* The program that a name would be found as lies where commands can write: what is called git there
 * need not be git. */
static bool is_own_program(const struct request *request, const char *name)
{
	_cleanup_free_ char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
	char *rest = path, *directory;

	while (!strchr(name, '/') && (directory = strsep(&rest, ":"))) {
		_cleanup_free_ char *file = NULL;
		char real[PATH_MAX];

		if (asprintf(&file, "%s/%s", *directory ? directory : ".", name) < 0)
			abort();
		if (access(file, X_OK) < 0 || !realpath(file, real))
			continue;
		return path_is_under(real, request->workspace) || path_is_under(real, "/tmp");
	}
	return false;
}

bool flow_is_own_program(const struct request *request)
{
	return request->argv.count > 0 && is_own_program(request, request->argv.items[0]);
}

void flow_imply_profile(struct request *request)
{
	const char *profile = request->mode == MODE_EXEC && request->argv.count > 0
				      ? policy_profile_of(request->argv.items[0])
				      : NULL;

	/* Who asks for something else gets that; an agent that starts another has no login to
	 * give; and what is called so, but lies where commands can write, may be anything. */
	if (!profile || request->profile || request->foreign || request->agent ||
	    request->has_network || request->level == LEVEL_NONE || flow_is_altered(request))
		return;
	request->profile = strdup(profile);
	request->profile_implied = true;
}

/* Rules and answers about a kind of command mean the program of that name as everybody has it. */
bool flow_is_altered(const struct request *request)
{
	return request->environment.count > 0 || request->shell || request->login ||
	       flow_is_own_program(request);
}

/* 3. Parse, assess, decide, while init builds. */
int flow_judge(struct flow *flow, struct error **ret_error)
{
	const struct surroundings surroundings = {
		.home = flow->identity.home,
		.account_home = flow->identity.account_home,
		.user = flow->identity.name,
		.other_user = flow->identity.changes,
		.root = flow->identity.uid == 0,
		.state = flow->state,
		.own_state = flow->own_state,
		.environment = environ,
		.device = flow->identity.device,
		.inode = checks_switched_off() & CHECK_BIT(CHECK_PLACE) ? 0 : flow->identity.inode,
	};
	const bool safe = flow->safety.mode.safe;
	const struct matter matter = {
		.request = flow->request,
		.plan = &flow->plan,
		.assessment = &flow->assessment,
		.arena = flow->arena,
		.surroundings = &surroundings,
		.policy = flow->policy,
		.key = flow->key.text,
		.exact_key = flow->key.exact,
		/* Looked at only where something could mean it. */
		.altered = (flow->policy->rule_count || flow->grants.count || flow->under_trust) &&
			   flow_is_altered(flow->request),
		.own_program = flow->policy->rule_count && flow_is_own_program(flow->request),
		.grants = &flow->grants,
		.granted = &flow->granted,
		.kept = &flow->kept,
		.answered = flow->answered,
		.under_trust = flow->under_trust,
		.trust = flow->trust,
		.bounds = safe		? &flow->safety.bounds
			  : flow->token ? &flow->bounds
					: NULL,
		.named = safe ? &flow->safety.named : &flow->named,
		.incident = safe ? flow->safety.mode.incident : NULL,
		.token = flow->token,
		.token_expires = flow->powers.ends,
	};
	int r;

	verdict_done(&flow->verdict);
	r = decide(&matter, &flow->verdict, ret_error);
	if (r < 0)
		return r;
	flow_refuse_never(flow);
	flow->result->verdict = verdict_name(flow->verdict.kind);
	flow->result->source = flow->verdict.source;
	return 0;
}

/* Nothing speaks against it: does it take work with it that was there before the session? */
static bool look_for_loss(struct flow *flow)
{
	const struct request *request = flow->request;

	if (flow->assessment.class != CLASS_SAFE || flow->assessment.only_reads ||
	    !flow->session.id || !flow->own_state)
		return false;
	assess_loss(flow->arena, &flow->plan, request->workspace, request->cwd,
		    session_began(flow->own_state, flow->session.id), &flow->assessment);
	return flow->assessment.class != CLASS_SAFE;
}

/* Inside, the loopback is the sandbox's own, and a server there is the run's. */
static bool reaches_host_loopback(const struct flow *flow)
{
	const struct verdict *verdict = &flow->verdict;
	bool reaches = verdict->level == LEVEL_NONE || verdict->network == NETWORK_FULL;

	for (size_t i = 0; !reaches && i < flow->assessment.here_count; i++)
		reaches = host_rules_loopback(&verdict->permissions.hosts,
					      flow->assessment.here[i]) == HOST_ALLOWED;
	return reaches;
}

/* What it changes through the loopback is known when it is known whose that is. */
static int look_at_loopback(struct flow *flow, struct error **ret_error)
{
	if (!flow->assessment.here_count || flow->assessment.class != CLASS_SAFE ||
	    !reaches_host_loopback(flow))
		return 0;
	assess_host_loopback(&flow->assessment);
	return flow_judge(flow, ret_error);
}

int flow_look(struct flow *flow, struct error **ret_error)
{
	struct decision *decision;
	bool measured;
	int r;

	parse_request(flow->arena, flow->request, &flow->plan);
	assess_plan(flow->arena, &flow->plan, &flow->assessment);
	measured = flow->request->workspace && flow->request->cwd &&
		   (assess_is_kept(&flow->plan, flow->request->workspace, flow->request->cwd,
				   &flow->assessment) ||
		    look_for_loss(flow));
	approval_key_make(flow->request, &flow->plan, &flow->key);
	flow_look_trust(flow);
	if ((r = flow_load_grants(flow, ret_error)) < 0 || (r = flow_judge(flow, ret_error)) < 0 ||
	    (r = look_at_loopback(flow, ret_error)) < 0)
		return r;
	if (!measured && flow->verdict.kind == VERDICT_ASK &&
	    flow->assessment.class != CLASS_SAFE && flow->request->workspace && flow->request->cwd)
		assess_damage(&flow->plan, flow->request->workspace, flow->request->cwd,
			      &flow->assessment);
	flow_decided(flow, "assess", class_name(flow->assessment.class), "default");
	flow_note_caller(flow);
	decision = flow_decided(flow, "decide", flow->result->verdict, flow->result->source);
	if (flow->verdict.grant)
		decision->grant = strdup(flow->verdict.grant);
	if (strcmp(flow->result->source, "trust") == 0 && flow->verdict.reason)
		decision->by = strdup(flow->verdict.reason);
	return 0;
}

static bool gives_files(const struct givens *given)
{
	for (size_t i = 0; i < given->count; i++)
		if (strncmp(given->items[i].permission, "write ", 6) == 0)
			return true;
	return false;
}

/* A policy says of files that they are closed: to try one counts against an agent. */
static bool denies_files(const struct permissions *permissions)
{
	for (size_t i = 0; i < permissions->rules.count; i++)
		if (permissions->rules.items[i].access == ACCESS_DENY &&
		    permissions->rules.items[i].weight == WEIGHT_SAID)
			return true;
	return false;
}

/* 4. The rest of the sandbox: what must be masked is looked for, the run recorded before it takes
 * effect (flow_record.c), init told. */
static int start(struct flow *flow, struct sandbox *sandbox, struct error **ret_error)
{
	const struct permissions *permissions = &flow->verdict.permissions;
	const struct request *request = flow->request;
	_cleanup_free_ char *cache = path_resolve(flow->own_state, NULL, "walks");
	const struct search search = {
		.workspace = permissions->workspace,
		.rules = &permissions->rules,
		.not_names = &permissions->not_deny_names,
		.cache = cache,
		.guards = !(walls_switched_off() & WALL_BIT(WALL_GUARD)),
	};
	int r;

	flow_write_accounts(flow);
	*sandbox = (struct sandbox){
		.cwd = request->cwd,
		.workspace = permissions->workspace,
		.writable = &flow->masks.writable,
		.shown = &flow->masks.shown,
		.tmp = flow->session.tmp,
		.caches = &flow->caches,
		.cache_lock = -1,
		.users = buffer_text(&flow->users),
		.groups = buffer_text(&flow->groups),
		.argv = flow->prepared.argv.items,
		.environment = flow->prepared.environment.items,
		.candidates = &flow->prepared.candidates,
		.terminal = flow->streams.terminal >= 0,
		.foreground = flow->streams.all_terminal && terminal_is_ours(&flow->streams),
		.signal_mask = flow->before.mask,
		.ignores_pipe = flow->before.ignores_pipe,
		.ignores_child = flow->before.ignores_child,
		.require = walls_named(&flow->verdict.require),
		.filter = {permissions->allow_calls, permissions->deny_calls},
	};
	sandbox->trap_messages = flow->verdict.network == NETWORK_RESTRICTED;
	/* Whoever runs again after a question shall be told exactly what it met. */
	sandbox->trap_reads = flow_follow(flow) || flow->verdict.trace_reads ||
			      flow->result->attempt_count > 0 ||
			      (flow->safety.bound && denies_files(permissions));
	/* What is given call by call lies on a read-only mount, and programs ask before they try.
	 */
	sandbox->trap_wishes = flow_may_ask_in_place(flow) || gives_files(&permissions->given);
	sandbox->trap_programs = flow_judges_programs(flow);
	flow_limit_sandbox(flow, sandbox);
	memcpy(sandbox->stdio, flow->streams.stdio, sizeof(sandbox->stdio));
	if ((r = flow_prepare_container(flow, sandbox, ret_error)) < 0)
		return r;
	if (sandbox->terminal)
		terminal_describe(&flow->streams, &sandbox->modes, &sandbox->window);
	for (int round = 0; round < SEARCHES; round++) {
		masks_done(&flow->masks);
		error_free(*ret_error);
		*ret_error = NULL;
		/* What was begun before the judgement may not be what was judged. */
		r = round == 0 && flow->entry.control >= 0 &&
				    flow->entry_level == flow->verdict.level &&
				    (flow->entry_network == NETWORK_FULL) ==
					    (flow->verdict.network == NETWORK_FULL) &&
				    flow_is_begun_for_runtime(flow)
			    ? 0
			    : begin(flow, flow->verdict.level, flow->verdict.network, ret_error);
		if (r == 0 && flow->verdict.level != LEVEL_NONE)
			r = flow_make_own_places(permissions, ret_error);
		if (r == 0 && flow->verdict.level != LEVEL_NONE)
			r = find_masks(&search, &flow->masks, ret_error);
		if (r == 0)
			flow_open_caches(flow, sandbox);
		if (r == 0)
			r = sandbox_born(&flow->entry, ret_error);
		if (r == 0) /* nothing of the command is there yet */
			cgroup_add(flow->group, flow->entry.init);
		if (r == 0)
			r = sandbox_tell(sandbox, &flow->entry, &flow->masks, ret_error);
		/* Recorded while init builds, before it may start anything. */
		if (r == 0 && !flow->begun)
			r = flow_begin(flow, ret_error);
		if (r == 0 && flow->published.count == 0)
			r = publish_ports(&permissions->publish, &flow->published, ret_error);
		if (r == 0)
			r = flow_check_mode(flow, ret_error);
		if (r == 0)
			r = sandbox_release(sandbox, &flow->entry, ret_error);
		/* Else a second run on this workspace moved something while we looked, or this
		 * machine refuses a wall and the sandbox is begun again without. */
		if (r == 0 || !*ret_error ||
		    ((*ret_error)->errnum != ESTALE && (*ret_error)->errnum != ERESTART))
			break;
	}
	if (r == 0 && flow->published.count > 0 && !flow_can_connect(flow)) {
		fail(ret_error, E_ENGINE,
		     "ports cannot be published here: the sandbox has no "
		     "network of its own, or nobody to carry them");
		r = error_hint(ret_error, "`ward doctor` says what this machine gives");
	}
	if (r == 0 && flow->verdict.level != LEVEL_NONE)
		r = identity_give_up(ret_error);
	if (r == 0) {
		masks_number(&flow->masks);
		flow_forget_hidden_masks(flow);
	}
	for (size_t i = 0; i < flow->masks.count; i++)
		if (mask_hides(&flow->masks.items[i]) && flow->masks.items[i].kind != MASK_TEXT)
			list_add(&flow->mask_paths, flow->masks.items[i].path);
	flow->traced = sandbox->trap_reads && flow->entry.listener >= 0;
	if (r == 0) {
		flow_note_caches(flow);
		flow_notice_walls(flow);
	}
	return r;
}

/* 5. The supervisor sees what the command tries, the loop serves what it reads and writes. */
static void serve_observer(void *data)
{
	struct flow *flow = data;

	observer_serve(flow->observer);
	flow_weigh_denials(flow);
	flow_serve_wishes(flow);
	flow_weigh_denials(flow);
	flow_tell(flow);
}

static uint64_t set_aside(void *data)
{
	return observer_set_aside(((struct flow *)data)->observer);
}

static void note_run(void *data, struct run *run)
{
	((struct flow *)data)->run = run;
}

static int run(struct flow *flow, struct outcome *outcome, struct error **ret_error)
{
	const unsigned masked =
		WALL_BIT(WALL_MOUNT_NAMESPACE) | WALL_BIT(WALL_MASKS) | WALL_BIT(WALL_RUN);
	const unsigned covered = masked | WALL_BIT(WALL_USER_NAMESPACE);
	struct attendant attendant = {.fd = -1,
				      .callers = -1,
				      .serve = serve_observer,
				      .data = flow,
				      .near = flow_note_near,
				      .tell = flow_tell_lookers,
				      .begun = note_run,
				      .look = flow_look_at_mode};
	const bool apart = flow->entry.walls & WALL_BIT(WALL_GVISOR);
	int r = 0;

	flow->observed = (struct observed){
		.listener = flow->entry.listener,
		.names = flow->entry.names,
		.network = flow->entry.network,
		.root = flow->entry.root,
		.uid = flow->identity.uid,
		.init = flow->entry.leader,
		.own_network = flow->entry.walls & WALL_BIT(WALL_NET_NAMESPACE),
		.no_network = flow->entry.lost & WALL_BIT(WALL_NET_NAMESPACE),
		.among_all = flow->entry.lost & WALL_BIT(WALL_PID_NAMESPACE),
		.alone = flow->entry.lost & WALL_BIT(WALL_MOUNT_NAMESPACE),
		.tmp = flow->entry.lost & WALL_BIT(WALL_TMP) ? flow->session.tmp : NULL,
		.areas = &flow->masks.areas,
		.guarded = flow->entry.walls & WALL_BIT(WALL_GUARD) ? &flow->masks.trees : NULL,
		.outputs = {flow->streams.output[0] ? &flow->streams.output[0]->from : NULL,
			    flow->streams.output[1] ? &flow->streams.output[1]->from : NULL,
			    &flow->entry.terminal},
		.closed_proc = flow->entry.walls & WALL_BIT(WALL_PROC) && flow->identity.uid == 0,
		.covers = (flow->entry.walls & covered) == covered,
		.own_mounts = flow->masks.guarded && (flow->entry.walls & masked) == masked,
		.company = flow->company,
		.quarantine = flow->quarantine,
		.hosts = &flow->verdict.permissions.hosts,
		.published = &flow->published,
		.apart = apart,
		.restricted = flow->verdict.network == NETWORK_RESTRICTED,
		.asks = flow_may_ask_in_place(flow),
		.unchecked = checks_switched_off(),
		.answers = {flow_answers_changed, flow_answer_holds, flow},
		.given = &flow->verdict.permissions.given,
		.fixed = &flow->verdict.permissions.fixed,
		.never = &flow->verdict.permissions.never,
		.by_products = &flow->verdict.permissions.by_products,
		.sockets = &flow->verdict.permissions.sockets,
		.covered = (flow->entry.walls & masked) == masked && !apart ? &flow->masks : NULL,
		.texts = &flow->entry.texts,
		.masks = &flow->masks,
		.pidfd = flow->entry.leader_pidfd >= 0 ? flow->entry.leader_pidfd
			 : flow->entry.walls & WALL_BIT(WALL_PID_NAMESPACE) ? flow->entry.pidfd
									    : -1,
		.control = flow->entry.control,
		.programs = flow_programs(flow),
		.witness = flow->monitor ? &flow->witness : NULL,
		.warden = flow_warden(flow),
		.disk = flow->verdict.limits.disk,
		.place = &flow->entry.place,
	};
	flow_note_tmp(flow);
	if (flow->entry.listener >= 0 || flow->observed.covered) {
		r = observer_new(&flow->observed, &flow->observer, ret_error);
		if (r == 0) {
			attendant.fd = observer_fd(flow->observer);
			attendant.callers = flow->entry.listener;
			attendant.set_aside = set_aside;
		}
	}
	if (r == 0)
		r = run_serve(&flow->entry, &flow->streams, &flow->verdict.limits, flow->group,
			      &attendant, outcome, ret_error);
	flow->run = NULL;
	flow_forget_lookers(flow);
	if (flow->observer) /* however it ended */
		observer_end(flow->observer, &flow->result->warnings);
	if (flow->verdict.permissions.given.count && (flow->entry.listener < 0 || apart))
		list_add(
			&flow->result->warnings,
			"some grants of the session cannot be honoured here: nobody can look after "
			"their end");
	/* What was refused until then is told all the same. */
	if (r == 0 && flow->observer && !flow->failure)
		flow->failure = observer_take_failure(flow->observer);
	return r;
}

static void forget_attempt(struct flow *flow)
{
	struct result *result = flow->result;
	struct output *outputs[] = {&result->stdout_, &result->stderr_, &result->aggregated};

	observer_free(flow->observer);
	flow->observer = NULL;
	flow->told_silenced = false;
	flow->told.denials = 0;
	flow->safety.judged = 0;
	publish_done(&flow->published);
	entry_done(&flow->entry);
	streams_done(&flow->streams);
	prepared_done(&flow->prepared);
	masks_done(&flow->masks);
	list_done(&flow->mask_paths);
	list_done(&flow->caches);
	list_done(&flow->writable);
	for (size_t i = 0; i < ELEMENTS(outputs); i++) {
		free(outputs[i]->data);
		*outputs[i] = (struct output){0};
	}
	result->truncated = false;
}

static int attempt(struct flow *flow, struct error **ret_error)
{
	const struct way *way = &ways[flow->request->mode];
	struct outcome outcome = {0};
	struct sandbox sandbox;
	int r;

	if ((r = flow_begin_grants(flow, ret_error)) < 0 ||
	    (r = flow_open_container(flow, ret_error)) < 0 ||
	    (r = way->prepare(flow->request,
			      flow_has_own_root(flow) ? &flow->environment
						      : &flow->verdict.permissions.environment,
			      flow->rootfs, &flow->prepared, ret_error)) < 0 ||
	    (r = start(flow, &sandbox, ret_error)) < 0 || (r = run(flow, &outcome, ret_error)) < 0)
		return r;
	flow_end_grants(flow);
	terminal_restore(&flow->streams);
	flow_warn_limits(flow);
	flow_conclude(flow, &outcome);
	return 0;
}

static int again(struct flow *flow, struct error **ret_error)
{
	const struct way *way = &ways[flow->request->mode];
	bool out;
	int r;

	forget_attempt(flow);
	if ((r = flow_judge(flow, ret_error)) < 0)
		return r;
	flow->result->source = "person";
	out = flow->verdict.level == LEVEL_NONE;
	if ((r = out ? identity_return(ret_error) : identity_prepare(ret_error)) < 0 ||
	    (r = streams_open(flow->request, way->streams, &flow->streams, ret_error)) < 0)
		return r;
	r = flow_record(flow, "run.retry",
			event_retry((unsigned)flow->result->attempt_count + 1, flow->verdict.level,
				    &flow->granted),
			ret_error);
	return r < 0 ? r : attempt(flow, ret_error);
}

/* Where the session of whoever the command runs as is kept; made by that user, when we are that
 * user. */
void flow_find_state(struct flow *flow)
{
	const char *home = flow->identity.home;
	struct stat st;

	if (!flow->identity.changes)
		flow->own_state = strdup(flow->state);
	else if (home && home[0] == '/' && stat(home, &st) == 0 && st.st_uid == flow->identity.uid)
		flow->own_state = path_resolve(home, NULL, ".local/state/ward");
	else if (asprintf(&flow->own_state, "/var/tmp/ward-%u", flow->identity.uid) <
		 0) /* an account without a home */
		abort();
	flow->company = path_resolve(flow->own_state, NULL, "company");
	if (asprintf(&flow->quarantine, "%s/quarantine/%s", flow->own_state,
		     flow->result ? flow->result->run : "") < 0)
		abort();
}

/* Everything before anything is decided. */
static int open_everything(struct flow *flow, struct error **ret_error)
{
	const struct request *request = flow->request;
	bool sandboxed;
	int r;

	if ((r = check(request, ret_error)) < 0 ||
	    (r = identity_choose(request->workspace, &flow->identity, ret_error)) < 0 ||
	    (r = flow_check_place(flow, ret_error)) < 0 || (r = begin_early(flow, ret_error)) < 0 ||
	    (r = state_directory(&flow->state, ret_error)) < 0 ||
	    (r = state_directory_make(flow->state, ret_error)) < 0 ||
	    (r = audit_open(flow->state, &flow->audit, ret_error)) < 0 ||
	    (r = flow_load_policy(request, flow->state, &flow->policy, ret_error)) < 0 ||
	    (r = flow_take_token(flow, ret_error)) < 0 ||
	    (r = streams_open(request, ways[request->mode].streams, &flow->streams, ret_error)) < 0)
		return r;
	flow_find_state(flow);
	if ((r = flow_find_mode(flow, ret_error)) < 0)
		return r;
	sandboxed = request->level != LEVEL_NONE || request->foreign || flow->safety.mode.safe;
	flow_open_queue(flow);
	flow_start_listeners(flow);
	flow_keep_key(flow);
	flow_start_deliverer(flow);
	flow_make_group(flow, sandboxed);
	if (sandboxed &&
	    ((r = identity_become(&flow->identity, geteuid() == 0 && flow_is_attended(flow),
				  ret_error)) < 0))
		return r;
	if (flow->entry.control < 0 && !flow_is_resumed(flow) &&
	    (r = begin(flow, request->foreign ? LEVEL_RESTRICTED : request->level,
		       request->foreign ? NETWORK_NONE : request->network, ret_error)) < 0)
		return r;
	if (sandboxed && (r = session_open(flow->own_state, request->session, request->agent,
					   &flow->session, ret_error)) < 0)
		return r;
	return flow_enter_mode(flow, sandboxed, ret_error);
}

/* What the policy refuses, and the way on: where it is refused only because nobody may be asked,
 * what would spare the question. */
static int refuse(struct flow *flow, struct error **ret_error)
{
	const struct verdict *verdict = &flow->verdict;
	bool unasked = verdict->approval == APPROVAL_NEVER && !flow->request->token &&
		       !verdict->incident && strcmp(verdict->source, "default") == 0;
	_cleanup_free_ char *rule = unasked ? flow_rule_hint(flow) : NULL;

	fail(ret_error, E_REJECTED, "refused: %s", verdict->reason);
	if (unasked && list_has(&verdict->wanted, "unsandboxed"))
		return error_hint(ret_error,
				  "the approval policy is never, so nobody is asked: if it is "
				  "meant, say so yourself: --level none");
	if (unasked)
		return error_hint(ret_error,
				  "the approval policy is never, so nobody is asked: permit it by "
				  "a rule in ~/.config/ward/ward.yaml: {%s, do: allow}",
				  rule);
	if (verdict->rule)
		return error_hint(ret_error,
				  "that is the rule at %s; if it is meant, a person changes the "
				  "rule, or runs it without ward",
				  verdict->rule);
	return error_hint(ret_error, "if it is meant, a person runs it without ward");
}

static int carry_out(struct flow *flow, struct error **ret_error)
{
	_cleanup_list_ struct list notices = {0};
	int r;

	run_block_signals(&flow->before);
	input_mark(&flow->input);
	if ((r = open_everything(flow, ret_error)) < 0 || (r = flow_look(flow, ret_error)) < 0)
		return r;
	if ((r = flow_ask_before(flow, ret_error)) < 0)
		return r;
	if (flow->verdict.kind == VERDICT_DENY) {
		(void)flow_record_start(flow, ret_error);
		flow_weigh_verdict(flow);
		return refuse(flow, ret_error);
	}
	if (flow->verdict.level == LEVEL_NONE) {
		flow_say(flow, "running without the sandbox (%s)",
			 flow->request->level == LEVEL_NONE && !flow->request->foreign
				 ? "--level none"
				 : flow->result->source);
		if ((r = identity_return(ret_error)) < 0)
			return r;
	}
	flow_notice_policy(flow);
	flow_notice_profile(flow);
	flow_notice_environment(flow);
	r = attempt(flow, ret_error);
	while (r == 0 && (r = flow_escalate(flow, ret_error)) == 1)
		r = again(flow, ret_error);
	if (r < 0)
		return r;
	explain_denials(flow->request, &flow->verdict.permissions.never, &flow->unsaid,
			flow->result, &flow->result->attempts[flow->result->attempt_count - 1],
			&notices);
	for (size_t i = 0; i < notices.count; i++)
		flow_say(flow, "%s", notices.items[i]);
	if (flow->session.fresh) {
		session_sweep(flow->own_state); /* a new one begins: others may have ended */
		cache_sweep_at_times(flow->own_state);
	}
	return 0;
}

void flow_run(const struct request *request, const struct audience *audience,
	      struct result *ret_result)
{
	struct flow flow;
	struct error *error = NULL;
	char run_id[ID_TEXT];

	flow_init(&flow, request, ret_result);
	flow.audience = audience;
	if (audience && audience->approver)
		flow.approver = audience->approver;
	id_make(run_id);
	ret_result->run = strdup(run_id);
	if (carry_out(&flow, &error) == 0)
		flow_end_trust(&flow);
	else {
		error_free(ret_result->error);
		ret_result->error = STEAL(error);
	}
	flow_end_monitor(&flow);
	flow_record_end(&flow);
	flow_done(&flow);
}
