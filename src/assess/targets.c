/* SPDX-License-Identifier: Apache-2.0 */
/* What the words of a command name: files that are lost with them, disks, secrets, tables. */
#include "facts.h"
#include "../base/path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trees that the machine, or a person, cannot do without. */
static const char trees[] =
	"/ ~ $HOME ${HOME} /home /root /usr /etc /var /bin /sbin /lib /lib32 /lib64 /boot /dev "
	"/sys /proc /usr/bin /usr/sbin /usr/lib /var/lib /Users /System /Library";

/* One of them, or all that is in it. */
bool is_everything(const char *word)
{
	static const char *const all[] = {"/**", "/.*", "/*", "/?*", "/.[!.]*"};
	_cleanup_free_ char *path = path_normalise(word);
	size_t length = strlen(path);

	for (size_t i = 0; i < ELEMENTS(all); i++) {
		size_t size = strlen(all[i]);

		if (length >= size && strcmp(path + length - size, all[i]) == 0) {
			path[MAX(length - size, length == size ? 1 : 0)] = '\0';
			break;
		}
	}
	return parse_word_in(trees, path, strlen(path));
}

bool is_temporary(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0 ||
	       strncmp(path, "$TMPDIR/", 8) == 0 || strncmp(path, "${TMPDIR}/", 10) == 0;
}

bool is_outside(const char *word)
{
	static const char here[] = ". * .* .git ~ .. ../*";
	_cleanup_free_ char *path = path_normalise(word);

	if (path[0] == '/')
		return !path_is_under(path, "/tmp") && !path_is_under(path, "/var/tmp");
	return parse_word_in(here, path, strlen(path)) || strncmp(path, "../", 3) == 0 ||
	       strncmp(path, "~/", 2) == 0 || strncmp(path, "$HOME", 5) == 0 ||
	       strncmp(path, "${HOME", 6) == 0 || strncmp(path, "$PWD", 4) == 0 ||
	       strncmp(path, ".git/", 5) == 0 || strcmp(path_last(path), ".git") == 0;
}

bool is_elsewhere(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);

	if (path[0] == '/')
		return !path_is_under(path, "/tmp") && !path_is_under(path, "/var/tmp") &&
		       !path_is_under(path, "/dev") && !path_is_under(path, "/proc");
	return strncmp(path, "../", 3) == 0 || strncmp(path, "~/", 2) == 0 ||
	       strncmp(path, "$HOME/", 6) == 0 || strncmp(path, "${HOME}/", 8) == 0;
}

/* Locks, messages and heads of what was begun are left behind, and git itself says to remove them.
 */
bool is_of_git(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);
	const char *inside = strncmp(path, ".git/", 5) == 0 ? path : strstr(path, "/.git/");

	return inside && !match_one("*.lock gc.log *_HEAD *_MSG *_EDITMSG *.sample *.orig *.rej",
				    path_last(path));
}

/* Names of what the next build or run makes again. */
static const char regenerable[] =
	"node_modules build build-* cmake-build-* _build target dist out obj __pycache__ "
	".pytest_cache .mypy_cache .ruff_cache .tox .nox .venv venv .eggs *.egg-info .next .nuxt "
	".svelte-kit .turbo .parcel-cache .cache .gradle .nyc_output coverage htmlcov .coverage "
	"tmp "
	"temp .tmp *.o *.a *.so *.pyc *.pyo *.class *.log *.tmp *.bak *.orig *.rej *.swp .DS_Store "
	"*.tsbuildinfo *.gcda *.gcno *.profraw test-results playwright-report storybook-static "
	"package-lock.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock Cargo.lock Gemfile.lock "
	"composer.lock";

bool is_regenerable(const char *name)
{
	return match_one(regenerable, name);
}

/* Not what a find or an xargs names: these are asked about themselves. */
bool is_precious(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);
	const char *name = path_last(path);
	size_t above = (size_t)(name - path);

	/* what a device holds is nobody's file; disks are asked about themselves */
	if (is_temporary(path) || strcmp(word, "{}") == 0 || match_one(regenerable, name) ||
	    match_one("/dev/*", path))
		return false;
	/* build/sub and build/ with a glob behind it */
	for (char *slash = above ? strchr(path, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		bool found;

		*slash = '\0';
		found = match_one(regenerable, path_last(path));
		*slash = '/';
		if (found)
			return false;
	}
	return true;
}

bool is_precious_or_found(const char *word)
{
	return strcmp(word, "{}") == 0 || is_precious(word);
}

bool is_disk(const char *path)
{
	static const char disks[] =
		"/dev/sd[a-z]* /dev/hd[a-z]* /dev/vd[a-z]* /dev/xvd* /dev/nvme* /dev/mmcblk* "
		"/dev/disk* /dev/disk/* /dev/rdisk* /dev/mapper/* /dev/dm-* /dev/md[0-9]* "
		"/dev/bcache* /dev/mtd* /dev/ubi* /dev/nbd* /dev/zd[0-9]* /dev/mem "
		"/dev/kmem /dev/port /dev/root";
	_cleanup_free_ char *normal = path_normalise(path);

	return match_one(disks, normal);
}

bool is_secret(const char *word)
{
	static const char names[] = "id_rsa id_dsa id_ecdsa id_ed25519 id_*_sk .netrc "
				    ".git-credentials .pgpass .vault-token "
				    "*.kdbx credentials.json application_default_credentials.json";
	static const char places[] =
		"*/.ssh/id_* */.aws/credentials */.aws/config */.config/gh/hosts.yml "
		"*/.docker/config.json "
		"*/.kube/config */.gnupg/* */.gnupg */.npmrc */.pypirc */.cargo/credentials* "
		"*/.config/gcloud/* */.azure/* */.local/share/keyrings/* */.password-store/* "
		"*/.bash_history */.zsh_history /etc/shadow /etc/gshadow /etc/sudoers "
		"/proc/*/environ";
	size_t length = strlen(word);

	if (length > 4 && strcmp(word + length - 4, ".pub") == 0)
		return false;
	return match_one(names, path_last(word)) || match_one(places, word);
}

/* What runs by itself later, and what decides who may do what. */
bool is_startup(const char *word)
{
	static const char homes[] =
		"*/.bashrc */.bash_profile */.bash_aliases */.bash_login */.bash_logout */.profile "
		"*/.zshrc "
		"*/.zprofile */.zshenv */.zlogin */.kshrc */.config/fish/config.fish "
		"*/.config/fish/conf.d/* */.ssh/authorized_keys* */.ssh/rc */.ssh/environment "
		"*/.config/autostart/* */.config/systemd/user/* */.xinitrc */.xprofile "
		"*/.xsession */.pam_environment */Library/LaunchAgents/*";
	static const char machine[] =
		"/etc/cron* /var/spool/cron* /etc/at.* /etc/sudoers* /etc/passwd /etc/shadow "
		"/etc/gshadow /etc/group /etc/ld.so.* /etc/pam.d/* /etc/pam.conf /etc/profile* "
		"/etc/bash.bashrc /etc/bashrc /etc/zsh/* /etc/environment* /etc/systemd/* "
		"/lib/systemd/* /usr/lib/systemd/* /etc/init.d/* /etc/init/* /etc/rc.local "
		"/etc/rc*.d/* /etc/audit/* /etc/rsyslog* /etc/ssh/* /etc/security/* /etc/selinux/* "
		"/etc/apparmor* "
		"/etc/udev/* /etc/modprobe.d/* /etc/modules* /etc/sysctl* /etc/fstab /boot/* "
		"/etc/polkit-1/* /etc/update-motd.d/* /etc/apt/* /etc/yum.repos.d/* "
		"/selinux/* /etc/xdg/autostart/* /etc/doas.conf /etc/ward/* /proc/sys/* "
		"/proc/sysrq-trigger "
		"/sys/* /Library/LaunchDaemons/* /Library/LaunchAgents/*";
	_cleanup_free_ char *path = NULL, *inside = NULL;

	if (!strchr(word, '/'))
		return false;
	path = path_normalise(word);
	/* cp FILE ~/.config/autostart/: the directory is named, a file in it is meant */
	if (word[strlen(word) - 1] == '/' && asprintf(&inside, "%s/x", path) < 0)
		abort();
	return match_one(homes, path) || match_one(machine, path) ||
	       match_one("*/ward/ward.yaml .ward.yaml", path) ||
	       (inside && (match_one(homes, inside) || match_one(machine, inside)));
}

/* Where the machine's programs lie, and what they load. */
bool is_program(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);

	return match_one("/bin /bin/* /sbin /sbin/* /usr/bin /usr/bin/* /usr/sbin /usr/sbin/* "
			 "/usr/local/bin /usr/local/bin/* /usr/local/sbin /usr/local/sbin/* "
			 "/lib/* /lib64/* /usr/lib/* /usr/libexec/* /usr/local/lib/*",
			 path);
}

bool is_record(const char *word)
{
	return match_one("/var/log/* */.bash_history */.zsh_history */.sh_history */.history "
			 "*/.python_history */.mysql_history /var/run/utmp /run/utmp",
			 word);
}

/* The machine in a URL, or in HOST:PORT/PATH. */
bool is_loopback(const char *url)
{
	const char *start = strstr(url, "://"), *at;
	char host[64];
	size_t length;

	/* http :3000/path */
	if (url[0] == ':' && (strchr("0123456789/", url[1]) || !url[1]))
		return true;
	start = start ? start + 3 : url;
	length = strcspn(start, "/?#");
	while ((at = memchr(start, '@', length))) {
		length -= (size_t)(at + 1 - start);
		start = at + 1;
	}
	if (start[0] != '[' && memchr(start, ':', length))
		length = (size_t)((char *)memchr(start, ':', length) - start);
	if (length == 0 || length >= sizeof(host))
		return false;
	memcpy(host, start, length);
	host[length] = '\0';
	if (strncmp(host, "127.", 4) == 0)
		return strspn(host, "0123456789.") == length;
	return match_one("localhost *.localhost 0.0.0.0", host) || strncmp(host, "[::1]", 5) == 0;
}

enum reach path_reach(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);

	if (path[0] == '~' || strncmp(path, "$HOME", 5) == 0 || strncmp(path, "${HOME", 6) == 0 ||
	    strncmp(path, "/home/", 6) == 0 || path_is_under(path, "/root"))
		return REACH_HOME;
	if (path[0] != '/' || is_temporary(path))
		return REACH_WORKSPACE;
	if (match_one("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/*", path))
		return REACH_NONE;
	return REACH_SYSTEM;
}
