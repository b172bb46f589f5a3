/* SPDX-License-Identifier: Apache-2.0 */
/* Races for a yes: while a call is judged, another thread makes it mean something else. DIR/a may
 * be written, DIR/b may not, and must not change. */
#include "granted.h"

#include <linux/fs.h>
#include <sys/time.h>

static char path[4096], other[4096];
static volatile char *letter; /* of the path in memory: a or b */
static char fresh[4096];      /* in a, whatever the racer does */
static const char *place;
static volatile int turn;
static volatile bool over;

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void *flip(void *data)
{
	(void)data;
	while (!over) {
		*letter = 'a';
		linger(300);
		*letter = 'b';
		linger(300);
	}
	return NULL;
}

/* What each call finds in a, so that it can succeed; b has the same. */
static void furnish(const char *name)
{
	struct stat st;

	snprintf(fresh, sizeof(fresh), "%s/a/%s", place, name);
	if (name[0] == 'x' && lstat(fresh, &st) < 0)
		write_file(fresh, "x");
	else if (name[0] == 'n' && lstat(fresh, &st) == 0)
		S_ISDIR(st.st_mode) ? rmdir(fresh) : unlink(fresh);
	else if (name[0] == 'd')
		mkdir(fresh, 0700);
}

static void try_open(void)
{
	int fd = (int)syscall(SYS_open, path, O_WRONLY | O_TRUNC, 0);

	if (fd >= 0)
		close(fd);
}

static void try_openat(void)
{
	int fd = openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void try_creat(void)
{
	int fd = creat(path, 0600);

	if (fd >= 0)
		close(fd);
}

static void try_mkdir(void)
{
	mkdir(path, 0700);
}

static void try_symlink(void)
{
	symlink("x", path);
}

static void try_unlink(void)
{
	unlink(path);
}

static void try_rmdir(void)
{
	rmdir(path);
}

static void try_rename_from(void)
{
	rename(path, other);
}

static void try_rename_to(void)
{
	write_file(other, "other");
	syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, path, 0);
}

static void try_link(void)
{
	write_file(other, "other");
	linkat(AT_FDCWD, other, AT_FDCWD, path, 0);
}

static void try_chmod(void)
{
	chmod(path, 0777);
}

static void try_truncate(void)
{
	truncate(path, 3);
}

static void try_utimensat(void)
{
	const struct timespec times[2] = {{1000, 0}, {1000, 0}};

	utimensat(AT_FDCWD, path, times, 0);
}

static void try_bind(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
}

static const struct call {
	const char *name, *object;
	void (*try)(void);
} calls[] = {
	{"open", "x", try_open},	   {"openat", "n", try_openat},
	{"creat", "n", try_creat},	   {"mkdir", "n", try_mkdir},
	{"symlink", "n", try_symlink},	   {"unlink", "x", try_unlink},
	{"rmdir", "d", try_rmdir},	   {"rename-from", "x", try_rename_from},
	{"rename-to", "x", try_rename_to}, {"link", "n", try_link},
	{"chmod", "x", try_chmod},	   {"truncate", "x", try_truncate},
	{"utimensat", "x", try_utimensat}, {"bind", "n", try_bind},
};

/* True once b has changed. */
static bool race(const struct call *call, uint64_t before, uint64_t ms)
{
	uint64_t end = now_ms() + ms;
	unsigned rounds = 0;

	while (now_ms() < end) {
		furnish(call->object);
		call->try();
		rounds++;
		if (fingerprint(place) != before)
			break;
	}
	fprintf(stderr, "%s: %u rounds\n", call->name, rounds);
	return fingerprint(place) != before;
}

/* Every call with a path in memory that another thread rewrites. MS: for how long each. CALL: only
 * that one, or "-". */
static int attack_rewritten(char **arguments)
{
	bool changed = false;
	uint64_t before;

	place = arguments[0];
	snprintf(other, sizeof(other), "%s/a/other", place);
	be_given(below(place, "a"));
	be_refused(place, /* all= */ arguments[2][0] == '-');
	before = fingerprint(place);
	for (size_t i = 0; i < ELEMENTS(calls) && !changed; i++) {
		bool bound = strcmp(calls[i].name, "bind") == 0;
		pthread_t racer;

		if (arguments[2][0] != '-' && strcmp(arguments[2], calls[i].name) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/a/%s", place, calls[i].object);
		snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
		letter = (bound ? address.sun_path : path) + strlen(place) + 1;
		over = false;
		if (pthread_create(&racer, NULL, flip, NULL) != 0)
			cannot_try("starting a thread");
		changed = race(&calls[i], before, strtoull(arguments[1], NULL, 10));
		over = true;
		pthread_join(racer, NULL);
		if (changed)
			fprintf(stderr, "%s has changed what it may not\n", calls[i].name);
	}
	errno = EACCES;
	return verdict(changed, "changing b");
}

/* The same file by a link, by a directory's number, by the working directory: each is swapped. */
static void *swap_link(void *data)
{
	(void)data;
	for (;;) {
		unlink("next");
		symlink(below(place, ++turn % 2 ? "a/x" : "b/x"), "next");
		rename("next", "way");
	}
	return NULL;
}

static int numbers[3];

static void *swap_number(void *data)
{
	(void)data;
	for (;;) {
		dup2(numbers[++turn % 2], numbers[2]);
		linger(300);
	}
	return NULL;
}

static void *swap_place(void *data)
{
	(void)data;
	for (;;) {
		fchdir(numbers[++turn % 2]);
		linger(300);
	}
	return NULL;
}

static int run_swap(char **arguments, void *(*racer)(void *))
{
	uint64_t end, before;

	place = arguments[0];
	be_given(below(place, "a"));
	be_refused(place, /* all= */ false);
	furnish("x");
	before = fingerprint(place);
	numbers[0] = open(below(place, "a"), O_RDONLY | O_DIRECTORY);
	numbers[1] = open(below(place, "b"), O_RDONLY | O_DIRECTORY);
	numbers[2] = dup(numbers[0]);
	start_racer(racer, NULL);
	for (end = now_ms() + RACE_MS; now_ms() < end && fingerprint(place) == before;) {
		int fd = racer == swap_link	? open("way", O_WRONLY | O_TRUNC)
			 : racer == swap_number ? openat(numbers[2], "x", O_WRONLY | O_TRUNC)
						: open("x", O_WRONLY | O_TRUNC);

		if (fd >= 0)
			close(fd);
	}
	errno = EACCES;
	return verdict(fingerprint(place) != before, "changing b");
}

static int attack_swapped_link(char **arguments)
{
	return run_swap(arguments, swap_link);
}

static int attack_swapped_directory(char **arguments)
{
	return run_swap(arguments, swap_number);
}

static int attack_moved(char **arguments)
{
	return run_swap(arguments, swap_place);
}

/* A number that means a pipe is opened again for the caller; it comes to mean a file that may only
 * be read. */
static int attack_reopened(char **arguments)
{
	uint64_t end, before;
	char name[64];
	int ends[2];

	place = arguments[0];
	be_refused(place, /* all= */ false);
	before = fingerprint(place);
	/* From now on the supervisor opens what is opened for writing. */
	if (mkdir("made", 0700) < 0 || mkdir("made/.git", 0700) < 0 || pipe(ends) < 0)
		cannot_try("making a repository and a pipe");
	numbers[0] = ends[0];
	numbers[1] = open(below(place, "b/x"), O_RDONLY);
	numbers[2] = dup(ends[0]);
	snprintf(name, sizeof(name), "/dev/fd/%d", numbers[2]);
	start_racer(swap_number, NULL);
	for (end = now_ms() + RACE_MS; now_ms() < end && fingerprint(place) == before;) {
		int fd = open(name, O_RDWR | O_TRUNC);

		if (fd >= 0)
			close(fd);
	}
	errno = EACCES;
	return verdict(fingerprint(place) != before, "changing b");
}

static const struct attack attacks[] = {
	{"rewritten", 3, attack_rewritten},
	{"swapped-link", 1, attack_swapped_link},
	{"swapped-directory", 1, attack_swapped_directory},
	{"moved", 1, attack_moved},
	{"reopened", 1, attack_reopened},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
