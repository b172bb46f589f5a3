/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime is told. */
#include "sandbox/container/container.h"
#include "sandbox/filter.h"
#include "sys/calls.h"

#include <errno.h>
#include <jansson.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "bpf_run.h"

static json_t *bundle(const char *runtime, const struct bundle_labels *labels,
		      const struct filter_changes *changes)
{
	const struct ground ground = {
		.level = LEVEL_CONTAINER, .network = NETWORK_NONE, .uid = 1000, .gid = 1000};
	struct sandbox sandbox = {.runtime = runtime};
	char *text;
	json_t *config;

	if (changes)
		sandbox.filter = *changes;
	text = bundle_write(&ground, &sandbox, labels);
	config = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(config);
	free(text);
	return config;
}

static json_t *at(json_t *config, const char *first, const char *second)
{
	return json_object_get(json_object_get(config, first), second);
}

/* What the names say of a call. */
static uint32_t by_names(json_t *seccomp, int number)
{
	json_t *group, *name;
	size_t i, n;

	json_array_foreach (json_object_get(seccomp, "syscalls"), i, group)
		json_array_foreach (json_object_get(group, "names"), n, name)
			if (call_number(json_string_value(name)) == number)
				return strcmp(json_string_value(json_object_get(group, "action")),
					      "SCMP_ACT_ALLOW") == 0
					       ? SECCOMP_RET_ALLOW
					       : SECCOMP_RET_ERRNO |
							 (uint32_t)json_integer_value(
								 json_object_get(group,
										 "errnoRet"));
	assert_string_equal(json_string_value(json_object_get(seccomp, "defaultAction")),
			    "SCMP_ACT_ERRNO");
	return SECCOMP_RET_ERRNO |
	       (uint32_t)json_integer_value(json_object_get(seccomp, "defaultErrnoRet"));
}

static void every_runtime_gets_the_same_filter(void **state)
{
	const struct bundle_labels labels = {.run = "r"};
	struct filter_changes changes = {0};
	struct sock_filter program[BPF_ROOM];
	json_t *crun, *runc, *seccomp;
	const char *text;
	size_t size;
	unsigned allowed = 0, refused = 0;

	(void)state;
	assert_true(sodium_init() >= 0);
	call_set_add(&changes.allowed, SYS_modify_ldt);
	crun = bundle("/usr/bin/crun", &labels, &changes);
	runc = bundle("/usr/sbin/runc", &labels, &changes);
	assert_null(at(crun, "linux", "seccomp"));
	assert_null(at(runc, "annotations", "run.oci.seccomp_bpf_data"));
	text = json_string_value(at(crun, "annotations", "run.oci.seccomp_bpf_data"));
	seccomp = at(runc, "linux", "seccomp");
	assert_non_null(text);
	assert_non_null(seccomp);
	assert_int_equal(sodium_base642bin((unsigned char *)program, sizeof(program), text,
					   strlen(text), NULL, &size, NULL,
					   sodium_base64_VARIANT_ORIGINAL),
			 0);
	for (int number = 0; number < CALL_ROOM; number++) {
		const struct seccomp_data call = {.nr = number, .arch = AUDIT_ARCH_X86_64};
		uint32_t action = bpf_run(program, (int)(size / sizeof(*program)), &call);

		if (!call_name(number))
			continue;
		assert_int_equal(action, by_names(seccomp, number));
		allowed += action == SECCOMP_RET_ALLOW;
		refused += action != SECCOMP_RET_ALLOW;
	}
	assert_true(allowed > 200 && refused > 50);
	assert_int_equal(by_names(seccomp, SYS_mount) & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
	assert_int_equal(by_names(seccomp, SYS_modify_ldt), SECCOMP_RET_ALLOW);
	json_decref(crun);
	json_decref(runc);
}

static void who_it_is_for_and_its_profiles_are_in_it(void **state)
{
	const struct bundle_labels all = {.run = "the run",
					  .agent = "claude",
					  .session = "the task",
					  .apparmor = "ward-restricted",
					  .selinux = "system_u:system_r:container_t:s0:c1,c2"},
				   none = {.run = "the run"};
	json_t *full = bundle("/usr/bin/crun", &all, NULL),
	       *bare = bundle("/usr/bin/crun", &none, NULL);

	(void)state;
	assert_string_equal(json_string_value(at(full, "annotations", "org.ward.agent")), "claude");
	assert_string_equal(json_string_value(at(full, "annotations", "org.ward.task")),
			    "the task");
	assert_string_equal(json_string_value(at(full, "process", "apparmorProfile")),
			    all.apparmor);
	assert_string_equal(json_string_value(at(full, "process", "selinuxLabel")), all.selinux);
	assert_null(at(bare, "annotations", "org.ward.agent"));
	assert_null(at(bare, "process", "apparmorProfile"));
	assert_null(at(bare, "process", "selinuxLabel"));
	json_decref(full);
	json_decref(bare);
}

/* As AppArmor and SELinux write it. */
static void a_label_is_believed_as_the_kernel_says_it(void **state)
{
	static const struct {
		const char *written, *wanted;
		bool stands;
	} rows[] = {
		{"ward-restricted (enforce)\n", "ward-restricted", true},
		{"ward-restricted (complain)\n", "ward-restricted", false},
		{"ward-restricted-not (enforce)\n", "ward-restricted", false},
		{"unconfined\n", "ward-restricted", false},
		{"outer//ward-restricted (enforce)\n", "ward-restricted", false},
		{"u:r:container_t:s0:c1,c2", "u:r:container_t:s0:c1,c2", true},
		{"u:r:container_t:s0:c1,c23", "u:r:container_t:s0:c1,c2", false},
		{"u:r:unconfined_t:s0", "u:r:container_t:s0", false},
		{"", "x", false},
	};
	char path[] = "/tmp/ward-test-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rows[i].written, strlen(rows[i].written), 0),
				 (ssize_t)strlen(rows[i].written));
		assert_int_equal(stage_stands_under(path, rows[i].wanted), rows[i].stands);
	}
	assert_false(stage_stands_under("/nowhere", "x"));
	close(fd);
	unlink(path);
}

static void nothing_is_left_to_whoever_is_inside(void **state)
{
	static const char *const sets[] = {"bounding", "effective", "permitted", "inheritable",
					   "ambient"};
	json_t *config = bundle("/usr/sbin/runc", &(struct bundle_labels){.run = "r"}, NULL), *item;
	bool network = false;
	size_t i;

	(void)state;
	for (i = 0; i < ELEMENTS(sets); i++) {
		json_t *set = json_object_get(at(config, "process", "capabilities"), sets[i]);

		assert_true(json_is_array(set) && json_array_size(set) == 0);
	}
	assert_true(json_is_true(at(config, "process", "noNewPrivileges")));
	assert_true(json_is_true(at(config, "root", "readonly")));
	json_array_foreach (at(config, "linux", "namespaces"), i, item)
		network |=
			strcmp(json_string_value(json_object_get(item, "type")), "network") == 0 &&
			!json_object_get(item, "path");
	assert_true(network);
	json_decref(config);
}

/* runc of a plain user begins as root, of a namespace in which there is nobody else, with what it
 * takes to leave it. */
static void who_must_be_root_first_gets_what_it_takes_to_leave(void **state)
{
	static const char *const handed_on[] = {"inheritable", "ambient"}, *const own[] = {
										   "bounding",
										   "effective",
										   "permitted"};
	const struct ground ground = {
		.level = LEVEL_CONTAINER, .network = NETWORK_NONE, .uid = 1000, .gid = 1001};
	const struct sandbox sandbox = {
		.runtime = "/usr/sbin/runc", .returning_uid = 1000, .returning_gid = 1001};
	const struct bundle_labels labels = {.run = "r", .apparmor = "ward-restricted"};
	char *text = bundle_write(&ground, &sandbox, &labels);
	json_t *config = json_loads(text, 0, NULL), *user = at(config, "process", "user"),
	       *map = json_array_get(at(config, "linux", "uidMappings"), 0);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(user, "uid")), 0);
	assert_int_equal(json_integer_value(json_object_get(user, "gid")), 0);
	assert_int_equal(json_integer_value(json_object_get(map, "containerID")), 0);
	/* Pid 1 goes under it when it is itself again. */
	assert_null(at(config, "process", "apparmorProfile"));
	for (size_t i = 0; i < ELEMENTS(own); i++) {
		json_t *set = json_object_get(at(config, "process", "capabilities"), own[i]);

		assert_int_equal(json_array_size(set), 1);
		assert_string_equal(json_string_value(json_array_get(set, 0)), "CAP_SETFCAP");
	}
	for (size_t i = 0; i < ELEMENTS(handed_on); i++)
		assert_int_equal(json_array_size(json_object_get(
					 at(config, "process", "capabilities"), handed_on[i])),
				 0);
	json_decref(config);
	free(text);
}

/* Under a kernel of its own: what is started is ward's, with the command's words behind its own. */
static void a_kernel_of_its_own_gets_the_command_and_no_powers(void **state)
{
	static const char *const wanted[] = {APART_PROGRAM, "contained", "1000", "1001",  "4000",
					     "1",	    "0",	 "2",	 "/work", "/bin/a",
					     "/usr/bin/a",  "a",	 "b"};
	char *words[] = {(char *)"a", (char *)"b", NULL}, *variables[] = {(char *)"X=1", NULL};
	char *paths[] = {(char *)"/bin/a", (char *)"/usr/bin/a", NULL};
	const struct list candidates = {.items = paths, .count = 2};
	struct sandbox sandbox = {.runtime = "/usr/bin/runsc",
				  .returning_uid = 1000,
				  .returning_gid = 1001,
				  .cwd = "/work",
				  .argv = words,
				  .environment = variables,
				  .candidates = &candidates,
				  .ignores_pipe = true,
				  .files = 64};
	const struct bundle_labels labels = {.run = "r"};
	json_t *config, *list, *set, *limit;
	const char *name;
	char *text;

	(void)state;
	sigemptyset(&sandbox.signal_mask);
	sigaddset(&sandbox.signal_mask, SIGTERM);
	text = bundle_write_apart(&sandbox, &labels);
	config = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(config);
	free(text);
	list = at(config, "process", "args");
	assert_int_equal(json_array_size(list), ELEMENTS(wanted));
	for (size_t i = 0; i < ELEMENTS(wanted); i++)
		assert_string_equal(json_string_value(json_array_get(list, i)), wanted[i]);
	assert_string_equal(json_string_value(json_array_get(at(config, "process", "env"), 0)),
			    "X=1");
	assert_int_equal(json_object_size(at(config, "process", "capabilities")), 5);
	json_object_foreach (at(config, "process", "capabilities"), name, set)
		assert_int_equal(json_array_size(set), 0);
	assert_true(json_is_true(at(config, "process", "noNewPrivileges")));
	limit = json_array_get(at(config, "process", "rlimits"), 0);
	assert_string_equal(json_string_value(json_object_get(limit, "type")), "RLIMIT_NOFILE");
	assert_int_equal(json_integer_value(json_object_get(limit, "hard")), 64);
	json_decref(config);
	words[1] = (char *)"\xff";
	assert_null(bundle_write_apart(&sandbox, &labels));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_runtime_gets_the_same_filter),
		cmocka_unit_test(who_it_is_for_and_its_profiles_are_in_it),
		cmocka_unit_test(a_label_is_believed_as_the_kernel_says_it),
		cmocka_unit_test(nothing_is_left_to_whoever_is_inside),
		cmocka_unit_test(who_must_be_root_first_gets_what_it_takes_to_leave),
		cmocka_unit_test(a_kernel_of_its_own_gets_the_command_and_no_powers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
