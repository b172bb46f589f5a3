/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a supervisor has told of its run: whoever looks has hosts that are text, and
 * what is written is read as the same. Behind a NUL, any objects as two looks at runs. */
#include "../../src/record/told.h"
#include "../../src/serve/top.h"
#include "../../src/serve/top_parts.h"
#include "files.h"

#include <arpa/inet.h>

#define RUN "01m7aaaaaaaaaaaaaaaaaaaaaa"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_told(void)
{
	struct diag_socket sockets[2] = {{.inode = 1, .remote_port = 443},
					 {.inode = 2, .remote_port = 80}};
	struct top_sockets all = {.items = sockets, .count = 2, .read = true};
	const uint64_t inodes[] = {1, 2};
	json_t *told = told_read(place, RUN), *again, *shown, *one;
	bool nameless;
	size_t i;

	inet_pton(AF_INET6, "::ffff:192.0.2.1", &sockets[0].remote);
	inet_pton(AF_INET6, "2001:db8::1", &sockets[1].remote);
	shown = top_connections(&all, inodes, 2, json_object_get(told, "names"), &nameless);
	if (json_array_size(shown) != 2)
		abort();
	json_array_foreach (shown, i, one)
		if (!json_is_string(json_object_get(one, "host")))
			abort();
	if (told) {
		if (told_write(place, RUN, told) < 0 || !(again = told_read(place, RUN)) ||
		    !json_equal(told, again))
			abort();
		json_decref(again);
	}
	told_drop(place, RUN);
	if (told_read(place, RUN))
		abort();
	json_decref(shown);
	json_decref(told);
}

static int nobody(const char *run, const void *data)
{
	(void)run;
	(void)data;
	return 0;
}

static void check_looks(const uint8_t *data, size_t size)
{
	json_t *rows = json_loadb((const char *)data, size, 0, NULL), *before, *row;
	size_t i;

	before = json_deep_copy(rows);
	if (json_is_array(rows)) {
		json_array_foreach (rows, i, row)
			if (!json_is_object(row))
				break;
		if (i == json_array_size(rows))
			top_compare(before, rows, 1000000000);
	}
	json_decref(before);
	json_decref(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("top");
	put_part("top/" RUN, &data, &size);
	put_file("top/." RUN, data, size); /* of one that was killed while it wrote */
	check_told();
	told_sweep(place, nobody, NULL);
	check_looks(data, size);
	return 0;
}
