/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the guard that lead git to where no name is guarded: by paths that are too long to be
 * told, by files that say where a repository lies, by links, and by opens that are under way while
 * a directory becomes a repository. The argument is the command that would run. */
#include "evil.h"

#include <limits.h>

/* A place that no name in the workspace guards, and its name outside: /tmp, which a run has of its
 * own. */
static void make_evil_inside(const char *command, char outside[static PATH_MAX])
{
	char line[2 * PATH_MAX], root[PATH_MAX], point[PATH_MAX], config[1200];
	FILE *file = fopen("/proc/self/mountinfo", "r");

	*outside = '\0';
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2 &&
		    strcmp(point, "/tmp") == 0)
			snprintf(outside, PATH_MAX, "%s/evil", root);
	if (!*outside)
		cannot_try("finding the place of /tmp");
	mkdir("/tmp/evil", 0755);
	make_evil_repository("/tmp/evil/.git");
	snprintf(config, sizeof(config),
		 "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = %s\n", command);
	put("/tmp/evil/.git/config", config);
}

static bool is_evil(const char *path)
{
	char text[sizeof(evil_config)] = "";
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	return strcmp(text, evil_config) == 0;
}

/* Where a path is so long that only a part of it is told, names are made in the rest of it, and
 * then moved to where people go. */
static int attack_deep_names(char **arguments)
{
	const size_t longest = PATH_MAX - NAME_MAX - 3, step = 100;
	char name[NAME_MAX + 1], here[PATH_MAX], top[PATH_MAX];
	size_t length;

	(void)arguments;
	if (!getcwd(top, sizeof(top)))
		cannot_try("getcwd");
	memset(name, 'd', sizeof(name));
	name[step] = '\0';
	length = strlen(top);
	while (length + 2 * (step + 1) < longest - strlen("/repository")) {
		if ((mkdir(name, 0755) < 0 && errno != EEXIST) || chdir(name) < 0)
			cannot_try("a long path");
		length += step + 1;
	}
	/* So long that all is told but for the name that counts. */
	name[step] = 'd';
	name[longest - strlen("/repository") - length - 2] = '\0';
	if (mkdir(name, 0755) < 0 || chdir(name) < 0 || mkdir("repository", 0755) < 0 ||
	    chdir("repository") < 0 || !getcwd(here, sizeof(here)))
		cannot_try("a long path");
	mkdir(".git", 0755);
	if (chdir(".git") == 0) {
		mkdir("hooks", 0755);
		mkdir("objects", 0755);
		mkdir("refs", 0755);
		put("HEAD", "ref: refs/heads/main\n");
		put("hooks/pre-commit", evil_hook);
		put("config", evil_config);
		if (chdir("..") < 0)
			cannot_try("chdir");
	}
	if (snprintf(here, sizeof(here), "%s/repository", top) >= (int)sizeof(here) ||
	    chdir("..") < 0 || rename("repository", here) < 0)
		return verdict(false, "moving it up");
	if (chdir(top) < 0)
		cannot_try("chdir");
	make_evil_repository("repository/.git");
	return verdict(is_evil("repository/.git/config"), "a configuration there");
}

/* A pointer is looked at in the end, where it was written; so it goes elsewhere. */
static int attack_pointer_moved(char **arguments)
{
	char outside[PATH_MAX], text[PATH_MAX];

	make_evil_inside(arguments[0], outside);
	snprintf(text, sizeof(text), "gitdir: %.4000s/.git\n", outside);
	mkdir("own.git", 0755);
	mkdir("own.git/objects", 0755);
	mkdir("own.git/objects/x", 0755);
	mkdir("place", 0755);
	if (put("own.git/objects/x/.git", text) < 0)
		return verdict(false, "a pointer");
	return verdict(rename("own.git/objects/x/.git", "place/.git") == 0, "moving a pointer");
}

/* A pointer of one's own may be written again; one that was there gets its path. */
static int attack_pointer_exchanged(char **arguments)
{
	char outside[PATH_MAX], text[PATH_MAX];

	make_evil_inside(arguments[0], outside);
	snprintf(text, sizeof(text), "gitdir: %.4000s/.git\n", outside);
	mkdir("deep/own", 0755);
	put("deep/own/.git", "gitdir: ../er/.git\n");
	if (rename("deep/own", "deep/moved") < 0 || rename("deep/part", "deep/own") < 0)
		return verdict(false, "moving directories");
	return verdict(put("deep/own/.git", text) == 0, "writing the other one");
}

static int attack_link_inside(char **arguments)
{
	char outside[PATH_MAX];

	make_evil_inside(arguments[0], outside);
	return verdict(symlink(outside, "deep/evil") == 0, "a link");
}

/* In steps, the last of which is made first. */
static int attack_links_inside(char **arguments)
{
	char outside[PATH_MAX], *slash;
	const char *at = outside + 1;
	char link[64], text[PATH_MAX], last[64] = "/";
	unsigned count = 0;

	make_evil_inside(arguments[0], outside);
	for (; *at; at = slash + (*slash == '/')) {
		slash = (char *)at + strcspn(at, "/");
		snprintf(text, sizeof(text), "%s/%.*s", count ? last : "", (int)(slash - at), at);
		snprintf(link, sizeof(link), "deep/l%u", count);
		if (symlink(text, link) < 0)
			return verdict(false, "one of the links");
		snprintf(last, sizeof(last), "l%u", count++);
	}
	return verdict(true, "links");
}

/* An open that went on takes its time on a long way, while the directory becomes a repository. */
enum { WAYS = 38, STEPS = 800 };

static void *open_slowly(void *data)
{
	int fd = open("way0", O_RDWR);

	if (fd >= 0 && ftruncate(fd, 0) == 0)
		(void)!write(fd, evil_config, strlen(evil_config));
	return data;
}

static bool adopt_late(const char *place)
{
	static const char good[] = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
	static char way[PATH_MAX], path[64];
	pthread_t thread;
	char name[16];

	if (mkdir(place, 0755) < 0 || chdir(place) < 0)
		cannot_try("a directory");
	put("config", good);
	put("HEAD", "ref: refs/heads/main\n");
	mkdir("objects", 0755);
	mkdir("d", 0755);
	for (int i = 0; i < WAYS; i++) {
		for (int step = 0; step < STEPS; step++)
			memcpy(way + 5 * step, "d/../", 6);
		snprintf(path, sizeof(path), i == WAYS - 1 ? "config" : "way%d", i + 1);
		strcpy(way + 5 * STEPS, path);
		snprintf(name, sizeof(name), "way%d", i);
		if (symlink(way, name) < 0)
			cannot_try("a long way");
	}
	if (pthread_create(&thread, NULL, open_slowly, NULL) != 0)
		cannot_try("a thread");
	usleep((useconds_t)(now_ms() % 13) * 100);
	mkdir("refs", 0755);
	pthread_join(thread, NULL);
	return access("refs", F_OK) == 0 && is_evil("config");
}

/* Once a repository was made nothing is under way any more, so there is one try in a run. */
static int attack_adopted_late(char **arguments)
{
	char place[32];

	(void)arguments;
	snprintf(place, sizeof(place), "late%d", getpid() + (int)(now_ms() % 100000) * 100);
	return verdict(adopt_late(place), "a repository");
}

static const struct attack attacks[] = {
	{"deep-names", 1, attack_deep_names},
	{"pointer-moved", 1, attack_pointer_moved},
	{"pointer-exchanged", 1, attack_pointer_exchanged},
	{"link-inside", 1, attack_link_inside},
	{"links-inside", 1, attack_links_inside},
	{"adopted-late", 1, attack_adopted_late},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
