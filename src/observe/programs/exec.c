/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started, whoever starts them: each is held against the rules with all its
 * words, and where one asks, the call waits for the answer. What may go on is sealed (seal.h): the
 * call itself continues, because nobody can execute a program for somebody else. */
#include "../observer.h"
#include "../../base/escape.h"
#include "../../base/io.h"
#include "../../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	SHORT = 4000,	      /* of a text in a list */
	UNSEALED_MOST = 32,   /* reports */
	LOADED_MOST = 64,     /* words of a loader that may be its program */
	CHECK_ONLY = 0x10000, /* AT_EXECVE_CHECK: nothing is started */
	FORKED = 0x40,	      /* PF_FORKNOEXEC: born, and has started nothing */
};

static const char rule_unread[] = "exec: its words cannot be read, and a rule may mean them";
static const char rule_long[] =
	"exec: it has more words than are looked at, and a rule may mean them";
static const char rule_traced[] =
	"exec: another program traces it, so that what is loaded cannot be "
	"checked, and a rule may mean it";

static const char rule_closed[] = "exec: its file cannot be read, so that what is loaded cannot be "
				  "checked, and a rule may mean it";
static const char rule_untraceable[] = "exec: this machine does not let ward trace, so that what "
				       "is loaded cannot be checked, and a "
				       "rule may mean it";

/* The strictest word so far, and the rule behind it. */
struct judged {
	enum program_word word;
	const char *rule;
};

char *exec_text(const char *real, const struct list *argv)
{
	_cleanup_buffer_ struct buffer text = {0};

	/* As bash says it, for what a program goes by can be what it does. */
	if (strcmp(path_last(argv->items[0]), path_last(real)) != 0) {
		buffer_add_text(&text, "-a ");
		escape_for_bash(&text, argv->items[0]);
		buffer_add_char(&text, ' ');
	}
	escape_for_bash(&text, real);
	for (size_t i = 1; i < argv->count; i++) {
		buffer_add_char(&text, ' ');
		escape_for_bash(&text, argv->items[i]);
	}
	return buffer_steal(&text);
}

char *exec_short_text(const char *real, const struct list *argv)
{
	const struct list none = {.items = (char *[]){(char *)real, NULL}, .count = 1};
	char *text = exec_text(real, argv->count ? argv : &none);

	if (strlen(text) > SHORT)
		strcpy(text + SHORT, "...");
	return text;
}

static void report(struct observer *observer, const char *real, const char *why)
{
	struct list *unsealed = &observer->seals.unsealed;
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, "not sealed: ");
	escape_for_terminal(&text, real, strlen(real));
	buffer_printf(&text, ": %s", why);
	if (unsealed->count < UNSEALED_MOST && !list_has(unsealed, buffer_text(&text)))
		list_add(unsealed, buffer_text(&text));
}

/* A start that is held against the rules. */
struct trial {
	const struct observer *observer;
	pid_t tid;
	const char *text;
	char directory[PATH_MAX]; /* that it is started in; "": not known */
	struct judged judged;
};

/* directory: NULL where it is the thread's own. */
static void trial_begin(struct trial *trial, const struct observer *observer, pid_t tid,
			const char *directory, const char *text)
{
	char link[64];
	ssize_t length;

	*trial = (struct trial){.observer = observer, .tid = tid, .text = text};
	snprintf(link, sizeof(link), "/proc/%d/cwd", tid);
	if (directory)
		snprintf(trial->directory, sizeof(trial->directory), "%s", directory);
	else if ((length = readlink(link, trial->directory, PATH_MAX - 1)) <= 0 ||
		 trial->directory[0] != '/')
		trial->directory[0] = '\0';
	else
		trial->directory[length] = '\0';
}

static void judge_as(struct trial *trial, const char *path, const char *real,
		     const struct list *words, size_t first)
{
	const struct programs *programs = trial->observer->observed->programs;
	const struct list argv = {.items = words->items + first, .count = words->count - first};
	const struct started started = {.path = path,
					.real = real,
					.argv = &argv,
					.text = trial->text,
					.directory = *trial->directory ? trial->directory : NULL};
	const char *rule = NULL;
	enum program_word word = programs->judge(programs->data, &started, &rule);

	if (word > trial->judged.word)
		trial->judged = (struct judged){word, rule};
}

/* ld.so, which runs the program that it is told to. */
static bool is_loader(const char *path)
{
	const char *name = path_last(path);

	return strcmp(name, "ld.so") == 0 || (strncmp(name, "ld-", 3) == 0 && strstr(name, ".so"));
}

/* Which of its words is the program depends on options that its versions differ in: any may be. */
static void judge_loaded(struct trial *trial, const struct list *words)
{
	const struct observer *observer = trial->observer;

	for (size_t i = 1; i < MIN(words->count, (size_t)LOADED_MOST); i++) {
		const char *word = words->items[i];
		struct found found;
		bool exists = false;

		if (word[0] == '-')
			continue;
		if (caller_find(observer->observed->root, trial->tid, AT_FDCWD, word, true,
				&found) == 0) {
			exists = found.exists;
			close(found.fd);
		}
		judge_as(trial, word, exists ? found.path : word, words, i);
	}
}

/* The file itself; and of a script whatever the kernel runs it by. */
static struct judged judge_program(const struct observer *observer, pid_t tid,
				   const struct program *program, const char *text)
{
	size_t before = program->words.count - program->argv.count + 1;
	struct trial trial;

	trial_begin(&trial, observer, tid, program->directory, text);
	judge_as(&trial, program->path, program->real, &program->argv, 0);
	for (size_t i = 0; program->scripts.count && i < before; i++) {
		const char *word = program->words.items[i];

		if (word[0] != '-')
			judge_as(&trial, word, i == 0 ? program->image : word, &program->words, i);
	}
	if (is_loader(program->image))
		judge_loaded(&trial, &program->words);
	return trial.judged;
}

const char *exec_refuses(struct observer *observer, pid_t pid, const char *exe,
			 const struct list *argv)
{
	_cleanup_free_ char *text = exec_text(exe, argv);
	struct trial trial;

	trial_begin(&trial, observer, pid, /* directory= */ NULL, text);
	judge_as(&trial, exe, exe, argv, 0);
	judge_loaded(&trial, argv); /* whatever it is, it may run another */
	if (trial.judged.word == PROGRAM_ASK || trial.judged.word == PROGRAM_DENY)
		return trial.judged.rule;
	report(observer, exe,
	       "this machine runs files by it that ward does not know (binfmt_misc)");
	return NULL;
}

/* True if the thread is the command before it has started anything: it runs our own code then, its
 * memory is init's, and nobody else is inside. */
static bool is_of_init(struct observer *observer, pid_t tid)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at;
	unsigned flags = 0;

	if (!observer->seals.command)
		observer->seals.command = tid;
	if (tid != observer->seals.command)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 || !(at = strrchr(text, ')')))
		return false;
	return sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & FORKED;
}

static int read_of_init(struct observer *observer, const struct seccomp_notif *call,
			struct program *program)
{
	const struct programs *programs = observer->observed->programs;
	size_t candidate = call->data.args[3] & INIT_CANDIDATE;
	_cleanup_list_ struct list argv = {0};
	bool by_shell = call->data.args[3] & INIT_BY_SHELL;
	const char *path;
	int r;

	if (candidate >= programs->candidates->count)
		return -EINVAL;
	path = programs->candidates->items[candidate];
	if (by_shell) {
		list_add(&argv, "sh");
		list_add(&argv, path);
	}
	for (size_t i = by_shell; i < programs->argv->count; i++)
		list_add(&argv, programs->argv->items[i]);
	r = program_find(observer, (pid_t)call->pid, by_shell ? SHELL_OF_SCRIPTS : path, &argv,
			 program);
	program->directory = programs->directory;
	return r;
}

/* What could not be looked at is refused; what the kernel would not run fails as it would there. */
static void fail_call(struct observer *observer, const struct seccomp_notif *call,
		      const struct trap *trap, const struct program *program, int error)
{
	const char *object = *program->real   ? program->real
			     : *program->path ? program->path
					      : "a program";

	if (error == EPERM)
		refuse(observer, call, trap, "exec", object, rule_unread, EACCES);
	else if (error == E2BIG)
		refuse(observer, call, trap, "exec", object, rule_long, E2BIG);
	else if (still_waiting(observer, call->id))
		answer(observer, call->id, error);
}

static void ask_or_refuse(struct observer *observer, const struct seccomp_notif *call,
			  const struct trap *trap, const struct program *program, const char *text,
			  const struct judged *judged)
{
	_cleanup_free_ char *object = exec_short_text(program->real, &program->argv);
	const struct wish wish = {.operation = "exec", .object = object, .command = text};

	if (judged->word == PROGRAM_ASK && wish_add(observer, call, trap, &wish, judged->rule))
		return;
	refuse(observer, call, trap, "exec", object, judged->rule, EACCES);
}

/* What runs by a yes should be what was shown. */
static void report_unsealed(struct observer *observer, const struct program *program,
			    enum program_word word)
{
	const char *rule = NULL;

	if (is_loader(program->image))
		report(observer, program->image,
		       "it loads the program that it is told to by itself");
	if (word != PROGRAM_GIVEN)
		return;
	if (may_write(observer, program->real, &rule))
		report(observer, program->real, "the sandbox can rewrite it");
	else if (program->scripts.count &&
		 (program->path[0] != '/' || may_write(observer, program->path, &rule)))
		report(observer, program->real, "a script, by a name that the sandbox can change");
}

static void go_on(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, const struct program *program)
{
	int r = observer->observed->programs->sealed ? seal_put(observer, call, trap, program) : 0;
	_cleanup_free_ char *object = NULL;
	char status[64];

	if (r == 0) {
		if (observer->observed->witness) {
			object = exec_short_text(program->real, &program->argv);
			witness_tell(observer, (pid_t)call->pid, "exec", object);
		}
		answer_continue(observer, call->id);
	} else if (r == -EAGAIN) {
		answer(observer, call->id, EAGAIN);
	} else if (r == -EPERM) {
		snprintf(status, sizeof(status), "/proc/%d/status", (pid_t)call->pid);
		object = exec_short_text(program->real, &program->argv);
		refuse(observer, call, trap, "exec", object,
		       proc_number(status, "TracerPid", 10) == 0 ? rule_untraceable : rule_traced,
		       EACCES);
	}
}

void serve_exec(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap)
{
	_cleanup_(program_done) struct program program = {0};
	bool of_init = is_of_init(observer, (pid_t)call->pid);
	_cleanup_free_ char *text = NULL;
	struct judged judged;
	int r;

	if (call->data.nr == SYS_execveat && call->data.args[4] & CHECK_ONLY) {
		answer_continue(observer, call->id); /* that is in a register, and stays */
		return;
	}
	r = of_init ? read_of_init(observer, call, &program)
		    : program_read(observer, call, &program);
	if (r < 0) {
		fail_call(observer, call, trap, &program, -r);
		return;
	}
	if (!still_waiting(observer, call->id))
		return;
	text = exec_text(program.real, &program.argv);
	judged = judge_program(observer, (pid_t)call->pid, &program, text);
	if (judged.word == PROGRAM_ASK || judged.word == PROGRAM_DENY) {
		ask_or_refuse(observer, call, trap, &program, text, &judged);
		return;
	}
	if (of_init) { /* nobody is inside who could change anything */
		observer->renewed.waiting = false;
		answer_continue(observer, call->id);
		return;
	}
	if (program.closed) {
		refuse(observer, call, trap, "exec", program.real, rule_closed, EACCES);
		return;
	}
	report_unsealed(observer, &program, judged.word);
	go_on(observer, call, trap, &program);
}
