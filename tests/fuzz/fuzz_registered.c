/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what was registered for a session: whoever runs a command in it gets a policy or a
 * refusal that names the file, and what is read is what was written. Behind a NUL, any bytes as the
 * text of a policy that somebody registers. */
#include "../../src/decide/policy.h"
#include "../../src/record/session_policy.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 1: it is there and counts; 0: there is none; else it is refused. */
static int load(struct session_asks *ret_asks)
{
	_cleanup_free_ char *path = session_policy_path(place, "s");
	const struct policy_places places = {.workspace = "/nowhere",
					     .home = "/nowhere",
					     .state = place,
					     .session = path,
					     .uid = geteuid(),
					     .brief = true};
	_cleanup_error_ struct error *error = NULL;
	struct policy *policy = NULL;
	int r = policy_load(&places, &policy, &error);

	if (r < 0) {
		if (!error || !error->message || !error->hint)
			abort();
		return r;
	}
	*ret_asks = policy->asks;
	r = policy->asks.registered;
	policy_free(policy);
	return r;
}

static void check(void)
{
	_cleanup_free_ char *path = session_policy_path(place, "s");
	bool queued = session_policy_is_queued(place, "s"), there = access(path, F_OK) == 0;
	uint64_t timeout = session_policy_timeout(place, "s");
	json_t *object = session_policy_read(place, "s");
	struct session_asks asks;
	int r = load(&asks);

	/* What lies there is never passed by. */
	if (r == 0 && there)
		abort();
	if (r > 0 &&
	    (!json_is_object(object) || asks.queued != queued || asks.timeout_ns != timeout ||
	     (asks.timeout_ns && asks.timeout_ns < 1000000000)))
		abort();
	json_decref(object);
}

static void check_registered(const char *text)
{
	const struct session_policy policy = {
		.text = text, .queued = true, .timeout_ns = 5000000000, .by = "anna"};
	struct session_asks asks;
	int r;

	if (session_policy_write(place, "s", &policy, NULL) < 0)
		abort();
	r = load(&asks);
	if (r == 0 ||
	    (r > 0 && (!asks.queued || asks.allows || asks.timeout_ns != policy.timeout_ns)))
		abort();
	if (session_policy_remove(place, "s", NULL) < 0 || load(&asks) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("sessions/s");
	put_file("sessions/.registered", "", 0);
	put_part("sessions/s/policy.json", &data, &size);
	check();
	text = strndup((const char *)data, size);
	check_registered(text);
	return 0;
}
