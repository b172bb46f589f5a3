/* SPDX-License-Identifier: Apache-2.0 */
/* What init is told when the request is judged, in one message, or in a file of memory where it is
 * long: the sandbox, its texts one behind the other, and the masks. Init is a copy of ward from
 * before, the same program with the same structures, so that only what they point to needs a form
 * of its own. */
#include "allow.h"
#include "stage.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/path.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* The lists in the order in which their texts follow; a list keeps its order. */
enum { WRITABLE, SHOWN, CACHES, MOUNTS, ARGV, ENVIRONMENT, CANDIDATES, LISTS };

struct head {
	struct sandbox sandbox; /* its pointers mean nothing here */
	uint64_t counts[LISTS];
	uint64_t texts; /* bytes of all texts; the masks follow */
};

/* The directory itself, not only what is in it, could be renamed. */
static bool is_movable(const struct masks *masks, const char *path)
{
	const struct area *area = areas_find(&masks->areas, path);

	return area && area->state == STATE_WRITABLE && strcmp(area->path, path) != 0;
}

static void add_record(struct buffer *text, char kind, bool is_directory, dev_t device, ino_t inode,
		       const char *path)
{
	buffer_printf(text, "%c%c %llu %llu %s", kind, is_directory ? 'd' : '-',
		      (unsigned long long)device, (unsigned long long)inode, path);
	buffer_add_char(text, '\0');
}

/* A mask holds a name, not the directories above it. Where those are writable they could be
 * renamed, and the next run would not know the secret by its new name: so each is made a mount of
 * its own, which the kernel does not let anybody rename. */
static void add_pins(const struct masks *masks, const char *path, struct list *pins,
		     struct buffer *text)
{
	_cleanup_free_ char *parent = strdup(path);
	size_t first = pins->count;
	char *slash;

	while (parent && (slash = strrchr(parent, '/')) && slash != parent) {
		*slash = '\0';
		/* What is pinned has had all above it pinned before. */
		if (!is_movable(masks, parent) || list_has(pins, parent))
			break;
		list_add(pins, parent);
	}
	for (size_t i = pins->count; i > first; i--) /* parents first */
		add_record(text, 'P', true, 0, 0, pins->items[i - 1]);
}

/* Pins, what is held, masks: records as stage_masks reads them. */
static void add_masks(const struct masks *masks, struct buffer *text)
{
	_cleanup_list_ struct list pins = {0};
	const char *before = "";

	for (size_t i = 0; i < masks->count; i++) {
		const struct mask *mask = &masks->items[i];
		size_t parent = (size_t)(path_last(mask->path) - mask->path);

		/* A guarded name is known again wherever it was moved to. Of the others many may
		 * lie side by side. */
		if (!mask->guard &&
		    (strncmp(before, mask->path, parent) != 0 || strchr(before + parent, '/')))
			add_pins(masks, mask->path, &pins, text);
		if (!mask->guard)
			before = mask->path;
		add_record(text, (char)mask->kind, mask->is_directory, mask->device, mask->inode,
			   mask->path);
		if (mask->kind == MASK_TEXT)
			buffer_add(text, mask->text, strlen(mask->text) + 1);
	}
}

static void add_text(struct buffer *letter, const char *text)
{
	buffer_add(letter, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t add_texts(struct buffer *letter, char *const *items)
{
	uint64_t count = 0;

	for (; items && items[count]; count++)
		add_text(letter, items[count]);
	return count;
}

/* /tmp is not to be had: what looks for a place for its temporary files finds the session's own. */
static uint64_t add_environment(struct buffer *letter, char *const *items, const char *tmp)
{
	static const char *const names[] = {"TMPDIR=", "TMP=", "TEMP=", "TEMPDIR="};
	uint64_t count = 0;

	for (; items && *items; items++) {
		bool leads_away = false;

		for (size_t i = 0; i < ELEMENTS(names); i++)
			leads_away |= strncmp(*items, names[i], strlen(names[i])) == 0;
		if (leads_away)
			continue;
		add_text(letter, *items);
		count++;
	}
	buffer_add_text(letter, names[0]);
	add_text(letter, tmp);
	return count + 1;
}

static int put_in_file(const struct buffer *letter)
{
	_cleanup_close_ int fd = memfd_create("sandbox", MFD_CLOEXEC);

	return fd < 0 || write_all(fd, letter->data, letter->length) < 0 ? -1 : STEAL_FD(fd);
}

int letter_send(int control, int init, const struct sandbox *sandbox, const struct masks *masks,
		unsigned lost, int *ret_fd, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer letter = {0};
	struct note note = {.fd = -1, .init = init};
	struct iovec parts[2] = {{&note, sizeof(note)}};
	struct head head = {.sandbox = *sandbox};
	bool mounts = !(lost & WALL_BIT(WALL_MOUNT_NAMESPACE));
	int r = 0;

	buffer_add(&letter, &head, sizeof(head));
	add_text(&letter, sandbox->cwd);
	add_text(&letter, sandbox->workspace);
	add_text(&letter, sandbox->tmp);
	add_text(&letter, sandbox->cache_home);
	add_text(&letter, sandbox->cache_slot);
	add_text(&letter, sandbox->users);
	add_text(&letter, sandbox->groups);
	add_text(&letter, sandbox->runtime);
	add_text(&letter, sandbox->bundle);
	add_text(&letter, sandbox->rootfs);
	add_text(&letter, sandbox->apparmor);
	add_text(&letter, sandbox->selinux);
	for (size_t i = 0; i < ELEMENTS(sandbox->stdio); i++)
		add_text(&letter, sandbox->stdio[i].path);
	head.counts[WRITABLE] = add_texts(&letter, sandbox->writable->items);
	head.counts[SHOWN] = add_texts(&letter, sandbox->shown->items);
	head.counts[CACHES] = add_texts(&letter, sandbox->caches->items);
	head.counts[MOUNTS] = add_texts(&letter, sandbox->mounts ? sandbox->mounts->items : NULL);
	head.counts[ARGV] = add_texts(&letter, sandbox->argv);
	head.counts[ENVIRONMENT] =
		mounts ? add_texts(&letter, sandbox->environment)
		       : add_environment(&letter, sandbox->environment, sandbox->tmp);
	head.counts[CANDIDATES] = add_texts(&letter, sandbox->candidates->items);
	head.texts = letter.length - sizeof(head);
	memcpy(letter.data, &head, sizeof(head));
	if (mounts) {
		add_masks(masks, &letter);
	} else {
		r = allow_records(sandbox, masks, &letter, ret_error);
	}
	if (r < 0)
		return r;

	/* Of a container pid 1 reads it as well. */
	if ((sandbox->runtime || letter.length > LETTER_SHORT) &&
	    (note.fd = put_in_file(&letter)) < 0)
		return fail(ret_error, E_ENGINE, "there is no memory for what to run");
	note.length = letter.length;
	parts[1] = (struct iovec){letter.data, note.fd < 0 ? letter.length : 0};
	/* Where nobody reads it, that shows when the report does not come. */
	(void)!writev(control, parts, ELEMENTS(parts));
	*ret_fd = note.fd;
	return 0;
}

int letter_note(int fd, const struct rung *rung, uint64_t layers)
{
	return pwrite(fd, rung, sizeof(*rung), offsetof(struct head, sandbox.rung)) ==
				       sizeof(*rung) &&
			       pwrite(fd, &layers, sizeof(layers),
				      offsetof(struct head, sandbox.layers)) == sizeof(layers)
		       ? 0
		       : -1;
}

static const char *take_text(const char **at)
{
	const char *text = *at;

	*at += strlen(text) + 1;
	return text;
}

/* The lists of pointers, one behind the other. Not from the allocator: ours is a copy of one that
 * may have been at work when it was made. */
static char **make_room(const struct head *head)
{
	size_t count = 0;
	char **room;

	for (size_t i = 0; i < ELEMENTS(head->counts); i++)
		count += head->counts[i] + 1;
	room = mmap(NULL, count * sizeof(*room), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room == MAP_FAILED ? NULL : room;
}

static char **take_texts(const char **at, uint64_t count, char ***room)
{
	char **items = *room;

	for (uint64_t i = 0; i < count; i++)
		items[i] = (char *)take_text(at);
	*room += count + 1;
	return items;
}

static struct list take_list(const char **at, uint64_t count, char ***room)
{
	return (struct list){.items = take_texts(at, count, room), .count = count};
}

static int parse(const char *letter, uint64_t length, struct sandbox *ret_sandbox,
		 const char **ret_masks, size_t *ret_masks_length)
{
	static struct list writable, shown, caches, mounts, candidates;
	const struct head *head = (const struct head *)letter;
	struct sandbox sandbox;
	const char *at;
	char **room;

	if (!(room = make_room(head)))
		return -errno;
	at = letter + sizeof(*head);
	sandbox = head->sandbox;
	sandbox.cwd = take_text(&at);
	sandbox.workspace = take_text(&at);
	sandbox.tmp = take_text(&at);
	sandbox.cache_home = take_text(&at);
	sandbox.cache_slot = take_text(&at);
	sandbox.users = take_text(&at);
	sandbox.groups = take_text(&at);
	sandbox.runtime = take_text(&at);
	sandbox.bundle = take_text(&at);
	sandbox.rootfs = take_text(&at);
	sandbox.apparmor = take_text(&at);
	sandbox.selinux = take_text(&at);
	for (size_t i = 0; i < ELEMENTS(sandbox.stdio); i++)
		sandbox.stdio[i].path = take_text(&at);
	writable = take_list(&at, head->counts[WRITABLE], &room);
	shown = take_list(&at, head->counts[SHOWN], &room);
	caches = take_list(&at, head->counts[CACHES], &room);
	mounts = take_list(&at, head->counts[MOUNTS], &room);
	sandbox.argv = take_texts(&at, head->counts[ARGV], &room);
	sandbox.environment = take_texts(&at, head->counts[ENVIRONMENT], &room);
	candidates = take_list(&at, head->counts[CANDIDATES], &room);
	sandbox.writable = &writable;
	sandbox.shown = &shown;
	sandbox.caches = &caches;
	sandbox.mounts = &mounts;
	sandbox.candidates = &candidates;
	*ret_sandbox = sandbox;
	*ret_masks = at;
	*ret_masks_length = length - sizeof(*head) - head->texts;
	return 0;
}

int letter_read(int fd, uint64_t length, struct sandbox *ret_sandbox, const char **ret_masks,
		size_t *ret_masks_length)
{
	const char *letter = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);

	return letter == MAP_FAILED
		       ? -errno
		       : parse(letter, length, ret_sandbox, ret_masks, ret_masks_length);
}

int letter_receive(int control, struct note *ret_note, struct sandbox *ret_sandbox,
		   const char **ret_masks, size_t *ret_masks_length)
{
	static char text[LETTER_SHORT] __attribute__((aligned(16)));
	struct iovec parts[] = {{ret_note, sizeof(*ret_note)}, {text, sizeof(text)}};
	ssize_t got = readv(control, parts, ELEMENTS(parts)) - (ssize_t)sizeof(*ret_note);

	if (got < 0 || (uint64_t)got != (ret_note->fd < 0 ? ret_note->length : 0))
		_exit(0); /* the supervisor changed its mind, or is gone */
	return ret_note->fd < 0
		       ? parse(text, ret_note->length, ret_sandbox, ret_masks, ret_masks_length)
		       : letter_read(ret_note->fd, ret_note->length, ret_sandbox, ret_masks,
				     ret_masks_length);
}
