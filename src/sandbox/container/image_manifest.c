/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an image's index and manifest. */
#include "image.h"
#include "../../base/io.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VARIABLES_MOST = 512, VARIABLES_BYTES = 64 << 10 };

int image_open_part(int image, const char *path)
{
	struct stat st;
	int fd = sys_openat2(image, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			     RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close_fd(&fd);
		errno = EINVAL;
	}
	return fd;
}

int image_read_part(int image, const char *path, char **ret_text, size_t *ret_length)
{
	_cleanup_close_ int fd = image_open_part(image, path);
	char name[64];

	if (fd < 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return read_file(AT_FDCWD, name, IMAGE_TEXT_MOST, ret_text, ret_length);
}

static int wrong(json_t *object, struct error **ret_error, const char *why)
{
	json_decref(object);
	return fail(ret_error, E_INPUT, "the image cannot be read: %s", why);
}

/* 64 digits, or NULL: they become part of a path. */
static const char *digest_in(const char *text)
{
	if (!text || strncmp(text, "sha256:", 7) != 0 || strlen(text + 7) != 64 ||
	    strspn(text + 7, "0123456789abcdef") != 64)
		return NULL;
	return text + 7;
}

static const char *digest_of(const json_t *descriptor)
{
	return digest_in(json_string_value(json_object_get(descriptor, "digest")));
}

static bool is_for_here(const json_t *descriptor)
{
	const json_t *platform = json_object_get(descriptor, "platform");
	const char *machine = json_string_value(json_object_get(platform, "architecture")),
		   *system = json_string_value(json_object_get(platform, "os"));

	return !platform || ((!machine || strcmp(machine, "amd64") == 0) &&
			     (!system || strcmp(system, "linux") == 0));
}

/* zstd is known to others. */
static bool is_known_layer(const json_t *descriptor)
{
	const char *kind = json_string_value(json_object_get(descriptor, "mediaType"));

	return !kind || !strstr(kind, "zstd");
}

int image_read_manifest(const char *text, size_t length, struct image_manifest *ret_manifest,
			struct error **ret_error)
{
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL),
	       *manifests = json_object_get(object, "manifests"),
	       *layers = json_object_get(object, "layers"),
	       *config = json_object_get(object, "config"), *item;
	struct image_manifest manifest = {0};
	size_t i;

	if (!json_is_object(object))
		return wrong(object, ret_error, "its manifest is no JSON object");
	json_array_foreach (manifests, i, item) {
		const char *digest = digest_of(item);

		if (!digest || !is_for_here(item))
			continue;
		strcpy(manifest.manifest, digest);
		break;
	}
	if (json_is_array(manifests) && !*manifest.manifest)
		return wrong(object, ret_error, "it has nothing for x86-64 Linux by sha256");
	if (!json_is_array(manifests) && (!json_is_array(layers) || json_array_size(layers) == 0 ||
					  json_array_size(layers) > IMAGE_LAYERS_MOST))
		return wrong(object, ret_error, "it has no layers, or more than 256");
	if (!*manifest.manifest && config && !digest_of(config))
		return wrong(object, ret_error, "its configuration is not named by sha256");
	if (!*manifest.manifest) {
		if (config)
			strcpy(manifest.config, digest_of(config));
		json_array_foreach (layers, i, item) {
			const char *digest = digest_of(item);

			if (!digest || !is_known_layer(item)) {
				bool named = digest;

				list_done(&manifest.layers);
				wrong(object, ret_error,
				      named ? "a layer is packed by zstd"
					    : "a layer is not named by sha256");
				return named ? error_hint(ret_error,
							  "podman can take it in (podman pull "
							  "oci:DIRECTORY); then name it by what "
							  "that prints")
					     : -E_INPUT;
			}
			list_add(&manifest.layers, digest);
		}
	}
	json_decref(object);
	*ret_manifest = manifest;
	return 0;
}

/* NULL: it is not there, or too long. */
static char *load_text(int directory, const char *path, size_t *ret_length)
{
	char *text;

	return path && image_read_part(directory, path, &text, ret_length) == 0 ? text : NULL;
}

static json_t *load(int directory, const char *path)
{
	size_t length;
	_cleanup_free_ char *text = load_text(directory, path, &length);

	return text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

bool image_is_saved(int saved)
{
	json_t *list = load(saved, "manifest.json"), *first = json_array_get(list, 0);
	bool is = json_is_string(json_object_get(first, "Config")) &&
		  json_is_array(json_object_get(first, "Layers"));

	json_decref(list);
	return is;
}

int image_read_saved(int saved, struct list *ret_files, struct image_manifest *ret_manifest,
		     char **ret_config, struct error **ret_error)
{
	json_t *list = load(saved, "manifest.json"), *first = json_array_get(list, 0),
	       *layers = json_object_get(first, "Layers");
	size_t length = 0;
	_cleanup_free_ char *text =
		load_text(saved, json_string_value(json_object_get(first, "Config")), &length);
	json_t *config = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL,
	       *digests = json_object_get(json_object_get(config, "rootfs"), "diff_ids");
	size_t count = json_array_size(layers);
	const char *why =
		json_array_size(list) != 1 ? "it holds more than one image"
		: count == 0 || count > IMAGE_LAYERS_MOST || json_array_size(digests) != count
			? "it has no layers, or not those that it names"
			: NULL;

	for (size_t i = 0; i < count && !why; i++) {
		const char *file = json_string_value(json_array_get(layers, i)),
			   *digest = digest_in(json_string_value(json_array_get(digests, i)));

		if (!file || !digest) {
			why = "a layer is not named by sha256";
			break;
		}
		list_add(ret_files, file);
		list_add(&ret_manifest->layers, digest);
	}
	json_decref(config);
	if (why)
		return wrong(list, ret_error, why);
	*ret_config = STEAL(text);
	json_decref(list);
	return 0;
}

/* Of several of one name the last holds, as anywhere. */
static void set_variable(struct list *list, const char *variable)
{
	size_t name = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < list->count; i++)
		if (strncmp(list->items[i], variable, name) == 0) {
			free(list->items[i]);
			if (!(list->items[i] = strdup(variable)))
				abort();
			return;
		}
	list_add(list, variable);
}

int image_read_config(const char *text, size_t length, struct list *ret_environment,
		      struct error **ret_error)
{
	/* Neither NUL nor what is no UTF-8 gets past this. */
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL),
	       *config = json_object_get(object, "config"),
	       *variables = json_object_get(config, "Env"), *item;
	_cleanup_list_ struct list environment = {0};
	size_t i, bytes = 0;

	if (!json_is_object(object))
		return wrong(object, ret_error,
			     "its configuration is no JSON object, has a key twice, or text with "
			     "NUL or that is not UTF-8");
	if ((config && !json_is_null(config) && !json_is_object(config)) ||
	    (variables && !json_is_null(variables) && !json_is_array(variables)))
		return wrong(object, ret_error,
			     "the variables of its configuration (config.Env) are no list");
	if (json_array_size(variables) > VARIABLES_MOST)
		return wrong(object, ret_error, "its configuration has more than 512 variables");
	json_array_foreach (variables, i, item) {
		const char *variable = json_string_value(item);

		if (!variable || !strchr(variable, '=') || variable[0] == '=')
			return wrong(object, ret_error,
				     "a variable of its configuration (config.Env) is not "
				     "NAME=VALUE");
		bytes += strlen(variable) + 1;
		if (bytes > VARIABLES_BYTES)
			return wrong(object, ret_error,
				     "the variables of its configuration are longer than 64 KiB");
		set_variable(&environment, variable);
	}
	json_decref(object);
	*ret_environment = environment;
	environment = (struct list){0};
	return 0;
}
