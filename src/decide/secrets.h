/* SPDX-License-Identifier: Apache-2.0 */
/* What the built-in policy keeps from every command: places where people and tools keep secrets. */
#pragma once

/* Relative to the home directory; ended by NULL. */
extern const char *const secrets_in_home[];
/* In ~/.ssh everything but these is a secret. */
extern const char *const ssh_not_secret[];
/* Absolute paths and patterns. */
extern const char *const secrets_in_system[];
/* Those of them that lie on most machines. */
extern const char *const secrets_of_most[];
/* Last components of paths, anywhere in the workspace, and the exceptions among them. */
extern const char *const secret_names[];
extern const char *const not_secret_names[];
/* Names of environment variables: patterns. */
extern const char *const secret_variables[];
/* Variables that lead to sockets and displays of the host, which a command cannot reach anyway. */
extern const char *const host_variables[];
