/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about tools: data/tools, compiled by tools/tools-data into tables that need no
 * relocation, so that they cost nothing when the program starts. */
#pragma once

#include "assess.h"

#include <stdint.h>
#include <tools-names.h> /* made by the build from data/tools */

/* What an effect comes to beside its class; in the order of BITS in tools/tools-data. */
enum effect_bit {
	FINAL = 1,	   /* cannot be undone */
	NETWORK = 2,	   /* talks to other machines */
	REMOTE = 4,	   /* changes something there */
	FILES_HOME = 8,	   /* changes the user's own files outside of the work at hand */
	FILES_SYSTEM = 16, /* changes the machine */
	READS = 32,	   /* changes nothing */
	RUNS_CODE = 64,	   /* runs what its files or packages hold */
	COSTS = 128,	   /* somebody pays for it */
};

/* Texts are offsets, see tool_text(); 0 is none. */
struct effect {
	uint32_t name; /* the rule as `ward check` calls it */
	uint32_t category, reason;
	uint32_t back; /* how it is undone, in words */
	uint8_t class, risk, bits;
};

/* What an operand or the value of an option is; in the order of ROLES. */
enum role {
	ROLE_NONE,
	ROLE_WORD,
	ROLE_READS,
	ROLE_WRITES,
	ROLE_CREATES,
	ROLE_DELETES,
	ROLE_CHANGES, /* attributes, not contents */
	ROLE_MOVES,
	ROLE_SENDS, /* to another machine */
	ROLE_URL,
	ROLE_SQL,
	ROLE_SCRIPT,   /* code in a file */
	ROLE_CODE,     /* code in the word itself */
	ROLE_REPLACES, /* written anew: what the file held is gone */
};

/* When a rule holds; in the order of KINDS. */
enum rule_kind {
	RULE_ALWAYS,
	RULE_FLAGS, /* one of them is given */
	RULE_WORDS, /* an operand is one of them */
	RULE_TEST,
	RULE_OTHER, /* a verb is given, or words are, none of which is known */
	RULE_BARE,  /* no verb is given */
};

struct tool_name {
	uint32_t name; /* of a verb: alternatives with one space between them, and globs */
	uint16_t node;
};

struct tool_rule {
	uint8_t kind;
	uint32_t pattern;
	uint8_t test;
	uint16_t effect;
};

struct tool_option {
	uint32_t names;
	uint8_t role;
};

/* A tool, or a verb of one. */
struct tool_node {
	uint32_t values;    /* options whose value may be the next word */
	uint32_t harmless;  /* options with which it changes nothing, whatever else is given */
	uint32_t recursive; /* options with which directories are meant with all that is in them */
	uint32_t plain; /* options without a value that change nothing about what is asked; where
			   they are known, the values and flags are all there are */
	uint32_t overrides; /* options of which the last one counts */
	uint16_t first_verb, verb_count, first_rule, rule_count, first_option, option_count;
	uint8_t first, rest, last; /* roles of the operands */
	uint8_t options_first;	   /* no options after the first operand */
	uint8_t order_kept;	   /* an option means something by its place */
	uint8_t single_dash;	   /* -long instead of letters */
	uint8_t always_recursive;
	uint8_t through; /* a verb that is not known may be a tool */
};

const char *tool_text(uint32_t offset);
/* The tool of a name, without its directory; NULL if it is not known. */
const struct tool_node *tool_find(const char *name);
const struct tool_node *tool_verb(const struct tool_node *node, const char *verb);
const struct tool_rule *tool_rule(const struct tool_node *node, size_t i);
const struct tool_option *tool_option(const struct tool_node *node, size_t i);
const struct effect *tool_effect(enum effect_id id);
