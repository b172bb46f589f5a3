/* SPDX-License-Identifier: Apache-2.0 */
/* All that it takes to carry a request out again, written down: the request, what is not in its
 * JSON, and what its command inherits. */
#include "../base/buffer.h"
#include "../request/text_json.h"
#include "ticket_parts.h"

#include <sodium.h>
#include <sys/stat.h>

extern char **environ;

/* Variables are bytes. */
static json_t *environment_to_json(char *const *environment)
{
	json_t *array = json_array();

	for (; *environment; environment++) {
		size_t length = strlen(*environment),
		       room = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
		_cleanup_free_ char *text = malloc(room);

		if (!text)
			abort();
		sodium_bin2base64(text, room, (const unsigned char *)*environment, length,
				  sodium_base64_VARIANT_ORIGINAL);
		json_array_append_new(array, json_string(text));
	}
	return array;
}

void ticket_environment(json_t *object, struct list *ret_environment)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(object, "environment"), i, item) {
		size_t room = json_string_length(item) + 1, length;
		_cleanup_free_ char *text = calloc(1, room);

		if (!text)
			abort();
		if (json_is_string(item) &&
		    sodium_base642bin((unsigned char *)text, room - 1, json_string_value(item),
				      json_string_length(item), NULL, &length, NULL,
				      sodium_base64_VARIANT_ORIGINAL) == 0 &&
		    strchr(text, '='))
			list_add(ret_environment, text);
	}
}

static mode_t own_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

static json_t *flags_to_json(const struct request *request)
{
	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "has_level", request->has_level,
			 "has_network", request->has_network, "has_approval", request->has_approval,
			 "has_caches", request->has_caches, "foreign", request->foreign,
			 "profile_implied", request->profile_implied, "profile_bound",
			 request->profile_bound);
}

/* Which directory the workspace is, whatever has its name later. */
static json_t *workspace_to_json(const struct request *request,
				 const struct ticket_options *options)
{
	ino_t inode = options->inode;
	uid_t owner = options->owner;
	struct stat st;

	if (!inode && stat(request->workspace, &st) == 0) {
		inode = st.st_ino;
		owner = st.st_uid;
	}
	return json_pack("[I, I]", (json_int_t)inode, (json_int_t)owner);
}

int ticket_pack(const struct request *request, const struct ticket_options *options,
		json_t **ret_object, struct error **ret_error)
{
	json_t *packed = request_to_json(request), *object = json_object();
	const struct caller *caller = &request->caller;
	bool lossy;

	json_put(object, "request", packed);
	json_put(object, "flags", flags_to_json(request));
	json_put_text(object, "bound", request->bound);
	json_put_text(object, "caller", caller->program);
	json_put(object, "caller_file",
		 json_pack("[I, I, I]", (json_int_t)caller->device, (json_int_t)caller->inode,
			   (json_int_t)caller->uid));
	json_put(object, "workspace", workspace_to_json(request, options));
	json_put(object, "umask", json_integer((json_int_t)own_umask()));
	json_put(object, "environment",
		 environment_to_json(options->environment ? options->environment : environ));
	if (options->missing)
		json_put_list(object, "missing", options->missing);
	if (options->refused)
		json_put_list(object, "refused", options->refused);
	/* Written down with stand-ins it would be another command. */
	lossy = json_object_get(packed, "lossy") || json_object_get(object, "lossy");
	if (!lossy) {
		*ret_object = object;
		return 0;
	}
	json_decref(object);
	fail(ret_error, E_INPUT, "the request holds bytes that are not UTF-8");
	return error_hint(ret_error, "such a one cannot be kept for later: answer it at once");
}

static void read_list(json_t *array, struct list *ret_list)
{
	json_t *item;
	size_t i;

	json_array_foreach (array, i, item)
		if (json_is_string(item))
			list_add(ret_list, json_string_value(item));
}

static void read_flags(json_t *flags, struct request *request)
{
	const struct {
		const char *key;
		bool *flag;
	} known[] = {
		{"has_level", &request->has_level},
		{"has_network", &request->has_network},
		{"has_approval", &request->has_approval},
		{"has_caches", &request->has_caches},
		{"foreign", &request->foreign},
		{"profile_implied", &request->profile_implied},
		{"profile_bound", &request->profile_bound},
	};

	for (size_t i = 0; i < ELEMENTS(known); i++)
		*known[i].flag = json_is_true(json_object_get(flags, known[i].key));
}

static char *copy_text(json_t *value)
{
	return json_is_string(value) ? strdup(json_string_value(value)) : NULL;
}

void ticket_workspace(json_t *object, ino_t *ret_inode, uid_t *ret_owner)
{
	json_t *place = json_object_get(object, "workspace");

	*ret_inode = (ino_t)json_integer_value(json_array_get(place, 0));
	*ret_owner = (uid_t)json_integer_value(json_array_get(place, 1));
}

int ticket_unpack(json_t *object, struct request *request, struct list *ret_missing,
		  struct list *ret_refused, struct error **ret_error)
{
	json_t *packed = json_object_get(object, "request"),
	       *file = json_object_get(object, "caller_file"),
	       *mask = json_object_get(object, "umask");
	_cleanup_free_ char *text =
		packed ? json_dumps(packed, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	int r;

	if (!text || !json_is_object(json_object_get(object, "flags")) || !json_is_integer(mask) ||
	    json_array_size(file) != 3)
		return fail(ret_error, E_INPUT, "the ticket's request cannot be read");
	r = request_from_json(text, strlen(text), request, ret_error);
	if (r < 0)
		return r;
	read_flags(json_object_get(object, "flags"), request);
	request->bound = copy_text(json_object_get(object, "bound"));
	request->caller = (struct caller){
		.program = copy_text(json_object_get(object, "caller")),
		.device = (dev_t)json_integer_value(json_array_get(file, 0)),
		.inode = (ino_t)json_integer_value(json_array_get(file, 1)),
		.uid = (uid_t)json_integer_value(json_array_get(file, 2)),
	};
	/* Its output goes to files, whatever it was meant for. */
	request->json = false;
	request->no_pty = request->quiet = true;
	umask((mode_t)json_integer_value(mask) & 0777);
	read_list(json_object_get(object, "missing"), ret_missing);
	read_list(json_object_get(object, "refused"), ret_refused);
	return 0;
}
