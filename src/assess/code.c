/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in other languages, which nobody takes apart here: what they hold by the look of their
 * words. */
#include "facts.h"

#include <string.h>

/* A word of the kind that an unknown command line would be made of, if it were made to harm. */
bool holds_dangerous_word(const char *text)
{
	static const char dangerous[] =
		"rm rmdir unlink shred dd mkfs wipefs blkdiscard fdisk sudo su doas pkexec curl "
		"wget nc "
		"ncat socat base64 base32 xxd openssl rev eval ssh scp shutdown reboot halt "
		"poweroff "
		"kill killall pkill chmod chown push publish destroy delete drop truncate id_rsa "
		"id_ed25519 passwd shadow crontab systemctl";
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (strstr(text, "$IFS") || strstr(text, "${IFS"))
		return true; /* only used to glue words that are not to be seen */
	while (*text) {
		size_t length = strspn(text, letters);

		if (length && parse_word_in(dangerous, text, length))
			return true;
		text += length ? length : 1;
	}
	return false;
}

static bool holds_one(const char *text, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

bool is_ruinous_code(const char *text)
{
	static const char *const removers[] = {
		"rmtree",      "rm_rf",	  "rm_r ",	"rmSync",      "rmdirSync",
		"unlinkSync",  "rimraf",  "removedirs", "remove_tree", "fs.rm(",
		"fs.unlink",   "unlink",  "os.remove",	"File.delete", "FileUtils.rm",
		"Deno.remove", ".unlink("};
	static const char *const starters[] = {"system", "exec", "popen",	  "subprocess",
					       "spawn",	 "qx",	 "child_process", "`",
					       "%x",	 ":!",	 "| \"",	  "|\""};

	static const char *const disks[] = {"/dev/sd", "/dev/nvme", "/dev/vd", "/dev/mem"};

	return holds_one(text, removers, ELEMENTS(removers)) ||
	       holds_one(text, disks, ELEMENTS(disks)) ||
	       (holds_one(text, starters, ELEMENTS(starters)) && holds_dangerous_word(text));
}

/* fork while fork */
bool multiplies(const char *text)
{
	return strstr(text, "fork") &&
	       (strstr(text, "while") || strstr(text, "loop") || strstr(text, "for("));
}

bool takes_control(const char *text)
{
	static const char *const sockets[] = {"socket",	   "Socket",	  "TCPSocket",
					      "fsockopen", "net.connect", "/inet/"};
	static const char *const shells[] = {"/bin/sh", "/bin/bash", "pty.spawn", "dup2",
					     "cmd.exe", "\"sh\"",    "'sh'",	  "exec("};

	return holds_one(text, sockets, ELEMENTS(sockets)) &&
	       holds_one(text, shells, ELEMENTS(shells));
}
