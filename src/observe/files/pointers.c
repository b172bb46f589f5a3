/* SPDX-License-Identifier: Apache-2.0 */
/* Files that say where a repository lies: their drafts, and what they may say. */
#include "pointers.h"
#include "../observer.h"
#include "written.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

enum {
	POINTERS_MOST = 1000,
	TEXT_MOST = PATH_MAX + 16,
	DRAFT_MOST = 64 * 1024, /* which is all the room there is */
	TRIES = 3,
	EVENTS = 1024,
};

void pointers_begin(struct pointers *pointers)
{
	*pointers = (struct pointers){.watch = -1, .way = {.user = -1, .mounts = -1}};
}

static void forget(struct pointer *pointer)
{
	close_fd(&pointer->parent);
	close_fd(&pointer->draft);
	free(pointer->path);
	free(pointer->text);
}

static void leave_way(struct covering *way)
{
	close_fd(&way->user);
	close_fd(&way->mounts);
}

void pointers_done(struct pointers *pointers)
{
	for (size_t i = 0; i < pointers->count; i++)
		forget(&pointers->items[i]);
	free(pointers->items);
	close_fd(&pointers->watch);
	leave_way(&pointers->way);
}

static bool is_thing(const struct thing *thing, const struct stat *st)
{
	return thing->device == st->st_dev && thing->inode == st->st_ino;
}

/* Itself, by what it is: another directory may have the path by now. */
static bool is_there(const struct pointer *pointer, struct stat *st)
{
	return fstatat(pointer->parent, pointer->name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

struct pointer *pointer_find(const struct observer *observer, const struct stat *st)
{
	const struct pointers *pointers = &observer->holding.pointers;

	for (size_t i = 0; i < pointers->count; i++) {
		struct pointer *pointer = &pointers->items[i];
		struct stat file;

		if (is_there(pointer, &file) &&
		    ((file.st_dev == st->st_dev && file.st_ino == st->st_ino) ||
		     (pointer->draft >= 0 && is_thing(&pointer->file, &file) &&
		      is_thing(&pointer->shown, st))))
			return pointer;
	}
	return NULL;
}

/* Those that were removed again: the next of the same name is another one. */
static void forget_removed(struct pointers *pointers)
{
	size_t kept = 0;

	for (size_t i = 0; i < pointers->count; i++) {
		struct stat st;

		if (is_there(&pointers->items[i], &st))
			pointers->items[kept++] = pointers->items[i];
		else
			forget(&pointers->items[i]);
	}
	pointers->count = kept;
}

static int find_way(const struct observer *observer, struct covering *way)
{
	int r = way->mounts >= 0 ? 0 : find_store(observer->observed->root, &way->store);

	if (r == 0 && way->mounts < 0)
		r = open_namespaces(observer->observed->init, "mnt", &way->user, &way->mounts);
	return r;
}

/* Lays an empty draft over the file. -EPERM: nobody can go in. */
static int lay_draft(struct observer *observer, struct pointer *pointer)
{
	struct pointers *pointers = &observer->holding.pointers;
	int r = -ESTALE;
	struct stat st;

	for (int i = 0; i < TRIES && r == -ESTALE; i++) {
		r = find_way(observer, &pointers->way);
		if (r == 0)
			r = cover_with_draft(&pointers->way, pointer->path, &pointer->file,
					     &pointer->shown);
		if (r == -ESTALE) /* of somebody else, who has the number of one of ours by now */
			leave_way(&pointers->way);
	}
	if (r < 0)
		return r;
	pointer->draft =
		sys_openat2(observer->observed->root, pointer->path + 1,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (pointer->draft < 0)
		return -errno;
	return fstat(pointer->draft, &st) < 0 || !is_thing(&pointer->shown, &st) ? -ESTALE : 0;
}

/* Somebody has the file itself open: by an open that was under way when it was made. */
static bool is_written(const struct pointer *pointer)
{
	char path[NAME_MAX + 64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", pointer->parent, pointer->name);
	return file_is_written(path);
}

/* The file says what was put into it, and nobody else's word. */
static bool is_unchanged(const struct pointer *pointer)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;

	return is_there(pointer, &st) && is_thing(&pointer->file, &st) &&
	       hold_read_text(pointer->parent, pointer->name, DRAFT_MOST, &text, &length) == 0 &&
	       text && length == pointer->length &&
	       (length == 0 || memcmp(text, pointer->text, length) == 0);
}

static int make_with_draft(struct observer *observer, struct pointer *pointer)
{
	int fd = openat(pointer->parent, pointer->name,
			O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	    r;
	struct stat st;

	if (fd < 0)
		return -errno;
	r = fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	close(fd);
	pointer->file = (struct thing){st.st_dev, st.st_ino};
	if (r == 0)
		r = lay_draft(observer, pointer);
	if (r == 0 && is_written(pointer))
		r = -EACCES;
	if (r < 0) {
		close_fd(&pointer->draft);
		(void)unlinkat(pointer->parent, pointer->name, 0);
	}
	return r;
}

/* Where nothing can be watched they are looked at in the end. */
static void watch_draft(struct observer *observer, struct pointer *pointer)
{
	struct pointers *pointers = &observer->holding.pointers;
	struct epoll_event event = {.events = EPOLLIN};
	char link[64];

	if (pointers->watch < 0) {
		pointers->watch = event.data.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (pointers->watch < 0 ||
		    epoll_ctl(observer->epoll, EPOLL_CTL_ADD, pointers->watch, &event) < 0)
			close_fd(&pointers->watch);
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pointer->draft);
	if (pointers->watch >= 0)
		pointer->watch = inotify_add_watch(pointers->watch, link, IN_CLOSE_WRITE);
}

bool pointers_have_drafts(const struct observer *observer)
{
	return observer->observed->covers && !observer->holding.pointers.none;
}

static int begin(struct pointers *pointers, const struct found *found, int parent,
		 struct pointer *ret_pointer)
{
	struct pointer pointer = {.draft = -1, .watch = -1};

	forget_removed(pointers);
	if (pointers->count >= POINTERS_MOST)
		return -ENOSPC;
	pointer.parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (pointer.parent < 0) /* what cannot be looked at again must not come into being */
		return -errno;
	pointer.path = strdup(found->path);
	if (!pointer.path)
		abort();
	strcpy(pointer.name, path_last(found->path));
	*ret_pointer = pointer;
	return 0;
}

static struct pointer *add(struct pointers *pointers, const struct pointer *pointer)
{
	pointers->items =
		reallocarray(pointers->items, pointers->count + 1, sizeof(*pointers->items));
	if (!pointers->items)
		abort();
	pointers->items[pointers->count] = *pointer;
	return &pointers->items[pointers->count++];
}

int pointer_make(struct observer *observer, const struct found *found, int parent, mode_t mode,
		 struct pointer **ret_pointer)
{
	struct pointers *pointers = &observer->holding.pointers;
	struct pointer pointer;
	int r = begin(pointers, found, parent, &pointer);

	if (r < 0)
		return r;
	pointer.mode = mode;
	if (pointers_have_drafts(observer))
		r = make_with_draft(observer, &pointer);
	if (r == -EPERM) {
		pointers->none = true;
		r = 0;
	}
	if (r < 0) {
		forget(&pointer);
		return r;
	}
	if (pointer.draft >= 0)
		watch_draft(observer, &pointer);
	*ret_pointer = add(pointers, &pointer);
	return 0;
}

/* Before anybody has it open. */
static int fill_draft(const struct pointer *pointer)
{
	char link[64];
	_cleanup_close_ int fd = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", pointer->draft);
	fd = open(link, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, pointer->mode) < 0)
		return -errno;
	return write_all(fd, pointer->text, pointer->length);
}

int pointer_adopt(struct observer *observer, const struct found *found, int parent,
		  struct pointer **ret_pointer)
{
	struct pointers *pointers = &observer->holding.pointers;
	struct pointer pointer;
	int r;

	if (!pointers_have_drafts(observer) || !S_ISREG(found->st.st_mode))
		return -EACCES;
	r = begin(pointers, found, parent, &pointer);
	if (r < 0)
		return r;
	pointer.was_there = true;
	pointer.mode = found->st.st_mode & 0777;
	pointer.file = (struct thing){found->st.st_dev, found->st.st_ino};
	r = hold_read_text(pointer.parent, pointer.name, DRAFT_MOST, &pointer.text,
			   &pointer.length);
	if (r == 0 && (!is_unchanged(&pointer) || is_written(&pointer)))
		r = -EACCES;
	if (r == 0)
		r = lay_draft(observer, &pointer);
	if (r == 0)
		r = fill_draft(&pointer);
	if (r < 0) {
		forget(&pointer);
		return r;
	}
	watch_draft(observer, &pointer);
	*ret_pointer = add(pointers, &pointer);
	return 0;
}

void pointer_unmake(struct observer *observer, struct pointer *pointer)
{
	(void)unlinkat(pointer->parent, pointer->name, 0);
	forget_removed(&observer->holding.pointers);
}

/* `gitdir: PATH` may lead only to a part of a repository that is guarded itself. */
static bool leads_to_repository(const struct observer *observer, const char *directory,
				const char *text, size_t length)
{
	char real[PATH_MAX];
	_cleanup_free_ char *path = NULL, *target = NULL;
	struct guard_place parent, place;
	const char *top;

	while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	/* All of it is the path for git, whatever lies in it. */
	if (length <= 8 || strncmp(text, "gitdir: ", 8) != 0)
		return false;
	target = strndup(text + 8, length - 8);
	if (!target || strlen(target) != length - 8 || strpbrk(target, "\r\n"))
		return false;
	path = path_resolve(directory, NULL, target);
	if (guard_leads_inside(target)) /* from where it may yet be moved to */
		return false;
	if (!realpath(path, real))
		return false; /* nowhere yet: what is made there later nobody would look at */
	top = hold_tree(observer, real);
	if (!top)
		return false;
	guard_path(top, real, &parent);
	place = guard_ground_of(top, real);
	/* .git/modules itself is none, nor .git/objects, which anything can be written to. */
	return parent.ground == GROUND_REPOSITORY && place.ground == GROUND_REPOSITORY &&
	       !place.names;
}

/* What it says is in order where it lies now. */
static bool may_say(const struct observer *observer, const struct pointer *pointer,
		    const char *text, size_t length)
{
	char directory[PATH_MAX], link[64];
	ssize_t got;

	if (length == 0)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pointer->parent);
	got = readlink(link, directory, sizeof(directory) - 1);
	if (got <= 0 || length > TEXT_MOST)
		return false;
	directory[got] = '\0';
	if (guard_is(pointer->name, "commondir"))
		return !worktree_is_taken_from_above(directory) &&
		       (strcmp(text, "../..\n") == 0 || strcmp(text, "../..") == 0);
	return leads_to_repository(observer, directory, text, length);
}

/* All of a draft; NULL where it cannot be read. */
static char *read_draft(const struct pointer *pointer, size_t *ret_length)
{
	char *text = malloc(DRAFT_MOST + 1);
	size_t length = 0;

	if (!text)
		abort();
	while (length < DRAFT_MOST) {
		ssize_t n =
			pread(pointer->draft, text + length, DRAFT_MOST - length, (off_t)length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	*ret_length = length;
	return text;
}

/* always: what is kept for us, who write it. */
static void set_mode(const struct pointer *pointer, mode_t always)
{
	struct stat st;

	if (fstat(pointer->draft, &st) == 0)
		(void)!fchmodat(pointer->parent, pointer->name, (st.st_mode & 0777) | always, 0);
}

static void put(struct pointer *pointer, const char *text, size_t length)
{
	_cleanup_close_ int fd = openat(pointer->parent, pointer->name,
					O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	/* At once, so that a reader meanwhile finds one of the two; half of it could lead anywhere.
	 */
	if (pwrite(fd, text, length, 0) != (ssize_t)length || ftruncate(fd, (off_t)length) < 0) {
		(void)!ftruncate(fd, 0);
		length = 0;
	}
	free(pointer->text);
	pointer->text = strndup(text, length);
	if (!pointer->text)
		abort();
	pointer->length = length;
	set_mode(pointer, 0600);
}

static bool is_put(const struct pointer *pointer, const char *text, size_t length)
{
	return length == pointer->length &&
	       (length == 0 || memcmp(text, pointer->text, length) == 0);
}

static void look(struct observer *observer, struct pointer *pointer)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (pointer->draft < 0)
		return;
	text = read_draft(pointer, &length);
	if (!is_put(pointer, text, length) && may_say(observer, pointer, text, length) &&
	    is_unchanged(pointer) && !is_written(pointer))
		put(pointer, text, length);
}

bool pointers_serve(struct observer *observer, int fd)
{
	struct pointers *pointers = &observer->holding.pointers;
	_Alignas(struct inotify_event) char buffer[EVENTS];
	ssize_t got;

	if (fd < 0 || fd != pointers->watch)
		return false;
	got = read(pointers->watch, buffer, sizeof(buffer));
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (struct inotify_event *)(buffer + at);

		for (size_t i = 0; i < pointers->count; i++)
			if (pointers->items[i].watch == event->wd)
				look(observer, &pointers->items[i]);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	return true;
}

/* What the command had in its hands, or somebody who came by an open that was under way. */
static void end_file(struct observer *observer, const struct pointer *pointer)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;

	if (hold_read_text(pointer->parent, pointer->name, TEXT_MOST, &text, &length) < 0 ||
	    (text && !may_say(observer, pointer, text, length)))
		hold_put_away(observer, pointer->parent, pointer->name, pointer->path,
			      /* text= */ NULL, 0, /* stays= */ false);
}

static void end_draft(struct observer *observer, struct pointer *pointer)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	text = read_draft(pointer, &length);
	if (!is_put(pointer, text, length) && !may_say(observer, pointer, text, length)) {
		hold_put_away(observer, pointer->parent, pointer->name, pointer->path, text, length,
			      pointer->was_there);
		return;
	}
	if (!is_put(pointer, text, length))
		put(pointer, text, length);
	if (!is_put(pointer, text, length))
		list_add_printf(&observer->holding.lines, "%s could not be written", pointer->path);
	set_mode(pointer, 0);
}

void pointers_end(struct observer *observer)
{
	struct pointers *pointers = &observer->holding.pointers;

	for (size_t i = 0; i < pointers->count; i++) {
		struct pointer *pointer = &pointers->items[i];
		struct stat st;

		if (!is_there(pointer, &st) || S_ISDIR(st.st_mode)) /* gone, or guarded as such */
			continue;
		if (pointer->draft >= 0 && is_unchanged(pointer))
			end_draft(observer, pointer);
		else if (pointer->draft < 0 || is_thing(&pointer->file, &st))
			end_file(observer, pointer);
	}
}
