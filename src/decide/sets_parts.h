/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what the parts of the sets of hosts share. sets_file.c reads files about sets,
 * sets_tools.c finds the configuration of the tools, sets_formats.c reads it. */
#pragma once

#include "sets.h"

/* Adds a host unless the set has it: what is no suggestion takes the place of one that is. origin
 * is copied. */
void set_add_host(struct set *set, const char *pattern, const char *origin, bool configured,
		  bool suggested);
struct set *sets_find(const struct sets *sets, const char *name);

/* Lays what a file says over what is there. */
int sets_file_read(struct sets *sets, const char *text, size_t length, const char *name,
		   struct error **ret_error);

/* Adds what the tools of a set are configured for. Faults in their files are not ward's to tell:
 * what cannot be read adds nothing. */
void sets_tools_add(struct set *set, const struct sets_places *places);

/* How the value behind a key names hosts. */
enum hosts_in {
	IN_URLS,    /* URLs with blanks between them */
	IN_INDEXES, /* the same, each perhaps behind `NAME=` */
	IN_PROXIES, /* URLs with , or | between them */
	IN_SUMS,    /* a name, a key and perhaps a URL */
	IN_MODULES, /* prefixes of module paths with , between them */
	IN_REMOTE,  /* a URL or HOST:PATH, as git takes them */
};
struct wanted_key {
	const char *key; /* a * stands for any text */
	enum hosts_in in;
};

/* What reading a configuration found: patterns HOST:PORT, no more than there is room for. */
struct findings {
	const struct wanted_key *keys; /* ended by one without a key */
	struct list hosts;
};
enum { FINDINGS_LIMIT = 64 };
void findings_take(struct findings *findings, const char *key, const char *value);

/* Any bytes, ended by a zero byte that length does not count. Nothing they name is opened. */
typedef void (*configuration_reader)(const char *text, size_t length, struct findings *findings);
void read_python_ini(const char *text, size_t length, struct findings *findings);
void read_npmrc(const char *text, size_t length, struct findings *findings);
void read_yarnrc(const char *text, size_t length, struct findings *findings);
void read_variables(const char *text, size_t length, struct findings *findings);
void read_requirements(const char *text, size_t length, struct findings *findings);
void read_apt_list(const char *text, size_t length, struct findings *findings);
void read_apt_sources(const char *text, size_t length, struct findings *findings);
void read_toml(const char *text, size_t length, struct findings *findings);
void read_git_config(const char *text, size_t length, struct findings *findings);

/* "HOST:PORT" of a URL with the port of its scheme, without credentials; NULL where it names no
 * host that a pattern could mean. remote: HOST:PATH is one too. Caller frees. */
char *url_host(const char *text, size_t length, bool remote);
