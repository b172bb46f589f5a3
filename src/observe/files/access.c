/* SPDX-License-Identifier: Apache-2.0 */
/* Programs ask whether they may write before they try, and the kernel knows only that the mount is
 * read-only. Where somebody can be asked, or has given it, they shall try, so they are told what
 * would hold without that mount. Nothing is opened by it, and nothing can be done that could not be
 * done before. */
#include "../observer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What is masked keeps its mask's answer. */
static bool may_be_granted(const struct observer *observer, const struct found *found)
{
	const struct area *area = areas_find(observer->observed->areas, found->path);
	const char *rule = NULL;

	if (!observer->observed->asks &&
	    !permit_covers(observer, PERMIT_WRITE, found->path, /* whole= */ false))
		return false;
	return !observer->observed->alone && !may_write(observer, found->path, &rule) &&
	       !(area && area->state == STATE_DENIED) && !permit_never(observer, found->path);
}

void serve_access(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap)
{
	bool follow = trap->flags < 0 || !(call->data.args[trap->flags] & AT_SYMLINK_NOFOLLOW);
	_cleanup_close_ int fd = -1, object = -1;
	char text[PATH_MAX], link[64];
	struct found found;
	int r;

	r = caller_text((pid_t)call->pid, call->data.args[trap->path], text, sizeof(text));
	if (r == 0 && *text)
		r = caller_find(observer->observed->root, (pid_t)call->pid,
				argument(call, trap->directory, AT_FDCWD), text, follow, &found);
	if (r == 0 && *text)
		fd = found.fd;
	if (fd >= 0 && found.exists && !S_ISLNK(found.st.st_mode) &&
	    may_be_granted(observer, &found))
		object = permit_open_found(observer, &found);
	if (object < 0) { /* the kernel's own word */
		answer_continue(observer, call->id);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", object);
	r = faccessat(AT_FDCWD, link, (int)call->data.args[trap->mode] & (R_OK | W_OK | X_OK),
		      AT_EACCESS);
	answer(observer, call->id, r < 0 ? errno : 0);
}
