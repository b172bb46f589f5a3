/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: what lies on disk, who may take it up, and what becomes of it. This program is its own
 * keeper. */
#include "base/io.h"
#include "escalate/queue.h"
#include "serve/ticket_parts.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

enum { BOUND_MS = 60000 };

static char world[] = "/tmp/ward-ticket-XXXXXX", home[64], state[64], workspace[64];

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **data)
{
	char path[128];

	(void)data;
	assert_non_null(mkdtemp(world));
	snprintf(home, sizeof(home), "%s/home", world);
	snprintf(state, sizeof(state), "%s/state/ward", world);
	snprintf(workspace, sizeof(workspace), "%s/work", world);
	assert_int_equal(make_directories(state, 0700), 0);
	assert_int_equal(mkdir(workspace, 0700), 0);
	snprintf(path, sizeof(path), "%s/.config/ward", home);
	assert_int_equal(make_directories(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.config/ward/ward.yaml", home);
	write_file(path, "version: 1\nrules:\n  - {command: touch, do: ask, why: a test}\n");
	setenv("HOME", home, 1);
	unsetenv("XDG_CONFIG_HOME");
	snprintf(path, sizeof(path), "%s/state", world);
	setenv("XDG_STATE_HOME", path, 1);
	return 0;
}

/* A keeper may have told of the end and still be at work on its last files. */
static int tear_down(void **data)
{
	int r = -1;

	(void)data;
	for (int i = 0; i < 1000 && (r = remove_tree(AT_FDCWD, world)) < 0; i++)
		usleep(10000);
	return r;
}

static void make_request(struct request *request, const char *script)
{
	request_init(request);
	request->mode = MODE_SHELL;
	request->script = strdup(script);
	request->workspace = strdup(workspace);
	request->cwd = strdup(workspace);
	request->session = strdup("tickets");
}

static void start(const char *script, const struct ticket_options *options,
		  char ret_ticket[static ID_TEXT])
{
	_cleanup_request_ struct request request;
	struct error *error = NULL;

	make_request(&request, script);
	if (ticket_start(state, &request, options, ret_ticket, &error) < 0)
		fail_msg("%s", error->message);
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Until it is so, or the bound is reached. */
static json_t *await(const char *ticket, const char *word)
{
	json_t *status = NULL;

	for (int i = 0; i < BOUND_MS / 10; i++) {
		json_decref(status);
		assert_int_equal(ticket_status(state, ticket, &status, NULL), 0);
		if (strcmp(text_of(status, "state"), word) == 0)
			return status;
		poll(NULL, 0, 10);
	}
	fail_msg("%s is %s, not %s", ticket, text_of(status, "state"), word);
	return NULL;
}

static void await_word(const char *ticket, const char *word)
{
	json_decref(await(ticket, word));
}

static json_t *await_question(const char *ticket)
{
	json_t *status = NULL, *entry = NULL;

	for (int i = 0; i < BOUND_MS / 10 && !entry; i++) {
		assert_int_equal(ticket_status(state, ticket, &status, NULL), 0);
		if (queue_find(state, text_of(status, "ask"), 1, &entry, NULL) < 0)
			poll(NULL, 0, 10);
		json_decref(status);
	}
	assert_non_null(entry);
	return entry;
}

static void answer(json_t *entry, const char *word)
{
	const struct approver_id who = {.way = "user:test", .by = "test"};
	json_t *object = json_pack("{s:s}", "answer", word);
	struct error *error = NULL;

	if (queue_answer(state, entry, object, &who, &error) < 0)
		fail_msg("%s", error->message);
	json_decref(object);
}

/* The number of its keeper, who is killed. */
static void kill_keeper(const char *ticket)
{
	_cleanup_ticket_ struct ticket opened = TICKET_NONE;
	char text[16] = "";
	int pid;

	assert_int_equal(ticket_open(state, ticket, &opened, NULL), 0);
	for (int i = 0; i < BOUND_MS / 10 && atoi(text) <= 1; i++) {
		(void)!pread(opened.lock, text, sizeof(text) - 1, 0);
		poll(NULL, 0, 10);
	}
	pid = atoi(text);
	assert_true(pid > 1);
	kill(pid, SIGKILL);
	for (int i = 0; i < BOUND_MS / 10 && ticket_is_locked(&opened); i++)
		poll(NULL, 0, 10);
	assert_false(ticket_is_locked(&opened));
}

static void assert_output(const char *ticket, enum ticket_stream stream, const char *text)
{
	char data[256];
	size_t length;

	assert_int_equal(
		ticket_read_output(state, ticket, stream, 0, data, sizeof(data) - 1, &length, NULL),
		0);
	data[length] = '\0';
	assert_string_equal(data, text);
}

static bool is_in(const char *ticket, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/tickets/%s/%s", state, ticket, name);
	return access(path, F_OK) == 0;
}

static void await_gone(const char *ticket, const char *name)
{
	for (int i = 0; i < BOUND_MS / 10 && is_in(ticket, name); i++)
		poll(NULL, 0, 10);
	assert_false(is_in(ticket, name));
}

static void what_nobody_is_asked_about_runs_without_its_caller(void **data)
{
	char ticket[ID_TEXT];
	json_t *status, *result;

	(void)data;
	start("echo out; echo err >&2; exit 3", &(struct ticket_options){0}, ticket);
	status = await(ticket, "done");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 3);
	assert_string_equal(text_of(status, "session"), "tickets");
	assert_output(ticket, TICKET_STDOUT, "out\n");
	assert_output(ticket, TICKET_STDERR, "err\n");
	assert_int_equal(ticket_result(state, ticket, &result, NULL), 0);
	assert_string_equal(text_of(result, "stdout"), "out\n");
	assert_string_equal(text_of(result, "run"), text_of(status, "run"));
	await_gone(ticket, "request.json");
	json_decref(result);
	json_decref(status);
}

static void an_answer_lets_it_go_on(void **data)
{
	char ticket[ID_TEXT];
	json_t *entry, *status;

	(void)data;
	start("touch yes; echo done", &(struct ticket_options){0}, ticket);
	entry = await_question(ticket);
	assert_string_equal(text_of(entry, "ticket"), ticket);
	await_word(ticket, "waiting");
	answer(entry, "approve");
	json_decref(entry);
	status = await(ticket, "done");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 0);
	assert_output(ticket, TICKET_STDOUT, "done\n");
	json_decref(status);
}

static void a_no_is_its_end(void **data)
{
	char ticket[ID_TEXT];
	json_t *entry, *status;

	(void)data;
	start("touch no", &(struct ticket_options){0}, ticket);
	entry = await_question(ticket);
	answer(entry, "deny");
	json_decref(entry);
	status = await(ticket, "denied");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 126);
	json_decref(status);
}

static void silence_is_its_end(void **data)
{
	char ticket[ID_TEXT];
	json_t *status;

	(void)data;
	start("touch no", &(struct ticket_options){.patience_ns = 1000000000}, ticket);
	status = await(ticket, "expired");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 126);
	json_decref(status);
}

static void an_answer_given_while_nobody_keeps_it_is_found(void **data)
{
	char ticket[ID_TEXT], mark[128];
	json_t *entry, *again, *status;

	(void)data;
	start("touch found; echo x >> once", &(struct ticket_options){0}, ticket);
	entry = await_question(ticket);
	kill_keeper(ticket);
	await_word(ticket, "waiting");
	/* It still stands, as it was. */
	again = await_question(ticket);
	assert_true(json_equal(entry, again));
	answer(again, "approve");
	json_decref(entry);
	json_decref(again);
	ticket_adopt(state, NULL);
	ticket_adopt(state, NULL);
	status = await(ticket, "done");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 0);
	json_decref(status);
	snprintf(mark, sizeof(mark), "%s/once", workspace);
	{
		struct stat st;

		assert_int_equal(stat(mark, &st), 0);
		assert_int_equal(st.st_size, 2);
	}
}

static void what_had_begun_is_lost_and_starts_again_by_word_alone(void **data)
{
	char ticket[ID_TEXT];
	json_t *status;

	(void)data;
	start("if [ -e second ]; then echo again; else > second; sleep 1000; fi",
	      &(struct ticket_options){0}, ticket);
	await_word(ticket, "running");
	for (int i = 0; i < BOUND_MS / 10; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/second", workspace);
		if (access(path, F_OK) == 0)
			break;
		poll(NULL, 0, 10);
	}
	kill_keeper(ticket);
	await_word(ticket, "lost");
	ticket_adopt(state, NULL);
	ticket_adopt(state, NULL);
	status = await(ticket, "lost");
	assert_int_equal(json_integer_value(json_object_get(status, "status")), 125);
	json_decref(status);
	assert_true(is_in(ticket, "request.json"));
	assert_int_equal(ticket_retry(state, ticket, NULL, NULL), 0);
	status = await(ticket, "done");
	assert_int_equal(json_integer_value(json_object_get(status, "tries")), 2);
	json_decref(status);
	assert_output(ticket, TICKET_STDOUT, "again\n");
	assert_true(ticket_retry(state, ticket, NULL, NULL) < 0);
}

static void what_is_cancelled_ends(void **data)
{
	char waits[ID_TEXT], runs[ID_TEXT], orphan[ID_TEXT];

	(void)data;
	start("touch no", &(struct ticket_options){0}, waits);
	start("touch no", &(struct ticket_options){0}, orphan);
	start("echo a; sleep 1000", &(struct ticket_options){0}, runs);
	json_decref(await_question(waits));
	json_decref(await_question(orphan));
	kill_keeper(orphan);
	await_word(runs, "running");
	assert_int_equal(ticket_cancel(state, waits, TICKET_ASK, NULL), 0);
	assert_int_equal(ticket_cancel(state, orphan, TICKET_ASK, NULL), 0);
	assert_int_equal(ticket_cancel(state, runs, TICKET_ASK, NULL), 0);
	await_word(waits, "cancelled");
	await_word(orphan, "cancelled");
	await_word(runs, "cancelled");
	await_gone(orphan, "request.json");
}

static void two_keepers_do_not_keep_one_ticket(void **data)
{
	char ticket[ID_TEXT];
	struct error *error = NULL;

	(void)data;
	start("touch no", &(struct ticket_options){0}, ticket);
	json_decref(await_question(ticket));
	assert_true(ticket_keep(state, ticket, -1, &error) < 0);
	assert_non_null(strstr(error->message, "has a keeper"));
	error_free(error);
	assert_int_equal(ticket_cancel(state, ticket, TICKET_ASK, NULL), 0);
	await_word(ticket, "cancelled");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_is_asked_about_runs_without_its_caller),
		cmocka_unit_test(an_answer_lets_it_go_on),
		cmocka_unit_test(a_no_is_its_end),
		cmocka_unit_test(silence_is_its_end),
		cmocka_unit_test(an_answer_given_while_nobody_keeps_it_is_found),
		cmocka_unit_test(what_had_begun_is_lost_and_starts_again_by_word_alone),
		cmocka_unit_test(what_is_cancelled_ends),
		cmocka_unit_test(two_keepers_do_not_keep_one_ticket),
	};

	if (argc == 4 && strcmp(argv[1], "keep") == 0)
		return ticket_keep(argv[2], argv[3], 3, NULL) < 0;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
