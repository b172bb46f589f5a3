/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: what was changed, cut or made elsewhere is refused, and narrowing never gives more. */
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/bounds.h"
#include "../../src/token/parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING, NOW = 1800000000, CHAINS = 10000 };

static const unsigned char key[MACAROON_KEY] = "a key for the tests of tokens";
#define KEY_NAME "0123456789abcdef"

static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % most;
}

static void make(const struct list *allow, struct token *ret_token)
{
	const struct caveats caveats = {
		.allow = allow, .agent = "builder", .expires = NOW + 600, .uses = 3};

	assert_int_equal(token_mint(key, KEY_NAME, NOW, &caveats, ret_token, NULL), 0);
}

static void make_simple(struct token *ret_token)
{
	_cleanup_list_ struct list allow = {0};

	list_add(&allow, "read src/**");
	list_add(&allow, "write out/**");
	make(&allow, ret_token);
}

static bool is_good(const char *text, const unsigned char *with)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};

	if (token_read(text, &token, &error) < 0) {
		assert_non_null(error->message);
		return false;
	}
	return token_check(&token, with, &powers, &error) == 0;
}

static void a_token_is_read_as_it_was_written(void **state)
{
	_cleanup_token_ struct token token = {0}, again = {0};
	_cleanup_powers_ struct powers powers = {0};
	_cleanup_free_ char *text = NULL, *twice = NULL;

	(void)state;
	make_simple(&token);
	text = token_write(&token);
	assert_int_equal(token_read(text, &again, NULL), 0);
	twice = token_write(&again);
	assert_string_equal(text, twice);
	assert_int_equal(token_check(&again, key, &powers, NULL), 0);
	assert_string_equal(powers.agent, "builder");
	assert_string_equal(powers.key, KEY_NAME);
	assert_int_equal(powers.issued, NOW);
	assert_int_equal(powers.expires, NOW + 600);
	assert_int_equal(powers.allow_count, 1);
	assert_string_equal(powers.allows[0].items[1], "write out/**");
	assert_int_equal(powers.use_count, 1);
	assert_int_equal(powers.uses[0].most, 3);
}

/* All bytes of it, one changed or some missing, as text again. */
static bool is_good_changed(const struct token *token, size_t length, size_t bit)
{
	_cleanup_free_ char *text = token_write(token);
	unsigned char bytes[4096];
	char changed[8192];
	size_t count;

	assert_int_equal(sodium_base642bin(bytes, sizeof(bytes), text, strlen(text), NULL, &count,
					   NULL, BASE64),
			 0);
	if (length >= count && bit >= 8 * count)
		return true;
	if (bit < 8 * count)
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	sodium_bin2base64(changed, sizeof(changed), bytes, MIN(length, count), BASE64);
	return is_good(changed, key);
}

static size_t size_of(const struct token *token)
{
	_cleanup_free_ char *text = token_write(token);

	return strlen(text) * 3 / 4;
}

static void every_bit_of_it_counts(void **state)
{
	_cleanup_token_ struct token token = {0};
	unsigned char approver[32];
	char public[TOKEN_APPROVER];

	(void)state;
	make_simple(&token);
	approver_make(approver, public);
	/* With an approval behind it, which counts as much. */
	for (int approved = 0; approved < 2; approved++) {
		const struct caveats more = {.approver = public};

		for (size_t bit = 0; bit < 8 * size_of(&token); bit++)
			assert_false(is_good_changed(&token, SIZE_MAX, bit));
		for (size_t length = 0; length < size_of(&token); length++)
			assert_false(is_good_changed(&token, length, SIZE_MAX));
		if (approved)
			break;
		assert_int_equal(token_narrow(&token, &more, NULL), 0);
		assert_int_equal(token_approve(&token, approver, NOW + 60, NULL), 0);
	}
}

static void every_character_of_its_text_counts(void **state)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_free_ char *text = NULL;
	char longer[8192];

	(void)state;
	make_simple(&token);
	text = token_write(&token);
	assert_true(is_good(text, key));
	for (size_t i = 0; i < strlen(text); i++) {
		char kept = text[i];

		text[i] = kept == 'A' ? 'B' : 'A';
		assert_false(is_good(text, key));
		text[i] = (char)(kept | 0x80);
		assert_false(is_good(text, key));
		for (int byte = 128; byte < 256; byte++) {
			text[i] = (char)byte;
			assert_false(is_good(text, key));
		}
		text[i] = '=';
		assert_false(is_good(text, key));
		text[i] = kept;
	}
	for (const char *tail = "=\n \tA."; *tail; tail++) {
		snprintf(longer, sizeof(longer), "%s%c", text, *tail);
		assert_false(is_good(longer, key));
	}
}

static void what_is_too_large_is_refused(void **state)
{
	_cleanup_free_ char *huge = malloc(TOKEN_TEXT + 2);
	_cleanup_token_ struct token token = {0};
	const struct caveats caveats = {.uses = 1};
	char agent[MACAROON_FIELD + 1];
	const struct caveats large = {.agent = agent};

	(void)state;
	memset(huge, 'A', TOKEN_TEXT + 1);
	huge[TOKEN_TEXT + 1] = '\0';
	assert_false(is_good(huge, key));
	assert_false(is_good("", key));
	make_simple(&token);
	while (token.root.count < MACAROON_CAVEATS)
		assert_int_equal(token_narrow(&token, &caveats, NULL), 0);
	assert_true(token_narrow(&token, &caveats, NULL) < 0);
	memset(agent, 'a', sizeof(agent));
	agent[MACAROON_FIELD] = '\0';
	token_done(&token);
	make_simple(&token);
	assert_true(token_narrow(&token, &large, NULL) < 0);
}

static void another_key_makes_another_token(void **state)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_free_ char *text = NULL;
	unsigned char other[MACAROON_KEY];

	(void)state;
	make_simple(&token);
	text = token_write(&token);
	memcpy(other, key, sizeof(other));
	other[31] ^= 1;
	assert_true(is_good(text, key));
	assert_false(is_good(text, other));
}

/* With the key at hand, as nobody has it: what does not begin as ward's do, or says something that
 * is not known, is refused whoever signed it. */
static bool is_good_with(const char *const *caveats)
{
	struct macaroon macaroon;
	struct token token = {0};
	struct powers powers;
	static const char id[] =
		"ward 1 " KEY_NAME " 01m7js0000000000000000000a 2027-01-15T08:00:00Z";
	bool good;

	macaroon_make(key, "ward", id, strlen(id), &macaroon);
	for (; *caveats; caveats++)
		assert_true(macaroon_add(&macaroon, *caveats, strlen(*caveats)));
	token.root = macaroon;
	good = token_check(&token, key, &powers, NULL) == 0;
	if (good)
		powers_done(&powers);
	token_done(&token);
	return good;
}

#define BEGINNING "allow read .", "agent builder", "expires 2027-01-15T09:00:00Z"

static void what_is_not_understood_is_refused(void **state)
{
	static const char *const good[][6] = {
		{BEGINNING, NULL},
		{BEGINNING, "allow read src", "agent builder", NULL},
		{BEGINNING, "uses 1", "workspace /srv", NULL},
		{BEGINNING, "allow read a\nallow write b", NULL},
	};
	static const char *const bad[][6] = {
		{"agent builder", "allow read .", "expires 2027-01-15T09:00:00Z", NULL},
		{"allow read .", "agent builder", NULL},
		{"agent builder", NULL},
		{NULL},
		{BEGINNING, "colour green", NULL},
		{BEGINNING, "allow", NULL},
		{BEGINNING, "allow ", NULL},
		{BEGINNING, "allow read a\nread b", NULL},
		{BEGINNING, "allow read a\n", NULL},
		{BEGINNING, "allow read a\001", NULL},
		{BEGINNING, "agent other", NULL},
		{BEGINNING, "agent ", NULL},
		{BEGINNING, "agent builder\n", NULL},
		{BEGINNING, "expires tomorrow", NULL},
		{BEGINNING, "expires 2027-01-15T09:00:00", NULL},
		{BEGINNING, "expires 2027-02-30T09:00:00Z", NULL},
		{BEGINNING, "expires 2027- 1-15T09:00:00Z", NULL},
		{BEGINNING, "workspace srv", NULL},
		{BEGINNING, "workspace /srv/..", NULL},
		{BEGINNING, "uses 0", NULL},
		{BEGINNING, "uses 01", NULL},
		{BEGINNING, "uses -1", NULL},
		{BEGINNING, "uses 1e3", NULL},
		{BEGINNING, "uses ", NULL},
		{BEGINNING, "command sha256:00", NULL},
		{BEGINNING, "approved by me", NULL},
		{BEGINNING, "Allow read a", NULL},
		{BEGINNING, " allow read a", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(good); i++)
		assert_true(is_good_with(good[i]));
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		assert_false(is_good_with(bad[i]));
}

static bool admits(const struct token *token, const char *agent, const char *workspace,
		   const char *command)
{
	_cleanup_powers_ struct powers powers = {0};
	const struct bearer bearer = {agent, workspace, command};

	return token_check(token, key, &powers, NULL) == 0 &&
	       token_admits(&powers, &bearer, NULL) == 0;
}

static void it_is_for_one_agent_workspace_and_command(void **state)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_list_ struct list words = {0}, joined = {0};
	char hash[TOKEN_COMMAND], other[TOKEN_COMMAND];
	const struct caveats place = {.workspace = "/srv/a"}, command = {.command = hash};

	(void)state;
	make_simple(&token);
	assert_true(admits(&token, "builder", "/anywhere", NULL));
	assert_false(admits(&token, "other", "/anywhere", NULL));
	assert_false(admits(&token, NULL, "/anywhere", NULL));
	assert_int_equal(token_narrow(&token, &place, NULL), 0);
	assert_true(admits(&token, "builder", "/srv/a", NULL));
	assert_true(admits(&token, "builder", "/srv/a/b", NULL));
	assert_false(admits(&token, "builder", "/srv/ab", NULL));
	assert_false(admits(&token, "builder", "/srv", NULL));
	list_add(&words, "make");
	list_add(&words, "all");
	list_add(&joined, "make all");
	token_command_hash(&words, NULL, hash);
	assert_int_equal(token_narrow(&token, &command, NULL), 0);
	assert_true(admits(&token, "builder", "/srv/a", hash));
	assert_false(admits(&token, "builder", "/srv/a", NULL));
	token_command_hash(&joined, NULL, other);
	assert_false(admits(&token, "builder", "/srv/a", other));
	token_command_hash(NULL, "make all", other);
	assert_false(admits(&token, "builder", "/srv/a", other));
}

static bool checks(const struct token *token)
{
	_cleanup_free_ char *text = token_write(token);

	return is_good(text, key);
}

static void an_approval_is_its_approvers_and_for_this_token(void **state)
{
	_cleanup_token_ struct token token = {0}, second = {0};
	unsigned char approver[32], stranger[32];
	char public[TOKEN_APPROVER], other[TOKEN_APPROVER];
	const struct caveats needs = {.approver = public}, less = {.uses = 1};
	struct macaroon taken;

	(void)state;
	approver_make(approver, public);
	approver_make(stranger, other);
	make_simple(&token);
	assert_int_equal(token_narrow(&token, &needs, NULL), 0);
	assert_false(checks(&token));
	assert_true(token_approve(&token, stranger, NOW + 60, NULL) < 0);
	assert_false(checks(&token));
	assert_int_equal(token_approve(&token, approver, NOW + 60, NULL), 0);
	assert_true(checks(&token));
	/* That of one is nothing for another, although the same approver is wanted. */
	make_simple(&second);
	assert_int_equal(token_narrow(&second, &needs, NULL), 0);
	assert_int_equal(token_approve(&second, approver, NOW + 60, NULL), 0);
	assert_true(checks(&second));
	taken = token.discharges[0];
	token.discharges[0] = second.discharges[0];
	second.discharges[0] = taken;
	assert_false(checks(&token));
	assert_false(checks(&second));
	/* What is narrower is another one. */
	assert_int_equal(token_narrow(&token, &less, NULL), 0);
	assert_false(checks(&token));
	assert_int_equal(token_approve(&token, approver, NOW + 60, NULL), 0);
	assert_true(checks(&token));
}

static void an_approver_cannot_be_shown_another_token(void **state)
{
	_cleanup_token_ struct token token = {0}, shown = {0};
	_cleanup_free_ char *text = NULL;
	unsigned char approver[32];
	char public[TOKEN_APPROVER];
	const struct caveats needs = {.approver = public};
	struct bytes *allowed;

	(void)state;
	approver_make(approver, public);
	make_simple(&token);
	assert_int_equal(token_narrow(&token, &needs, NULL), 0);
	text = token_write(&token);
	assert_int_equal(token_read(text, &shown, NULL), 0);
	/* Nobody but ward can tell that its signature is that of the other. */
	allowed = &shown.root.caveats[0].id;
	allowed->data[allowed->length - 1] ^= 1;
	assert_int_equal(token_approve(&shown, approver, NOW + 60, NULL), 0);
	token.discharges = STEAL(shown.discharges);
	token.count = shown.count;
	shown.count = 0;
	assert_false(checks(&token));
}

/* -- The algebra --------------------------------------------------------------------------------
 */

static const char *const operations[] = {"read", "write", "delete", "exec"};
static const char *const names[] = {"a", "b", "c", "src"};

static void random_pattern(char *text, size_t size)
{
	unsigned depth = 1 + random_below(3);
	size_t at = 0;

	if (random_below(8) == 0)
		at += (size_t)snprintf(text + at, size - at, "/ws");
	for (unsigned i = 0; i < depth; i++) {
		static const char *const globs[] = {"*", "**", "?", "[ab]", "s*"};
		const char *part = random_below(3) ? names[random_below(ELEMENTS(names))]
						   : globs[random_below(ELEMENTS(globs))];

		at += (size_t)snprintf(text + at, size - at, "%s%s", at ? "/" : "", part);
	}
	if (random_below(3) == 0)
		snprintf(text + at, size - at, "/**");
}

static void random_list(struct list *list)
{
	static const char *const others[] = {
		"connect example.org:443",	"connect *.example.org",
		"connect **.example.org",	"http GET https://a.example/x*",
		"http * https://a.example/*",	"secret NAME",
		"http GET https://a.example/xy"};
	unsigned count = 1 + random_below(5);

	for (unsigned i = 0; i < count; i++) {
		char pattern[256];

		if (random_below(5) == 0) {
			list_add(list, others[random_below(ELEMENTS(others))]);
			continue;
		}
		random_pattern(pattern, sizeof(pattern));
		list_add_printf(list, "%s %s", operations[random_below(ELEMENTS(operations))],
				pattern);
	}
}

/* What one list means for one file, said in another way than bounds.c says it: some beginning of
 * the path is matched by the pattern. */
static bool means(const struct list *list, const char *operation, const char *file)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t length = strcspn(list->items[i], " ");
		_cleanup_free_ char *said = strndup(list->items[i], length),
				    *pattern =
					    path_resolve("/ws", NULL, list->items[i] + length + 1);
		_cleanup_free_ char *path = strdup(file);
		bool fits = strcmp(said, operation) == 0 ||
			    (strcmp(said, "write") == 0 &&
			     (strcmp(operation, "read") == 0 || strcmp(operation, "delete") == 0));

		for (char *slash; fits && path[0]; *slash = '\0') {
			if (path_matches(pattern, path, NULL))
				return true;
			slash = strrchr(path, '/');
		}
	}
	return false;
}

static void narrowing_never_adds_a_permission(void **state)
{
	(void)state;
	for (int chain = 0; chain < CHAINS; chain++) {
		struct list lists[4] = {0};
		_cleanup_list_ struct list before = {0};
		unsigned length = 1 + random_below(ELEMENTS(lists));

		for (unsigned i = 0; i < length; i++) {
			struct list bounds = {0};

			random_list(&lists[i]);
			assert_int_equal(bounds_make(lists, i + 1, "/ws", NULL, &bounds, NULL), 0);
			for (size_t b = 0; b < bounds.count && i > 0; b++)
				assert_true(bounds_allow(&before, bounds.items[b]));
			list_done(&before);
			before = bounds;
		}
		for (int probe = 0; probe < 20; probe++) {
			const char *operation = operations[random_below(ELEMENTS(operations))];
			char file[64], permission[96];

			snprintf(file, sizeof(file), "/ws/%s/%s/%s",
				 names[random_below(ELEMENTS(names))],
				 names[random_below(ELEMENTS(names))],
				 names[random_below(ELEMENTS(names))]);
			if (random_below(2))
				*strrchr(file, '/') = '\0';
			snprintf(permission, sizeof(permission), "%s %s", operation, file);
			for (unsigned i = 0; i < length && bounds_allow(&before, permission); i++)
				assert_true(means(&lists[i], operation, file));
		}
		for (unsigned i = 0; i < length; i++)
			list_done(&lists[i]);
	}
}

static void examples_of_what_lies_within(void **state)
{
	static const struct {
		const char *bounds, *asked;
		bool allowed;
	} examples[] = {
		{"read src/**", "read src/a.c", true},
		{"read src/**", "read src", true},
		{"read src", "read src/deep/er", true},
		{"read src/**", "read srcs", false},
		{"read src/**", "read .", false},
		{"read src/**", "write src/a.c", false},
		{"write src/**", "read src/a.c", true},
		{"write src/**", "delete src/a.c", true},
		{"write src/**", "exec src/a", false},
		{"delete src/**", "write src/a", false},
		{"read *.log", "read a.log", true},
		{"read *.log", "read a.txt", false},
		{"read **/*.py", "read a/b/c.py", true},
		{"read **/*.py", "read **/*.py", true},
		{"read src/../secret", "read secret", true},
		{"read src/**", "read src/../secret", false},
		{"read /**", "read /etc/passwd", true},
		{"read ~/x", "read /home/u/x/y", true},
		{"connect example.org:443", "connect example.org:443", true},
		{"connect example.org:443", "connect example.org:80", false},
		{"connect *.example.org", "connect a.example.org", true},
		{"connect *.example.org", "connect example.net", false},
		{"http GET https://a.example/v1/*", "http GET https://a.example/v1/x", true},
		{"http GET https://a.example/v1/*", "http POST https://a.example/v1/x", false},
		{"http GET https://a.example/v1/*", "http GET https://a.example/v2/x", false},
		{"http GET https://a.example/v1/*", "http GET https://a.example/v1/../x", false},
		{"http GET https://a.example/v1/*", "http GET https://a.example/v1/%2e%2e/x",
		 false},
		{"http GET https://a.example*", "http GET https://a.example.evil/x", false},
		{"http * https://a.example/*", "http DELETE https://a.example/x", true},
		{"sql select users", "sql select users", true},
		{"sql select users", "sql delete users", false},
		{"bind 80", "bind 81", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_list_ struct list said = {0}, bounds = {0};
		_cleanup_free_ char *whole = bounds_whole(examples[i].asked, "/ws", "/home/u");

		list_add(&said, examples[i].bounds);
		assert_int_equal(bounds_make(&said, 1, "/ws", "/home/u", &bounds, NULL), 0);
		if (bounds_allow(&bounds, whole) != examples[i].allowed)
			fail_msg("%s / %s", examples[i].bounds, examples[i].asked);
	}
	assert_true(bounds_check("unsandboxed make", NULL) < 0);
	assert_true(bounds_check("container make", NULL) < 0);
	assert_true(bounds_check("read $HOME/x", NULL) < 0);
	assert_true(bounds_check("fly away", NULL) < 0);
	assert_true(bounds_check("profile code", NULL) < 0);
}

static void an_approval_counts_no_uses(void **state)
{
	struct powers powers = {0};
	struct bytes uses = {.data = (unsigned char *)"uses 3", .length = 6};

	(void)state;
	assert_true(caveat_take(&uses, "", &powers, NULL) < 0);
	assert_int_equal(caveat_take(&uses, "mark", &powers, NULL), 0);
	powers_done(&powers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_read_as_it_was_written),
		cmocka_unit_test(every_bit_of_it_counts),
		cmocka_unit_test(every_character_of_its_text_counts),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(another_key_makes_another_token),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(it_is_for_one_agent_workspace_and_command),
		cmocka_unit_test(an_approval_is_its_approvers_and_for_this_token),
		cmocka_unit_test(an_approver_cannot_be_shown_another_token),
		cmocka_unit_test(narrowing_never_adds_a_permission),
		cmocka_unit_test(examples_of_what_lies_within),
		cmocka_unit_test(an_approval_counts_no_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
