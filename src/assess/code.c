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

/* Whole trees and all files of a pattern, as rm -r and rm * are; one file by its name is no more
 * than rm of it. Commands are looked for as they stand in strings: words such as kill are methods,
 * too. */
bool is_ruinous_code(const char *text)
{
	static const char *const removers[] = {
		"rmtree",      "rm_rf",	  "rm_r ",	"rm_r(",       "rmSync",      "rmdirSync",
		"rimraf",      "fs.rm(",  "removedirs", "remove_tree", "unlink glob", "unlink <",
		"unlink(glob", "/dev/sd", "/dev/nvme",	"/dev/vd",     "/dev/mem"};
	static const char *const starters[] = {
		"system", "exec", "popen", "subprocess", "spawn", "child_process",
		"qx",	  "`",	  "%x",	   ":!",	 "| \"",  "|\""};
	static const char *const commands[] = {
		"rm -",	    "rm \"",   "'rm'",	    "\"rm\"", "git push", "'push'",
		"\"push\"", "mkfs",    "dd if=",    "shred ", "sudo",	  "curl ",
		"wget ",    "nc ",     "ssh ",	    "scp ",   "reboot",	  "shutdown",
		"chmod -R", "publish", "terraform", "kubectl"};

	return holds_one(text, removers, ELEMENTS(removers)) ||
	       (holds_one(text, starters, ELEMENTS(starters)) &&
		holds_one(text, commands, ELEMENTS(commands)));
}

/* fork while fork: a program that does little else, and does not wait for what it starts. */
bool multiplies(const char *text)
{
	enum { SHORT = 80 };

	return strlen(text) < SHORT && strstr(text, "fork") && !strstr(text, "wait") &&
	       (strstr(text, "while") || strstr(text, "loop") || strstr(text, "for(;;)"));
}

bool takes_control(const char *text)
{
	static const char *const sockets[] = {"socket",	   "Socket",	  "TCPSocket",
					      "fsockopen", "net.connect", "/inet/"};
	static const char *const shells[] = {"/bin/sh", "/bin/bash", "pty.spawn", "cmd.exe"};

	return holds_one(text, sockets, ELEMENTS(sockets)) &&
	       holds_one(text, shells, ELEMENTS(shells));
}
