/* SPDX-License-Identifier: Apache-2.0 */
/* What a container needs besides a sandbox: its runtime, its bundle. */
#include "flow_state.h"
#include "base/container_word.h"
#include "base/path.h"
#include "base/units.h"
#include "sandbox/container/container.h"
#include "sandbox/container/image.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void collect_mounts(struct flow *flow)
{
	const struct list *words = &flow->verdict.container;

	list_done(&flow->container_mounts);
	for (size_t i = 0; i < words->count; i++)
		if (strncmp(words->items[i], "mount:", 6) == 0)
			list_add(&flow->container_mounts, words->items[i] + 6);
}

/* Which directory becomes its root; NULL stays where that is the host's tree. */
static int find_root(struct flow *flow, struct error **ret_error)
{
	const char *rootfs = container_value(&flow->verdict.container, "rootfs");
	const char *image = container_value(&flow->verdict.container, "image");
	char real[PATH_MAX];

	free(flow->rootfs);
	flow->rootfs = NULL;
	if (rootfs && image) {
		fail(ret_error, E_USAGE, "a container has a rootfs or an image, not both");
		return error_hint(ret_error, "leave one of them out");
	}
	if (image) {
		_cleanup_free_ char *store = path_resolve(flow->own_state, NULL, "images");

		return image[0] == '/' ? image_open(image, store, &flow->rootfs, ret_error)
				       : image_fetch(image, flow->identity.home, store,
						     &flow->rootfs, ret_error);
	}
	if (!rootfs)
		return 0;
	if (!realpath(rootfs, real))
		return fail_errno(ret_error, E_ENGINE, errno, "the container's root %s", rootfs);
	flow->rootfs = strdup(real);
	return 0;
}

bool flow_describes_root(const struct flow *flow)
{
	return container_value(&flow->verdict.container, "rootfs") ||
	       container_value(&flow->verdict.container, "image");
}

bool flow_has_own_root(const struct flow *flow)
{
	return flow->verdict.level == LEVEL_CONTAINER && flow_describes_root(flow);
}

/* In a root of its own only what is mounted there can be seen, and only its masks can fall off. */
void flow_forget_hidden_masks(struct flow *flow)
{
	struct masks *masks = &flow->masks;
	struct texts *texts = &flow->entry.texts;
	size_t kept = 0, text = 0, kept_texts = 0;

	for (size_t i = 0; i < masks->count && flow_has_own_root(flow); i++) {
		struct mask *mask = &masks->items[i];
		bool is_text = mask->kind == MASK_TEXT && text < texts->count;
		bool seen = flow->verdict.permissions.workspace &&
			    path_is_under(mask->path, flow->verdict.permissions.workspace);

		for (size_t w = 0; w < masks->writable.count; w++)
			seen |= path_is_under(mask->path, masks->writable.items[w]);
		if (seen && is_text)
			texts->fds[kept_texts++] = texts->fds[text];
		else if (is_text)
			close_fd(&texts->fds[text]);
		text += is_text;
		if (seen) {
			masks->items[kept++] = *mask;
			continue;
		}
		free(mask->path);
		free(mask->text);
	}
	if (flow_has_own_root(flow)) {
		masks->count = kept;
		texts->count = kept_texts;
	}
}

/* The runtime by its name. */
static int choose_runtime(struct flow *flow, struct error **ret_error)
{
	static const struct {
		const char *name, *program, *source;
		bool apart; /* has a kernel of its own */
	} runtimes[] = {
		{"crun", "crun", "apt install crun", false},
		{"runc", "runc", "apt install runc", false},
		{"runsc", "runsc", "it is part of gVisor, gvisor.dev, and not in Debian", true},
		{"kata", "kata-runtime", "it is part of Kata Containers, and not in Debian", true},
	};
	const char *name = container_value(&flow->verdict.container, "runtime");
	size_t i = 0;

	while (name && i + 1 < ELEMENTS(runtimes) && strcmp(runtimes[i].name, name) != 0)
		i++;
	free(flow->runtime);
	flow->runtime = container_find_runtime(runtimes[i].program);
	if (!flow->runtime) {
		fail(ret_error, E_ENGINE, "there is no %s on this machine", runtimes[i].program);
		return error_hint(ret_error, "install it (%s), or use %s", runtimes[i].source,
				  runtimes[i].apart ? "runtime=crun" : "--level restricted");
	}
	/* The filter that shows calls, Landlock and the masks that are put back are the host
	 * kernel's: with less than that nothing would hold what the policy says. */
	if (runtimes[i].apart) {
		fail(ret_error, E_ENGINE,
		     "%s runs commands under a kernel of its own, into which ward cannot look: no "
		     "denial could be told, no question asked and no mask kept",
		     flow->runtime);
		return error_hint(ret_error, "use runtime=crun, which is the default");
	}
	return 0;
}

/* In root's container /proc is read-only as a whole, and runc says what it wants only when it is in
 * there. */
static int check_profile(const struct flow *flow, const char *profile, struct error **ret_error)
{
	if (!profile || flow->identity.uid != 0 || !runtime_is_root(flow->runtime))
		return 0;
	fail(ret_error, E_ENGINE, "%s cannot put a container of root's under the profile %s",
	     flow->runtime, profile);
	return error_hint(ret_error, "use runtime=crun, which is the default");
}

int flow_prepare_container(struct flow *flow, struct sandbox *sandbox, struct error **ret_error)
{
	const char *size = container_value(&flow->verdict.container, "tmpfs_size");
	const struct ground ground = {
		.level = LEVEL_CONTAINER,
		.network = flow->verdict.network,
		.uid = flow->identity.uid,
		.gid = flow->identity.gid,
	};
	const struct bundle_labels labels = {
		.run = flow->result->run,
		.agent = flow->request->agent,
		.session = flow->request->session,
		.apparmor = container_value(&flow->verdict.container, "apparmor"),
		.selinux = container_value(&flow->verdict.container, "selinux"),
	};
	int r;

	if (flow->verdict.level != LEVEL_CONTAINER)
		return 0;
	if ((r = choose_runtime(flow, ret_error)) < 0 || (r = find_root(flow, ret_error)) < 0 ||
	    (r = bundle_check(&labels, ret_error)) < 0 ||
	    (r = check_profile(flow, labels.apparmor, ret_error)) < 0)
		return r;
	collect_mounts(flow);
	if (size)
		(void)parse_size(size, &sandbox->memory_files, NULL);
	sandbox->rootfs = flow->rootfs;
	sandbox->mounts = &flow->container_mounts;
	free(flow->bundle);
	sandbox->runtime = flow->runtime;
	if (runtime_is_root(flow->runtime)) {
		sandbox->returning_uid = flow->identity.uid;
		sandbox->returning_gid = flow->identity.gid;
	}
	sandbox->apparmor = labels.apparmor;
	sandbox->selinux = labels.selinux;
	flow->bundle = bundle_write(&ground, sandbox, &labels);
	sandbox->bundle = flow->bundle;
	return 0;
}
