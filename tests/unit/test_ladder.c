/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: what each rung leaves standing, what its filter does, and what Landlock is told where it
 * stands alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/io.h"
#include "sandbox/allow.h"
#include "sandbox/filter.h"
#include "sandbox/ladder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define give_up(...)                      \
	do {                              \
		print_error(__VA_ARGS__); \
		assert_true(false);       \
	} while (0)
#define BIT(wall) WALL_BIT(WALL_##wall)
#define ERROR(e)  (SECCOMP_RET_ERRNO | (e))
#define NOTIFY	  SECCOMP_RET_USER_NOTIF
#define ALLOW	  SECCOMP_RET_ALLOW

static const struct filter_changes unchanged;

static void without_user_namespaces_a_plain_user_has_no_others(void **state)
{
	unsigned left = ladder_settle(WALLS_ALL, BIT(USER_NAMESPACE), /* privileged= */ false);

	(void)state;
	assert_false(left & (BIT(MOUNT_NAMESPACE) | BIT(PID_NAMESPACE) | BIT(NET_NAMESPACE) |
			     BIT(READ_ONLY) | BIT(MASKS) | BIT(TMP) | BIT(PROC)));
	assert_true(left & BIT(LANDLOCK) && left & BIT(SECCOMP) && left & BIT(NOTIFY));
	assert_int_equal(ladder_settle(WALLS_ALL, BIT(USER_NAMESPACE), /* privileged= */ true),
			 WALLS_ALL & ~BIT(USER_NAMESPACE));
	assert_int_equal(ladder_settle(WALLS_ALL, 0, false), WALLS_ALL);
}

static void without_mounts_what_they_made_is_gone(void **state)
{
	unsigned left = ladder_settle(WALLS_ALL, BIT(MOUNT_NAMESPACE), false);

	(void)state;
	assert_false(left & (BIT(READ_ONLY) | BIT(MASKS) | BIT(DEVICES) | BIT(TMP) | BIT(RUN) |
			     BIT(PROC)));
	assert_true(left & BIT(PID_NAMESPACE));
}

static void there_is_a_floor_or_there_is_none(void **state)
{
	(void)state;
	assert_null(ladder_no_floor(0));
	assert_null(ladder_no_floor(BIT(LANDLOCK)));
	assert_null(ladder_no_floor(BIT(MOUNT_NAMESPACE) | BIT(PID_NAMESPACE) | BIT(PROC)));
	assert_non_null(ladder_no_floor(BIT(LANDLOCK) | BIT(MOUNT_NAMESPACE)));
	assert_non_null(ladder_no_floor(BIT(LANDLOCK) | BIT(PID_NAMESPACE)));
	assert_non_null(ladder_no_floor(BIT(LANDLOCK) | BIT(PROC)));
	assert_non_null(ladder_no_floor(BIT(SECCOMP)));
}

static void faults_are_not_rungs(void **state)
{
	(void)state;
	assert_true(ladder_is_refusal(EPERM) && ladder_is_refusal(ENOSYS));
	assert_true(ladder_is_shortage(ENOSPC) && ladder_is_shortage(EINVAL));
	assert_false(ladder_is_refusal(ENOSPC) || ladder_is_refusal(EINVAL));
	assert_false(ladder_is_shortage(EMFILE) || ladder_is_shortage(ENOMEM) ||
		     ladder_is_shortage(EAGAIN));
}

static void losses_are_said_in_one_line_and_only_where_there_are(void **state)
{
	_cleanup_free_ char *old = ladder_explain(0, 5, NETWORK_NONE),
			    *alone = ladder_explain(BIT(MOUNT_NAMESPACE) | BIT(PID_NAMESPACE) |
							    BIT(NET_NAMESPACE) | BIT(NOTIFY),
						    2, NETWORK_FULL);

	(void)state;
	assert_null(ladder_explain(0, LANDLOCK_WHOLE, NETWORK_NONE));
	assert_null(ladder_explain(0, 0, NETWORK_NONE)); /* not wanted, not lost */
	assert_non_null(strstr(old, "pid namespace alone"));
	assert_non_null(strstr(alone, "Landlock alone"));
	assert_non_null(strstr(alone, "no signal can be sent"));
	assert_non_null(strstr(alone, "truncate() is refused"));
	assert_null(strstr(alone, "Internet"));
	assert_null(strchr(alone, '\n'));
}

static void every_wall_names_what_took_it_along(void **state)
{
	const unsigned lost = WALLS_ALL & ~BIT(LANDLOCK);

	(void)state;
	for (unsigned wall = 0; wall < WALL_COUNT; wall++)
		assert_true(strlen(ladder_remedy((enum wall)wall)) > 10);
	assert_int_equal(ladder_cause(WALL_PROC, lost), WALL_USER_NAMESPACE);
	assert_int_equal(ladder_cause(WALL_PROC, BIT(PROC)), WALL_PROC);
	assert_int_equal(ladder_cause(WALL_TMP, BIT(TMP) | BIT(MOUNT_NAMESPACE)),
			 WALL_MOUNT_NAMESPACE);
}

/* What the kernel would do; the filter has no other instructions. */
static uint32_t run(const struct sock_filter *program, int length, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (int at = 0; at < length; at++) {
		const struct sock_filter *in = &program[at];

		if (in->code == (BPF_RET | BPF_K))
			return in->k;
		if (in->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *)data + in->k, 4);
		else if (in->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= in->k;
		else if (in->code == (BPF_JMP | BPF_JA))
			at += (int)in->k;
		else if (in->code == (BPF_JMP | BPF_JEQ | BPF_K))
			at += a == in->k ? in->jt : in->jf;
		else if (in->code == (BPF_JMP | BPF_JGE | BPF_K))
			at += a >= in->k ? in->jt : in->jf;
		else if (in->code == (BPF_JMP | BPF_JSET | BPF_K))
			at += a & in->k ? in->jt : in->jf;
		else
			give_up("instruction %d has the code %x", at, in->code);
	}
	give_up("the program runs off its end");
	return 0;
}

static const struct filter_rung lowest = {.no_supervisor = true,
					  .no_network = true,
					  .no_ipc = true,
					  .processes = true,
					  .signals = true,
					  .no_mounts = true,
					  .truncate = true,
					  .pass = {11, 22, 33, 44}};

struct expectation {
	int number;
	uint64_t arguments[6];
	uint32_t watched, unwatched; /* with a supervisor, without */
};

static void the_lowest_filter_holds_what_other_walls_would(void **state)
{
	static const struct expectation expectations[] = {
		{SYS_socket, {AF_INET, SOCK_STREAM}, NOTIFY, ERROR(EPERM)},
		{SYS_socket, {AF_INET6 | 1ull << 40, SOCK_DGRAM}, NOTIFY, ERROR(EPERM)},
		{SYS_socket, {AF_UNIX, SOCK_STREAM}, ALLOW, ERROR(EACCES)},
		{SYS_socketpair, {AF_UNIX, SOCK_STREAM}, ALLOW, ALLOW},
		{SYS_shmget, {0}, ERROR(ENOSYS), ERROR(ENOSYS)},
		{SYS_mq_open, {0}, ERROR(ENOSYS), ERROR(ENOSYS)},
		{SYS_kill, {4711, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_kill, {0, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_kill, {4711, 9, 11, 22, 33, 44}, ALLOW, ALLOW},
		{SYS_kill, {4711, 9, 11, 22, 33, 45}, NOTIFY, ERROR(EPERM)},
		{SYS_kill, {4711, 9, 12, 22, 33, 44}, NOTIFY, ERROR(EPERM)},
		{SYS_tgkill, {4711, 4711, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_tkill, {4711, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_pidfd_send_signal, {3, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_rt_sigqueueinfo, {4711, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_rt_tgsigqueueinfo, {4711, 4711, 9}, NOTIFY, ERROR(EPERM)},
		{SYS_fcntl, {0, F_SETOWN, 4711}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_fcntl, {0, F_SETLEASE}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_fcntl, {0, F_SETLEASE + 16 /* F_SETDELEG */}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_fcntl, {0, F_GETLEASE}, ALLOW, ALLOW},
		{SYS_fcntl, {0, F_GETFL}, ALLOW, ALLOW},
		{SYS_ioctl, {0, 0x8901}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_ioctl, {0, 0x40086602}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_ioctl, {0, 0x5412}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_ioctl, {0, 0x5401}, ALLOW, ALLOW},
		{SYS_prlimit64, {0}, ALLOW, ALLOW},
		{SYS_prlimit64, {4711}, NOTIFY, ERROR(EPERM)},
		{SYS_prlimit64, {1}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_setpriority, {0, 0, 5}, ALLOW, ALLOW},
		{SYS_setpriority, {0, 4711, 5}, NOTIFY, ERROR(EPERM)},
		{SYS_setpriority, {2, 0, 5}, ERROR(EPERM), ERROR(EPERM)},
		{SYS_ioprio_set, {1, 4711}, NOTIFY, ERROR(EPERM)},
		{SYS_sched_setaffinity, {4711}, NOTIFY, ERROR(EPERM)},
		{SYS_truncate, {0}, ERROR(EACCES), ERROR(EACCES)},
		{SYS_openat, {0, 0, O_RDONLY | O_TRUNC}, ERROR(EACCES), ERROR(EACCES)},
		{SYS_openat, {0, 0, O_WRONLY | O_TRUNC}, NOTIFY, ALLOW},
		{SYS_openat, {0, 0, O_RDONLY}, ALLOW, ALLOW},
		{SYS_chmod, {0, 0755}, NOTIFY, ALLOW},
		{SYS_chmod, {0, 02755}, NOTIFY, ERROR(EPERM)},
		{SYS_fchmodat, {0, 0, 02755}, NOTIFY, ERROR(EPERM)},
		{SYS_unshare, {0x10000000}, ERROR(EPERM), ERROR(EPERM)},
	};
	static struct sock_filter watched[BPF_ROOM], unwatched[BPF_ROOM];
	struct filter_rung seen = lowest;
	int lengths[2];

	(void)state;
	seen.no_supervisor = false;
	lengths[0] = filter_build(true, &unchanged, &seen, watched);
	lengths[1] = filter_build(false, &unchanged, &lowest, unwatched);
	assert_true(lengths[0] > 0 && lengths[1] > 0);
	for (size_t i = 0; i < ELEMENTS(expectations); i++) {
		const struct expectation *one = &expectations[i];
		struct seccomp_data data = {.nr = one->number, .arch = AUDIT_ARCH_X86_64};

		for (int argument = 0; argument < 6; argument++)
			data.args[argument] = one->arguments[argument];
		if (run(watched, lengths[0], &data) != one->watched ||
		    run(unwatched, lengths[1], &data) != one->unwatched)
			give_up("row %zu (call %d): %x and %x", i, one->number,
				run(watched, lengths[0], &data), run(unwatched, lengths[1], &data));
	}
}

static void a_rung_that_lost_nothing_has_the_same_filter(void **state)
{
	static struct sock_filter full[BPF_ROOM], rung[BPF_ROOM];
	const struct filter_rung nothing = {0};
	int length = filter_build(true, &unchanged, NULL, full);

	(void)state;
	assert_int_equal(filter_build(true, &unchanged, &nothing, rung), length);
	assert_memory_equal(full, rung, (size_t)length * sizeof(*full));
}

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* The kinds under which a path is in the records. */
static void kinds_of(const struct buffer *text, const char *path, char kinds[static 8])
{
	size_t count = 0;

	for (const char *at = text->data; at < text->data + text->length; at += strlen(at) + 1) {
		const char *name = strchr(at, '/');

		if (name && strcmp(name, path) == 0 && count < 7)
			kinds[count++] = at[0];
	}
	kinds[count] = '\0';
}

static void what_is_denied_is_left_out_and_what_is_beside_it_is_not(void **state)
{
	char top[] = "/var/tmp/ward-allow-XXXXXX", path[200], kinds[8];
	static const char *const made[] = {"w", "w/sub", "w/other", "w/bin", "home", "home/.aws"};
	static const struct {
		const char *path, *kinds;
	} expected[] = {
		{"", "l"},	     {"/w", "ll"},	    {"/w/sub", "ll"},
		{"/w/other", "rw"},  {"/w/sub/code", "rw"}, {"/w/sub/.env", ""},
		{"/home", "l"},	     {"/home/.aws", ""},    {"/home/.aws/key", ""},
		{"/home/open", "r"}, {"/w/link", ""},	    {"/w/bin", "rl"},
		{"/w/bin/ward", ""}, {"/w/bin/tool", "w"},
	};
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_list_ struct list writable = {0};
	struct mask items[3] = {{.kind = MASK_FILE},
				{.kind = MASK_DIRECTORY, .is_directory = true},
				{.kind = MASK_HOLD}};
	const struct masks masks = {.items = items, .count = 3};
	static const struct list shown;
	const struct sandbox sandbox = {.writable = &writable, .shown = &shown};

	(void)state;
	assert_non_null(mkdtemp(top));
	for (size_t i = 0; i < ELEMENTS(made); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, made[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (size_t i = 0; i < 6; i++) {
		static const char *const files[] = {"w/sub/.env", "w/sub/code", "home/.aws/key",
						    "home/open",  "w/bin/ward", "w/bin/tool"};

		snprintf(path, sizeof(path), "%s/%s", top, files[i]);
		touch(path);
	}
	snprintf(path, sizeof(path), "%s/w/link", top);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	list_add_printf(&writable, "%s/w", top);
	assert_true(asprintf(&items[0].path, "%s/w/sub/.env", top) > 0);
	assert_true(asprintf(&items[1].path, "%s/home/.aws", top) > 0);
	assert_true(asprintf(&items[2].path, "%s/w/bin/ward", top) > 0);
	assert_int_equal(allow_records(&sandbox, &masks, &text, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(expected); i++) {
		snprintf(path, sizeof(path), "%s%s", top, expected[i].path);
		kinds_of(&text, path, kinds);
		if (strcmp(kinds, expected[i].kinds) != 0)
			give_up("%s: '%s' and not '%s'", path, kinds, expected[i].kinds);
	}
	kinds_of(&text, "/usr", kinds);
	assert_string_equal(kinds, "r");
	kinds_of(&text, "/tmp", kinds);
	assert_string_equal(kinds, "");
	kinds_of(&text, "/dev/null", kinds);
	assert_string_equal(kinds, "d");
	free(items[0].path);
	free(items[1].path);
	free(items[2].path);
	assert_int_equal(remove_tree(AT_FDCWD, top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_user_namespaces_a_plain_user_has_no_others),
		cmocka_unit_test(without_mounts_what_they_made_is_gone),
		cmocka_unit_test(there_is_a_floor_or_there_is_none),
		cmocka_unit_test(faults_are_not_rungs),
		cmocka_unit_test(losses_are_said_in_one_line_and_only_where_there_are),
		cmocka_unit_test(every_wall_names_what_took_it_along),
		cmocka_unit_test(the_lowest_filter_holds_what_other_walls_would),
		cmocka_unit_test(a_rung_that_lost_nothing_has_the_same_filter),
		cmocka_unit_test(what_is_denied_is_left_out_and_what_is_beside_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
