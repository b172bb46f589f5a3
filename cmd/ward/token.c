/* SPDX-License-Identifier: Apache-2.0 */
/* ward token: permissions that travel, made here, narrowed by whoever holds them. */
#include "output.h"
#include "token_words.h"
#include "verbs.h"
#include "../../src/base/io.h"
#include "../../src/decide/bounds.h"
#include "../../src/decide/policy.h"
#include "../../src/record/audit.h"
#include "../../src/record/holders.h"
#include "../../src/record/incidents.h"
#include "../../src/record/session.h"
#include "../../src/record/state.h"
#include "../../src/request/text_json.h"
#include "../../src/token/book.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { EXIT_REFUSED = 126 };

static const char help[] =
	"usage: ward token mint --agent ID --allow 'OPERATION PATTERN'... [--expires 10m]\n"
	"                       [--workspace DIR] [--uses N] [--approver KEY] [-- COMMAND... | -c "
	"SCRIPT]\n"
	"       ward token narrow TOKEN [the same]\n"
	"       ward token show TOKEN [--json]\n"
	"       ward token verify TOKEN [--agent ID] [--workspace DIR] [--allow ...] [-- "
	"COMMAND...]\n"
	"       ward token approve TOKEN --key FILE [--expires 10m]\n"
	"       ward token key FILE\n"
	"       ward token revoke TOKEN|ID\n"
	"       ward token rotate [--retire]\n"
	"\n"
	"A token permits one agent what it names, and nothing else, until it expires: ward run "
	"--token T.\n"
	"Whoever holds it can make a narrower one of it without ward; nobody can make a wider "
	"one.\n"
	"TOKEN - is read from standard input.\n"
	"\n"
	"  mint      prints a new one; it expires after 60 minutes where nothing else is said\n"
	"  narrow    prints one that is the same and permits less\n"
	"  show      what it says of itself, whether that is true or not\n"
	"  verify    exits 0 if it would be taken, now and for what is named; else says why not\n"
	"  approve   gives it the approval that --approver wanted, by the approver's key\n"
	"  key       makes the key of an approver, and prints its public half\n"
	"  revoke    it, and all that was made of it; by its id all that was made of it ever, "
	"also\n"
	"            from what runs already: that is ended\n"
	"  rotate    new tokens get a new key; with --retire all older ones end\n"
	"\n"
	"example: ward run --agent builder --token \"$(ward token mint --agent builder --allow "
	"'write out/**')\" -- make\n";

static int record(const char *state, const char *kind, json_t *body, struct error **ret_error)
{
	struct audit *audit = NULL;
	int r = audit_open(state, &audit, ret_error);

	if (r == 0) {
		r = audit_append(audit, kind, NULL, body, ret_error);
		audit_close(audit);
	}
	json_decref(body);
	return r;
}

static void print(const struct token *token)
{
	_cleanup_free_ char *text = token_write(token);

	puts(text);
}

/* On record before it is there. */
static bool is_held(const void *tokens)
{
	return holders_any(tokens);
}

static int mint(const char *state, const struct token_words *words, struct error **ret_error)
{
	_cleanup_book_ struct token_book *book = NULL;
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};
	_cleanup_free_ char *tokens = NULL;
	unsigned char secret[MACAROON_KEY], key[MACAROON_KEY];
	char name[TOKEN_KEY_NAME] = "", command[TOKEN_COMMAND];
	struct caveats caveats;
	struct moment now;
	json_t *body;
	int r;

	moment_now(&now);
	token_words_caveats(words, now.wall, command, &caveats);
	if (!caveats.expires)
		caveats.expires = now.wall + TOKEN_LIFE;
	if ((r = session_check_agent(words->agent, ret_error)) < 0 ||
	    (r = state_directory_make(state, ret_error)) < 0 ||
	    (r = book_open(state, /* make= */ true, &book, ret_error)) < 0 ||
	    (r = book_note_time(book, &now, ret_error)) < 0 ||
	    (r = book_key(book, name, secret, ret_error)) < 0)
		return r;
	if (asprintf(&tokens, "%s/tokens", state) < 0)
		abort();
	book_sweep(book);
	book_compact(book, is_held, tokens);
	macaroon_derive_key(secret, sizeof(secret), key);
	r = token_mint(key, name, now.wall, &caveats, &token, ret_error);
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(key, sizeof(key));
	if (r < 0 || (r = token_check(&token, NULL, &powers, ret_error)) < 0)
		return r;
	body = json_object();
	json_put_text(body, "token", powers.id);
	json_put_text(body, "agent", words->agent);
	json_put_list(body, "allow", &words->allow);
	json_put(body, "expires", json_integer(powers.expires));
	r = record(state, "token.mint", body, ret_error);
	if (r == 0)
		print(&token);
	return r;
}

static const char *place_of(const struct token_words *words, const struct powers *powers,
			    char here[static PATH_MAX])
{
	if (words->workspace)
		return words->workspace;
	if (powers->workspaces.count)
		return powers->workspaces.items[powers->workspaces.count - 1];
	return getcwd(here, PATH_MAX) ? here : "/";
}

/* All that is named, or the first that the token does not allow. */
static int check_allowed(const struct token_words *words, const struct powers *powers,
			 struct error **ret_error)
{
	_cleanup_list_ struct list bounds = {0};
	char here[PATH_MAX];
	/* As a run has it: whatever the caller has put into his environment. */
	_cleanup_free_ char *home = NULL;
	const char *workspace = place_of(words, powers, here);
	int r = account_find(geteuid(), /* ret_gid= */ NULL, &home);

	if (r < 0)
		home = NULL;
	r = bounds_make(powers->allows, powers->allow_count, workspace, home, &bounds, ret_error);

	for (size_t i = 0; i < words->allow.count && r == 0; i++) {
		_cleanup_free_ char *whole = bounds_whole(words->allow.items[i], workspace, home);

		if (!bounds_allow(&bounds, whole)) {
			fail(ret_error, E_REJECTED, "the token does not allow '%s'",
			     words->allow.items[i]);
			r = error_hint(ret_error, "`ward token show` says what it allows");
		}
	}
	return r;
}

static int narrow(const struct token_words *words, struct error **ret_error)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0}, after = {0};
	char command[TOKEN_COMMAND];
	struct caveats caveats;
	int r;

	token_words_caveats(words, time(NULL), command, &caveats);
	if ((r = token_read(words->token, &token, ret_error)) < 0 ||
	    (r = token_check(&token, NULL, &powers, ret_error)) < 0 ||
	    (r = check_allowed(words, &powers, ret_error)) < 0 ||
	    (r = token_narrow(&token, &caveats, ret_error)) < 0 ||
	    /* Two agents or two commands would leave nothing. */
	    (r = token_check(&token, NULL, &after, ret_error)) < 0)
		return r;
	print(&token);
	return 0;
}

static int show(const struct token_words *words, struct error **ret_error)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};
	int r = token_read(words->token, &token, ret_error);

	if (r == 0)
		r = token_check(&token, NULL, &powers, ret_error);
	if (r == 0)
		token_show(&token, &powers, words->json);
	return r;
}

/* As a run would find it: a token of an agent that the policy puts under trust is void from an
 * incident on. */
static int check_mode(const char *state, const struct powers *powers, const char *workspace,
		      struct error **ret_error)
{
	const struct policy_places places = {.uid = getuid(),
					     .home = getenv("HOME"),
					     .config_home = getenv("XDG_CONFIG_HOME"),
					     .state = state,
					     .workspace = workspace};
	struct policy *policy = NULL;
	struct agent_mode mode;
	int r = policy_load(&places, &policy, ret_error);

	if (r == 0 && trust_binds(policy, powers->agent)) {
		r = mode_read(state, powers->agent, &mode, ret_error);
		if (r == 0)
			r = mode_check_token(&mode, powers->agent, powers->issued, ret_error);
	}
	policy_free(policy);
	return r;
}

static int verify(const char *state, const struct token_words *words, struct error **ret_error)
{
	_cleanup_book_ struct token_book *book = NULL;
	_cleanup_powers_ struct powers powers = {0};
	char command[TOKEN_COMMAND], here[PATH_MAX];
	struct bearer bearer = {.workspace = words->workspace};
	struct moment now;
	int r;

	moment_now(&now);
	if ((r = book_open(state, /* make= */ false, &book, ret_error)) < 0 ||
	    (r = book_verify(book, words->token, &now, &powers, ret_error)) < 0 ||
	    (r = check_mode(state, &powers, place_of(words, &powers, here), ret_error)) < 0)
		return r;
	/* What is not named is not looked at. */
	bearer.agent = words->agent ? words->agent : powers.agent;
	if (words->script || words->argv.count)
		token_command_hash(&words->argv, words->script, command);
	bearer.command = words->script || words->argv.count ? command : powers.command;
	if (!bearer.workspace && powers.workspaces.count)
		bearer.workspace = powers.workspaces.items[powers.workspaces.count - 1];
	r = token_admits(&powers, &bearer, ret_error);
	for (size_t i = 0; i < powers.use_count && r == 0; i++)
		if (book_used(book, &powers.uses[i]) >= powers.uses[i].most)
			r = fail(ret_error, E_REJECTED,
				 "the token has been used as often as it may be");
	return r == 0 ? check_allowed(words, &powers, ret_error) : r;
}

/* On record before it takes effect; when this returns, nothing runs by it any more. */
static int take_back(const char *state, const struct token_words *words, struct error **ret_error)
{
	_cleanup_book_ struct token_book *book = NULL;
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};
	_cleanup_free_ char *tokens = NULL;
	const char *mark = words->token;
	char last[TOKEN_MARK];
	json_t *body;
	int r = 0;

	if (!id_is_one(words->token)) {
		if ((r = token_read(words->token, &token, ret_error)) < 0 ||
		    (r = token_check(&token, NULL, &powers, ret_error)) < 0)
			return r;
		token_mark(&token, last);
		mark = last;
	}
	if ((r = book_open(state, /* make= */ false, &book, ret_error)) < 0)
		return r;
	body = json_object();
	json_put_text(body, "token", powers.id[0] ? powers.id : words->token);
	json_put_text(body, "mark", mark);
	if ((r = record(state, "token.revoke", body, ret_error)) < 0 ||
	    (r = book_revoke(book, mark, mark == last ? book_expiry(book, words->token) : 0,
			     ret_error)) < 0)
		return r;
	(void)book_changed(book);
	if (asprintf(&tokens, "%s/tokens", state) < 0)
		abort();
	r = holders_wait(tokens, book_seen(book), ret_error);
	if (r == 0)
		printf("%s is revoked\n", powers.id[0] ? powers.id : words->token);
	return r;
}

static int rotate(const char *state, const struct token_words *words, struct error **ret_error)
{
	_cleanup_book_ struct token_book *book = NULL;
	_cleanup_free_ char *tokens = NULL;
	char name[TOKEN_KEY_NAME];
	json_t *body;
	int r;

	if ((r = state_directory_make(state, ret_error)) < 0 ||
	    (r = book_open(state, /* make= */ true, &book, ret_error)) < 0)
		return r;
	body = json_object();
	json_put(body, "retire", json_boolean(words->retire));
	if ((r = record(state, "token.rotate", body, ret_error)) < 0 ||
	    (r = book_rotate(book, words->retire, name, ret_error)) < 0)
		return r;
	(void)book_changed(book);
	if (asprintf(&tokens, "%s/tokens", state) < 0)
		abort();
	if (words->retire)
		r = holders_wait(tokens, book_seen(book), ret_error);
	if (r == 0)
		printf("new tokens are made with the key %s%s\n", name,
		       words->retire ? "; all older tokens have ended" : "");
	return r;
}

static int approve(const struct token_words *words, struct error **ret_error)
{
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};
	char text[256];
	unsigned char seed[32];
	int64_t life = words->life_ns ? (int64_t)(words->life_ns / 1000000000) : TOKEN_LIFE;
	size_t count = 0;
	_cleanup_close_ int fd = open(words->key, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_USAGE, errno, "%s", words->key);
	if (st.st_mode & 077 || (st.st_uid != geteuid() && st.st_uid != 0)) {
		fail(ret_error, E_USAGE, "%s: others can read this key, or made it", words->key);
		return error_hint(ret_error, "a key is for its owner alone: chmod 600, or make a "
					     "new one");
	}
	got = read_all(fd, text, sizeof(text) - 1);
	if (got < 0)
		return fail_errno(ret_error, E_USAGE, (int)-got, "%s", words->key);
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (sodium_hex2bin(seed, sizeof(seed), text, strlen(text), NULL, &count, NULL) < 0 ||
	    count != sizeof(seed)) {
		sodium_memzero(text, sizeof(text));
		return fail(ret_error, E_USAGE, "%s is no key of an approver", words->key);
	}
	sodium_memzero(text, sizeof(text));
	if ((r = token_read(words->token, &token, ret_error)) == 0 &&
	    (r = token_check(&token, NULL, &powers, ret_error)) == 0)
		r = token_approve(&token, seed, time(NULL) + life, ret_error);
	sodium_memzero(seed, sizeof(seed));
	if (r == 0)
		print(&token);
	return r;
}

static int make_key(const struct token_words *words, struct error **ret_error)
{
	_cleanup_close_ int fd =
		open(words->key, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	unsigned char seed[32];
	char hex[2 * sizeof(seed) + 2], public[TOKEN_APPROVER];
	int r;

	if (fd < 0)
		return fail_errno(ret_error, E_USAGE, errno, "%s", words->key);
	approver_make(seed, public);
	sodium_bin2hex(hex, sizeof(hex), seed, sizeof(seed));
	strcat(hex, "\n");
	r = write_all(fd, hex, strlen(hex));
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(hex, sizeof(hex));
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "%s", words->key);
	puts(public);
	return 0;
}

static int serve(const struct token_words *words, struct error **ret_error)
{
	_cleanup_free_ char *state = NULL;
	int r = state_directory(&state, ret_error);

	if (r < 0)
		return r;
	switch (words->verb[0]) {
	case 'm':
		return mint(state, words, ret_error);
	case 'n':
		return narrow(words, ret_error);
	case 's':
		return show(words, ret_error);
	case 'v':
		return verify(state, words, ret_error);
	case 'a':
		return approve(words, ret_error);
	case 'k':
		return make_key(words, ret_error);
	}
	return strcmp(words->verb, "revoke") == 0 ? take_back(state, words, ret_error)
						  : rotate(state, words, ret_error);
}

int verb_token(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	struct token_words words;
	int r;

	output_begin();
	r = token_words_read(argc, argv, &words, &error);
	if (r == 1) {
		printf("%s", help);
		r = 0;
	} else if (r == 0) {
		r = serve(&words, &error);
	}
	token_words_done(&words);
	if (r == 0)
		return output_end("token", 0);
	(void)output_error("token", error);
	return error->code == E_REJECTED || error->code == E_INPUT ? EXIT_REFUSED : EXIT_WARD;
}
