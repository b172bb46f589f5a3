/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a call of execve is about to load. */
#include "program.h"
#include "../observer.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

enum {
	/* More than any program gets with the limits that most machines have. */
	WORDS_MOST = 65536,
	BYTES_MOST = 2 << 20,
	HEAD = 256,	      /* what the kernel looks at of a file to know it */
	INTERPRETERS = 5,     /* of interpreters, before it gives up */
	CHECK_ONLY = 0x10000, /* AT_EXECVE_CHECK: nothing is started */
};

/* One page of the caller's memory, because words mostly lie side by side. */
struct window {
	pid_t tid;
	uint64_t page;
	bool filled;
	char bytes[4096];
};

static int window_read(struct window *window, uint64_t address)
{
	struct iovec here = {window->bytes, sizeof(window->bytes)}, there;
	uint64_t page = address & ~(uint64_t)(sizeof(window->bytes) - 1);

	if (window->filled && window->page == page)
		return 0;
	there = (struct iovec){(void *)(uintptr_t)page, sizeof(window->bytes)};
	window->filled = false;
	if (process_vm_readv(window->tid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		return errno == EPERM ? -EPERM : -EFAULT;
	window->page = page;
	window->filled = true;
	return 0;
}

/* Text of at most `most` bytes with its end; the caller frees. */
static int read_text(struct window *window, uint64_t address, size_t most, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;

	for (;;) {
		size_t at = address & (sizeof(window->bytes) - 1), part;
		const char *end;
		char *longer;
		int r = window_read(window, address);

		if (r < 0)
			return r;
		part = sizeof(window->bytes) - at;
		end = memchr(window->bytes + at, '\0', part);
		if (end)
			part = (size_t)(end - window->bytes) - at + 1;
		if (length + part > most)
			return -E2BIG;
		longer = realloc(text, length + part);
		if (!longer)
			abort();
		text = longer;
		memcpy(text + length, window->bytes + at, part);
		length += part;
		address += part;
		if (end)
			break;
	}
	*ret_text = STEAL(text);
	return 0;
}

static int read_pointer(struct window *window, uint64_t address, uint64_t *ret_pointer)
{
	unsigned char bytes[sizeof(*ret_pointer)];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		int r = window_read(window, address + i);

		if (r < 0)
			return r;
		bytes[i] =
			(unsigned char)window->bytes[(address + i) & (sizeof(window->bytes) - 1)];
	}
	memcpy(ret_pointer, bytes, sizeof(bytes));
	return 0;
}

static int read_words(pid_t tid, uint64_t address, struct list *words)
{
	struct window pointers = {.tid = tid}, texts = {.tid = tid};
	size_t left = BYTES_MOST;

	for (size_t i = 0; address; i++) {
		uint64_t pointer;
		char *text;
		int r = read_pointer(&pointers, address + i * sizeof(pointer), &pointer);

		if (r < 0)
			return r;
		if (pointer == 0)
			break;
		if (i == WORDS_MOST)
			return -E2BIG;
		r = read_text(&texts, pointer, left, &text);
		if (r < 0)
			return r;
		left -= strlen(text) + 1;
		list_take(words, text);
	}
	if (words->count == 0)
		list_add(words, ""); /* as the kernel does */
	return 0;
}

/* The link of /proc to a process's own program, which cannot be followed by name. */
static int open_own_program(int root, pid_t tid, const char *path)
{
	static const char *const self[] = {"/proc/self/exe", "/proc/thread-self/exe"};
	char link[64];
	const char *at;
	int fd;

	for (size_t i = 0; i < ELEMENTS(self); i++)
		if (strcmp(path, self[i]) == 0) {
			snprintf(link, sizeof(link), "/proc/%d/exe", tid);
			fd = open(link, O_PATH | O_CLOEXEC);
			return fd < 0 ? -errno : fd;
		}
	if (strncmp(path, "/proc/", 6) != 0)
		return -ENOENT;
	at = path + 6 + strspn(path + 6, "0123456789");
	if (at == path + 6 || strcmp(at, "/exe") != 0)
		return -ENOENT;
	fd = openat(root, path + 1, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What is to be executed, O_PATH. -errno. */
static int open_program(const struct observer *observer, pid_t tid, int dirfd, const char *path,
			bool follow)
{
	struct found found;
	int fd = caller_fd_named(path), r;

	if (fd >= 0)
		return caller_object(tid, fd);
	if (!*path)
		return caller_object(tid, dirfd);
	fd = open_own_program(observer->observed->root, tid, path);
	if (fd != -ENOENT)
		return fd;
	r = caller_find(observer->observed->root, tid, dirfd, path, follow, &found);
	if (r < 0)
		return r;
	if (!found.exists) {
		close(found.fd);
		return -ENOENT;
	}
	return found.fd;
}

/* The first bytes; -EACCES where only the kernel may read them. */
static ssize_t read_head(int fd, char head[static HEAD + 1])
{
	_cleanup_close_ int file = -1;
	char link[64];

	memset(head, 0, HEAD + 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	file = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return file < 0 ? -errno : read_all(file, head, HEAD);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The line of a script as the kernel reads it: the interpreter, and what follows as one word. False
 * where it takes the file for none. */
static bool read_interpreter(char head[static HEAD + 1], char **ret_name, char **ret_word)
{
	char *end = memchr(head, '\n', HEAD), *name = head + 2, *word;

	if (!end) {
		while (name < head + HEAD && is_blank(*name))
			name++;
		word = name;
		while (word < head + HEAD && *word && !is_blank(*word))
			word++;
		if (word == head + HEAD)
			return false; /* it may be longer than this */
		end = head + HEAD - 1;
	}
	while (end > head + 2 && is_blank(end[-1]))
		end--;
	*end = '\0';
	name = head + 2 + strspn(head + 2, " \t");
	if (!*name)
		return false;
	word = name + strcspn(name, " \t");
	if (*word) {
		*word++ = '\0';
		word += strspn(word, " \t");
	}
	*ret_name = name;
	*ret_word = *word ? word : NULL;
	return true;
}

static bool is_native(const char *head, size_t length)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;

	return length >= sizeof(*elf) && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 &&
	       elf->e_ident[EI_CLASS] == ELFCLASS64 && elf->e_machine == EM_X86_64;
}

static void path_of(int fd, char path[static PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[MAX(length, 0)] = '\0';
}

static int check_file(int fd, struct stat *ret_st)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fstat(fd, ret_st) < 0)
		return -errno;
	if (S_ISLNK(ret_st->st_mode)) /* and was not to be followed */
		return -ELOOP;
	return S_ISREG(ret_st->st_mode) && faccessat(AT_FDCWD, link, X_OK, AT_EACCESS) == 0
		       ? 0
		       : -EACCES;
}

/* Follows the interpreters from the file that was named to the one that is loaded. Takes fd. */
static int follow(const struct observer *observer, pid_t tid, int fd, struct program *program)
{
	char name[PATH_MAX];

	strcpy(name, program->path);
	for (int depth = 0; depth <= INTERPRETERS; depth++) {
		_cleanup_close_ int file = fd;
		_cleanup_(list_done) struct list words = {0};
		_Alignas(Elf64_Ehdr) char head[HEAD + 1];
		char *interpreter, *word;
		ssize_t length;
		int r = check_file(file, &program->loaded);

		if (r < 0)
			return r;
		path_of(file, depth == 0 ? program->real : program->image);
		length = read_head(file, head);
		program->closed |= length < 0;
		if (strncmp(head, "#!", 2) != 0 || !read_interpreter(head, &interpreter, &word)) {
			program->unknown = length > 0 && !is_native(head, (size_t)length);
			if (depth == 0)
				strcpy(program->image, program->real);
			return 0;
		}
		if (strlen(interpreter) >= sizeof(name))
			return -ENAMETOOLONG;
		list_add(&program->scripts, depth == 0 ? program->real : program->image);
		list_add(&words, interpreter);
		if (word)
			list_add(&words, word);
		list_add(&words, name);
		for (size_t i = 1; i < program->words.count; i++)
			list_take(&words, STEAL(program->words.items[i]));
		list_done(&program->words);
		program->words = words;
		words = (struct list){0};
		strcpy(name, interpreter);
		fd = open_program(observer, tid, AT_FDCWD, name, true);
		if (fd < 0)
			return fd;
	}
	return -ELOOP;
}

static void copy_words(const struct list *from, struct list *to)
{
	for (size_t i = 0; i < from->count; i++)
		list_add(to, from->items[i]);
}

int program_find(const struct observer *observer, pid_t tid, const char *path,
		 const struct list *argv, struct program *ret_program)
{
	int fd;

	*ret_program = (struct program){0};
	if (strlen(path) >= sizeof(ret_program->path))
		return -ENAMETOOLONG;
	strcpy(ret_program->path, path);
	copy_words(argv, &ret_program->argv);
	copy_words(argv, &ret_program->words);
	fd = open_program(observer, tid, AT_FDCWD, path, true);
	return fd < 0 ? fd : follow(observer, tid, fd, ret_program);
}

int program_read(const struct observer *observer, const struct seccomp_notif *call,
		 struct program *ret_program)
{
	const uint64_t *arguments = (const uint64_t *)call->data.args;
	bool at = call->data.nr == SYS_execveat;
	int dirfd = at ? (int)arguments[0] : AT_FDCWD, flags = at ? (int)arguments[4] : 0, fd, r;
	struct window window = {.tid = (pid_t)call->pid};
	_cleanup_free_ char *path = NULL;

	*ret_program = (struct program){0};
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | CHECK_ONLY))
		return -EINVAL;
	r = read_text(&window, arguments[at], PATH_MAX, &path);
	if (r < 0)
		return r == -E2BIG ? -ENAMETOOLONG : r;
	if (!*path && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	fd = open_program(observer, window.tid, dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW));
	if (fd < 0)
		return fd;
	path_of(fd, ret_program->real);
	if (dirfd == AT_FDCWD || path[0] == '/')
		strcpy(ret_program->path, path);
	else if (snprintf(ret_program->path, sizeof(ret_program->path), "/dev/fd/%d%s%s", dirfd,
			  *path ? "/" : "", path) >= (int)sizeof(ret_program->path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = read_words(window.tid, arguments[at + 1], &ret_program->argv);
	if (r < 0) {
		close(fd);
		return r;
	}
	copy_words(&ret_program->argv, &ret_program->words);
	return follow(observer, window.tid, fd, ret_program);
}

void program_done(struct program *program)
{
	list_done(&program->argv);
	list_done(&program->words);
	list_done(&program->scripts);
}

int program_loaded(pid_t pid, char exe[static PATH_MAX], struct stat *ret_st, struct list *ret_argv)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	size_t length;
	ssize_t name;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	name = readlink(path, exe, PATH_MAX - 1);
	if (name < 0 || stat(path, ret_st) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ESRCH;
	exe[name] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (read_file(AT_FDCWD, path, 2 * BYTES_MOST, &text, &length) < 0)
		return -ESRCH;
	for (size_t at = 0; at < length; at += strlen(text + at) + 1)
		list_add(ret_argv, text + at);
	return ret_argv->count > 0 ? 0 : -ESRCH;
}
