/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to the audit log, and taking it up where a writer that died left it. */
#include "chain.h"
#include "state.h"
#include "../base/buffer.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum {
	RESERVE = 256 * 1024,	    /* what must be set aside past the end when a run begins */
	RESERVE_STEP = 1024 * 1024, /* what is set aside at once, so that few runs pay for it */
};

struct audit {
	char *path; /* of the log, for messages */
	int log, head;
};

static int open_own(int directory, const char *name, const char *path, int flags, int *ret_fd,
		    struct error **ret_error)
{
	_cleanup_close_ int fd = openat(
		directory, name,
		flags | O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "cannot open %s in %s", name, path);
		return error_hint(
			ret_error,
			"ward does not run what it cannot record: make the file writable, or set "
			"XDG_STATE_HOME to another place");
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		fail(ret_error, E_ENGINE, "%s in %s is not a file that you alone can write to",
		     name, path);
		return error_hint(ret_error, "run `ward audit verify`; if all holds, give it back "
					     "with chown and chmod 600");
	}
	*ret_fd = STEAL_FD(fd);
	return 0;
}

static int fail_write(struct audit *audit, int errnum, const char *what, struct error **ret_error)
{
	fail_errno(ret_error, E_ENGINE, errnum, "%s: %s", audit->path, what);
	if (errnum == ENOSPC || errnum == EDQUOT)
		return error_hint(
			ret_error,
			"ward does not run what it cannot record: free some space there, or set "
			"XDG_STATE_HOME to another place");
	return error_hint(
		ret_error,
		"ward does not run what it cannot record: check the file system that holds it");
}

/* 0 or -errno. */
static int set_aside(int fd, off_t from, off_t length)
{
	int r;

	do
		r = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, length);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static int reserve(struct audit *audit, struct error **ret_error)
{
	struct stat st;
	int r;

	if (fstat(audit->log, &st) < 0)
		return fail_write(audit, errno, "cannot be examined", ret_error);
	/* The log has no holes, so its blocks tell how far past its end it is allocated. */
	if ((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size + RESERVE)
		return 0;
	r = set_aside(audit->log, st.st_size, RESERVE_STEP);
	if (r == -ENOSPC || r == -EDQUOT)
		r = set_aside(audit->log, st.st_size, RESERVE);
	if (r < 0 && r != -EOPNOTSUPP)
		return fail_write(audit, -r, "no room for further records", ret_error);
	return 0;
}

/* Gives a new log its head: before its first record, so that a log with records and without a head
 * is never a crash's doing, and before the log sets room aside, so that there is some left for the
 * head. */
static int begin(struct audit *audit, struct error **ret_error)
{
	struct head head;
	struct stat st;
	int r;

	if (head_read(audit->head, &head) != HEAD_MISSING)
		return 0;
	r = log_lock(audit->log, F_WRLCK, audit->path, ret_error);
	if (r < 0)
		return r;
	if (fstat(audit->log, &st) == 0 && st.st_size == 0 &&
	    head_read(audit->head, &head) == HEAD_MISSING)
		r = head_write(audit->head, &chain_start);
	log_unlock(audit->log);
	return r < 0 ? fail_write(audit, -r, HEAD_NAME " beside it cannot be written", ret_error)
		     : 0;
}

int audit_open(const char *directory, struct audit **ret_audit, struct error **ret_error)
{
	_cleanup_close_ int fd = -1;
	struct audit *audit;
	int r;

	r = state_directory_open(directory, &fd, ret_error);
	if (r < 0)
		return r;
	audit = calloc(1, sizeof(*audit));
	if (!audit)
		abort();
	*audit = (struct audit){
		.path = chain_words("%s/" LOG_NAME, directory), .log = -1, .head = -1};
	r = open_own(fd, LOG_NAME, directory, O_APPEND, &audit->log, ret_error);
	if (r == 0)
		r = open_own(fd, HEAD_NAME, directory, /* flags= */ 0, &audit->head, ret_error);
	if (r == 0)
		r = begin(audit, ret_error);
	if (r == 0)
		r = reserve(audit, ret_error);
	if (r < 0) {
		audit_close(audit);
		return r;
	}
	*ret_audit = audit;
	return 0;
}

void audit_close(struct audit *audit)
{
	if (!audit)
		return;
	close_fd(&audit->log);
	close_fd(&audit->head);
	free(audit->path);
	free(audit);
}

static int add_json(const char *data, size_t length, void *buffer)
{
	buffer_add(buffer, data, length);
	return 0;
}

static int add_text_member(struct buffer *buffer, const char *name, const char *text,
			   struct error **ret_error)
{
	json_t *value = json_string(text);
	int r;

	if (!value)
		return fail(ret_error, E_INPUT, "the audit record's %s is not UTF-8", name);
	buffer_printf(buffer, "\"%s\":", name);
	r = json_dump_callback(value, add_json, buffer, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(value);
	return r < 0 ? fail(ret_error, E_INPUT, "the audit record's %s cannot be written", name)
		     : 0;
}

/* What a record says, without braces: all that does not depend on its place in the chain, made
 * before the lock is taken. */
static int print_members(struct buffer *buffer, const char *kind, const char *run, json_t *body,
			 struct error **ret_error)
{
	static const char *const reserved[] = {"seq", "time", "kind", "run", "prev", "hash"};
	size_t brace;
	int r;

	r = add_text_member(buffer, "kind", kind, ret_error);
	if (r == 0 && run) {
		buffer_add_char(buffer, ',');
		r = add_text_member(buffer, "run", run, ret_error);
	}
	if (r < 0 || json_object_size(body) == 0)
		return r;
	for (size_t i = 0; i < ELEMENTS(reserved); i++)
		if (json_object_get(body, reserved[i]))
			return fail(ret_error, E_INPUT,
				    "the body of a %s record cannot have a member '%s'", kind,
				    reserved[i]);
	brace = buffer->length;
	if (json_dump_callback(body, add_json, buffer, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0)
		return fail(ret_error, E_INPUT, "the body of a %s record cannot be written as JSON",
			    kind);
	buffer->data[brace] = ',';
	buffer->data[--buffer->length] = '\0';
	return 0;
}

/* Adds one record past *head, which is the end of the log, and moves it on. Under the lock. */
static int add_record(struct audit *audit, struct head *head, const struct buffer *members,
		      struct error **ret_error)
{
	_cleanup_buffer_ struct buffer line = {0};
	struct head next = {.seq = head->seq + 1};
	char now[TIME_TEXT];
	ssize_t written;
	int r;

	time_text(now);
	buffer_printf(&line, "{\"seq\":%" PRIu64 ",\"time\":\"%s\",", next.seq, now);
	buffer_add(&line, members->data, members->length);
	buffer_printf(&line, PREV_KEY "%s\"", head->hash);
	chain_hash(line.data, line.length, next.hash);
	buffer_printf(&line, HASH_KEY "%s\"}\n", next.hash);
	next.size = head->size + line.length;
	if (line.length > RECORD_LIMIT)
		return fail(ret_error, E_INPUT,
			    "%s: a record of %zu bytes is too long; the limit is %d", audit->path,
			    line.length, RECORD_LIMIT);

	do
		written = write(audit->log, line.data, line.length);
	while (written < 0 && errno == EINTR);
	if (written == (ssize_t)line.length) {
		r = head_write(audit->head, &next);
		if (r == 0) {
			*head = next;
			return 0;
		}
	} else {
		r = written < 0 ? -errno : -ENOSPC;
	}
	/* If this fails too, the next writer finds what is left and takes it up. */
	if (ftruncate(audit->log, (off_t)head->size) < 0)
		return fail_write(audit, -r, "cannot be written, nor put back as it was",
				  ret_error);
	/* Cutting also gave back what was set aside, and a shorter record may still fit into that.
	 */
	(void)reserve(audit, /* ret_error= */ NULL);
	return fail_write(audit, -r, "cannot be written", ret_error);
}

/* Takes ownership of fault. */
static int refuse(struct audit *audit, char *fault, struct error **ret_error)
{
	fail(ret_error, E_ENGINE, "%s: nothing is added, because it was changed by others: %s",
	     audit->path, fault);
	free(fault);
	return error_hint(ret_error, "run `ward audit verify`; to begin a new log, move " LOG_NAME
				     " and " HEAD_NAME " in that directory aside");
}

/* Takes in what a writer that died left past the head. */
static int recover(struct audit *audit, struct head *head, uint64_t size, struct error **ret_error)
{
	_cleanup_lines_ struct lines lines = {.fd = audit->log, .offset = head->size, .end = size};
	_cleanup_buffer_ struct buffer members = {0};
	const char *line = NULL;
	size_t length = 0;
	int state, r;

	while ((state = lines_next(&lines, &line, &length)) == LINE_WHOLE) {
		char *fault = chain_follow(head, line, length);

		if (fault)
			return refuse(audit, fault, ret_error);
	}
	if (state < 0)
		return fail_errno(ret_error, E_ENGINE, -state, "cannot read %s", audit->path);
	if (state == LINE_LONG)
		return refuse(
			audit,
			chain_words("line %" PRIu64 " is too long to be a record", head->seq + 1),
			ret_error);
	r = head_write(audit->head, head);
	if (r < 0)
		return fail_write(audit, -r, HEAD_NAME " beside it cannot be written", ret_error);
	if (state == LINE_NONE)
		return 0;
	if (ftruncate(audit->log, (off_t)head->size) < 0)
		return fail_write(audit, errno, "a torn record at its end cannot be cut away",
				  ret_error);
	/* Cutting gave back what was set aside past the end. */
	r = reserve(audit, ret_error);
	if (r < 0)
		return r;
	buffer_printf(&members, "\"kind\":\"log.recovered\",\"dropped\":%" PRIu64,
		      size - head->size);
	return add_record(audit, head, &members, ret_error);
}

/* Does the record that ends at head->size carry the head's hash? */
static bool head_fits(int log, const struct head *head)
{
	char tail[HASH_LENGTH + 3];

	if (head->seq == 0)
		return true;
	return head->size >= sizeof(tail) &&
	       pread(log, tail, sizeof(tail), (off_t)(head->size - sizeof(tail))) == sizeof(tail) &&
	       memcmp(tail, head->hash, HASH_LENGTH) == 0 &&
	       memcmp(tail + HASH_LENGTH, "\"}\n", 3) == 0;
}

/* Finds the end of the log, and sees to it that there is nothing past it. Under the lock. */
static int take_up(struct audit *audit, struct head *ret_head, struct error **ret_error)
{
	enum head_state state = head_read(audit->head, ret_head);
	struct stat st;

	if (fstat(audit->log, &st) < 0)
		return fail_write(audit, errno, "cannot be examined", ret_error);
	if (state != HEAD_GOOD)
		return refuse(audit,
			      chain_words(HEAD_NAME " beside it is %s",
					  state == HEAD_BAD ? "damaged" : "missing"),
			      ret_error);
	if ((uint64_t)st.st_size < ret_head->size)
		return refuse(audit,
			      chain_words("record %" PRIu64 " ends at byte %" PRIu64
					  ", but the file at byte %" PRIu64,
					  ret_head->seq, ret_head->size, (uint64_t)st.st_size),
			      ret_error);
	if (!head_fits(audit->log, ret_head))
		return refuse(
			audit,
			chain_words("its last record is not the one that " HEAD_NAME " names"),
			ret_error);
	if ((uint64_t)st.st_size > ret_head->size)
		return recover(audit, ret_head, (uint64_t)st.st_size, ret_error);
	return 0;
}

int audit_append(struct audit *audit, const char *kind, const char *run, json_t *body,
		 struct error **ret_error)
{
	_cleanup_buffer_ struct buffer members = {0};
	struct head head;
	int r;

	r = print_members(&members, kind, run, body, ret_error);
	if (r < 0)
		return r;
	r = log_lock(audit->log, F_WRLCK, audit->path, ret_error);
	if (r < 0)
		return r;
	r = take_up(audit, &head, ret_error);
	if (r == 0)
		r = add_record(audit, &head, &members, ret_error);
	log_unlock(audit->log);
	return r;
}

/* A byte past the log for each run; that two runs at once share one does not happen. */
static struct flock place_of(const char *run)
{
	uint64_t number = UINT64_C(14695981039346656037);

	for (; *run; run++)
		number = (number ^ (unsigned char)*run) * UINT64_C(1099511628211);
	return (struct flock){.l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = LOG_LOCKED + (off_t)(number % (uint64_t)LOG_LOCKED),
			      .l_len = 1};
}

bool audit_hold(struct audit *audit, const char *run)
{
	struct flock place = place_of(run);

	return fcntl(audit->log, F_OFD_SETLK, &place) == 0;
}

bool audit_is_held(struct audit *audit, const char *run)
{
	struct flock place = place_of(run);

	return fcntl(audit->log, F_OFD_GETLK, &place) < 0 || place.l_type != F_UNLCK;
}

bool audit_has_room(struct audit *audit)
{
	return reserve(audit, /* ret_error= */ NULL) == 0;
}

uint64_t audit_count(struct audit *audit)
{
	struct head head;

	return head_read(audit->head, &head) == HEAD_GOOD ? head.seq : 0;
}
