/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions that the data about tools names, where lists of flags and words cannot say them. */
#include "facts.h"
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

static bool is_here(const char *word)
{
	return parse_word_in(". ./ :/ * ./*", word, strlen(word));
}

static bool has_rest(const struct call *call)
{
	for (size_t i = call->first + 1; i < call->end; i++)
		if (strcmp(call->command->argv[i], "--") == 0)
			return i + 1 < call->end;
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
	       any_operand(call, is_here) || count_operands(call, &last) > 1;
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

/* cp /dev/null FILE */
bool test_copies_nothing(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	const char *last;

	if (count_operands(call, &last) != 2 || !is_precious(last))
		return false;
	while (call_next(call, &cursor, &word))
		if (!word.is_option)
			return strcmp(word.text, "/dev/null") == 0;
	return false;
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

/* A process id of -1 means all of them. */
bool test_kills_all(const struct call *call)
{
	for (size_t i = call->first + 1; i < call->end; i++)
		if (strcmp(call->command->argv[i], "-1") == 0 &&
		    (i > call->first + 1 || i + 1 == call->end))
			return true;
	return false;
}

/* w FILE and e COMMAND among the commands of sed, and as flags of its s. */
static bool is_writing_script(const char *word)
{
	for (const char *at = word; (at = strpbrk(at, "weW")); at++) {
		bool begins =
			at == word || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
					      "VWXYZ_",
					      at[-1]);

		if (begins && (at[1] == ' ' || (at[1] == '\0' && at > word)))
			return true;
	}
	return false;
}

bool test_writes_by_script(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	bool given = any_option(call, "-e --expression -f --file");

	while (call_next(call, &cursor, &word)) {
		if (word.is_option && word_is_option(&word, "-e --expression", false) &&
		    word.value && is_writing_script(word.value))
			return true;
		if (!word.is_option && !given)
			return is_writing_script(word.text);
	}
	return false;
}

/* curl with a body; -G makes it part of the URL. */
bool test_posts(const struct call *call)
{
	return any_option(call, "-d --data --data-binary --data-raw --data-ascii "
				"--data-urlencode") &&
	       !any_option(call, "-G --get");
}

bool test_reads_input(const struct call *call)
{
	for (size_t i = 0; i < call->command->redirect_count; i++)
		if (call->command->redirects[i].operator[0] == '<' &&
		    strcmp(call->command->redirects[i].target, "/dev/null") != 0)
			return true;
	return false;
}

static bool is_listing(const char *word)
{
	return match_one("print list help unit", word);
}

bool test_partitions_disk(const struct call *call)
{
	return any_operand(call, is_disk) && !any_operand(call, is_listing);
}

/* find with -delete or -exec rm, unless it looks for what is made again. */
bool test_finds_and_removes(const struct call *call)
{
	const char **argv = call->command->argv;
	bool removes = false, harmless = false, named = true, either = false;

	for (size_t i = call->first + 1; i < call->end; i++) {
		const char *next = i + 1 < call->end ? argv[i + 1] : "";

		removes |= strcmp(argv[i], "-delete") == 0;
		either |= parse_word_in("-o -or ! -not ,", argv[i], strlen(argv[i]));
		removes |= parse_word_in("-exec -execdir", argv[i], strlen(argv[i])) &&
			   match_one("rm unlink shred", path_last(next));
		if (parse_word_in("-name -iname", argv[i], strlen(argv[i]))) {
			named &= is_regenerable(next);
			harmless = true;
		}
	}
	if (call->first + 1 < call->end && is_temporary(argv[call->first + 1]))
		harmless = true;
	return removes && (!harmless || !named || either);
}
