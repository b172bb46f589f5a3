/* SPDX-License-Identifier: Apache-2.0 */
/* What channels are to those who use them: whom they tell of what, and what they keep secret. */
#include "notify.h"
#include "../base/io.h"
#include "../base/path.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void notify_channel_done(struct notify_channel *channel)
{
	free(channel->name);
	free(channel->url);
	free(channel->url_file);
	free(channel->secret_file);
	free(channel->secret_variable);
	list_done(&channel->program);
	list_done(&channel->mail);
	free(channel->from);
	free(channel->sendmail);
	list_done(&channel->agents);
	free(channel->file);
	*channel = (struct notify_channel){0};
}

void notify_done(struct notify *notify)
{
	for (size_t i = 0; i < notify->count; i++)
		notify_channel_done(&notify->channels[i]);
	free(notify->channels);
	free(notify->callback);
	*notify = (struct notify){0};
}

const char *notice_name(enum notice notice)
{
	return notice == NOTICE_ASKED	     ? "asked"
	       : notice == NOTICE_UNANSWERED ? "unanswered"
	       : notice == NOTICE_EXPIRED    ? "expired"
	       : notice == NOTICE_NEAR	     ? "near_limit"
					     : "incident";
}

const char *channel_kind_name(enum channel_kind kind)
{
	static const char *const names[] = {[CHANNEL_NONE] = "none",
					    [CHANNEL_WEBHOOK] = "webhook",
					    [CHANNEL_PROGRAM] = "program",
					    [CHANNEL_DESKTOP] = "desktop",
					    [CHANNEL_MAIL] = "mail"};

	return names[kind];
}

const char *channel_group_name(enum channel_group group)
{
	return group == GROUP_APPROVERS ? "approvers" : "security";
}

const char *channel_shape_name(enum channel_shape shape)
{
	return shape == SHAPE_SLACK ? "slack" : "generic";
}

const struct notify_channel *notify_find(const struct notify *notify, const char *name)
{
	for (size_t i = 0; i < notify->count; i++)
		if (strcmp(notify->channels[i].name, name) == 0)
			return &notify->channels[i];
	return NULL;
}

static bool wants_agent(const struct notify_channel *channel, const char *agent)
{
	for (size_t i = 0; i < channel->agents.count; i++)
		if (fnmatch(channel->agents.items[i], agent ? agent : "", 0) == 0)
			return true;
	return channel->agents.count == 0;
}

static bool is_below(const char *risk, enum risk least)
{
	for (enum risk level = RISK_LOW; risk && level < least; level++)
		if (strcmp(risk, risk_name(level)) == 0)
			return true;
	return false;
}

bool channel_wants(const struct notify_channel *channel, enum notice notice, const char *agent,
		   const char *risk)
{
	return channel->notices & notice && wants_agent(channel, agent) &&
	       !is_below(risk, channel->risk);
}

bool notify_reaches_approvers(const struct notify *notify, const char *agent)
{
	for (size_t i = 0; i < notify->count; i++)
		if (notify->channels[i].group == GROUP_APPROVERS &&
		    channel_wants(&notify->channels[i], NOTICE_ASKED, agent, NULL))
			return true;
	return false;
}

bool channel_can_answer(const struct notify *notify, const struct notify_channel *channel)
{
	if (channel->group != GROUP_APPROVERS)
		return false;
	return channel->kind == CHANNEL_PROGRAM ||
	       (channel->kind == CHANNEL_WEBHOOK && notify->callback &&
		(channel->secret_file || channel->secret_variable));
}

/* Kept by its owner alone: what others can read is no secret, and what they can write is theirs. */
static int read_kept(const char *path, const char *home, char **ret_text, struct error **ret_error)
{
	_cleanup_free_ char *whole = path_resolve("/", home, path);
	_cleanup_close_ int fd =
		open(whole, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[SECRET_MOST + 2];
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_POLICY, errno, "cannot open %s", whole);
	if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
	    st.st_mode & (S_IRWXG | S_IRWXO)) {
		fail(ret_error, E_POLICY, "%s can be read or changed by others", whole);
		return error_hint(ret_error, "chmod 600 %s", whole);
	}
	got = read_all(fd, text, sizeof(text));
	while (got > 0 && strchr("\r\n\t ", text[got - 1]))
		got--;
	if (got <= 0 || got > SECRET_MOST || memchr(text, '\0', (size_t)got))
		return fail(ret_error, E_POLICY, "%s is empty, too long or no text", whole);
	*ret_text = strndup(text, (size_t)got);
	sodium_memzero(text, sizeof(text));
	if (!*ret_text)
		abort();
	return 0;
}

int channel_secret(const struct notify_channel *channel, const char *home, char **ret_secret,
		   struct error **ret_error)
{
	const char *value = channel->secret_variable ? getenv(channel->secret_variable) : NULL;
	char *secret = NULL;
	int r = 0;

	*ret_secret = NULL;
	if (!channel->secret_file && !channel->secret_variable)
		return 0;
	if (channel->secret_file)
		r = read_kept(channel->secret_file, home, &secret, ret_error);
	else if (value)
		secret = strdup(value);
	else
		r = fail(ret_error, E_POLICY, "there is no variable %s", channel->secret_variable);
	if (r == 0 && (strlen(secret) < SECRET_LEAST || strlen(secret) > SECRET_MOST)) {
		free(secret);
		fail(ret_error, E_POLICY, "the secret of channel %s has not %d to %d bytes",
		     channel->name, SECRET_LEAST, SECRET_MOST);
		return error_hint(ret_error, "make one: openssl rand -hex 32");
	}
	*ret_secret = secret;
	return r;
}

int channel_url(const struct notify_channel *channel, const char *home, char **ret_url,
		struct error **ret_error)
{
	int r;

	if (channel->url) {
		*ret_url = strdup(channel->url);
		return 0;
	}
	r = read_kept(channel->url_file, home, ret_url, ret_error);
	if (r == 0 && !channel_url_is_good(*ret_url, channel->insecure)) {
		free(*ret_url);
		*ret_url = NULL;
		return fail(ret_error, E_POLICY, "%s holds no URL of https", channel->url_file);
	}
	return r;
}

const char *channel_program_fault(const struct list *words, uid_t uid, const char *workspace)
{
	struct stat st;

	for (size_t i = 0; i < words->count; i++) {
		char real[PATH_MAX];

		if (words->items[i][0] == '/' && realpath(words->items[i], real) &&
		    (path_is_under(real, "/tmp") || (workspace && path_is_under(real, workspace))))
			return "it lies where commands can write";
	}
	if (stat(words->items[0], &st) < 0)
		return "there is no such file";
	if (!S_ISREG(st.st_mode) || access(words->items[0], X_OK) < 0)
		return "it is no program";
	if ((st.st_uid != 0 && st.st_uid != uid) || st.st_mode & (S_IWGRP | S_IWOTH))
		return "others can write to it";
	return NULL;
}

static bool is_loopback(const char *host, size_t length)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strlen(names[i]) == length && strncasecmp(host, names[i], length) == 0)
			return true;
	return false;
}

bool channel_url_is_good(const char *url, bool insecure)
{
	bool plain = strncmp(url, "http://", 7) == 0;
	const char *host = url + (plain ? 7 : 8);
	size_t length, name;

	if ((!plain && strncmp(url, "https://", 8) != 0) || strlen(url) > 2048)
		return false;
	for (const char *at = url; *at; at++)
		if (*at <= ' ' || *at >= 0x7f || strchr("\"<>\\^`{|}#", *at))
			return false;
	length = strcspn(host, "/?");
	name = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?");
	if (length == 0 || name == 0 || name > length || memchr(host, '@', length))
		return false;
	if (name < length &&
	    (host[name] != ':' || strspn(host + name + 1, "0123456789") != length - name - 1))
		return false;
	return !plain || insecure || is_loopback(host, name);
}
