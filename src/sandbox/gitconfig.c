/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings of a repository's configuration may come into it unasked.
 *
 * The list names what is allowed, never what is not: git gains settings that run programs with
 * almost every version (gc.recentObjectsHook, fetch.bundleURI), and no word here must be needed to
 * keep them out. */
#include "gitconfig.h"
#include "gitconfig_read.h"
#include "../base/escape.h"
#include "../base/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum test {
	ANY,	  /* text that git only shows or compares */
	WORDS,	  /* letters, digits and a few signs: booleans, numbers, sizes, dates, colours */
	ONE_OF,	  /* one of the words given, in lower case */
	REMOTE,	  /* a remote's name or its address: git takes the one for the other */
	WORKTREE, /* the caller knows */
};

enum where {
	PLAIN, /* section.name */
	NAMED, /* section.subsection.name */
};

static const struct allowed {
	const char *section;
	enum where where;
	enum test test;
	const char *names;  /* between blanks; NULL: every name */
	const char *values; /* ONE_OF: between blanks */
} list[] = {
	{"core", PLAIN, WORDS,
	 " repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode"
	 " symlinks autocrlf eol safecrlf checkroundtripencoding abbrev quotepath compression"
	 " loosecompression sparsecheckout sparsecheckoutcone untrackedcache whitespace trustctime"
	 " checkstat bigfilethreshold packedgitwindowsize packedgitlimit deltabasecachelimit"
	 " preloadindex splitindex ignorestat warnambiguousrefs usereplacerefs commitgraph"
	 " multipackindex fsync fsyncmethod fsyncobjectfiles longpaths hidedotfiles "},
	{"core", PLAIN, ANY, " commentchar commentstring "},
	{"core", PLAIN, ONE_OF, " sharedrepository ", " umask false 0 group true 1 0640 0660 "},
	{"core", PLAIN, ONE_OF, " fsmonitor ", " false no off 0 "}, /* true starts a daemon */
	{"core", PLAIN, WORKTREE, " worktree "},
	{"extensions", PLAIN, WORDS,
	 " objectformat compatobjectformat noop noop-v1 preciousobjects relativeworktrees"
	 " worktreeconfig "},
	{"extensions", PLAIN, ONE_OF, " refstorage ", " files reftable "}, /* else: a place */
	{"extensions", PLAIN, REMOTE, " partialclone "},
	{"remote", PLAIN, REMOTE, " pushdefault "},
	{"remote", NAMED, REMOTE, " url pushurl "},
	{"remote", NAMED, ANY, " fetch push partialclonefilter gh-resolved "},
	{"remote", NAMED, WORDS,
	 " tagopt prune prunetags mirror promisor skipdefaultupdate skipfetchall"
	 " followremotehead "},
	{"branch", PLAIN, WORDS, " autosetupmerge autosetuprebase sort "},
	{"branch", NAMED, REMOTE, " remote pushremote "},
	{"branch", NAMED, ANY,
	 " merge description vscode-merge-base gh-merge-base github-pr-owner-number "},
	{"branch", NAMED, WORDS, " rebase "},
	/* A strategy among them would be a program's name. */
	{"branch", NAMED, ONE_OF, " mergeoptions ", " --ff --no-ff --ff-only "},
	{"user", PLAIN, ANY, " name email useconfigonly "},
	{"author", PLAIN, ANY, " name email "},
	{"committer", PLAIN, ANY, " name email "},
	{"submodule", PLAIN, WORDS,
	 " recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy "},
	{"submodule", PLAIN, ANY, " active "},
	{"submodule", NAMED, REMOTE, " url "},
	{"submodule", NAMED, ANY, " active branch "},
	{"submodule", NAMED, WORDS, " ignore fetchrecursesubmodules shallow "},
	{"submodule", NAMED, ONE_OF, " update ", " checkout rebase merge none "},
	{"init", PLAIN, ANY, " defaultbranch "},
	{"pull", PLAIN, WORDS, " rebase ff "},
	{"push", PLAIN, WORDS,
	 " default autosetupremote followtags useforceifincludes negotiate recursesubmodules "},
	{"fetch", PLAIN, WORDS,
	 " prune prunetags parallel all recursesubmodules unpacklimit output showforcedupdates"
	 " writecommitgraph negotiationalgorithm "},
	{"merge", PLAIN, WORDS,
	 " ff conflictstyle renames renamelimit directoryrenames log stat branchdesc"
	 " defaulttoupstream autostash verbosity "},
	{"rebase", PLAIN, WORDS,
	 " autosquash autostash updaterefs stat missingcommitscheck forkpoint rebasemerges"
	 " abbreviatecommands reschedulefailedexec maxlabellength "},
	{"receive", PLAIN, ONE_OF, " denynonfastforwards denydeletes ", " true "},
	{"rerere", PLAIN, WORDS, " enabled autoupdate "},
	{"commit", PLAIN, WORDS, " verbose cleanup status "},
	{"checkout", PLAIN, WORDS, " guess workers thresholdforparallelism "},
	{"checkout", PLAIN, REMOTE, " defaultremote "},
	{"worktree", PLAIN, WORDS, " guessremote userelativepaths "},
	{"diff", PLAIN, WORDS,
	 " algorithm renames renamelimit mnemonicprefix noprefix context interhunkcontext"
	 " colormoved colormovedws wserrorhighlight indentheuristic statgraphwidth"
	 " statnamewidth submodule ignoresubmodules dirstat suppressblankempty relative"
	 " autorefreshindex "},
	{"status", PLAIN, WORDS,
	 " short branch relativepaths showstash showuntrackedfiles aheadbehind"
	 " displaycommentprefix renames renamelimit submodulesummary "},
	{"log", PLAIN, WORDS,
	 " abbrevcommit date decorate follow diffmerges initialdecorationset showroot mailmap "},
	{"format", PLAIN, ONE_OF, " pretty ",
	 " oneline short medium full fuller reference email mboxrd raw "},
	{"stash", PLAIN, WORDS, " showpatch showstat showincludeuntracked "},
	{"tag", PLAIN, WORDS, " sort "},
	{"apply", PLAIN, WORDS, " ignorewhitespace whitespace "},
	{"add", PLAIN, WORDS, " ignoreerrors "},
	{"am", PLAIN, WORDS, " keepcr threeway "},
	{"grep", PLAIN, WORDS,
	 " linenumber column patterntype extendedregexp threads fullname fallbacktonoindex "},
	{"interactive", PLAIN, WORDS, " singlekey "},
	{"i18n", PLAIN, WORDS, " commitencoding logoutputencoding "},
	{"feature", PLAIN, WORDS, " manyfiles "},
	{"maintenance", PLAIN, WORDS, " auto strategy "},
	{"gc", PLAIN, WORDS,
	 " auto autopacklimit autodetach bigpackthreshold cruftpacks maxcruftsize pruneexpire"
	 " worktreepruneexpire reflogexpire reflogexpireunreachable packrefs writecommitgraph"
	 " aggressivedepth aggressivewindow logexpiry rerereresolved rerereunresolved "},
	{"gc", NAMED, WORDS, " reflogexpire reflogexpireunreachable "},
	{"pack", PLAIN, WORDS,
	 " window depth windowmemory compression threads deltacachesize deltacachelimit"
	 " indexversion packsizelimit usesparse usebitmaps writebitmaphashcache"
	 " writebitmaplookuptable writereverseindex readreverseindex allowpackreuse "},
	{"index", PLAIN, WORDS,
	 " version threads sparse skiphash recordendofindexentries recordoffsettable "},
	{"column", PLAIN, WORDS, " ui branch clean status tag "},
	{"color", PLAIN, WORDS, NULL}, /* all of them colours or booleans, and of advice booleans */
	{"color", NAMED, WORDS, NULL},
	{"advice", PLAIN, WORDS, NULL},
	{"lfs", PLAIN, WORDS, " repositoryformatversion "},
	{"lfs", NAMED, WORDS, " access locksverify "},
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; length > 0 && (at = strstr(at, word)); at++)
		if (at > words && at[-1] == ' ' && at[length] == ' ' && !strchr(word, ' '))
			return true;
	return false;
}

static bool is_words(const char *value)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789 _.,:+*#=%-";

	return value[strspn(value, signs)] == '\0';
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* Git looks at what %2D stands for before it hands a host to ssh. */
static char first_of(const char *text)
{
	if (text[0] == '%' && digit(text[1]) >= 0 && digit(text[2]) >= 0)
		return (char)(digit(text[1]) << 4 | digit(text[2]));
	return text[0];
}

/* A path, or a URL of one. */
static bool is_local(const char *value)
{
	const char *scheme = strstr(value, "://");

	if (scheme)
		return strncasecmp(value, "file:", 5) == 0;
	return value[strcspn(value, ":/")] != ':';
}

/* A repository at a path of this machine runs its own hooks on a push. What lies in the workspace
 * is guarded; where no name is, none may lead. In a URL %2e is a dot. */
static bool leads_inside(const char *value)
{
	_cleanup_free_ char *path = NULL;
	char *to;

	if (asprintf(&path, "%s/.git", value) < 0)
		abort();
	to = path;
	for (const char *at = value; *at; at++) {
		char c = first_of(at);

		*to++ = c ? c : *at; /* nothing is written by %00 */
		at += c && c != *at ? 2 : 0;
	}
	strcpy(to, "/.git");
	return guard_says_inside(value) || guard_says_inside(path) ||
	       (is_local(value) && guard_leads_inside(path));
}

/* Neither a program's options in the place of a host or path... */
static bool starts_with_dash(const char *authority, size_t length)
{
	const char *at = memrchr(authority, '@', length);

	return first_of(authority) == '-' || (at && first_of(at + 1) == '-');
}

/* ...nor a transport that is a program of its own: `ext::sh -c ...`, `any://` (git-remote-any). */
static bool is_harmless_remote(const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+-.";
	static const char schemes[] = " ssh git http https ftp ftps file git+ssh ssh+git ";
	size_t scheme = strspn(value, letters), colon;
	char word[16];

	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	if (leads_inside(value))
		return false;
	if (first_of(value) == '-' || strncmp(value + scheme, "::", 2) == 0)
		return false;
	if (strncmp(value + scheme, "://", 3) == 0) {
		const char *authority = value + scheme + 3;

		if (scheme >= sizeof(word))
			return false;
		memcpy(word, value, scheme);
		word[scheme] = '\0';
		return has_word(schemes, word) &&
		       !starts_with_dash(authority, strcspn(authority, "/?#"));
	}
	if (strstr(value, "://") && strcspn(value, "/") > (size_t)(strstr(value, "://") - value))
		return false; /* a scheme with letters that no scheme has */
	colon = strcspn(value, ":/");
	if (value[colon] != ':')
		return true; /* a name, or a path */
	return !starts_with_dash(value, colon) && value[colon + 1] != '-';
}

static bool passes(const struct allowed *allowed, const struct git_setting *setting,
		   const struct git_config_place *place)
{
	const char *value = setting->value;

	switch (allowed->test) {
	case ANY:
		return true;
	case WORDS:
		return !value || is_words(value);
	case ONE_OF:
		return value && has_word(allowed->values, value);
	case REMOTE:
		return value && is_harmless_remote(value);
	case WORKTREE:
		return value && place && place->may_be_worktree &&
		       place->may_be_worktree(value, place->data);
	}
	return false;
}

/* The subsection is itself taken for an address (a remote without one) or for a path (the
 * repositories of submodules lie under their names). */
static bool has_harmless_subsection(const struct git_setting *setting)
{
	size_t start = setting->section + 1;
	_cleanup_free_ char *name = NULL;

	if (!git_setting_is_sub(setting))
		return true;
	name = strndup(setting->key + start, setting->name - 1 - start);
	if (!name)
		abort();
	if (strncmp(setting->key, "remote.", start) == 0)
		return is_harmless_remote(name);
	if (strncmp(setting->key, "submodule.", start) == 0)
		return name[0] != '-' && name[0] != '/' && !strstr(name, "..");
	return true;
}

static bool is_harmless(const struct git_setting *setting, const struct git_config_place *place)
{
	enum where where = git_setting_is_sub(setting) ? NAMED : PLAIN;
	const char *name = setting->key + setting->name;

	for (size_t i = 0; i < ELEMENTS(list); i++)
		if (strlen(list[i].section) == setting->section &&
		    strncmp(list[i].section, setting->key, setting->section) == 0 &&
		    list[i].where == where && (!list[i].names || has_word(list[i].names, name)) &&
		    passes(&list[i], setting, place))
			return has_harmless_subsection(setting);
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_setting(const struct git_setting *a, const struct git_setting *b)
{
	return same_text(a->key, b->key) && same_text(a->value, b->value) &&
	       same_text(a->exact, b->exact);
}

static size_t count_key(const struct git_settings *settings, const char *key)
{
	size_t count = 0;

	for (size_t i = 0; i < settings->count; i++)
		count += same_text(settings->items[i].key, key);
	return count;
}

/* Fit to be shown, and shortened where it must be at the end of a character. */
static void show_key(const char *written, char key[static GIT_CONFIG_KEY])
{
	_cleanup_buffer_ struct buffer shown = {0};
	size_t length;

	escape_for_terminal(&shown, written, strlen(written));
	length = shown.length;
	if (length >= GIT_CONFIG_KEY) {
		length = GIT_CONFIG_KEY - 4;
		while (length > 0 && ((unsigned char)shown.data[length] & 0xc0) == 0x80)
			length--;
	}
	snprintf(key, GIT_CONFIG_KEY, "%.*s%s", (int)length, buffer_text(&shown),
		 length < shown.length ? "..." : "");
}

int git_config_check(const char *old, size_t old_length, const char *new_, size_t new_length,
		     const struct git_config_place *place, char key[static GIT_CONFIG_KEY])
{
	_cleanup_settings_ struct git_settings before = {0}, after = {0};
	unsigned line = git_settings_read(new_ ? new_ : "", new_length, &after);
	size_t next = 0;

	if (line) {
		if (new_length > GIT_CONFIG_LIMIT)
			snprintf(key, GIT_CONFIG_KEY, "more than a megabyte");
		else
			snprintf(key, GIT_CONFIG_KEY, "line %u", line);
		return -EINVAL;
	}
	if (git_settings_read(old ? old : "", old_length, &before)) /* then nothing stood in it */
		git_settings_done(&before);
	for (size_t i = 0; i < after.count; i++) {
		const struct git_setting *setting = &after.items[i];

		if (!setting->key || is_harmless(setting, place))
			continue;
		while (next < before.count && !same_setting(&before.items[next], setting))
			next++;
		if (next == before.count ||
		    count_key(&before, setting->key) != count_key(&after, setting->key)) {
			show_key(setting->written, key);
			return -EACCES;
		}
		next++;
	}
	return 0;
}
