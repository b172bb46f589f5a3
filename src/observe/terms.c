/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions and their ends. */
#include "files/written.h"
#include "network/network.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

enum { LOOK_MS = 250, FILES_MOST = 256 };

static const char connect_[] = "connect ", loopback[] = "host-loopback ", unix_[] = "unix ";

/* What is behind the word, or NULL. */
static const char *resource_of(const char *permission, const char *word)
{
	size_t length = strlen(word);

	return strncmp(permission, word, length) == 0 ? permission + length : NULL;
}

/* Where those who judge look. */
static void lay_out(struct observer *observer, size_t number)
{
	const char *permission = observer->terms.items[number].given.permission, *resource;
	char pattern[32];

	if ((resource = resource_of(permission, connect_))) {
		(void)host_rules_add(&observer->permitted, resource, false, NULL);
	} else if ((resource = resource_of(permission, loopback))) {
		snprintf(pattern, sizeof(pattern), "host-loopback:%s", resource);
		(void)host_rules_add(&observer->permitted, pattern, false, NULL);
	} else if ((resource = resource_of(permission, unix_))) {
		list_add(&observer->permitted_sockets, resource);
	} else {
		if (permits_add(&observer->permits, permission, number))
			observer->permits.items[observer->permits.count - 1].early =
				observer->terms.items[number].early;
	}
}

static bool can_end(const struct given *given)
{
	return given->grant || given->expires.wall;
}

static void watch_ends(struct observer *observer)
{
	struct itimerspec every = {.it_value.tv_nsec = LOOK_MS * 1000000,
				   .it_interval.tv_nsec = LOOK_MS * 1000000};
	struct terms *terms = &observer->terms;
	struct epoll_event event = {.events = EPOLLIN};

	terms->ending = true;
	if (terms->timer >= 0)
		return;
	terms->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	event.data.fd = terms->timer;
	if (terms->timer < 0 || timerfd_settime(terms->timer, 0, &every, NULL) < 0 ||
	    epoll_ctl(observer->epoll, EPOLL_CTL_ADD, terms->timer, &event) < 0)
		abort(); /* nobody would see it end */
}

static void add(struct observer *observer, const struct given *given, bool early)
{
	struct terms *terms = &observer->terms;
	struct held *held;

	terms->items = reallocarray(terms->items, terms->count + 1, sizeof(*terms->items));
	if (!terms->items)
		abort();
	held = &terms->items[terms->count++];
	*held = (struct held){.given = {.permission = strdup(given->permission),
					.grant = given->grant ? strdup(given->grant) : NULL,
					.expires = given->expires},
			      .early = early,
			      .entry = -1};
	if (!held->given.permission || (given->grant && !held->given.grant))
		abort();
	lay_out(observer, terms->count - 1);
	if (can_end(given))
		watch_ends(observer);
}

void terms_begin(struct observer *observer)
{
	const struct observed *observed = observer->observed;

	for (size_t i = 0; observed->given && i < observed->given->count; i++)
		add(observer, &observed->given->items[i], !observed->given->items[i].grant);
	observer->terms.settled = observer->terms.count;
	for (size_t i = 0; observed->fixed && i < observed->fixed->count; i++)
		if (can_end(&observed->fixed->items[i]))
			watch_ends(observer);
}

void terms_add(struct observer *observer, const char *permission, const struct term *term)
{
	struct given given = {.permission = (char *)permission,
			      .grant = term ? (char *)term->grant : NULL};

	if (term)
		given.expires = term->expires;

	add(observer, &given, /* early= */ false);
}

/* Its time is over, whatever became of the clock meanwhile. */
static bool has_expired(const struct observer *observer, const struct given *given,
			const struct moment *now)
{
	if (!given->expires.wall)
		return false;
	return observer->observed->unchecked & CHECK_BIT(CHECK_CLOCK)
		       ? now->wall >= given->expires.wall
		       : moment_has_come(&given->expires, now);
}

/* NULL: it holds; else what became of it. */
static const char *end_of(const struct observer *observer, const struct given *given,
			  const struct moment *now, bool changed)
{
	const struct answers *answers = &observer->observed->answers;

	if (has_expired(observer, given, now))
		return "expired";
	/* Where nobody can tell, nobody revokes. */
	if (given->grant && changed && !answers->holds(answers->data, given->grant))
		return "was revoked";
	return NULL;
}

static void drop(struct terms *terms, size_t number)
{
	struct held *held = &terms->items[number];

	free(held->given.permission);
	free(held->given.grant);
	list_done(&held->files);
	memmove(held, held + 1, (terms->count - number - 1) * sizeof(*held));
	terms->count--;
	terms->settled = MIN(terms->settled, terms->count);
}

/* What is left is laid out anew, and what came of the rest is taken back. */
static void lay_out_again(struct observer *observer)
{
	host_rules_done(&observer->permitted);
	list_done(&observer->permitted_sockets);
	permits_done(&observer->permits);
	list_done(&observer->granted); /* it may be asked for again */
	for (size_t i = 0; i < observer->terms.count; i++)
		lay_out(observer, i);
	dial_recall(observer);
	if (!lent_recall(observer) && !observer->terms.failure)
		fail(&observer->terms.failure, E_REJECTED,
		     "ended: a permission to connect has ended, and a connection that came of it "
		     "could not be closed");
}

static void note_end(struct observer *observer, const struct given *given, const struct moment *now)
{
	givens_add(&observer->terms.ended, given->permission, given->grant,
		   has_expired(observer, given, now) ? &given->expires : NULL);
}

/* A file that was opened for writing can be written as long as it is open. Whoever revokes means
 * that nothing gets through any more; a time that is over means new uses. */
static void check_files(struct observer *observer, const struct held *held)
{
	bool open = held->more;

	for (size_t i = 0; i < held->files.count && !open; i++)
		open = file_is_written(held->files.items[i]);
	if (!open || observer->terms.failure)
		return;
	fail(&observer->terms.failure, E_REJECTED,
	     "ended: the grant of '%s' was revoked, and a file that was opened by it is still open",
	     held->given.permission);
	(void)error_hint(&observer->terms.failure, "`ward grants` lists what holds");
}

/* What the walls were built with cannot be taken out of them. */
static void check_fixed(struct observer *observer, const struct moment *now, bool changed)
{
	const struct givens *fixed = observer->observed->fixed;

	for (size_t i = 0; fixed && i < fixed->count && !observer->terms.failure; i++) {
		const char *end = end_of(observer, &fixed->items[i], now, changed);

		if (!end)
			continue;
		note_end(observer, &fixed->items[i], now);
		fail(&observer->terms.failure, E_REJECTED,
		     "ended: the grant of '%s' %s, and cannot be taken from a command that runs",
		     fixed->items[i].permission, end);
		(void)error_hint(&observer->terms.failure, "`ward grants` lists what holds");
	}
}

void terms_check(struct observer *observer)
{
	const struct answers *answers = &observer->observed->answers;
	struct terms *terms = &observer->terms;
	bool changed, any = false;
	struct moment now;

	if (!terms->ending)
		return;
	changed = answers->changed && answers->changed(answers->data);
	/* Only now: what has expired is no longer among the answers that were just read, and an
	 * earlier clock would take that for revoked. */
	moment_now(&now);
	for (size_t i = terms->count; i > 0; i--) {
		const struct given *given = &terms->items[i - 1].given;
		const char *end = end_of(observer, given, &now, changed);

		if (!end)
			continue;
		list_add_printf(&terms->lines, "the grant of '%s' %s while the command ran",
				given->permission, end);
		note_end(observer, given, &now);
		if (!has_expired(observer, given, &now))
			check_files(observer, &terms->items[i - 1]);
		drop(terms, i - 1);
		any = true;
	}
	if (any)
		lay_out_again(observer);
	check_fixed(observer, &now, changed);
}

bool terms_serve(struct observer *observer, int fd)
{
	uint64_t ticks;

	if (fd != observer->terms.timer)
		return false;
	(void)!read(fd, &ticks, sizeof(ticks)); /* what has ended was ended with this turn */
	return true;
}

void terms_done(struct observer *observer)
{
	struct terms *terms = &observer->terms;

	while (terms->count > 0)
		drop(terms, terms->count - 1);
	free(terms->items);
	terms->items = NULL;
	close_fd(&terms->timer);
	list_done(&terms->lines);
	givens_done(&terms->ended);
	error_free(terms->failure);
	terms->failure = NULL;
	host_rules_done(&observer->permitted);
	list_done(&observer->permitted_sockets);
	permits_done(&observer->permits);
}

void terms_settle(struct observer *observer, long entry, uint64_t call)
{
	struct terms *terms = &observer->terms;

	for (; terms->settled < terms->count; terms->settled++) {
		terms->items[terms->settled].entry = entry;
		terms->items[terms->settled].call = call;
	}
}

void terms_use(struct observer *observer, size_t number, uint64_t call)
{
	struct held *held = &observer->terms.items[number];

	if (held->call != call && held->entry >= 0)
		ledger_count(&observer->ledger, (size_t)held->entry);
	held->call = call;
}

void terms_note_file(struct observer *observer, size_t number, const char *path)
{
	struct held *held = &observer->terms.items[number];

	if (!can_end(&held->given) || list_has(&held->files, path))
		return;
	if (held->files.count < FILES_MOST)
		list_add(&held->files, path);
	else
		held->more = true;
}

static bool means_target(const char *permission, const struct target *target)
{
	const char *resource = resource_of(permission, connect_);
	struct host_rules rule = {0};
	bool means;

	if (!resource || host_rules_add(&rule, resource, false, NULL) < 0)
		return false;
	means = *target->name ? host_rules_name(&rule, target->name, target->port) == HOST_ALLOWED
			      : host_rules_address(&rule, &target->address, target->port,
						   /* named= */ false, NULL) == HOST_ALLOWED;
	host_rules_done(&rule);
	return means;
}

void terms_use_target(struct observer *observer, const struct target *target, uint64_t call)
{
	for (size_t i = 0; i < observer->terms.count; i++)
		if (means_target(observer->terms.items[i].given.permission, target)) {
			terms_use(observer, i, call);
			return;
		}
}

void terms_use_socket(struct observer *observer, const char *path, uint64_t call)
{
	for (size_t i = 0; i < observer->terms.count; i++) {
		const char *resource =
			resource_of(observer->terms.items[i].given.permission, unix_);

		if (resource && strcmp(resource, path) == 0) {
			terms_use(observer, i, call);
			return;
		}
	}
}
