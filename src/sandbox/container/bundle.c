/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of a container: what the runtime is to build. The tree is there already; the runtime
 * adds what needs its namespaces. */
#include "container.h"
#include "../filter.h"
#include "../../base/units.h"
#include "../../sys/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	enum wall wall;
	const char *type;
} namespaces[] = {
	{WALL_USER_NAMESPACE, "user"},	   {WALL_MOUNT_NAMESPACE, "mount"},
	{WALL_PID_NAMESPACE, "pid"},	   {WALL_IPC_NAMESPACE, "ipc"},
	{WALL_UTS_NAMESPACE, "uts"},	   {WALL_NET_NAMESPACE, "network"},
	{WALL_CGROUP_NAMESPACE, "cgroup"},
};

/* What tells of the machine, or switches it. A plain user owns none of it; it is closed all the
 * same. */
static const char *const masked[] = {"/proc/kcore",	  "/proc/keys",		"/proc/timer_list",
				     "/proc/sched_debug", "/proc/acpi",		"/proc/scsi",
				     "/sys/firmware",	  "/proc/latency_stats"};
static const char *const closed[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus",
				     "/proc/fs"};

/* What ward's own pid 1 needs before its filter stands, which has none of them. */
static const int before_the_filter[] = {
	SYS_seccomp,
	SYS_landlock_create_ruleset,
	SYS_landlock_add_rule,
	SYS_landlock_restrict_self,
	SYS_capset,
	SYS_openat2,
	SYS_close_range,
	SYS_clone3,
};

unsigned container_walls(const struct ground *ground)
{
	unsigned walls = WALL_BIT(WALL_PID_NAMESPACE) | WALL_BIT(WALL_IPC_NAMESPACE) |
			 WALL_BIT(WALL_UTS_NAMESPACE) | WALL_BIT(WALL_CGROUP_NAMESPACE) |
			 WALL_BIT(WALL_DEVICES) | WALL_BIT(WALL_PROC);

	if (ground->network != NETWORK_FULL)
		walls |= WALL_BIT(WALL_NET_NAMESPACE);
	return walls;
}

/* Who pid 1 is when it begins. */
struct first {
	uid_t uid;
	gid_t gid;
	const char *capability; /* that it needs to become somebody else; NULL: it need not */
};

/* Whoever maps a namespace's root into one of his own must be trusted with file capabilities in it.
 * What that gives ends where pid 1 goes: in the other namespace it gives up all of them. */
static struct first first_of(const struct ground *ground, const struct sandbox *sandbox)
{
	return sandbox->returning_uid ? (struct first){0, 0, "CAP_SETFCAP"}
				      : (struct first){ground->uid, ground->gid, NULL};
}

static json_t *texts(const char *const *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(items[i]));
	return list;
}

static void add_mount(json_t *mounts, const char *type, const char *target, const char *options)
{
	json_t *list = json_array();
	char copy[160], *rest = copy, *option;

	snprintf(copy, sizeof(copy), "%s", options);
	while ((option = strsep(&rest, " ")))
		json_array_append_new(list, json_string(option));
	json_array_append_new(mounts, json_pack("{ss ss ss so}", "destination", target, "type",
						type, "source", type, "options", list));
}

static json_t *mounts(const struct ground *ground, const struct sandbox *sandbox)
{
	char memory[96] = "nosuid nodev noexec mode=1777";
	json_t *list = json_array();

	/* Root owns what is the machine's in there: to root all of it is read-only. */
	add_mount(list, "proc", "/proc",
		  ground->uid == 0 ? "nosuid nodev noexec ro" : "nosuid nodev noexec");
	add_mount(list, "tmpfs", "/dev", "nosuid noexec mode=755 size=65536k ro");
	add_mount(list, "devpts", "/dev/pts",
		  "nosuid noexec newinstance ptmxmode=0666 mode=0620 max=256");
	if (sandbox->memory_files)
		snprintf(memory, sizeof(memory), "nosuid nodev noexec mode=1777 size=%llu",
			 (unsigned long long)sandbox->memory_files);
	add_mount(list, "tmpfs", "/dev/shm", memory);
	return list;
}

/* The floor's own table, as one action for each number. Where it looks at arguments or tells the
 * supervisor, the call is let through here: the same filter stands inside, and it does. */
static size_t collect_calls(const struct sandbox *sandbox, struct bpf_call list[static CALL_ROOM])
{
	bool known[CALL_ROOM] = {0}, refused[CALL_ROOM] = {0};
	size_t count, found = 0;
	const struct bpf_call *calls = filter_table(&count);

	for (size_t i = 0; i < count; i++) {
		known[calls[i].number] = true;
		refused[calls[i].number] =
			!calls[i].rules &&
			(calls[i].action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
	}
	for (int number = 0; number < CALL_ROOM; number++)
		if (call_set_has(&sandbox->filter.allowed, number)) {
			known[number] = true;
			refused[number] = false;
		}
	for (size_t i = 0; i < ELEMENTS(before_the_filter); i++) {
		known[before_the_filter[i]] = true;
		refused[before_the_filter[i]] = false;
	}
	for (int number = 0; number < CALL_ROOM; number++)
		if (known[number])
			list[found++] = (struct bpf_call){
				.number = number,
				.action = refused[number] ? SECCOMP_RET_ERRNO | EPERM
							  : SECCOMP_RET_ALLOW,
			};
	return found;
}

static json_t *group(const struct bpf_call *calls, size_t count, uint32_t action, const char *word)
{
	json_t *names = json_array();

	for (size_t i = 0; i < count; i++)
		if (calls[i].action == action && call_name(calls[i].number))
			json_array_append_new(names, json_string(call_name(calls[i].number)));
	return json_pack("{so ss si}", "names", names, "action", word, "errnoRet",
			 (int)(action & SECCOMP_RET_DATA));
}

/* By names, as every runtime takes it. */
static json_t *filter_by_names(const struct sandbox *sandbox)
{
	struct bpf_call calls[CALL_ROOM];
	size_t count = collect_calls(sandbox, calls);
	json_t *refused = group(calls, count, SECCOMP_RET_ERRNO | EPERM, "SCMP_ACT_ERRNO"),
	       *allowed = group(calls, count, SECCOMP_RET_ALLOW, "SCMP_ACT_ALLOW");

	json_object_del(allowed, "errnoRet");
	return json_pack("{ss si s[s] s[oo]}", "defaultAction", "SCMP_ACT_ERRNO", "defaultErrnoRet",
			 ENOSYS, "architectures", "SCMP_ARCH_X86_64", "syscalls", allowed, refused);
}

/* As a program: crun takes it as it is, and would need a fifth of its time to make one of names. */
static json_t *filter_compiled(const struct sandbox *sandbox)
{
	struct sock_filter program[BPF_ROOM];
	struct bpf_call calls[CALL_ROOM];
	size_t count = collect_calls(sandbox, calls), size;
	int length =
		bpf_build(AUDIT_ARCH_X86_64, calls, count, SECCOMP_RET_ERRNO | ENOSYS, program);
	char *text;
	json_t *value;

	if (length < 0)
		return NULL;
	size = (size_t)length * sizeof(*program);
	text = malloc(sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL));
	if (!text)
		abort();
	sodium_bin2base64(text, sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL),
			  (const unsigned char *)program, size, sodium_base64_VARIANT_ORIGINAL);
	value = json_string(text);
	free(text);
	return value;
}

static json_t *kernel_part(const struct ground *ground, const struct sandbox *sandbox)
{
	unsigned wanted = container_walls(ground) | WALL_BIT(WALL_USER_NAMESPACE) |
			  WALL_BIT(WALL_MOUNT_NAMESPACE);
	const struct first first = first_of(ground, sandbox);
	json_t *list = json_array(), *part;

	wanted &= ~walls_switched_off();
	for (size_t i = 0; i < ELEMENTS(namespaces); i++)
		if (wanted & WALL_BIT(namespaces[i].wall))
			json_array_append_new(list, json_pack("{ss}", "type", namespaces[i].type));
	/* Within the engine's namespace there is root alone, and that is whom the command runs as
	 * outside. */
	part = json_pack("{so s[{sI si si}] s[{sI si si}] so so}", "namespaces", list,
			 "uidMappings", "containerID", (json_int_t)first.uid, "hostID", 0, "size",
			 1, "gidMappings", "containerID", (json_int_t)first.gid, "hostID", 0,
			 "size", 1, "maskedPaths", texts(masked, ELEMENTS(masked)), "readonlyPaths",
			 ground->uid == 0 ? json_array() : texts(closed, ELEMENTS(closed)));
	if (!(walls_switched_off() & WALL_BIT(WALL_SECCOMP)) &&
	    !runtime_takes_program(sandbox->runtime))
		json_object_set_new(part, "seccomp", filter_by_names(sandbox));
	return part;
}

/* In every set: of those that are not named each runtime has its own opinion. */
static json_t *capabilities(const char *only)
{
	static const struct {
		const char *name;
		bool own; /* is what a process has, not what it hands on */
	} sets[] = {{"bounding", true},
		    {"effective", true},
		    {"permitted", true},
		    {"inheritable", false},
		    {"ambient", false}};
	json_t *all = json_object();

	for (size_t i = 0; i < ELEMENTS(sets); i++)
		json_object_set_new(all, sets[i].name, texts(&only, only && sets[i].own ? 1 : 0));
	return all;
}

int bundle_check(const struct bundle_labels *labels, struct error **ret_error)
{
	char on = 'N';
	int fd = open("/sys/module/apparmor/parameters/enabled", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!read(fd, &on, 1);
	close_fd(&fd);
	if (labels->apparmor && on != 'Y') {
		fail(ret_error, E_ENGINE, "this machine has no AppArmor for the profile %s",
		     labels->apparmor);
		return error_hint(ret_error, "leave out container.apparmor");
	}
	if (labels->selinux && access("/sys/fs/selinux/enforce", F_OK) < 0) {
		fail(ret_error, E_ENGINE, "this machine has no SELinux for the label %s",
		     labels->selinux);
		return error_hint(ret_error, "leave out container.selinux");
	}
	return 0;
}

char *bundle_write(const struct ground *ground, const struct sandbox *sandbox,
		   const struct bundle_labels *labels)
{
	const struct {
		const char *name, *value;
	} notes[] = {{"org.ward.run", labels->run},
		     {"org.ward.agent", labels->agent},
		     {"org.ward.task", labels->session}};
	const struct first first = first_of(ground, sandbox);
	json_t *annotations = json_object(), *config;
	char program[32], *text;

	for (size_t i = 0; i < ELEMENTS(notes); i++)
		if (notes[i].value)
			json_object_set_new(annotations, notes[i].name,
					    json_string(notes[i].value));
	if (!(walls_switched_off() & WALL_BIT(WALL_SECCOMP)) &&
	    runtime_takes_program(sandbox->runtime))
		json_object_set_new(annotations, "run.oci.seccomp_bpf_data",
				    filter_compiled(sandbox));
	snprintf(program, sizeof(program), "/proc/self/fd/%d", CONTAINED_PROGRAM);
	config = json_pack("{ss s{sb so s{sI sI} ss s[ss] s[s] sb so} s{ss sb} so so so}",
			   "ociVersion", "1.0.2", "process", "terminal", 0, "rlimits", json_array(),
			   "user", "uid", (json_int_t)first.uid, "gid", (json_int_t)first.gid,
			   "cwd", "/", "args", program, "contained", "env",
			   "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "noNewPrivileges", 1,
			   "capabilities", capabilities(first.capability), "root", "path",
			   CONTAINER_ROOT, "readonly", 1, "mounts", mounts(ground, sandbox),
			   "annotations", annotations, "linux", kernel_part(ground, sandbox));
	/* Who has to become somebody else does that before it stands under it. */
	if (labels->apparmor && !sandbox->returning_uid)
		json_object_set_new(json_object_get(config, "process"), "apparmorProfile",
				    json_string(labels->apparmor));
	if (labels->selinux)
		json_object_set_new(json_object_get(config, "process"), "selinuxLabel",
				    json_string(labels->selinux));
	text = json_dumps(config, JSON_COMPACT);
	json_decref(config);
	if (!text)
		abort();
	return text;
}
