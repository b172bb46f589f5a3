/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be sent, as files: each is written whole, and moved by a rename. */
#include "../base/io.h"
#include "../base/macro.h"
#include "../request/text_json.h"
#include "deliver_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { REST_SECONDS = 60 };

static int open_part(const char *state, const char *part, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (asprintf(&path, "%s/notify%s", state, part) < 0)
		abort();
	r = make_directories(path, 0700);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? r : *ret_fd < 0 ? -errno : 0;
}

int box_open(const char *state, struct box *ret_box, struct error **ret_error)
{
	struct box box = {-1, -1, -1, -1};
	int r = open_part(state, "", &box.notify);

	if (r == 0)
		r = open_part(state, "/out", &box.out);
	if (r == 0)
		r = open_part(state, "/dead", &box.dead);
	if (r == 0)
		r = open_part(state, "/asks", &box.asks);
	if (r < 0) {
		box_close(&box);
		return fail_errno(ret_error, E_ENGINE, -r, "opening %s/notify", state);
	}
	*ret_box = box;
	return 0;
}

void box_close(struct box *box)
{
	close_fd(&box->notify);
	close_fd(&box->out);
	close_fd(&box->dead);
	close_fd(&box->asks);
}

int write_file(int directory, const char *name, const char *text)
{
	char new[ID_TEXT + 32];
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(new, sizeof(new), ".%s.%d.new", name, getpid()); /* people write here, too */
	fd = openat(directory, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, strlen(text));
	if (r == 0 && (fsync(fd) < 0 || renameat(directory, new, directory, name) < 0 ||
		       fsync(directory) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, new, 0);
	return r;
}

static int write_job(int directory, json_t *job)
{
	const char *id = json_string_value(json_object_get(job, "id"));
	_cleanup_free_ char *text = json_dumps(job, JSON_COMPACT);

	return text ? write_file(directory, id, text) : -ENOMEM;
}

json_t *box_read(int directory, const char *id)
{
	_cleanup_free_ char *text = NULL;
	json_t *job = NULL;
	size_t length;
	struct stat st;

	if (id_is_one(id) && fstatat(directory, id, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && read_file(directory, id, 4 * BODY_MOST, &text, &length) == 0)
		job = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	if (job && (!json_is_string(json_object_get(job, "id")) ||
		    strcmp(json_string_value(json_object_get(job, "id")), id) != 0 ||
		    !json_is_string(json_object_get(job, "channel")) ||
		    !json_is_string(json_object_get(job, "body")))) {
		json_decref(job);
		job = NULL;
	}
	return job;
}

/* Parts of what somebody wrote who was killed. */
static void remove_rest(void *data, const char *name)
{
	int directory = *(int *)data;
	struct stat st;

	if (name[0] == '.' && strlen(name) > 2 &&
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_mtime + REST_SECONDS < time(NULL))
		(void)unlinkat(directory, name, 0);
}

void box_sweep(const struct box *box)
{
	int directories[] = {box->out, box->dead, box->notify};

	for (size_t i = 0; i < ELEMENTS(directories); i++) {
		_cleanup_list_ struct list ids = {0};

		(void)id_list(directories[i], 10 * DEAD_MOST, remove_rest, &directories[i], &ids);
	}
}

static bool is_there(int directory, const char *id)
{
	return faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The oldest go where there would be too many. */
static void make_room(int directory, size_t most)
{
	_cleanup_list_ struct list ids = {0};

	if (id_list(directory, 10 * DEAD_MOST, NULL, NULL, &ids) < 0)
		return;
	for (size_t i = 0; i + most <= ids.count; i++)
		(void)unlinkat(directory, ids.items[i], 0);
}

int box_put(const struct box *box, json_t *job)
{
	const char *id = json_string_value(json_object_get(job, "id"));
	_cleanup_list_ struct list waiting = {0};
	int r = 0;

	if (!is_there(box->out, id) && !is_there(box->dead, id)) {
		r = id_list(box->out, 2 * OUT_MOST, NULL, NULL, &waiting);
		if (r == 0 && waiting.count >= OUT_MOST) {
			make_room(box->dead, DEAD_MOST);
			json_put_text(job, "why", "too much waits to be sent");
			r = write_job(box->dead, job);
		} else if (r == 0) {
			r = write_job(box->out, job);
		}
	}
	json_decref(job);
	return r;
}

int box_update(const struct box *box, json_t *job)
{
	const char *id = json_string_value(json_object_get(job, "id"));

	/* A person has dropped it meanwhile. */
	return is_there(box->out, id) ? write_job(box->out, job) : 0;
}

void box_remove(const struct box *box, const char *id)
{
	(void)unlinkat(box->out, id, 0);
	(void)fsync(box->out);
}

int box_bury(const struct box *box, json_t *job, const char *why)
{
	const char *id = json_string_value(json_object_get(job, "id"));
	int r;

	json_put_text(job, "why", why);
	make_room(box->dead, DEAD_MOST);
	r = box_update(box, job);
	if (r == 0 && renameat(box->out, id, box->dead, id) < 0)
		r = -errno;
	(void)fsync(box->dead);
	return r;
}

static void show_all(int directory, bool dead, void (*show)(void *data, json_t *job, bool dead),
		     void *data)
{
	_cleanup_list_ struct list ids = {0};

	(void)id_list(directory, 10 * DEAD_MOST, NULL, NULL, &ids);
	for (size_t i = 0; i < ids.count; i++) {
		json_t *job = box_read(directory, ids.items[i]);

		if (job)
			show(data, job, dead);
		json_decref(job);
	}
}

int deliver_list(const char *state, void (*show)(void *data, json_t *job, bool dead), void *data,
		 struct error **ret_error)
{
	struct box box;
	int r = box_open(state, &box, ret_error);

	if (r < 0)
		return r;
	show_all(box.out, false, show, data);
	show_all(box.dead, true, show, data);
	box_close(&box);
	return 0;
}

/* The ones that are meant: by the beginning of an id, or all of a directory. */
static int find(int directory, const char *id, struct list *ret_ids)
{
	_cleanup_list_ struct list ids = {0};
	int r = id_list(directory, 10 * DEAD_MOST, NULL, NULL, &ids);

	for (size_t i = 0; r == 0 && i < ids.count; i++)
		if (!id || strncmp(ids.items[i], id, strlen(id)) == 0)
			list_add(ret_ids, ids.items[i]);
	return r;
}

static int none(const char *id, struct error **ret_error)
{
	fail(ret_error, E_NOT_FOUND, "nothing called '%s' waits or was given up", id);
	return error_hint(ret_error, "`ward notify` lists what does");
}

/* From the beginning: as if it had never been tried. */
static bool renew(const struct box *box, int directory, const char *id)
{
	json_t *job = box_read(directory, id);
	bool good;

	if (!job)
		return false;
	json_put(job, "attempts", json_integer(0));
	json_put(job, "next", json_integer(0));
	json_object_del(job, "why");
	good = write_job(directory, job) == 0 &&
	       (directory == box->out || renameat(directory, id, box->out, id) == 0);
	json_decref(job);
	return good;
}

static bool drop(const struct box *box, int directory, const char *id)
{
	(void)box;
	return unlinkat(directory, id, 0) == 0;
}

/* id: NULL: all that were given up. */
static int change(const char *state, const char *id,
		  bool (*one)(const struct box *box, int directory, const char *id),
		  unsigned *ret_count, struct error **ret_error)
{
	_cleanup_list_ struct list dead = {0}, waiting = {0};
	struct box box;
	int r = box_open(state, &box, ret_error);

	*ret_count = 0;
	if (r < 0)
		return r;
	(void)find(box.dead, id, &dead);
	if (id)
		(void)find(box.out, id, &waiting);
	for (size_t i = 0; i < dead.count; i++)
		*ret_count += one(&box, box.dead, dead.items[i]);
	for (size_t i = 0; i < waiting.count; i++)
		*ret_count += one(&box, box.out, waiting.items[i]);
	(void)fsync(box.out);
	box_close(&box);
	return id && *ret_count == 0 ? none(id, ret_error) : 0;
}

int deliver_retry(const char *state, const char *id, unsigned *ret_count, struct error **ret_error)
{
	return change(state, id, renew, ret_count, ret_error);
}

int deliver_drop(const char *state, const char *id, unsigned *ret_count, struct error **ret_error)
{
	return change(state, id, drop, ret_count, ret_error);
}
