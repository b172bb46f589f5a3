/* SPDX-License-Identifier: Apache-2.0 */
/* A plan weighed: how dangerous it is if the sandbox lets it through, and why. */
#pragma once

#include "../parse/plan.h"

enum class { CLASS_SAFE, CLASS_ASK, CLASS_FORBIDDEN };
enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_CRITICAL };
/* The widest circle of files that change. */
enum reach { REACH_NONE, REACH_WORKSPACE, REACH_HOME, REACH_SYSTEM };

/* What would be gone for good; not measured where nothing is named. */
struct damage {
	bool measured, more;	  /* more: not all of it could be counted */
	size_t files, restorable; /* restorable: git has a copy of them as they are */
	uint64_t bytes;
};

enum { HERE_MOST = 4 };

struct assessment {
	enum class class;
	enum risk risk;
	const char *
		*categories;  /* NULL-terminated, of a fixed set: "data deletion", "network" ... */
	const char **reasons; /* NULL-terminated, in words a person understands */
	const char *why;      /* the weightiest of them; NULL where there are none */
	bool reversible;
	const char *way_back; /* how the weightiest of it is undone, in words; or NULL */
	const char *unknown; /* the first tool, or verb of one, that nothing is known of; or NULL */
	double confidence;   /* 0 to 1 */
	enum reach files;
	bool network; /* it talks to other machines */
	bool remote;  /* something changes there */
	/* It changes something through this machine's loopback, by these ports: what that is
	 * depends on whose loopback it is. 0: none; one that is not told is another's for sure. */
	uint16_t here[HERE_MOST];
	size_t here_count;
	bool only_reads;      /* every command is known to change nothing */
	struct damage damage; /* assess_damage(); where a question is to be asked */
	const char **rules;   /* for each command of the plan the weightiest fact's name, or NULL */
};

const char *class_name(enum class class);
const char *risk_name(enum risk risk);
const char *reach_name(enum reach reach);
/* In words: "12 files, 3.4 MiB; git has a copy of 8 of them". Caller frees. */
char *damage_text(const struct damage *damage);
/* Everything in *ret_assessment lives in the arena. */
void assess_plan(struct arena *arena, const struct plan *plan, struct assessment *ret_assessment);
/* The loopback that it changes something through is the host's. */
void assess_host_loopback(struct assessment *assessment);
