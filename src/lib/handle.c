/* SPDX-License-Identifier: Apache-2.0 */
/* A handle from its opening to its end. */
#include "lib.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { GREETING_SECONDS = 60 };

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool handle_is_ours(const ward *handle, ward_error **ret_error)
{
	if (handle && handle->owner == getpid())
		return true;
	give_error(ret_error, "usage", NULL,
		   handle ? "the handle is another process's" : "there is no handle");
	return false;
}

static void close_fds(ward *handle)
{
	int *fds[] = {&handle->socket, &handle->wake, &handle->process};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void handle_release(ward *handle)
{
	if (atomic_fetch_sub(&handle->references, 1) > 1)
		return;
	questions_drop(handle, NULL, NULL);
	ward_policy_free(handle->policy);
	json_decref(handle->settings);
	json_decref(handle->local);
	bytes_done(&handle->out);
	bytes_done(&handle->heard);
	free(handle->version);
	pthread_cond_destroy(&handle->changed);
	pthread_mutex_destroy(&handle->lock);
	free(handle);
}

static ward *new_handle(void)
{
	ward *handle = calloc(1, sizeof(*handle));
	pthread_condattr_t attributes;

	if (!handle)
		return NULL;
	atomic_init(&handle->references, 1);
	handle->owner = getpid();
	handle->child = handle->socket = handle->process = -1;
	handle->wake = above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	handle->settings = json_object();
	handle->local = json_array();
	pthread_mutex_init(&handle->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&handle->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (handle->wake < 0 || !handle->settings || !handle->local) {
		close_fds(handle);
		handle_release(handle);
		return NULL;
	}
	return handle;
}

/* With every signal blocked: the host's handlers are for the host's threads. */
static int start_thread(ward *handle)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&handle->thread, NULL, talk, handle);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* The same up to the last dot: what comes after it changes nothing that is said. */
static bool is_of_our_kind(const char *version)
{
	size_t length = (size_t)(strrchr(WARD_VERSION, '.') - WARD_VERSION) + 1;

	return strncmp(version, WARD_VERSION, length) == 0;
}

static int greet(ward *handle, ward_error **ret_error)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += GREETING_SECONDS;
	pthread_mutex_lock(&handle->lock);
	tell_ward(handle,
		  json_pack("{s:s, s:i, s:s}", "jsonrpc", "2.0", "id", 0, "method", "ping"));
	while (!handle->version && !handle->over && r == 0)
		r = pthread_cond_timedwait(&handle->changed, &handle->lock, &until);
	if (!handle->version)
		r = give_error(ret_error, "engine", "ward_set_program names the program",
			       handle->over ? "the program is not ward, or cannot run here"
					    : "the program does not answer");
	else if (!is_of_our_kind(handle->version))
		r = give_error(ret_error, "engine", "install both from one place",
			       "the library is of version %s, the program of %s", WARD_VERSION,
			       handle->version);
	else
		r = 0;
	pthread_mutex_unlock(&handle->lock);
	return r;
}

void handle_end(ward *handle)
{
	end_program(handle);
	pthread_mutex_lock(&handle->lock); /* runs that are left may be cancelled meanwhile */
	close_fds(handle);
	pthread_mutex_unlock(&handle->lock);
	handle_release(handle);
}

ward *ward_open(const char *workspace, ward_error **ret_error)
{
	ward *handle = new_handle();
	int r;

	if (!handle) {
		out_of_memory(ret_error);
		return NULL;
	}
	r = start_program(handle, workspace, ret_error);
	if (r == 0 && (r = start_thread(handle)) == 0) {
		if (greet(handle, ret_error) == 0)
			return handle;
		ward_close(handle);
		return NULL;
	}
	if (r > 0)
		give_error(ret_error, "engine", NULL, "starting a thread: %s", strerror(r));
	handle_end(handle);
	return NULL;
}

void ward_close(ward *handle)
{
	pthread_t thread;

	if (!handle)
		return;
	if (handle->owner != getpid()) {
		close_fds(handle); /* the rest may be in any state, and is the parent's to end */
		return;
	}
	pthread_mutex_lock(&handle->lock);
	handle->closing = true;
	thread = handle->thread;
	handle->closed_inside = pthread_equal(thread, pthread_self());
	wake_thread(handle);
	pthread_mutex_unlock(&handle->lock);
	if (pthread_equal(thread, pthread_self())) {
		pthread_detach(thread); /* it does the rest when the host's function returns */
		return;
	}
	pthread_join(thread, NULL);
	handle_end(handle);
}

void ward_on_output(ward *handle, ward_output_function *function)
{
	if (!handle_is_ours(handle, NULL))
		return;
	pthread_mutex_lock(&handle->lock);
	handle->output = function;
	pthread_mutex_unlock(&handle->lock);
}

void ward_on_notice(ward *handle, ward_notice_function *function)
{
	if (!handle_is_ours(handle, NULL))
		return;
	pthread_mutex_lock(&handle->lock);
	handle->notice = function;
	pthread_mutex_unlock(&handle->lock);
}

void ward_on_ask(ward *handle, ward_ask_function *function)
{
	if (!handle_is_ours(handle, NULL))
		return;
	pthread_mutex_lock(&handle->lock);
	handle->ask = function;
	pthread_mutex_unlock(&handle->lock);
}

void ward_on_withdrawn(ward *handle, ward_withdrawn_function *function)
{
	if (!handle_is_ours(handle, NULL))
		return;
	pthread_mutex_lock(&handle->lock);
	handle->withdrawn = function;
	pthread_mutex_unlock(&handle->lock);
}

void ward_on_ended(ward *handle, ward_ended_function *function)
{
	if (!handle_is_ours(handle, NULL))
		return;
	pthread_mutex_lock(&handle->lock);
	handle->ended = function;
	pthread_mutex_unlock(&handle->lock);
}
