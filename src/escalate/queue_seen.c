/* SPDX-License-Identifier: Apache-2.0 */
/* Silence as an answer: ID.seen is the receipt of whoever was shown a question whose silence
 * counts, bound to it as an answer is. */
#include "../base/io.h"
#include "../base/units.h"
#include "../decide/tiers.h"
#include "queue_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char *id_of(json_t *entry)
{
	return json_string_value(json_object_get(entry, "id"));
}

/* Who has seen this very question; NULL: nobody. Caller frees. */
static char *seen_by(int directory, json_t *entry)
{
	char name[ASKS_NAME];
	json_t *object;
	const char *by;
	char *result = NULL;

	asks_name(id_of(entry), ".seen", name);
	if (faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	object = asks_read(directory, name);
	by = json_string_value(json_object_get(object, "by"));
	if (by && asks_is_bound(object, entry))
		result = strdup(by);
	json_decref(object);
	return result;
}

bool asks_take_silence(int directory, json_t *entry, struct objection *objection, char **by,
		       struct answer *ret_answer)
{
	json_t *ask = json_object_get(entry, "ask"), *silence;
	enum objection_state state;
	int r;

	if (!objection->seen && (*by = seen_by(directory, entry)))
		objection->seen = monotonic_ns();
	state = objection_look(objection, monotonic_ns());
	if (state != OBJECTION_CONSENT)
		return state == OBJECTION_NOBODY;
	/* Who objects at the last moment was first, or hears that it is too late. */
	silence = json_pack("{s:b}", "silence", true);
	r = asks_put_part(directory, id_of(entry), ".answer", silence);
	json_decref(silence);
	if (r == -EEXIST)
		return false;
	*ret_answer = (struct answer){.kind = ANSWER_APPROVE, .by_tier = true};
	ret_answer->extent = (size_t)json_integer_value(json_object_get(ask, "extent"));
	if (asprintf(&ret_answer->by, "nobody objected; seen by %s", *by) < 0)
		abort();
	return true;
}

int queue_note_seen(const char *state, json_t *entry, const char *by, struct error **ret_error)
{
	const char *id = id_of(entry);
	_cleanup_close_ int directory = -1;
	char name[ASKS_NAME];
	json_t *object;
	int r;

	if (!json_object_get(json_object_get(entry, "ask"), "objection_seconds"))
		return 0; /* nobody's silence counts */
	r = asks_open(state, /* make= */ false, &directory);
	object = json_pack("{s:O, s:O, s:s}", "nonce", json_object_get(entry, "nonce"), "hash",
			   json_object_get(entry, "hash"), "by", by);
	asks_name(id, ".seen", name);
	if (r == 0 && faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = asks_put_part(directory, id, ".seen", object);
	json_decref(object);
	return r == 0 || r == -EEXIST
		       ? 0
		       : fail_errno(ret_error, E_ENGINE, -r, "noting that %s was seen", id);
}
