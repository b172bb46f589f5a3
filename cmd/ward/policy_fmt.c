/* SPDX-License-Identifier: Apache-2.0 */
/* ward policy fmt: policy files in the one form, comments and order as they are. */
#include "policy_fmt.h"
#include "output.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/format.h"
#include "../../src/decide/sets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_DIFFERS = 1, CONTEXT = 3 };

/* As it was when it was read. */
static bool is_unchanged(const char *file, const struct stat *before)
{
	struct stat now;

	return stat(file, &now) == 0 && now.st_dev == before->st_dev &&
	       now.st_ino == before->st_ino && now.st_size == before->st_size &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

static int fill(int fd, const struct stat *before, const struct buffer *text)
{
	struct stat own;

	if (fstat(fd, &own) < 0)
		return -errno;
	if ((own.st_uid != before->st_uid || own.st_gid != before->st_gid) &&
	    fchown(fd, before->st_uid, before->st_gid) < 0)
		return -errno;
	if (fchmod(fd, before->st_mode & 07777) < 0)
		return -errno;
	if (write_all(fd, text->data, text->length) < 0 || fsync(fd) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* As a whole or not at all, with the owner and the mode that it had. */
static int replace(const char *file, const struct stat *before, const struct buffer *text,
		   struct error **ret_error)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.%d.new", file, getpid()) < 0)
		abort();
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "making %s", temporary);
		return error_hint(ret_error, "--diff shows what would change");
	}
	r = fill(fd, before, text);
	if (r == 0 && !is_unchanged(file, before)) {
		unlink(temporary);
		fail(ret_error, E_ENGINE, "%s changed meanwhile; it was not written", file);
		return error_hint(ret_error, "say so again");
	}
	if (r == 0 && rename(temporary, file) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temporary);
		return fail_errno(ret_error, E_ENGINE, -r, "writing %s", file);
	}
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n'))
		count++;
	return count;
}

static const char *line_at(const char *text, size_t line)
{
	for (; line && *text; line--)
		text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
	return text;
}

static void print_lines(char sign, const char *text, size_t from, size_t to)
{
	text = line_at(text, from);
	for (; from < to; from++) {
		size_t length = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, length);

		putchar(sign);
		output_text(sign == '-'	  ? COLOUR_RED
			    : sign == '+' ? COLOUR_GREEN
					  : COLOUR_NONE,
			    line);
		putchar('\n');
		text += length + (text[length] == '\n');
	}
}

static bool same_line(const char *a, const char *b)
{
	size_t length = strcspn(a, "\n");

	return length == strcspn(b, "\n") && memcmp(a, b, length) == 0;
}

/* One piece: from the first line that differs to the last. */
static void print_diff(const char *file, const char *old, const char *new)
{
	size_t old_count = count_lines(old), new_count = count_lines(new), first = 0, last = 0,
	       begin, after;

	while (first < old_count && first < new_count &&
	       same_line(line_at(old, first), line_at(new, first)))
		first++;
	while (last < old_count - first && last < new_count - first &&
	       same_line(line_at(old, old_count - last - 1), line_at(new, new_count - last - 1)))
		last++;
	begin = first > CONTEXT ? first - CONTEXT : 0;
	after = last < CONTEXT ? last : CONTEXT;
	printf("--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", file, file, begin + 1,
	       old_count - last + after - begin, begin + 1, new_count - last + after - begin);
	print_lines(' ', old, begin, first);
	print_lines('-', old, first, old_count - last);
	print_lines('+', new, first, new_count - last);
	print_lines(' ', old, old_count - last, old_count - last + after);
}

/* What does not hold is not touched: its form is not what is wrong with it. */
static int validate(const struct policy_places *places, const char *file, const char *text,
		    size_t length, struct error **ret_error)
{
	_cleanup_list_ struct list warnings = {0};

	if (strcmp(path_last(file), "sets.yaml") == 0)
		return sets_check_file(file, ret_error);
	return policy_parse(text, length, file, places->walls, &warnings, ret_error);
}

static int fmt_text(const struct policy_places *places, const char *file, const char *text,
		    size_t length, struct buffer *ret_text, struct error **ret_error)
{
	int r = validate(places, file, text, length, ret_error);

	return r < 0 ? r : policy_format(text, length, file, ret_text, ret_error);
}

static int fmt_input(const struct policy_places *places, struct error **ret_error)
{
	_cleanup_free_ char *text = malloc(POLICY_LIMIT + 2);
	_cleanup_buffer_ struct buffer form = {0};
	ssize_t length;
	int r;

	if (!text)
		abort();
	length = read_all(STDIN_FILENO, text, POLICY_LIMIT + 1);
	if (length < 0)
		return fail_errno(ret_error, E_INPUT, (int)-length, "reading standard input");
	if (length > POLICY_LIMIT)
		return fail(ret_error, E_INPUT, "more than %d bytes", POLICY_LIMIT);
	text[length] = '\0';
	r = fmt_text(places, "standard input", text, (size_t)length, &form, ret_error);
	if (r == 0)
		fputs(buffer_text(&form), stdout);
	return r;
}

static int fmt_file(const struct policy_places *places, const char *file, enum fmt_mode mode,
		    struct error **ret_error)
{
	_cleanup_free_ char *real = realpath(file, NULL), *text = NULL;
	_cleanup_buffer_ struct buffer form = {0};
	struct stat before;
	size_t length;
	int r;

	/* A link is the user's own way of keeping the file somewhere else. */
	if (!real || stat(real, &before) < 0) {
		fail_errno(ret_error, E_INPUT, errno, "reading %s", file);
		return error_hint(ret_error, "name a policy file, or - for the standard input");
	}
	r = read_file(AT_FDCWD, real, POLICY_LIMIT, &text, &length);
	if (r < 0)
		return fail_errno(ret_error, E_INPUT, -r, "reading %s", file);
	r = fmt_text(places, file, text, length, &form, ret_error);
	if (r < 0 || (form.length == length && memcmp(form.data, text, length) == 0))
		return r;
	if (mode == FMT_DIFF)
		print_diff(file, text, buffer_text(&form));
	else
		printf("%s\n", file);
	if (mode != FMT_WRITE)
		return EXIT_DIFFERS;
	fflush(stdout);
	return replace(real, &before, &form, ret_error);
}

int policy_fmt(const struct policy_places *places, char *const *files, size_t count,
	       enum fmt_mode mode, struct error **ret_error)
{
	_cleanup_free_ char *project = NULL;
	int status = 0;

	if (count == 1 && strcmp(files[0], "-") == 0)
		return fmt_input(places, ret_error);
	if (asprintf(&project, "%s/.ward.yaml", places->workspace) < 0)
		abort();
	if (count == 0)
		return fmt_file(places, project, mode, ret_error);
	for (size_t i = 0; i < count; i++) {
		int r = fmt_file(places, files[i], mode, ret_error);

		if (r < 0)
			return r;
		status = MAX(status, r);
	}
	return status;
}
