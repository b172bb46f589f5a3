/* SPDX-License-Identifier: Apache-2.0 */
/* Runs several commands at once and answers their questions from another thread, in the order in
 * which a person gets to them: each line of input is a number of a question and yes or no.
 *
 *	cc later.c $(pkg-config --cflags --libs ward) -pthread -o later
 *	./later WARD COMMAND... */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ward/ward.h>

enum { QUESTIONS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *questions[QUESTIONS];
static int count;

static int keep(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
{
	const char *object = ward_ask_get(ask, "object");
	int number;

	(void)run, (void)answer;
	pthread_mutex_lock(&lock);
	number = count < QUESTIONS ? count++ : -1;
	if (number >= 0)
		questions[number] = strdup(ward_ask_id(ask));
	pthread_mutex_unlock(&lock);
	if (number < 0)
		return WARD_DENY;
	printf("question %d of %s: %s\n", number, (char *)data,
	       object ? object : ward_ask_get(ask, "command"));
	fflush(stdout);
	return WARD_LATER;
}

static void *answer(void *handle)
{
	char word[4];
	int number;

	while (scanf("%d %3s", &number, word) == 2) {
		ward_error *error = NULL;
		const char *id;

		pthread_mutex_lock(&lock);
		id = number >= 0 && number < count ? questions[number] : NULL;
		pthread_mutex_unlock(&lock);
		if (ward_reply(handle, id, strcmp(word, "yes") == 0 ? WARD_APPROVE : WARD_DENY,
			       NULL, &error) < 0)
			fprintf(stderr, "%s\n", ward_error_message(error));
		ward_error_free(error);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	ward_error *error = NULL;
	ward *handle = NULL;
	ward_run **runs = calloc((size_t)argc, sizeof(*runs));
	pthread_t thread;

	if (argc > 2 && runs && ward_set_program(argv[1], &error) == 0)
		handle = ward_open(NULL, &error);
	if (!handle || pthread_create(&thread, NULL, answer, handle) != 0) {
		fprintf(stderr, "%s\n", error ? ward_error_message(error) : "no command");
		return 125;
	}
	ward_on_ask(handle, keep);
	for (int i = 2; i < argc; i++) {
		runs[i] = ward_start_shell(handle, argv[i], argv[i], &error);
		if (!runs[i])
			fprintf(stderr, "%s\n", ward_error_message(error));
	}
	for (int i = 2; i < argc; i++) {
		if (runs[i] && ward_wait(runs[i], -1) == 1)
			printf("%s: %d\n", argv[i], ward_exit_code(runs[i]));
		fflush(stdout);
		ward_run_free(runs[i]);
	}
	pthread_join(thread, NULL); /* until the end of input */
	ward_close(handle);
	for (int i = 0; i < count; i++)
		free(questions[i]);
	free(runs);
	return 0;
}
