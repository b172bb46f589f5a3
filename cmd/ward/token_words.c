/* SPDX-License-Identifier: Apache-2.0 */
/* The words of ward token: one table for all its verbs. */
#include "token_words.h"
#include "../../src/base/io.h"
#include "../../src/base/units.h"
#include "../../src/decide/bounds.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { YEARS_MOST = 10 };

enum {
	MINT = 1,
	NARROW = 2,
	SHOW = 4,
	VERIFY = 8,
	REVOKE = 16,
	ROTATE = 32,
	APPROVE = 64,
	KEY = 128
};

static const struct {
	const char *name;
	unsigned bit;
	bool token; /* comes first */
} verbs[] = {
	{"mint", MINT, false},	    {"narrow", NARROW, true}, {"show", SHOW, true},
	{"verify", VERIFY, true},   {"revoke", REVOKE, true}, {"rotate", ROTATE, false},
	{"approve", APPROVE, true}, {"key", KEY, false},
};

enum kind { TEXT, ALLOW, PLACE, LIFE, COUNT, FLAG };

static const struct {
	const char *name;
	enum kind kind;
	size_t offset;
	unsigned verbs; /* that it is for */
} flags[] = {
	{"--agent", TEXT, offsetof(struct token_words, agent), MINT | NARROW | VERIFY},
	{"--allow", ALLOW, 0, MINT | NARROW | VERIFY},
	{"--expires", LIFE, 0, MINT | NARROW | APPROVE},
	{"--workspace", PLACE, 0, MINT | NARROW | VERIFY},
	{"--uses", COUNT, 0, MINT | NARROW},
	{"--approver", TEXT, offsetof(struct token_words, approver), MINT | NARROW},
	{"-c", TEXT, offsetof(struct token_words, script), MINT | NARROW | VERIFY},
	{"--key", TEXT, offsetof(struct token_words, key), APPROVE},
	{"--json", FLAG, offsetof(struct token_words, json), SHOW},
	{"--retire", FLAG, offsetof(struct token_words, retire), ROTATE},
};

static int set(struct token_words *words, size_t flag, const char *value, struct error **ret_error)
{
	char real[PATH_MAX];
	int r;

	switch (flags[flag].kind) {
	case TEXT:
		if (!*value)
			return fail(ret_error, E_USAGE, "%s is empty", flags[flag].name);
		*(const char **)((char *)words + flags[flag].offset) = value;
		return 0;
	case ALLOW:
		r = bounds_check(value, ret_error);
		if (r == 0)
			list_add(&words->allow, value);
		return r;
	case PLACE:
		if (!realpath(value, real))
			return fail(ret_error, E_USAGE, "there is no directory %s", value);
		free(words->workspace);
		words->workspace = strdup(real);
		return 0;
	case LIFE:
		r = parse_duration(value, &words->life_ns, ret_error);
		if (r == 0 && (words->life_ns < 1000000000 ||
			       words->life_ns / 1000000000 > (uint64_t)YEARS_MOST * 365 * 86400))
			r = fail(ret_error, E_USAGE, "--expires takes from one second to %d years",
				 YEARS_MOST);
		return r;
	case COUNT:
		r = parse_count(value, &words->uses, ret_error);
		return r == 0 && words->uses == 0
			       ? fail(ret_error, E_USAGE, "--uses takes 1 or more")
			       : r;
	case FLAG:
		break;
	}
	return 0;
}

/* From standard input where it is "-": so that it stands in no list of processes. */
static int take_token(struct token_words *words, const char *text, struct error **ret_error)
{
	ssize_t length;

	if (strcmp(text, "-") != 0) {
		words->token = strdup(text);
		return 0;
	}
	words->token = calloc(1, TOKEN_TEXT + 3);
	if (!words->token)
		abort();
	length = read_all(STDIN_FILENO, words->token, TOKEN_TEXT + 2);
	if (length < 0)
		return fail_errno(ret_error, E_INPUT, (int)-length, "standard input");
	words->token[length] = '\0';
	words->token[strcspn(words->token, "\r\n")] = '\0';
	return 0;
}

static int read_flags(int argc, char **argv, int at, unsigned bit, struct token_words *words,
		      struct error **ret_error)
{
	int r = 0;

	for (; at < argc && r == 0; at++) {
		size_t flag = 0;

		if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0)
			return 1;
		if (strcmp(argv[at], "--") == 0 && bit & (MINT | NARROW | VERIFY)) {
			for (at++; at < argc; at++)
				list_add(&words->argv, argv[at]);
			break;
		}
		while (flag < ELEMENTS(flags) &&
		       (strcmp(flags[flag].name, argv[at]) != 0 || !(flags[flag].verbs & bit)))
			flag++;
		if (flag == ELEMENTS(flags) && bit == KEY && !words->key && argv[at][0] != '-') {
			words->key = argv[at];
			continue;
		}
		if (flag == ELEMENTS(flags)) {
			fail(ret_error, E_USAGE, "'%s' is nothing that ward token %s takes",
			     argv[at], words->verb);
			return error_hint(ret_error, "`ward token --help` lists what there is");
		}
		if (flags[flag].kind == FLAG)
			*(bool *)((char *)words + flags[flag].offset) = true;
		else if (++at == argc)
			r = fail(ret_error, E_USAGE, "%s needs a value", flags[flag].name);
		else
			r = set(words, flag, argv[at], ret_error);
	}
	return r;
}

static int check(const struct token_words *words, unsigned bit, struct error **ret_error)
{
	if (bit == MINT && (!words->agent || words->allow.count == 0)) {
		fail(ret_error, E_USAGE, "a token needs --agent and --allow");
		return error_hint(ret_error, "such as: ward token mint --agent builder --allow "
					     "'write out/**' --expires 10m");
	}
	if ((bit == APPROVE || bit == KEY) && !words->key)
		return fail(ret_error, E_USAGE, "it needs the file of a key");
	if (words->script && words->argv.count)
		return fail(ret_error, E_USAGE, "there is both -c and a command");
	return 0;
}

int token_words_read(int argc, char **argv, struct token_words *words, struct error **ret_error)
{
	size_t verb = 0;
	int at = 2, r = 0;

	*words = (struct token_words){.verb = argc > 1 ? argv[1] : "--help"};
	if (strcmp(words->verb, "--help") == 0 || strcmp(words->verb, "-h") == 0)
		return 1;
	while (verb < ELEMENTS(verbs) && strcmp(verbs[verb].name, words->verb) != 0)
		verb++;
	if (verb == ELEMENTS(verbs)) {
		fail(ret_error, E_USAGE, "there is no ward token %s", words->verb);
		return error_hint(ret_error, "`ward token --help` lists what there is");
	}
	if (verbs[verb].token && at < argc && strcmp(argv[at], "--help") != 0)
		r = take_token(words, argv[at++], ret_error);
	else if (verbs[verb].token && at == argc)
		return fail(ret_error, E_USAGE, "which token? (- reads it from standard input)");
	if (r == 0)
		r = read_flags(argc, argv, at, verbs[verb].bit, words, ret_error);
	return r == 0 ? check(words, verbs[verb].bit, ret_error) : r;
}

void token_words_done(struct token_words *words)
{
	free(words->token);
	free(words->workspace);
	list_done(&words->allow);
	list_done(&words->argv);
}

void token_words_caveats(const struct token_words *words, int64_t now,
			 char command[static TOKEN_COMMAND], struct caveats *ret_caveats)
{
	if (words->script || words->argv.count)
		token_command_hash(&words->argv, words->script, command);
	*ret_caveats = (struct caveats){
		.allow = &words->allow,
		.agent = words->agent,
		.workspace = words->workspace,
		.command = words->script || words->argv.count ? command : NULL,
		.expires = words->life_ns ? now + (int64_t)(words->life_ns / 1000000000) : 0,
		.uses = words->uses,
		.approver = words->approver,
	};
}
