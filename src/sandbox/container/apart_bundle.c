/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of a container under a kernel of its own: the tree is there, the walls around it are
 * the engine's, and what is asked of the runtime is its kernel. */
#include "container.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_number(json_t *list, unsigned long long number, const char *format)
{
	char text[32];

	snprintf(text, sizeof(text), format, number);
	json_array_append_new(list, json_string(text));
}

static unsigned long long mask_of(const sigset_t *set)
{
	unsigned long long mask = 0;

	for (int i = 1; i <= 64; i++)
		if (sigismember(set, i) > 0)
			mask |= 1ull << (i - 1);
	return mask;
}

/* A name or a word of the command that is no UTF-8 has no place in JSON. */
static bool add_text(json_t *list, const char *text)
{
	json_t *value = json_string(text);

	return value && json_array_append_new(list, value) == 0;
}

static json_t *words(const struct sandbox *sandbox)
{
	json_t *list = json_array();
	bool told = true;

	json_array_append_new(list, json_string(APART_PROGRAM));
	json_array_append_new(list, json_string("contained"));
	add_number(list, sandbox->returning_uid, "%llu");
	add_number(list, sandbox->returning_gid, "%llu");
	add_number(list, mask_of(&sandbox->signal_mask), "%llx");
	add_number(list, (sandbox->ignores_pipe ? 1u : 0) | (sandbox->ignores_child ? 2u : 0),
		   "%llu");
	add_number(list, sandbox->stdio[0].kind == STDIO_TERMINAL, "%llu");
	add_number(list, sandbox->candidates->count, "%llu");
	told &= add_text(list, sandbox->cwd);
	for (size_t i = 0; i < sandbox->candidates->count; i++)
		told &= add_text(list, sandbox->candidates->items[i]);
	for (size_t i = 0; sandbox->argv[i]; i++)
		told &= add_text(list, sandbox->argv[i]);
	if (told)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *environment(const struct sandbox *sandbox)
{
	json_t *list = json_array();
	bool told = true;

	for (size_t i = 0; sandbox->environment[i]; i++)
		told &= add_text(list, sandbox->environment[i]);
	if (told)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *limits(const struct sandbox *sandbox)
{
	const struct {
		const char *type;
		uint64_t value;
	} each[] = {
		{"RLIMIT_NOFILE", sandbox->files},
		{"RLIMIT_FSIZE", sandbox->file_size},
		{"RLIMIT_CPU", sandbox->cpu_seconds},
		{"RLIMIT_NPROC", sandbox->processes},
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ELEMENTS(each); i++)
		if (each[i].value)
			json_array_append_new(list, json_pack("{ss sI sI}", "type", each[i].type,
							      "hard", (json_int_t)each[i].value,
							      "soft", (json_int_t)each[i].value));
	return list;
}

/* What is not the tree: gVisor's own, in its memory. /tmp is in the tree, and named because the
 * runtime would put one of its own over an empty one. */
static json_t *mounts(const struct sandbox *sandbox)
{
	json_t *list = json_pack(
		"[{ss ss ss s[ss]} {ss ss ss s[sss]} {ss ss ss s[ss]} {ss ss ss s[sss]}]",
		"destination", "/tmp", "type", "bind", "source", CONTAINER_ROOT "/tmp", "options",
		"rbind", "rw", "destination", "/proc", "type", "proc", "source", "proc", "options",
		"nosuid", "nodev", "noexec", "destination", "/dev", "type", "tmpfs", "source",
		"tmpfs", "options", "nosuid", "noexec", "destination", "/sys", "type", "sysfs",
		"source", "sysfs", "options", "nosuid", "noexec", "ro");
	json_t *memory = json_pack("[ssss]", "nosuid", "nodev", "noexec", "mode=1777");
	char size[32];

	snprintf(size, sizeof(size), "size=%llu", (unsigned long long)sandbox->memory_files);
	if (sandbox->memory_files)
		json_array_append_new(memory, json_string(size));
	json_array_append_new(list, json_pack("{ss ss ss so}", "destination", "/dev/shm", "type",
					      "tmpfs", "source", "tmpfs", "options", memory));
	return list;
}

char *bundle_write_apart(const struct sandbox *sandbox, const struct bundle_labels *labels)
{
	static const char *const sets[] = {"bounding", "effective", "permitted", "inheritable",
					   "ambient"};
	static const char *const namespaces[] = {"pid", "mount", "ipc", "uts", "network"};
	const struct {
		const char *name, *value;
	} notes[] = {{"org.ward.run", labels->run},
		     {"org.ward.agent", labels->agent},
		     {"org.ward.task", labels->session}};
	json_t *arguments = words(sandbox), *variables = environment(sandbox);
	json_t *none = json_object(), *made = json_array(), *annotations = json_object(), *config;
	char *text;

	for (size_t i = 0; i < ELEMENTS(sets); i++)
		json_object_set_new(none, sets[i], json_array());
	for (size_t i = 0; i < ELEMENTS(namespaces); i++)
		json_array_append_new(made, json_pack("{ss}", "type", namespaces[i]));
	for (size_t i = 0; i < ELEMENTS(notes); i++)
		if (notes[i].value)
			json_object_set_new(annotations, notes[i].name,
					    json_string(notes[i].value));
	/* The root is not read-only as a whole: its mounts are, but for what may be written. */
	config =
		!arguments || !variables
			? NULL
			: json_pack("{ss s{sb s{si si} ss sO sO sb sO so} s{ss sb} so sO s{sO}}",
				    "ociVersion", "1.0.2", "process", "terminal", sandbox->terminal,
				    "user", "uid", 0, "gid", 0, "cwd", "/", "args", arguments,
				    "env", variables, "noNewPrivileges", 1, "capabilities", none,
				    "rlimits", limits(sandbox), "root", "path", CONTAINER_ROOT,
				    "readonly", 0, "mounts", mounts(sandbox), "annotations",
				    annotations, "linux", "namespaces", made);
	text = config ? json_dumps(config, JSON_COMPACT) : NULL;
	json_decref(config);
	json_decref(arguments);
	json_decref(variables);
	json_decref(none);
	json_decref(made);
	json_decref(annotations);
	return text;
}
