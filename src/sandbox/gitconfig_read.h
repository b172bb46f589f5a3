/* SPDX-License-Identifier: Apache-2.0 */
/* A git configuration taken apart as git does it. */
#pragma once

#include "../base/macro.h"
#include <stdbool.h>

struct git_span {
	size_t start, end; /* offsets into the text; the end is behind the last byte */
};

/* One `name = value`, or where name is empty the header of a section. */
struct git_setting {
	char *key;	/* section.name or section.subsection.name; all but the subsection in
			   lower case, as git compares it */
	char *written;	/* the same with the letters as they are in the text */
	size_t section; /* length of the section in key */
	size_t name;	/* offset of the name in key; 0 for a header */
	char *value;	/* NULL: there was no `=`, which git takes for true */
	char *exact; /* the value as git reads it since 2.45: with tabs, which were spaces before */
	struct git_span header; /* from [ to ], of the section it stands in */
	struct git_span raw;	/* the value in the text, with quotes, escapes and comment; empty
				   where there is none */
};

struct git_settings {
	struct git_setting *items;
	size_t count, room;
};

/* 0, or the number of the first line that cannot be read exactly as git would read it. What came
 * before that line is in *ret_settings, which the caller frees in both cases. */
unsigned git_settings_read(const char *text, size_t length, struct git_settings *ret_settings);
void git_settings_done(struct git_settings *settings);
#define _cleanup_settings_ _cleanup_(git_settings_done)
/* Whether it lies in a section with a subsection: `[section "subsection"]`, even an empty one. */
static inline bool git_setting_is_sub(const struct git_setting *setting)
{
	return setting->name > setting->section + 1;
}
