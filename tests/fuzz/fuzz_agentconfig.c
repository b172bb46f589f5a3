/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the settings of an agent: what is installed holds nothing new that runs programs,
 * and installed again it stays as it is. A NUL byte parts the old text from the new one. */
#include "sandbox/agentconfig.h"
#include "base/macro.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *part = size ? memchr(text, '\0', size) : NULL;
	const char *after = part ? part + 1 : text;
	size_t before_length = part ? (size_t)(part - text) : 0;
	_cleanup_free_ char *installed = NULL, *again = NULL, *alone = NULL;
	const char *restored;
	int r = agent_config_settle(part ? text : NULL, before_length, after,
				    size - (size_t)(after - text), &installed, &restored);

	require(r == 0 || r == -EINVAL);
	if (r < 0)
		return 0;
	require(agent_config_settle(installed, strlen(installed), installed, strlen(installed),
				    &again, &restored) == 0);
	require(!restored && strcmp(installed, again) == 0);
	/* Where nothing stood before, nothing of the kind is left to be taken out. */
	if (part)
		return 0;
	require(agent_config_settle(NULL, 0, installed, strlen(installed), &alone, &restored) == 0);
	require(!restored && strcmp(installed, alone) == 0);
	require(!strstr(installed, "\"mcpServers\":"));
	return 0;
}
