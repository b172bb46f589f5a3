/* SPDX-License-Identifier: Apache-2.0 */
/* The flow, one direction: request -> plan -> assessment -> verdict -> sandbox -> run -> observed
 * -> result -> record. Each stage takes the value that the one before made; only this file knows
 * all of them. */
#include "flow.h"
#include "assess/assess.h"
#include "base/buffer.h"
#include "base/escape.h"
#include "base/id.h"
#include "base/path.h"
#include "base/units.h"
#include "decide/decide.h"
#include "escalate/hint.h"
#include "observe/observe.h"
#include "parse/plan.h"
#include "record/audit.h"
#include "record/session.h"
#include "record/state.h"
#include "run/mode.h"
#include "run/run.h"
#include "sandbox/find.h"
#include "sandbox/identity.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Enough for any build, and an end for a fork bomb. */
enum { PROCESSES = 8192, NOTICES = 5, SEARCHES = 5, RECORDED = 64 * 1024 };

extern char **environ;

/* Everything one request owns on its way. */
struct flow {
	const struct request *request;
	struct result *result;
	struct list *notices;
	struct arena *arena;
	char *state, *own_state; /* ward's, and that of whoever the command runs as */
	struct audit *audit;
	struct identity identity;
	struct plan plan;
	struct assessment assessment;
	struct verdict verdict;
	struct session session;
	struct prepared prepared;
	struct streams streams;
	struct dispositions before; /* how signals were when we were called */
	struct masks masks;
	struct list mask_paths, writable; /* writable as seen inside, /tmp included */
	struct entry entry;
	struct observer *observer;
	bool begun; /* its start is on record */
};

/* 1. What is not built is refused, not ignored. */
static int check(const struct request *request, struct error **ret_error)
{
	const struct limits *limits = &request->limits;

	if (request->level == LEVEL_CONTAINER) {
		fail(ret_error, E_USAGE, "level container is not built into this version");
		return error_hint(ret_error, "use --level restricted");
	}
	if (request->network == NETWORK_RESTRICTED) {
		fail(ret_error, E_USAGE, "a restricted network is not built into this version");
		return error_hint(ret_error, "use --net none or --net full");
	}
	if (limits->millicpus || limits->cpu_ns || limits->disk || limits->idle_ns) {
		fail(ret_error, E_USAGE,
		     "this version can limit memory, processes, time and output only");
		return error_hint(ret_error, "use --memory, --processes, --timeout and --output");
	}
	if (request->level == LEVEL_NONE && (limits->memory || limits->processes)) {
		fail(ret_error, E_USAGE,
		     "memory and processes cannot be limited without the sandbox");
		return error_hint(ret_error, "leave out --level none");
	}
	return 0;
}

static void decided(struct flow *flow, const char *stage, const char *verdict, const char *source)
{
	char now[TIME_TEXT];

	time_text(now);
	result_add_decision(flow->result, stage, verdict, source)->time = strdup(now);
}

/* 2. The sandbox is begun at once: what every command needs takes longest. */
static int begin(struct flow *flow, struct error **ret_error)
{
	const struct ground ground = {
		.level = flow->request->level,
		.network = flow->request->network,
		.uid = flow->identity.uid,
		.gid = flow->identity.gid,
	};

	entry_done(&flow->entry);
	return sandbox_begin(&ground, &flow->entry, ret_error);
}

/* 3. Parse, assess, decide, while init builds. */
static int judge(struct flow *flow, struct error **ret_error)
{
	struct surroundings surroundings = {
		.home = flow->identity.home,
		.account_home = flow->identity.account_home,
		.user = flow->identity.name,
		.other_user = flow->identity.changes,
		.state = flow->state,
		.environment = environ,
	};
	int r;

	parse_request(flow->arena, flow->request, &flow->plan);
	assess_plan(flow->arena, &flow->plan, &flow->assessment);
	r = decide(flow->request, &flow->assessment, &surroundings, &flow->verdict, ret_error);
	if (r < 0)
		return r;
	flow->result->verdict = verdict_name(flow->verdict.kind);
	flow->result->source = flow->verdict.source;
	decided(flow, "assess", class_name(flow->assessment.class), "default");
	decided(flow, "decide", flow->result->verdict, flow->result->source);
	return 0;
}

/* 4. On record before it takes effect. */
static json_t *text_value(const char *text)
{
	_cleanup_free_ char *utf8 = NULL;
	bool lossy;

	if (!text)
		return json_null();
	utf8 = escape_to_utf8(text, strlen(text), &lossy);
	return json_string(utf8);
}

/* A command line may be two megabytes long; what is cut from the record is said there. */
static json_t *cut_text(const char *text, size_t *room)
{
	_cleanup_free_ char *cut = NULL;
	size_t length = strlen(text);

	if (length <= *room) {
		*room -= length;
		return text_value(text);
	}
	if (asprintf(&cut, "%.*s[... %zu more bytes]", (int)*room, text, length - *room) < 0)
		abort();
	*room = 0;
	return text_value(cut);
}

static int record_start(struct flow *flow, struct error **ret_error)
{
	const struct request *request = flow->request;
	_cleanup_free_ char *command = request_command_text(request);
	json_t *body = json_object(), *argv = json_array(), *decisions = json_array();
	size_t command_room = RECORDED, argv_room = RECORDED;
	int r;

	for (size_t i = 0; i < flow->prepared.argv.count && argv_room > 0; i++)
		json_array_append_new(argv, cut_text(flow->prepared.argv.items[i], &argv_room));
	for (size_t i = 0; i < flow->result->decision_count; i++) {
		const struct decision *decision = &flow->result->decisions[i];

		json_array_append_new(
			decisions, json_pack("{s:s, s:s, s:s}", "stage", decision->stage, "verdict",
					     decision->verdict, "source", decision->source));
	}
	json_object_set_new(body, "command", cut_text(command, &command_room));
	json_object_set_new(body, "argv", argv);
	json_object_set_new(body, "cwd", text_value(request->cwd));
	json_object_set_new(body, "workspace", text_value(request->workspace));
	json_object_set_new(body, "level", json_string(level_name(request->level)));
	json_object_set_new(body, "agent", text_value(request->agent));
	json_object_set_new(body, "session", text_value(flow->session.id));
	json_object_set_new(body, "tool", text_value(request->tool));
	json_object_set_new(body, "call_id", text_value(request->call_id));
	json_object_set_new(body, "turn", text_value(request->turn));
	json_object_set_new(body, "reason", text_value(request->reason));
	json_object_set_new(body, "verdict", json_string(flow->result->verdict));
	json_object_set_new(body, "source", json_string(flow->result->source));
	json_object_set_new(body, "decisions", decisions);
	r = audit_append(flow->audit, "run.start", flow->result->run, body, ret_error);
	json_decref(body);
	flow->begun = r == 0;
	return r;
}

static void record_end(struct flow *flow)
{
	struct error *error = NULL;
	json_t *body;

	if (!flow->begun)
		return;
	body = json_pack("{s:o}", "result", result_summary_to_json(flow->result));
	if (audit_append(flow->audit, "run.end", flow->result->run, body, &error) < 0) {
		list_add_printf(&flow->result->warnings,
				"the end of the run could not be recorded: %s", error->message);
		if (!flow->result->error)
			flow->result->error = STEAL(error);
	}
	error_free(error);
	json_decref(body);
}

/* 5. The rest of the sandbox: what must be masked is looked for, the run recorded, init told. */
static int start(struct flow *flow, struct sandbox *sandbox, struct error **ret_error)
{
	const struct permissions *permissions = &flow->verdict.permissions;
	const struct request *request = flow->request;
	const struct search search = {
		.workspace = request->workspace,
		.writable = &permissions->writable,
		.names = &permissions->deny_names,
		.not_names = &permissions->not_deny_names,
		.deny = &permissions->deny,
		.deny_always = &permissions->deny_always,
		.except = &permissions->except,
	};
	int r;

	*sandbox = (struct sandbox){
		.cwd = request->cwd,
		.writable = &permissions->writable,
		.tmp = flow->session.tmp,
		.argv = flow->prepared.argv.items,
		.environment = flow->prepared.environment.items,
		.candidates = &flow->prepared.candidates,
		.terminal = flow->streams.terminal >= 0,
		.foreground = flow->streams.all_terminal && terminal_is_ours(&flow->streams),
		.signal_mask = flow->before.mask,
		.ignores_pipe = flow->before.ignores_pipe,
		.ignores_child = flow->before.ignores_child,
		.time_ns = request->limits.time_ns,
		.processes = PROCESSES,
	};
	memcpy(sandbox->stdio, flow->streams.stdio, sizeof(sandbox->stdio));
	if (sandbox->terminal)
		terminal_describe(&flow->streams, &sandbox->modes, &sandbox->window);
	for (int round = 0; round < SEARCHES; round++) {
		masks_done(&flow->masks);
		error_free(*ret_error);
		*ret_error = NULL;
		r = round == 0 ? 0 : begin(flow, ret_error);
		if (r == 0 && flow->verdict.level != LEVEL_NONE)
			r = find_masks(&search, &flow->masks, ret_error);
		if (r == 0 && !flow->begun)
			r = record_start(flow, ret_error);
		if (r == 0)
			r = sandbox_release(sandbox, &flow->entry, &flow->masks, ret_error);
		if (r == 0 || !*ret_error || (*ret_error)->errnum != ESTALE)
			break; /* else a second run on this workspace moved something while we
				  looked */
	}
	if (r == 0 && flow->verdict.level != LEVEL_NONE)
		r = identity_give_up(ret_error);
	for (size_t i = 0; i < flow->masks.count; i++)
		list_add(&flow->mask_paths, flow->masks.items[i].path);
	return r;
}

/* 6. The supervisor sees what the command tries, the loop serves what it reads and writes. */
static void serve_observer(void *data)
{
	observer_serve(data);
}

static int run(struct flow *flow, struct outcome *outcome, struct error **ret_error)
{
	const struct observed observed = {
		.listener = flow->entry.listener,
		.names = flow->entry.names,
		.root = flow->entry.root,
		.uid = flow->identity.uid,
		.own_network = flow->entry.walls & WALL_BIT(WALL_NET_NAMESPACE),
		.writable = &flow->writable,
		.masks = &flow->mask_paths,
		.sockets = &flow->verdict.permissions.sockets,
	};
	struct attendant attendant = {.fd = -1, .serve = serve_observer};
	int r = 0;

	for (size_t i = 0; i < flow->verdict.permissions.writable.count; i++)
		list_add(&flow->writable, flow->verdict.permissions.writable.items[i]);
	if (flow->entry.walls & WALL_BIT(WALL_TMP))
		list_add(&flow->writable, "/tmp");
	if (flow->entry.listener >= 0) {
		r = observer_new(&observed, &flow->observer, ret_error);
		if (r == 0)
			attendant = (struct attendant){observer_fd(flow->observer), serve_observer,
						       flow->observer};
	}
	if (r == 0)
		r = run_serve(&flow->entry, &flow->streams, &flow->request->limits, &attendant,
			      outcome, ret_error);
	return r;
}

/* 7. What became of it. */
static int explain_exec(const struct flow *flow, int errnum, struct error **ret_error)
{
	const char *program = flow->prepared.argv.items[0];

	if (errnum == ENOENT) {
		fail(ret_error, E_NOT_FOUND, "%s: not found", program);
		return strchr(program, '/')
			       ? -E_NOT_FOUND
			       : error_hint(ret_error,
					    "it is in no directory of PATH; shell text goes "
					    "with -c");
	}
	fail_errno(ret_error, E_NOT_EXECUTABLE, errnum, "%s cannot be executed", program);
	return error_hint(ret_error, "it must be a program, with the execute permission set");
}

static bool is_wards(const struct denial *denial)
{
	return !strstr(denial->rule, "permissions");
}

/* A command that failed after something was refused to it most likely failed because of it; which
 * and how to permit it is known exactly, whatever it printed. */
static void explain_denials(struct flow *flow, const struct attempt *attempt)
{
	_cleanup_buffer_ struct buffer what = {0}, flag = {0};
	const char *workspace = flow->request->workspace;
	bool failed = flow->result->exit_code != 0 || flow->result->signal;
	size_t shown = 0, beyond = 0;

	for (size_t i = 0; i < attempt->denial_count; i++) {
		const struct denial *denial = &attempt->denials[i];

		if (!is_wards(denial))
			continue;
		if (shown++ >= NOTICES) {
			beyond++;
			continue;
		}
		buffer_done(&what);
		buffer_done(&flag);
		hint_describe(denial, &what);
		if (hint_flag(denial, workspace, &flag))
			list_add_printf(flow->notices, "refused: %s; to allow: %s",
					buffer_text(&what), buffer_text(&flag));
		else
			list_add_printf(flow->notices, "refused: %s", buffer_text(&what));
		if (failed && !flow->result->error) {
			fail(&flow->result->error, E_SANDBOX, "the sandbox refused: %s",
			     buffer_text(&what));
			if (flag.length)
				error_hint(&flow->result->error, "to allow it: %s",
					   buffer_text(&flag));
		}
	}
	if (beyond)
		list_add_printf(flow->notices, "and %zu more; ward show %s", beyond,
				flow->result->run);
	/* Reads are not watched, so whether a mask was met is not known; a command that failed by
	 * itself may have met one. */
	for (size_t i = 0; failed && flow->result->exit_code < 128 && i < flow->mask_paths.count;
	     i++) {
		if (!path_is_under(flow->mask_paths.items[i], workspace))
			continue;
		buffer_done(&what);
		escape_for_terminal(&what, flow->mask_paths.items[i] + strlen(workspace) + 1,
				    strlen(flow->mask_paths.items[i]) - strlen(workspace) - 1);
		list_add_printf(flow->notices, "%s is masked; to allow: --read %s",
				buffer_text(&what), buffer_text(&what));
		break;
	}
}

static void conclude(struct flow *flow, const struct outcome *outcome)
{
	struct result *result = flow->result;
	struct attempt *attempt = result_add_attempt(result);
	double seconds = (double)flow->request->limits.time_ns / 1e9;
	uint64_t beyond = 0, unread = 0;

	attempt->level = flow->verdict.level;
	wall_names(flow->entry.walls, &attempt->walls);
	for (size_t i = 0; i < flow->mask_paths.count; i++)
		list_add(&attempt->masks, flow->mask_paths.items[i]);
	if (flow->observer) {
		observer_take_denials(flow->observer, attempt);
		observer_unlisted(flow->observer, &beyond, &unread);
	}
	if (unread)
		list_add_printf(&result->warnings,
				"%llu calls could not be looked at: their program keeps its memory "
				"from being read",
				(unsigned long long)unread);
	if (flow->verdict.level != LEVEL_NONE)
		identity_kept_groups(&result->warnings);
	if (beyond)
		list_add_printf(&result->warnings, "%llu further refusals are not listed",
				(unsigned long long)beyond);
	if (outcome->exec_error) {
		attempt->exit_code = -1;
		explain_exec(flow, outcome->exec_error, &result->error);
		return;
	}
	result->exit_code = WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : -1;
	result->signal = WIFSIGNALED(outcome->status) ? WTERMSIG(outcome->status) : 0;
	if (result->signal)
		result->exit_code = 128 + result->signal;
	attempt->exit_code = result->exit_code;
	result->timed_out = outcome->timed_out;
	result->limit = outcome->limit;
	result->duration_ms = outcome->duration_ms;
	result->cpu_ms = outcome->cpu_ms;
	result->max_rss_kb = outcome->max_rss_kb;
	result->io_read_kb = outcome->io_read / 1024;
	result->io_write_kb = outcome->io_write / 1024;
	result->processes = MAX(outcome->tasks, (uint64_t)1);
	result->truncated = capture_take(&flow->streams.captured[0], &result->stdout_);
	result->truncated |= capture_take(&flow->streams.captured[1], &result->stderr_);
	result->truncated |= capture_take(&flow->streams.aggregated, &result->aggregated);
	for (int i = 0; i < 2; i++)
		/* A reader that went away and a stream that was never open are the caller's wish.
		 */
		if (flow->streams.output[i] && flow->streams.output[i]->error &&
		    flow->streams.output[i]->error != EPIPE &&
		    flow->streams.output[i]->error != EBADF)
			fail_errno(&result->error, E_ENGINE, flow->streams.output[i]->error,
				   "writing the command's %s", i ? "errors" : "output");
	if (outcome->limit != LIMIT_NONE && !outcome->timed_out)
		list_add_printf(flow->notices, "ended: it went past its limit of %s",
				limit_name(outcome->limit));
	if (outcome->timed_out)
		fail(&result->error, E_TIMEOUT, "timed out after %g s", seconds);
	explain_denials(flow, attempt);
}

static void notice_environment(struct flow *flow)
{
	const struct list *dropped = &flow->verdict.permissions.dropped;
	_cleanup_buffer_ struct buffer names = {0};

	if (dropped->count == 0 || !flow->session.fresh)
		return; /* said once per session */
	for (size_t i = 0; i < dropped->count; i++) {
		buffer_add_text(&names, i ? ", " : "");
		escape_for_terminal(&names, dropped->items[i], strlen(dropped->items[i]));
	}
	list_add_printf(flow->notices,
			"not passed on, they look secret: %s; to pass one on: --keep-env NAME",
			buffer_text(&names));
}

/* Where the session of whoever the command runs as is kept; made by that user, when we are that
 * user. */
static void own_state_directory(struct flow *flow)
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
}

static int carry_out(struct flow *flow, struct error **ret_error)
{
	const struct request *request = flow->request;
	const struct way *way = &ways[request->mode];
	struct outcome outcome = {0};
	struct sandbox sandbox;
	int r;

	run_block_signals(&flow->before);
	if ((r = check(request, ret_error)) < 0 ||
	    (r = identity_choose(request->workspace, &flow->identity, ret_error)) < 0 ||
	    (r = state_directory(&flow->state, ret_error)) < 0 ||
	    (r = state_directory_make(flow->state, ret_error)) < 0 ||
	    (r = audit_open(flow->state, &flow->audit, ret_error)) < 0 ||
	    (r = streams_open(request, way->streams, &flow->streams, ret_error)) < 0)
		return r;
	own_state_directory(flow);
	if (request->level == LEVEL_NONE)
		list_add(flow->notices, "running without the sandbox (--level none)");
	else if ((r = identity_become(&flow->identity, ret_error)) < 0)
		return r;
	if ((r = begin(flow, ret_error)) < 0 || (r = judge(flow, ret_error)) < 0)
		return r;
	if (flow->verdict.kind == VERDICT_DENY) {
		record_start(flow, ret_error);
		fail(ret_error, E_REJECTED, "refused: %s", flow->verdict.reason);
		return error_hint(ret_error, "if it is meant, a person runs it without ward");
	}
	if ((r = way->prepare(request, &flow->verdict.permissions.environment, &flow->prepared,
			      ret_error)) < 0 ||
	    (request->level != LEVEL_NONE &&
	     (r = session_open(flow->own_state, request->session, &flow->session, ret_error)) < 0))
		return r;
	notice_environment(flow);
	if ((r = start(flow, &sandbox, ret_error)) < 0 || (r = run(flow, &outcome, ret_error)) < 0)
		return r;
	conclude(flow, &outcome);
	if (flow->session.fresh)
		session_sweep(flow->own_state); /* a new one begins: others may have ended */
	return 0;
}

void flow_run(const struct request *request, struct result *ret_result, struct list *notices)
{
	struct flow flow = {
		.request = request, .result = ret_result, .notices = notices, .arena = arena_new()};
	struct error *error = NULL;
	char run_id[ID_TEXT];

	id_make(run_id);
	ret_result->run = strdup(run_id);
	flow.entry = ENTRY_NONE;
	flow.streams.terminal = -1;
	flow.streams.input_file = -1;
	memset(flow.streams.close_after_start, -1, sizeof(flow.streams.close_after_start));
	if (carry_out(&flow, &error) < 0)
		ret_result->error = STEAL(error);
	record_end(&flow);

	observer_free(flow.observer);
	entry_done(&flow.entry);
	streams_done(&flow.streams);
	prepared_done(&flow.prepared);
	session_done(&flow.session);
	verdict_done(&flow.verdict);
	identity_done(&flow.identity);
	audit_close(flow.audit);
	masks_done(&flow.masks);
	list_done(&flow.mask_paths);
	list_done(&flow.writable);
	free(flow.state);
	free(flow.own_state);
	arena_free(flow.arena);
}
