/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy file: taken, or refused with a message, a place and a way on. */
#include "../../src/decide/policy.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const names[] = {"userns", "landlock", "seccomp"};
	const struct list walls = {.items = (char **)names, .count = ELEMENTS(names)};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_list_ struct list warnings = {0};

	if (policy_parse((const char *)data, size, "fuzz.yaml", &walls, &warnings, &error) == 0)
		return 0;
	if (!error || error->code != E_POLICY || !error->message || !error->hint || !error->file)
		abort();
	if (size <= POLICY_LIMIT && (error->line < 1 || error->column < 1))
		abort();
	return 0;
}
