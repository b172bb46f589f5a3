/* SPDX-License-Identifier: Apache-2.0 */
/* Questions as the host sees them, and what it says to them. */
#include "lib.h"

#include <stdlib.h>
#include <string.h>

bool ask_begin(struct ward_ask *ask, json_t *object)
{
	*ask = (struct ward_ask){object, json_dumps(object, JSON_COMPACT)};
	return ask->text != NULL;
}

void ask_done(struct ward_ask *ask)
{
	free(ask->text);
}

const char *ward_ask_get(const ward_ask *ask, const char *key)
{
	return key ? json_string_value(json_object_get(ask->object, key)) : NULL;
}

const char *ward_ask_id(const ward_ask *ask)
{
	return ward_ask_get(ask, "id");
}

static bool is_choice(json_t *ask, const char *choice)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(ask, "choices"), i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), choice) == 0)
			return true;
	return false;
}

int ward_ask_offers(const ward_ask *ask, const char *choice)
{
	return choice && is_choice(ask->object, choice);
}

const char *ward_ask_json(const ward_ask *ask)
{
	return ask->text;
}

const char *word_name(int word)
{
	static const char *const names[] = {
		[WARD_APPROVE] = "approve", [WARD_DENY] = "deny", [WARD_ABORT] = "abort"};

	return word > 0 && word < (int)(sizeof(names) / sizeof(*names)) ? names[word] : NULL;
}

ward_answer *ward_answer_new(void)
{
	ward_answer *answer = calloc(1, sizeof(*answer));

	if (answer && !(answer->object = json_object())) {
		free(answer);
		answer = NULL;
	}
	return answer;
}

void ward_answer_free(ward_answer *answer)
{
	if (!answer)
		return;
	json_decref(answer->object);
	free(answer);
}

/* NULL where the text is not what the key takes. */
static json_t *value_of(const char *key, const char *value)
{
	char *end;
	long number;

	if (strcmp(key, "unsandboxed") == 0)
		return strcmp(value, "true") == 0    ? json_true()
		       : strcmp(value, "false") == 0 ? json_false()
						     : NULL;
	if (strcmp(key, "seconds") != 0 && strcmp(key, "extent") != 0)
		return json_string(value);
	number = strtol(value, &end, 10);
	return *value >= '0' && *value <= '9' && !*end ? json_integer(number) : NULL;
}

int ward_answer_set(ward_answer *answer, const char *key, const char *value, ward_error **ret_error)
{
	static const char *const known[] = {"scope",	   "seconds", "extent",
					    "unsandboxed", "monitor", "reason"};
	bool found = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && key; i++)
		found = found || strcmp(known[i], key) == 0;
	if (!answer || !found)
		return give_error(ret_error, "usage", NULL, "an answer has no '%s'",
				  key ? key : "");
	if (!value) {
		(void)json_object_del(answer->object, key);
		return 0;
	}
	if (json_object_set_new(answer->object, key, value_of(key, value)) < 0)
		return give_error(ret_error, "usage", NULL, "'%s' cannot be the %s of an answer",
				  value, key);
	return 0;
}

int ward_answer_add(ward_answer *answer, const char *key, const char *value, ward_error **ret_error)
{
	json_t *list;

	if (!answer || !key || !value ||
	    (strcmp(key, "domains") != 0 && strcmp(key, "grants") != 0))
		return give_error(ret_error, "usage", NULL, "an answer has no list '%s'",
				  key ? key : "");
	list = json_object_get(answer->object, key);
	if (!list && json_object_set_new(answer->object, key, list = json_array()) < 0)
		return out_of_memory(ret_error);
	if (json_array_append_new(list, json_string(value)) < 0)
		return give_error(ret_error, "usage", NULL, "what an answer lists is UTF-8");
	return 0;
}

json_t *answer_object(int word, const ward_answer *answer)
{
	json_t *object = answer ? json_deep_copy(answer->object) : json_object();

	if (object && json_object_set_new(object, "answer", json_string(word_name(word))) < 0) {
		json_decref(object);
		object = NULL;
	}
	return object;
}

bool answer_is_offered(json_t *ask, json_t *answer)
{
	const char *word = json_string_value(json_object_get(answer, "answer"));
	const char *scope = json_string_value(json_object_get(answer, "scope"));
	char choice[64] = "abort";

	if (json_is_true(json_object_get(answer, "unsandboxed")))
		scope = "unsandboxed";
	if (!word || (scope && strlen(scope) > 32))
		return false;
	if (strcmp(word, "abort") != 0) {
		strcpy(stpcpy(stpcpy(choice, word), " "), scope ? scope : "once");
	}
	return is_choice(ask, choice);
}
