/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by name, and what a policy may say about each. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { CALL_ROOM = 512 };

/* A set of calls by number. */
struct call_set {
	uint64_t bits[CALL_ROOM / 64];
};

static inline void call_set_add(struct call_set *set, int number)
{
	set->bits[number / 64] |= UINT64_C(1) << (number % 64);
}

static inline bool call_set_has(const struct call_set *set, int number)
{
	return set->bits[number / 64] >> (number % 64) & 1;
}

bool call_set_is_empty(const struct call_set *set);

/* From 0 to CALL_ROOM - 1, or -1 for what is not the name of one. */
int call_number(const char *name);
/* NULL for a number without a name. */
const char *call_name(int number);

enum call_standing {
	CALL_GIVEN,   /* every command has it, some within bounds that stay */
	CALL_ADDABLE, /* no command has it unless its policy says so */
	CALL_NEVER,   /* no policy gives it: with it the other walls would not hold */
};
/* *ret_why: why never; may be NULL. */
enum call_standing call_standing(int number, const char **ret_why);
/* Without it no program starts, and ward's own init inside could not serve it. */
bool call_is_essential(int number);

/* Whether a policy or a flag may say it; errors name the way on. */
int call_check_allow(const char *name, enum error_code code, struct error **ret_error);
int call_check_deny(const char *name, enum error_code code, struct error **ret_error);
