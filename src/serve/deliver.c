/* SPDX-License-Identifier: Apache-2.0 */
/* The deliverer's loop: look for what is new, send what is due, wait. */
#include "deliver.h"
#include "../base/units.h"
#include "../escalate/queue.h"
#include "../record/audit.h"
#include "../request/text_json.h"
#include "deliver_parts.h"
#include "ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum {
	LINGER_MS = 10 * 1000,	      /* for the next run, once there is nothing to do */
	BLIND_MS = 250,		      /* where nothing tells of changes */
	WAIT_MOST_MS = 5 * 60 * 1000, /* between two attempts */
	RESTARTS = 20,		      /* of one that was killed */
	BROKEN_MS = 500,	      /* until a policy that cannot be read is looked at again */
};

struct deliverer {
	const char *state;
	struct policy *policy;
	struct box box;
	struct sources sources;
	struct courier couriers[COURIERS];
	int present;	     /* the file whose lock says that somebody may have something to tell */
	uint64_t idle_since; /* 0: it is not */
	size_t waiting;	     /* messages, when they were last looked at */
	uint64_t due_ns;     /* when to look again though nothing has happened; 0: now */
};

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int deliver_policy(const char *state, struct policy **ret_policy, struct error **ret_error)
{
	_cleanup_free_ char *nowhere = NULL;
	struct policy_places places = {
		.home = getenv("HOME"),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.uid = geteuid(),
		.brief = true,
	};

	if (asprintf(&nowhere, "%s/notify", state) < 0)
		abort();
	places.workspace = nowhere;
	return policy_load(&places, ret_policy, ret_error);
}

static int load_policy(struct deliverer *deliverer, struct error **ret_error)
{
	if (deliverer->policy && policy_is_current(deliverer->policy))
		return 0;
	policy_free(deliverer->policy);
	deliverer->policy = NULL;
	return deliver_policy(deliverer->state, &deliverer->policy, ret_error);
}

/* Twice as long each time, and never the same for two: half of it is chance. */
static int64_t wait_after(const struct notify_channel *channel, unsigned attempts)
{
	uint64_t ms = channel->backoff_ns / 1000000;

	for (unsigned i = 1; i < attempts && ms < WAIT_MOST_MS; i++)
		ms *= 2;
	ms = MIN(ms, (uint64_t)WAIT_MOST_MS);
	return (int64_t)(ms / 2 + randombytes_uniform((uint32_t)(ms / 2 + 1)));
}

static void note_failure(const struct deliverer *deliverer, json_t *job, const char *why)
{
	struct audit *audit = NULL;
	json_t *body = json_object();

	json_put_text(body, "delivery", text_of(job, "id"));
	json_put_text(body, "channel", text_of(job, "channel"));
	json_put_text(body, "event", text_of(job, "event"));
	json_put(body, "attempts", json_incref(json_object_get(job, "attempts")));
	json_put_text(body, "why", why);
	if (audit_open(deliverer->state, &audit, NULL) == 0)
		(void)audit_append(audit, "notify.failed", text_of(job, "run"), body, NULL);
	audit_close(audit);
	json_decref(body);
}

/* A program that the policy names, outside the sandbox, may answer the question it was told of.
 * What it says counts like any answer: to that question, as it was, and only if it has that choice.
 */
static void take_answer(const struct deliverer *deliverer, const struct courier *courier)
{
	json_t *said = json_loadb(buffer_text(&courier->said), courier->said.length,
				  JSON_REJECT_DUPLICATES, NULL);
	json_t *answer = json_object_get(said, "answer"), *entry = NULL;
	const char *ask = text_of(courier->job, "ask"), *hash = text_of(courier->job, "hash");
	_cleanup_error_ struct error *error = NULL;
	_cleanup_approver_id_ struct approver_id who =
		approver_of_program(text_of(courier->job, "channel"));

	if (!json_is_object(said) && courier->said.length > 0)
		fail(&error, E_INPUT, "what it printed is no JSON object");
	else if (answer && (!json_is_object(answer) || !courier->may_answer || !ask || !hash))
		fail(&error, E_INPUT, "it answered what it was not asked");
	else if (answer && queue_get(deliverer->state, ask, &entry, &error) == 0) {
		if (strcmp(text_of(entry, "hash") ? text_of(entry, "hash") : "", hash) != 0)
			fail(&error, E_INPUT, "the question has changed since");
		else if (queue_answer(deliverer->state, entry, answer, &who, &error) == 0 &&
			 json_object_get(entry, "ticket")) /* one that nobody keeps goes on, too */
			ticket_adopt(deliverer->state, /* program= */ NULL);
	}
	if (error)
		note_failure(deliverer, courier->job, error->message);
	json_decref(entry);
	json_decref(said);
}

static void give_up(const struct deliverer *deliverer, json_t *job, const char *why)
{
	if (box_bury(&deliverer->box, job, why) == 0)
		note_failure(deliverer, job, why);
}

static void settle(struct deliverer *deliverer, struct courier *courier, enum carried carried)
{
	json_t *job = courier->job;
	const struct notify_channel *channel =
		notify_find(&deliverer->policy->notify, text_of(job, "channel"));
	unsigned attempts = (unsigned)json_integer_value(json_object_get(job, "attempts")) + 1;

	json_put(job, "attempts", json_integer(attempts));
	if (carried == CARRIED) {
		/* First the answer: killed between the two, it is asked again. */
		if (!courier->post && (courier->may_answer || courier->said.length))
			take_answer(deliverer, courier);
		box_remove(&deliverer->box, text_of(job, "id"));
	} else if (carried == CARRIED_NEVER || !channel || attempts >= channel->attempts) {
		give_up(deliverer, job, courier->why);
	} else {
		json_put(job, "next", json_integer(now_ms() + wait_after(channel, attempts)));
		json_put_text(job, "why", courier->why);
		(void)box_update(&deliverer->box, job);
	}
	courier_end(courier);
	json_decref(job);
}

static bool is_carried(const struct deliverer *deliverer, const char *id)
{
	for (size_t i = 0; i < COURIERS; i++)
		if (deliverer->couriers[i].job &&
		    strcmp(text_of(deliverer->couriers[i].job, "id"), id) == 0)
			return true;
	return false;
}

static struct courier *free_courier(struct deliverer *deliverer, json_t *job)
{
	struct courier *found = NULL;
	unsigned same = 0;

	for (size_t i = 0; i < COURIERS; i++) {
		struct courier *courier = &deliverer->couriers[i];

		if (!courier->job)
			found = courier;
		else
			same += strcmp(text_of(courier->job, "channel"), text_of(job, "channel")) ==
				0;
	}
	/* A channel that stalls leaves room for the others. */
	return same < COURIERS / 2 ? found : NULL;
}

/* The next moment at which one is due, as milliseconds from now; -1: there is none. */
static int send_due(struct deliverer *deliverer, size_t *ret_waiting)
{
	_cleanup_list_ struct list ids = {0};
	int64_t now = now_ms(), next = -1;

	(void)id_list(deliverer->box.out, 2 * OUT_MOST, NULL, NULL, &ids);
	*ret_waiting = 0;
	for (size_t i = 0; i < ids.count; i++) {
		bool carried_yet = is_carried(deliverer, ids.items[i]);
		json_t *job = carried_yet ? NULL : box_read(deliverer->box.out, ids.items[i]);
		int64_t due = json_integer_value(json_object_get(job, "next"));
		struct courier *courier;
		enum carried carried;

		/* What is no message would wait for ever, and we with it. */
		*ret_waiting += carried_yet || job;
		/* A clock that was set back keeps nothing waiting. */
		due = due > now + WAIT_MOST_MS ? now : due;
		if (job && due > now)
			next = next < 0 ? due - now : MIN(next, due - now);
		courier = job && due <= now ? free_courier(deliverer, job) : NULL;
		if (!courier) {
			json_decref(job);
			continue;
		}
		carried = courier_start(courier, job, deliverer->policy);
		if (carried != CARRIED_YET)
			settle(deliverer, courier, carried);
	}
	return next < 0 ? -1 : (int)MIN(next + 1, (int64_t)WAIT_MOST_MS);
}

static unsigned look_at_couriers(struct deliverer *deliverer)
{
	unsigned settled = 0;

	for (size_t i = 0; i < COURIERS; i++) {
		struct courier *courier = &deliverer->couriers[i];
		enum carried carried = courier->job ? courier_look(courier) : CARRIED_YET;

		if (carried != CARRIED_YET) {
			settle(deliverer, courier, carried);
			settled++;
		}
	}
	return settled;
}

static int sooner(int one, int other)
{
	return one < 0 ? other : other < 0 ? one : MIN(one, other);
}

static void wait_for_more(struct deliverer *deliverer, int ms)
{
	struct pollfd fds[2 + 3 * COURIERS];
	size_t count = 0;

	fds[count++] = (struct pollfd){
		deliverer->sources.broken ? -1 : eventlog_fd(deliverer->sources.log), POLLIN, 0};
	fds[count++] = (struct pollfd){deliverer->sources.changes, POLLIN, 0};
	for (size_t i = 0; i < COURIERS; i++) {
		if (!deliverer->couriers[i].job)
			continue;
		ms = sooner(ms, courier_milliseconds(&deliverer->couriers[i]));
		count += courier_poll(&deliverer->couriers[i], fds + count);
	}
	(void)poll(fds, count, deliverer->sources.changes < 0 ? sooner(ms, BLIND_MS) : ms);
}

static bool is_somebody_present(const struct deliverer *deliverer)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(deliverer->present, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Nothing is left, for a while, and nobody who could have something to tell. */
static bool is_over(struct deliverer *deliverer, size_t waiting)
{
	uint64_t now = monotonic_ns();

	if (waiting || is_somebody_present(deliverer)) {
		deliverer->idle_since = 0;
		return false;
	}
	if (!deliverer->idle_since)
		deliverer->idle_since = now;
	return deliverer->policy->notify.count == 0 ||
	       now - deliverer->idle_since > LINGER_MS * 1000000ull;
}

/* Reading all that waits takes time, and the log tells of every step of every run. */
static void send(struct deliverer *deliverer, bool changed)
{
	uint64_t now = monotonic_ns();
	int ms;

	if (!changed && now < deliverer->due_ns)
		return;
	ms = send_due(deliverer, &deliverer->waiting);
	deliverer->due_ns = ms < 0 ? UINT64_MAX : now + (uint64_t)ms * 1000000;
}

static int milliseconds_left(const struct deliverer *deliverer)
{
	uint64_t now = monotonic_ns();

	if (deliverer->sources.more || deliverer->due_ns <= now)
		return 0;
	/* Those who were present may have gone: nobody tells us. */
	return (int)MIN((deliverer->due_ns - now) / 1000000 + 1, (uint64_t)LINGER_MS / 4);
}

/* A file that cannot be read, because somebody is writing it perhaps, is no reason to leave:
 * whoever waits for an answer would wait in vain, and nobody else starts one of us meanwhile. Nor
 * does what it said before count any more. */
static int await_policy(struct deliverer *deliverer, struct error **ret_error)
{
	int r;

	while ((r = load_policy(deliverer, ret_error)) < 0 && is_somebody_present(deliverer)) {
		if (ret_error) {
			error_free(*ret_error);
			*ret_error = NULL;
		}
		(void)poll(NULL, 0, BROKEN_MS);
	}
	return r;
}

static int run_loop(struct deliverer *deliverer, struct error **ret_error)
{
	struct stat st;
	int r;

	while ((r = await_policy(deliverer, ret_error)) == 0) {
		bool changed;

		if (fstat(deliverer->box.out, &st) < 0 || st.st_nlink == 0)
			break; /* the state is gone */
		r = sources_look(&deliverer->sources, deliverer->policy);
		if (r < 0)
			return fail_errno(ret_error, E_ENGINE, -r, "writing what is to be told");
		changed = look_at_couriers(deliverer) > 0;
		send(deliverer, changed || deliverer->sources.changed);
		if (is_over(deliverer, deliverer->waiting))
			break;
		wait_for_more(deliverer, milliseconds_left(deliverer));
	}
	return r;
}

static int work(const char *state, const char *after, int present, struct error **ret_error)
{
	struct deliverer deliverer = {.state = state, .present = present, .sources.changes = -1};
	int r = box_open(state, &deliverer.box, ret_error);

	if (r < 0)
		return r;
	(void)signal(SIGPIPE, SIG_IGN);
	box_sweep(&deliverer.box);
	r = sources_open(state, after, &deliverer.box, &deliverer.sources, ret_error);
	if (r == 0)
		r = run_loop(&deliverer, ret_error);
	for (size_t i = 0; i < COURIERS; i++)
		if (deliverer.couriers[i].job) {
			json_decref(deliverer.couriers[i].job);
			courier_end(&deliverer.couriers[i]);
		}
	sources_close(&deliverer.sources);
	policy_free(deliverer.policy);
	box_close(&deliverer.box);
	return r;
}

/* One that was killed is followed by another: a question may wait for an hour, and nobody else
 * starts one meanwhile. Both hold the lock. */
static int guard_work(const char *state, const char *after, int present, struct error **ret_error)
{
	for (int i = 0; i <= RESTARTS; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			_cleanup_error_ struct error *error = NULL;

			_exit(work(state, after, present, &error) < 0 ? 1 : 0);
		}
		if (pid < 0)
			return fail_errno(ret_error, E_ENGINE, errno, "starting the deliverer");
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return 0;
		if (WIFEXITED(status))
			return fail(ret_error, E_ENGINE, "the deliverer of %s failed", state);
		(void)poll(NULL, 0, 50 * (i + 1));
	}
	return fail(ret_error, E_ENGINE, "the deliverer of %s was killed too often", state);
}

static bool take_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

int deliver_serve(const char *state, const char *after, struct error **ret_error)
{
	_cleanup_close_ int lock = -1, present = -1;
	struct box box;
	struct flock free_lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int r = box_open(state, &box, ret_error);

	if (r < 0)
		return r;
	lock = openat(box.notify, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	present = openat(box.notify, "present", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	box_close(&box);
	if (lock < 0 || present < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "opening %s/notify", state);
	/* Who came while we were leaving found the lock held, and started nobody. */
	while (r == 0 && take_lock(lock, F_WRLCK)) {
		r = guard_work(state, after, present, ret_error);
		(void)take_lock(lock, F_UNLCK);
		if (fcntl(present, F_OFD_GETLK, &free_lock) < 0 || free_lock.l_type == F_UNLCK)
			break;
		free_lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	}
	return r;
}
