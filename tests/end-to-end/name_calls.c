/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make, move, remove and open names, one line each: what came back, and what the
 * directory looks like where that changed. The same lines are expected with and without ward. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

static char too_long[300], too_deep[5000];
static const char *names[] = {
	"file",
	"dir",
	"full",
	"link",
	"dlink",
	"dangling",
	"inward",
	"loop",
	"missing",
	"fifo",
	"missing/x",
	"file/x",
	"dir/x",
	"full/f",
	"dlink/x",
	"link/x",
	"loop/x",
	"dangling/x",
	"dir/",
	"file/",
	"link/",
	"dlink/",
	"dangling/",
	"missing/",
	"dir/x/",
	"dir/.",
	"dir/..",
	".",
	"..",
	"/",
	"",
	"./file",
	"dir/../file",
	".//missing",
	"locked/x",
	"noentry/x",
	"locked",
	"noentry",
	"dlink/../file",
	"missing/../file",
	"file/..",
	"sticky/x",
	"group/x",
	"inward/",
	"dir//x",
	"full/",
	NULL,
	too_long,
	too_deep,
};

static void wipe(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *directory;
	struct dirent *entry;

	if (fd < 0) {
		unlinkat(at, name, 0);
		return;
	}
	directory = fdopendir(fd);
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			fchmodat(fd, entry->d_name, 0700, AT_SYMLINK_NOFOLLOW);
			wipe(fd, entry->d_name);
		}
	closedir(directory);
	unlinkat(at, name, AT_REMOVEDIR);
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	(void)!write(fd, "abc", 3);
	close(fd);
}

static void fresh(void)
{
	umask(022);
	(void)!chdir("/");
	(void)!chdir(getenv("PLACE"));
	chmod("t/locked", 0755);
	chmod("t/noentry", 0755);
	wipe(AT_FDCWD, "t");
	mkdir("t", 0755);
	(void)!chdir("t");
	put("file");
	mkdir("dir", 0755);
	mkdir("full", 0755);
	put("full/f");
	(void)!symlink("file", "link");
	(void)!symlink("dir", "dlink");
	(void)!symlink("nowhere", "dangling");
	(void)!symlink("dir/made", "inward");
	(void)!symlink("loop", "loop");
	mkfifo("fifo", 0644);
	mkdir("locked", 0555);
	mkdir("noentry", 0600);
	mkdir("sticky", 0755);
	chmod("sticky", 01777);
	mkdir("group", 0755);
	chmod("group", 02775);
}

static char *add(char *to, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	to += vsprintf(to, format, arguments);
	va_end(arguments);
	return to;
}

static char *show(char *to, int at, const char *name, int depth)
{
	char target[256] = "";
	struct dirent **entries;
	struct stat st;
	int fd, count;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return to;
	if (S_ISLNK(st.st_mode))
		(void)!readlinkat(at, name, target, sizeof(target) - 1);
	to = add(to, " %s:%o:%ld:%lu%s%s", strlen(name) > 60 ? "LONG" : name, st.st_mode,
		 S_ISREG(st.st_mode) ? (long)st.st_size : 0L, (unsigned long)st.st_nlink,
		 *target ? ">" : "", target);
	if (!S_ISDIR(st.st_mode) || depth > 3)
		return to;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY);
	count = scandirat(fd, ".", &entries, NULL, alphasort);
	to = add(to, "(");
	for (int i = 0; i < count; i++) {
		if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
			to = show(to, fd, entries[i]->d_name, depth + 1);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	close(fd);
	return add(to, ")");
}

static char before[65536], after[65536];

static const char *short_name(const char *name)
{
	return !name		  ? "NULL"
	       : name == too_long ? "TOO-LONG"
	       : name == too_deep ? "TOO-DEEP"
				  : name;
}

/* Most calls change nothing. */
static bool changed = true;

static void begin(void)
{
	if (changed) {
		fresh();
		show(before, AT_FDCWD, ".", 0);
	}
	changed = false;
}

/* An fd that came back is described and closed. */
static void end(long r, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf(" = %s", r < 0 ? strerrorname_np(error) : "ok");
	show(after, AT_FDCWD, ".", 0);
	changed = strcmp(before, after) != 0;
	if (changed)
		printf(" ->%s", after);
	printf("\n");
}

#define TRY(call, ...)                       \
	do {                                 \
		long r_;                     \
                                             \
		begin();                     \
		errno = 0;                   \
		r_ = (call);                 \
		end(r_, errno, __VA_ARGS__); \
	} while (0)

static void make_names(void)
{
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		const char *name = names[i], *shown = short_name(name);

		TRY(syscall(SYS_mkdir, name, 0777), "mkdir %s", shown);
		TRY(syscall(SYS_mknod, name, S_IFREG | 0666, 0), "mknod file %s", shown);
		TRY(syscall(SYS_mknod, name, 0600, 0), "mknod 0 %s", shown);
		TRY(syscall(SYS_mknod, name, S_IFIFO | 0666, 0), "mknod fifo %s", shown);
		TRY(syscall(SYS_mknod, name, S_IFSOCK | 0666, 0), "mknod socket %s", shown);
		TRY(syscall(SYS_mknod, name, S_IFCHR | 0666, makedev(1, 3)), "mknod null %s",
		    shown);
		TRY(syscall(SYS_mknod, name, S_IFDIR | 0777, 0), "mknod directory %s", shown);
		TRY(syscall(SYS_symlink, "some where", name), "symlink %s", shown);
		TRY(syscall(SYS_symlink, "", name), "symlink empty %s", shown);
		TRY(syscall(SYS_symlink, NULL, name), "symlink NULL %s", shown);
		TRY(syscall(SYS_symlink, too_deep, name), "symlink too long %s", shown);
		TRY(syscall(SYS_link, "file", name), "link file %s", shown);
		TRY(syscall(SYS_link, "dir", name), "link dir %s", shown);
		TRY(syscall(SYS_link, name, "twin"), "link %s twin", shown);
		TRY(syscall(SYS_link, name, "dir/twin"), "link %s dir/twin", shown);
		TRY(syscall(SYS_linkat, AT_FDCWD, name, AT_FDCWD, "twin", AT_SYMLINK_FOLLOW),
		    "linkat follow %s twin", shown);
		TRY(syscall(SYS_unlink, name), "unlink %s", shown);
		TRY(syscall(SYS_rmdir, name), "rmdir %s", shown);
		TRY(syscall(SYS_truncate, name, 1), "truncate %s", shown);
		TRY(syscall(SYS_chmod, name, 0700), "chmod %s", shown);
	}
}

static void move_names(void)
{
	static const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE,
					 RENAME_NOREPLACE | RENAME_EXCHANGE, 0x80};

	/* Where both names are impossible, which of two errors comes first is nobody's concern. */
	for (size_t i = 0; i < ELEMENTS(names); i++)
		for (size_t j = 0; j < (i < 8 ? ELEMENTS(names) : 10); j++)
			TRY(syscall(SYS_rename, names[i], names[j]), "rename %s %s",
			    short_name(names[i]), short_name(names[j]));
	for (size_t f = 1; f < ELEMENTS(flags); f++)
		for (size_t i = 0; i < ELEMENTS(names); i++)
			for (size_t j = 0; j < 10; j++)
				TRY(syscall(SYS_renameat2, AT_FDCWD, names[i], AT_FDCWD, names[j],
					    flags[f]),
				    "renameat2 %x %s %s", flags[f], short_name(names[i]),
				    short_name(names[j]));
	changed = true;
	begin();
	(void)!symlink("file", "twin-link");
	(void)!link("file", "twin");
	show(before, AT_FDCWD, ".", 0);
	end(syscall(SYS_rename, "file", "twin"), errno, "rename to a link of its own");
	changed = true;
}

static void open_names(void)
{
	static const int flags[] = {
		O_WRONLY,
		O_RDWR,
		O_RDONLY | O_CREAT,
		O_WRONLY | O_CREAT,
		O_RDWR | O_CREAT | O_EXCL,
		O_WRONLY | O_CREAT | O_TRUNC,
		O_RDWR | O_TRUNC,
		O_RDONLY | O_TRUNC,
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		O_RDWR | O_CREAT | O_NOFOLLOW,
		O_RDWR | O_NOFOLLOW,
		O_RDWR | O_CREAT | O_NONBLOCK,
		O_RDWR | O_DIRECTORY,
		O_RDWR | O_CREAT | O_DIRECTORY,
		O_RDONLY | O_CREAT | O_DIRECTORY,
		O_RDWR | O_TMPFILE,
		O_RDWR | O_TMPFILE | O_EXCL,
		O_WRONLY | O_TMPFILE | O_CREAT,
		O_RDWR | O_CREAT | O_SYNC,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK,
		O_RDWR | O_CREAT | O_PATH,
		O_WRONLY | O_CREAT | O_NOCTTY | O_NOATIME,
		O_ACCMODE | O_CREAT,
	};

	for (size_t f = 0; f < ELEMENTS(flags); f++)
		for (size_t i = 0; i < ELEMENTS(names); i++) {
			int fd, error;

			/* Without the other end it would wait for ever; that has a test of its own.
			 */
			if (names[i] && strcmp(names[i], "fifo") == 0 &&
			    (flags[f] & O_ACCMODE) != O_RDWR)
				continue;
			begin();
			errno = 0;
			fd = (int)syscall(SYS_openat, AT_FDCWD, names[i], flags[f], 0666);
			error = errno;
			if (fd >= 0) {
				printf("fd %d flags %x cloexec %d at %ld: ", fd,
				       fcntl(fd, F_GETFL) & ~O_NOFOLLOW, fcntl(fd, F_GETFD),
				       (long)lseek(fd, 0, SEEK_CUR));
				close(fd);
			}
			end(fd, error, "open %x %s", flags[f], short_name(names[i]));
		}
}

static void say(const char *what, long r)
{
	printf("%s %ld %s\n", what, r < 0 ? r : 0, r < 0 ? strerrorname_np(errno) : "ok");
}

static void use_directories(void)
{
	int file, directory, gone;

	changed = true;
	begin();
	changed = true;
	file = open("file", O_RDONLY);
	directory = open("dir", O_PATH | O_DIRECTORY);
	mkdir("gone", 0755);
	gone = open("gone", O_RDONLY | O_DIRECTORY);
	rmdir("gone");
	say("mkdirat file", syscall(SYS_mkdirat, file, "x", 0777));
	say("mkdirat -5", syscall(SYS_mkdirat, -5, "x", 0777));
	say("mkdirat 999", syscall(SYS_mkdirat, 999, "x", 0777));
	say("mkdirat gone", syscall(SYS_mkdirat, gone, "x", 0777));
	say("openat gone", syscall(SYS_openat, gone, "x", O_CREAT | O_RDWR, 0777));
	say("openat file", syscall(SYS_openat, file, "x", O_CREAT | O_RDWR, 0777));
	say("openat 999", syscall(SYS_openat, 999, "x", O_CREAT | O_RDWR, 0777));
	say("mkdirat O_PATH", syscall(SYS_mkdirat, directory, "x", 0777));
	say("symlinkat", syscall(SYS_symlinkat, "x", directory, "y"));
	say("renameat", syscall(SYS_renameat, directory, "x", AT_FDCWD, "x"));
	say("renameat file", syscall(SYS_renameat, file, "x", AT_FDCWD, "x"));
	say("linkat flags", syscall(SYS_linkat, AT_FDCWD, "file", AT_FDCWD, "z", 0x40));
	close(gone);
	mkdir("here", 0755);
	(void)!chdir("here");
	rmdir("../here");
	say("mkdir in a directory that is gone", syscall(SYS_mkdir, "x", 0777));
	say("open there", syscall(SYS_open, "x", O_CREAT | O_RDWR, 0777));
	close(file);
	close(directory);
}

static void use_masks(void)
{
	static const mode_t masks[] = {0, 02, 022, 027, 077, 0777};

	for (size_t i = 0; i < ELEMENTS(masks); i++) {
		changed = true;
		begin();
		umask(masks[i]);
		close(open("a", O_CREAT | O_RDWR, 0777));
		mkdir("b", 0777);
		mkdir("group/b", 0777);
		close(open("group/a", O_CREAT | O_RDWR, 0777));
		mknod("c", S_IFREG | 0666, 0);
		mkfifo("d", 0666);
		mkdir("e", 01777);
		end(0, 0, "umask %o", masks[i]);
	}
}

/* user::rwx user:PERSON:rwx group::r-x mask::rwx other::---, as the kernel reads it. */
static void use_acl(void)
{
	unsigned char acl[] = {
		2, 0, 0,   0,	1,   0,	  7,  0, 255, 255, 255, 255, 2,	  0,   7,
		0, 1, 0,   0,	0,   4,	  0,  5, 0,   255, 255, 255, 255, 16,  0,
		7, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255,
	};

	changed = true;
	begin();
	memcpy(&acl[16], &(uint32_t){geteuid()}, 4);
	printf("default acl %ld\n",
	       syscall(SYS_setxattr, "dir", "system.posix_acl_default", acl, sizeof(acl), 0));
	umask(077);
	close(open("dir/a", O_CREAT | O_RDWR, 0666));
	mkdir("dir/b", 0777);
	end(0, 0, "below a default acl");
}

static void use_numbers(void)
{
	struct rlimit limit;
	int fd;

	changed = true;
	begin();
	getrlimit(RLIMIT_NOFILE, &limit);
	fd = open("file", O_RDONLY);
	limit.rlim_cur = (rlim_t)fd;
	close(fd);
	setrlimit(RLIMIT_NOFILE, &limit);
	fd = open("file", O_RDWR);
	printf("open at the limit %d %s\n", fd, strerrorname_np(errno));
	fd = open("new", O_CREAT | O_RDWR, 0666);
	printf("create at the limit %d %s\n", fd, strerrorname_np(errno));
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	end(0, 0, "at the limit");
	changed = true;
	begin();
	fd = open("file", O_RDWR | O_TMPFILE);
	fd = open(".", O_RDWR | O_TMPFILE, 0640);
	(void)!write(fd, "text", 4);
	{
		char path[64];

		sprintf(path, "/proc/self/fd/%d", fd);
		printf("naming %d\n", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
		printf("again %d %s\n", open(path, O_RDONLY) >= 0, "");
	}
	end(0, 0, "a file without a name gets one");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	memset(too_long, 'n', sizeof(too_long) - 1);
	memset(too_deep, 'd', sizeof(too_deep) - 1);
	for (size_t i = 100; i < sizeof(too_deep) - 1; i += 100)
		too_deep[i] = '/';
	make_names();
	use_directories();
	use_masks();
	use_acl();
	move_names();
	open_names();
	use_numbers();
	fresh();
	fflush(stdout);
	return 0;
}
