/* SPDX-License-Identifier: Apache-2.0 */
/* Images by reference: podman or docker knows which one is meant and hands it over as an archive;
 * whatever runs is ward's to make, as with any other image. Nothing is fetched from a network: that
 * is for whoever names the image to do. */
#include "container.h"
#include "image.h"
#include "../../base/io.h"
#include "../../base/units.h"
#include "../../sys/detach.h"
#include "../../sys/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MOST = 600, SAID = 400, WORDS = 8 };

/* The first of them that is there is asked. */
static const struct {
	const char *name;
	const char *save[WORDS]; /* before the name of the file, and of the image */
} tools[] = {
	{"podman", {"save", "--quiet", "--format", "oci-archive", "--output"}},
	{"docker", {"save", "--output"}},
};

/* What it said, on one line. */
static void read_said(int fd, char ret_text[static SAID])
{
	ssize_t length = pread(fd, ret_text, SAID - 1, 0);

	length = length < 0 ? 0 : length;
	for (ssize_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)ret_text[i]))
			ret_text[i] = ' ';
	while (length > 0 && ret_text[length - 1] == ' ')
		length--;
	ret_text[length] = '\0';
}

static _Noreturn void become(const char *const *words, char *const *environment, int out,
			     int errors)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* of ward: nobody waits for it any more */
	if (!signals_reset() || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
		_exit(125);
	sys_close_range(3, ~0u, 0);
	execve(words[0], (char *const *)words, environment);
	_exit(127);
}

/* True if it ended well, in time. */
static bool wait_for(pid_t pid)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(pid);
	struct pollfd ends = {pidfd, POLLIN, 0};
	int status = -1, r;

	do
		r = pidfd < 0 ? -1 : poll(&ends, 1, SECONDS_MOST * 1000);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs it as who we are, with little of our environment. ret_said: what it printed, or where it
 * failed what it complained of. */
static bool ask_tool(const char *const *words, const char *home, char ret_said[static SAID])
{
	_cleanup_close_ int out = memfd_create("said", MFD_CLOEXEC),
			    errors = memfd_create("errors", MFD_CLOEXEC);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	_cleanup_free_ char *home_text = NULL, *runtime_text = NULL;
	char *environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C",
			       NULL, NULL, NULL};
	bool good;
	pid_t pid;

	if (asprintf(&home_text, "HOME=%s", home ? home : "/") < 0 ||
	    asprintf(&runtime_text, "XDG_RUNTIME_DIR=%s", runtime ? runtime : "") < 0)
		abort();
	environment[2] = home_text;
	environment[3] = runtime ? runtime_text : NULL;
	ret_said[0] = '\0';
	if (out < 0 || errors < 0)
		return false;
	pid = fork();
	if (pid == 0)
		become(words, environment, out, errors);
	good = pid > 0 && wait_for(pid);
	read_said(good ? out : errors, ret_said);
	return good;
}

/* "sha256:ID" or "ID". */
static const char *id_of(const char *said)
{
	const char *id = strncmp(said, "sha256:", 7) == 0 ? said + 7 : said;

	return strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64 ? id : NULL;
}

static int take_over(size_t tool, const char *program, const char *id, const char *known,
		     const char *home, const char *store, char **ret_root, struct error **ret_error)
{
	const char *words[WORDS + 3] = {program};
	_cleanup_free_ char *file = NULL;
	struct image_room room;
	char said[SAID];
	size_t count = 1;
	int r = image_room_make(store, &room, ret_error);

	if (r == 0 && asprintf(&file, "%s/%s/archive", store, room.name) < 0)
		abort();
	for (size_t i = 0; tools[tool].save[i]; i++)
		words[count++] = tools[tool].save[i];
	words[count++] = file;
	words[count] = id; /* and not its name, which may mean another by now */
	if (r == 0 && !ask_tool(words, home, said))
		r = fail(ret_error, E_ENGINE, "%s could not hand over the image %s: %s",
			 tools[tool].name, id, said);
	if (r == 0)
		r = image_open(file, store, ret_root, ret_error);
	image_room_done(&room);
	if (r == 0)
		image_remember(store, known, *ret_root);
	return r;
}

int image_fetch(const char *reference, const char *home, const char *store, char **ret_root,
		struct error **ret_error)
{
	_cleanup_free_ char *program = NULL;
	char said[SAID], known[80];
	const char *id;
	size_t tool = 0;
	int r;

	while (tool < ELEMENTS(tools) && !(program = container_find_runtime(tools[tool].name)))
		tool++;
	if (!program) {
		fail(ret_error, E_ENGINE,
		     "the image %s is a reference, and neither podman nor docker is on this "
		     "machine",
		     reference);
		return error_hint(ret_error, "install one (apt install podman), or name the "
					     "absolute path of a layout or an archive");
	}
	if (!ask_tool((const char *[]){program, "image", "inspect", "--format", "{{.Id}}",
				       reference, NULL},
		      home, said) ||
	    !(id = id_of(said))) {
		fail(ret_error, E_ENGINE, "%s has no image %s: %s", tools[tool].name, reference,
		     said);
		return error_hint(ret_error,
				  "%s pull %s, or name the absolute path of a layout or an archive",
				  tools[tool].name, reference);
	}
	if ((r = make_directories(store, 0700)) < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "making %s", store);
	/* One that was handed over before is there. */
	snprintf(known, sizeof(known), "id-%s", id);
	*ret_root = image_known(store, known);
	return *ret_root ? 0
			 : take_over(tool, program, id, known, home, store, ret_root, ret_error);
}
