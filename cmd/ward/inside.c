/* SPDX-License-Identifier: Apache-2.0 */
/* ward inside: what ward mcp runs in the sandbox to read, write or patch files. Prints one object;
 * exits 1 where it says what went wrong. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/io.h"
#include "../../src/request/text_json.h"
#include "../../src/serve/inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_input(char **ret_data, size_t *ret_length, struct error **ret_error)
{
	char *data = malloc(INSIDE_WRITE_MOST + 1);
	ssize_t got = data ? read_all(STDIN_FILENO, data, INSIDE_WRITE_MOST + 1) : -ENOMEM;

	*ret_data = data;
	*ret_length = (size_t)MAX(got, 0);
	return got < 0 ? fail_errno(ret_error, E_INPUT, (int)-got, "reading the input") : 0;
}

static json_t *tell(const struct error *error)
{
	json_t *object = json_object();

	json_object_set_new(object, "message", json_text(error->message));
	json_object_set_new(object, "hint", json_text(error->hint));
	return json_pack("{s:o}", "error", object);
}

int verb_inside(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *data = NULL;
	json_t *object = NULL;
	size_t length = 0;
	int status;

	if (strcmp(what, "read") == 0 && argc == 5)
		object = inside_read(argv[2], strtoull(argv[3], NULL, 10),
				     strtoull(argv[4], NULL, 10), &error);
	else if (strcmp(what, "write") == 0 && argc == 3)
		object = read_input(&data, &length, &error) < 0
				 ? NULL
				 : inside_write(argv[2], data, length, &error);
	else if (strcmp(what, "patch") == 0 && argc == 2)
		object = read_input(&data, &length, &error) < 0
				 ? NULL
				 : inside_patch(data, length, &error);
	else
		return output_usage("inside", "it is for ward mcp: read PATH FIRST COUNT, write "
					      "PATH or patch");
	status = object ? 0 : 1;
	if (!object)
		object = tell(error);
	output_json(object);
	json_decref(object);
	return output_end("inside", status);
}
