/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the programs that run other programs. */
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum { WRAPPER_LIMIT = 64 };

/* Programs that run the command behind their own words. */
static const struct wrapper {
	const char *names;
	const char *verb;	/* the words of which one must come first; or NULL */
	const char *with_value; /* options whose value is the next word */
	const char *without;	/* options after which it runs no command */
	unsigned operands;	/* words of its own before the command */
	bool assignments;	/* NAME=VALUE may come before the command */
	const char *with_two;	/* options whose values are the next two words */
} wrappers[] = {
	{"env", NULL, "-u --unset -C --chdir -S --split-string", "-S --split-string", 0, true},
	{"sudo", NULL,
	 "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -T "
	 "--command-timeout -U --other-user -r --role -t --type",
	 "-l --list -v --validate -e --edit", 0, true},
	{"doas", NULL, "-u -C", NULL, 0, false},
	{"pkexec", NULL, "-u --user", NULL, 0, false},
	{"runuser", NULL, "-u --user -g --group -G --supp-group -s --shell", "-c --command", 0,
	 false},
	{"timeout", NULL, "-k --kill-after -s --signal", NULL, 1, false},
	{"nice", NULL, "-n --adjustment", NULL, 0, false},
	{"ionice", NULL, "-c --class -n --classdata", "-p --pid", 0, false},
	{"chrt", NULL, "-T -P -D", "-p --pid -m --max", 1, false},
	{"taskset", NULL, NULL, "-p --pid", 1, false},
	{"nohup setsid builtin busybox toybox dbus-run-session catchsegv unbuffer fakeroot pexec "
	 "proxychains proxychains4 torsocks torify tsocks tini dumb-init setarch rlwrap eatmydata "
	 "linux32 linux64 i386 x86_64 uname26",
	 NULL, NULL, NULL, 0, false},
	{"xvfb-run", NULL,
	 "-n --server-num -s --server-args -e --error-file -f --auth-file -w --wait", NULL, 0,
	 false},
	{"caffeinate", NULL, "-t -w", NULL, 0, false},
	{"gosu su-exec setuidgid envuidgid", NULL, NULL, NULL, 1, false},
	{"logsave faketime", NULL, "-f", NULL, 1, false},
	{"chpst softlimit", NULL, "-u -U -b -e -/ -n -l -L -m -d -o -p -f -c -a -r -s -t", NULL, 0,
	 false},
	{"choom", NULL, "-n --adjust", "-p --pid", 0, false},
	{"trickle", NULL, "-d -u -w -t -l -n -N -P -D", NULL, 0, false},
	{"retry", NULL, "-t --times -d --delay -m --until-success-output", NULL, 0, false},
	{"systemd-inhibit", NULL, "--what --who --why --mode", "--list", 0, false},
	{"systemd-cat", NULL, "-t --identifier -p --priority --stderr-priority --level-prefix",
	 NULL, 0, false},
	{"dtach abduco", NULL, "-A -c -n -N -e -r", "-a -p", 0, false},
	{"daemonize", NULL, "-a -c -e -o -p -l -u -E", NULL, 0, false},
	{"tsp", NULL, "-L -N -D -W -g", "-l -K -C -S -t -c -p -o -i -s -r -w -k -u -U -O", 0,
	 false},
	{"entr", NULL, NULL, "-s", 0, false},
	{"watchexec", NULL,
	 "-e --exts -w --watch -W -i --ignore -f --filter -s --signal -d --debounce "
	 "--project-origin "
	 "--workdir -E --env --shell -o --on-busy-update",
	 NULL, 0, false},
	{"dotenv", NULL, "-f --file -e -p -v", "list get set unset", 0, false},
	{"direnv", "exec", NULL, NULL, 1, false},
	{"conda mamba micromamba", "run", "-n --name -p --prefix --cwd", NULL, 0, false},
	{"mise rtx", "exec x", "-C --cd -j --jobs", "-c --command", 0, false},
	{"perf", "stat record trace",
	 "-e --event -o --output -r --repeat -p --pid -t --tid -F --freq -c --count -C --cpu -g -I "
	 "-x -G -m -D --delay",
	 NULL, 0, false},
	{"screen", NULL, "-S -c -e -h -p -s -t -T", "-ls -list -r -R -x -X -wipe -Q -d -D", 0,
	 false},
	{"ld.so ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1", NULL,
	 "--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-mask",
	 "--list --verify --list-tunables --list-diagnostics", 0, false},
	{"sshpass", NULL, "-p -f -d -P", NULL, 0, false},
	{"setpriv", NULL, "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set", NULL,
	 0, false},
	{"numactl", NULL, "-N --cpunodebind -m --membind -C --physcpubind -i --interleave",
	 "-H --hardware -s --show", 0, false},
	{"firejail", NULL, NULL, "--list --tree --top", 0, false},
	{"bwrap", NULL,
	 "--unshare-userns --userns --userns2 --pidns --uid --gid --hostname --chdir --unsetenv "
	 "--lock-file --sync-fd --remount-ro --exec-label --file-label --proc --dev --tmpfs "
	 "--mqueue --dir --perms --size --seccomp --add-seccomp-fd --block-fd --info-fd --cap-add "
	 "--cap-drop --args --userns-block-fd --json-status-fd",
	 NULL, 0, false,
	 "--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv "
	 "--file --bind-data --ro-bind-data --chmod"},
	{"prlimit", NULL, NULL, "-p --pid", 0, false},
	{"proot", NULL, "-r -b -w -R -S -q", NULL, 0, false},
	{"stdbuf", NULL, "-i --input -o --output -e --error", NULL, 0, false},
	{"time", NULL, "-f --format -o --output", NULL, 0, false},
	{"command", NULL, NULL, "-v -V", 0, false},
	{"exec", NULL, "-a", NULL, 0, false},
	{"flock", NULL, "-w --timeout -E --conflict-exit-code", "-c --command", 1, false},
	{"chroot", NULL, "--groups --userspec", NULL, 1, false},
	{"unshare nsenter", NULL, "-t --target -S --setuid -G --setgid -w --wd", NULL, 0, false},
	{"strace ltrace", NULL, "-e -o -s -p -u -E -a -I -O -S -P", NULL, 0, false},
	{"valgrind", NULL, NULL, NULL, 0, false},
	{"grc", NULL, "-c --config", NULL, 0, false},
	{"systemd-run", NULL, "-u --unit -p --property -E --setenv -M --machine -H --host", NULL, 0,
	 false},
	{"poetry pipenv uv pdm rye", "run", "-p --python --with --extra --group --project", NULL, 0,
	 false},
	{"bundle pnpm yarn", "exec", "-C --dir --cwd", NULL, 0, false},
	{"npx bunx", NULL, "-p --package -c --call", NULL, 0, false},
	{"xargs", NULL,
	 "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s "
	 "--max-chars --process-slot-var",
	 NULL, 0, false},
};

/* Asked for every word of every table, so without calls. */
bool parse_word_in(const char *words, const char *word, size_t length)
{
	while (words && *words) {
		size_t i = 0;

		while (i < length && words[i] == word[i] && words[i] != ' ')
			i++;
		if (i == length && (words[i] == ' ' || !words[i]))
			return true;
		words += i;
		while (*words && *words != ' ')
			words++;
		while (*words == ' ')
			words++;
	}
	return false;
}

/* --chd is --chdir, as getopt_long() reads it. */
static bool is_long_in(const char *options, const char *option, size_t length)
{
	for (const char *at = options; length > 2 && at && (at = strstr(at, "--")); at += 2)
		if (strncmp(at, option, length) == 0)
			return true;
	return false;
}

/* How many words the option takes, its value included. */
static size_t option_size(const char *option, const char *with_value)
{
	if (option[1] == '-')
		return is_long_in(with_value, option, strlen(option)) ? 2 : 1;
	for (const char *letter = option + 1; *letter; letter++) {
		const char flag[] = {'-', *letter};

		if (parse_word_in(with_value, flag, sizeof(flag)))
			return letter[1] ? 1 : 2;
	}
	return 1;
}

static size_t find_operand(const struct command *command, size_t first, const char *with_value,
			   const char *with_two)
{
	size_t i = first;

	while (i < command->argc && command->argv[i][0] == '-' && command->argv[i][1]) {
		if (strcmp(command->argv[i], "--") == 0) {
			i++;
			break;
		}
		i += parse_word_in(with_two, command->argv[i], strlen(command->argv[i]))
			     ? 3
			     : option_size(command->argv[i], with_value);
	}
	return MIN(i, command->argc);
}

size_t parse_operand(const struct command *command, size_t first, const char *with_value)
{
	return find_operand(command, first, with_value, NULL);
}

static const struct wrapper *find_wrapper(const char *word)
{
	const char *name = path_last(word);

	for (size_t i = 0; i < ELEMENTS(wrappers); i++)
		if (parse_word_in(wrappers[i].names, name, strlen(name)))
			return &wrappers[i];
	return NULL;
}

/* python -m MODULE: the module's name is the program's. */
static size_t python_module(const struct command *command, size_t first)
{
	if (strncmp(path_last(command->argv[first]), "python", 6) != 0)
		return 0;
	for (size_t i = first + 1; i + 1 < command->argc && command->argv[i][0] == '-'; i++) {
		if (strcmp(command->argv[i], "-m") == 0)
			return i + 1;
		i += parse_word_in("-W -X", command->argv[i], strlen(command->argv[i]));
	}
	return 0;
}

size_t parse_wrapped(const struct command *command, size_t first)
{
	const struct wrapper *wrapper =
		first < command->argc ? find_wrapper(command->argv[first]) : NULL;
	size_t inner;

	if (!wrapper)
		return first < command->argc ? python_module(command, first) : 0;
	inner = find_operand(command, first + 1, wrapper->with_value, wrapper->with_two);
	if (wrapper->verb) {
		if (inner >= command->argc || !parse_word_in(wrapper->verb, command->argv[inner],
							     strlen(command->argv[inner])))
			return 0;
		inner = parse_operand(command, inner + 1, wrapper->with_value);
	}
	for (size_t i = first + 1; i < inner; i++)
		if (parse_word_in(wrapper->without, command->argv[i], strlen(command->argv[i])) ||
		    (command->argv[i][0] == '-' && command->argv[i][1] == '-' &&
		     is_long_in(wrapper->without, command->argv[i],
				strcspn(command->argv[i], "="))))
			return 0;
	if (wrapper->assignments && inner < command->argc && strcmp(command->argv[inner], "-") == 0)
		inner++; /* env - is env -i */
	/* whatever the name: a-b=1 and BASH_FUNC_x%%=1 are variables to them */
	while (wrapper->assignments && inner < command->argc && strchr(command->argv[inner], '='))
		inner++;
	inner += wrapper->operands;
	/* a word of its own may be followed by options again: flock FILE -c TEXT */
	if (inner < command->argc && wrapper->operands && command->argv[inner][0] == '-')
		return 0;
	return inner < command->argc ? inner : 0;
}

size_t unwrap_eval(const struct command *command, size_t first)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%";
	size_t start = parse_operand(command, first + 1, NULL), i = start;

	while (i < command->argc && strcmp(command->argv[i], "eval") == 0)
		i++;
	for (size_t j = i; j < command->argc && i > start; j++)
		if (!command->argv[j][0] || command->argv[j][strspn(command->argv[j], plain)] ||
		    unwrap_is_live(command, j))
			return start;
	return i < command->argc || i == start ? i : i - 1;
}

bool unwrap_is_live(const struct command *command, size_t i)
{
	return command->sources && i < command->argc && command->sources[i].text;
}

char *unwrap_joined(struct texts *texts, size_t first, size_t end)
{
	const struct command *command = texts->command;
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = first; i < end; i++) {
		if (i > first)
			buffer_add_char(&text, ' ');
		buffer_add_text(&text, command->argv[i]);
		texts->live |= unwrap_is_live(command, i);
	}
	return arena_strndup(texts->arena, buffer_text(&text), text.length);
}

static bool add_wrapper(struct arena *arena, struct command *command, const char *name)
{
	const char **names;

	if (command->wrapper_count >= WRAPPER_LIMIT)
		return false;
	/* shared with other commands until now */
	names = arena_new_array(arena, const char *, command->wrapper_count + 2);
	if (command->wrapper_count)
		memcpy(names, command->wrappers, command->wrapper_count * sizeof(*names));
	names[command->wrapper_count++] = name;
	command->wrappers = names;
	return true;
}

void unwrap_names(struct arena *arena, struct plan *plan, struct command *command)
{
	command->program = 0;
	while (command->program < command->argc) {
		size_t next = parse_wrapped(command, command->program);

		if (next == 0)
			return;
		if (!add_wrapper(arena, command, path_last(command->argv[command->program]))) {
			plan_opaque(arena, plan, OPAQUE_UNREAD, "it is wrapped too many times",
				    command->span);
			return;
		}
		command->program = next;
	}
}

/* docker run IMAGE COMMAND, kubectl exec POD -- COMMAND: what runs there, and where it begins. */
static size_t container_command(const struct command *command, size_t first)
{
	static const char docker_values[] =
		"-a --attach --add-host -c --cpu-shares --cpus --cpuset-cpus --cap-add --cap-drop "
		"--device "
		"--dns -e --env --env-file --entrypoint --expose -h --hostname --ip -l --label "
		"--link "
		"--log-driver --log-opt -m --memory --memory-swap --mount --name --network --net "
		"--pid "
		"--platform -p --publish --pull --restart --runtime --security-opt --shm-size "
		"--stop-signal "
		"--sysctl --tmpfs -u --user --ulimit --userns --uts -v --volume --volumes-from -w "
		"--workdir "
		"--gpus --ipc --cgroupns --detach-keys -f --file --project-name --profile --index";
	static const char kubectl_values[] =
		"-n --namespace -c --container --context --cluster --user "
		"--kubeconfig --pod-running-timeout -f --filename";
	const char *name = path_last(command->argv[first]);
	bool docker = parse_word_in("docker podman nerdctl docker-compose", name, strlen(name));
	const char *values = docker ? docker_values : kubectl_values;
	size_t verb, at;

	if (!docker && !parse_word_in("kubectl oc k3s", name, strlen(name)))
		return 0;
	verb = parse_operand(command, first + 1,
			     docker ? "-H --host -c --context -l --log-level --config" : values);
	while (verb < command->argc &&
	       parse_word_in("container compose kubectl", command->argv[verb],
			     strlen(command->argv[verb])))
		verb = parse_operand(command, verb + 1, values);
	if (verb >= command->argc ||
	    !parse_word_in(docker ? "run exec" : "exec", command->argv[verb],
			   strlen(command->argv[verb])))
		return 0;
	at = parse_operand(command, verb + 1, values) +
	     1; /* behind the image, the container or the pod */
	if (!docker)
		at = parse_operand(command, MIN(at, command->argc), values);
	return at < command->argc ? at : 0;
}

static void copy_words(struct arena *arena, const struct command *command, size_t first, size_t end,
		       struct command *ret_inner)
{
	*ret_inner = (struct command){.argc = end - first, .dynamic = true};
	ret_inner->argv = arena_new_array(arena, const char *, ret_inner->argc + 1);
	memcpy(ret_inner->argv, command->argv + first, ret_inner->argc * sizeof(*ret_inner->argv));
	if (!command->sources)
		return;
	ret_inner->sources = arena_new_array(arena, struct snippet, ret_inner->argc + 1);
	memcpy(ret_inner->sources, command->sources + first,
	       ret_inner->argc * sizeof(*ret_inner->sources));
}

bool unwrap_words(struct arena *arena, const struct command *command, size_t *at,
		  struct command *ret_inner)
{
	size_t i = MAX(*at, command->program + 1), end;

	if (command->program >= command->argc)
		return false;
	if (*at == 0 && (end = container_command(command, command->program))) {
		copy_words(arena, command, end, command->argc, ret_inner);
		ret_inner->dynamic = command->dynamic;
		ret_inner->remote = true;
		*at = command->argc;
		return true;
	}
	if (strcmp(path_last(command->argv[command->program]), "find") != 0)
		return false;
	while (i < command->argc && !parse_word_in("-exec -execdir -ok -okdir", command->argv[i],
						   strlen(command->argv[i])))
		i++;
	if (++i >= command->argc)
		return false;
	for (end = i; end < command->argc && strcmp(command->argv[end], ";") != 0; end++)
		if (end > i && strcmp(command->argv[end], "+") == 0 &&
		    strcmp(command->argv[end - 1], "{}") == 0)
			break;
	*at = end;
	copy_words(arena, command, i, end, ret_inner);
	return true;
}
