/* SPDX-License-Identifier: Apache-2.0 */
/* What runs are started with. The keys are those of docs/request.schema.json. */
#include "lib.h"

#include <stdlib.h>
#include <string.h>

enum key_kind { KEY_TEXT, KEY_LIST, KEY_SWITCH };

static const struct key {
	const char *name;
	enum key_kind kind;
	const char *choices[8]; /* none: any text */
} keys[] = {
#include <request-keys.h>
};

/* Called as in a request or as a flag. NULL where there is none. */
static const struct key *key_of(const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && name; i++) {
		const char *mine = keys[i].name, *theirs = name;

		while (*mine && (*mine == *theirs || (*mine == '_' && *theirs == '-')))
			mine++, theirs++;
		if (*mine == *theirs)
			return &keys[i];
	}
	return NULL;
}

static bool is_choice(const struct key *key, const char *value)
{
	size_t count = sizeof(key->choices) / sizeof(*key->choices);

	for (size_t i = 0; i < count && key->choices[i]; i++)
		if (strcmp(key->choices[i], value) == 0)
			return true;
	return !key->choices[0];
}

/* NULL where the key does not take that. */
static json_t *value_of(const struct key *key, const char *value)
{
	if (key->kind == KEY_TEXT)
		return is_choice(key, value) ? json_string(value) : NULL;
	return strcmp(value, "true") == 0    ? json_true()
	       : strcmp(value, "false") == 0 ? json_false()
					     : NULL;
}

static int set_patience(ward *handle, const char *value, ward_error **ret_error)
{
	char *end;
	double seconds = value ? strtod(value, &end) : 0;

	if (value && (*value < '0' || *value > '9' || *end || seconds <= 0 || seconds > 1e6))
		return give_error(ret_error, "usage", NULL,
				  "'answer-within' is a number of seconds, not '%s'", value);
	pthread_mutex_lock(&handle->lock);
	handle->patience = seconds;
	pthread_mutex_unlock(&handle->lock);
	return 0;
}

int ward_set(ward *handle, const char *name, const char *value, ward_error **ret_error)
{
	const struct key *key = key_of(name);
	json_t *made = NULL;
	int r = 0;

	if (!handle_is_ours(handle, ret_error))
		return -1;
	if (name && strcmp(name, "answer-within") == 0)
		return set_patience(handle, value, ret_error);
	if (!key)
		return give_error(ret_error, "usage", "docs/request.schema.json has them all",
				  "there is no setting '%s'", name ? name : "");
	if (value && key->kind == KEY_LIST)
		return give_error(ret_error, "usage", "ward_add adds to it", "'%s' is a list",
				  name);
	if (value && !(made = value_of(key, value)))
		return give_error(ret_error, "usage", NULL, "'%s' cannot be '%s'", name, value);
	pthread_mutex_lock(&handle->lock);
	if (value)
		r = json_object_set_new(handle->settings, key->name, made);
	else
		(void)json_object_del(handle->settings, key->name);
	pthread_mutex_unlock(&handle->lock);
	return r < 0 ? out_of_memory(ret_error) : 0;
}

int ward_add(ward *handle, const char *name, const char *value, ward_error **ret_error)
{
	const struct key *key = key_of(name);
	json_t *list, *text;
	int r = 0;

	if (!handle_is_ours(handle, ret_error))
		return -1;
	if (!key || key->kind != KEY_LIST || !value)
		return give_error(ret_error, "usage", "docs/request.schema.json has them all",
				  "there is no list '%s' to add to", name ? name : "");
	text = json_string(value);
	if (!text)
		return give_error(ret_error, "usage", NULL, "'%s' takes UTF-8", name);
	pthread_mutex_lock(&handle->lock);
	list = json_object_get(handle->settings, key->name);
	if (!list)
		r = json_object_set_new(handle->settings, key->name, list = json_array());
	if (r == 0)
		r = json_array_append(list, text);
	pthread_mutex_unlock(&handle->lock);
	json_decref(text);
	return r < 0 ? out_of_memory(ret_error) : 0;
}
