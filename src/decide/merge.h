/* SPDX-License-Identifier: Apache-2.0 */
/* Laying files over each other. */
#pragma once

#include "layer.h"

/* A policy with nothing but what is built in. */
struct policy *merge_begin(const char *home);
/* profiles.c: the built-in profiles of agents; the settings of the wanted one only, see struct
 * policy_places. Fails where a variable that it names is not fit for a path. */
int profiles_merge(const char *wanted, struct policy *policy, struct error **ret_error);
/* There is a profile of that name, whatever it says. */
void merge_name_profile(struct policy *policy, const char *name);
/* Takes the layer's rules out of it. What an untrusted layer says is taken only where it narrows;
 * the rest is named in the warnings, with the remedy. */
void merge_layer(struct policy *policy, struct layer *layer, int number, const char *remedy);
/* merge_rules.c: parts of that. The layer's sets and rules behind those that are there. */
void merge_rules(struct policy *policy, struct layer *layer, int number, const char *remedy);
void merge_callers(struct policy *policy, struct layer *layer);
void merge_listeners(struct policy *policy, struct layer *layer);
/* assessor.c */
void merge_assessor(struct policy *policy, struct layer *layer);
/* trust_merge.c */
void merge_trust(struct policy *policy, const struct layer *layer, const char *remedy);
void merge_clamp_trust(struct policy *policy, const struct policy *trusted);
void merge_notify(struct policy *policy, struct layer *layer);
void merge_ignore(struct policy *policy, const struct layer *layer, int line, int column,
		  const char *remedy, const char *what);
/* The same without the rules and warnings. */
void merge_settings(struct policy *policy, const struct layer *layer);
/* Once all layers are in: profiles become complete. */
void merge_end(struct policy *policy);
/* Whatever the untrusted layers did: nothing becomes wider than it is without them. Both have seen
 * merge_end(). */
void merge_clamp(struct policy *policy, const struct policy *trusted);
