/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions that the data about tools names, where lists of flags and words cannot say them. */
#include "facts.h"
#include "tools.h"
#include "../base/path.h"

#include <fnmatch.h>
#include <string.h>

static bool any_operand(const struct call *call, bool (*test)(const char *word))
{
	struct cursor cursor = {0};
	struct word word;

	while (call_next(call, &cursor, &word))
		if (!word.is_option && test(word.text))
			return true;
	return false;
}

static bool any_option(const struct call *call, const char *options)
{
	struct cursor cursor = {0};
	struct word word;

	while (call_next(call, &cursor, &word))
		if (word.is_option && word_is_option(&word, options, false))
			return true;
	return false;
}

static size_t count_operands(const struct call *call, const char **ret_last)
{
	struct cursor cursor = {0};
	struct word word;
	size_t count = 0;

	*ret_last = "";
	while (call_next(call, &cursor, &word))
		if (!word.is_option) {
			*ret_last = word.text;
			count++;
		}
	return count;
}

static bool is_forced_refspec(const char *word)
{
	return word[0] == '+' || (word[0] == ':' && word[1]);
}

bool test_forced_refspec(const struct call *call)
{
	return any_operand(call, is_forced_refspec);
}

/* src/, main.c, *.h: no branch is called so, but some are called 1.x. */
static bool is_file_name(const char *word)
{
	const char *name = path_last(word), *dot = strrchr(name, '.');
	size_t letters = dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

	return !*name || strpbrk(word, "*?") ||
	       (dot > name && letters > 0 && letters < 6 && !dot[1 + letters] &&
		strcmp(dot, ".x") != 0);
}

static bool is_here(const char *word)
{
	return parse_word_in(". ./ :/ * ./*", word, strlen(word));
}

static bool has_rest(const struct call *call)
{
	for (size_t i = call->first + 1; i < call->end; i++)
		if (strcmp(call->command->argv[i], "--") == 0)
			return i + 1 < call->end || call_takes_more(call);
	return false;
}

/* git checkout with paths, or by force. */
bool test_discards_files(const struct call *call)
{
	const char *last;

	if (has_rest(call))
		return true;
	if (any_option(call, "-b -B -t --track --orphan"))
		return false;
	return any_option(call, "-f --force -p --patch --ours --theirs --pathspec-from-file") ||
	       any_operand(call, is_here) || any_operand(call, is_file_name) ||
	       count_operands(call, &last) > 1;
}

bool test_deletes_by_force(const struct call *call)
{
	return any_option(call, "-d --delete") && any_option(call, "-f --force");
}

/* git restore, unless it is only the index that is restored. */
bool test_restores_files(const struct call *call)
{
	return !any_option(call, "-S --staged") || any_option(call, "-W --worktree");
}

/* scp and rsync: the last word is HOST:PATH. */
bool test_last_is_host(const struct call *call)
{
	const char *last, *colon;

	if (count_operands(call, &last) < 2)
		return false;
	colon = strchr(last, ':');
	return colon && colon > last && !memchr(last, '/', (size_t)(colon - last));
}

/* rclone and gsutil: the last word is REMOTE:PATH or SCHEME://PATH. */
bool test_last_is_bucket(const struct call *call)
{
	const char *last;

	count_operands(call, &last);
	return strchr(last, ':') != NULL;
}

static bool is_fed_nothing(const struct command *command)
{
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strcmp(command->redirects[i].operator, "<") == 0 &&
		    strcmp(command->redirects[i].target, "/dev/null") == 0)
			return true;
	return false;
}

/* cp /dev/null FILE, dd if=/dev/null of=FILE, dd of=FILE < /dev/null; and what puts zeros or noise
 * over what a file holds: it is not made new when it is not cut, or when find names it. */
bool test_copies_nothing(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	const char *from = NULL, *to = NULL;
	bool kept = false, none = false;

	while (call_next(call, &cursor, &word)) {
		if (!word.is_option) {
			if (from && to)
				return false;
			*(from ? &to : &from) = word.text;
		} else if (word_is_option(&word, "if=", true)) {
			from = word.value;
		} else if (word_is_option(&word, "of=", true)) {
			to = word.value;
		} else if (word_is_option(&word, "conv=", true)) {
			kept |= strstr(word.value, "notrunc") != NULL;
		} else if (word_is_option(&word, "seek= oseek=", true)) {
			kept = true;
		} else if (word_is_option(&word, "count=", true)) {
			none = strcmp(word.value, "0") == 0;
		}
	}
	if (none || (!from && is_fed_nothing(call->command)))
		from = "/dev/null";
	if (!from || !to || !is_precious_or_found(to))
		return false;
	return strcmp(from, "/dev/null") == 0
		       ? !kept
		       : match_one("/dev/zero /dev/urandom /dev/random /dev/full", from) &&
				 (kept || strcmp(to, "{}") == 0);
}

/* With no file it works on its input. */
bool test_encrypts_files(const struct call *call)
{
	return any_operand(call, is_precious_or_found) || call_takes_more(call);
}

/* mv FILE /dev/null */
bool test_last_is_null(const struct call *call)
{
	const char *last;

	return count_operands(call, &last) > 1 && strcmp(last, "/dev/null") == 0;
}

static bool is_set_id_mode(const char *word)
{
	size_t digits = strspn(word, "01234567");

	if (digits == strlen(word))
		return digits >= 4 && word[digits - 4] != '0' && word[digits - 4] != '1';
	return fnmatch("*[+=]*s*", word, 0) == 0 && strspn(word, "ugoa+-=rwxXst,") == strlen(word);
}

bool test_set_id_mode(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;

	while (call_next(call, &cursor, &word))
		if (!word.is_option)
			return is_set_id_mode(word.text);
	return false;
}

/* A process id of -1 means all of them, and without the first process there are none. */
bool test_kills_all(const struct call *call)
{
	if (call->end == call->first + 3 && strcmp(call->command->argv[call->end - 1], "1") == 0 &&
	    match_one("-9 -KILL -SIGKILL", call->command->argv[call->first + 1]))
		return true;
	for (size_t i = call->first + 1; i < call->end; i++)
		if (strcmp(call->command->argv[i], "-1") == 0 &&
		    (i > call->first + 1 || i + 1 == call->end))
			return true;
	return false;
}

/* curl with a body; -G makes it part of the URL. */
bool test_posts(const struct call *call)
{
	return any_option(call, "-d --data --data-binary --data-raw --data-ascii "
				"--data-urlencode") &&
	       !any_option(call, "-G --get");
}

static bool is_mutation(const char *word)
{
	return strstr(word, "mutation") != NULL || strchr(word, '@');
}

/* gh api -f NAME=VALUE: fields make it a POST, unless the method says otherwise; all that graphql
 * is asked is posted, and only a mutation changes something. */
bool test_posts_fields(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	bool posts = false, graphql = false, mutates = false;

	while (call_next(call, &cursor, &word)) {
		if (!word.is_option)
			graphql |= strcmp(word.text, "graphql") == 0;
		else if (word_is_option(&word, "-X=GET --method=GET -X=get --method=get", true))
			return false;
		else if (word_is_option(&word, "-f --raw-field -F --field --input", true)) {
			posts = true;
			mutates |= !word.value || is_mutation(word.value) ||
				   word_is_option(&word, "--input", true);
		}
	}
	return posts && (!graphql || mutates);
}

/* tee FILE </dev/null */
bool test_reads_nothing(const struct call *call)
{
	if (any_option(call, "-a --append"))
		return false;
	return is_fed_nothing(call->command) && any_operand(call, is_precious);
}

bool test_reads_input(const struct call *call)
{
	for (size_t i = 0; i < call->command->redirect_count; i++)
		if (call->command->redirects[i].operator[0] == '<' &&
		    strcmp(call->command->redirects[i].target, "/dev/null") != 0)
			return true;
	return false;
}

/* psql < FILE, mysql db < FILE, zcat FILE | psql: statements that stand nowhere in the text. */
bool test_runs_statements(const struct call *call)
{
	const struct command *command = call->command;
	unsigned stage;

	if (command->code_count || any_option(call, "-c --command -e --execute -Q --query --eval"))
		return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strcmp(command->redirects[i].operator, "<") == 0)
			return strcmp(command->redirects[i].target, "/dev/null") != 0;
	return plan_input(command, &stage) != NULL;
}

static bool is_listing(const char *word)
{
	return match_one("print list help unit", word);
}

bool test_partitions_disk(const struct call *call)
{
	return any_operand(call, is_disk) && !any_operand(call, is_listing);
}

static bool starts_removal(const char *word, const char *next)
{
	return strcmp(word, "-delete") == 0 ||
	       (parse_word_in("-exec -execdir -ok -okdir -x -X --exec --exec-batch", word,
			      strlen(word)) &&
		match_one("rm unlink shred", path_last(next)));
}

/* find / -delete: a tree that nobody can do without, and nothing that chooses among its files. */
bool test_removes_all_found(const struct call *call)
{
	const char **argv = call->command->argv;
	bool everything = false, removes = false;

	for (size_t i = call->first + 1; i < call->end; i++) {
		const char *next = i + 1 < call->end ? argv[i + 1] : "";

		if (starts_removal(argv[i], next)) {
			removes = true;
			break;
		}
		if (argv[i][0] != '-')
			everything |= is_everything(argv[i]);
		else if (strcmp(argv[i], "-type") == 0 && match_one("f d f,d", next))
			i++;
		else if (!match_one("-H -L -P -O[0-3] -depth -d -xdev -mount -print -noleaf "
				    "-ignore_readdir_race",
				    argv[i]))
			return false;
	}
	return everything && removes;
}

/* find with -delete or -exec rm, unless it looks for what is made again. */
bool test_finds_and_removes(const struct call *call)
{
	const char **argv = call->command->argv;
	bool removes = false, harmless = false, named = true, either = false;

	for (size_t i = call->first + 1; i < call->end; i++) {
		const char *next = i + 1 < call->end ? argv[i + 1] : "";

		removes |= starts_removal(argv[i], next);
		either |= parse_word_in("-o -or ! -not ,", argv[i], strlen(argv[i]));
		if (parse_word_in("-name -iname", argv[i], strlen(argv[i]))) {
			named &= is_regenerable(next);
			harmless = true;
		}
	}
	if (call->first + 1 < call->end && is_temporary(argv[call->first + 1]))
		harmless = true;
	return removes && (!harmless || !named || either);
}

/* docker -H tcp://HOST rm: what it only looks at is left alone. */
bool test_changes_afar(const struct call *call)
{
	const struct tool_rule *rule;

	if (!any_option(call, "-H=tcp://* --host=tcp://* -H=ssh://* --host=ssh://* --url=ssh://* "
			      "--url=tcp://*"))
		return false;
	for (size_t i = 0; (rule = tool_rule(call_node(call), i)); i++)
		if ((rule->kind == RULE_ALWAYS || (rule->kind == RULE_BARE && call->bare)) &&
		    tool_effect(rule->effect)->bits & READS)
			return false;
	return true;
}
