/* SPDX-License-Identifier: Apache-2.0 */
/* The token that a request comes with: taken before ward becomes whoever the command runs as, and
 * looked after as long as it runs. What is tried beyond it is a violation. */
#include "flow_state.h"
#include "base/path.h"
#include "decide/bounds.h"
#include "decide/secrets.h"
#include "request/text_json.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is to be permitted stands in the token: a caller who names more means something else. */
static int check_flags(const struct request *request, struct error **ret_error)
{
	const struct {
		bool given;
		const char *flag;
	} flags[] = {
		{request->read.count, "--read"},
		{request->write.count, "--write"},
		{request->make.count, "--make"},
		{request->sockets.count, "--allow-socket"},
		{request->allow_hosts.count, "--allow-host"},
		{request->publish.count, "--publish"},
		{request->allow_calls.count, "--allow-syscall"},
		{request->keep_environment.count, "--keep-env"},
		{request->network != NETWORK_NONE, "--net"},
		{request->level == LEVEL_NONE, "--level none"},
		{request->sandbox == PREFERENCE_FORBID, "--sandbox forbid"},
		{request->escalated, "--escalated"},
		{request->profile, "--profile"},
	};

	for (size_t i = 0; i < ELEMENTS(flags); i++)
		if (flags[i].given) {
			fail(ret_error, E_REJECTED, "%s is not for a run under a token",
			     flags[i].flag);
			return error_hint(ret_error, "such a run gets what the token permits");
		}
	return 0;
}

/* The hash of what runs; none where more than that decides what it does. */
static bool command_of(const struct request *request, char ret_hash[TOKEN_COMMAND])
{
	if (request->environment.count || request->shell || request->login)
		return false;
	token_command_hash(&request->argv, request->script, ret_hash);
	return true;
}

/* From the book's word to the bounds. A use is counted when all else is said. */
static int admit(struct flow *flow, struct error **ret_error)
{
	const struct request *request = flow->request;
	const char *home =
		flow->identity.account_home ? flow->identity.account_home : flow->identity.home;
	_cleanup_free_ char *tokens = path_resolve(flow->state, NULL, "tokens");
	char real[PATH_MAX], command[TOKEN_COMMAND];
	const struct bearer bearer = {.agent = request->agent,
				      .workspace = realpath(request->workspace, real),
				      .command = command_of(request, command) ? command : NULL};
	struct powers *powers = &flow->powers;
	unsigned unchecked = checks_switched_off();
	struct moment now;
	int r;

	if ((r = check_flags(request, ret_error)) < 0 ||
	    (r = book_open(flow->state, /* make= */ false, &flow->book, ret_error)) < 0 ||
	    /* Before it is looked whether it was revoked: see record/holders.h. */
	    (r = holder_begin(tokens, flow->result->run, &flow->token_holder, ret_error)) < 0)
		return r;
	holder_run(&flow->token_holder);
	moment_now(&now);
	if (unchecked & CHECK_BIT(CHECK_CLOCK))
		now.boot[0] = '\0';
	if ((r = book_verify(flow->book, request->token, &now, powers, ret_error)) < 0 ||
	    (!(unchecked & CHECK_BIT(CHECK_BEARER)) &&
	     (r = token_admits(powers, &bearer, ret_error)) < 0) ||
	    (r = bounds_make(powers->allows, powers->allow_count, bearer.workspace, home,
			     &flow->bounds, ret_error)) < 0 ||
	    (!(unchecked & CHECK_BIT(CHECK_USES)) &&
	     (r = book_spend(flow->book, powers, ret_error)) < 0))
		return r;
	bounds_named(powers->allows, powers->allow_count, bearer.workspace, home, &flow->bounds,
		     &flow->named);
	if (asprintf(&flow->token, "token %s", powers->id) < 0)
		abort();
	return 0;
}

int flow_take_token(struct flow *flow, struct error **ret_error)
{
	struct error *error = NULL;
	struct decision *decision;
	json_t *body;

	if (!flow->request->token)
		return 0;
	if (admit(flow, &error) == 0) {
		decision = flow_decided(flow, "token", "allow", "token");
		decision->grant = strdup(flow->powers.id);
		return 0;
	}
	/* Whoever brings a bad token has tried something: that is on record at once. Of the token
	 * there is its name at most. */
	(void)flow_decided(flow, "token", "deny", "token");
	body = json_object();
	if (flow->powers.id[0])
		json_put_text(body, "token", flow->powers.id);
	json_put_text(body, "why", error->message);
	json_put_text(body, "violation", "token");
	flow->result->verdict = verdict_name(VERDICT_DENY);
	flow->result->source = "token";
	(void)flow_record(flow, "token.refused", body, /* ret_error= */ NULL);
	if (error->code != E_ENGINE)
		flow_weigh_token(flow, error->message);
	error->code = error->code == E_ENGINE ? E_ENGINE : E_REJECTED;
	*ret_error = error;
	return error_wrap(ret_error, "refused");
}

bool flow_token_changed(struct flow *flow)
{
	uint64_t seen;

	if (!flow->book)
		return false;
	/* What was seen when this was asked last has been acted upon by now; but what is being
	 * ended has let go when it has ended. */
	seen = book_seen(flow->book);
	if (!flow->observer || !observer_is_ending(flow->observer))
		holder_tell(&flow->token_holder, seen);
	return book_changed(flow->book);
}

bool flow_token_holds(const struct flow *flow, const char *grant, bool *ret_holds)
{
	if (!flow->token || strcmp(grant, flow->token) != 0)
		return false;
	*ret_holds = !flow->safety.voided && (checks_switched_off() & CHECK_BIT(CHECK_RECALL) ||
					      !book_is_revoked(flow->book, &flow->powers));
	return true;
}

/* What people keep secret there, and that is there: no program reads it without being told to. */
static bool is_kept_secret(const char *home, const char *object)
{
	const char *name = object + strlen(home) + 1;

	if (access(object, F_OK) < 0)
		return false;
	for (size_t i = 0; secrets_in_home[i]; i++)
		if (path_is_under(name, secrets_in_home[i]))
			return true;
	return path_is_under(name, ".ssh");
}

/* Files that programs look for in the home directory, whoever calls them. */
static bool is_looked_for(const struct flow *flow, const struct denial *denial)
{
	const char *homes[] = {flow->identity.home, flow->identity.account_home};

	for (size_t i = 0; i < ELEMENTS(homes); i++)
		if (homes[i] && strcmp(denial->operation, "read") == 0 &&
		    path_is_under(denial->object, homes[i]) &&
		    strncmp(denial->object + strlen(homes[i]), "/.", 2) == 0)
			return !is_kept_secret(homes[i], denial->object);
	return false;
}

const char *flow_token_violation(const struct flow *flow, const struct denial *denial)
{
	/* What holds something masked may be within the token all the same. */
	if (!flow->token || is_looked_for(flow, denial) ||
	    strncmp(denial->rule, "held: ", 6) == 0 ||
	    strncmp(denial->rule, "default: by-products", 20) == 0 ||
	    path_is_among(denial->object, &flow->verdict.permissions.by_products))
		return NULL;
	return "token";
}

void flow_drop_own_token(struct flow *flow)
{
	if (flow->token && !(checks_switched_off() & CHECK_BIT(CHECK_REVOKE)))
		(void)book_revoke(flow->book, flow->powers.id, /* expires= */ 0, NULL);
}

void flow_drop_token(struct flow *flow)
{
	holder_end(&flow->token_holder);
	book_close(flow->book);
	powers_done(&flow->powers);
	list_done(&flow->bounds);
	list_done(&flow->named);
	free(flow->token);
}
