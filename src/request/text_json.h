/* SPDX-License-Identifier: Apache-2.0 */
/* Text of unknown make put into JSON: what is not UTF-8 gets a stand-in, and the object that holds
 * it says so. */
#pragma once

#include "../base/escape.h"
#include "../base/list.h"
#include <jansson.h>
#include <stdint.h>
#include <string.h>

/* Takes ownership of value. A key left out for want of memory would change the object's shape, so
 * that aborts. */
static inline void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		abort();
}

/* Where nobody needs to be told that a stand-in was put in. NULL becomes null. */
static inline json_t *json_text(const char *text)
{
	bool lossy;
	_cleanup_free_ char *valid = text ? escape_to_utf8(text, strlen(text), &lossy) : NULL;

	return text ? json_string(valid) : json_null();
}

static inline json_t *json_from_bytes(json_t *object, const char *text, size_t length)
{
	bool lossy;
	_cleanup_free_ char *valid = escape_to_utf8(text, length, &lossy);

	if (lossy)
		json_put(object, "lossy", json_true());
	return json_string(valid);
}

static inline void json_put_bytes(json_t *object, const char *key, const char *text, size_t length)
{
	json_put(object, key, json_from_bytes(object, text, length));
}

/* NULL becomes null. */
static inline void json_put_text(json_t *object, const char *key, const char *text)
{
	json_put(object, key, text ? json_from_bytes(object, text, strlen(text)) : json_null());
}

static inline void json_put_list(json_t *object, const char *key, const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		if (json_array_append_new(array, json_from_bytes(object, list->items[i],
								 strlen(list->items[i]))) < 0)
			abort();
	json_put(object, key, array);
}

static inline void json_put_count(json_t *object, const char *key, uint64_t count)
{
	json_put(object, key, json_integer((json_int_t)MIN(count, (uint64_t)INT64_MAX)));
}
