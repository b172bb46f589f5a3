/* SPDX-License-Identifier: Apache-2.0 */
/* 6. What became of the command: its end, its output and what was refused to it, in the result. */
#include "flow_state.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The file that was to be executed, where it is there for ward; NULL. */
static const char *find_program(const struct flow *flow)
{
	_cleanup_close_ int cwd = open(flow->request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct list *candidates = &flow->prepared.candidates;
	struct stat st;

	for (size_t i = 0; cwd >= 0 && i < candidates->count && !flow_has_own_root(flow); i++)
		if (faccessat(cwd, candidates->items[i], X_OK, AT_EACCESS) == 0 &&
		    fstatat(cwd, candidates->items[i], &st, 0) == 0 && S_ISREG(st.st_mode))
			return candidates->items[i];
	return NULL;
}

static const char *path_inside(const struct flow *flow)
{
	const struct list *variables = &flow->prepared.environment;

	for (size_t i = 0; i < variables->count; i++)
		if (strncmp(variables->items[i], "PATH=", 5) == 0)
			return variables->items[i] + 5;
	return default_path;
}

static int explain_exec(const struct flow *flow, int errnum, struct error **ret_error)
{
	const char *program = flow->prepared.argv.items[0],
		   *there = errnum == ENOENT ? find_program(flow) : NULL;
	bool tmp = flow->entry.walls & WALL_BIT(WALL_TMP);

	if (there && tmp && path_is_under(there, "/tmp")) {
		fail(ret_error, E_NOT_FOUND, "%s: not found: the sandbox has a /tmp of its own",
		     there);
		return error_hint(ret_error, "move it to the workspace, or show it: --read %s",
				  there);
	}
	if (there && strncmp(there, "/run/", 5) != 0) {
		fail(ret_error, E_NOT_FOUND, "%s: what it is to be run by was not found", there);
		return error_hint(ret_error, "a script names its interpreter in its first line, a "
					     "program its loader (`file` shows it)");
	}
	if (errnum == ENOENT) {
		fail(ret_error, E_NOT_FOUND, "%s: not found", program);
		if (!strchr(program, '/') && flow_has_own_root(flow))
			return error_hint(ret_error,
					  "it is in no directory of the PATH inside: %.400s",
					  path_inside(flow));
		return strchr(program, '/')
			       ? -E_NOT_FOUND
			       : error_hint(ret_error,
					    "it is in no directory of PATH; shell text goes "
					    "with -c");
	}
	fail_errno(ret_error, E_NOT_EXECUTABLE, errnum, "%s cannot be executed", program);
	return error_hint(ret_error, "it must be a program, with the execute permission set");
}

void flow_conclude(struct flow *flow, const struct outcome *outcome)
{
	struct result *result = flow->result;
	struct attempt *attempt = result_add_attempt(result);
	double seconds = (double)flow->verdict.limits.time_ns / 1e9;
	uint64_t beyond = 0, unread = 0;

	attempt->level = flow->verdict.level;
	attempt->traced = flow->traced;
	wall_names(flow->entry.walls, &attempt->walls);
	for (size_t i = 0; i < flow->mask_paths.count; i++)
		list_add(&attempt->masks, flow->mask_paths.items[i]);
	if (flow->observer) {
		observer_take_denials(flow->observer, attempt);
		flow_mark_violations(flow, attempt);
		observer_unlisted(flow->observer, &beyond, &unread);
		observer_warn(flow->observer, &result->warnings);
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
	if (outcome->unmade) {
		attempt->exit_code = -1;
		fail(&result->error, E_ENGINE, "%s could not make the container", flow->runtime);
		error_hint(&result->error, "what it said stands in the command's errors; "
					   "runtime=crun is the default");
		result->truncated = capture_take(&flow->streams.captured[1], &result->stderr_);
		return;
	}
	if (outcome->exec_error) {
		attempt->exit_code = -1;
		explain_exec(flow, outcome->exec_error, &result->error);
		return;
	}
	outcome_to_result(outcome, result);
	result->told_to_end |= outcome->told_to_end;
	attempt->exit_code = result->exit_code;
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
		flow_say(flow, "ended: it went past its limit of %s", limit_name(outcome->limit));
	flow_weigh_limit(flow, outcome->limit);
	if (outcome->timed_out)
		fail(&result->error, E_TIMEOUT, "timed out after %g s", seconds);
}
