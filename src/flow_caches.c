/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace's own layers over caches: which of them this run gets, and where they are kept. */
#include "flow_state.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* It is there, in the home as that really is and without a link in it, a directory or a file of
 * this user's. */
static bool is_ours(const char *path, const char *home, const char *real_home,
		    char real[static PATH_MAX])
{
	size_t length = strlen(real_home);
	struct stat st;

	return path_real(path, real, &st) == 0 && strncmp(real, real_home, length) == 0 &&
	       strcmp(real + length, path + strlen(home)) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) && st.st_uid == geteuid();
}

/* What the sandbox has of its own lies over it. */
static bool is_replaced(const char *path)
{
	return path_is_under(path, "/tmp") || path_is_under(path, "/run") ||
	       path_is_under(path, "/dev") || path_is_under(path, "/proc");
}

/* A plain mask in it comes to lie over the layer; what else was found there needs what is really
 * there. */
static bool is_disturbed(const struct masks *masks, const char *path)
{
	for (size_t i = 0; i < masks->count; i++) {
		const struct mask *mask = &masks->items[i];

		if (path_is_under(path, mask->path) ||
		    (path_is_under(mask->path, path) && mask->kind != MASK_FILE &&
		     mask->kind != MASK_DIRECTORY))
			return true;
	}
	for (size_t i = 0; i < masks->writable.count; i++)
		if (path_is_under(path, masks->writable.items[i]) ||
		    path_is_under(masks->writable.items[i], path))
			return true;
	return false;
}

/* Nothing is going to be written, as far as one can tell. Tools that have caches write to them even
 * where they only list something. */
static bool only_reads(const struct flow *flow)
{
	static const char *const tools[] = {"cargo", "go",     "npm",	 "pnpm",    "yarn", "pip",
					    "pip3",  "docker", "podman", "kubectl", "oc"};

	for (size_t c = 0; flow->assessment.only_reads && c < flow->plan.count; c++) {
		const struct command *command = &flow->plan.commands[c];

		for (size_t i = 0; i < command->argc; i++)
			for (size_t t = 0; t < ELEMENTS(tools); t++)
				if (strcmp(path_last(command->argv[i]), tools[t]) == 0)
					return false;
	}
	return flow->assessment.only_reads;
}

/* As the tool would make it: empty, the user's alone. No link is followed on the way. Without it
 * the tool gets no layer, and says what it could not do. */
static void make_cache(const char *home, const char *path)
{
	_cleanup_close_ int at = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *below = strdup(path + strlen(home));
	char *rest = below;

	for (char *part = strsep(&rest, "/"); at >= 0 && part; part = strsep(&rest, "/")) {
		int next;

		if (!part[0])
			continue;
		if (mkdirat(at, part, 0700) < 0 && errno != EEXIST)
			return;
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&at);
		at = next;
	}
}

void flow_open_caches(struct flow *flow, struct sandbox *sandbox)
{
	const struct list *wanted = &flow->verdict.permissions.caches;
	const char *home = flow->identity.home;
	char real_home[PATH_MAX], real[PATH_MAX];
	struct stat st;

	list_done(&flow->caches);
	if (wanted->count == 0 || path_real(home, real_home, &st) < 0)
		return;
	for (size_t i = 0; i < wanted->count && flow->caches.count < CACHES_MOST; i++) {
		if (list_has(&flow->verdict.permissions.needed_caches, wanted->items[i]))
			make_cache(home, wanted->items[i]);
		if (is_ours(wanted->items[i], home, real_home, real) && !is_replaced(real) &&
		    !is_disturbed(&flow->masks, real))
			list_add(&flow->caches, real);
	}
	if (flow->caches.count == 0)
		return;
	flow->caches_read_only = only_reads(flow);
	/* Without a slot there are no layers: a full disk is no reason not to run. */
	if (!flow->cache_slot.path &&
	    cache_open(flow->own_state, flow->verdict.permissions.workspace, flow->caches_read_only,
		       &flow->cache_slot) < 0) {
		list_done(&flow->caches);
		return;
	}
	sandbox->caches_read_only = flow->caches_read_only;
	free(flow->cache_home);
	sandbox->cache_home = flow->cache_home = strdup(real_home);
	sandbox->cache_slot = flow->cache_slot.path;
	sandbox->cache_lock = flow->cache_slot.lock;
}

void flow_note_caches(struct flow *flow)
{
	for (size_t i = 0; i < flow->caches.count; i++) {
		const char *path = flow->caches.items[i];

		if (!(flow->entry.caches >> i & 1))
			continue;
		areas_add(&flow->masks.areas, path,
			  flow->caches_read_only ? STATE_READ_ONLY : STATE_WRITABLE, AREA_LAYER);
		for (size_t m = 0; m < flow->masks.count; m++)
			flow->masks.items[m].layered |=
				path_is_under(flow->masks.items[m].path, path);
	}
}
