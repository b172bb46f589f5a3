/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms in which an answer comes back: ward's own JSON, and Slack's form with JSON in it.
 */
#include "../base/buffer.h"
#include "../base/id.h"
#include "../base/macro.h"
#include "../request/text_json.h"
#include "callback.h"

#include <string.h>

enum { BY_MOST = 100 };

void callback_words_done(struct callback_words *words)
{
	free(words->ask);
	free(words->nonce);
	free(words->hash);
	free(words->user);
	free(words->name);
	json_decref(words->answer);
	*words = (struct callback_words){0};
}

static bool is_hex(const char *text)
{
	return text && strlen(text) == SIGN_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == SIGN_TEXT - 1;
}

/* Takes answer over. */
static int take(const char *ask, const char *nonce, const char *hash, json_t *answer,
		struct callback_words *ret_words, struct error **ret_error)
{
	if (!id_is_one(ask) || !is_hex(nonce) || !is_hex(hash) || !json_is_object(answer)) {
		json_decref(answer);
		return fail(ret_error, E_INPUT, "an answer needs ask, nonce, hash and answer");
	}
	*ret_words = (struct callback_words){
		.ask = strdup(ask), .nonce = strdup(nonce), .hash = strdup(hash), .answer = answer};
	return 0;
}

static json_t *load(const char *text, size_t length)
{
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* As much of it as is a name, whole characters. */
static char *name_of(const char *text)
{
	size_t end = text ? strnlen(text, BY_MOST) : 0;

	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	return end ? strndup(text, end) : NULL;
}

static int read_generic(const char *body, size_t length, struct callback_words *ret_words,
			struct error **ret_error)
{
	static const char *const known[] = {"ask", "nonce", "hash", "answer", "by"};
	json_t *object = load(body, length), *value, *answer;
	const char *key;
	int r = object ? 0 : fail(ret_error, E_INPUT, "the body is no JSON object");

	json_object_foreach (object, key, value) {
		bool is_known = false;

		for (size_t i = 0; i < ELEMENTS(known); i++)
			is_known |= strcmp(known[i], key) == 0;
		if (!is_known && r == 0)
			r = fail(ret_error, E_INPUT, "an answer has no such member");
	}
	answer = json_copy(json_object_get(object, "answer"));
	if (r == 0)
		r = take(text_of(object, "ask"), text_of(object, "nonce"), text_of(object, "hash"),
			 answer, ret_words, ret_error);
	else
		json_decref(answer);
	if (r == 0)
		ret_words->user = name_of(text_of(object, "by"));
	json_decref(object);
	return r;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The value of payload in a form. False where there is none, or more than one. */
static bool take_payload(const char *body, size_t length, struct buffer *ret_text)
{
	static const char key[] = "payload=";
	size_t i = sizeof(key) - 1;

	if (length <= i || memcmp(body, key, i) != 0 || memchr(body, '&', length))
		return false;
	for (; i < length; i++) {
		int high, low;

		if (body[i] == '+') {
			buffer_add_char(ret_text, ' ');
			continue;
		}
		if (body[i] != '%') {
			buffer_add_char(ret_text, body[i]);
			continue;
		}
		if (i + 2 >= length || (high = hex_digit(body[i + 1])) < 0 ||
		    (low = hex_digit(body[i + 2])) < 0)
			return false;
		buffer_add_char(ret_text, (char)(high << 4 | low));
		i += 2;
	}
	return true;
}

/* "approve once", "deny session", "approve monitored", "abort", "defer". */
static json_t *answer_of(const char *choice)
{
	const char *scope = strchr(choice, ' ');
	json_t *answer = json_object();

	json_put(answer, "answer",
		 json_stringn(choice, scope ? (size_t)(scope - choice) : strlen(choice)));
	if (scope && strcmp(scope, " monitored") == 0)
		json_put(answer, "monitor", json_true());
	else if (scope)
		json_put(answer, "scope", json_string(scope + 1));
	return answer;
}

/* The value of a button: what message_slack.c put there. */
static int read_button(const char *value, struct callback_words *ret_words,
		       struct error **ret_error)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *ask = strsep(&rest, " "), *nonce = strsep(&rest, " "),
	     *hash = strsep(&rest, " ");

	if (!rest)
		return fail(ret_error, E_INPUT, "the button is none of ward's");
	return take(ask, nonce, hash, answer_of(rest), ret_words, ret_error);
}

static int read_slack(const char *body, size_t length, struct callback_words *ret_words,
		      struct error **ret_error)
{
	_cleanup_buffer_ struct buffer text = {0};
	json_t *object =
		take_payload(body, length, &text) ? load(buffer_text(&text), text.length) : NULL;
	json_t *actions = json_object_get(object, "actions"),
	       *user = json_object_get(object, "user");
	const char *type = text_of(object, "type"),
		   *value = text_of(json_array_get(actions, 0), "value");
	int r;

	if (!type || strcmp(type, "block_actions") != 0 || json_array_size(actions) != 1 || !value)
		r = fail(ret_error, E_INPUT, "the form has no button that was pressed");
	else
		r = read_button(value, ret_words, ret_error);
	/* Anybody can change what he is called, and nobody his id. */
	if (r == 0) {
		ret_words->user = name_of(text_of(user, "id"));
		ret_words->name = name_of(text_of(user, "username"));
	}
	json_decref(object);
	return r;
}

int callback_read(enum channel_shape shape, const char *body, size_t length,
		  struct callback_words *ret_words, struct error **ret_error)
{
	*ret_words = (struct callback_words){0};
	if (length > CALLBACK_MOST)
		return fail(ret_error, E_INPUT, "the body is too long");
	return shape == SHAPE_SLACK ? read_slack(body, length, ret_words, ret_error)
				    : read_generic(body, length, ret_words, ret_error);
}
