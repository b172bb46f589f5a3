/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox: what is read of requests, who is let in, what streams tell. */
#include "../../src/base/io.h"
#include "../../src/base/own_sockets.h"
#include "../../src/record/search_index.h"
#include "../../src/web/door.h"
#include "../../src/web/known.h"
#include "../../src/web/listen.h"
#include "../../src/web/peers.h"
#include "../../src/web/query.h"
#include "../../src/web/running.h"
#include "../../src/web/stream.h"
#include "../../src/web/web.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char directory[64];

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/ward-test-web.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, directory);
}

/* -- Reading ----------------------------------------------------------------------------------- */

static void parameters_are_decoded_once(void **state)
{
	static const struct {
		const char *query, *value; /* NULL: there is none */
	} cases[] = {
		{"query=a", "a"},
		{"x=1&query=two+words&query=second", "two words"},
		{"query=", ""},
		{"queryx=1", NULL},
		{"xquery=1&query=%2B%26%3D%25", "+&=%"},
		{"query=%2541", "%41"},
		{"query=%c3%a4", "\xc3\xa4"},
		{"query", NULL},
		{"&&&", NULL},
		{"", NULL},
		{"query=a=b", "a=b"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *value = NULL;

		assert_true(query_value(cases[i].query, "query", &value));
		if (cases[i].value)
			assert_string_equal(value, cases[i].value);
		else
			assert_null(value);
	}
	assert_true(query_value(NULL, "query", &(char *){NULL}));
}

static void what_is_no_parameter_is_refused(void **state)
{
	static const char *const wrong[] = {"query=%",	 "query=%4",	"query=%zz", "query=%00",
					    "query=%ff", "query=a%00b", "query=%c3"};
	char longest[QUERY_VALUE_MOST + 16] = "query=", *value = NULL;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		assert_false(query_value(wrong[i], "query", &value));
		assert_null(value);
	}
	memset(longest + 6, 'x', QUERY_VALUE_MOST);
	assert_true(query_value(longest, "query", &value));
	free(value);
	longest[6 + QUERY_VALUE_MOST] = 'x';
	longest[7 + QUERY_VALUE_MOST] = '\0';
	assert_false(query_value(longest, "query", &(char *){NULL}));
}

static void numbers_are_whole_and_within_bounds(void **state)
{
	static const char *const wrong[] = {"n=0",   "n=11",  "n=-1",
					    "n=1.5", "n=1e1", "n=0x1",
					    "n= 1",  "n=1+",  "n=99999999999999999999"};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(wrong); i++)
		assert_false(query_number(wrong[i], "n", 1, 10, 5, &number));
	assert_true(query_number("n=10", "n", 1, 10, 5, &number) && number == 10);
	assert_true(query_number("m=10", "n", 1, 10, 5, &number) && number == 5);
}

static void a_cookie_is_found_by_its_whole_name(void **state)
{
	char value[8];

	(void)state;
	assert_true(cookie_value("a=1; id=abc; b=2", "id", value, sizeof(value)));
	assert_string_equal(value, "abc");
	assert_true(cookie_value("id=;x", "id", value, sizeof(value)) && !*value);
	assert_true(cookie_value(";;; \tid=x=y", "id", value, sizeof(value)));
	assert_string_equal(value, "x=y");
	assert_true(cookie_value("id=1234567", "id", value, sizeof(value)));
	assert_false(cookie_value("id=12345678", "id", value, sizeof(value)));
	assert_false(cookie_value("xid=1; idx=2; a=id=3; id", "id", value, sizeof(value)));
	assert_false(cookie_value(NULL, "id", value, sizeof(value)));
	assert_false(cookie_value("", "id", value, sizeof(value)));
}

static void media_types_are_compared_whole(void **state)
{
	(void)state;
	assert_true(media_type_is("application/json", "application/json"));
	assert_true(media_type_is("Application/JSON; charset=x", "application/json"));
	assert_false(media_type_is("application/jsonx", "application/json"));
	assert_false(media_type_is("text/plain", "application/json"));
	assert_false(media_type_is(NULL, "application/json"));
}

static void a_text_is_looked_for_by_its_parts(void **state)
{
	_cleanup_free_ char *match = search_match("a\"b\xc3\xa4"), *none = search_match("ab");

	(void)state;
	assert_string_equal(match, "\"a\"\"b\" AND \"\"\"b\xc3\xa4\"");
	assert_null(none);
}

/* -- Secrets and sessions ---------------------------------------------------------------------- */

static void secrets_differ_and_are_hashed_for_a_purpose(void **state)
{
	char a[SECRET_TEXT], b[SECRET_TEXT], one[SECRET_HASH_TEXT], other[SECRET_HASH_TEXT];

	(void)state;
	secret_make(a);
	secret_make(b);
	assert_true(secret_is_one(a) && secret_is_one(b) && strcmp(a, b) != 0);
	secret_hash("x", a, one);
	secret_hash("y", a, other);
	assert_string_not_equal(one, other);
	secret_hash("x", a, other);
	assert_true(secret_equal(one, other));
	assert_false(secret_equal(one, NULL));
	assert_false(secret_equal(NULL, NULL));
	assert_false(secret_equal("a", "ab"));
	assert_false(secret_is_one(NULL));
	assert_false(secret_is_one("short"));
	a[3] = '/';
	assert_false(secret_is_one(a));
}

static void a_session_is_found_by_its_whole_cookie_until_it_ends(void **state)
{
	char cookie[SESSION_COOKIE_TEXT], changed[SESSION_COOKIE_TEXT];
	_cleanup_web_session_ struct web_session session = {0}, none = {0};

	(void)state;
	assert_int_equal(web_session_make(directory, "alice", NULL, -1, cookie, NULL), 0);
	assert_true(web_session_find(directory, cookie, &session));
	assert_string_equal(session.name, "alice");
	for (size_t i = 0; i < strlen(cookie); i++) {
		strcpy(changed, cookie);
		changed[i] = changed[i] == 'b' ? 'c' : 'b';
		assert_false(web_session_find(directory, changed, &none));
	}
	assert_true(web_session_end(directory, session.id));
	assert_false(web_session_end(directory, session.id));
	assert_false(web_session_find(directory, cookie, &none));
	assert_false(web_session_end(directory, "../server"));
}

static void a_cookie_is_good_for_who_logged_in_with_it(void **state)
{
	const struct door_rules rules = {.state = directory};
	const struct {
		int64_t made;
		bool local;
		uid_t peer;
		bool opens;
	} cases[] = {
		{4000, true, 4000, true}, {4000, true, 4001, false},	 {4000, true, 0, true},
		{4000, false, 0, false},  {4000, true, geteuid(), true}, {-1, false, 0, true},
		{-1, true, 4000, false},  {-1, true, geteuid(), true},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		char cookie[SESSION_COOKIE_TEXT], found[SESSION_COOKIE_TEXT], sent[512];
		_cleanup_web_session_ struct web_session session = {0};
		struct web_request request = {
			.cookie = sent, .local = cases[i].local, .peer = cases[i].peer};
		struct web_reply reply = {0};

		assert_int_equal(
			web_session_make(directory, "a", NULL, cases[i].made, cookie, NULL), 0);
		snprintf(sent, sizeof(sent), SESSION_COOKIE "=%s", cookie);
		assert_int_equal(door_finds_session(&rules, &request, &session, found, &reply),
				 cases[i].opens);
		assert_int_equal(reply.status, cases[i].opens ? 0 : 403);
		reply_done(&reply);
	}
}

static void nobody_uses_up_the_attempts_of_others(void **state)
{
	struct buckets buckets = {.kind = {.most = 2, .each_ms = 1000}};
	struct web_request mine = {.local = true, .peer = 4000}, elsewhere = {0};
	unsigned wait;

	(void)state;
	for (uid_t uid = 5000; uid < 5000 + 3 * BUCKETS_MOST; uid++) {
		struct web_request theirs = {.local = true, .peer = uid};

		for (int i = 0; i < 5; i++)
			assert_int_equal(buckets_take(&buckets, &theirs, uid, &wait), i < 2);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(buckets_take(&buckets, &mine, 9000, &wait), i < 2);
		assert_int_equal(buckets_take(&buckets, &elsewhere, 9000, &wait), i < 2);
	}
}

static void a_link_is_used_up(void **state)
{
	char code[SECRET_TEXT];
	_cleanup_free_ char *name = NULL;

	(void)state;
	assert_int_equal(web_link_make(directory, "bob", code, NULL), 0);
	assert_true(web_link_use(directory, code, &name));
	assert_string_equal(name, "bob");
	assert_false(web_link_use(directory, code, &(char *){NULL}));
	assert_int_equal(web_link_make(directory, "a\nb", code, NULL), -E_USAGE);
}

static void of_servers_there_is_one(void **state)
{
	_cleanup_free_ char *url = NULL;
	uint16_t last;
	int lock, other;

	(void)state;
	assert_int_equal(web_running_find(directory, &url, NULL), 0);
	assert_int_equal(web_running_take(directory, &lock, &last, NULL), 0);
	assert_int_equal(last, 0);
	assert_true(web_running_take(directory, &other, &last, NULL) < 0);
	assert_int_equal(web_running_publish(lock, "http://x/", 4321, NULL), 0);
	assert_int_equal(web_running_find(directory, &url, NULL), 1);
	assert_string_equal(url, "http://x/");
	close(lock);
	assert_int_equal(web_running_find(directory, &url, NULL), 0);
	assert_int_equal(web_running_take(directory, &lock, &last, NULL), 0);
	assert_int_equal(last, 4321);
	close(lock);
}

static void a_port_is_marked_as_long_as_it_is_listened_on(void **state)
{
	struct listener listener;
	uint16_t port;

	(void)state;
	assert_true(listener_open("192.0.2.1", 0, 0, false, NULL, &listener, NULL) < 0);
	assert_int_equal(listener_open(NULL, 0, 0, false, NULL, &listener, NULL), 0);
	port = listener.port;
	assert_true(is_own_port(port));
	assert_int_equal(listener.hosts.count, 2);
	assert_memory_equal(listener.hosts.items[0], "127.0.0.1:", 10);
	listener_close(&listener);
	assert_false(is_own_port(port));
}

static void a_bucket_gives_so_many_and_then_one_at_a_time(void **state)
{
	struct bucket bucket = {.most = 3, .each_ms = 1000};
	uint64_t now = 1000000000;
	unsigned wait = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(bucket_take(&bucket, now, &wait));
	assert_false(bucket_take(&bucket, now, &wait));
	assert_true(wait >= 1);
	assert_false(bucket_take(&bucket, now + 900 * 1000000ull, &wait));
	assert_true(bucket_take(&bucket, now + 1100 * 1000000ull, &wait));
	assert_false(bucket_take(&bucket, now + 1200 * 1000000ull, &wait));
	now += 1000 * 1000000000ull;
	for (int i = 0; i < 3; i++)
		assert_true(bucket_take(&bucket, now, &wait));
	assert_false(bucket_take(&bucket, now, &wait));
}

/* -- Streams ----------------------------------------------------------------------------------- */

static char *read_all_of(struct stream *stream)
{
	struct buffer text = {0};
	char data[7];
	ssize_t got;

	while ((got = stream_read(stream, data, sizeof(data))) > 0)
		buffer_add(&text, data, (size_t)got);
	return buffer_steal(&text);
}

static void a_stream_goes_on_where_it_was(void **state)
{
	struct hub hub;
	struct stream *stream;
	char last[64];

	(void)state;
	hub_init(&hub);
	hub_tell(&hub, "asks", json_pack("{s:i}", "n", 1));
	hub_tell(&hub, "asks", json_pack("{s:i}", "n", 2));
	snprintf(last, sizeof(last), "%s.1", hub.boot);
	stream = stream_open(&hub, "s", last, NULL);
	{
		_cleanup_free_ char *text = read_all_of(stream);

		assert_non_null(strstr(text, "data: {\"n\":2}\n\n"));
		assert_null(strstr(text, "{\"n\":1}"));
		assert_null(strstr(text, "resync"));
	}
	hub_end_session(&hub, "other");
	assert_int_equal(stream_read(stream, last, 1), 0);
	hub_end_session(&hub, "s");
	{
		_cleanup_free_ char *text = read_all_of(stream);

		assert_string_equal(text, "event: session\ndata: {\"state\":\"ended\"}\n\n");
	}
	assert_int_equal(stream_read(stream, last, 1), -1);
	hub_done(&hub);
}

static void one_who_was_away_too_long_is_told_so(void **state)
{
	static const char *const lasts[] = {"x", ".", "01.1", ""};
	struct hub hub;
	struct stream *slow;
	char last[64];

	(void)state;
	hub_init(&hub);
	slow = stream_open(&hub, "s", NULL, NULL);
	free(read_all_of(slow));
	for (int i = 0; i < HUB_EVENTS + 5; i++)
		hub_tell(&hub, "run", json_object());
	for (size_t i = 0; i <= ELEMENTS(lasts); i++) {
		_cleanup_free_ char *text = NULL;
		struct stream *stream;

		snprintf(last, sizeof(last), "%s.2", hub.boot);
		stream = stream_open(&hub, "s", i < ELEMENTS(lasts) ? lasts[i] : last, NULL);
		text = read_all_of(stream);
		assert_non_null(strstr(text, "event: resync\n"));
		stream_close(stream);
	}
	{
		_cleanup_free_ char *text = read_all_of(slow);

		assert_non_null(strstr(text, "event: resync\n"));
		assert_null(strstr(text, "event: run\n"));
	}
	hub_done(&hub);
}

static void streams_are_so_many(void **state)
{
	struct hub hub;

	(void)state;
	hub_init(&hub);
	for (int i = 0; i < STREAMS_EACH; i++)
		assert_non_null(stream_open(&hub, "s", NULL, NULL));
	assert_null(stream_open(&hub, "s", NULL, NULL));
	assert_non_null(stream_open(&hub, "t", NULL, NULL));
	hub_done(&hub);
}

static void answers_are_known_by_their_run_until_there_are_too_many(void **state)
{
	struct known_asks known = {0};
	char id[ID_TEXT];

	(void)state;
	known_add(&known, "01", "r");
	known_answer(known_find(&known, "01"), json_object());
	known_add(&known, "02", "r");
	assert_string_equal(known_of_run(&known, "r")->id, "02");
	assert_null(known_of_run(&known, "s"));
	for (int i = 0; i < 5000; i++) {
		snprintf(id, sizeof(id), "x%d", i);
		known_add(&known, id, NULL)->state = ASK_WITHDRAWN;
	}
	assert_true(known.count < 3000);
	assert_non_null(known_find(&known, "02")); /* it is open still */
	assert_null(known_find(&known, "01"));
	known_done(&known);
}

/* -- All of it --------------------------------------------------------------------------------- */

static unsigned status_of(struct web *web, const struct web_request *request)
{
	struct web_reply reply = {0};
	unsigned status;

	web_handle(web, request, &reply);
	status = reply.status;
	stream_close(reply.stream);
	reply_done(&reply);
	return status;
}

static void the_door_is_looked_at_in_order(void **state)
{
	struct list hosts = {0};
	struct web *web = NULL;
	struct web_request request = {.method = "GET", .path = "/api/asks"};

	(void)state;
	list_add(&hosts, "127.0.0.1:1");
	assert_int_equal(web_open(directory, "/nowhere/ward", &hosts, &web, NULL), 0);
	assert_int_equal(status_of(web, &request), 421);
	request.host = "127.0.0.1:1";
	assert_int_equal(status_of(web, &request), 401);
	request.fetch_site = "cross-site";
	assert_int_equal(status_of(web, &request), 403);
	request.path = "/api/nothing";
	request.fetch_site = NULL;
	assert_int_equal(status_of(web, &request), 404);
	request.path = "/api/login";
	assert_int_equal(status_of(web, &request), 405);
	request.method = "POST";
	assert_int_equal(status_of(web, &request), 403);
	request.origin = "http://127.0.0.1:1";
	assert_int_equal(status_of(web, &request), 415);
	request.content_type = "application/json";
	assert_int_equal(status_of(web, &request), 400);
	request.body = "{\"code\":\"x\"}";
	request.length = strlen(request.body);
	assert_int_equal(status_of(web, &request), 403);
	web_close(web);
}

/* One who reads nothing of a long reply would be busy for a minute. */
static void strangers_are_so_many_busy_or_not(void **state)
{
	struct peers peers = {0};
	struct peer *first, *known;

	(void)state;
	known = peers_add(&peers, /* fd= */ -1);
	known->known = true;
	first = peers_add(&peers, -1);
	first->busy = true;
	for (int i = 1; i < STRANGERS_MOST; i++)
		peers_add(&peers, -1)->busy = true;
	assert_false(first->ended);
	assert_false(peers_add(&peers, -1)->ended);
	assert_true(first->ended);
	assert_false(known->ended);
	while (peers.first)
		peers_remove(&peers, peers.first);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_decoded_once),
		cmocka_unit_test(what_is_no_parameter_is_refused),
		cmocka_unit_test(numbers_are_whole_and_within_bounds),
		cmocka_unit_test(a_cookie_is_found_by_its_whole_name),
		cmocka_unit_test(media_types_are_compared_whole),
		cmocka_unit_test(a_text_is_looked_for_by_its_parts),
		cmocka_unit_test(secrets_differ_and_are_hashed_for_a_purpose),
		TEST(a_session_is_found_by_its_whole_cookie_until_it_ends),
		TEST(a_cookie_is_good_for_who_logged_in_with_it),
		TEST(a_link_is_used_up),
		TEST(of_servers_there_is_one),
		cmocka_unit_test(a_port_is_marked_as_long_as_it_is_listened_on),
		cmocka_unit_test(a_bucket_gives_so_many_and_then_one_at_a_time),
		cmocka_unit_test(nobody_uses_up_the_attempts_of_others),
		cmocka_unit_test(a_stream_goes_on_where_it_was),
		cmocka_unit_test(one_who_was_away_too_long_is_told_so),
		cmocka_unit_test(streams_are_so_many),
		cmocka_unit_test(answers_are_known_by_their_run_until_there_are_too_many),
		cmocka_unit_test(strangers_are_so_many_busy_or_not),
		TEST(the_door_is_looked_at_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
