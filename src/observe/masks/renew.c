/* SPDX-License-Identifier: Apache-2.0 */
/* Watching the directories above the masks, and noticing which of them fell. */
#include "renew.h"
#include "cover.h"
#include "text.h"
#include "../../base/units.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum {
	BEGIN_MS = 50,
	POLL_MS = 100, /* where nothing can be watched */
	AGAIN_MS = 2,  /* where there was nobody to follow in */
	REST_MS = 1,   /* after many events that did not matter: a build makes thousands of files */
	MANY = 16,     /* an editor makes a few before it renames */
	QUIET_MS = 20, /* after which none count any more */
	TRIES = 250,   /* and how often that may be */
	QUICK = 20,    /* how often at once */
	DEPTH = 256,
	ROUNDS = 32,
	EVENTS = 16 * 1024,
};

/* A name in a watched directory: a mask's, or that of a directory above one. */
struct interest {
	int watch;
	size_t mask;
	const char *name; /* in the mask's path */
	size_t length;
};

struct renewal {
	const struct renewed *renewed;
	dev_t store;
	int timer, inotify;
	int user, mounts; /* the sandbox's namespaces; -1: not found yet */
	unsigned tries;
	struct interest *interests; /* by watch */
	size_t count, room;
	bool *marked; /* masks to be looked at */
	bool polls;
	unsigned idle;	 /* how often in a row nothing mattered */
	uint64_t looked; /* when, the last time */
	bool rests;	 /* the watch is not listened to until the timer says so */
	int unwatched;	 /* errno of what could not be watched */
	uint64_t renewals;
	char *first; /* the path of the first mask that fell */
	struct error *failure;
};

static int listen_to(struct renewal *renewal, int fd, int how)
{
	/* The watch once at a time, so that it can be left alone for a while. */
	struct epoll_event event = {
		.events = fd == renewal->inotify ? EPOLLIN | EPOLLONESHOT : EPOLLIN, .data.fd = fd};

	return epoll_ctl(renewal->renewed->epoll, how, fd, &event);
}

static void set_timer(struct renewal *renewal, long first_ms, long then_ms)
{
	const struct itimerspec when = {.it_value = {.tv_nsec = first_ms * 1000000},
					.it_interval = {.tv_nsec = then_ms * 1000000}};

	timerfd_settime(renewal->timer, 0, &when, NULL);
}

int renewal_new(const struct renewed *renewed, struct renewal **ret_renewal,
		struct error **ret_error)
{
	struct renewal *renewal = calloc(1, sizeof(*renewal));

	if (!renewal)
		abort();
	renewal->renewed = renewed;
	renewal->inotify = renewal->user = renewal->mounts = -1;
	renewal->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (renewal->timer < 0 || listen_to(renewal, renewal->timer, EPOLL_CTL_ADD) < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "preparing to watch the masks");
		renewal_free(renewal);
		return -E_ENGINE;
	}
	set_timer(renewal, BEGIN_MS, 0);
	*ret_renewal = renewal;
	return 0;
}

/* The last to close a watch waits for the kernel, ten milliseconds and more. So another process is
 * the last: it holds nothing else, and ends as soon as we have closed ours. */
static void close_elsewhere(int *watch)
{
	static pid_t last = -1;
	struct kernel_clone child = {0};
	int gate[2];

	if (*watch < 0)
		return;
	if (last > 0)
		(void)waitpid(last, NULL, WNOHANG | __WALL);
	if (pipe2(gate, O_CLOEXEC) < 0) {
		close_fd(watch);
		return;
	}
	last = sys_clone_any(&child);
	if (last == 0) {
		char end;

		/* The two that stay are moved to where all others can be closed at once. */
		if (dup2(*watch, 0) == 0 && dup2(gate[0], 1) == 1) {
			sys_close_range(2, ~0u, 0);
			(void)!read(1, &end, 1);
		}
		_exit(0);
	}
	close(gate[0]);
	close_fd(watch);
	close(gate[1]);
}

void renewal_free(struct renewal *renewal)
{
	if (!renewal)
		return;
	close_fd(&renewal->timer);
	close_elsewhere(&renewal->inotify);
	close_fd(&renewal->user);
	close_fd(&renewal->mounts);
	free(renewal->interests);
	free(renewal->marked);
	free(renewal->first);
	error_free(renewal->failure);
	free(renewal);
}

/* From the directory that cannot be watched on, and for all masks, the slower way is gone. */
static void poll_instead(struct renewal *renewal, int errnum)
{
	if (renewal->polls)
		return;
	renewal->polls = true;
	renewal->unwatched = errnum;
	set_timer(renewal, POLL_MS, POLL_MS);
}

static int watch_directory(struct renewal *renewal, const char *path)
{
	int watch = inotify_add_watch(renewal->inotify, path,
				      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW |
					      IN_EXCL_UNLINK);

	if (watch >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return watch;
	/* Closed to us, and not ours to change: whoever can change it is not this user. */
	if (errno == EACCES && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		return -1;
	poll_instead(renewal, errno);
	return -1;
}

static void add_interest(struct renewal *renewal, struct interest interest)
{
	if (renewal->count == renewal->room) {
		renewal->room = MAX(renewal->room * 2, (size_t)64);
		renewal->interests = reallocarray(renewal->interests, renewal->room,
						  sizeof(*renewal->interests));
		if (!renewal->interests)
			abort();
	}
	renewal->interests[renewal->count++] = interest;
}

static int by_watch(const void *a, const void *b)
{
	const struct interest *one = a, *other = b;

	return one->watch < other->watch ? -1 : one->watch > other->watch;
}

static bool is_watched(const struct renewal *renewal, int watch)
{
	const struct interest key = {.watch = watch};

	return renewal->count > 0 &&
	       bsearch(&key, renewal->interests, renewal->count, sizeof(key), by_watch) != NULL;
}

/* Everything above every mask, from the top, so that what comes into being meanwhile is told of by
 * a watch that stands already. Masks follow each other by directory: what the one before had in
 * common is not asked for again. */
static void watch_all(struct renewal *renewal)
{
	const struct masks *masks = renewal->renewed->masks;
	struct interest *old = STEAL(renewal->interests);
	size_t old_count = renewal->count;
	int watches[DEPTH], known = 0;
	char path[PATH_MAX] = "";

	renewal->count = renewal->room = 0;
	for (size_t i = 0; i < masks->count; i++) {
		const char *whole = masks->items[i].path, *name = whole + 1, *slash;
		int depth = 0;

		/* What lies in a layer nobody replaces from outside. */
		if (!mask_hides(&masks->items[i]) || masks->items[i].layered)
			continue;
		for (; depth < DEPTH; depth++, name = slash + 1) {
			size_t above = (size_t)(name - whole);

			if (depth >= known || strncmp(path, whole, above) != 0) {
				memcpy(path, whole, above);
				path[above] = '\0';
				watches[depth] = watch_directory(renewal, path);
				known = depth + 1;
			}
			slash = strchrnul(name, '/');
			if (watches[depth] >= 0)
				add_interest(renewal, (struct interest){watches[depth], i, name,
									(size_t)(slash - name)});
			if (!*slash)
				break;
		}
	}
	if (renewal->count > 0)
		qsort(renewal->interests, renewal->count, sizeof(*renewal->interests), by_watch);
	/* A directory that was moved away would be watched for ever. */
	for (size_t i = 0; i < old_count; i++)
		if (!is_watched(renewal, old[i].watch) &&
		    (i == 0 || old[i].watch != old[i - 1].watch))
			inotify_rm_watch(renewal->inotify, old[i].watch);
	free(old);
}

/* True where something else than a mask lies, or where that cannot be seen from here. */
static bool has_fallen(const struct renewal *renewal, const struct mask *mask)
{
	_cleanup_close_ int fd =
		sys_openat2(renewal->renewed->root, mask->path + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW,
			    RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct stat st;

	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return fstat(fd, &st) < 0 || st.st_dev != renewal->store;
}

static void give_up(struct renewal *renewal, int errnum, const char *path)
{
	fail_errno(&renewal->failure, E_ENGINE, errnum,
		   "the mask over %s fell off when it was replaced from outside, and could not be "
		   "put back: the run was ended",
		   path);
	error_hint(&renewal->failure, "run it again; what lies there now is masked from the start");
	epoll_ctl(renewal->renewed->epoll, EPOLL_CTL_DEL, renewal->timer, NULL);
	if (renewal->inotify >= 0)
		epoll_ctl(renewal->renewed->epoll, EPOLL_CTL_DEL, renewal->inotify, NULL);
}

/* The way in is found before it is needed, and held: when a mask has fallen there is no time for
 * it. False: not yet, or the run is given up. */
static bool find_way(struct renewal *renewal, const char *path)
{
	int r = -EAGAIN;

	if (renewal->mounts >= 0)
		return true;
	for (int i = 0; (i == 0 || (i < QUICK && !renewal->renewed->waiting)) && r == -EAGAIN; i++)
		r = open_namespaces(renewal->renewed->init, "mnt", &renewal->user,
				    &renewal->mounts);
	if (r == 0)
		return true;
	if (r == -EAGAIN && (renewal->renewed->waiting || ++renewal->tries < TRIES))
		set_timer(renewal, AGAIN_MS, renewal->polls ? POLL_MS : 0);
	else if (r == -EAGAIN || path) /* what cannot be found here at all may never be needed */
		give_up(renewal, -r, path ? path : renewal->renewed->masks->items[0].path);
	return false;
}

/* What is seen is that of the new file from now on. */
static void renew_texts(struct renewal *renewal)
{
	const struct masks *masks = renewal->renewed->masks;
	const struct texts *texts = renewal->renewed->texts;
	size_t number = 0;

	for (size_t i = 0; i < masks->count; i++) {
		if (masks->items[i].kind != MASK_TEXT)
			continue;
		if (renewal->marked[i] && texts && number < texts->count)
			text_renew(texts->fds[number], masks->items[i].path);
		number++;
	}
}

/* Looks at the masks that are marked, and puts those back that fell. */
static void renew(struct renewal *renewal)
{
	const struct masks *masks = renewal->renewed->masks;
	size_t fallen = 0, failed = 0;
	int r;

	for (size_t i = 0; i < masks->count; i++) {
		renewal->marked[i] = renewal->marked[i] && mask_hides(&masks->items[i]) &&
				     !masks->items[i].layered &&
				     has_fallen(renewal, &masks->items[i]);
		if (renewal->marked[i] && fallen++ == 0)
			failed = i;
	}
	if (!find_way(renewal, fallen ? masks->items[failed].path : NULL) || fallen == 0)
		return; /* they stay marked */
	if (!renewal->first)
		renewal->first = strdup(masks->items[failed].path);
	r = cover_again(&(struct covering){.masks = masks,
					   .store = renewal->store,
					   .user = renewal->user,
					   .mounts = renewal->mounts},
			renewal->marked, &failed);
	if (r == -ESTALE && ++renewal->tries < TRIES) {
		close_fd(&renewal->user);
		close_fd(&renewal->mounts);
		set_timer(renewal, AGAIN_MS, renewal->polls ? POLL_MS : 0);
		return;
	}
	if (r < 0)
		give_up(renewal, -r, masks->items[failed].path);
	else
		renew_texts(renewal);
	renewal->renewals += fallen;
	memset(renewal->marked, 0, masks->count * sizeof(*renewal->marked));
}

static void mark_all(struct renewal *renewal)
{
	memset(renewal->marked, true, renewal->renewed->masks->count * sizeof(*renewal->marked));
}

static int begin(struct renewal *renewal)
{
	int r = find_store(renewal->renewed->root, &renewal->store);

	if (r < 0)
		return r;
	renewal->marked = calloc(renewal->renewed->masks->count + 1, sizeof(*renewal->marked));
	if (!renewal->marked)
		abort();
	renewal->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (renewal->inotify < 0 || listen_to(renewal, renewal->inotify, EPOLL_CTL_ADD) < 0)
		poll_instead(renewal, errno);
	else
		watch_all(renewal);
	mark_all(renewal);
	return 0;
}

/* True where a directory above a mask is a new one, which is not watched yet. */
static bool mark_event(struct renewal *renewal, const struct inotify_event *event,
		       bool *ret_matters)
{
	size_t low = 0, high = renewal->count, length = event->len ? strlen(event->name) : 0;
	bool above = false;

	if (event->mask & IN_Q_OVERFLOW)
		return true;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (renewal->interests[middle].watch < event->wd)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < renewal->count && renewal->interests[low].watch == event->wd; low++) {
		const struct interest *interest = &renewal->interests[low];

		if (interest->length != length || memcmp(interest->name, event->name, length) != 0)
			continue;
		if (interest->name[length] == '/')
			above = true;
		else
			renewal->marked[interest->mask] = *ret_matters = true;
	}
	return above;
}

static void read_events(struct renewal *renewal)
{
	_Alignas(struct inotify_event) char buffer[EVENTS];
	bool above = false, matters = false;

	for (int round = 0; round < ROUNDS; round++) {
		ssize_t got = read(renewal->inotify, buffer, sizeof(buffer));

		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (struct inotify_event *)(buffer + at);

			at += (ssize_t)(sizeof(*event) + event->len);
			above |= mark_event(renewal, event, &matters);
		}
		if (got < (ssize_t)sizeof(buffer) / 2)
			break;
	}
	if (above) {
		watch_all(renewal);
		mark_all(renewal);
	}
	if (matters || above || monotonic_ns() - renewal->looked > QUIET_MS * 1000000ull)
		renewal->idle = 0;
	renewal->looked = monotonic_ns();
	renewal->rests = !matters && !above && !renewal->polls && ++renewal->idle > MANY;
	if (renewal->rests)
		set_timer(renewal, REST_MS, 0);
	else
		listen_to(renewal, renewal->inotify, EPOLL_CTL_MOD);
}

bool renewal_serve(struct renewal *renewal, int fd)
{
	uint64_t ticks;

	if (!renewal || (fd != renewal->timer && fd != renewal->inotify))
		return false;
	if (renewal->failure)
		return true;
	if (fd == renewal->inotify) {
		read_events(renewal);
	} else {
		(void)!read(renewal->timer, &ticks, sizeof(ticks));
		if (!renewal->marked) {
			int r = begin(renewal);

			if (r < 0)
				give_up(renewal, -r, renewal->renewed->masks->items[0].path);
		} else if (renewal->polls) {
			mark_all(renewal);
		}
		if (renewal->rests) {
			renewal->rests = false;
			listen_to(renewal, renewal->inotify, EPOLL_CTL_MOD);
		}
	}
	if (!renewal->failure)
		renew(renewal);
	return true;
}

bool renewal_failed(const struct renewal *renewal)
{
	return renewal && renewal->failure;
}

struct error *renewal_take_failure(struct renewal *renewal)
{
	return renewal ? STEAL(renewal->failure) : NULL;
}

void renewal_warn(const struct renewal *renewal, struct list *warnings)
{
	if (!renewal)
		return;
	if (renewal->unwatched)
		list_add_printf(warnings,
				"the directories of masked files cannot be watched (%s): they are "
				"looked at every %d ms; see fs.inotify.max_user_watches and "
				"max_user_instances",
				strerror(renewal->unwatched), POLL_MS);
	if (renewal->renewals)
		list_add_printf(warnings,
				"%s was replaced from outside during the run: until it was masked "
				"again, a moment later, it could be read (%llu times in all)",
				renewal->first, (unsigned long long)renewal->renewals);
}
