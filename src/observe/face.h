/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call again and again: what is the same each time is kept. To look a thread up in
 * /proc, and to read its umask there, takes longer than to make a file for it.
 *
 * A thread is known by a pidfd, so its number cannot become somebody else's unnoticed. */
#pragma once

#include <sys/types.h>

/* Before the first of them may call: every call that sets a umask will be told here. */
void face_begin(void);
/* A call of that thread came; before anything else here is asked about it. */
void face_called(pid_t tid);
/* O_PATH of its directory in /proc, borrowed until the next call; -1 where none is kept. It is that
 * of the thread, or of one that had its number and is gone: then nothing can be found in it. */
int face_directory(pid_t tid);
/* As readlink says it; -1 where nothing is kept of the thread, or it is gone. */
ssize_t face_read_working_directory(pid_t tid, char *text, size_t room);
/* What is read next of this thread's is kept, if it has no others beside it, until it is forgotten:
 * when anybody goes to another directory, or moves one, or it has not called for a moment. */
void face_keep_working_directory(pid_t tid);
void face_forget_working_directory(void);

mode_t caller_umask(pid_t tid);
/* The thread is about to set its umask, and that of all with which it shares it. */
void face_sets_umask(pid_t tid, mode_t mask);

void face_forget_all(void);
