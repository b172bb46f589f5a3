/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what is kept of an agent's mode: mode.json, its incident and the nos of people. What
 * cannot be read is no normal mode, and whoever was put in safe mode is in it until somebody closes
 * it. */
#include "../../src/record/incidents.h"
#include "files.h"

#define INCIDENT "01m7aaaaaaaaaaaaaaaaaaaaaa"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(json_t *incident, void *data)
{
	(void)incident_word(incident, 3);
	++*(int *)data;
	return 0;
}

static void check(void)
{
	_cleanup_list_ struct list refused = {0};
	json_t *violation = json_pack("{s:s}", "object", "/x"), *incident = NULL;
	struct agent_mode before, after, last;
	int r = mode_read(place, "a", &before, NULL), count = 0;
	uint64_t medium;
	bool new;

	(void)incidents_each(place, look, &count, NULL);
	(void)refused_load(place, "a", "run", &refused, NULL);
	if (r < 0 && (before.safe || mode_count(place, "a", "run", "x", 1000, &medium, NULL) == 0))
		abort();
	if (incident_open(place, "a", "run", violation, &after, &new, NULL) == 0) {
		if (r < 0 || !after.safe || after.freezes != before.freezes + 1 ||
		    after.voided < before.voided ||
		    (before.safe && strcmp(after.incident, before.incident) != 0))
			abort();
		if (incident_append(place, "a", after.incident, "moments",
				    json_pack("{s:s}", "run", "x"), NULL) < 0 ||
		    incident_answer(place, "a", after.incident, INCIDENT_KILL, "anna", NULL) == 0)
			(void)incident_read(place, "a", after.incident, &incident, NULL);
		if (mode_read(place, "a", &last, NULL) < 0 || !last.safe)
			abort();
		if (incident_close(place, "a", after.incident, "anna", "x", NULL) == 0 &&
		    (mode_read(place, "a", &last, NULL) < 0 || last.safe ||
		     last.voided < after.voided))
			abort();
	}
	json_decref(incident);
	json_decref(violation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("agents/a/incidents");
	put_part("agents/a/mode.json", &data, &size);
	put_part("agents/a/incidents/" INCIDENT ".json", &data, &size);
	put_part("agents/a/refused", &data, &size);
	check();
	return 0;
}
