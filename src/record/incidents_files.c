/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one agent: opened without following links, read whole, written whole. */
#include "incidents_parts.h"
#include "../base/buffer.h"
#include "../base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *agent_place(const char *state, const char *agent)
{
	_cleanup_buffer_ struct buffer path = {0};

	/* As decide/trust.h names it: what is not plain as %XX. */
	buffer_printf(&path, "%s/agents/", state);
	for (const char *c = agent; *c; c++)
		if (isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || *c == '-' ||
						   *c == '_' || (*c == '.' && c != agent)))
			buffer_add_char(&path, *c);
		else
			buffer_printf(&path, "%%%02X", (unsigned char)*c);
	return buffer_steal(&path);
}

int agent_place_make(const char *state, const char *agent, struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, agent);
	int r = make_directories(place, 0700);

	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "cannot make %s", place) : 0;
}

/* What somebody else could write tells nothing about the agent. */
static int open_own(int at, const char *name, struct error **ret_error)
{
	_cleanup_close_ int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot open %s", name);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
		fail(ret_error, E_ENGINE, "%s is not ours alone", name);
		return error_hint(ret_error, "its files say which agents are in safe mode: see to "
					     "whose it is, and chmod 700");
	}
	return STEAL_FD(fd);
}

int agent_files_open(const char *state, const char *agent, struct agent_files *ret_files,
		     struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, agent);
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	int r = agent_place_make(state, agent, ret_error);

	if (r < 0)
		return r;
	if ((files.directory = open_own(AT_FDCWD, place, ret_error)) < 0)
		return files.directory;
	if (mkdirat(files.directory, "incidents", 0700) < 0 && errno != EEXIST)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot make %s/incidents", place);
	if ((files.incidents = open_own(files.directory, "incidents", ret_error)) < 0)
		return files.incidents;
	files.lock =
		openat(files.directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (files.lock < 0 || flock(files.lock, LOCK_EX) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot lock %s", place);
	*ret_files = files;
	files = AGENT_FILES_NONE;
	return 0;
}

void agent_files_close(struct agent_files *files)
{
	close_fd(&files->directory);
	close_fd(&files->incidents);
	close_fd(&files->lock);
}

static int refuse(struct error **ret_error, int errnum, const char *name)
{
	if (errnum)
		fail_errno(ret_error, E_ENGINE, errnum, "cannot read %s", name);
	else
		fail(ret_error, E_ENGINE, "%s is not what ward wrote", name);
	return error_hint(ret_error, "it says which mode an agent is in: look at it, and at the "
				     "audit log; a person may remove it");
}

int agent_file_read(int directory, const char *name, json_t **ret_object, struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = read_file(directory, name, AGENT_FILE_MOST, &text, &length);

	*ret_object = NULL;
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		*ret_object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(*ret_object))
		return 0;
	json_decref(*ret_object);
	*ret_object = NULL;
	return refuse(ret_error, -r, name);
}

int agent_file_write(int directory, const char *name, const json_t *object, enum durable durable,
		     struct error **ret_error)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_INDENT(1));
	_cleanup_close_ int fd = -1;
	char new[64];
	int r = 0;

	if (!text)
		return fail(ret_error, E_ENGINE, "%s is no JSON", name);
	snprintf(new, sizeof(new), ".%.40s.new", name); /* under the lock there is one writer */
	(void)unlinkat(directory, new, 0);
	fd = openat(directory, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		r = -errno;
	if (r == 0)
		r = write_all(fd, text, strlen(text));
	if (r == 0 && ((durable == DURABLE_NOW && fsync(fd) < 0) ||
		       renameat(directory, new, directory, name) < 0 ||
		       (durable == DURABLE_NOW && fsync(directory) < 0)))
		r = -errno;
	if (r == 0)
		return 0;
	(void)unlinkat(directory, new, 0);
	return fail_errno(ret_error, E_ENGINE, -r, "cannot write %s", name);
}

/* A number that only ever grows; 0 where there is none yet. */
static bool take_number(const json_t *object, const char *key, json_int_t *ret_number)
{
	const json_t *value = json_object_get(object, key);

	*ret_number = json_integer_value(value);
	return !value || (json_is_integer(value) && *ret_number >= 0);
}

int mode_of_json(const json_t *object, struct agent_mode *ret_mode, struct error **ret_error)
{
	const json_t *mode = json_object_get(object, "mode"),
		     *incident = json_object_get(object, "incident");
	const char *word = mode ? json_string_value(mode) : "normal",
		   *id = json_string_value(incident);
	bool safe = word && strcmp(word, "safe") == 0;
	json_int_t freezes, voided;

	*ret_mode = (struct agent_mode){0};
	/* One of them alone says nothing: whoever has lost the other may be in either. */
	if (!take_number(object, "freezes", &freezes) || !take_number(object, "voided", &voided) ||
	    (safe ? !id || !id_is_one(id)
		  : !word || strcmp(word, "normal") != 0 || (incident && !json_is_null(incident))))
		return refuse(ret_error, 0, MODE);
	*ret_mode =
		(struct agent_mode){.safe = safe, .freezes = (uint64_t)freezes, .voided = voided};
	if (safe)
		memcpy(ret_mode->incident, id, ID_TEXT);
	return 0;
}

int mode_read(const char *state, const char *agent, struct agent_mode *ret_mode,
	      struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, agent), *file = NULL;
	json_t *object = NULL;
	struct stat st;
	int r;

	*ret_mode = (struct agent_mode){0};
	if (lstat(place, &st) < 0 && errno == ENOENT)
		return 0;
	if ((r = mode_settle(state, agent, ret_error)) < 0)
		return r;
	if (asprintf(&file, "%s/mode.json", place) < 0)
		abort();
	if (lstat(file, &st) == 0 && !S_ISREG(st.st_mode))
		return fail(ret_error, E_ENGINE, "%s is no file", file);
	r = agent_file_read(AT_FDCWD, file, &object, ret_error);
	if (r == 0)
		r = mode_of_json(object, ret_mode, ret_error);
	json_decref(object);
	return r;
}
