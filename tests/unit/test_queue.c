/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that wait elsewhere: whatever the moment at which somebody answers, gives up or is
 * killed, silence is no yes, and an answer that was taken is the one that counts. */
#include "base/id.h"
#include "base/io.h"
#include "base/units.h"
#include "escalate/ask_json.h"
#include "escalate/queue.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { BOUND_MS = 60000, ROUNDS = 150, SLOW_ROUNDS = 20, SEED = 20261116 };

static char world[] = "/tmp/ward-queue-XXXXXX";
static unsigned seed = SEED;

static unsigned any(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
}

/* Both sides may be kept from going on for a while, wherever they stand. */
static bool slow;

static void dawdle(const char *name)
{
	const char *part = strchr(name, '.');

	if (slow && (!part || strcmp(part, ".answer") == 0))
		poll(NULL, 0, (int)any(2) * (int)any(250));
}

int unlinkat(int directory, const char *name, int flags)
{
	int r;

	dawdle(name);
	r = (int)syscall(SYS_unlinkat, directory, name, flags);
	dawdle(name);
	return r;
}

int linkat(int directory, const char *name, int into, const char *as, int flags)
{
	int r;

	dawdle(as);
	r = (int)syscall(SYS_linkat, directory, name, into, as, flags);
	dawdle(as);
	return r;
}

static int set_up(void **data)
{
	(void)data;
	return mkdtemp(world) ? 0 : -1;
}

static int tear_down(void **data)
{
	(void)data;
	return remove_tree(AT_FDCWD, world);
}

/* In a process of its own; its exit status is the answer's kind, 100 where it came too soon. */
static pid_t ask(struct queue queue)
{
	_cleanup_list_ struct list grants = {0};
	const struct ask question = {.kind = ASK_BEFORE,
				     .command = "rm -r build",
				     .cwd = "/work",
				     .why = "a test",
				     .grants = &grants,
				     .may_defer = true};
	struct approver approver = queue_approver(&queue);
	struct answer answer;
	uint64_t since = monotonic_ns();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	seed += (unsigned)getpid(); /* not in step with whoever answers */
	if (approver.ask(approver.data, &question, &answer, NULL) < 0)
		_exit(99);
	if (answer.kind == ANSWER_NOBODY && monotonic_ns() < since + queue.patience_ns)
		_exit(100);
	_exit((int)answer.kind);
}

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void count(void *data, json_t *entry)
{
	json_t **found = data;

	assert_null(*found);
	*found = json_incref(entry);
}

/* The one that stands, as soon as there is one; NULL where it came and went. */
static json_t *await_question(pid_t asker)
{
	json_t *found = NULL;

	for (int i = 0; i < BOUND_MS && !found; i++) {
		siginfo_t info = {0};

		assert_int_equal(queue_list(world, count, &found, NULL), 0);
		if (!found && waitid(P_PID, (id_t)asker, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid)
			return NULL;
		if (!found)
			poll(NULL, 0, 1);
	}
	return found;
}

static int say(json_t *entry, const char *word)
{
	json_t *answer = json_pack("{s:s}", "answer", word);
	const struct approver_id who = {.way = "user:test", .by = "test"};
	int r = queue_answer(world, entry, answer, &who, NULL);

	json_decref(answer);
	return r;
}

static size_t left(void)
{
	char path[64];
	struct dirent *entry;
	size_t number = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/asks", world);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		number += entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return number;
}

static void silence_is_no_yes_and_lasts_its_time(void **data)
{
	(void)data;
	for (int i = 0; i < 20; i++) {
		pid_t asker = ask(
			(struct queue){.state = world, .patience_ns = 1000000ull * any(150) + 1});

		assert_int_equal(end_of(asker), ANSWER_NOBODY);
	}
	assert_int_equal(left(), 0);
}

/* About the end of its patience: who was told that his answer counts is right. */
static void answer_at_random(int rounds, unsigned late)
{
	static const struct {
		const char *word;
		int kind;
	} words[] = {{"approve", ANSWER_APPROVE}, {"deny", ANSWER_DENY}, {"abort", ANSWER_ABORT}};
	int counted = 0;

	for (int i = 0; i < rounds; i++) {
		unsigned patience = 20 + any(40);
		pid_t asker = ask((struct queue){.state = world,
						 .patience_ns = patience * (uint64_t)1000000});
		json_t *entry = await_question(asker);
		size_t which = any(ELEMENTS(words));
		int r = -1, end;

		if (entry) {
			poll(NULL, 0, (int)any(patience + late));
			r = say(entry, words[which].word);
		}
		json_decref(entry);
		end = end_of(asker);
		assert_int_equal(end, r == 0 ? words[which].kind : ANSWER_NOBODY);
		counted += r == 0;
		assert_int_equal(left(), 0);
	}
	assert_true(counted > 0);
}

static void an_answer_counts_for_both_or_for_neither(void **data)
{
	(void)data;
	answer_at_random(ROUNDS, 20);
}

static void so_it_does_where_both_are_slow(void **data)
{
	(void)data;
	slow = true;
	answer_at_random(SLOW_ROUNDS, 20);
	slow = false;
}

/* Who is killed has asked nothing; who comes after him is asked for himself. */
static void the_answer_to_one_who_was_killed_is_nobody_else_s(void **data)
{
	(void)data;
	for (int i = 0; i < 30; i++) {
		pid_t asker = ask((struct queue){.state = world, .patience_ns = 60000000000});
		json_t *entry = await_question(asker), *next;

		assert_non_null(entry);
		kill(asker, SIGKILL);
		assert_int_equal(end_of(asker), -SIGKILL);
		asker = ask((struct queue){.state = world, .patience_ns = 60000000000});
		assert_true(say(entry, "approve") < 0);
		next = await_question(asker);
		assert_non_null(next);
		assert_string_not_equal(json_string_value(json_object_get(entry, "id")),
					json_string_value(json_object_get(next, "id")));
		assert_int_equal(say(next, "deny"), 0);
		assert_int_equal(end_of(asker), ANSWER_DENY);
		json_decref(entry);
		json_decref(next);
	}
}

static void make_ticket(const char *ticket)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/tickets/%s", world, ticket);
	assert_int_equal(make_directories(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tickets/%s/state.json", world, ticket);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* However often whoever waits is killed: it is asked once, and its answer found. */
static void the_question_of_a_ticket_outlives_who_waits(void **data)
{
	(void)data;
	for (int i = 0; i < 20; i++) {
		char ticket[ID_TEXT], id[ID_TEXT];
		struct queue queue = {.state = world, .patience_ns = 60000000000};
		json_t *first, *again = NULL;
		pid_t asker;

		id_make(ticket);
		id_make(id);
		make_ticket(ticket);
		queue.ticket = ticket;
		queue.id = id;
		asker = ask(queue);
		first = await_question(asker);
		assert_string_equal(json_string_value(json_object_get(first, "id")), id);
		for (unsigned kills = any(4); kills > 0; kills--) {
			kill(asker, SIGKILL);
			assert_int_equal(end_of(asker), -SIGKILL);
			asker = ask(queue);
			if (any(2))
				poll(NULL, 0, (int)any(10));
		}
		kill(asker, SIGKILL);
		assert_int_equal(end_of(asker), -SIGKILL);
		assert_int_equal(queue_list(world, count, &again, NULL), 0);
		assert_true(json_equal(first, again));
		assert_int_equal(say(first, "approve"), 0);
		assert_true(say(first, "deny") < 0);
		assert_int_equal(end_of(ask(queue)), ANSWER_APPROVE);
		/* It is still there, until it is on record that the command begins. */
		assert_int_equal(end_of(ask(queue)), ANSWER_APPROVE);
		queue_drop(world, id);
		assert_int_equal(left(), 0);
		json_decref(first);
		json_decref(again);
	}
}

/* What is asked now is not what was answered. */
static void an_answer_does_not_hold_for_another_question(void **data)
{
	struct queue queue = {.state = world, .patience_ns = 60000000000};
	char ticket[ID_TEXT], id[ID_TEXT], path[128];
	json_t *entry, *next;
	pid_t asker;

	(void)data;
	id_make(ticket);
	id_make(id);
	make_ticket(ticket);
	queue.ticket = ticket;
	queue.id = id;
	asker = ask(queue);
	entry = await_question(asker);
	kill(asker, SIGKILL);
	end_of(asker);
	/* The same number and hash with other words are no question of ours. */
	json_object_set_new(json_object_get(entry, "ask"), "command", json_string("rm -r /"));
	snprintf(path, sizeof(path), "%s/asks/%s", world, id);
	assert_int_equal(json_dump_file(entry, path, JSON_COMPACT), 0);
	assert_int_equal(say(entry, "approve"), 0);
	asker = ask(queue);
	for (int i = 0; i < BOUND_MS; i++) {
		next = await_question(asker);
		if (next && strcmp(json_string_value(json_object_get(next, "nonce")),
				   json_string_value(json_object_get(entry, "nonce"))) != 0)
			break;
		json_decref(next);
		poll(NULL, 0, 1);
	}
	assert_int_equal(say(next, "deny"), 0);
	assert_int_equal(end_of(asker), ANSWER_DENY);
	queue_drop(world, id);
	json_decref(entry);
	json_decref(next);
}

static void what_is_deferred_and_not_taken_over_goes(void **data)
{
	pid_t asker = ask((struct queue){.state = world, .patience_ns = 60000000000});
	json_t *entry = await_question(asker);

	(void)data;
	assert_non_null(entry);
	assert_int_equal(say(entry, "defer"), 0);
	assert_int_equal(end_of(asker), ANSWER_DEFER);
	json_decref(entry);
	entry = NULL;
	/* Who held it is gone, and nobody has taken it over. */
	assert_int_equal(queue_list(world, count, &entry, NULL), 0);
	assert_null(entry);
	assert_int_equal(left(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_is_no_yes_and_lasts_its_time),
		cmocka_unit_test(an_answer_counts_for_both_or_for_neither),
		cmocka_unit_test(so_it_does_where_both_are_slow),
		cmocka_unit_test(the_answer_to_one_who_was_killed_is_nobody_else_s),
		cmocka_unit_test(the_question_of_a_ticket_outlives_who_waits),
		cmocka_unit_test(an_answer_does_not_hold_for_another_question),
		cmocka_unit_test(what_is_deferred_and_not_taken_over_goes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
