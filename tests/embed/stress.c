/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that use one handle at once, each in its own way, for the thread sanitizer to watch:
 * stress WARD ROUNDS. In the workspace every `printf` is asked about. */
#include "embed.h"

enum { THREADS = 8, ASKS = 4096 };

static ward *shared;
static int rounds;

/* Questions that nobody has answered yet. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *asks[ASKS];
static int count, working = THREADS;

static int keep(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
{
	int kept;

	(void)run, (void)answer, (void)data;
	pthread_mutex_lock(&lock);
	kept = count < ASKS;
	if (kept)
		asks[count++] = strdup(ward_ask_id(ask));
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return kept ? WARD_LATER : WARD_DENY;
}

static void hear(ward_run *run, int stream, const char *bytes, size_t length, void *data)
{
	(void)run, (void)stream, (void)bytes;
	*(size_t *)data += length;
}

/* Until nobody is left who could ask. */
static void *answer(void *data)
{
	unsigned seed = 7;

	(void)data;
	pthread_mutex_lock(&lock);
	while (working || count) {
		char *id = count ? asks[--count] : NULL;

		if (!id) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		pthread_mutex_unlock(&lock);
		(void)ward_reply(shared, id, rand_r(&seed) % 2 ? WARD_APPROVE : WARD_DENY, NULL,
				 NULL); /* the run may be gone */
		free(id);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void plain_run(ward *handle)
{
	size_t bytes = 0;
	ward_run *run = start_shell(handle, "echo x", &bytes);

	CHECK(ward_wait(run, PATIENCE_MS) == 1);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "x\n") == 0 && bytes == 2);
	ward_run_free(run);
}

static void cancelled_run(ward *handle, int milliseconds)
{
	size_t bytes = 0;
	ward_run *run = start_shell(handle, "echo x; sleep 300", &bytes);

	(void)ward_wait(run, milliseconds);
	ward_cancel(run);
	if (milliseconds % 2)
		CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) != 0);
	ward_run_free(run);
}

static void asking_run(ward *handle)
{
	size_t bytes = 0;
	ward_run *run = start_shell(handle, "printf xy", &bytes);

	CHECK(ward_wait(run, PATIENCE_MS) == 1);
	CHECK(ward_exit_code(run) == 0 ? bytes == 2 : strcmp(kind_of(run), "rejected") == 0);
	ward_run_free(run);
}

/* A handle of its own, closed with all that goes on. */
static void own_handle(void)
{
	size_t bytes[3] = {0};
	ward *own = open_ward();
	ward_run *runs[3];

	ward_on_output(own, hear);
	for (int i = 0; i < 3; i++)
		runs[i] = start_shell(own, "echo x; sleep 300", &bytes[i]);
	ward_close(own);
	for (int i = 0; i < 3; i++) {
		CHECK(ward_wait(runs[i], PATIENCE_MS) == 1 &&
		      strcmp(kind_of(runs[i]), "engine") == 0);
		ward_run_free(runs[i]);
	}
}

static void *work(void *data)
{
	unsigned seed = *(unsigned *)data;

	for (int i = 0; i < rounds; i++) {
		switch (rand_r(&seed) % 8) {
		case 0:
		case 1:
			plain_run(shared);
			break;
		case 2:
		case 3:
			cancelled_run(shared, rand_r(&seed) % 60);
			break;
		case 4:
		case 5:
			asking_run(shared);
			break;
		case 6:
			CHECK(ward_set(shared, "reason", "stress", NULL) == 0);
			CHECK(ward_use_policy(shared, i % 2 ? "pass" : NULL, NULL) == 0);
			break;
		default:
			own_handle();
		}
	}
	pthread_mutex_lock(&lock);
	working--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int pass(const ward_ask *ask, ward_answer *answer, void *data)
{
	(void)ask, (void)answer, (void)data;
	return WARD_PASS;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], answers;
	unsigned seeds[THREADS];
	ward_policy *policy = ward_policy_new(pass, NULL, NULL, NULL);

	CHECK(argc == 3 && ward_set_program(argv[1], NULL) == 0);
	CHECK(ward_policy_register("pass", policy, NULL) == 0);
	ward_policy_free(policy);
	rounds = atoi(argv[2]);
	shared = open_ward();
	ward_on_output(shared, hear);
	ward_on_ask(shared, keep);
	CHECK(pthread_create(&answers, NULL, answer, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		CHECK(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(answers, NULL);
	ward_close(shared);
	CHECK(ward_policy_register("pass", NULL, NULL) == 0);
	return 0;
}
