/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in other languages, which nobody takes apart here: what they hold by the look of their
 * words. */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

/* Strings that a sign puts together are one: 'sys' + 'tem'. */
char *joined_strings(const char *text)
{
	char *joined = strdup(text), *to = joined;

	if (!joined)
		abort();
	while (*text) {
		size_t sign = strspn(text + 1, " \t"), size;

		size = sign + strspn(text + 1 + sign, "+.");
		if (strchr("'\"", *text) && size > sign) {
			size += strspn(text + 1 + size, " \t");
			if (text[1 + size] && strchr("'\"", text[1 + size])) {
				text += size + 2;
				continue;
			}
		}
		*to++ = *text++;
	}
	*to = '\0';
	return joined;
}

/* A word of the kind that an unknown command line would be made of, if it were made to harm. */
bool holds_dangerous_word(const char *text)
{
	static const char dangerous[] =
		"rm rmdir unlink shred dd mkfs wipefs blkdiscard fdisk sudo su doas pkexec curl "
		"wget nc "
		"ncat socat base64 base32 xxd openssl rev eval ssh scp shutdown reboot halt "
		"poweroff "
		"kill killall pkill chmod chown push publish destroy delete drop truncate id_rsa "
		"id_ed25519 passwd shadow crontab systemctl -rf -fr -Rf -fR";
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

/* A name of the code, and no part of a longer one. */
static bool holds_name(const char *text, const char *names)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	while (*text) {
		size_t length = strspn(text, letters);

		if (length && parse_word_in(names, text, length))
			return true;
		text += length ? length : 1;
	}
	return false;
}

/* What starts commands, by its name or by a sign. */
static bool starts_commands(const char *text)
{
	static const char names[] =
		"system exec execl execle execlp execv execve execvp execvpe execSync execFile "
		"execFileSync execute spawn spawnSync spawnl spawnv spawnlp spawnvp posix_spawn "
		"popen Popen popen2 popen3 open3 capture2 capture2e capture3 subprocess "
		"child_process shell_exec passthru proc_open pcntl_exec qx getoutput "
		"getstatusoutput shell startfile ProcessBuilder getRuntime eval instance_eval";
	static const char *const signs[] = {"`",   "%x",	":!",	   "| \"",
					    "|\"", "| getline", "|getline"};

	return holds_name(text, names) || holds_one(text, signs, ELEMENTS(signs));
}

/* Each file that something lists is deleted, or a directory with all that is in it. */
static bool deletes_listed(const char *text)
{
	if (holds_name(text, "remove unlink rm rmdir") && holds_name(text, "recursive"))
		return true;
	return holds_name(text, "remove unlink unlinkSync rmdir delete") &&
	       (holds_name(text,
			   "listdir glob iglob rglob walk scandir iterdir readdir readdirSync "
			   "opendir") ||
		strstr(text, "<*") || strstr(text, "Dir["));
}

/* Whole trees and all files of a pattern, as rm -r and rm * are; one file by its name is no more
 * than rm of it. Commands are looked for as they stand in strings: words such as kill are methods,
 * too. */
bool is_ruinous_code(const char *text)
{
	static const char *const removers[] = {"rmtree",
					       "rm_rf",
					       "rm_r ",
					       "rm_r(",
					       "rmSync",
					       "rimraf",
					       "delete-directory",
					       "file delete -force",
					       "\"unlink\", glob",
					       "'unlink', glob",
					       "fs.rm(",
					       "rmdirSync",
					       "unlink(glob",
					       "removedirs",
					       "remove_tree",
					       "unlink glob",
					       "{unlink}",
					       "{ unlink }",
					       "finddepth",
					       "unlink <",
					       "/dev/sd",
					       "/dev/nvme",
					       "/dev/vd",
					       "/dev/mem"};
	static const char *const commands[] = {
		"rm -",	    "rm \"",   "'rm'",	    "\"rm\"", "git push", "'push'",
		"\"push\"", "mkfs",    "dd if=",    "shred ", "sudo",	  "curl ",
		"wget ",    "nc ",     "ssh ",	    "scp ",   "reboot",	  "shutdown",
		"chmod -R", "publish", "terraform", "kubectl"};

	return holds_one(text, removers, ELEMENTS(removers)) || deletes_listed(text) ||
	       (starts_commands(text) && holds_one(text, commands, ELEMENTS(commands)));
}

/* fork while fork: a program that does little else, and does not wait for what it starts. */
bool multiplies(const char *text)
{
	enum { SHORT = 80 };

	return strlen(text) < SHORT && strstr(text, "fork") && !strstr(text, "wait") &&
	       (strstr(text, "while") || strstr(text, "loop") || strstr(text, "for(;;)"));
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		found++;
	return found;
}

/* A connection, and something that runs commands; or awk's own way to both. */
bool takes_control(const char *text)
{
	static const char *const sockets[] = {"socket",	     "Socket",		 "fsockopen",
					      "net.connect", "require(\"net\")", "require('net')",
					      "net.Socket"};
	static const char *const shells[] = {"/bin/sh",	  "/bin/bash", "pty.spawn", "cmd.exe",
					     "exec(\"sh", "exec $",    "exec \"sh", "os.execute",
					     "\"sh\"",	  "'sh'",      "\"bash\"",  "'bash'"};
	/* What runs anything, where something was heard. */
	static const char *const runners[] = {"popen", "Popen", "subprocess", "child_process"};
	static const char *const heard[] = {"recv",	 "makefile", "on('data",
					    "on(\"data", ".pipe(",   ".gets"};

	return (holds_one(text, sockets, ELEMENTS(sockets)) && !strstr(text, "AF_UNIX") &&
		(holds_one(text, shells, ELEMENTS(shells)) ||
		 (holds_one(text, runners, ELEMENTS(runners)) &&
		  holds_one(text, heard, ELEMENTS(heard))))) ||
	       (strstr(text, "/inet/") &&
		(count(text, "getline") > 1 || holds_one(text, shells, ELEMENTS(shells))));
}

/* Code that only names this machine stays here. */
static bool stays_here(const char *text)
{
	static const char *const here[] = {"//localhost",   "//127.",	   "'localhost'",
					   "\"localhost\"", "'127.0.0.1'", "\"127.0.0.1\"",
					   "//[::1]"};

	return holds_one(text, here, ELEMENTS(here));
}

bool sends_from_code(const char *text)
{
	static const char *const senders[] = {
		"requests.post",     "requests.put",   "requests.patch",  "requests.delete",
		"httpx.post",	     "httpx.put",      "axios.post",	  "axios.put",
		"axios.delete",	     "Net::HTTP.post", "Net::HTTP::Post", "Net::HTTP::Put",
		"Net::HTTP::Delete", "smtplib",	       "Net::SMTP",	  "storbinary",
		"paramiko",	     "CURLOPT_POST",   "upload_file(",	  "put_object("};
	static const char *const requests[] = {"urlopen(",
					       "fetch(",
					       ".request(",
					       "Request(",
					       "file_get_contents('http",
					       "file_get_contents(\"http",
					       "stream_context_create"};
	static const char *const bodies[] = {"POST",	    "PUT'",   "PUT\"",
					     "DELETE",	    "PATCH",  "(data=",
					     ", data=",	    ",data=", "base64_encode(file",
					     "readFileSync"};
	static const char *const sockets[] = {"socket",	       "Socket", "fsockopen",
					      "net.connect",   "/inet/", "require(\"net\")",
					      "require('net')"};
	static const char *const files[] = {"open(",	 "readFile",   "File.read",	   "`cat ",
					    "read_text", "read_bytes", "file_get_contents"};

	if (stays_here(text) || strstr(text, "AF_UNIX"))
		return false;
	return holds_one(text, senders, ELEMENTS(senders)) ||
	       (holds_one(text, requests, ELEMENTS(requests)) &&
		holds_one(text, bodies, ELEMENTS(bodies))) ||
	       (holds_one(text, sockets, ELEMENTS(sockets)) && strstr(text, "onnect") &&
		holds_one(text, files, ELEMENTS(files))) ||
	       (strstr(text, "IO::Socket") && holds_one(text, files, ELEMENTS(files)));
}

static bool runs_text(const char *text)
{
	static const char *const runners[] = {"exec(",	    "eval(",	 "eval ",
					      "os.system",  "system(",	 "popen(",
					      "subprocess", "execSync(", "instance_eval"};

	return holds_one(text, runners, ELEMENTS(runners));
}

bool runs_download(const char *text)
{
	static const char *const fetchers[] = {"urlopen(",
					       "requests.get",
					       "LWP::Simple",
					       "get(\"http",
					       "get('http",
					       "file_get_contents('http",
					       "file_get_contents(\"http",
					       "Net::HTTP",
					       "open-uri",
					       "fetch(",
					       "https.get",
					       "http.get",
					       "urlretrieve",
					       "HTTP::Tiny"};

	return runs_text(text) && holds_one(text, fetchers, ELEMENTS(fetchers)) &&
	       !stays_here(text);
}

bool runs_decoded(const char *text)
{
	static const char *const decoders[] = {
		"b64decode", "decode_base64", "base64_decode", "Base64.decode", "unhexlify",
		"fromhex",   "bytes.fromhex", "atob(",	       "pack(\"H",	"pack('H",
		"str_rot13", "'base64')",     "\"base64\")",   "'rot13'",	"zlib.decompress",
		"chr(",	     "fromCharCode",  "[::-1]",	       "codecs.decode", "\\x",
		"unescape("};

	return runs_text(text) && holds_one(text, decoders, ELEMENTS(decoders));
}
