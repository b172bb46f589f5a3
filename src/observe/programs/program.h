/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of execve is about to load: the file, its words, and what the kernel makes of both.
 * All of it is what the caller's memory says now; whether it is what is loaded shows only then. */
#pragma once

#include "../../base/list.h"
#include <linux/seccomp.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct observer;

struct program {
	char path[PATH_MAX];   /* as the kernel will call it; a file by its fd is /dev/fd/N */
	char real[PATH_MAX];   /* the file itself, as it is seen in the sandbox */
	struct list argv;      /* as the call says; never empty */
	char image[PATH_MAX];  /* what is loaded: the file itself, or the interpreter of a script */
	struct stat loaded;    /* the same as an object */
	struct list words;     /* its argv by then: the interpreters and the script come first */
	struct list scripts;   /* the files on the way to it, the first one named first */
	const char *directory; /* that it is started in; NULL: the thread's own. Borrowed */
	bool closed;  /* one of them cannot be read, and once loaded neither can the process */
	bool unknown; /* no format that ward knows: the machine may have an interpreter for it */
};

/* -errno as the kernel itself would fail; -EPERM where the memory cannot be read; -E2BIG for more
 * words than are looked at. *ret_program: done in any case. */
int program_read(const struct observer *observer, const struct seccomp_notif *call,
		 struct program *ret_program);
/* The same where the words are known, and the path is one of the sandbox's own. */
int program_find(const struct observer *observer, pid_t tid, const char *path,
		 const struct list *argv, struct program *ret_program);
void program_done(struct program *program);

/* Reads what a program that is loaded was given. -EACCES where it keeps that to itself, -ESRCH
 * where it was killed. */
int program_loaded(pid_t pid, char exe[static PATH_MAX], struct stat *ret_st,
		   struct list *ret_argv);
