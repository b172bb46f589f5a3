/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and back: what is printed for a request or a policy is read as the same request or policy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "../../cmd/ward/options_table.h"
#include "../../cmd/ward/policy_flags.h"
#include "decide/layer.h"
#include "decide/merge.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 150, WORDS = 200 };

/* Values of which every flag and every key takes one. A flag that takes none of these needs one
 * here. */
static const char *const samples[] = {
	"restricted",
	"none",
	"never",
	"require",
	"off",
	"7",
	"512M",
	"1234567",
	"90s",
	"1.25",
	"0.001us",
	"50%",
	"/",
	"/tmp",
	"NAME=value",
	"NAME=",
	"runtime=runc",
	"mount:/data=/srv/it's here",
	"runc",
	"A=it's\n$(x) `y` \\ \"z\"",
	"word",
	"two words",
	"~/x",
	"**/*.pem",
	"-dash",
	"'",
	"\\",
	"\x1b[2J\x7f",
	"\xff\xfe\x80",
	"\xc3\xa9",
	"$HOME",
	"!history",
	"#",
	"a\tb",
	" ",
	"example.org:443",
	"registry:npm",
	"8080:80",
	"ssh-agent",
	"NPM_TOKEN",
	"seccomp",
	"modify_ldt",
	"memfd_create",
	"true",
};

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static const char *any_sample(void)
{
	return samples[any(ELEMENTS(samples))];
}

/* One more flag, if it takes the value. */
static bool say(const struct option *option, const char *value, struct request *request)
{
	char *words[] = {(char *)"run", (char *)option->name, (char *)value, NULL};
	bool alone = option->kind == FLAG;

	return options_parse_flags(alone ? 2 : 3, words, request, NULL) == 0;
}

/* The words of a line as bash reads them. */
static int split(const char *line, char *words[static WORDS], char *room, size_t size)
{
	_cleanup_free_ char *command = NULL;
	char path[] = "/tmp/ward-test-options-XXXXXX";
	int fd = mkstemp(path), count = 0;
	size_t length;
	FILE *pipe;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "printf '%%s\\0' %s", line) > 0);
	close(fd);
	assert_true(asprintf(&command, "bash %s", path) > 0);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(room, 1, size, pipe);
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
	for (size_t at = 0; at < length; at += strlen(room + at) + 1) {
		assert_true(count < WORDS - 1);
		words[count++] = room + at;
	}
	words[count] = NULL;
	return count;
}

static void assert_same_text(const char *one, const char *other)
{
	if (one && other)
		assert_string_equal(one, other);
	else
		assert_true(one == other);
}

static void assert_same(const struct request *one, const struct request *other)
{
	for (const struct option *option = options_table; option->name; option++) {
		const void *a = (const char *)one + option->offset,
			   *b = (const char *)other + option->offset;
		const struct list *first = a, *second = b;

		switch (option->kind) {
		case WORD:
		case PLACE:
			assert_same_text(*(char *const *)a, *(char *const *)b);
			break;
		case LIST:
		case VARIABLE:
		case HOST:
		case PUBLISH:
		case CONTAINER:
			assert_int_equal(first->count, second->count);
			for (size_t i = 0; i < first->count; i++)
				assert_string_equal(first->items[i], second->items[i]);
			break;
		case FLAG:
			assert_int_equal(*(const bool *)a, *(const bool *)b);
			break;
		case SIZE:
		case DURATION:
		case CPU:
		case COUNT:
			assert_int_equal(*(const uint64_t *)a, *(const uint64_t *)b);
			break;
		case LEVEL:
		case NETWORK:
		case APPROVAL:
		case CACHES:
		case PREFERENCE:
		case ESCALATION:
			assert_int_equal(*(const int *)a, *(const int *)b);
			break;
		case HELP:
			break;
		}
	}
	assert_int_equal(one->has_level, other->has_level);
	assert_int_equal(one->has_network, other->has_network);
	assert_int_equal(one->has_approval, other->has_approval);
	assert_int_equal(one->has_caches, other->has_caches);
}

/* Prints it, reads it again, prints it again. */
static void there_and_back(const struct request *request)
{
	_cleanup_request_ struct request again;
	_cleanup_buffer_ struct buffer line = {0}, second = {0};
	static char room[1 << 16];
	char *words[WORDS];
	int count;

	buffer_add_text(&line, "run");
	options_print(request, &line);
	for (size_t i = 0; i < line.length; i++) /* fit for a terminal */
		assert_in_range(line.data[i], ' ', '~');
	count = split(buffer_text(&line), words, room, sizeof(room));
	request_init(&again);
	assert_int_equal(options_parse_flags(count, words, &again, NULL), 0);
	assert_same(request, &again);
	buffer_add_text(&second, "run");
	options_print(&again, &second);
	assert_string_equal(buffer_text(&second), buffer_text(&line));
}

static void every_flag_comes_back(void **state)
{
	(void)state;
	for (const struct option *option = options_table; option->name; option++) {
		bool taken = option->kind == HELP;

		for (size_t i = 0; i < ELEMENTS(samples) && option->kind != HELP; i++) {
			_cleanup_request_ struct request request;
			_cleanup_buffer_ struct buffer line = {0};

			request_init(&request);
			if (!say(option, samples[i], &request))
				continue;
			there_and_back(&request);
			options_print(&request, &line);
			taken |= line.length > 0;
		}
		if (!taken)
			assert_string_equal(option->name, "a flag that is printed");
	}
}

static void any_request_comes_back(void **state)
{
	size_t flags = 0;

	(void)state;
	while (options_table[flags].name)
		flags++;
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_request_ struct request request;

		request_init(&request);
		for (uint64_t left = any(20); left > 0; left--) {
			const struct option *option = &options_table[any(flags)];

			if (option->kind != HELP)
				(void)say(option, any_sample(), &request);
		}
		there_and_back(&request);
	}
}

/* The policy that a text makes, by itself. */
static struct policy *policy_of(const char *text)
{
	struct policy *policy = NULL;
	struct layer *layer = NULL;

	if (layer_parse(text, strlen(text), "test", NULL, "/home/x", &layer, NULL) < 0)
		return NULL;
	layer->trusted = true;
	policy = merge_begin("/home/x");
	merge_layer(policy, layer, 1, NULL);
	merge_end(policy);
	layer_free(layer);
	return policy;
}

/* "files.read" and a value as YAML, as a list or alone. */
static void add_setting(struct buffer *text, const char *name, const char *value, bool list)
{
	const char *dot = strchr(name, '.');
	int before = dot ? (int)(dot - name) : 0;

	bool top = strcmp(name, "approval") == 0 || strcmp(name, "wait") == 0;

	buffer_printf(text, top ? "" : "sandbox: {");
	if (dot)
		buffer_printf(text, "%.*s: {", before, name);
	buffer_printf(text, "%s: %s", dot ? dot + 1 : name,
		      strcmp(name, "environment.set") == 0 ? "{NAME: "
		      : strcmp(name, "container") == 0	   ? "{runtime: "
		      : list				   ? "["
							   : "");
	buffer_add_char(text, '\'');
	for (; *value; value++)
		buffer_printf(text, "%s%c", *value == '\'' ? "'" : "", *value);
	buffer_printf(text, "'%s%s%s\n",
		      strcmp(name, "environment.set") == 0 || strcmp(name, "container") == 0 ? "}"
		      : list								     ? "]"
											     : "",
		      dot ? "}" : "", top ? "" : "}");
}

static char *flags_of(const struct policy *policy, struct request *ret_request)
{
	_cleanup_request_ struct request none;
	struct buffer line = {0};

	request_init(&none);
	assert_int_equal(policy_to_request(policy, &none, ret_request, NULL), 0);
	options_print(ret_request, &line);
	return buffer_steal(&line);
}

/* A key that a policy has and no flag says would be lost on the way. */
static void every_key_of_a_policy_comes_back(void **state)
{
	_cleanup_policy_ struct policy *empty = policy_of("version: 1\n");
	_cleanup_request_ struct request bare;
	_cleanup_free_ char *without = flags_of(empty, &bare);

	(void)state;
	for (enum setting_kind kind = 0; kind < SET_PROFILE; kind++) {
		bool said = false;

		for (size_t i = 0; i < 2 * ELEMENTS(samples); i++) {
			_cleanup_policy_ struct policy *policy = NULL;
			_cleanup_buffer_ struct buffer text = {0};
			_cleanup_request_ struct request request = {0};
			_cleanup_free_ char *line = NULL;

			add_setting(&text, setting_name(kind), samples[i / 2], i % 2);
			policy = policy_of(buffer_text(&text));
			if (!policy)
				continue;
			line = flags_of(policy, &request);
			there_and_back(&request);
			said |= strcmp(line, without) != 0;
		}
		if (!said)
			assert_string_equal(setting_name(kind), "a key that becomes a flag");
	}
}

static void flags_are_laid_over_a_policy(void **state)
{
	static const char text[] = "approval: never\n"
				   "sandbox:\n"
				   "  files: {read: [a], deny: [b]}\n"
				   "  environment: {set: {X: '1', Y: '2'}}\n"
				   "  limits: {memory: 1G, time: 5s}\n"
				   "profiles:\n"
				   "  p: {network: {mode: full}}\n";
	char *words[] = {(char *)"run", (char *)"--profile", (char *)"p",  (char *)"--read",
			 (char *)"c",	(char *)"--read",    (char *)"a",  (char *)"--env",
			 (char *)"X=3", (char *)"--memory",  (char *)"2G", NULL};
	_cleanup_policy_ struct policy *policy = policy_of(text);
	_cleanup_request_ struct request flags, whole;
	_cleanup_buffer_ struct buffer line = {0};

	(void)state;
	assert_non_null(policy);
	request_init(&flags);
	assert_int_equal(options_parse_flags(ELEMENTS(words) - 1, words, &flags, NULL), 0);
	assert_int_equal(policy_to_request(policy, &flags, &whole, NULL), 0);
	options_print(&whole, &line);
	assert_string_equal(buffer_text(&line), " --level restricted --net full --approval never "
						"--read a --read c --deny b"
						" --memory 2G --timeout 5s --env Y=2 --env X=3");
	there_and_back(&whole);
}

static void words_that_are_no_flags_are_refused(void **state)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_request_ struct request request;
	char *words[] = {(char *)"run", (char *)"--quiet", (char *)"true", NULL};

	(void)state;
	request_init(&request);
	assert_int_equal(options_parse_flags(3, words, &request, &error), -E_USAGE);
	assert_non_null(strstr(error->message, "'true'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flag_comes_back),
		cmocka_unit_test(any_request_comes_back),
		cmocka_unit_test(every_key_of_a_policy_comes_back),
		cmocka_unit_test(flags_are_laid_over_a_policy),
		cmocka_unit_test(words_that_are_no_flags_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
