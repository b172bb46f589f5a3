/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a machine that runs ward's tests on another kernel: loads what the kernel
 * needs to find its disk, goes over to it, has the tests run there, waits for whoever is left
 * without a parent, and ends the machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { DISK_SECONDS = 30 };

static void end(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("machine: ");
	vprintf(format, arguments);
	printf("\n");
	fflush(stdout);
	va_end(arguments);
	sync();
	tcdrain(1);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

/* Modules that stand on the kernel's own command line get their values from it by their loader. */
static void parameters_of(const char *module, char *ret, size_t size)
{
	char line[4096] = "", prefix[80];
	FILE *file = fopen("/proc/cmdline", "re");

	ret[0] = '\0';
	if (!file || !fgets(line, sizeof(line), file))
		end("no command line");
	fclose(file);
	snprintf(prefix, sizeof(prefix), "%s.", module);
	for (char *rest = line, *word; (word = strsep(&rest, " \n"));) {
		if (strncmp(word, prefix, strlen(prefix)) != 0)
			continue;
		strncat(ret, word + strlen(prefix), size - strlen(ret) - 1);
		strncat(ret, " ", size - strlen(ret) - 1);
	}
}

/* In the order of the list, which is that of what each stands on. */
static void load_modules(void)
{
	FILE *list = fopen("/modules/list", "re");
	char name[64], path[128], parameters[4096];

	if (!list)
		end("no list of modules");
	while (fscanf(list, "%63s", name) == 1) {
		int fd;

		snprintf(path, sizeof(path), "/modules/%s.ko", name);
		parameters_of(name, parameters, sizeof(parameters));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, parameters, 0) < 0 && errno != EEXIST))
			end("module %s: %s", name, strerror(errno));
		close(fd);
	}
	fclose(list);
}

static void mount_or_end(const char *what, const char *where, const char *type, unsigned long flags,
			 const char *options)
{
	mkdir(where, 0755);
	if (mount(what, where, type, flags, options) < 0)
		end("mounting %s: %s", where, strerror(errno));
}

static void go_to_disk(void)
{
	for (int i = 0; i < DISK_SECONDS * 10 && access("/dev/vda", F_OK) < 0; i++)
		usleep(100000);
	mount_or_end("/dev/vda", "/disk", "ext4", 0, NULL);
	if (mount("/dev", "/disk/dev", NULL, MS_MOVE, NULL) < 0 || chdir("/disk") < 0 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		end("going over to the disk: %s", strerror(errno));
}

static void furnish(void)
{
	mount_or_end("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_or_end("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_or_end("securityfs", "/sys/kernel/security", "securityfs", 0, NULL);
	mount_or_end("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     "nsdelegate");
	mount_or_end("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		     "mode=0620,gid=5,ptmxmode=0666");
	mount_or_end("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, NULL);
	mount_or_end("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
	mount_or_end("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

int main(void)
{
	char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
				     "HOME=/root", "LANG=C.UTF-8", NULL};
	pid_t tests, ended;
	int status;

	mount_or_end("dev", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	mount_or_end("proc", "/proc", "proc", 0, NULL);
	for (int fd = 0; fd < 3; fd++)
		dup2(open("/dev/console", O_RDWR), fd);
	load_modules();
	go_to_disk();
	furnish();
	tests = fork();
	if (tests == 0) {
		setsid();
		execle("/usr/bin/python3", "python3", "-E", "-s", "-B",
		       "/ward/tests/kernels/inside.py", NULL, environment);
		_exit(127);
	}
	do
		ended = wait(&status);
	while (ended != tests && (ended > 0 || errno == EINTR));
	end("ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
