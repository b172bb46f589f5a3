/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and incidents on disk: what is there after each step, after a kill in the middle, and where
 * somebody else has had his hands in it. */
#include "../../src/base/io.h"
#include "../../src/record/holders.h"
#include "../../src/record/incidents.h"
#include "../../src/record/process_tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#define HOUR (3600ull * 1000000000)

struct world {
	char state[64];
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	strcpy(world->state, "/tmp/ward-test-XXXXXX");
	*state = world;
	return mkdtemp(world->state) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	(void)remove_tree(AT_FDCWD, world->state);
	free(world);
	return 0;
}

static void open_one(const struct world *world, const char *run, struct agent_mode *ret_mode,
		     bool *ret_new)
{
	json_t *violation = json_pack("{s:s}", "object", "/x");

	assert_int_equal(
		incident_open(world->state, "robot", run, violation, ret_mode, ret_new, NULL), 0);
	json_decref(violation);
}

static char *path_of(const struct world *world, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/agents/robot/%s", world->state, name) > 0);
	return path;
}

static void an_agent_of_which_nothing_is_known_is_in_normal_mode(void **state)
{
	const struct world *world = *state;
	struct agent_mode mode;

	assert_int_equal(mode_read(world->state, "robot", &mode, NULL), 0);
	assert_false(mode.safe);
	assert_int_equal(mode.freezes, 0);
}

static void an_incident_is_open_until_somebody_closes_it(void **state)
{
	const struct world *world = *state;
	struct agent_mode mode, later;
	json_t *incident;
	bool new;

	open_one(world, "run1", &mode, &new);
	assert_true(new &&mode.safe);
	open_one(world, "run2", &later, &new);
	assert_false(new);
	assert_string_equal(mode.incident, later.incident);
	assert_int_equal(later.freezes, mode.freezes + 1);
	assert_int_equal(mode_sync(world->state, "robot", NULL), 0);
	assert_int_equal(mode_read(world->state, "robot", &later, NULL), 0);
	assert_true(later.safe && later.voided > 0);
	assert_int_equal(incident_find(world->state, mode.incident, &incident, NULL), 0);
	assert_int_equal(json_array_size(json_object_get(incident, "violations")), 2);
	assert_string_equal(json_string_value(json_object_get(incident, "state")), "open");
	json_decref(incident);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "fine", NULL),
			 0);
	assert_int_equal(mode_read(world->state, "robot", &later, NULL), 0);
	assert_false(later.safe);
	assert_int_equal(later.freezes, 2); /* what stood still is not forgotten */
	assert_true(later.voided > 0);	    /* nor are tokens of before good again */
	assert_true(incident_close(world->state, "robot", mode.incident, "anna", "again", NULL) <
		    0);
	open_one(world, "run3", &later, &new);
	assert_true(new &&strcmp(later.incident, mode.incident) != 0);
}

static void an_end_that_was_cut_short_can_be_made_again(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "mode.json"), *text = NULL;
	struct agent_mode mode;
	size_t length;
	bool new;
	int fd;

	open_one(world, "run1", &mode, &new);
	assert_int_equal(read_file(AT_FDCWD, path, 1 << 16, &text, &length), 0);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "one", NULL),
			 0);
	fd = open(path, O_WRONLY | O_TRUNC); /* as if ward had been killed between the two files */
	assert_int_equal(write(fd, text, length), length);
	close(fd);
	assert_int_equal(mode_read(world->state, "robot", &mode, NULL), 0);
	assert_true(mode.safe);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "two", NULL),
			 0);
	assert_int_equal(mode_read(world->state, "robot", &mode, NULL), 0);
	assert_false(mode.safe);
}

static void medium_ones_count_within_their_time_and_an_object_once_a_run(void **state)
{
	const struct world *world = *state;
	uint64_t count;

	assert_int_equal(mode_count(world->state, "robot", "r1", "a:80", HOUR, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(mode_count(world->state, "robot", "r1", "a:80", HOUR, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(mode_count(world->state, "robot", "r2", "a:80", HOUR, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(mode_count(world->state, "other", "r2", "a:80", HOUR, &count, NULL), 0);
	assert_int_equal(count, 1);
	sleep(2);
	assert_int_equal(mode_count(world->state, "robot", "r3", "b:80", 1000000000, &count, NULL),
			 0);
	assert_int_equal(count, 1);
}

static void a_word_is_to_those_that_stood_still_when_it_was_said(void **state)
{
	const struct world *world = *state;
	struct agent_mode mode;
	json_t *incident;
	bool new;

	open_one(world, "run1", &mode, &new);
	assert_int_equal(incident_read(world->state, "robot", mode.incident, &incident, NULL), 0);
	assert_int_equal(incident_word(incident, mode.freezes), INCIDENT_WAIT);
	json_decref(incident);
	assert_int_equal(incident_answer(world->state, "robot", mode.incident, INCIDENT_RESUME,
					 "anna", NULL),
			 0);
	assert_int_equal(incident_read(world->state, "robot", mode.incident, &incident, NULL), 0);
	assert_int_equal(incident_word(incident, mode.freezes), INCIDENT_RESUME);
	assert_int_equal(incident_word(incident, mode.freezes + 1), INCIDENT_WAIT);
	json_decref(incident);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "x", NULL),
			 0);
	assert_int_equal(incident_read(world->state, "robot", mode.incident, &incident, NULL), 0);
	assert_int_equal(incident_word(incident, mode.freezes + 1), INCIDENT_KILL);
	json_decref(incident);
}

static void what_cannot_be_read_is_no_normal_mode(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "mode.json");
	struct agent_mode mode;
	bool new;
	int fd;

	open_one(world, "run1", &mode, &new);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "{", 1), 1);
	close(fd);
	assert_true(mode_read(world->state, "robot", &mode, NULL) < 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true(mode_read(world->state, "robot", &mode, NULL) < 0);
}

static void write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void a_mode_that_contradicts_itself_is_no_normal_mode(void **state)
{
	static const char *const texts[] = {
		"{\"mode\": \"safe\", \"incident\": null}",
		"{\"mode\": \"safe\", \"incident\": \"x\"}",
		"{\"mode\": \"safe\"}",
		"{\"mode\": \"normal\", \"incident\": \"01m7aaaaaaaaaaaaaaaaaaaaaa\"}",
		"{\"incident\": \"gone\"}",
		"{\"mode\": 1}",
		"{\"mode\": \"normal\", \"freezes\": -1}",
		"{\"mode\": \"normal\", \"voided\": \"no\"}",
		"",
		"[]",
	};
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "mode.json");
	struct agent_mode mode;
	json_t *violation = json_object();
	bool new;

	assert_int_equal(agent_place_make(world->state, "robot", NULL), 0);
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		write_text(path, texts[i]);
		assert_true(mode_read(world->state, "robot", &mode, NULL) < 0);
		assert_true(incident_open(world->state, "robot", "r", violation, &mode, &new,
					  NULL) < 0);
	}
	json_decref(violation);
}

static void tokens_stay_void_when_the_clock_goes_back(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "mode.json");
	struct agent_mode mode;
	bool new;

	assert_int_equal(agent_place_make(world->state, "robot", NULL), 0);
	write_text(path, "{\"mode\": \"normal\", \"incident\": null, \"voided\": 99999999999}");
	open_one(world, "run1", &mode, &new);
	assert_true(mode.voided == 99999999999);
}

/* As the word of an agent's run with words without end. */
static json_t *large(size_t length)
{
	_cleanup_free_ char *text = malloc(length + 1);

	memset(text, 'x', length);
	text[length] = '\0';
	return json_string(text);
}

static void no_agent_makes_an_incident_too_large_to_be_closed(void **state)
{
	const struct world *world = *state;
	struct agent_mode mode;
	json_t *incident;
	bool new;

	open_one(world, "run1", &mode, &new);
	assert_int_equal(
		incident_add(world->state, "robot", mode.incident,
			     json_pack("{s:o, s:s}", "argv", large(9 << 20), "workspace", "/ws"),
			     NULL),
		0);
	for (int i = 0; i < 20; i++) {
		open_one(world, "run2", &mode, &new);
		assert_int_equal(incident_append(world->state, "robot", mode.incident, "moments",
						 json_pack("{s:o}", "argv", large(1 << 20)), NULL),
				 0);
	}
	assert_int_equal(incident_find(world->state, mode.incident, &incident, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(incident, "workspace")), "/ws");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(incident, "left_out"), 0)),
		"argv");
	assert_true(json_integer_value(json_object_get(incident, "more")) > 0);
	json_decref(incident);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "x", NULL),
			 0);
}

static int count_one(json_t *incident, void *data)
{
	(void)incident;
	++*(int *)data;
	return 0;
}

static void one_that_cannot_be_read_hides_no_other(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "incidents/00aaaaaaaaaaaaaaaaaaaaaaaa.json");
	struct agent_mode mode;
	json_t *incident;
	int count = 0;
	bool new;

	open_one(world, "run1", &mode, &new);
	write_text(path, "{");
	assert_true(incidents_each(world->state, count_one, &count, NULL) < 0);
	assert_int_equal(count, 1);
	assert_int_equal(incident_find(world->state, mode.incident, &incident, NULL), 0);
	json_decref(incident);
}

/* Nothing can be written any more, by anybody: as on a full disk, names can still be changed. */
static void fill_disk(bool full)
{
	const struct rlimit limit = {full ? 0 : RLIM_INFINITY, RLIM_INFINITY};

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void what_could_not_be_written_is_an_incident_later(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *place = agent_place(world->state, "ro@bot");
	json_t *violation = json_object();
	struct holder holder = HOLDER_NONE;
	struct agent_mode mode;
	int count = 0;
	bool new;

	assert_int_equal(agent_place_make(world->state, "ro@bot", NULL), 0);
	assert_int_equal(holder_begin(place, "run1", &holder, NULL), 0);
	fill_disk(true);
	assert_true(incident_open(world->state, "ro@bot", "run1", violation, &mode, &new, NULL) <
		    0);
	mode_leave_unsettled(world->state, "ro@bot", "run1");
	holder_end(&holder);
	/* Nobody starts as long as it is full; afterwards it is in safe mode. */
	assert_true(mode_read(world->state, "ro@bot", &mode, NULL) < 0);
	fill_disk(false);
	assert_int_equal(incidents_each(world->state, count_one, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(mode_read(world->state, "ro@bot", &mode, NULL), 0);
	assert_true(mode.safe && mode.freezes == 1);
	assert_int_equal(incident_close(world->state, "ro@bot", mode.incident, "anna", "x", NULL),
			 0);
	assert_int_equal(mode_read(world->state, "ro@bot", &mode, NULL), 0);
	assert_false(mode.safe);
	json_decref(violation);
}

static void nothing_is_written_where_others_can_write(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *place = agent_place(world->state, "robot");
	struct agent_mode mode;
	json_t *violation = json_object();
	bool new;

	assert_int_equal(agent_place_make(world->state, "robot", NULL), 0);
	assert_int_equal(chmod(place, 0777), 0);
	assert_true(incident_open(world->state, "robot", "r", violation, &mode, &new, NULL) < 0);
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(symlink("/tmp", place), 0);
	assert_true(incident_open(world->state, "robot", "r", violation, &mode, &new, NULL) < 0);
	json_decref(violation);
}

static void files_are_for_their_owner_alone(void **state)
{
	const struct world *world = *state;
	struct agent_mode mode;
	char *names[] = {"mode.json", NULL};
	bool new;

	open_one(world, "run1", &mode, &new);
	assert_true(asprintf(&names[1], "incidents/%s.json", mode.incident) > 0);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *path = path_of(world, names[i]);
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	free(names[1]);
}

static void nos_of_other_runs_are_known_until_the_incident_is_closed(void **state)
{
	const struct world *world = *state;
	struct list targets = {0};
	struct agent_mode mode;
	bool new;

	assert_int_equal(refused_note(world->state, "robot", "r1", "write", "/srv/a b", NULL), 0);
	assert_int_equal(refused_load(world->state, "robot", "r1", &targets, NULL), 0);
	assert_int_equal(targets.count, 0);
	assert_int_equal(refused_load(world->state, "robot", "r2", &targets, NULL), 0);
	assert_int_equal(targets.count, 1);
	assert_string_equal(targets.items[0], "write /srv/a b");
	list_done(&targets);
	targets = (struct list){0};
	open_one(world, "r2", &mode, &new);
	assert_int_equal(incident_close(world->state, "robot", mode.incident, "anna", "x", NULL),
			 0);
	assert_int_equal(refused_load(world->state, "robot", "r3", &targets, NULL), 0);
	assert_int_equal(targets.count, 0);
}

static void half_a_no_spoils_no_other(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *path = path_of(world, "refused");
	_cleanup_list_ struct list targets = {0};

	assert_int_equal(agent_place_make(world->state, "robot", NULL), 0);
	write_text(path, "{\"run\": \"r1\", \"oper");
	assert_int_equal(refused_note(world->state, "robot", "r1", "write", "/srv/a", NULL), 0);
	assert_int_equal(refused_load(world->state, "robot", "r2", &targets, NULL), 0);
	assert_int_equal(targets.count, 1);
}

static void two_names_are_two_agents(void **state)
{
	const struct world *world = *state;
	_cleanup_free_ char *one = agent_place(world->state, "a@b");
	_cleanup_free_ char *other = agent_place(world->state, "a+b");

	assert_string_not_equal(one, other);
	assert_null(strchr(one, '@'));
}

static void a_tree_has_parents_before_children(void **state)
{
	json_t *tree;
	int stop[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(stop), 0);
	child = fork();
	if (child == 0) {
		char end;

		close(stop[1]);
		(void)!read(stop[0], &end, 1);
		_exit(0);
	}
	tree = process_tree(getpid());
	assert_true(json_array_size(tree) >= 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(tree, 0), "pid")),
			 getpid());
	assert_int_equal(json_integer_value(json_object_get(json_array_get(tree, 1), "pid")),
			 child);
	json_decref(tree);
	close(stop[0]);
	close(stop[1]);
	waitpid(child, NULL, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_agent_of_which_nothing_is_known_is_in_normal_mode),
		TEST(an_incident_is_open_until_somebody_closes_it),
		TEST(an_end_that_was_cut_short_can_be_made_again),
		TEST(medium_ones_count_within_their_time_and_an_object_once_a_run),
		TEST(a_word_is_to_those_that_stood_still_when_it_was_said),
		TEST(what_cannot_be_read_is_no_normal_mode),
		TEST(a_mode_that_contradicts_itself_is_no_normal_mode),
		TEST(tokens_stay_void_when_the_clock_goes_back),
		TEST(no_agent_makes_an_incident_too_large_to_be_closed),
		TEST(one_that_cannot_be_read_hides_no_other),
		TEST(what_could_not_be_written_is_an_incident_later),
		TEST(half_a_no_spoils_no_other),
		TEST(nothing_is_written_where_others_can_write),
		TEST(files_are_for_their_owner_alone),
		TEST(nos_of_other_runs_are_known_until_the_incident_is_closed),
		TEST(two_names_are_two_agents),
		TEST(a_tree_has_parents_before_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
