/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the machine: its devices and its switches in /proc and /sys. Switches are opened for
 * writing, never written to. */
#include "attack.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int open_switch(const char *path)
{
	return verdict(open(path, O_WRONLY) >= 0, path);
}

static int attack_core_pattern(char **arguments)
{
	(void)arguments;
	return open_switch("/proc/sys/kernel/core_pattern");
}

static int attack_through_root(char **arguments)
{
	(void)arguments;
	return open_switch("/proc/self/root/proc/sys/kernel/core_pattern");
}

static int attack_sysrq(char **arguments)
{
	(void)arguments;
	return open_switch("/proc/sysrq-trigger");
}

static int attack_sys(char **arguments)
{
	(void)arguments;
	return open_switch("/sys/kernel/mm/transparent_hugepage/enabled");
}

static int attack_release_agent(char **arguments)
{
	glob_t found;

	(void)arguments;
	if (glob("/sys/fs/cgroup/*/release_agent", 0, NULL, &found) != 0)
		return open_switch("/sys/fs/cgroup/cgroup.procs");
	return open_switch(found.gl_pathv[0]);
}

/* Its mode is one for every /proc of the machine. It is put back. */
static int change_proc(const char *path, int fd)
{
	struct stat st;
	bool done = stat(path, &st) == 0 &&
		    (fd < 0 ? chmod(path, st.st_mode | 0004) : fchmod(fd, st.st_mode | 0004)) == 0;

	if (done)
		(void)chmod(path, st.st_mode);
	return verdict(done, "changing the mode of a file of the kernel's");
}

static int attack_proc_mode(char **arguments)
{
	(void)arguments;
	return change_proc("/proc/vmallocinfo", -1);
}

static int attack_proc_mode_by_fd(char **arguments)
{
	(void)arguments;
	return change_proc("/proc/vmallocinfo", open("/proc/vmallocinfo", O_RDONLY));
}

static int attack_any_switch(char **arguments)
{
	static const char *const switches[] = {
		"/proc/irq/default_smp_affinity",
		"/proc/mtrr",
		"/proc/scsi/scsi",
		"/proc/acpi/wakeup",
		"/proc/fs/ext4",
		"/proc/latency_stats",
		"/proc/dynamic_debug/control",
		"/proc/timer_stats",
		"/proc/profile",
		"/proc/sys/kernel/modprobe",
		"/proc/kmsg",
		"/proc/kcore",
	};

	(void)arguments;
	for (size_t i = 0; i < ELEMENTS(switches); i++)
		if (open(switches[i], O_RDWR) >= 0)
			return verdict(true, switches[i]);
	return verdict(false, "any switch of the machine");
}

/* Arguments: a device of the host. */
static int attack_device(char **arguments)
{
	char data[512];
	int fd = open(arguments[0], O_RDONLY | O_NONBLOCK);

	return verdict(
		fd >= 0 && (read(fd, data, sizeof(data)) >= 0 || errno == EAGAIN || errno == EPIPE),
		arguments[0]);
}

static int attack_make_device(char **arguments)
{
	(void)arguments;
	return verdict(mknod("device", S_IFCHR | 0600, makedev(1, 5)) == 0, "mknod");
}

static int attack_make_device_in_memory(char **arguments)
{
	(void)arguments;
	return verdict(mknod("/dev/shm/device", S_IFBLK | 0600, makedev(7, 0)) == 0, "mknod");
}

static const struct attack attacks[] = {
	{"core-pattern", 0, attack_core_pattern},
	{"through-root", 0, attack_through_root},
	{"sysrq", 0, attack_sysrq},
	{"sys", 0, attack_sys},
	{"release-agent", 0, attack_release_agent},
	{"proc-mode", 0, attack_proc_mode},
	{"proc-mode-by-fd", 0, attack_proc_mode_by_fd},
	{"any-switch", 0, attack_any_switch},
	{"device", 1, attack_device},
	{"make-device", 0, attack_make_device},
	{"make-device-in-memory", 0, attack_make_device_in_memory},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
