/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command behind the shortest filter there is: what any filter costs, whatever it says.
 *
 *     bare [-l] COMMAND ARG...
 *
 * -l: and behind a domain of Landlock that handles one right to files, and takes it from nobody. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Executing, which is asked for at an exec only. */
static int restrict_nothing(void)
{
	const struct landlock_ruleset_attr handled = {.handled_access_fs =
							      LANDLOCK_ACCESS_FS_EXECUTE};
	struct landlock_path_beneath_attr all = {.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);

	all.parent_fd = rules < 0 ? -1 : (int)syscall(SYS_open, "/", 010000000 /* O_PATH */, 0);
	if (all.parent_fd < 0 ||
	    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &all, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return -1;
	close(all.parent_fd);
	return close(rules);
}

int main(int argc, char **argv)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};
	bool domain = argc > 1 && strcmp(argv[1], "-l") == 0;

	if (argc < 2 + domain || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    (domain && restrict_nothing() < 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		fprintf(stderr, "bare: %s\n", strerror(errno));
		return 125;
	}
	execvp(argv[1 + domain], argv + 1 + domain);
	fprintf(stderr, "bare: %s: %s\n", argv[1 + domain], strerror(errno));
	return 127;
}
