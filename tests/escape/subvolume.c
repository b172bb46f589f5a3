/* SPDX-License-Identifier: Apache-2.0 */
/* What btrfs makes by requests of its own, which name no path: a repository that nobody saw coming,
 * copied as a whole to the name that git looks for. The argument is the command that would run. */
#include "evil.h"

#include <linux/btrfs.h>
#include <sys/ioctl.h>

static int make_subvolume(const char *directory, const char *name)
{
	struct btrfs_ioctl_vol_args arguments = {0};
	int fd = open(directory, O_RDONLY | O_DIRECTORY);

	strcpy(arguments.name, name);
	return ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, &arguments);
}

static int attack_subvolume(char **arguments)
{
	struct btrfs_ioctl_vol_args_v2 copy = {0};
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	(void)arguments;
	if (make_subvolume(".", "plain") < 0)
		return verdict(false, "a subvolume");
	put("plain/config", evil_config);
	put("plain/HEAD", "ref: refs/heads/main\n");
	make_subvolume("plain", "objects");
	make_subvolume("plain", "refs");
	copy.fd = open("plain", O_RDONLY | O_DIRECTORY);
	strcpy(copy.name, ".git");
	return verdict(ioctl(fd, BTRFS_IOC_SNAP_CREATE_V2, &copy) == 0, "a copy");
}

static const struct attack attacks[] = {
	{"subvolume", 1, attack_subvolume},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
