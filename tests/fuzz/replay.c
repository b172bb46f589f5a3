/* SPDX-License-Identifier: Apache-2.0 */
/* replay DIRECTORY: hands a fuzz target the empty input and every file of the directory once, as
 * libFuzzer would, so that the sanitized build replays what was kept without being compiled another
 * time. An input may take as long and as much memory as `make fuzz` gives it. */
#include "../../src/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SECONDS = 10, MEGABYTES = 2048, LONGEST = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a buffer of just its size, so that a read behind its end is seen. */
static void hand_in(const char *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	alarm(SECONDS); /* its signal ends the program */
	(void)LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
}

int main(int argc, char **argv)
{
	struct dirent **inputs = NULL;
	struct rusage used;
	int count, fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	count = fd < 0 ? -1 : scandirat(fd, ".", &inputs, NULL, alphasort);
	if (count < 0) {
		fprintf(stderr, "replay: no directory of inputs\n");
		return 2;
	}
	hand_in("", 0);
	for (int i = 0; i < count; i++) {
		char *text = NULL;
		size_t length = 0;

		if (inputs[i]->d_name[0] != '.') {
			fprintf(stderr, "%s\n", inputs[i]->d_name);
			if (read_file(fd, inputs[i]->d_name, LONGEST, &text, &length) < 0) {
				fprintf(stderr, "replay: cannot read it\n");
				return 2;
			}
			hand_in(text, length);
			free(text);
		}
		free(inputs[i]);
	}
	free(inputs);
	close(fd);
	if (getrusage(RUSAGE_SELF, &used) < 0 || used.ru_maxrss > MEGABYTES * 1024L) {
		fprintf(stderr, "replay: more than %d MB\n", MEGABYTES);
		return 1;
	}
	return 0;
}
