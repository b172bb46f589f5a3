/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are gone for good when a plan has run, as far as it names them. */
#include "loss.h"
#include "call.h"
#include "facts.h"
#include "ignored.h"
#include "index.h"
#include "weigh.h"
#include "../base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 64 };

static const char deletes[] = "deletes", overwrites[] = "overwrites", moves_away[] = "moves";

struct looking {
	struct arena *arena;
	const struct plan *plan;
	const char *workspace, *cwd;
	struct timespec since;
	struct index *index;
	bool no_index;
	size_t names;
	struct assessment *assessment;
};

static bool is_before(const struct statx_timestamp *time, const struct timespec *since)
{
	return time->tv_sec < since->tv_sec ||
	       (time->tv_sec == since->tv_sec && time->tv_nsec < (uint32_t)since->tv_nsec);
}

/* A file with something in it that was there before; what a link leads to is not looked at. */
static bool is_old_work(const struct looking *looking, const char *path, struct stat *ret_st)
{
	struct statx file;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &file) <
		    0 ||
	    !S_ISREG(file.stx_mode) || file.stx_size == 0)
		return false;
	return is_before(file.stx_mask & STATX_BTIME ? &file.stx_btime : &file.stx_mtime,
			 &looking->since) &&
	       lstat(path, ret_st) == 0;
}

static bool is_in_no_copy(struct looking *looking, const char *path)
{
	if (!looking->index && !looking->no_index) {
		looking->index = index_open(looking->workspace);
		looking->no_index = !looking->index;
	}
	return looking->index && path_is_under(path, index_root(looking->index)) &&
	       !index_tracks(looking->index, path) &&
	       !git_ignores(index_root(looking->index), path);
}

/* sort f | tee f, jq . f >new && mv new f: it is worked on. */
static bool is_worked_on(const struct looking *looking, const char *word)
{
	size_t found = 0;

	for (size_t i = 0; i < looking->plan->count; i++) {
		const struct command *command = &looking->plan->commands[i];

		for (size_t j = 0; j < command->argc; j++)
			found += strcmp(command->argv[j], word) == 0;
		for (size_t j = 0; j < command->redirect_count; j++)
			found += strcmp(command->redirects[j].target, word) == 0;
	}
	return found > 1;
}

static const char *name_in(const struct looking *looking, const char *path)
{
	path += strlen(looking->workspace);
	return path + (*path == '/');
}

static void look_at(struct looking *looking, size_t i, const char *path, const char *verb)
{
	struct assessment *assessment = looking->assessment;
	struct weighing weighing = {.assessment = assessment};
	struct damage *damage = &assessment->damage;
	const char **reason = assessment->reasons;
	struct stat st;

	if (++looking->names > MOST_NAMES || !path_is_under(path, looking->workspace) ||
	    !is_precious(name_in(looking, path)) || !is_old_work(looking, path, &st) ||
	    !is_in_no_copy(looking, path))
		return;
	weigh_effect(&weighing, EFFECT_LOSE_FILE);
	damage->measured = true;
	damage->files++;
	damage->bytes += (uint64_t)st.st_size;
	if (damage->files > 1)
		return;
	while (reason[1])
		reason++;
	*reason = arena_printf(looking->arena, "it %s %.200s, which git has no copy of%s", verb,
			       name_in(looking, path),
			       verb == moves_away ? ", to where nothing is kept" : "");
	assessment->why = *reason;
	assessment->rules[i] = tool_text(weighing.worst->name);
}

/* A file, or all in a directory, as far as that can be looked at. */
static void look_at_tree(struct looking *looking, size_t i, const char *path, const char *verb,
			 unsigned depth)
{
	enum { DEEPEST = 8 };
	struct dirent *entry;
	struct stat st;
	DIR *directory;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		look_at(looking, i, path, verb);
		return;
	}
	directory = depth < DEEPEST ? opendir(path) : NULL;
	while (directory && looking->names <= MOST_NAMES && (entry = readdir(directory))) {
		_cleanup_free_ char *inside = NULL;

		if (match_one(". .. .git", entry->d_name) || is_regenerable(entry->d_name))
			continue;
		if (asprintf(&inside, "%s/%s", path, entry->d_name) < 0)
			abort();
		look_at_tree(looking, i, inside, verb, depth + 1);
	}
	if (directory)
		closedir(directory);
}

/* A word, in the directory where it would be put if that is one. */
static void look_at_word(struct looking *looking, size_t i, const char *word, const char *source,
			 const char *verb)
{
	_cleanup_free_ char *path = NULL, *inside = NULL;
	struct stat st;

	if (!*word || strpbrk(word, "$`~*?[{") || (verb != deletes && is_worked_on(looking, word)))
		return;
	path = path_resolve(looking->cwd, NULL, word);
	if (verb == moves_away) {
		look_at_tree(looking, i, path, verb, 0);
		return;
	}
	if (source && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (strpbrk(source, "$`~*?[{") ||
		    asprintf(&inside, "%s/%s", path, path_last(source)) < 0)
			return;
		look_at(looking, i, inside, verb);
		return;
	}
	look_at(looking, i, path, verb);
}

/* What stands before a string in code, or behind it, where the file of that name is lost. */
static const char *lost_by(const char *start, const char *string, const char *after)
{
	static const char *const before[] = {"remove", "unlink", "unlinkSync", "delete", "rm"};
	const char *end = string;

	while (end > start && strchr(" \t(", end[-1]))
		end--;
	for (size_t i = 0; i < ELEMENTS(before); i++) {
		size_t length = strlen(before[i]);

		if ((size_t)(end - start) >= length && memcmp(end - length, before[i], length) == 0)
			return deletes;
	}
	if (end > start && end[-1] == '>' && !(end - start > 1 && end[-2] == '>'))
		return overwrites; /* awk's print >"f" */
	if (strncmp(after, ").unlink", 8) == 0)
		return deletes;
	after += strspn(after, " \t,");
	return strncmp(after, "'w", 2) == 0 || strncmp(after, "\"w", 2) == 0 ? overwrites : NULL;
}

/* os.remove('f'), open("f", "w"): code is not taken apart, but a file that is there by this very
 * name is no chance. */
static void look_at_code(struct looking *looking, size_t i, const char *code)
{
	const char *start = code;

	while ((code = strpbrk(code, "'\""))) {
		const char *end = strchr(code + 1, *code), *verb;

		if (!end)
			return;
		verb = lost_by(start, code, end + 1);
		if (verb)
			look_at_word(
				looking, i,
				arena_strndup(looking->arena, code + 1, (size_t)(end - code - 1)),
				NULL, verb);
		code = end + 1;
	}
}

static bool has_effect(const struct call *call, const struct word *word, enum effect_id id)
{
	const struct tool_rule *rule;

	for (size_t i = 0; i < call->depth; i++)
		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_FLAGS && rule->effect == id &&
			    word_is_option(word, tool_text(rule->pattern), false))
				return true;
	return false;
}

/* What is put there is gone with the run. */
static bool is_thrown_away(const struct looking *looking, const char *word)
{
	_cleanup_free_ char *path = NULL;

	if (match_one("$TMPDIR ${TMPDIR} $TMPDIR/* ${TMPDIR}/*", word))
		return true;
	if (strpbrk(word, "$`~*?[{"))
		return false;
	path = path_resolve(looking->cwd, NULL, word);
	return (path_is_under(path, "/tmp") || path_is_under(path, "/var/tmp") ||
		path_is_under(path, "/dev/shm")) &&
	       !path_is_under(path, looking->workspace);
}

/* mv FILE... /tmp, mv -t /tmp FILE... */
static void look_at_moved(struct looking *looking, size_t i, const struct call *call)
{
	const char *last = NULL, *to = NULL;
	struct cursor cursor = {0};
	struct word word;

	while (call_next(call, &cursor, &word)) {
		if (!word.is_option)
			last = word.text;
		else if (word.value && word_is_option(&word, "-t --target-directory", true))
			to = word.value;
	}
	if (!last || !is_thrown_away(looking, to ? to : last))
		return;
	cursor = (struct cursor){0};
	while (call_next(call, &cursor, &word))
		if (!word.is_option && (to || word.text != last))
			look_at_word(looking, i, word.text, NULL, moves_away);
}

static void look_at_option(struct looking *looking, size_t i, const struct call *call,
			   const struct word *word)
{
	const struct tool_option *option;

	for (size_t j = 0; word->value && (option = tool_option(call_node(call), j)); j++) {
		if (!word_is_option(word, tool_text(option->names), true))
			continue;
		if (option->role == ROLE_REPLACES)
			look_at_word(looking, i, word->value, NULL, overwrites);
		else if (option->role == ROLE_CODE)
			look_at_code(looking, i, word->value);
	}
}

static void look_at_words(struct looking *looking, size_t i, const struct call *call)
{
	const struct tool_node *node = call_node(call);
	const char *source = NULL, *last = NULL;
	struct cursor cursor = {0};
	struct word word;
	bool forces = false;

	while (call_next(call, &cursor, &word)) {
		if (word.is_option) {
			look_at_option(looking, i, call, &word);
			forces |= has_effect(call, &word, EFFECT_FORCES);
		} else if (node->rest == ROLE_DELETES) {
			look_at_word(looking, i, word.text, NULL, deletes);
		} else if (node->rest == ROLE_REPLACES) {
			look_at_word(looking, i, word.text, NULL, overwrites);
		} else {
			if (!last && node->first == ROLE_CODE)
				look_at_code(looking, i, word.text);
			source = last;
			last = word.text;
		}
	}
	/* of several sources the last one stands for all */
	if ((node->last == ROLE_REPLACES || (node->last == ROLE_CREATES && forces)) && source)
		look_at_word(looking, i, last, source, overwrites);
	if (node->rest == ROLE_MOVES)
		look_at_moved(looking, i, call);
}

static void look_at_call(struct looking *looking, size_t i)
{
	const struct command *command = &looking->plan->commands[i];
	struct cursor cursor = {0};
	struct call call;
	struct word word;

	if (command->program >= command->argc)
		return;
	call_read(command, command->program, command->argc, &call);
	if (call.depth == 0)
		return;
	while (call_next(&call, &cursor, &word))
		if (word.is_option && (has_effect(&call, &word, EFFECT_KEEPS) ||
				       word_is_option(&word, "--help", true)))
			return;
	look_at_words(looking, i, &call);
	for (size_t j = 0; j < command->code_count; j++)
		look_at_code(looking, i, command->codes[j].text);
}

static void look_at_redirects(struct looking *looking, size_t i)
{
	const struct command *command = &looking->plan->commands[i];

	for (size_t j = 0; j < command->redirect_count; j++)
		if (match_one("> >| &> >&", command->redirects[j].operator) &&
		    !match_one("[0-9] -", command->redirects[j].target))
			look_at_word(looking, i, command->redirects[j].target, NULL, overwrites);
}

/* cd DIRECTORY, for all that comes behind it; false where it is not sure where that is. */
static bool follow(struct looking *looking, const struct command *command)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (command->argc != 2 || command->place || command->background || command->dynamic ||
	    strcmp(command->argv[0], "cd") != 0 || strpbrk(command->argv[1], "$`~*?[{") ||
	    command->argv[1][0] == '-' || (command->pipeline && command->pipeline->stages > 1))
		return false;
	path = path_resolve(looking->cwd, NULL, command->argv[1]);
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	looking->cwd = arena_strndup(looking->arena, path, strlen(path));
	return true;
}

void assess_loss(struct arena *arena, const struct plan *plan, const char *workspace,
		 const char *cwd, struct timespec since, struct assessment *assessment)
{
	struct looking looking = {.arena = arena,
				  .plan = plan,
				  .workspace = workspace,
				  .cwd = cwd,
				  .since = since,
				  .assessment = assessment};

	if (assessment->class != CLASS_SAFE || assessment->only_reads)
		return;
	for (size_t i = 0; i < plan->count && looking.names <= MOST_NAMES; i++) {
		const struct command *command = &plan->commands[i];

		/* behind it words mean other files */
		if (command->argc && match_one("cd pushd popd", command->argv[0])) {
			if (!follow(&looking, command))
				break;
			continue;
		}
		if (command->remote)
			continue;
		look_at_redirects(&looking, i);
		look_at_call(&looking, i);
	}
	index_free(looking.index);
}
