/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as messages that wait and that were given up, as a deliverer that was killed may have
 * left them. What is shown is a message; it can be tried again or dropped, and is in one place. */
#include "../../src/serve/deliver_parts.h"
#include "files.h"

#define WAITS "01m7aaaaaaaaaaaaaaaaaaaaaa"
#define DEAD  "01m7bbbbbbbbbbbbbbbbbbbbbb"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct shown {
	unsigned waiting, dead;
};

static void show(void *data, json_t *job, bool dead)
{
	struct shown *shown = data;

	if (!json_is_string(json_object_get(job, "id")) ||
	    !json_is_string(json_object_get(job, "channel")) ||
	    !json_is_string(json_object_get(job, "body")))
		abort();
	*(dead ? &shown->dead : &shown->waiting) += 1;
}

static void bury_waiting(void)
{
	struct box box;
	json_t *job;

	if (box_open(place, &box, NULL) < 0)
		abort();
	box_sweep(&box);
	job = box_read(box.out, WAITS);
	if (job && (box_bury(&box, job, "gave up") < 0 || faccessat(box.out, WAITS, F_OK, 0) == 0))
		abort();
	json_decref(job);
	box_close(&box);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shown first = {0}, buried = {0}, last = {0};
	unsigned retried = 0, dropped;

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("notify/out");
	make_directory("notify/dead");
	put_part("notify/out/" WAITS, &data, &size);
	put_part("notify/dead/" DEAD, &data, &size);
	if (deliver_list(place, show, &first, NULL) < 0)
		abort();
	bury_waiting();
	if (deliver_list(place, show, &buried, NULL) < 0 || buried.waiting ||
	    buried.dead != first.waiting + first.dead ||
	    deliver_retry(place, NULL, &retried, NULL) < 0 || retried != buried.dead ||
	    deliver_list(place, show, &last, NULL) < 0 || last.dead || last.waiting != retried)
		abort();
	(void)deliver_drop(place, WAITS, &dropped, NULL);
	(void)deliver_drop(place, DEAD, &dropped, NULL);
	last = (struct shown){0};
	if (deliver_list(place, show, &last, NULL) < 0 || last.waiting || last.dead)
		abort();
	return 0;
}
