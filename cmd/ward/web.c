/* SPDX-License-Identifier: Apache-2.0 */
/* ward web: the inbox in a browser, links into it, and who is in. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/units.h"
#include "../../src/record/state.h"
#include "../../src/request/text_json.h"
#include "../../src/sys/beside.h"
#include "../../src/web/running.h"
#include "../../src/web/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward web [OPTION...]\n"
	"       ward web link [--as NAME]\n"
	"       ward web sessions [--json]\n"
	"       ward web revoke ID|all\n"
	"\n"
	"Serves the inbox, where questions are seen and answered in a browser, and prints a link "
	"that lets in\n"
	"once, within ten minutes. Ctrl-C ends it. As long as it serves, runs without a terminal "
	"wait for answers.\n"
	"Where one serves already, it prints a link to that. Commands in a sandbox cannot reach "
	"it.\n"
	"\n"
	"  --as NAME       who the link is for: the answers given there are on record as this "
	"approver's;\n"
	"                  default: the login name\n"
	"  --port N        where to listen; default: where it did the last time, else any that is "
	"free\n"
	"  --listen ADDR   a loopback address; default: 127.0.0.1\n"
	"  --anywhere      ADDR may be one that other machines reach. Nothing is encrypted: ssh -L "
	"is better\n"
	"  --host NAME     another name that it is reached under; repeatable\n"
	"  --help          this text\n"
	"\n"
	"link prints another link; sessions lists who is logged in; revoke ends one of these "
	"sessions, or all.\n"
	"A session ends by itself after seven days, or twelve hours without use.\n"
	"\n"
	"example: ward web, and for a colleague at this machine: ward web link --as alice\n";

static int print_link(const char *state, const char *url, const char *name,
		      struct error **ret_error)
{
	_cleanup_free_ char *usual = name ? NULL : web_default_name();
	char code[SECRET_TEXT];
	int r = web_link_make(state, name ? name : usual, code, ret_error);

	if (r == 0)
		printf("%s#login=%s\n", url, code);
	return r;
}

/* Returns only where it could not be started. It is told where ward is: tickets need that. */
static int start_server(int argc, char **argv, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL, *own = realpath("/proc/self/exe", NULL);
	_cleanup_free_ char **words = calloc((size_t)argc + 3, sizeof(*words));
	_cleanup_close_ int fd = beside_open("ward-web", &path, ret_error);

	if (fd < 0)
		return fd;
	if (!words || !own)
		return fail_errno(ret_error, E_ENGINE, errno, "finding ward's own file");
	words[0] = path;
	words[1] = "--program";
	words[2] = own;
	for (int i = 1; i < argc; i++)
		words[i + 2] = argv[i];
	fexecve(fd, words, environ);
	return fail_errno(ret_error, E_ENGINE, errno, "starting %s", path);
}

static int serve(int argc, char **argv, const char *name)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL, *url = NULL;
	int r = name ? web_check_name(name, &error) : 0;

	if (r == 0)
		r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	if (r == 0)
		r = web_running_find(state, &url, &error);
	if (r == 1) {
		fprintf(stderr, "ward web: it serves already; this is a new link to it\n");
		r = print_link(state, url, name, &error);
		return r < 0 ? output_error("web", error) : output_end("web", 0);
	}
	if (r == 0)
		(void)start_server(argc, argv, &error);
	return output_error("web", error);
}

static int link_verb(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL, *url = NULL;
	int r;

	if (argc != 2 && (argc != 4 || strcmp(argv[2], "--as") != 0))
		return output_usage("web", "link takes --as NAME and nothing else");
	r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	if (r == 0)
		r = web_running_find(state, &url, &error);
	if (r == 0) {
		fail(&error, E_NOT_FOUND, "no server of yours is there to link to");
		r = error_hint(&error, "`ward web` starts one");
	}
	if (r > 0)
		r = print_link(state, url, argc == 4 ? argv[3] : NULL, &error);
	return r < 0 ? output_error("web", error) : output_end("web", 0);
}

static void time_words(int64_t seconds, char text[static TIME_TEXT])
{
	time_text_of(&(struct timespec){.tv_sec = seconds}, text);
}

static void show_json(void *data, const struct web_session *session)
{
	char since[TIME_TEXT], seen[TIME_TEXT];
	json_t *object = json_object();

	(void)data;
	time_words(session->since, since);
	time_words(session->seen, seen);
	json_put(object, "id", json_string(session->id));
	json_put(object, "name", json_text(session->name));
	json_put(object, "since", json_string(since));
	json_put(object, "seen", json_string(seen));
	json_put(object, "agent", json_text(session->agent));
	output_json(object);
	json_decref(object);
}

static void show_words(void *data, const struct web_session *session)
{
	char time[TIME_TEXT], since[WORDS_TEXT], seen[WORDS_TEXT];

	(*(size_t *)data)++;
	time_words(session->since, time);
	output_time(time, "%m-%d %H:%M", since);
	time_words(session->seen, time);
	output_time(time, "%m-%d %H:%M", seen);
	output_text(COLOUR_BOLD, session->id);
	printf("  ");
	output_text(COLOUR_NONE, session->name);
	printf("  since %s, seen %s  ", since, seen);
	output_text(COLOUR_NONE, session->agent ? session->agent : "");
	putchar('\n');
}

static int sessions_verb(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
	size_t count = 0;
	int r;

	if (argc != 2 && !json)
		return output_usage("web", "sessions takes --json and nothing else");
	r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	if (r == 0)
		r = web_session_list(state, json ? show_json : show_words, &count, &error);
	if (r == 0 && !json && count == 0)
		puts("nobody is logged in");
	return r < 0 ? output_error("web", error) : output_end("web", 0);
}

static void add_id(void *data, const struct web_session *session)
{
	list_add(data, session->id);
}

static int revoke_verb(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	_cleanup_list_ struct list ids = {0};
	size_t ended = 0;
	bool all;
	int r;

	if (argc != 3)
		return output_usage("web", "revoke takes the ID of a session, or all");
	all = strcmp(argv[2], "all") == 0;
	r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	if (r == 0 && all) /* first: no session is to come of one while they are ended */
		r = web_links_end(state, &error);
	if (r == 0)
		r = web_session_list(state, add_id, &ids, &error);
	for (size_t i = 0; r == 0 && i < ids.count; i++)
		if (all || strcmp(ids.items[i], argv[2]) == 0)
			ended += web_session_end(state, ids.items[i]);
	if (r == 0 && !all && ended == 0) {
		fail(&error, E_NOT_FOUND, "there is no session '%s'", argv[2]);
		r = error_hint(&error, "`ward web sessions` lists them");
	}
	if (r < 0)
		return output_error("web", error);
	printf("%zu session%s ended\n", ended, ended == 1 ? "" : "s");
	return output_end("web", 0);
}

/* What serves reads its words itself; here they are only held against what there is. */
static int check_words(int argc, char **argv, const char **ret_name)
{
	static const char *const valued[] = {"--as", "--port", "--listen", "--host"};

	for (int i = 1; i < argc; i++) {
		bool known = strcmp(argv[i], "--anywhere") == 0;

		for (size_t k = 0; !known && k < ELEMENTS(valued); k++) {
			if (strcmp(argv[i], valued[k]) != 0)
				continue;
			if (i + 1 == argc)
				return output_usage("web", "'%s' needs a value", argv[i]);
			known = true;
			i++;
			if (k == 0)
				*ret_name = argv[i];
			break;
		}
		if (!known)
			return output_usage("web", "'%s' is no option of it", argv[i]);
	}
	return 0;
}

int verb_web(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {{"link", link_verb}, {"sessions", sessions_verb}, {"revoke", revoke_verb}};
	const char *name = NULL;
	int r;

	output_begin();
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(help, stdout);
			return output_end("web", 0);
		}
	for (size_t i = 0; argc > 1 && i < ELEMENTS(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc, argv);
	r = check_words(argc, argv, &name);
	return r ? r : serve(argc, argv, name);
}
