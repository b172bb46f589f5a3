/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets as their users see them: made, looked at, waited for, ended. */
#include "ticket.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../escalate/queue.h"
#include "../flow.h"
#include "../record/session.h"
#include "../record/session_policy.h"
#include "../request/text_json.h"
#include "ticket_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

enum { LOOKS = 100, ENTRIES_MOST = 10000 };

static int find_ids(const char *state, struct list *ret_ids, struct error **ret_error)
{
	_cleanup_close_ int tickets = -1;
	int r = tickets_open(state, /* make= */ false, &tickets);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = id_list(tickets, ENTRIES_MOST, NULL, NULL, ret_ids);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "looking into %s/tickets", state) : 0;
}

static uint64_t patience_of(const struct ticket_options *options)
{
	return options->patience_ns ? options->patience_ns
				    : TICKET_PATIENCE_SECONDS * (uint64_t)1000000000;
}

static json_t *first_state(const char *id, const struct request *request,
			   const struct ticket_options *options, const char *session,
			   uint64_t patience)
{
	_cleanup_free_ char *command = request_command_text(request);
	char now[TIME_TEXT], until[TIME_TEXT], ask[ID_TEXT];
	json_t *object = json_object();
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(patience / 1000000000);
	time_text(now);
	time_text_of(&end, until);
	id_make(ask);
	json_put_text(object, "ticket", id);
	json_put_text(object, "state", ticket_word_name(WAITING));
	json_put_text(object, "run", NULL);
	json_put_text(object, "ask", options->ask ? options->ask : ask);
	json_put_text(object, "agent", request->agent);
	json_put_text(object, "session", session);
	json_put_text(object, "command", command);
	json_put_text(object, "cwd", request->cwd);
	json_put_text(object, "since", now);
	json_put_text(object, "until", until);
	json_put_text(object, "changed", now);
	json_put_count(object, "owner", geteuid());
	json_put_count(object, "end", (uint64_t)end.tv_sec);
	json_put_count(object, "patience", patience / 1000000000);
	json_put_count(object, "tries", 1);
	json_object_del(object, "lossy");
	return object;
}

/* All of it, before it has its name. */
static int fill(struct ticket *ticket, const char *name, json_t *request)
{
	int r = 0;

	if (mkdirat(ticket->tickets, name, 0700) < 0 ||
	    (ticket->directory = openat(ticket->tickets, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
	    (ticket->lock = openat(ticket->directory, "lock",
				   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0)
		r = ticket_lock(ticket);
	if (r == 0)
		r = ticket_write(ticket->directory, "request.json", request);
	if (r == 0)
		r = ticket_write(ticket->directory, "state.json", ticket->state);
	return r;
}

static int make(const char *state, struct ticket *ticket, json_t *request)
{
	char name[ID_TEXT + 8];
	int r = tickets_open(state, /* make= */ true, &ticket->tickets);

	snprintf(name, sizeof(name), ".new-%s", ticket->id);
	if (r == 0)
		r = open_add(state, ticket->tickets, ticket->id);
	if (r == 0)
		r = fill(ticket, name, request);
	if (r == 0 &&
	    (renameat2(ticket->tickets, name, ticket->tickets, ticket->id, RENAME_NOREPLACE) < 0 ||
	     fsync(ticket->tickets) < 0))
		r = -errno;
	if (r < 0 && ticket->tickets >= 0) {
		(void)remove_tree(ticket->tickets, name);
		open_remove(ticket->tickets, ticket->id);
	}
	return r;
}

static void count_open(void *data, json_t *status)
{
	*(size_t *)data += !ticket_is_over(status);
}

static int find_open(const char *state, struct list *ret_ids, struct error **ret_error)
{
	_cleanup_close_ int tickets = -1;
	int r = tickets_open(state, /* make= */ false, &tickets);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = open_list(state, tickets, ret_ids);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "looking into %s/tickets", state) : 0;
}

/* A keeper that becomes another user could not write here. */
static int check_owner(const struct request *request, struct error **ret_error)
{
	struct stat st;

	if (geteuid() != 0 || stat(request->workspace, &st) < 0 || st.st_uid == 0)
		return 0;
	fail(ret_error, E_USAGE, "a request of root in somebody else's workspace cannot wait");
	return error_hint(ret_error, "let the owner of %s ask", request->workspace);
}

/* They are looked at only where there are many. */
static int check_count(const char *state, struct error **ret_error)
{
	size_t open = 0;
	int r;

	if (ticket_count_open(state) < TICKETS_OPEN)
		return 0;
	ticket_adopt(state, NULL); /* which settles those that are not, any more */
	r = ticket_list_open(state, count_open, &open, ret_error);
	if (r < 0 || open < TICKETS_OPEN)
		return r;
	fail(ret_error, E_REJECTED, "%zu tickets are open already, and more may not be", open);
	return error_hint(ret_error, "answer some (`ward pending`), or cancel some (`ward wait "
				     "--list`)");
}

int ticket_start(const char *state, const struct request *request,
		 const struct ticket_options *options, char ret_ticket[static ID_TEXT],
		 struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	_cleanup_free_ char *session = NULL;
	uint64_t patience;
	json_t *packed = NULL;
	int r = check_owner(request, ret_error);

	if (r == 0)
		r = check_count(state, ret_error);
	if (r == 0)
		r = ticket_pack(request, options, &packed, ret_error);
	if (r < 0)
		return r;
	session = request->session   ? strdup(request->session)
		  : options->session ? strdup(options->session)
				     : session_default(request->agent);
	json_put_text(json_object_get(packed, "request"), "session", session);
	id_make(ticket.id);
	/* Said by whoever asks, or registered for the session. */
	patience = options->patience_ns ? 0 : session_policy_timeout(state, session);
	ticket.state = first_state(ticket.id, request, options, session,
				   patience ? patience : patience_of(options));
	r = make(state, &ticket, packed);
	json_decref(packed);
	if (r < 0) {
		fail_errno(ret_error, E_ENGINE, -r, "making a ticket in %s/tickets", state);
		return error_hint(ret_error, "it must be ours, writable, and its disk not full");
	}
	if (options->ask)
		queue_hand_over(state, options->ask, ticket.id, patience_of(options));
	r = ticket_launch(state, &ticket, options->program, ret_error);
	if (r < 0) {
		(void)remove_tree(ticket.tickets, ticket.id);
		open_remove(ticket.tickets, ticket.id);
		return r;
	}
	memcpy(ret_ticket, ticket.id, ID_TEXT);
	return 0;
}

static int defer(void *data, const char *state, const struct request *request,
		 const struct deferred *deferred, char **ret_ticket, struct error **ret_error)
{
	const struct ticket_options options = {.ask = deferred->question,
					       .session = deferred->session,
					       .patience_ns = deferred->patience_ns,
					       .missing = deferred->missing,
					       .refused = deferred->refused,
					       .inode = deferred->inode,
					       .owner = deferred->owner};
	char ticket[ID_TEXT];
	int r = ticket_start(state, request, &options, ticket, ret_error);

	(void)data;
	if (r == 0)
		*ret_ticket = strdup(ticket);
	return r;
}

const struct resumption ticket_resumption = {.defer = defer};

/* What lies there, and whether somebody looks after it: the two are read one after the other, and
 * must fit. */
static int look(struct ticket *ticket, bool *ret_kept, struct error **ret_error)
{
	for (int i = 0; i < LOOKS; i++) {
		bool before = ticket_is_locked(ticket);
		int r = ticket_read(ticket, ret_error);

		if (r < 0)
			return r;
		*ret_kept = ticket_is_locked(ticket);
		if (before == *ret_kept)
			break;
	}
	return 0;
}

/* Its keeper is gone, and so is its command. */
static enum ticket_word word_without_keeper(const struct ticket *ticket)
{
	enum ticket_word word = ticket_word(ticket);
	bool cancelled = faccessat(ticket->directory, "cancel", F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	if (word == RUNNING)
		return cancelled ? CANCELLED : LOST;
	return word == WAITING && cancelled ? CANCELLED : word;
}

static json_t *status_of(const struct ticket *ticket, bool kept)
{
	static const char *const own[] = {"owner", "end", "patience"};
	json_t *status = json_copy(ticket->state);

	if (!status)
		abort();
	for (size_t i = 0; i < ELEMENTS(own); i++)
		json_object_del(status, own[i]);
	if (!kept)
		json_put_text(status, "state", ticket_word_name(word_without_keeper(ticket)));
	json_put(status, "kept", json_boolean(kept));
	return status;
}

int ticket_status(const char *state, const char *id, json_t **ret_status, struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	bool kept;
	int r = ticket_open(state, id, &ticket, ret_error);

	if (r == 0)
		r = look(&ticket, &kept, ret_error);
	if (r == 0)
		*ret_status = status_of(&ticket, kept);
	return r;
}

bool ticket_is_over(json_t *status)
{
	const char *word = json_string_value(json_object_get(status, "state"));

	return !word || (strcmp(word, ticket_word_name(WAITING)) != 0 &&
			 strcmp(word, ticket_word_name(RUNNING)) != 0);
}

int ticket_result(const char *state, const char *id, json_t **ret_result, struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	int r = ticket_open(state, id, &ticket, ret_error);
	json_t *result;

	if (r < 0)
		return r;
	result = ticket_load(ticket.directory, "result.json");
	if (!json_is_object(result)) {
		json_decref(result);
		return fail(ret_error, E_NOT_FOUND, "the ticket %s has no result", id);
	}
	*ret_result = result;
	return 0;
}

int ticket_read_output(const char *state, const char *id, enum ticket_stream stream,
		       uint64_t offset, char *data, size_t room, size_t *ret_length,
		       struct error **ret_error)
{
	static const char *const names[] = {"notices", "stdout", "stderr"};
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t got = 0;
	int r = ticket_open(state, id, &ticket, ret_error);

	if (r < 0)
		return r;
	fd = openat(ticket.directory, names[stream],
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		got = pread(fd, data, room, (off_t)MIN(offset, (uint64_t)INT64_MAX));
	if (got < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "reading the output of %s", id);
	*ret_length = (size_t)got;
	return 0;
}

static void show_all(const char *state, const struct list *ids,
		     void (*show)(void *data, json_t *status), void *data)
{
	for (size_t i = 0; i < ids->count; i++) {
		json_t *status;

		/* What is none, or has gone meanwhile, is nothing to show. */
		if (ticket_status(state, ids->items[i], &status, NULL) == 0) {
			show(data, status);
			json_decref(status);
		}
	}
}

int ticket_list(const char *state, void (*show)(void *data, json_t *status), void *data,
		struct error **ret_error)
{
	_cleanup_list_ struct list ids = {0};
	int r = find_ids(state, &ids, ret_error);

	if (r == 0)
		show_all(state, &ids, show, data);
	return r;
}

size_t ticket_count_open(const char *state)
{
	_cleanup_list_ struct list ids = {0};

	return find_open(state, &ids, NULL) < 0 ? 0 : ids.count;
}

int ticket_list_open(const char *state, void (*show)(void *data, json_t *status), void *data,
		     struct error **ret_error)
{
	_cleanup_list_ struct list ids = {0};
	int r = find_open(state, &ids, ret_error);

	if (r == 0)
		show_all(state, &ids, show, data);
	return r;
}

int ticket_find(const char *state, const char *start, char ret_ticket[static ID_TEXT],
		struct error **ret_error)
{
	_cleanup_list_ struct list ids = {0};
	const char *found = NULL;
	int r = find_ids(state, &ids, ret_error);

	for (size_t i = 0; r == 0 && i < ids.count; i++) {
		if (strncmp(ids.items[i], start, strlen(start)) != 0)
			continue;
		if (found)
			return fail(ret_error, E_INPUT, "more than one ticket begins with '%s'",
				    start);
		found = ids.items[i];
	}
	if (r < 0)
		return r;
	if (!found || !*start) {
		fail(ret_error, E_NOT_FOUND, "there is no ticket '%s'", start);
		return error_hint(ret_error, "`ward wait --list` lists them");
	}
	memcpy(ret_ticket, found, ID_TEXT);
	return 0;
}

int ticket_watch(const char *state, const char *id, int *ret_fd, struct error **ret_error)
{
	const uint32_t all = IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE,
		       one = IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF;
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	_cleanup_close_ int tickets = -1, fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	_cleanup_free_ char *path = NULL;
	int r = id ? ticket_open(state, id, &ticket, ret_error)
		   : tickets_open(state, /* make= */ true, &tickets);

	if (id && r < 0)
		return r;
	if (asprintf(&path, "%s/tickets%s%s", state, id ? "/" : "", id ? id : "") < 0)
		abort();
	if (r == 0 && (fd < 0 || inotify_add_watch(fd, path, (id ? one : all) | IN_ONLYDIR) < 0))
		r = -errno;
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "watching %s", path);
	*ret_fd = STEAL_FD(fd);
	return 0;
}
