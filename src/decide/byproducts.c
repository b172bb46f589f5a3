/* SPDX-License-Identifier: Apache-2.0 */
/* The table of by-products. */
#include "byproducts.h"

#include <stdlib.h>
#include <string.h>

static const char *const anywhere[] = {
	"/**/__pycache__/**", /* python's, beside every module of the system */
	"/**/__pycache__",    /* and the directory itself */
	"/var/cache/fontconfig/**", "/var/cache/man/**", "/var/lib/texmf/ls-R",
};

static const char *const in_home[] = {
	/* histories: of shells, interpreters, pagers, editors */
	".bash_history*",
	".zsh_history*",
	".histfile*",
	".sh_history*",
	".local/share/fish/fish_history*",
	".python_history*",
	".node_repl_history*",
	".psql_history*",
	".mysql_history*",
	".sqlite_history*",
	".rediscli_history*",
	".irb_history*",
	".gdb_history*",
	".lesshs*",
	".local/state/lesshs*",
	".local/share/lesshs*",
	".viminf*",
	".vim_mru_files",
	".local/share/recently-used.xbel*",
	/* what a program notes for its next start */
	".wget-hsts*",
	".npm/_logs/**",
	".npm/_update-notifier-last-checked",
	".config/configstore/**",
	".cache/fontconfig/**",
	".cache/mesa_shader_cache*/**",
	".gnupg/random_seed",
	".terminfo/**",
};

/* Directories that a program makes at its start, before anybody has set anything, and does as well
 * without. What it would write there is worth a question. A program's name is its own choice: that
 * spares it a question, and gives it nothing. */
static const struct {
	const char *program, *directory;
} made_at_start[] = {
	{"top", ".config"},
	{"top", ".config/procps"},
};

/* printf takes ten times as long, and this is done at every start. */
static char *below(const char *home, const char *pattern)
{
	size_t length = strlen(home), size = strlen(pattern) + 1;
	char *path = malloc(length + 1 + size);

	if (!path)
		abort();
	memcpy(path, home, length);
	path[length] = '/';
	memcpy(path + length + 1, pattern, size);
	return path;
}

void by_products_add(const char *home, struct list *patterns)
{
	for (size_t i = 0; i < ELEMENTS(anywhere); i++)
		list_add(patterns, anywhere[i]);
	for (size_t i = 0; i < ELEMENTS(in_home) && home && home[0] == '/'; i++)
		list_take(patterns, below(home, in_home[i]));
	for (size_t i = 0; i < ELEMENTS(made_at_start) && home && home[0] == '/'; i++)
		list_add_printf(patterns, "%s %s/%s", made_at_start[i].program, home,
				made_at_start[i].directory);
}
