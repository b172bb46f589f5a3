/* SPDX-License-Identifier: Apache-2.0 */
#include "session_policy.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../request/text_json.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define NAME "policy.json"
#define MARKER                                                                             \
	".registered" /* in STATE/sessions: so that one look is enough where there is none \
		       */

enum { FILE_MOST = 1 << 20 }; /* as of any policy */

static char *joined(const char *state, const char *session, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/sessions/%s%s%s", state, session, name ? "/" : "",
		     name ? name : "") < 0)
		abort();
	return path;
}

bool session_policy_is_used(const char *state)
{
	_cleanup_free_ char *marker = joined(state, MARKER, NULL);

	return access(marker, F_OK) == 0;
}

char *session_policy_path(const char *state, const char *session)
{
	return session_is_name(session) ? joined(state, session, NAME) : NULL;
}

static json_t *object_of(const char *session, const struct session_policy *policy)
{
	json_t *object = json_object();
	char now[TIME_TEXT];

	time_text(now);
	json_put_text(object, "session", session);
	json_put_text(object, "policy", policy->text);
	json_put(object, "trusted", json_boolean(policy->trusted));
	json_put_text(object, "asks", policy->queued ? "queued" : "sync");
	json_put_text(object, "default", policy->allows ? "allow" : "deny");
	json_put_count(object, "timeout", policy->timeout_ns / 1000000000);
	json_put_text(object, "by", policy->by);
	json_put_text(object, "time", now);
	return object;
}

static int write_object(int directory, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	_cleanup_close_ int fd =
		openat(directory, NAME ".new",
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : text ? 0 : -ENOMEM;

	if (r == 0 && strlen(text) > FILE_MOST)
		r = -EFBIG;
	if (r == 0)
		r = write_all(fd, text, strlen(text));
	if (r == 0 && (fsync(fd) < 0 || renameat(directory, NAME ".new", directory, NAME) < 0 ||
		       fsync(directory) < 0))
		r = -errno;
	return r;
}

int session_policy_write(const char *state, const char *session,
			 const struct session_policy *policy, struct error **ret_error)
{
	_cleanup_free_ char *path = joined(state, session, NULL),
			    *marker = joined(state, MARKER, NULL);
	_cleanup_close_ int directory = -1, mark = -1;
	json_t *object;
	int r = session_is_name(session) ? make_directories(path, 0700) : -EINVAL;

	if (r == 0 && (directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = -errno;
	if (r == 0 && (mark = open(marker, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0) {
		object = object_of(session, policy);
		r = write_object(directory, object);
		json_decref(object);
	}
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "registering a policy for %s", session)
		     : 0;
}

int session_policy_remove(const char *state, const char *session, struct error **ret_error)
{
	_cleanup_free_ char *path = joined(state, session, NAME);

	if (session_is_name(session) && (unlink(path) == 0 || errno == ENOENT))
		return 0;
	return fail_errno(ret_error, E_ENGINE, errno, "forgetting the policy of %s", session);
}

json_t *session_policy_read(const char *state, const char *session)
{
	_cleanup_free_ char *path = session_policy_path(state, session), *text = NULL;
	size_t length;

	if (!path || read_file(AT_FDCWD, path, FILE_MOST, &text, &length) < 0)
		return NULL;
	return json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
}

bool session_policy_is_queued(const char *state, const char *session)
{
	json_t *object = session_policy_is_used(state) ? session_policy_read(state, session) : NULL;
	const char *asks = json_string_value(json_object_get(object, "asks"));
	bool queued = asks && strcmp(asks, "queued") == 0;

	json_decref(object);
	return queued;
}

uint64_t session_policy_timeout(const char *state, const char *session)
{
	json_t *object = session_policy_is_used(state) ? session_policy_read(state, session) : NULL;
	json_int_t seconds = json_integer_value(json_object_get(object, "timeout"));

	json_decref(object);
	return seconds > 0 ? (uint64_t)MIN(seconds, INT64_MAX / 1000000000) * 1000000000 : 0;
}
