/* SPDX-License-Identifier: Apache-2.0 */
/* A repository's configuration: read as git reads it (git itself is asked), harmless settings let
 * in, everything else kept out, credentials taken out and put back. */
#include "../../src/sandbox/gitconfig.h"
#include "../../src/sandbox/gitconfig_read.h"
#include "../../src/base/buffer.h"
#include "../../src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int check(const char *old, const char *new_, char key[static GIT_CONFIG_KEY])
{
	key[0] = '\0';
	return git_config_check(old, old ? strlen(old) : 0, new_, strlen(new_), NULL, key);
}

static void expect_in(const char *text)
{
	char key[GIT_CONFIG_KEY];
	int r = check(NULL, text, key);

	if (r != 0)
		fail_msg("refused (%d, %s): %s", r, key, text);
}

static void expect_out(const char *text, const char *offender)
{
	char key[GIT_CONFIG_KEY];
	int r = check(NULL, text, key);

	if (r != -EACCES || strcmp(key, offender) != 0)
		fail_msg("not refused for %s (%d, '%s'): %s", offender, r, key, text);
}

static void what_git_writes_by_itself_gets_in(void **state)
{
	(void)state;
	expect_in("");
	expect_in("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
		  "\tlogallrefupdates = true\n");
	expect_in("[core]\n\tbare = true\n\tsharedRepository = 1\n[receive]\n# nothing\n");
	expect_in("[remote \"origin\"]\n\turl = https://host.example/a/b.git\n"
		  "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
		  "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n");
	expect_in(
		"[remote \"o\"]\n\turl = git@host.example:a/b.git\n\tpushurl = ssh://git@h:22/x\n");
	expect_in("[remote \"o\"]\n\turl = ../other\n\turl = /srv/a:b\n\turl = C:/x\n\turl = "
		  "[::1]:x\n");
	expect_in("[remote \"o\"]\n\turl = https://host.example/proc\n\turl = "
		  "ssh://host.example/proc/17\n\turl = git@host.example:proc\n\turl = /srv/proc\n");
	expect_in("[user]\n\tname = J\xc3\xbcrgen \xe6\x97\xa5\n\temail = <j@h.example>\n");
	expect_in("[submodule \"lib/x\"]\n\turl = file:///srv/x\n\tactive = true\n\tupdate = "
		  "rebase\n");
	expect_in("[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n"
		  "\trefStorage = reftable\n\tpartialClone = origin\n");
	expect_in("[CORE] Bare = FALSE\n[color \"Diff\"] meta = \"#ff0000 bold\"\n[advice] x\n");
	expect_in("[core]\n\tfsmonitor = false\n[branch \"a.b\"]\n\tremote = .\n");
	expect_in("[lfs \"https://host.example/a/b.git/info/lfs\"]\n\taccess = basic\n");
}

/* Everything of git-config(1) that runs a program, reads more configuration or leads elsewhere. */
static void what_runs_programs_or_leads_elsewhere_stays_out(void **state)
{
	static const char *const keys[] = {"core.hooksPath",
					   "core.editor",
					   "core.pager",
					   "core.sshCommand",
					   "core.gitProxy",
					   "core.askPass",
					   "core.fsmonitor",
					   "core.worktree",
					   "core.alternateRefsCommand",
					   "core.attributesFile",
					   "core.excludesFile",
					   "core.alternateRefsPrefixes",
					   "core.protectHFS",
					   "core.protectNTFS",
					   "sequence.editor",
					   "include.path",
					   "gpg.program",
					   "gpg.format",
					   "user.signingKey",
					   "commit.gpgSign",
					   "tag.gpgSign",
					   "push.gpgSign",
					   "commit.template",
					   "diff.external",
					   "diff.orderFile",
					   "diff.tool",
					   "merge.tool",
					   "merge.guitool",
					   "merge.default",
					   "pull.twohead",
					   "pull.octopus",
					   "interactive.diffFilter",
					   "credential.helper",
					   "credential.useHttpPath",
					   "http.proxy",
					   "http.sslVerify",
					   "http.extraHeader",
					   "http.cookieFile",
					   "http.sslCAInfo",
					   "http.postBuffer",
					   "uploadpack.packObjectsHook",
					   "uploadpack.allowFilter",
					   "receive.denyCurrentBranch",
					   "receive.procReceiveRefs",
					   "transfer.credentialsInUrl",
					   "protocol.allow",
					   "safe.directory",
					   "safe.bareRepository",
					   "trace2.eventTarget",
					   "gc.recentObjectsHook",
					   "gc.repackFilterTo",
					   "fetch.bundleURI",
					   "pager.log",
					   "web.browser",
					   "man.viewer",
					   "help.browser",
					   "help.autoCorrect",
					   "sendemail.smtpServer",
					   "sendemail.toCmd",
					   "init.templateDir",
					   "log.showSignature",
					   "format.pretty",
					   "mailmap.file",
					   "blame.ignoreRevsFile",
					   "sshVariant.x",
					   "ssh.variant",
					   "instaweb.httpd",
					   "core.x",
					   "remotes.all",
					   "svn.authorsProg",
					   "difftool.prompt",
					   "maintenance.repo",
					   "submodule.alternate",
					   "rebase.instructionFormat",
					   "imap.tunnel",
					   "lfs.url",
					   "lfs.concurrenttransfers",
					   "guitool.x",
					   "notes.displayRef"};
	static const char *const named[] = {"alias.st",
					    "filter.x.clean",
					    "filter.x.process",
					    "diff.x.command",
					    "diff.x.textconv",
					    "merge.x.driver",
					    "difftool.x.cmd",
					    "mergetool.x.cmd",
					    "remote.origin.uploadpack",
					    "remote.origin.receivepack",
					    "remote.origin.vcs",
					    "remote.origin.proxy",
					    "remote.origin.serverOption",
					    "url.https://x/.insteadOf",
					    "url.x.pushInsteadOf",
					    "includeIf.gitdir:x.path",
					    "credential.x.helper",
					    "gpg.ssh.program",
					    "gpg.ssh.allowedSignersFile",
					    "gpg.x509.program",
					    "man.x.cmd",
					    "browser.x.cmd",
					    "guitool.x.cmd",
					    "protocol.ext.allow",
					    "http.https://h/.extraHeader",
					    "submodule.x.gitdir",
					    "hook.x.command",
					    "branch.x.mergeOptions",
					    "core.x.bare",
					    "user.x.name",
					    "tar.x.command",
					    "trailer.x.command",
					    "trailer.x.cmd",
					    "lfs.x.url",
					    "lfs.customtransfer.x.path",
					    "bundle.x.uri",
					    "alias.x.command",
					    "core..bare"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		const char *dot = strchr(keys[i], '.');
		char text[256];

		snprintf(text, sizeof(text), "[%.*s]\n\t%s = /tmp/x !y\n", (int)(dot - keys[i]),
			 keys[i], dot + 1);
		expect_out(text, keys[i]);
	}
	for (size_t i = 0; i < ELEMENTS(named); i++) {
		const char *dot = strchr(named[i], '.'), *last = strrchr(named[i], '.');
		char text[256];

		if (dot == last)
			snprintf(text, sizeof(text), "[%.*s]\n\t%s = !y\n", (int)(dot - named[i]),
				 named[i], dot + 1);
		else
			snprintf(text, sizeof(text), "[%.*s \"%.*s\"]\n\t%s = !y\n",
				 (int)(dot - named[i]), named[i], (int)(last - dot - 1), dot + 1,
				 last + 1);
		expect_out(text, named[i]);
	}
	expect_out("[core]\n\tfsmonitor\n", "core.fsmonitor");
	expect_out("[core]\n\tfsmonitor = true\n", "core.fsmonitor");
	expect_out("[submodule \"x\"]\n\tupdate = !sh\n", "submodule.x.update");
	expect_out("[submodule \"../x\"]\n\tactive = true\n", "submodule.../x.active");
	expect_out("[extensions]\n\trefStorage = files:///x\n", "extensions.refStorage");
	expect_out("[core]\n\tsharedRepository = 0666\n", "core.sharedRepository");
	expect_out("[branch \"b\"]\n\tmergeOptions = -s ours\n", "branch.b.mergeOptions");
}

static void a_setting_cannot_hide_in_odd_text(void **state)
{
	(void)state;
	expect_out("[core] bare = false\n[core] hooksPath = x", "core.hooksPath");
	expect_out("[core]hooksPath=x", "core.hooksPath");
	expect_out("[CORE]\nHOOKSPATH = x\n", "CORE.HOOKSPATH");
	expect_out("\xef\xbb\xbf[core]\nhooksPath = x\n", "core.hooksPath");
	expect_out("[core]\r\nhooksPath = x\r\n", "core.hooksPath");
	expect_out("[user]\nname = a # \\\n[core]\nhooksPath = x\n", "core.hooksPath");
	expect_out("[user]\nname = \"a\\\n # b\" \n[core]\neditor = x\n", "core.editor");
	expect_out("# [user] \\\n[core]\neditor = x\n", "core.editor");
	expect_out("[remote.origin]\nuploadpack = x\n", "remote.origin.uploadpack");
	expect_out("[diff.x \"y\"]\ntextconv = x\n", "diff.x.y.textconv");
	/* And what only looks like one is none. */
	expect_in("[user]\nname = \"a\\\n[core]\\\nhooksPath = x\"\n");
	expect_in("[user]\nname = a \\\n[core] hooksPath = x\n");
	expect_in("[user] ; [core] hooksPath = x\n# [core]\n#hooksPath = x\n");
}

static void an_address_that_is_a_program_stays_out(void **state)
{
	static const char *const addresses[] = {"ext::sh -c x",
						"/proc/17/root/tmp/x",
						"file:///pr%6fc/17/root/tmp/x",
						"fd::7",
						"hg::https://h/",
						"any://h/x",
						"EXT::x",
						"HTTP://h/x",
						"-oProxyCommand=x",
						"ssh://-oProxyCommand=x/y",
						"ssh://%2doProxyCommand=x/y",
						"ssh://git@-h/y",
						"git@-h:x",
						"host:-x",
						"-x:y",
						"ssh://u:p@%2Dh/x",
						"::x",
						"a\\nb",
						"http::http://h/",
						"a+b.c-d::x"};
	static const char *const keys[] = {"[remote \"o\"] url",       "[remote \"o\"] pushurl",
					   "[branch \"b\"] remote",    "[branch \"b\"] pushRemote",
					   "[remote] pushDefault",     "[submodule \"s\"] url",
					   "[extensions] partialClone"};
	char text[256], key[GIT_CONFIG_KEY];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(addresses); i++)
		for (size_t j = 0; j < ELEMENTS(keys); j++) {
			snprintf(text, sizeof(text), "%s = \"%s\"\n", keys[j], addresses[i]);
			if (check(NULL, text, key) != -EACCES)
				fail_msg("let in: %s", text);
		}
	/* Git takes a remote's name for its address where it has none. */
	expect_out("[remote \"ext::sh -c x\"]\n\tpromisor = true\n",
		   "remote.ext::sh -c x.promisor");
}

static bool below_here(const char *value, void *data)
{
	return strcmp(value, data) == 0;
}

static void a_worktree_is_for_the_caller_to_know(void **state)
{
	struct git_config_place place = {below_here, (void *)"../../tree"};
	static const char good[] = "[core]\n\tworktree = ../../tree\n";
	static const char bad[] = "[core]\n\tworktree = /\n";
	char key[GIT_CONFIG_KEY];

	(void)state;
	assert_int_equal(git_config_check(NULL, 0, good, strlen(good), &place, key), 0);
	assert_int_equal(git_config_check(NULL, 0, bad, strlen(bad), &place, key), -EACCES);
	assert_int_equal(git_config_check(bad, strlen(bad), bad, strlen(bad), &place, key), 0);
	assert_int_equal(git_config_check(NULL, 0, good, strlen(good), NULL, key), -EACCES);
}

static void what_stood_there_may_stay(void **state)
{
	static const char old[] = "[alias]\n\tst = !echo \"a\tb\"\n[core]\n\teditor = one\n"
				  "\teditor = two\n[include]\n\tpath = mine\n";
	static const struct {
		const char *text, *key;
	} texts[] = {
		{"[alias]\n st = \"!echo a\\tb\"\n[core]\neditor=one\neditor=\"two\"\n[include]\n"
		 "path=mine\n[remote \"x\"]\nurl=/y\n",
		 NULL},
		{"[alias]\n\tst = !echo \"a\tb\"\n", NULL},
		{"[core]\neditor=one\neditor=two\n", NULL},
		{"[alias]\n\tst = !echo a b\n", "alias.st"},
		{"[alias]\n\tst = !echo a\tb\n", "alias.st"}, /* git before 2.45: a blank */
		{"[alias]\n\tst = !echo \"a\tb\"\n\tst = !echo \"a\tb\"\n", "alias.st"},
		{"[alias]\n\tST = !echo \"a\tb\"\n", NULL},
		{"[alias \"st\"]\n\tcommand = x\n", "alias.st.command"},
		{"[core]\neditor=two\neditor=one\n", "core.editor"}, /* the last counts */
		{"[core]\neditor=one\n", "core.editor"},
		{"[include]\npath=mine\n[core]\neditor=one\neditor=two\n", "core.editor"},
		{"[core]\neditor\n", "core.editor"},
	};
	char key[GIT_CONFIG_KEY];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		int r = check(old, texts[i].text, key);

		if (r != (texts[i].key ? -EACCES : 0) || strcmp(key, texts[i].key ?: "") != 0)
			fail_msg("%d '%s' for: %s", r, key, texts[i].text);
	}
	/* A text that git would not read grants nothing. */
	assert_int_equal(check("[alias]\nst = !x\n[\n", "[alias]\nst = !x\n", key), -EACCES);
}

static void text_that_cannot_be_read_says_where(void **state)
{
	static const struct {
		const char *text, *where;
	} texts[] = {
		{"[core\nbare = true\n", "line 1"},  {"[core]\nbare = \"true\n", "line 2"},
		{"[core]\n\nbare true\n", "line 3"}, {"[user]\nname = a\\x\n", "line 2"},
		{"[user]\nname = a\rb\n", "line 2"}, {"[user]\nname = a\x1b[0m\n", "line 2"},
		{"bare = true\n", "line 1"},	     {"[]\nbare = true\n", "line 1"},
		{"[.x]\nbare = true\n", "line 1"},   {"[core \"a\nb\"]\n", "line 1"},
		{"[core] 9x = 1\n", "line 1"},	     {"[core] b_x = 1\n", "line 1"},
		{"[core \"x\" ]\n", "line 1"},	     {"\xef\xbb[core]\n", "line 1"},
	};
	static char long_text[GIT_CONFIG_LIMIT + 2];
	char key[GIT_CONFIG_KEY];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (check(NULL, texts[i].text, key) != -EINVAL || strcmp(key, texts[i].where) != 0)
			fail_msg("'%s' for: %s", key, texts[i].text);
	assert_int_equal(git_config_check(NULL, 0, "[a]\0", 4, NULL, key), -EINVAL);
	memset(long_text, '\n', sizeof(long_text) - 1);
	assert_int_equal(check(NULL, long_text, key), -EINVAL);
	assert_string_equal(key, "more than a megabyte");
	long_text[GIT_CONFIG_LIMIT] = '\0';
	assert_int_equal(check(NULL, long_text, key), 0);
}

static void an_offender_is_fit_to_be_shown(void **state)
{
	char text[2048], key[GIT_CONFIG_KEY], name[1201];

	(void)state;
	expect_out("[x \"a\xe2\x80\xae\"] y = 1\n", "x.a\\u{202e}.y");
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa4", 3);
	snprintf(text, sizeof(text), "[x \"b%s\"] y = 1\n", name);
	assert_int_equal(check(NULL, text, key), -EACCES);
	assert_int_equal(strlen(key), 254);
	assert_string_equal(key + 250, "\xa4...");
}

static void a_long_section_before_many_settings_is_bounded(void **state)
{
	static char text[GIT_CONFIG_LIMIT];
	char key[GIT_CONFIG_KEY];
	size_t at = 0;

	(void)state;
	at += (size_t)sprintf(text, "[branch \"");
	memset(text + at, 'x', 400000);
	at += 400000;
	at += (size_t)sprintf(text + at, "\"]\n");
	while (at + 8 < sizeof(text)) {
		memcpy(text + at, "rebase\n", 7);
		at += 7;
	}
	assert_int_equal(git_config_check(NULL, 0, text, at, NULL, key), -EINVAL);
}

/* --- git as the oracle ------------------------------------------------------------------------ */

static char place[] = "/tmp/ward-gitconfig-XXXXXX";

static int make_place(void **state)
{
	(void)state;
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	return mkdtemp(place) && chdir(place) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : remove_tree(AT_FDCWD, place);
}

/* What git makes of the text, as `git config --list -z` prints it; false: it refuses it. */
static bool ask_git(const char *text, size_t length, struct buffer *listed)
{
	int fd = open("config", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char block[4096];
	size_t got;
	FILE *git;

	assert_int_equal(write_all(fd, text, length), 0);
	close(fd);
	git = popen("timeout 10 git config --file config --list -z --no-includes 2>/dev/null", "r");
	while ((got = fread(block, 1, sizeof(block), git)) > 0)
		buffer_add(listed, block, got);
	return pclose(git) == 0;
}

static bool list_ours(const char *text, size_t length, struct buffer *listed)
{
	_cleanup_settings_ struct git_settings settings = {0};

	if (git_settings_read(text, length, &settings))
		return false;
	for (size_t i = 0; i < settings.count; i++) {
		const struct git_setting *setting = &settings.items[i];

		if (!setting->key)
			continue;
		buffer_add_text(listed, setting->key);
		if (setting->value)
			buffer_printf(listed, "\n%s", setting->value);
		buffer_add_char(listed, '\0');
	}
	return true;
}

static uint32_t dice(uint32_t sides)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % sides;
}

/* Lines as people write them, with odd things in every place, and now and then anything. */
static void write_oddly(struct buffer *text)
{
	static const char *const heads[] = {
		"[core]",    "[Remote \"o.R\"]", "[a.B]",	 "[x \"q\\\"\\\\z\"]",
		"[x  \"\"]", "[A-1.b \"C\"]",	 "\t[c \"\\d\"]"};
	static const char *const names[] = {"\tname", "Key-1 ", "a\t", "z", " b2"};
	static const char *const values[] = {
		"value", "\"", "\"a",	   "b\"",   "\\n",    "\\t", "\\\"", "\\\\",  " ",
		" ",	 "\t", "\\\n",	   "\\b",   "\\\r\n", "'",   "#",    ";",     "[",
		"]",	 "=",  "\xc3\xa4", "\"#\"", "\\",     "$",   ".",    "\"; \""};
	static const char *const ends[] = {"\n", "\n", "\n", "\r\n", " # c\n", ";\\\n", " \n\n"};

	buffer_add_text(text, dice(8) ? "" : "\xef\xbb\xbf");
	for (unsigned lines = 1 + dice(5); lines > 0; lines--) {
		if (dice(3) == 0 || text->length < 4)
			buffer_add_text(text, heads[dice(ELEMENTS(heads))]);
		if (dice(3) == 0)
			buffer_add_text(text, ends[dice(ELEMENTS(ends))]);
		if (dice(40) == 0)
			buffer_add_text(text, values[dice(ELEMENTS(values))]);
		buffer_add_text(text, names[dice(ELEMENTS(names))]);
		buffer_add_text(text, dice(6) ? "=" : "");
		for (unsigned parts = text->data[text->length - 1] == '=' ? dice(6) : 0; parts > 0;
		     parts--)
			buffer_add_text(text, values[dice(ELEMENTS(values))]);
		if (lines > 1 || dice(2))
			buffer_add_text(text, ends[dice(ELEMENTS(ends))]);
	}
}

static void git_reads_the_same(void **state)
{
	unsigned rounds = getenv("GIT_ROUNDS") ? (unsigned)atoi(getenv("GIT_ROUNDS")) : 300;
	unsigned both = 0, git_only = 0, neither = 0;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		_cleanup_buffer_ struct buffer text = {0}, ours = {0}, theirs = {0};
		bool we, git;

		write_oddly(&text);
		we = list_ours(text.data, text.length, &ours);
		git = ask_git(text.data, text.length, &theirs);
		if (we && (!git || ours.length != theirs.length ||
			   memcmp(buffer_text(&ours), buffer_text(&theirs), ours.length) != 0))
			fail_msg("git %d reads otherwise: <<%s>>: <<%s>> <<%s>>", git, text.data,
				 buffer_text(&ours), buffer_text(&theirs));
		both += we && git;
		git_only += !we && git;
		neither += !we && !git;
	}
	print_message("# read alike %u, by git alone %u, by neither %u\n", both, git_only, neither);
	assert_true(both > rounds / 4 && neither > rounds / 10 && git_only < both / 10);
}

static void repositories_that_git_makes_are_let_in(void **state)
{
	static const char script[] =
		"exec >/dev/null 2>&1; set -e; export HOME=$PWD\n"
		"git -c init.defaultBranch=main init one; cd one\n"
		"git config user.name 'J\xc3\xbcrgen \"x\" #1; \\ y'; git config user.email "
		"j@h.example\n"
		"git commit --allow-empty -m one; cd ..\n"
		"git clone one two; git clone --bare one three.git; git init --shared=group four\n"
		"git clone --mirror one five.git; git clone --no-tags --single-branch one nine\n"
		"git clone --filter=blob:none --no-checkout \"file://$PWD/one\" six\n"
		"cd two; git remote add other ../three.git; git fetch other\n"
		"git branch topic; git branch -u other/main topic; git push -u origin topic\n"
		"git remote rename other another; git remote set-branches --add another main\n"
		"git config branch.topic.description 'two\nlines'; git config pull.rebase true\n"
		"git -c protocol.file.allow=always submodule add ../one lib/sub\n"
		"git worktree add ../seven topic; git sparse-checkout set a b\n"
		"git config core.autocrlf input; git config --add remote.origin.push HEAD\n";
	static const char *const configs[] = {"one/.git/config",  "two/.git/config",
					      "three.git/config", "four/.git/config",
					      "five.git/config",  "six/.git/config",
					      "nine/.git/config", "two/.git/config.worktree"};
	static const char sub[] = "two/.git/modules/lib/sub/config";
	struct git_config_place where = {below_here, (void *)"../../../../lib/sub"};
	_cleanup_free_ char *text = NULL;
	char key[GIT_CONFIG_KEY];
	size_t length;

	(void)state;
	assert_int_equal(system(script), 0);
	for (size_t i = 0; i < ELEMENTS(configs); i++) {
		_cleanup_free_ char *one = NULL;
		int r;

		assert_int_equal(read_file(AT_FDCWD, configs[i], 1 << 20, &one, &length), 0);
		r = git_config_check(NULL, 0, one, length, NULL, key);
		if (r != 0)
			fail_msg("%s: %d %s", configs[i], r, key);
	}
	assert_int_equal(read_file(AT_FDCWD, sub, 1 << 20, &text, &length), 0);
	assert_int_equal(git_config_check(NULL, 0, text, length, &where, key), 0);
	assert_int_equal(git_config_check(NULL, 0, text, length, NULL, key), -EACCES);
	assert_string_equal(key, "core.worktree");
}

/* --- credentials ------------------------------------------------------------------------------ */

static void expect_redacted(const char *text, const char *expected)
{
	_cleanup_free_ char *redacted = NULL, *restored = NULL;
	size_t length = 0;
	int r = git_config_redact(text, strlen(text), &redacted, &length);

	if (r != (strcmp(text, expected) != 0) || strcmp(redacted, expected) != 0 ||
	    length != strlen(expected))
		fail_msg("%d: <<%s>> became <<%s>>", r, text, redacted);
	assert_int_equal(
		git_config_restore(text, strlen(text), redacted, length, &restored, &length), 0);
	assert_string_equal(restored, text);
}

static void credentials_are_taken_out_and_nothing_else(void **state)
{
	static const char *const untouched[] = {
		"", "[remote \"o\"]\n\turl = https://host.example/a@b:c\n",
		"[remote \"o\"]\n\turl = ssh://git@host.example/a\n\turl = git@h:a/b\n",
		"[a]\nb = \"mail me@x\"\n[c] d = x://y ; z://a@b\n# a ://x:y@z\n"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(untouched); i++)
		expect_redacted(untouched[i], untouched[i]);
	expect_redacted("[remote \"o\"]\n\turl = https://me:s3cret@host.example/a.git ; x\n",
			"[remote \"o\"]\n\turl = https://host.example/a.git ; x\n");
	expect_redacted("[remote \"o\"]\r\n\turl=HTTPS://ghp_token@h/a\r\n",
			"[remote \"o\"]\r\n\turl=HTTPS://h/a\r\n");
	expect_redacted("[remote \"o\"]\n\turl = ssh://git:pw@h/a\n\tpushurl = \"ftp://a:b@h\"\n",
			"[remote \"o\"]\n\turl = ssh://git@h/a\n\tpushurl = \"ftp://h\"\n");
	expect_redacted("[url \"https://tok@h/\"]\n\tinsteadOf = https://h/\n# https://a:b@c/\n",
			"[url \"https://h/\"]\n\tinsteadOf = https://h/\n# https://c/\n");
	expect_redacted("[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic eDp5 # c\n",
			"[http \"https://h/\"]\n\textraheader =\n");
	expect_redacted("[http]\n\textraHeader = \"X: https://a:b@c/\"\n\tproxy=http://p:q@r:1\n",
			"[http]\n\textraHeader =\n\tproxy=http://r:1\n");
	expect_redacted("[sendemail] smtpPass = \"x\\\n y\"\n[user] name = n",
			"[sendemail] smtpPass =\n[user] name = n");
	/* Quotes, escapes and blanks do not hide one. */
	expect_redacted("[remote \"o\"]\n\turl = https://me:\"a b\"@h/x\n",
			"[remote \"o\"]\n\turl =\n");
	expect_redacted("[remote \"o\"]\n\turl = \"https://me:a b@h/x\"\n",
			"[remote \"o\"]\n\turl =\n");
	expect_redacted("[remote \"o\"]\n\turl = https:\\\n//me:a@h/x\n",
			"[remote \"o\"]\n\turl =\n");
	expect_redacted("[remote \"o\"]\n\turl = https://me:a\\\nb@h/x\n",
			"[remote \"o\"]\n\turl = https://h/x\n");
	expect_redacted("[x] y = https://t@h/a\ny = https://h/a\ny = https://u@h/a\n",
			"[x] y = https://h/a\ny = https://h/a\ny = https://h/a\n");
}

static void what_cannot_be_read_is_not_redacted(void **state)
{
	static const char hidden[] = "[url \"https:\\//t@h\"] x = 1";
	char *text = NULL;
	size_t length;

	(void)state;
	assert_int_equal(git_config_redact("[a\n", 3, &text, &length), -EINVAL);
	/* A secret in a name that the eye does not find. */
	assert_int_equal(git_config_redact(hidden, strlen(hidden), &text, &length), -EINVAL);
	assert_null(text);
}

static void expect_restored(const char *original, const char *edited, const char *expected)
{
	_cleanup_free_ char *restored = NULL;
	size_t length = 0;

	assert_int_equal(git_config_restore(original, strlen(original), edited, strlen(edited),
					    &restored, &length),
			 0);
	assert_string_equal(restored, expected);
	assert_int_equal(length, strlen(expected));
}

static void credentials_return_to_the_same_address_only(void **state)
{
	static const char original[] = "[remote \"o\"]\n\turl = https://t@h/a\n"
				       "[http \"https://h/\"]\n\textraheader = A: b\n";

	(void)state;
	/* Another remote was added, another was renamed. */
	expect_restored(
		original,
		"[remote \"n\"]\n\turl = https://h/z\n[remote \"o\"]\n\turl = https://h/a\n",
		"[remote \"n\"]\n\turl = https://h/z\n[remote \"o\"]\n\turl = https://t@h/a\n");
	expect_restored(original, "[remote \"n\"]\n\turl = https://h/a\n",
			"[remote \"n\"]\n\turl = https://t@h/a\n");
	expect_restored(
		original,
		"[remote \"n\"]\n\turl = https://h/a\n[remote \"o\"]\n\turl = https://h/a\n",
		"[remote \"n\"]\n\turl = https://h/a\n[remote \"o\"]\n\turl = https://t@h/a\n");
	/* Elsewhere, otherwise, or under another name they do not. */
	expect_restored(original, "[remote \"o\"]\n\turl = https://evil/a\n",
			"[remote \"o\"]\n\turl = https://evil/a\n");
	expect_restored(original, "[remote \"o\"]\n\turl = https://h/ab\n",
			"[remote \"o\"]\n\turl = https://h/ab\n");
	expect_restored(original, "[remote \"o\"]\n\turl = http://h/a\n",
			"[remote \"o\"]\n\turl = http://h/a\n");
	expect_restored(original, "[alias]\n\turl = https://h/a\n# https://h/a\n",
			"[alias]\n\turl = https://h/a\n# https://h/a\n");
	expect_restored(original, "[remote \"o\"]\n\turl = https://mine@h/a\n",
			"[remote \"o\"]\n\turl = https://mine@h/a\n");
	expect_restored(original, "[http \"https://evil/\"]\n\textraheader =\n",
			"[http \"https://evil/\"]\n\textraheader =\n");
	expect_restored(original, "[http \"https://h/\"]\n\textraheader = mine\n",
			"[http \"https://h/\"]\n\textraheader = mine\n");
	/* The section is the one that git sees. */
	expect_restored(
		original,
		"[http \"https://evil/\"]\n\tx = \\\n[http \"https://h/\"]\n\textraheader =\n",
		"[http \"https://evil/\"]\n\tx = \\\n[http \"https://h/\"]\n\textraheader =\n");
	expect_restored(original, "[http \"https://h/\"]\n\textraheader =\n",
			"[http \"https://h/\"]\n\textraheader = A: b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_git_writes_by_itself_gets_in),
		cmocka_unit_test(what_runs_programs_or_leads_elsewhere_stays_out),
		cmocka_unit_test(a_setting_cannot_hide_in_odd_text),
		cmocka_unit_test(an_address_that_is_a_program_stays_out),
		cmocka_unit_test(a_worktree_is_for_the_caller_to_know),
		cmocka_unit_test(what_stood_there_may_stay),
		cmocka_unit_test(text_that_cannot_be_read_says_where),
		cmocka_unit_test(an_offender_is_fit_to_be_shown),
		cmocka_unit_test(a_long_section_before_many_settings_is_bounded),
		cmocka_unit_test(git_reads_the_same),
		cmocka_unit_test(repositories_that_git_makes_are_let_in),
		cmocka_unit_test(credentials_are_taken_out_and_nothing_else),
		cmocka_unit_test(what_cannot_be_read_is_not_redacted),
		cmocka_unit_test(credentials_return_to_the_same_address_only),
	};

	return cmocka_run_group_tests_name("gitconfig", tests, make_place, remove_place);
}
