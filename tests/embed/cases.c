/* SPDX-License-Identifier: Apache-2.0 */
/* A program that embeds ward, one case at a time: cases WARD NAME. In the workspace every `printf`
 * is asked about. */
#include "embed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static void test_run_tells_and_has_a_result(ward *handle)
{
	const char *const argv[] = {
		"sh", "-c",
		"echo err >&2; head -c 1 /dev/zero; echo | tr '\\n' '\\377'; echo a; exit 3", NULL};
	struct heard heard = HEARD;
	ward_run *run;
	size_t length;

	hear_all(handle);
	run = ward_start(handle, argv, &heard, NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_wait(run, 0) == 1);
	CHECK(heard.bytes[1] == 4 && memcmp(heard.output[1], "\0\377a\n", 4) == 0);
	CHECK(strcmp(heard.output[2], "err\n") == 0);
	CHECK(ward_exit_code(run) == 3 && ward_timed_out(run) == 0 && !ward_run_error(run));
	CHECK(strcmp(ward_result_text(run, "stderr", &length), "err\n") == 0 && length == 4);
	CHECK(strcmp(ward_result_text(run, "verdict", NULL), "allow") == 0);
	CHECK(!ward_result_text(run, "exit_code", NULL) && !ward_result_text(run, NULL, NULL));
	CHECK(strstr(ward_result_json(run), "\"exit_code\":3"));
	ward_run_free(run);
	CHECK(heard.ended == 1);
}

static void check_error(int r, ward_error **error, const char *names)
{
	CHECK(r < 0 && *error && strcmp(ward_error_kind(*error), "usage") == 0);
	if (!strstr(ward_error_message(*error), names))
		fprintf(stderr, "%s\n", ward_error_message(*error));
	CHECK(strstr(ward_error_message(*error), names));
	ward_error_free(*error);
	*error = NULL;
}

static void test_settings_are_checked_and_hold(ward *handle)
{
	ward_error *error = NULL;
	ward_run *run;

	check_error(ward_set(handle, "fly", "x", &error), &error, "fly");
	check_error(ward_set(handle, NULL, "x", &error), &error, "setting");
	check_error(ward_set(handle, "level", "airtight", &error), &error, "airtight");
	check_error(ward_set(handle, "read", "x", &error), &error, "read");
	check_error(ward_set(handle, "login", "yes", &error), &error, "login");
	check_error(ward_add(handle, "agent", "x", &error), &error, "agent");
	check_error(ward_add(handle, "env", "\xff", &error), &error, "env");
	check_error(ward_set(handle, "answer-within", "soon", &error), &error, "answer-within");
	CHECK(ward_set(handle, "fly", "x", NULL) < 0);
	CHECK(ward_add(handle, "env", "A=1", NULL) == 0 &&
	      ward_add(handle, "env", "B=2", NULL) == 0);
	CHECK(ward_set(handle, "cwd", "/usr", NULL) == 0);
	CHECK(ward_set(handle, "cpu-time", "50s", NULL) == 0);
	CHECK(ward_set(handle, "trace_reads", "true", NULL) == 0);
	run = start_shell(handle, "echo $A$B; pwd", NULL);
	CHECK(ward_set(handle, "env", NULL, NULL) == 0); /* not for the one that has begun */
	CHECK(ward_wait(run, PATIENCE_MS) == 1);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "12\n/usr\n") == 0);
	ward_run_free(run);
	run = ward_start_json(handle, "{\"command\": \"echo x$A; pwd\", \"cwd\": \"/\"}", NULL,
			      NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "x\n/\n") == 0);
	ward_run_free(run);
	CHECK(ward_set(handle, "timeout", "300ms", NULL) == 0);
	run = start_shell(handle, "echo begun; sleep 300", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_timed_out(run) == 1);
	CHECK(strcmp(kind_of(run), "timeout") == 0);
	ward_run_free(run);
	CHECK(ward_set(handle, "timeout", "whenever", NULL) == 0); /* ward knows better */
	run = start_shell(handle, "true", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == -1);
	CHECK(strstr(ward_error_message(ward_run_error(run)), "timeout"));
	CHECK(strcmp(kind_of(run), "engine") == 0);
	ward_run_free(run);
}

static void test_bad_requests_are_named(ward *handle)
{
	const char *const none[] = {NULL}, *const bad[] = {"echo", "\xff", NULL};
	char *huge = malloc(5 << 20);
	ward_error *error = NULL;

	memset(huge, 'x', 5 << 20);
	huge[(5 << 20) - 1] = '\0';
	check_error(ward_start(handle, none, NULL, &error) ? 0 : -1, &error, "word");
	check_error(ward_start(handle, NULL, NULL, &error) ? 0 : -1, &error, "word");
	check_error(ward_start(handle, bad, NULL, &error) ? 0 : -1, &error, "UTF-8");
	check_error(ward_start_shell(handle, NULL, NULL, &error) ? 0 : -1, &error, "command");
	check_error(ward_start_json(handle, "{", NULL, &error) ? 0 : -1, &error, "request");
	check_error(ward_start_json(handle, "[]", NULL, &error) ? 0 : -1, &error, "object");
	check_error(ward_start_shell(handle, huge, NULL, &error) ? 0 : -1, &error, "too long");
	check_error(ward_open("/no/such/place", &error) ? 0 : -1, &error, "/no/such/place");
	check_error(ward_open("/etc/passwd", &error) ? 0 : -1, &error, "/etc/passwd");
	check_error(ward_set_program("ward", &error), &error, "absolute");
	check_error(ward_set(NULL, "level", "none", &error), &error, "handle");
	ward_close(NULL);
	ward_run_free(NULL);
	ward_error_free(NULL);
	ward_answer_free(NULL);
	ward_policy_free(NULL);
	free(huge);
}

static int say_by_data(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
{
	const char *what = data;

	(void)run;
	CHECK(strcmp(ward_ask_get(ask, "kind"), "before") == 0 && strstr(ward_ask_json(ask), "{"));
	CHECK(ward_ask_offers(ask, "approve once") && !ward_ask_offers(ask, "fly"));
	CHECK(!ward_ask_get(ask, "fly") && strstr(ward_ask_get(ask, "text"), "printf"));
	if (strcmp(what, "approve") == 0)
		return WARD_APPROVE;
	if (strcmp(what, "nonsense") == 0)
		return 77;
	if (strcmp(what, "pass") == 0)
		return WARD_PASS;
	if (strcmp(what, "not offered") == 0) {
		CHECK(ward_answer_set(answer, "unsandboxed", "true", NULL) == 0);
		return WARD_APPROVE;
	}
	if (strcmp(what, "not taken") == 0) {
		CHECK(ward_answer_add(answer, "domains", "a.example", NULL) == 0);
		return WARD_APPROVE;
	}
	CHECK(ward_answer_set(answer, "reason", "because", NULL) == 0);
	CHECK(ward_answer_set(answer, "fly", "x", NULL) < 0);
	CHECK(ward_answer_set(answer, "seconds", "many", NULL) < 0);
	return strcmp(what, "abort") == 0 ? WARD_ABORT : WARD_DENY;
}

static void test_questions_are_answered_at_once(ward *handle)
{
	const char *const words[] = {"deny", "abort",	    "nonsense",
				     "pass", "not offered", "not taken"};

	ward_on_ask(handle, say_by_data);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		ward_run *run = start_shell(handle, "printf x", (void *)words[i]);

		CHECK(ward_wait(run, PATIENCE_MS) == 1);
		CHECK(strcmp(kind_of(run), "rejected") == 0);
		CHECK(*ward_result_text(run, "stdout", NULL) == '\0');
		if (i == 0)
			CHECK(strstr(ward_error_message(ward_run_error(run)), "because"));
		ward_run_free(run);
	}
	for (int i = 0; i < 2; i++) { /* once is once */
		ward_run *run = start_shell(handle, "printf x", (void *)"approve");

		CHECK(ward_wait(run, PATIENCE_MS) == 1);
		CHECK(strcmp(ward_result_text(run, "stdout", NULL), "x") == 0);
		ward_run_free(run);
	}
}

static void test_nobody_answers_is_no(ward *handle)
{
	ward_run *run = start_shell(handle, "printf x", NULL);

	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "rejected") == 0);
	ward_run_free(run);
}

struct reply {
	ward *handle;
	struct heard *heard;
};

static void *reply(void *data)
{
	struct reply *to = data;
	ward_answer *answer = ward_answer_new();

	wait_for_asks(to->heard, 1);
	CHECK(ward_reply(to->handle, "nothing", WARD_APPROVE, NULL, NULL) < 0);
	CHECK(ward_reply(to->handle, NULL, WARD_APPROVE, NULL, NULL) < 0);
	CHECK(ward_reply(to->handle, to->heard->ask, WARD_LATER, NULL, NULL) < 0);
	CHECK(ward_answer_set(answer, "scope", "forever", NULL) == 0);
	CHECK(ward_reply(to->handle, to->heard->ask, WARD_APPROVE, answer, NULL) < 0);
	CHECK(ward_answer_set(answer, "scope", "session", NULL) == 0);
	CHECK(ward_reply(to->handle, to->heard->ask, WARD_APPROVE, answer, NULL) == 0);
	CHECK(ward_reply(to->handle, to->heard->ask, WARD_DENY, NULL, NULL) < 0);
	ward_answer_free(answer);
	return NULL;
}

static void test_questions_are_answered_later(ward *handle)
{
	struct heard heard = HEARD;
	struct reply to = {handle, &heard};
	pthread_t thread;
	ward_run *run;

	hear_all(handle);
	run = start_shell(handle, "printf x", &heard);
	CHECK(pthread_create(&thread, NULL, reply, &to) == 0);
	CHECK(ward_wait(run, PATIENCE_MS) == 1);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "x") == 0);
	pthread_join(thread, NULL);
	ward_run_free(run);
	run = start_shell(handle, "printf x", &heard); /* the handle is one session */
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && heard.asks == 1);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "x") == 0);
	ward_run_free(run);
}

static void test_an_answer_that_does_not_come_in_time_is_no(ward *handle)
{
	struct heard heard = HEARD;
	ward_run *run;

	hear_all(handle);
	CHECK(ward_set(handle, "answer-within", "0.2", NULL) == 0);
	run = start_shell(handle, "printf x", &heard);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "rejected") == 0);
	CHECK(strstr(ward_error_message(ward_run_error(run)), "in time"));
	CHECK(ward_reply(handle, heard.ask, WARD_APPROVE, NULL, NULL) < 0);
	ward_run_free(run);
}

static void test_a_question_of_a_cancelled_run_is_withdrawn(ward *handle)
{
	struct heard heard = HEARD;
	ward_run *run;

	hear_all(handle);
	run = start_shell(handle, "printf x", &heard);
	wait_for_asks(&heard, 1);
	ward_cancel(run);
	ward_cancel(run);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "rejected") == 0);
	ward_run_free(run);
	CHECK(heard.withdrawn == 1);
	CHECK(ward_reply(handle, heard.ask, WARD_APPROVE, NULL, NULL) < 0);
}

static int freed;

static void count_free(void *data)
{
	(void)data;
	freed++;
}

static int decide(const ward_ask *ask, ward_answer *answer, void *data)
{
	int starts = strcmp(ward_ask_get(ask, "kind"), "start") == 0;
	const char *command = ward_ask_get(ask, "command");

	(void)answer;
	CHECK(!starts || strstr(ward_ask_json(ask), "\"request\":{"));
	if (!starts || !strstr(command ? command : "", "later"))
		return starts ? WARD_PASS : *(int *)data;
	return WARD_LATER;
}

static void use(ward *handle, ward_policy *policy)
{
	CHECK(policy && ward_policy_register("test", policy, NULL) == 0);
	ward_policy_free(policy);
	CHECK(ward_use_policy(handle, "test", NULL) == 0);
}

static void test_policies_decide(ward *handle)
{
	int word = WARD_APPROVE;
	ward_error *error = NULL;
	ward_run *run;

	check_error(ward_use_policy(handle, "gone", &error), &error, "gone");
	CHECK(!ward_policy_new(NULL, NULL, NULL, &error));
	check_error(-1, &error, "function");
	use(handle, ward_policy_deny("not on Mondays"));
	run = start_shell(handle, "touch made", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "rejected") == 0);
	CHECK(strstr(ward_error_message(ward_run_error(run)), "not on Mondays"));
	CHECK(ward_exit_code(run) == -1 && access("made", F_OK) < 0);
	ward_run_free(run);
	use(handle, ward_policy_allow());
	run = start_shell(handle, "printf x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	use(handle, ward_policy_new(decide, &word, count_free, NULL));
	run = start_shell(handle, "printf x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	word = WARD_PASS; /* then nobody */
	run = start_shell(handle, "printf x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "rejected") == 0);
	ward_run_free(run);
	CHECK(ward_policy_register("test", NULL, NULL) == 0 && freed == 0); /* the handle has it */
	CHECK(ward_use_policy(handle, NULL, NULL) == 0 && freed == 1);
	run = start_shell(handle, "echo x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
}

static void test_a_policy_lets_a_run_start_later(ward *handle)
{
	int word = WARD_APPROVE;
	ward_run *yes, *no, *never, *cancelled;

	use(handle, ward_policy_new(decide, &word, NULL, NULL));
	yes = start_shell(handle, "echo later", NULL);
	no = start_shell(handle, "echo later; touch made", NULL);
	cancelled = start_shell(handle, "echo later; touch made", NULL);
	CHECK(ward_set(handle, "answer-within", "0.2", NULL) == 0);
	never = start_shell(handle, "echo later; touch made", NULL);
	CHECK(ward_wait(yes, 1) == 0 && !ward_result_json(yes) && ward_exit_code(yes) == -1);
	CHECK(ward_reply(handle, "start-2", WARD_DENY, NULL, NULL) == 0);
	CHECK(ward_reply(handle, "start-1", WARD_APPROVE, NULL, NULL) == 0);
	ward_cancel(cancelled);
	CHECK(ward_wait(yes, PATIENCE_MS) == 1 && ward_exit_code(yes) == 0);
	CHECK(ward_wait(no, PATIENCE_MS) == 1 && strcmp(kind_of(no), "rejected") == 0);
	CHECK(ward_wait(cancelled, PATIENCE_MS) == 1 &&
	      strcmp(kind_of(cancelled), "rejected") == 0);
	CHECK(ward_wait(never, PATIENCE_MS) == 1 && strcmp(kind_of(never), "rejected") == 0);
	CHECK(access("made", F_OK) < 0);
	ward_run_free(yes);
	ward_run_free(no);
	ward_run_free(cancelled);
	ward_run_free(never);
	CHECK(ward_policy_register("test", NULL, NULL) == 0);
}

static void test_no_policy_is_told_once(ward *handle)
{
	struct heard heard = HEARD;
	ward *other = open_ward();
	ward *const both[] = {handle, other, handle};
	const char *first;

	for (size_t i = 0; i < 3; i++) {
		ward_run *run;

		hear_all(both[i]);
		run = start_shell(both[i], "true", &heard);
		CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
		ward_run_free(run);
	}
	first = strstr(heard.notices, "no policy");
	CHECK(first && !strstr(first + 1, "no policy"));
	ward_close(other);
}

static void test_cancel_ends_runs_that_go_on_and_that_wait(ward *handle)
{
	ward_run *runs[70];

	for (int i = 0; i < 70; i++)
		runs[i] = start_shell(handle, "sleep 300", NULL);
	CHECK(ward_wait(runs[69], 1) == 0);
	for (int i = 70; i-- > 0;)
		ward_cancel(runs[i]);
	for (int i = 0; i < 70; i++) {
		CHECK(ward_wait(runs[i], PATIENCE_MS) == 1 && ward_exit_code(runs[i]) != 0);
		ward_run_free(runs[i]);
	}
}

static void *start_many(void *handle)
{
	ward_run *runs[25];

	for (int i = 0; i < 25; i++) {
		char command[32];

		snprintf(command, sizeof(command), "echo %d", i);
		runs[i] = start_shell(handle, command, NULL);
	}
	for (int i = 0; i < 25; i++) {
		CHECK(ward_wait(runs[i], PATIENCE_MS) == 1);
		CHECK(atoi(ward_result_text(runs[i], "stdout", NULL)) == i);
		ward_run_free(runs[i]);
	}
	return NULL;
}

static void test_many_runs_of_many_threads(ward *handle)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, start_many, handle) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void test_all_of_much_output_comes(ward *handle)
{
	struct heard heard = HEARD;
	ward_run *run;

	hear_all(handle);
	run = start_shell(handle,
			  "head -c 5000000 /dev/zero | tr '\\0' x; head -c 100000 /dev/zero >&2",
			  &heard);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	CHECK(heard.bytes[1] == 5000000 && heard.bytes[2] == 100000);
}

static void *wait_long(void *run)
{
	CHECK(ward_wait(run, -1) == 1 && strcmp(kind_of(run), "engine") == 0);
	return NULL;
}

static void test_close_ends_runs_and_what_waits_for_them(ward *handle)
{
	struct heard heard = HEARD;
	ward *own = open_ward();
	pthread_t thread;
	ward_run *run, *asks, *free_later;

	(void)handle;
	hear_all(own);
	run = start_shell(own, "echo ready; sleep 300", &heard);
	asks = start_shell(own, "printf x", &heard);
	free_later = start_shell(own, "sleep 300", &heard);
	wait_for_output(&heard, 6);
	wait_for_asks(&heard, 1);
	CHECK(pthread_create(&thread, NULL, wait_long, run) == 0);
	ward_close(own);
	pthread_join(thread, NULL);
	CHECK(heard.ended == 3);
	CHECK(strstr(ward_error_message(ward_run_error(asks)), "closed"));
	CHECK(strstr(ward_result_json(run), "\"exit_code\":-1"));
	ward_cancel(free_later);
	ward_run_free(run);
	ward_run_free(asks);
	ward_run_free(free_later);
}

static void close_inside(ward_run *run, void *data)
{
	CHECK(ward_wait(run, -1) == 1); /* it has ended: that can be said here too */
	ward_close(data);
}

static void wait_inside(ward_run *run, int stream, const char *bytes, size_t length, void *data)
{
	(void)stream, (void)bytes, (void)length, (void)data;
	CHECK(ward_wait(run, -1) == -1);
}

static void free_inside(ward_run *run, int stream, const char *bytes, size_t length, void *data)
{
	(void)stream, (void)bytes, (void)length;
	ward_run_free(run);
	CHECK(write(*(int *)data, "x", 1) == 1);
}

static void test_functions_may_close_and_free_but_not_wait(ward *handle)
{
	ward *own = open_ward();
	int pair[2];
	char c;
	ward_run *run;

	ward_on_output(own, wait_inside);
	ward_on_ended(own, close_inside);
	run = start_shell(own, "echo x", own);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	CHECK(pipe(pair) == 0);
	ward_on_output(handle, free_inside);
	start_shell(handle, "echo x; sleep 300", &pair[1]);
	CHECK(read(pair[0], &c, 1) == 1);
	ward_on_output(handle, NULL);
	run = start_shell(handle, "echo x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	close(pair[0]);
	close(pair[1]);
}

static void test_after_free_nothing_is_called(ward *handle)
{
	for (int i = 0; i < 20; i++) {
		struct heard *heard = calloc(1, sizeof(*heard));
		ward_run *run;

		pthread_mutex_init(&heard->lock, NULL);
		pthread_cond_init(&heard->changed, NULL);
		hear_all(handle);
		run = start_shell(handle, "while echo x; do :; done", heard);
		wait_for_output(heard, 2);
		ward_run_free(run);
		memset(heard, 0x5a, sizeof(*heard));
		free(heard);
	}
}

static void test_fork_leaves_the_parents_handle_alone(ward *handle)
{
	struct heard heard = HEARD;
	ward_error *error = NULL;
	ward_run *run;
	int status;
	pid_t pid;

	hear_all(handle);
	run = start_shell(handle, "echo ready; until [ -e go ]; do sleep 0.05; done; echo end",
			  &heard);
	wait_for_output(&heard, 6);
	pid = fork();
	if (pid == 0) {
		CHECK(ward_set(handle, "cwd", "/", &error) < 0);
		CHECK(strstr(ward_error_message(error), "process"));
		CHECK(!ward_start_shell(handle, "true", NULL, NULL));
		CHECK(ward_reply(handle, "x", WARD_DENY, NULL, NULL) < 0);
		CHECK(ward_use_policy(handle, NULL, NULL) < 0);
		CHECK(ward_wait(run, -1) == -1 && !ward_result_json(run));
		ward_on_ask(handle, NULL);
		ward_cancel(run);
		ward_run_free(run);
		ward_close(handle);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(close(open("go", O_CREAT | O_WRONLY, 0600)) == 0);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	CHECK(strcmp(ward_result_text(run, "stdout", NULL), "ready\nend\n") == 0);
	ward_run_free(run);
}

static int count_fds(int *ret_open_over_exec)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	*ret_open_over_exec = 0;
	while ((entry = readdir(directory))) {
		int fd = atoi(entry->d_name);

		if (*entry->d_name == '.' || fd == dirfd(directory))
			continue;
		count++;
		*ret_open_over_exec += fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	closedir(directory);
	return count;
}

static void test_nothing_is_left_behind(ward *handle)
{
	int before, after, open_before, open_after;

	(void)handle;
	before = count_fds(&open_before);
	for (int i = 0; i < 10; i++) {
		ward *own = open_ward();
		ward_run *run = start_shell(own, "true", NULL);

		count_fds(&open_after);
		CHECK(open_after == open_before);
		CHECK(ward_wait(run, PATIENCE_MS) == 1);
		ward_run_free(run);
		ward_close(own);
	}
	after = count_fds(&open_after);
	CHECK(after == before && open_after == open_before);
	/* The one that is open; children of closed ones are reaped. */
	CHECK(waitpid(-1, NULL, WNOHANG) == 0);
}

static void test_a_host_that_ignores_its_children(ward *handle)
{
	ward *own;
	ward_run *run;

	(void)handle;
	signal(SIGCHLD, SIG_IGN);
	own = open_ward();
	run = start_shell(own, "echo x", NULL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	ward_close(own);
}

static void test_a_host_with_closed_streams(ward *handle)
{
	ward *own;
	ward_run *run;

	(void)handle;
	close(0);
	close(1);
	own = open_ward();
	run = start_shell(own, "echo x", NULL);
	CHECK(fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && ward_exit_code(run) == 0);
	ward_run_free(run);
	ward_close(own);
}

/* The children of this thread, which has opened handles. */
static pid_t first_child(void)
{
	char path[64];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	CHECK(file && fscanf(file, "%d", &pid) == 1);
	fclose(file);
	return pid;
}

static void test_the_death_of_ward_is_told(ward *handle)
{
	struct heard heard = HEARD;
	ward_run *run, *asks;

	hear_all(handle);
	run = start_shell(handle, "echo ready; sleep 300", &heard);
	asks = start_shell(handle, "printf x", &heard);
	wait_for_output(&heard, 6);
	wait_for_asks(&heard, 1);
	kill(first_child(), SIGKILL);
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "engine") == 0);
	CHECK(ward_wait(asks, PATIENCE_MS) == 1 && strcmp(kind_of(asks), "engine") == 0);
	CHECK(!ward_start_shell(handle, "true", NULL, NULL));
	CHECK(ward_reply(handle, heard.ask, WARD_APPROVE, NULL, NULL) < 0);
	ward_run_free(run);
	ward_run_free(asks);
}

/* The program is none that can be trusted to speak sense; how it goes on is in argv. */
static void test_faulty(ward *handle)
{
	struct heard heard = HEARD;
	ward_run *run, *other;

	hear_all(handle);
	run = start_shell(handle, "one", &heard);
	other = ward_start_shell(handle, "two", &heard, NULL); /* it may have ended by now */
	CHECK(ward_wait(run, PATIENCE_MS) == 1 && strcmp(kind_of(run), "engine") == 0);
	CHECK(!other ||
	      (ward_wait(other, PATIENCE_MS) == 1 && strcmp(kind_of(other), "engine") == 0));
	ward_run_free(run);
	ward_run_free(other);
}

#define CASE(name)                 \
	{                          \
#name, test_##name \
	}

static const struct {
	const char *name;
	void (*test)(ward *handle);
} cases[] = {
	CASE(run_tells_and_has_a_result),
	CASE(settings_are_checked_and_hold),
	CASE(bad_requests_are_named),
	CASE(questions_are_answered_at_once),
	CASE(nobody_answers_is_no),
	CASE(questions_are_answered_later),
	CASE(an_answer_that_does_not_come_in_time_is_no),
	CASE(a_question_of_a_cancelled_run_is_withdrawn),
	CASE(policies_decide),
	CASE(a_policy_lets_a_run_start_later),
	CASE(no_policy_is_told_once),
	CASE(cancel_ends_runs_that_go_on_and_that_wait),
	CASE(many_runs_of_many_threads),
	CASE(all_of_much_output_comes),
	CASE(close_ends_runs_and_what_waits_for_them),
	CASE(functions_may_close_and_free_but_not_wait),
	CASE(after_free_nothing_is_called),
	CASE(fork_leaves_the_parents_handle_alone),
	CASE(nothing_is_left_behind),
	CASE(a_host_that_ignores_its_children),
	CASE(a_host_with_closed_streams),
	CASE(the_death_of_ward_is_told),
	CASE(faulty),
};

int main(int argc, char **argv)
{
	ward *handle;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases) && argc == 1; i++)
		printf("%s\n", cases[i].name);
	if (argc != 3)
		return argc != 1;
	alarm(PATIENCE_MS / 1000 - 10); /* what hangs is seen where it does */
	CHECK(ward_set_program(argv[1], NULL) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[2]) != 0)
			continue;
		handle = open_ward();
		cases[i].test(handle);
		ward_close(handle);
		return 0;
	}
	return 2;
}
