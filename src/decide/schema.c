/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of policy files. */
#include "reading.h"

static const struct schema_key top_keys[] = {
	{"version", "`1`", "`1`", read_version, 0},
	{"include", "list of files", "none", read_includes, 0},
	{"approval", "`never`, `on-failure`, `on-request`, `unless-trusted`", "`on-failure`",
	 read_value, SET_APPROVAL},
	{"wait", "duration", "none", read_value, SET_WAIT},
	{"sandbox", "keys", "none", read_sandbox, 0},
	{"profiles", "names with the keys of `sandbox`", "none", read_profiles, SET_PROFILE},
	{"trust", "keys", "none", read_trust, 0},
	{"tiers", "keys", "none", read_tiers, 0},
	{"rules", "list of rules and sets of rules", "none", read_rules, 0},
	{"callers", "list of keys", "none", read_callers, 0},
	{"events", "list of keys", "none", read_listeners, 0},
	{"approvers", "names with lists of people", "none", read_names, ROUTE_APPROVERS},
	{"people", "names with lists of ways to prove them", "none", read_names, ROUTE_PEOPLE},
	{"owners", "names of agents, each with a person", "none", read_names, ROUTE_OWNERS},
	{"environments", "names with lists of patterns", "none", read_names, ROUTE_ENVIRONMENTS},
	{"routes", "list of keys", "none", read_routes, 0},
	{"assessor", "keys", "none", read_assessor, 0},
	{"notify", "keys", "none", read_notify, 0},
};

static const struct schema_key sandbox_keys[] = {
	{"level", "`none`, `restricted`, `container`", "`restricted`", read_value, SET_LEVEL},
	{"escalation", "`none`, `container`, `unsandboxed`", "`unsandboxed`", read_value,
	 SET_ESCALATION},
	{"files", "keys", "none", read_files, 0},
	{"network", "keys", "none", read_network, 0},
	{"sockets", "list of names and paths", "none", read_list, SET_SOCKET},
	{"limits", "keys", "none", read_limits, 0},
	{"environment", "keys", "none", read_environment, 0},
	{"require", "list of walls", "none", read_list, SET_REQUIRE},
	{"syscalls", "keys", "none", read_calls, 0},
	{"trace_reads", "`true`, `false`", "`false`", read_value, SET_TRACE_READS},
	{"on_violation", "`freeze`, `kill`", "`freeze`", read_value, SET_ON_VIOLATION},
	{"caches", "`private`, `off`", "`private`", read_value, SET_CACHES},
	{"container", "keys", "none", read_container, 0},
};

static const struct schema_key files_keys[] = {
	{"read", "list of paths", "none", read_list, SET_READ},
	{"write", "list of paths", "none", read_list, SET_WRITE},
	{"read_only", "list of paths", "none", read_list, SET_READ_ONLY},
	{"make", "list of paths", "none", read_list, SET_MAKE},
	{"deny", "list of paths", "none", read_list, SET_DENY},
};

static const struct schema_key network_keys[] = {
	{"mode", "`none`, `restricted`, `full`", "`none`", read_value, SET_NETWORK},
	{"allow", "list of hosts", "none", read_list, SET_ALLOW_HOST},
	{"deny", "list of hosts", "none", read_list, SET_DENY_HOST},
	{"publish", "list of ports", "none", read_list, SET_PUBLISH},
};

static const struct schema_key limits_keys[] = {
	{"memory", "size", "80 % of the machine", read_value, SET_MEMORY},
	{"cpu", "per cent, or a number of CPUs", "none", read_value, SET_CPU},
	{"cpu_time", "duration", "none", read_value, SET_CPU_TIME},
	{"processes", "number", "8192", read_value, SET_PROCESSES},
	{"disk", "size", "none", read_value, SET_DISK},
	{"output", "size", "none", read_value, SET_OUTPUT},
	{"time", "duration", "none", read_value, SET_TIME},
	{"idle", "duration", "none", read_value, SET_IDLE},
	{"files", "number", "none", read_value, SET_FILES},
};

static const struct schema_key environment_keys[] = {
	{"keep", "list of names", "none", read_list, SET_KEEP_ENV},
	{"set", "names and values", "none", read_set_variables, SET_SET_ENV},
};

static const struct schema_key syscalls_keys[] = {
	{"allow", "list of names", "none", read_list, SET_ALLOW_CALL},
	{"deny", "list of names", "none", read_list, SET_DENY_CALL},
};

static const struct schema_key container_keys[] = {
	{"runtime", "`crun`, `runc`, `runsc`, `kata`", "`crun`", read_container_runtime,
	 SET_CONTAINER},
	{"rootfs", "path of a directory", "the host's tree", read_container_rootfs, SET_CONTAINER},
	{"image", "path of an OCI layout or archive, or a reference", "none", read_container_image,
	 SET_CONTAINER},
	{"tmpfs_size", "size", "the limit on memory", read_container_tmpfs, SET_CONTAINER},
	{"mounts", "places inside, each with a path", "none", read_container_mounts, SET_CONTAINER},
	{"apparmor", "name of a profile", "none", read_container_apparmor, SET_CONTAINER},
	{"selinux", "label", "none", read_container_selinux, SET_CONTAINER},
};

static const struct schema_key rule_keys[] = {
	{"command", "pattern", "any command", read_command, 0},
	{"exactly", "list of words", "none", read_exactly, 0},
	{"in", "directory", "any", read_in, 0},
	{"do", "`allow`, `ask`, `deny`", "required", read_do, 0},
	{"why", "text", "none", read_why, 0},
	{"when", "keys", "always", read_when, 0},
	{"unless", "keys", "never", read_unless, 0},
	{"sandbox", "`auto`, `require`, `forbid`", "`auto`", read_preference, 0},
	{"priority", "number", "`0`", read_priority, 0},
	{"permissions", "list of permissions", "none", read_permissions, 0},
	{"match", "list of commands", "none", read_match, 0},
	{"no_match", "list of commands", "none", read_no_match, 0},
};

static const struct schema_key set_keys[] = {
	{"name", "text", "none", read_set_name, 0},
	{"combine", "`deny-overrides`, `first-match`, `priority`, `all-of`, `any-of`",
	 "`deny-overrides`", read_combine, 0},
	{"priority", "number", "`0`", read_set_priority, 0},
	{"when", "keys", "always", read_set_when, 0},
	{"unless", "keys", "never", read_set_unless, 0},
	{"rules", "list of rules and sets of rules", "required", read_set_rules, 0},
	{"otherwise", "`allow`, `ask`, `deny`, or a rule without a command", "none",
	 read_set_otherwise, 0},
};

static const struct schema_key when_keys[] = {
	{"agent", "list of names", "any", read_when_list, WHEN_AGENT},
	{"session", "list of names", "any", read_when_list, WHEN_SESSION},
	{"tool", "list of names", "any", read_when_list, WHEN_TOOL},
	{"directory", "list of paths", "any", read_when_list, WHEN_DIRECTORY},
	{"environment", "list of `NAME` and `NAME=VALUE`", "any", read_when_list, WHEN_ENVIRONMENT},
	{"time", "list of `HH:MM-HH:MM`", "any", read_when_time, 0},
	{"days", "list of `mon` to `sun`", "any", read_when_days, 0},
	{"risk", "list of `low`, `medium`, `high`, `critical`", "any", read_when_risk, 0},
	{"category", "list of categories", "any", read_when_list, WHEN_CATEGORY},
	{"until", "moment in UTC, such as `2027-01-31T12:00:00Z`", "for good", read_when_until, 0},
	{"program", "keys", "any", read_when_program, 0},
};

static const struct schema_key program_keys[] = {
	{"path", "absolute path", "required", read_pin_path, 0},
	{"owner", "`root` or a uid", "any", read_pin_owner, 0},
	{"sha256", "64 hexadecimal digits", "any", read_pin_hash, 0},
};

static const struct schema_key trust_keys[] = {
	{"agents", "list of names", "none", read_list, SET_TRUST_AGENT},
	{"start", "number", "`0`", read_trust_start, 0},
	{"points", "keys", "none", read_trust_points, 0},
	{"decay", "number", "`0.99`", read_trust_decay, 0},
	{"thresholds", "list of keys", "50, 75 and 90", read_trust_thresholds, 0},
	{"never", "list of `production`, `security`, `secrets`, `sudo` and permissions",
	 "these four", read_trust_never, 0},
	{"tests", "list of patterns", "none", read_trust_tests, 0},
	{"violations", "keys", "none", read_trust_violations, 0},
	{"learn", "keys", "none", read_trust_learn, 0},
};

static const struct schema_key points_keys[] = {
	{"task", "number", "`2`", read_trust_point, POINT_TASK},
	{"tests", "number", "`1`", read_trust_point, POINT_TESTS},
	{"asked", "number", "`1`", read_trust_point, POINT_ASKED},
	{"violation", "number", "`-10`", read_trust_point, POINT_VIOLATION},
	{"override", "number", "`-5`", read_trust_point, POINT_OVERRIDE},
};

static const struct schema_key threshold_keys[] = {
	{"at", "number", "required", read_threshold_at, 0},
	{"unlocks", "list of permissions", "none", read_threshold_unlocks, 0},
	{"commands", "list of patterns", "none", read_threshold_commands, 0},
	{"requests", "list of permissions", "none", read_threshold_requests, 0},
};

static const struct schema_key violations_keys[] = {
	{"medium", "number", "`3`", read_violations_medium, 0},
	{"within", "duration", "`1h`", read_violations_within, 0},
	{"then", "`freeze`, `kill`", "`freeze`", read_violations_then, 0},
};

static const struct schema_key learn_keys[] = {
	{"after", "number", "`5`", read_learn_after, 0},
	{"expires", "duration", "`30d`", read_learn_expires, 0},
};

static const struct schema_key tiers_keys[] = {
	{"low", "list of permissions", "none", read_list, SET_TIER_LOW},
	{"medium", "list of permissions", "none", read_list, SET_TIER_MEDIUM},
	{"high", "list of permissions", "none", read_list, SET_TIER_HIGH},
	{"critical", "list of permissions", "none", read_list, SET_TIER_CRITICAL},
	{"objection", "duration", "`300s`", read_value, SET_OBJECTION},
	{"answer", "duration", "`30m`", read_value, SET_ANSWER},
};

static const struct schema_key caller_keys[] = {
	{"program", "absolute path", "required", read_program, 0},
	{"uid", "number", "your own", read_uid, 0},
	{"may", "list of `approve`", "none", read_may, 0},
};

static const struct schema_key listener_keys[] = {
	{"program", "list of words, the first an absolute path", "required", read_listener_program,
	 0},
	{"kinds", "list of kinds of events", "all", read_listener_kinds, 0},
	{"agents", "list of names", "any", read_listener_agents, 0},
	{"timeout", "duration", "`10s`", read_listener_timeout, 0},
};

static const struct schema_key route_keys[] = {
	{"name", "text", "none", read_route_name, 0},
	{"when", "keys", "always", read_route_when, 0},
	{"steps", "list of keys", "required", read_route_steps, 0},
	{"not_own", "`true`, `false`", "`true` where there are others", read_route_own, 0},
	{"for", "duration", "none", read_route_for, 0},
};

/* As of rules, and what only a question has. */
static const struct schema_key route_when_keys[] = {
	{"agent", "list of names", "any", read_when_list, WHEN_AGENT},
	{"session", "list of names", "any", read_when_list, WHEN_SESSION},
	{"tool", "list of names", "any", read_when_list, WHEN_TOOL},
	{"directory", "list of paths", "any", read_when_list, WHEN_DIRECTORY},
	{"environment", "list of `NAME` and `NAME=VALUE`", "any", read_when_list, WHEN_ENVIRONMENT},
	{"time", "list of `HH:MM-HH:MM`", "any", read_when_time, 0},
	{"days", "list of `mon` to `sun`", "any", read_when_days, 0},
	{"risk", "list of `low`, `medium`, `high`, `critical`", "any", read_when_risk, 0},
	{"category", "list of categories", "any", read_when_list, WHEN_CATEGORY},
	{"program", "keys", "any", read_when_program, 0},
	{"path", "list of paths", "any", read_route_paths, 0},
	{"target", "list of environments", "any", read_route_targets, 0},
};

static const struct schema_key step_keys[] = {
	{"from", "group, or list of groups", "required", read_step_groups, ROUTE_FROM},
	{"need", "number", "`1`", read_step_need, 0},
	{"reason", "`required`, `optional`", "`optional`", read_step_reason, 0},
	{"within", "duration", "as long as the question stands", read_step_within, 0},
	{"then", "`deny`, group, or list of groups", "`deny`", read_step_groups, ROUTE_THEN},
};

static const struct schema_key assessor_keys[] = {
	{"url", "URL", "required", read_assessor_url, 0},
	{"model", "text", "required", read_assessor_model, 0},
	{"key_file", "path", "none", read_assessor_key_file, 0},
	{"key_variable", "name of a variable", "none", read_assessor_key_variable, 0},
	{"ca_file", "path", "the system's", read_assessor_ca_file, 0},
	{"timeout", "duration", "`5s`", read_assessor_timeout, 0},
	{"send", "list of `command`, `directory`, `denial`", "all of them", read_assessor_send, 0},
};

static const struct schema_key notify_keys[] = {
	{"approvers", "list of keys", "none", read_notify_approvers, 0},
	{"security", "list of keys", "none", read_notify_security, 0},
	{"callback", "URL", "none", read_notify_callback, 0},
};

static const struct schema_key channel_keys[] = {
	{"name", "small letters, digits and dashes", "required", read_channel_name, 0},
	{"webhook", "URL", "none", read_channel_webhook, 0},
	{"webhook_file", "path", "none", read_channel_webhook_file, 0},
	{"program", "list of words, the first an absolute path", "none", read_channel_program, 0},
	{"desktop", "`true`", "none", read_channel_desktop, 0},
	{"mail", "list of addresses", "none", read_channel_mail, 0},
	{"on", "list of `asked`, `unanswered`, `expired`, `incident`, `near_limit`",
	 "approvers: `asked`, `unanswered`; security: `unanswered`, `expired`, `incident`",
	 read_channel_on, 0},
	{"risk", "`low`, `medium`, `high`, `critical`", "`low`", read_channel_risk, 0},
	{"agents", "list of names", "any", read_channel_agents, 0},
	{"shape", "`generic`, `slack`", "`generic`", read_channel_shape, 0},
	{"secret_file", "path", "none", read_channel_secret_file, 0},
	{"secret_variable", "name", "none", read_channel_secret_variable, 0},
	{"insecure", "`true`, `false`", "`false`", read_channel_insecure, 0},
	{"from", "address", "whoever runs ward", read_channel_from, 0},
	{"sendmail", "absolute path", "`/usr/sbin/sendmail`", read_channel_sendmail, 0},
	{"timeout", "duration", "`10s`", read_channel_timeout, 0},
	{"attempts", "number", "`12`", read_channel_attempts, 0},
	{"backoff", "duration", "`1s`", read_channel_backoff, 0},
};

#define KEYS(table) table, ELEMENTS(table)

const struct schema_section policy_schema[SECTIONS] = {
	[SECTION_TOP] = {"", "a policy", KEYS(top_keys)},
	[SECTION_SANDBOX] = {"sandbox", "sandbox", KEYS(sandbox_keys)},
	[SECTION_FILES] = {"sandbox.files", "files", KEYS(files_keys)},
	[SECTION_NETWORK] = {"sandbox.network", "network", KEYS(network_keys)},
	[SECTION_LIMITS] = {"sandbox.limits", "limits", KEYS(limits_keys)},
	[SECTION_ENVIRONMENT] = {"sandbox.environment", "environment", KEYS(environment_keys)},
	[SECTION_SYSCALLS] = {"sandbox.syscalls", "syscalls", KEYS(syscalls_keys)},
	[SECTION_CONTAINER] = {"sandbox.container", "container", KEYS(container_keys)},
	[SECTION_RULE] = {"rules", "a rule", KEYS(rule_keys)},
	[SECTION_SET] = {"rules (sets)", "a set of rules", KEYS(set_keys)},
	[SECTION_WHEN] = {"rules.when", "a condition", KEYS(when_keys)},
	[SECTION_PROGRAM] = {"rules.when.program", "program", KEYS(program_keys)},
	[SECTION_TRUST] = {"trust", "trust", KEYS(trust_keys)},
	[SECTION_TRUST_POINTS] = {"trust.points", "points", KEYS(points_keys)},
	[SECTION_TRUST_THRESHOLD] = {"trust.thresholds", "a threshold", KEYS(threshold_keys)},
	[SECTION_TRUST_VIOLATIONS] = {"trust.violations", "violations", KEYS(violations_keys)},
	[SECTION_TRUST_LEARN] = {"trust.learn", "learn", KEYS(learn_keys)},
	[SECTION_TIERS] = {"tiers", "tiers", KEYS(tiers_keys)},
	[SECTION_CALLER] = {"callers", "a caller", KEYS(caller_keys)},
	[SECTION_LISTENER] = {"events", "an entry of events", KEYS(listener_keys)},
	[SECTION_ROUTE] = {"routes", "a route", KEYS(route_keys)},
	[SECTION_ROUTE_WHEN] = {"routes.when", "a condition", KEYS(route_when_keys)},
	[SECTION_STEP] = {"routes.steps", "a step", KEYS(step_keys)},
	[SECTION_ASSESSOR] = {"assessor", "assessor", KEYS(assessor_keys)},
	[SECTION_NOTIFY] = {"notify", "notify", KEYS(notify_keys)},
	[SECTION_CHANNEL] = {"notify.approvers", "a channel", KEYS(channel_keys)},
};
