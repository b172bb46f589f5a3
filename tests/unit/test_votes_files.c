/* SPDX-License-Identifier: Apache-2.0 */
/* Votes through the files of the queue: whoever races, is killed, forges or says the same again, no
 * yes comes of fewer than there have to be. */
#include "base/id.h"
#include "base/io.h"
#include "escalate/ask_json.h"
#include "escalate/queue_parts.h"
#include "escalate/route.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum { BOUND_MS = 60000, ROUNDS = 60, SEED = 20261117 };

static char world[] = "/tmp/ward-votes-XXXXXX";
static unsigned seed = SEED;

static unsigned any(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
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

static json_t *route_from(const char *text)
{
	json_t *route = json_loads(text, 0, NULL);

	assert_non_null(route);
	return route;
}

static const char two_of_three[] =
	"{\"names\": [\"test\"], \"owners\": [{\"person\": \"dave\", \"as\": [\"user:dave\"]}],"
	" \"steps\": [{\"need\": 2, \"reason\": false, \"not_own\": true, \"within_seconds\": 0,"
	"  \"groups\": [{\"from\": [\"a\"], \"who\": ["
	"   {\"person\": \"alice\", \"as\": [\"user:alice\", \"web:al\"]},"
	"   {\"person\": \"bob\", \"as\": [\"user:bob\"]},"
	"   {\"person\": \"carol\", \"as\": [\"user:carol\"]}]}]}]}";

static bool removed; /* bob, from the policy */

static bool may_still(void *data, const char *way)
{
	(void)data;
	return !removed || strcmp(way, "user:bob") != 0;
}

static bool needs_two(json_t *route)
{
	json_t *step = json_array_get(json_object_get(route, "steps"), 0);

	return json_integer_value(json_object_get(step, "need")) == 2;
}

/* In a process of its own; its exit status is the answer's kind. */
static pid_t ask(json_t *route, struct queue queue)
{
	_cleanup_list_ struct list grants = {0};
	const struct vetting vetting = {may_still, NULL};
	const struct ask question = {.kind = ASK_BEFORE,
				     .command = "rm -r build",
				     .cwd = "/work",
				     .why = "a test",
				     .grants = &grants,
				     .route = route,
				     .vetting = &vetting,
				     .may_defer = true};
	struct approver approver = queue_approver(&queue);
	struct answer answer;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
	if (approver.ask(approver.data, &question, &answer, NULL) < 0)
		_exit(99);
	/* A yes is the yes of those who said it. */
	if (answer.kind == ANSWER_APPROVE &&
	    (!answer.by || (!strchr(answer.by, ',') && needs_two(route))))
		_exit(98);
	_exit((int)answer.kind);
}

static const struct queue patient = {
	.state = world, .run = "r", .patience_ns = 3600 * 1000000000ull};

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

static void count(void *data, json_t *entry)
{
	json_t **found = data;

	assert_null(*found);
	*found = json_incref(entry);
}

static json_t *await_question(pid_t asker)
{
	json_t *found = NULL;

	for (int i = 0; i < BOUND_MS && !found; i++) {
		assert_int_equal(queue_list(world, count, &found, NULL), 0);
		if (!found && has_ended(asker))
			return NULL;
		if (!found)
			poll(NULL, 0, 1);
	}
	return found;
}

static int say(json_t *entry, const char *way, const char *word)
{
	const struct approver_id who = {.way = (char *)way, .by = (char *)way};
	json_t *answer = json_pack("{s:s}", "answer", word);
	int r = queue_answer(world, entry, answer, &who, NULL);

	json_decref(answer);
	return r;
}

static int have(json_t *entry)
{
	json_t *progress = queue_progress(world, entry);
	int number = progress ? (int)json_integer_value(json_object_get(progress, "have")) : -1;

	json_decref(progress);
	return number;
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

static void one_of_two_waits_and_the_second_makes_it(void **data)
{
	json_t *route = route_from(two_of_three), *entry;
	pid_t asker = ask(route, patient);

	(void)data;
	entry = await_question(asker);
	assert_int_equal(have(entry), 0);
	assert_int_equal(say(entry, "user:alice", "approve"), 0);
	assert_int_equal(have(entry), 1);
	assert_false(has_ended(asker));
	/* Twice, through another door, for somebody else, by the owner, by nobody. */
	assert_true(say(entry, "user:alice", "approve") < 0);
	assert_true(say(entry, "web:al", "approve") < 0);
	assert_true(say(entry, "user:dave", "approve") < 0);
	assert_true(say(entry, "user:mallory", "approve") < 0);
	assert_true(say(entry, "user:mallory", "deny") < 0);
	assert_int_equal(have(entry), 1);
	assert_int_equal(say(entry, "user:bob", "approve"), 0);
	assert_int_equal(end_of(asker), ANSWER_APPROVE);
	assert_true(say(entry, "user:carol", "deny") < 0);
	assert_int_equal(left(), 0);
	json_decref(entry);
	json_decref(route);
}

static void one_no_ends_it_also_by_the_owner_and_by_one_who_said_yes(void **data)
{
	static const char *const who[] = {"user:bob", "user:alice", "user:dave"};
	json_t *route = route_from(two_of_three);

	(void)data;
	for (size_t i = 0; i < ELEMENTS(who); i++) {
		pid_t asker = ask(route, patient);
		json_t *entry = await_question(asker);

		assert_int_equal(say(entry, "user:alice", "approve"), 0);
		assert_int_equal(say(entry, who[i], "deny"), 0);
		assert_int_equal(end_of(asker), ANSWER_DENY);
		assert_int_equal(left(), 0);
		json_decref(entry);
	}
	json_decref(route);
}

static void replayed_and_forged_answers_count_for_nothing(void **data)
{
	json_t *route = route_from(two_of_three), *entry, *kept, *forged;
	char old[512], new[512], name[256] = "";
	struct dirent *found;
	pid_t asker = ask(route, patient);
	int top;
	DIR *votes;

	(void)data;
	/* What alice said to another question, kept, and laid beside this one. */
	entry = await_question(asker);
	assert_int_equal(say(entry, "user:alice", "approve"), 0);
	snprintf(old, sizeof(old), "%s/asks/%s.votes", world,
		 json_string_value(json_object_get(entry, "id")));
	votes = opendir(old);
	while ((found = readdir(votes)))
		if (found->d_name[0] != '.')
			snprintf(name, sizeof(name), "%s", found->d_name);
	top = open(world, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(linkat(dirfd(votes), name, top, "kept", 0), 0);
	closedir(votes);
	assert_int_equal(say(entry, "user:bob", "deny"), 0);
	assert_int_equal(end_of(asker), ANSWER_DENY);
	json_decref(entry);
	asker = ask(route, patient);
	entry = await_question(asker);
	snprintf(new, sizeof(new), "%s/asks/%s.votes/%s", world,
		 json_string_value(json_object_get(entry, "id")), name);
	assert_int_equal(linkat(top, "kept", AT_FDCWD, new, 0), 0);
	assert_int_equal(have(entry), 0);
	assert_int_equal(unlink(new), 0);
	/* Under a name that is not that of the one who said it. */
	assert_int_equal(say(entry, "user:alice", "approve"), 0);
	kept = asks_read(AT_FDCWD, new);
	snprintf(old, sizeof(old), "%.*s%064d", (int)(strlen(new) - strlen(name)), new, 0);
	assert_int_equal(link(new, old), 0);
	assert_int_equal(have(entry), 1);
	/* And a yes where the answer of one lies. */
	forged = json_pack("{s:O, s:O, s:{s:s}}", "nonce", json_object_get(kept, "nonce"), "hash",
			   json_object_get(kept, "hash"), "answer", "answer", "approve");
	snprintf(old, sizeof(old), "%s/asks/%s.answer", world,
		 json_string_value(json_object_get(entry, "id")));
	assert_int_equal(json_dump_file(forged, old, 0), 0);
	for (int i = 0; i < BOUND_MS && access(old, F_OK) == 0; i++)
		poll(NULL, 0, 1);
	assert_int_equal(access(old, F_OK), -1);
	json_object_del(forged, "answer");
	json_object_set_new(forged, "votes", json_true());
	assert_int_equal(json_dump_file(forged, old, 0), 0);
	for (int i = 0; i < BOUND_MS && access(old, F_OK) == 0; i++)
		poll(NULL, 0, 1);
	assert_int_equal(access(old, F_OK), -1);
	assert_false(has_ended(asker));
	assert_int_equal(say(entry, "user:carol", "approve"), 0);
	assert_int_equal(end_of(asker), ANSWER_APPROVE);
	json_decref(forged);
	json_decref(kept);
	json_decref(entry);
	json_decref(route);
	close(top);
}

static void one_who_was_removed_meanwhile_does_not_count(void **data)
{
	json_t *route = route_from(two_of_three), *entry;
	pid_t asker;

	(void)data;
	removed = true;
	asker = ask(route, patient);
	removed = false;
	entry = await_question(asker);
	assert_int_equal(say(entry, "user:bob", "approve"), 0);
	assert_int_equal(say(entry, "user:alice", "approve"), 0);
	for (int i = 0; i < BOUND_MS && have(entry) != 1; i++)
		poll(NULL, 0, 1);
	assert_int_equal(have(entry), 1);
	assert_false(has_ended(asker));
	/* For a moment it may seem answered. */
	for (int i = 0; i < BOUND_MS && say(entry, "user:carol", "approve") < 0; i++)
		poll(NULL, 0, 1);
	assert_int_equal(end_of(asker), ANSWER_APPROVE);
	json_decref(entry);
	json_decref(route);
}

static pid_t say_in_a_process(json_t *entry, const char *way, const char *word)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(say(entry, way, word) == 0 ? 0 : 1);
	return pid;
}

/* Two at once: whichever way it goes there is one end, and a yes has two who said it. */
static void the_last_two_race_and_one_end_comes_of_it(void **data)
{
	json_t *route = route_from(two_of_three);

	(void)data;
	for (int round = 0; round < ROUNDS / 2; round++) {
		const char *word = round % 2 ? "deny" : "approve";
		pid_t asker = ask(route, patient), one, two;
		json_t *entry = await_question(asker);
		int first, second, end;

		assert_int_equal(say(entry, "user:alice", "approve"), 0);
		one = say_in_a_process(entry, "user:bob", "approve");
		two = say_in_a_process(entry, "user:carol", word);
		first = end_of(one);
		second = end_of(two);
		end = end_of(asker);
		assert_true(end == ANSWER_APPROVE || end == ANSWER_DENY);
		if (end == ANSWER_APPROVE)
			assert_true(first == 0 || (round % 2 == 0 && second == 0));
		else
			assert_true(round % 2 == 1 && second == 0);
		if (round % 2 && second == 0)
			assert_int_equal(end, ANSWER_DENY);
		json_decref(entry);
		assert_int_equal(left(), 0);
	}
	json_decref(route);
}

/* Random answers by random people, each of whom may be killed while he gives it, held against what
 * they could have come to. */
static void whoever_is_killed_no_yes_comes_of_fewer_than_two(void **data)
{
	static const char *const ways[] = {"user:alice", "web:al",    "user:bob",
					   "user:carol", "user:dave", "user:mallory"};
	static const int person[] = {0, 0, 1, 2, 3, 4};
	json_t *route = route_from(two_of_three);

	(void)data;
	for (int round = 0; round < ROUNDS; round++) {
		pid_t asker = ask(route, patient);
		json_t *entry = await_question(asker);
		bool sure[3] = {false}, perhaps[3] = {false}, no = false, perhaps_no = false;
		bool cut_short = false;
		unsigned at_least = 0, at_most = 0;
		int end;

		for (int i = 0; i < 12 && !has_ended(asker); i++) {
			unsigned who = any(ELEMENTS(ways));
			bool denies = any(12) == 0, kills = any(3) == 0;
			pid_t voter =
				say_in_a_process(entry, ways[who], denies ? "deny" : "approve");
			int status;

			if (kills) {
				struct timespec delay = {0, (long)any(2000000)};

				nanosleep(&delay, NULL);
				kill(voter, SIGKILL);
			}
			status = end_of(voter);
			cut_short |= status < 0;
			if (status == 0 && denies)
				no = true;
			else if (status == 0)
				sure[person[who]] = true;
			else if (status < 0 && denies && person[who] < 4)
				perhaps_no = true;
			else if (status < 0 && person[who] < 3)
				perhaps[person[who]] = true;
			assert_true(status != 0 || person[who] < 3 || (denies && person[who] == 3));
		}
		for (int i = 0; i < 3; i++) {
			at_least += sure[i];
			at_most += sure[i] || perhaps[i];
		}
		if (at_least < 2 && !no) { /* it may stand still: nobody has decided it */
			kill(asker, SIGTERM);
		}
		end = end_of(asker);
		if (end == ANSWER_APPROVE)
			assert_true(at_most >= 2 && !no);
		else if (end == ANSWER_DENY)
			assert_true(no || perhaps_no);
		else
			assert_true(at_least < 2 && !no);
		if (end < 0) { /* what is left of it goes with the next look */
			json_t *none = NULL;

			assert_int_equal(queue_list(world, count, &none, NULL), 0);
			assert_null(none);
		}
		if (cut_short) /* he may have left his vote behind the end, which goes with time */
			queue_drop(world, json_string_value(json_object_get(entry, "id")));
		json_decref(entry);
		assert_int_equal(left(), 0);
	}
	json_decref(route);
}

/* The question of a ticket outlives whoever waits for it: he is killed at any moment, and so are
 * those who answer, and another takes over. What was said for sure still counts, and nothing else
 * does. */
static void what_was_said_survives_whoever_waits_and_is_killed(void **data)
{
	static const char *const ways[] = {"user:alice", "web:al", "user:bob", "user:carol"};
	static const int person[] = {0, 0, 1, 2};
	json_t *route = route_from(two_of_three);

	(void)data;
	for (int round = 0; round < ROUNDS / 2; round++) {
		char id[ID_TEXT], ticket[ID_TEXT], path[128];
		struct queue queue = patient;
		bool sure[3] = {false}, perhaps[3] = {false};
		unsigned at_least = 0, at_most = 0;
		int end = -1;
		pid_t asker;

		id_make(id);
		id_make(ticket);
		snprintf(path, sizeof(path), "%s/tickets/%s", world, ticket);
		assert_int_equal(make_directories(path, 0700), 0);
		strcat(path, "/state.json");
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		queue.ticket = ticket;
		queue.id = id;
		asker = ask(route, queue);
		for (int i = 0; i < BOUND_MS && end < 0; i++) {
			struct timespec delay = {0, (long)any(1500000)};
			json_t *entry = NULL;

			if (any(8) == 0) {
				nanosleep(&delay, NULL);
				kill(asker, SIGKILL);
				end = end_of(asker);
				if (end < 0)
					asker = ask(route, queue);
			}
			if (end < 0 && queue_get(world, id, &entry, NULL) == 0) {
				unsigned who = any(ELEMENTS(ways));
				pid_t voter = say_in_a_process(entry, ways[who], "approve");
				int status;

				if (any(3) == 0) {
					nanosleep(&delay, NULL);
					kill(voter, SIGKILL);
				}
				status = end_of(voter);
				sure[person[who]] |= status == 0;
				perhaps[person[who]] |= status < 0;
				json_decref(entry);
			} else {
				nanosleep(&delay, NULL);
			}
			if (end < 0 && has_ended(asker))
				end = end_of(asker);
		}
		for (int i = 0; i < 3; i++) {
			at_least += sure[i];
			at_most += sure[i] || perhaps[i];
		}
		/* Two have said it for sure: whoever waits comes to it. */
		assert_true(end == ANSWER_APPROVE || at_least >= 2);
		if (end < 0)
			end = end_of(asker);
		assert_int_equal(end, ANSWER_APPROVE);
		assert_true(at_most >= 2);
		queue_drop(world, id);
		assert_int_equal(left(), 0);
	}
	json_decref(route);
}

/* The clock that the code under test reads (meson.build wraps it): here one process lets another go
 * on at the very moment that matters. */
void __real_moment_now(struct moment *ret_moment);
void __wrap_moment_now(struct moment *ret_moment);
static void (*at_clock)(void);

void __wrap_moment_now(struct moment *ret_moment)
{
	void (*call)(void) = at_clock;

	if (call)
		call();
	__real_moment_now(ret_moment);
}

static struct {
	const char *way;
	uint64_t end;	/* of the step, by the machine's clock */
	int linked[2];	/* closed when the vote is there */
	int decided[2]; /* closed when whoever waits is done */
	int told[2];	/* what the voter heard */
	char votes[128];
} instant;

static void await_close(int *ends)
{
	char byte;

	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
}

/* The voter looks whose turn it is, before he votes and after. */
static void when_voted(void)
{
	struct dirent *entry;
	bool voted = false;
	DIR *votes = opendir(instant.votes);

	while (votes && (entry = readdir(votes)))
		voted |= entry->d_name[0] != '.';
	if (votes)
		closedir(votes);
	if (!voted)
		return;
	at_clock = NULL;
	close(instant.linked[1]);
	await_close(instant.decided);
}

/* Whoever waits has read the votes, and looks at the clock. */
static void when_votes_are_read(void)
{
	struct moment now;
	json_t *found = NULL;
	char said;

	at_clock = NULL; /* who looks at the list looks at the clock */
	if (queue_list(world, count, &found, NULL) < 0 || !found) {
		at_clock = when_votes_are_read;
		return; /* the question is yet to be put */
	}
	if (fork() == 0) {
		close(instant.linked[0]);
		at_clock = when_voted;
		snprintf(instant.votes, sizeof(instant.votes), "%s/asks/%s.votes", world,
			 json_string_value(json_object_get(found, "id")));
		said = say(found, instant.way, "approve") == 0 ? 'y' : 'n';
		_exit(write(instant.told[1], &said, 1) == 1 ? 0 : 1);
	}
	await_close(instant.linked);
	json_decref(found);
	do {
		poll(NULL, 0, 10);
		__real_moment_now(&now);
	} while (now.ns < instant.end);
}

/* One whose yes is the last that is needed gives it after whoever waits has read the votes, and
 * before he finds that the time is over. What the voter hears is what comes of it. */
static void a_vote_in_the_instant_of_the_end_is_told_the_truth(void **data)
{
	json_t *route = route_from(two_of_three);
	struct moment now;
	char said = '?';
	pid_t asker;
	int end;

	(void)data;
	json_object_set_new(json_array_get(json_object_get(route, "steps"), 0), "within_seconds",
			    json_integer(2));
	json_object_set_new(json_array_get(json_object_get(route, "steps"), 0), "need",
			    json_integer(1));
	assert_int_equal(pipe(instant.linked) | pipe(instant.decided) | pipe(instant.told), 0);
	__real_moment_now(&now);
	instant.way = "user:alice";
	instant.end = now.ns + 3 * UINT64_C(1000000000);
	at_clock = when_votes_are_read;
	asker = ask(route, patient);
	at_clock = NULL;
	close(instant.linked[0]);
	close(instant.linked[1]);
	close(instant.decided[0]);
	close(instant.told[1]);
	end = end_of(asker);
	close(instant.decided[1]); /* now the voter goes on */
	assert_int_equal(read(instant.told[0], &said, 1), 1);
	assert_int_equal(said, end == ANSWER_APPROVE ? 'y' : 'n');
	/* He gave it in time. */
	assert_int_equal(end, ANSWER_APPROVE);
	close(instant.told[0]);
	assert_int_equal(left(), 0);
	json_decref(route);
}

static void a_step_that_nobody_answers_in_time_is_a_no(void **data)
{
	json_t *route = route_from(two_of_three), *entry;
	pid_t asker;

	(void)data;
	json_object_set_new(json_array_get(json_object_get(route, "steps"), 0), "within_seconds",
			    json_integer(1));
	asker = ask(route, patient);
	entry = await_question(asker);
	assert_int_equal(end_of(asker), ANSWER_DENY);
	assert_true(say(entry, "user:alice", "approve") < 0);
	assert_int_equal(left(), 0);
	json_decref(entry);
	json_decref(route);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_two_waits_and_the_second_makes_it),
		cmocka_unit_test(one_no_ends_it_also_by_the_owner_and_by_one_who_said_yes),
		cmocka_unit_test(replayed_and_forged_answers_count_for_nothing),
		cmocka_unit_test(one_who_was_removed_meanwhile_does_not_count),
		cmocka_unit_test(the_last_two_race_and_one_end_comes_of_it),
		cmocka_unit_test(whoever_is_killed_no_yes_comes_of_fewer_than_two),
		cmocka_unit_test(what_was_said_survives_whoever_waits_and_is_killed),
		cmocka_unit_test(a_step_that_nobody_answers_in_time_is_a_no),
		cmocka_unit_test(a_vote_in_the_instant_of_the_end_is_told_the_truth),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
