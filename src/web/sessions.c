/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions as files: STATE/web/sessions/ID. When one was last seen is its file's time. */
#include "sessions.h"
#include "session_files.h"
#include "../base/escape.h"
#include "../request/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COOKIE_PURPOSE "ward web session"
#define TOKEN_PURPOSE  "ward web token"

enum {
	TOUCH_SECONDS = 60, /* that a session may look unused for */
	AHEAD_SECONDS = 60, /* that a clock may have been set back by */
	AGENT_MOST = 256,   /* bytes of the browser's word that are kept */
};

void web_session_done(struct web_session *session)
{
	free(session->name);
	free(session->agent);
	*session = (struct web_session){0};
}

char *web_default_name(void)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *user = NULL;
	char *name = NULL;

	while (users && (user = fgetpwent(users)) && user->pw_uid != getuid())
		;
	if (user && web_check_name(user->pw_name, NULL) == 0)
		name = strdup(user->pw_name);
	else if (asprintf(&name, "%u", getuid()) < 0)
		abort();
	if (users)
		fclose(users);
	return name;
}

int web_check_name(const char *name, struct error **ret_error)
{
	size_t length = strlen(name), at = 0;
	unsigned code;

	while (at < length) {
		size_t step = utf8_decode(name + at, length - at, &code);

		if (step == 0 || code < ' ' || code == 0x7f || escape_is_hidden(code))
			break;
		at += step;
	}
	if (length == 0 || length > APPROVER_NAME_MOST || at < length)
		return fail(ret_error, E_USAGE,
			    "an approver's name has 1 to %d bytes of printable UTF-8",
			    APPROVER_NAME_MOST);
	return 0;
}

static bool has_expired(const struct web_session *session, int64_t now)
{
	return session->since > now + AHEAD_SECONDS || session->since + SESSION_SECONDS <= now ||
	       session->seen + SESSION_IDLE_SECONDS <= now;
}

/* The file as it lies there, expired or not; its hash too, which the caller frees. */
static bool read_session(int directory, const char *id, struct web_session *ret_session,
			 char **ret_hash)
{
	struct stat st;
	json_t *object = web_file_read(directory, id, &st);
	const char *hash = json_string_value(json_object_get(object, "hash"));
	const char *name = json_string_value(json_object_get(object, "name"));
	const char *agent = json_string_value(json_object_get(object, "agent"));
	bool there = hash && name && json_is_integer(json_object_get(object, "since"));

	if (there) {
		*ret_session = (struct web_session){
			.name = strdup(name),
			.agent = agent ? strdup(agent) : NULL,
			.since = json_integer_value(json_object_get(object, "since")),
			.seen = st.st_mtime,
			.uid = json_is_integer(json_object_get(object, "uid"))
				       ? json_integer_value(json_object_get(object, "uid"))
				       : -1,
		};
		snprintf(ret_session->id, sizeof(ret_session->id), "%s", id);
		*ret_hash = strdup(hash);
	}
	json_decref(object);
	return there;
}

struct listing {
	int directory;
	void (*each)(void *data, const struct web_session *session);
	void *data;
	size_t count;
	char oldest[ID_TEXT]; /* the one that was longest unused */
	int64_t oldest_seen;
};

static void look_at(struct listing *listing, const char *id)
{
	_cleanup_web_session_ struct web_session session = {0};
	_cleanup_free_ char *hash = NULL;

	if (!read_session(listing->directory, id, &session, &hash) ||
	    has_expired(&session, time(NULL))) {
		(void)unlinkat(listing->directory, id, 0);
		return;
	}
	if (listing->count++ == 0 || session.seen < listing->oldest_seen) {
		listing->oldest_seen = session.seen;
		memcpy(listing->oldest, id, ID_TEXT);
	}
	if (listing->each)
		listing->each(listing->data, &session);
}

static int list_sessions(struct listing *listing, const char *state, struct error **ret_error)
{
	_cleanup_list_ struct list ids = {0};
	int r = web_file_directory(state, "sessions", &listing->directory, ret_error);

	if (r < 0)
		return r;
	r = id_list(listing->directory, WEB_FILES_MOST, NULL, NULL, &ids);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "looking into %s/web/sessions", state);
	for (size_t i = 0; i < ids.count; i++)
		look_at(listing, ids.items[i]);
	return 0;
}

int web_session_list(const char *state, void (*each)(void *data, const struct web_session *session),
		     void *data, struct error **ret_error)
{
	struct listing listing = {.directory = -1, .each = each, .data = data};
	int r = list_sessions(&listing, state, ret_error);

	close_fd(&listing.directory);
	return r;
}

int web_session_make(const char *state, const char *name, const char *agent, int64_t uid,
		     char cookie[static SESSION_COOKIE_TEXT], struct error **ret_error)
{
	struct listing listing = {.directory = -1};
	char id[ID_TEXT], secret[SECRET_TEXT], hash[SECRET_HASH_TEXT];
	json_t *object;
	int r = list_sessions(&listing, state, ret_error);

	if (r < 0) {
		close_fd(&listing.directory);
		return r;
	}
	if (listing.count >= SESSIONS_MOST)
		(void)unlinkat(listing.directory, listing.oldest, 0);
	id_make(id);
	secret_make(secret);
	secret_hash(COOKIE_PURPOSE, secret, hash);
	object = json_pack("{s:s, s:s, s:I}", "hash", hash, "name", name, "since",
			   (json_int_t)time(NULL));
	if (uid >= 0)
		json_put(object, "uid", json_integer(uid));
	if (agent)
		json_put_bytes(object, "agent", agent, strnlen(agent, AGENT_MOST));
	r = web_file_put(listing.directory, id, object);
	json_decref(object);
	close_fd(&listing.directory);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "making a session in %s/web", state);
	snprintf(cookie, SESSION_COOKIE_TEXT, "%s.%s", id, secret);
	return 0;
}

/* The two halves of a cookie. */
static bool split_cookie(const char *cookie, char id[static ID_TEXT], const char **ret_secret)
{
	if (strlen(cookie) != SESSION_COOKIE_TEXT - 1 || cookie[ID_TEXT - 1] != '.')
		return false;
	memcpy(id, cookie, ID_TEXT - 1);
	id[ID_TEXT - 1] = '\0';
	*ret_secret = cookie + ID_TEXT;
	return id_is_one(id) && secret_is_one(*ret_secret);
}

bool web_session_find(const char *state, const char *cookie, struct web_session *ret_session)
{
	_cleanup_web_session_ struct web_session session = {0};
	_cleanup_close_ int directory = -1;
	_cleanup_free_ char *kept = NULL;
	char id[ID_TEXT], hash[SECRET_HASH_TEXT];
	int64_t now = time(NULL);
	const char *secret;

	if (!cookie || !split_cookie(cookie, id, &secret) ||
	    web_file_directory(state, "sessions", &directory, NULL) < 0 ||
	    !read_session(directory, id, &session, &kept))
		return false;
	secret_hash(COOKIE_PURPOSE, secret, hash);
	if (!secret_equal(hash, kept))
		return false;
	if (has_expired(&session, now)) {
		(void)unlinkat(directory, id, 0);
		return false;
	}
	if (session.seen + TOUCH_SECONDS <= now) {
		(void)utimensat(directory, id, NULL, AT_SYMLINK_NOFOLLOW);
		session.seen = now;
	}
	*ret_session = session;
	session = (struct web_session){0};
	return true;
}

/* Made from the cookie, so that it holds as long as that does and need not be kept. */
void web_session_token(const char *cookie, char token[static SECRET_HASH_TEXT])
{
	secret_hash(TOKEN_PURPOSE, cookie, token);
}

bool web_session_end(const char *state, const char *id)
{
	_cleanup_close_ int directory = -1;

	return id_is_one(id) && web_file_directory(state, "sessions", &directory, NULL) == 0 &&
	       unlinkat(directory, id, 0) == 0;
}

bool web_session_is_there(const char *state, const char *id)
{
	_cleanup_close_ int directory = -1;

	return web_file_directory(state, "sessions", &directory, NULL) == 0 &&
	       faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
