/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a repository's index, with both kinds of objects' names: what is refused is named,
 * and nothing is read behind the end. */
#include "sandbox/gitindex.h"
#include "base/macro.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t id = 20; id <= 32; id += 12) {
		/* Of just that size, so that a byte more is seen by the sanitizer. */
		_cleanup_free_ char *copy = malloc(size + !size);
		char name[GIT_INDEX_NAME];
		int r;

		if (!copy)
			abort();
		memcpy(copy, data, size);
		r = git_index_check(copy, size, id, name);
		if ((r != 0 && r != -EACCES && r != -EINVAL) || !memchr(name, '\0', sizeof(name)) ||
		    (r == -EACCES) != (*name != '\0'))
			abort();
	}
	return 0;
}
