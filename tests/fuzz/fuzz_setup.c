/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of agents: ward's entries put in and taken out again; nothing else in them changes. The
 * first byte picks the agent. */
#include "../../src/base/diff.h"
#include "../../src/serve/setup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void there_and_back(const struct setup_shape *shape, const char *text)
{
	_cleanup_free_ char *after = NULL, *again = NULL, *undone = NULL, *off = NULL;
	bool was_there = setup_is_there(shape, text);

	if (setup_add(shape, text, "/x/ward hook || /bin/sh -c 'cat >/dev/null; exit 2'", &after,
		      NULL) < 0)
		return;
	must(setup_check(after, strlen(after), "f", NULL) == 0 && setup_is_there(shape, after));
	must(setup_add(shape, after, "/x/ward hook || /bin/sh -c 'cat >/dev/null; exit 2'", &again,
		       NULL) == 0 &&
	     strcmp(after, again) == 0);
	off = setup_switched_off(shape, after);
	free(diff_unified("f", text, after));
	if (setup_remove(shape, after, text, &undone, NULL) < 0)
		return;
	must(!undone || !setup_is_there(shape, undone));
	if (!was_there)
		must(undone && strcmp(undone, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;
	const struct setup_shape *shape;

	if (size == 0)
		return 0;
	shape = setup_agents[data[0] % setup_agent_count].shape;
	text = strndup((const char *)data + 1, size - 1);
	if (shape && setup_check(text, strlen(text), "f", NULL) == 0)
		there_and_back(shape, text);
	return 0;
}
