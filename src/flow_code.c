/* SPDX-License-Identifier: Apache-2.0 */
/* Networked code: what a person is shown of it before it runs, and the hosts that it asks for. */
#include "flow_state.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/path.h"
#include "decide/sets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { CODE_MOST = 1024 * 1024 };

extern char **environ;

/* Programs that run what they are given, by the beginning of their names, and the last letters of
 * the options that it stands behind. */
static const struct {
	const char *name, *letters;
} interpreters[] = {
	{"python", "c"}, {"pypy", "c"},	 {"bash", "c"},	   {"sh", "c"},	   {"dash", "c"},
	{"zsh", "c"},	 {"node", "ep"}, {"bun", "ep"},	   {"perl", "eE"}, {"ruby", "e"},
	{"php", "r"},	 {"lua", "e"},	 {"Rscript", "e"},
};

static const char *code_letters(const char *program)
{
	for (size_t i = 0; i < ELEMENTS(interpreters); i++)
		if (strncmp(path_last(program), interpreters[i].name,
			    strlen(interpreters[i].name)) == 0)
			return interpreters[i].letters;
	return NULL;
}

/* The word that is the code, or the name of the file with it; 0: none. */
static size_t find_word(const struct list *argv, bool *ret_file)
{
	const char *letters = argv->count ? code_letters(argv->items[0]) : NULL;

	*ret_file = false;
	for (size_t i = 1; letters && i < argv->count; i++) {
		const char *word = argv->items[i];
		size_t length = strlen(word);

		if (word[0] != '-') {
			*ret_file = true;
			return i;
		}
		if (i + 1 < argv->count && length > 1 &&
		    (strcmp(word, "--eval") == 0 ||
		     (word[1] != '-' && strchr(letters, word[length - 1]))))
			return i + 1;
	}
	return 0;
}

/* What the file holds now. Caller frees; NULL: it is none that could be shown. */
static char *read_code(const char *cwd, const char *name)
{
	_cleanup_free_ char *path = path_resolve(cwd, NULL, name), *text = NULL;
	size_t length = 0;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    read_file(AT_FDCWD, path, CODE_MOST, &text, &length) < 0 || strlen(text) != length)
		return NULL;
	return STEAL(text);
}

void flow_show_code(const struct request *request, char **ret_command, char **ret_code)
{
	_cleanup_buffer_ struct buffer command = {0};
	bool file;
	size_t word = find_word(&request->argv, &file);

	*ret_command = *ret_code = NULL;
	if (request->mode == MODE_SHELL) {
		*ret_code = strdup(request->script ? request->script : "");
		buffer_printf(&command, "%s%s -c <code>", request->shell ? request->shell : "bash",
			      request->login ? " --login" : "");
	} else if (word && file) {
		*ret_code = read_code(request->cwd, request->argv.items[word]);
	} else if (word) {
		*ret_code = strdup(request->argv.items[word]);
		for (size_t i = 0; i < request->argv.count; i++) {
			buffer_add_text(&command, i ? " " : "");
			if (i == word)
				buffer_add_text(&command, "<code>");
			else
				escape_for_shell(&command, request->argv.items[i]);
		}
	}
	if (command.length)
		*ret_command = buffer_steal(&command);
}

void flow_places(const struct flow *flow, struct list *writable, struct sets_places *ret_places)
{
	const struct file_rules *rules = &flow->verdict.permissions.rules;

	for (size_t i = 0; i < rules->count; i++)
		if (rules->items[i].access == ACCESS_WRITE)
			list_add(writable, rules->items[i].pattern);
	*ret_places = (struct sets_places){
		.workspace = flow->request->workspace,
		.home = getenv("HOME"),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.tools_home = flow->identity.home,
		.state = flow->own_state,
		.environment = environ,
		.writable = writable,
		.uid = flow->identity.changes ? 0 : geteuid(),
	};
}

int flow_domains(const struct flow *flow, struct list *ret_domains, struct error **ret_error)
{
	const struct list *wanted = &flow->request->allow_hosts;
	_cleanup_list_ struct list writable = {0};
	struct sets_places places;
	int r = 0;

	flow_places(flow, &writable, &places);
	for (size_t i = 0; i < wanted->count && r == 0; i++)
		if (sets_is_name(wanted->items[i]))
			r = sets_expand(wanted->items[i], &places, ret_domains, ret_error);
		else if (!list_has(ret_domains, wanted->items[i]))
			list_add(ret_domains, wanted->items[i]);
	return r;
}
