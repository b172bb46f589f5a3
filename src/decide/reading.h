/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of reading a policy file share: layer.c reads settings, rules.c rules, rulesets.c
 * sets of them, conditions.c when they hold. */
#pragma once

#include "schema.h"
#include "yaml.h"

struct reading {
	struct layer *layer;
	const struct list *walls;
	const char *home;
	struct arena *arena;
	const char *profile;	    /* whose section is read; NULL: sandbox */
	struct rule *rule;	    /* that is read */
	struct caller_rule *caller; /* the same */
	struct listener_rule *listener;
	struct notify_channel *channel;
	const struct node *permissions, *match, *no_match; /* of that rule */
	struct condition *condition;			   /* that is read */
	int set;					   /* its index, or -1: none is */
	const struct node *set_rules, *set_otherwise;	   /* of that set */
	struct error **ret_error;
};

/* A setting with its place; the reading's profile is its own. layer.c */
struct setting *read_add_setting(struct reading *reading, const struct node *node,
				 enum setting_kind kind, const char *text);
/* A map, whatever its keys. layer.c */
int read_check_entries(struct reading *reading, const struct node *node, const char *name);

/* Errors with their place; they return -E_POLICY. */
int read_wrong_kind(struct reading *reading, const struct node *node, const char *what,
		    const char *hint);
/* Gives an error that a check made its place. */
int read_place_error(struct reading *reading, const struct node *node);
void read_warn_at(struct layer *layer, int line, int column, const char *text);
char *read_copy(const char *text);
/* A map whose keys are those of the section, each once. name: what messages call it; NULL: as the
 * section. */
int read_map(struct reading *reading, const struct node *node, enum section section,
	     const char *name);

/* What the schema names, by the file that has it. */
typedef int read_function(struct reading *reading, const struct node *node, enum setting_kind kind);
/* layer.c */
read_function read_version, read_includes, read_value, read_list, read_sandbox, read_profiles,
	read_files, read_network, read_limits, read_environment, read_set_variables, read_calls,
	read_tiers;
/* trust_read.c */
read_function read_trust, read_trust_start, read_trust_points, read_trust_point, read_trust_decay,
	read_trust_thresholds, read_threshold_at, read_threshold_unlocks, read_threshold_commands,
	read_threshold_requests, read_trust_never, read_trust_tests, read_trust_violations,
	read_violations_medium, read_violations_within, read_violations_then, read_trust_learn,
	read_learn_after, read_learn_expires;
/* rules.c */
read_function read_rules, read_command, read_exactly, read_in, read_do, read_why, read_when,
	read_unless, read_preference, read_priority, read_permissions, read_match, read_no_match;
/* rulesets.c */
read_function read_set_name, read_combine, read_set_priority, read_set_when, read_set_unless,
	read_set_rules, read_set_otherwise;
/* conditions.c */
read_function read_when_list, read_when_time, read_when_until, read_when_days, read_when_risk,
	read_when_program, read_pin_path, read_pin_owner, read_pin_hash;
/* container.c */
read_function read_container, read_container_runtime, read_container_rootfs, read_container_image,
	read_container_tmpfs, read_container_mounts, read_container_apparmor,
	read_container_selinux;
/* callers.c */
read_function read_callers, read_program, read_uid, read_may;
/* listeners.c */
read_function read_listeners, read_listener_program, read_listener_kinds, read_listener_agents,
	read_listener_timeout;
/* assessor.c */
read_function read_assessor, read_assessor_url, read_assessor_model, read_assessor_key_file,
	read_assessor_key_variable, read_assessor_ca_file, read_assessor_timeout,
	read_assessor_send;
/* channels.c */
read_function read_notify, read_notify_approvers, read_notify_security, read_notify_callback,
	read_channel_name, read_channel_webhook, read_channel_webhook_file, read_channel_program,
	read_channel_desktop, read_channel_mail, read_channel_on, read_channel_risk,
	read_channel_agents, read_channel_shape, read_channel_secret_file,
	read_channel_secret_variable, read_channel_insecure, read_channel_from,
	read_channel_sendmail, read_channel_timeout, read_channel_attempts, read_channel_backoff;

/* routes_read.c */
read_function read_names, read_routes, read_route_name, read_route_when, read_route_paths,
	read_route_targets, read_route_steps, read_route_own, read_route_for, read_step_groups,
	read_step_need, read_step_reason, read_step_within;

/* A rule, or a set of them with all that it holds, at the end of the layer's. rules.c, rulesets.c
 */
int read_rule_entry(struct reading *reading, const struct node *node);
int read_set(struct reading *reading, const struct node *node);
bool node_is_set(const struct node *node);
/* Conditions of a rule or set; *ret_condition is made. */
int read_condition(struct reading *reading, const struct node *node,
		   struct condition **ret_condition);
int read_number(struct reading *reading, const struct node *node, int *ret_number);
