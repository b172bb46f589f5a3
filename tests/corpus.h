/* SPDX-License-Identifier: Apache-2.0 */
/* The labelled commands of tests/corpus, for the test of the judge and for its measurement. */
#pragma once

#include "../src/assess/assess.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct labelled {
	enum class class;
	char kind[16]; /* read, write, lookalike, outward, machine, destructive, ruin, disguised */
	char *text;
};

static inline enum class corpus_class(const char *name) {
	return strcmp(name, "safe") == 0  ? CLASS_SAFE
	       : strcmp(name, "ask") == 0 ? CLASS_ASK
					  : CLASS_FORBIDDEN;
}

/* Reads one file; what it holds is added to *list. False if it cannot be read. */
static inline bool corpus_read_file(const char *path, struct labelled **list, size_t *count)
{
	struct labelled label = {0};
	char *line = NULL, class[16];
	size_t size = 0;
	ssize_t length;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while ((length = getline(&line, &size, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "== %15s %15s", class, label.kind) == 2) {
			label.class = corpus_class(class);
		} else if (line[0] && strncmp(line, "# ", 2) != 0) {
			*list = realloc(*list, (*count + 1) * sizeof(**list));
			(*list)[*count] = label;
			(*list)[(*count)++].text = strdup(line);
		}
	}
	free(line);
	fclose(file);
	return true;
}

/* All files of the directory. The caller frees the list and its texts. */
static inline size_t corpus_read(const char *directory, struct labelled **ret_list)
{
	struct dirent **names = NULL;
	size_t count = 0;
	int files = scandir(directory, &names, NULL, alphasort);

	*ret_list = NULL;
	for (int i = 0; i < files; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		if (strstr(names[i]->d_name, ".txt"))
			corpus_read_file(path, ret_list, &count);
		free(names[i]);
	}
	free(names);
	return count;
}

static inline void corpus_free(struct labelled *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].text);
	free(list);
}
