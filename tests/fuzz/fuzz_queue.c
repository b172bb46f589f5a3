/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a question that stands, its answer, its receipt and a vote, and as what another
 * program has asked its user. Whatever is shown can be answered or is refused, and a question that
 * has its answer takes no other. */
#include "../../src/escalate/queue.h"
#include "../../src/record/asked.h"
#include "files.h"

#include <sys/file.h>

#define ID "01m7aaaaaaaaaaaaaaaaaaaaaa"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(void *data, json_t *entry)
{
	const char *id = json_string_value(json_object_get(entry, "id"));

	if (!id || !json_is_object(json_object_get(entry, "ask")))
		abort();
	++*(int *)data;
}

static void check(void)
{
	const struct approver_id who = {.way = (char *)"user:anna", .by = (char *)"anna"};
	json_t *entry = NULL, *no = json_pack("{s:s}", "answer", "deny");
	int count = 0;

	if (queue_list(place, look, &count, NULL) < 0)
		abort();
	if (queue_get(place, ID, &entry, NULL) == 0) {
		json_t *progress = queue_progress(place, entry);

		json_decref(progress);
		(void)queue_may_approve(place, entry, &who);
		(void)queue_note_seen(place, entry, "anna", NULL);
		if (queue_answer(place, entry, no, &who, NULL) == 0 &&
		    queue_answer(place, entry, no, &who, NULL) == 0)
			abort();
	}
	json_decref(entry);
	json_decref(no);
}

static void check_asked(void)
{
	_cleanup_list_ struct list wanted = {0};
	_cleanup_free_ char *by = NULL;

	list_add(&wanted, "write /srv/a");
	/* Once, whatever it is. */
	if (asked_take(place, "one", "key", &wanted, &by) &&
	    (!by || asked_take(place, "one", "key", &wanted, &by)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int lock = -1;

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("asks/" ID ".votes");
	make_directory("asked");
	put_part("asks/" ID, &data, &size);
	put_part("asks/" ID ".answer", &data, &size);
	put_part("asks/" ID ".seen", &data, &size);
	put_part("asks/" ID ".votes/0", &data, &size);
	put_part("asked/one", &data, &size);
	if (asprintf(&path, "%s/asks/" ID, place) < 0)
		abort();
	/* Somebody waits for it. */
	lock = open(path, O_RDWR | O_CLOEXEC);
	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0)
		abort();
	check();
	check_asked();
	return 0;
}
