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

/* Without a PATH of its own it has the one that container tools give: the host's is of other
 * directories. */
static int find_environment(struct flow *flow, struct error **ret_error)
{
	_cleanup_list_ struct list image = {0};
	bool has_path = false;
	int r = 0;

	list_done(&flow->environment);
	if (!flow_has_own_root(flow))
		return 0;
	if (container_value(&flow->verdict.container, "image"))
		r = image_environment(flow->rootfs, &image, ret_error);
	for (size_t i = 0; i < image.count; i++)
		has_path |= strncmp(image.items[i], "PATH=", 5) == 0;
	if (!has_path)
		list_add_printf(&image, "PATH=%s", default_path);
	if (r == 0)
		decide_environment_in_image(&flow->verdict.permissions, &image, &flow->environment);
	return r;
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

bool flow_is_apart(const struct flow *flow)
{
	const char *name = container_value(&flow->verdict.container, "runtime");

	return flow->verdict.level == LEVEL_CONTAINER && name && strcmp(name, "runsc") == 0;
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
		for (size_t s = 0; s < masks->shown.count; s++)
			seen |= path_is_under(mask->path, shown_path(masks->shown.items[s]));
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

static const struct {
	const char *name; /* and of its program */
	const char *source, *instead;
	bool served; /* only containerd and CRI-O can start it, from version 2.0 on */
} runtimes[] = {
	{"crun", "apt install crun", "--level restricted", false},
	{"runc", "apt install runc", "--level restricted", false},
	{"runsc", "apt install runsc", "runtime=crun", false},
	{"kata", NULL, NULL, true},
};

static size_t runtime_by_words(const struct list *words)
{
	const char *name = container_value(words, "runtime");
	size_t i = 0;

	while (name && i + 1 < ELEMENTS(runtimes) && strcmp(runtimes[i].name, name) != 0)
		i++;
	return i;
}

/* Before the judgement what was asked for is a guess, as the level is. */
const char *flow_likely_runtime(struct flow *flow)
{
	size_t likely = runtime_by_words(&flow->request->container);

	free(flow->begun_runtime);
	flow->begun_runtime = flow->runtime ? strdup(flow->runtime)
			      : runtimes[likely].served
				      ? NULL
				      : container_find_runtime(runtimes[likely].name);
	return flow->begun_runtime;
}

bool flow_is_begun_for_runtime(const struct flow *flow)
{
	return flow->verdict.level != LEVEL_CONTAINER || !flow->begun_runtime ||
	       !runtime_starts_early(flow->begun_runtime) ||
	       strcmp(flow->begun_runtime, flow->runtime) == 0;
}

/* The runtime by its name. */
static int choose_runtime(struct flow *flow, struct error **ret_error)
{
	size_t i = runtime_by_words(&flow->verdict.container);

	free(flow->runtime);
	flow->runtime = NULL;
	if (runtimes[i].served) {
		fail(ret_error, E_ENGINE,
		     "%s is not used: since 2.0 it has no command that runs a container, and is "
		     "started by containerd or CRI-O alone",
		     runtimes[i].name);
		return error_hint(ret_error, "use runtime=crun, or runtime=runsc for a kernel of "
					     "its own");
	}
	flow->runtime = container_find_runtime(runtimes[i].name);
	if (flow->runtime)
		return 0;
	fail(ret_error, E_ENGINE, "there is no %s on this machine", runtimes[i].name);
	return error_hint(ret_error, "install it (%s), or use %s", runtimes[i].source,
			  runtimes[i].instead);
}

static int cannot(const char *what, struct error **ret_error)
{
	fail(ret_error, E_ENGINE,
	     "%s cannot be had under runsc, whose commands have a kernel of their own", what);
	return error_hint(ret_error, "use runtime=crun, which is the default");
}

/* What only the machine's kernel could hold, or show, is refused under another: better than to run
 * with less than was said. */
static int check_apart(const struct flow *flow, const struct bundle_labels *labels,
		       struct error **ret_error)
{
	const struct permissions *permissions = &flow->verdict.permissions;
	unsigned required = walls_named(&flow->verdict.require) & ~apart_walls();

	if (permissions->publish.count)
		return cannot("published ports", ret_error);
	if (flow->verdict.network != NETWORK_NONE)
		return cannot(flow->verdict.network == NETWORK_FULL
				      ? "the whole network"
				      : "a network with a list of hosts",
			      ret_error);
	if (flow->request->make.count)
		return cannot("--make", ret_error);
	if (!call_set_is_empty(&permissions->deny_calls))
		return cannot("denied system calls", ret_error);
	if (flow->token || policy_has_rules_for_programs(flow->policy))
		return cannot("rules about the programs that a command starts", ret_error);
	if (labels->apparmor || labels->selinux)
		return cannot("a profile of AppArmor or a label of SELinux", ret_error);
	if (required) {
		_cleanup_free_ char *what = NULL;

		if (asprintf(&what, "the wall %s, which the policy requires,",
			     wall_name((enum wall)__builtin_ctz(required))) < 0)
			abort();
		return cannot(what, ret_error);
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

int flow_open_container(struct flow *flow, struct error **ret_error)
{
	int r;

	free(flow->rootfs);
	flow->rootfs = NULL;
	if (flow->verdict.level != LEVEL_CONTAINER)
		return 0;
	if ((r = choose_runtime(flow, ret_error)) < 0 || (r = find_root(flow, ret_error)) < 0)
		return r;
	return find_environment(flow, ret_error);
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
	if ((r = bundle_check(&labels, ret_error)) < 0 ||
	    (r = check_profile(flow, labels.apparmor, ret_error)) < 0 ||
	    (runtime_is_apart(flow->runtime) && (r = check_apart(flow, &labels, ret_error)) < 0))
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
	if (runtime_is_apart(flow->runtime)) {
		sandbox->apart = true;
		sandbox->trap_reads = false;
		flow->bundle = bundle_write_apart(sandbox, &labels);
	} else {
		flow->bundle = bundle_write(&ground, sandbox, &labels);
	}
	sandbox->bundle = flow->bundle;
	if (flow->bundle)
		return 0;
	fail(ret_error, E_USAGE, "words and variables for runsc must be UTF-8");
	return error_hint(ret_error, "use runtime=crun, which is the default");
}
