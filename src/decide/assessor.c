/* SPDX-License-Identifier: Apache-2.0 */
/* The model that is asked for an opinion: where it is, and by which key; said by the system's or
 * the user's own file, never by a project. */
#include "../base/io.h"
#include "../base/path.h"
#include "../base/units.h"
#include "decide.h"
#include "merge.h"
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MOST = 2048, KEY_MOST = 4096 };

static const uint64_t time_most_ns = ASSESSOR_TIME_NS, time_least_ns = 100000000;

static int read_text(struct reading *reading, const struct node *node, char **text,
		     const char *hint)
{
	if (node->kind != NODE_TEXT || !*node->text || strlen(node->text) > TEXT_MOST)
		return read_wrong_kind(reading, node, "text", hint);
	*text = read_copy(node->text);
	return 0;
}

int read_assessor_url(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char hint[] = "write url: https://models.example/v1/chat/completions";
	int r = read_text(reading, node, &reading->layer->assessor.url, hint);

	(void)kind;
	if (r == 0 && strncmp(node->text, "https://", 8) != 0 &&
	    strncmp(node->text, "http://", 7) != 0)
		return yaml_fail(reading->ret_error, reading->layer->file, node, hint,
				 "this is no URL");
	return r;
}

int read_assessor_model(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_text(reading, node, &reading->layer->assessor.model,
			 "write model: the name that the server knows it by");
}

static int read_path(struct reading *reading, const struct node *node, char **path,
		     const char *hint)
{
	int r = read_text(reading, node, path, hint);

	if (r == 0 && **path != '/' && strncmp(*path, "~/", 2) != 0)
		return yaml_fail(reading->ret_error, reading->layer->file, node, hint,
				 "this file is named by its absolute path");
	return r;
}

int read_assessor_key_file(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_path(reading, node, &reading->layer->assessor.key_file,
			 "write key_file: ~/.config/ward/model.key");
}

int read_assessor_ca_file(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_path(reading, node, &reading->layer->assessor.ca_file,
			 "write ca_file: /etc/ssl/company.pem");
}

/* Only what is kept from commands anyway. */
int read_assessor_key_variable(struct reading *reading, const struct node *node,
			       enum setting_kind kind)
{
	static const char hint[] = "write key_variable: MODEL_API_KEY";
	int r = read_text(reading, node, &reading->layer->assessor.key_variable, hint);

	(void)kind;
	if (r == 0 && !value_is_variable(node->text))
		return yaml_fail(reading->ret_error, reading->layer->file, node, hint,
				 "this is no name of a variable");
	if (r == 0 && !decide_is_secret_variable(node->text))
		return yaml_fail(reading->ret_error, reading->layer->file, node, hint,
				 "commands would be given this variable: its name does not say "
				 "that it holds a secret");
	return r;
}

int read_assessor_timeout(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	uint64_t *timeout = &reading->layer->assessor.timeout_ns;

	(void)kind;
	if (node->kind != NODE_TEXT || parse_duration(node->text, timeout, NULL) < 0 ||
	    *timeout < time_least_ns || *timeout > time_most_ns)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "write timeout: 3s", "a time from 100ms to 5s is wanted here");
	return 0;
}

int read_assessor_send(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct assessor *assessor = &reading->layer->assessor;
	static const char hint[] = "write send: [command, directory, denial], or fewer";
	bool command = false;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list", hint);
	assessor->without_directory = assessor->without_denial = true;
	for (size_t i = 0; i < node->count; i++) {
		const char *text = node->items[i]->kind == NODE_TEXT ? node->items[i]->text : "";

		if (strcmp(text, "command") == 0)
			command = true;
		else if (strcmp(text, "directory") == 0)
			assessor->without_directory = false;
		else if (strcmp(text, "denial") == 0)
			assessor->without_denial = false;
		else
			return yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
					 hint, "nothing else is sent");
	}
	return command ? 0
		       : yaml_fail(reading->ret_error, reading->layer->file, node, hint,
				   "without the command there is nothing to judge");
}

int read_assessor(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct assessor *assessor = &reading->layer->assessor;
	int r = read_map(reading, node, SECTION_ASSESSOR, NULL);

	(void)kind;
	if (r == 0 && (!assessor->url || !assessor->model))
		r = yaml_fail(reading->ret_error, reading->layer->file, node,
			      "write url: and model:", "an assessor has a url and a model");
	if (r == 0 && assessor->key_file && assessor->key_variable)
		r = yaml_fail(reading->ret_error, reading->layer->file, node,
			      "leave one of them out",
			      "key_file and key_variable exclude each other");
	if (!assessor->timeout_ns)
		assessor->timeout_ns = time_most_ns;
	assessor->file = read_copy(reading->layer->file);
	assessor->line = node->line;
	return r;
}

void assessor_done(struct assessor *assessor)
{
	free(assessor->url);
	free(assessor->model);
	free(assessor->key_file);
	free(assessor->key_variable);
	free(assessor->ca_file);
	free(assessor->file);
	*assessor = (struct assessor){0};
}

void merge_assessor(struct policy *policy, struct layer *layer)
{
	if (!layer->assessor.url)
		return;
	if (!layer->names_callers) {
		list_add_printf(&policy->warnings,
				"%s:%d:1: ignored: the assessor is named by the system's and the "
				"user's own file only",
				layer->file, layer->assessor.line);
		return;
	}
	assessor_done(&policy->assessor);
	policy->assessor = layer->assessor;
	layer->assessor = (struct assessor){0};
	/* Its key is no command's. */
	if (policy->assessor.key_file &&
	    !list_has(&policy->sandbox.deny, policy->assessor.key_file))
		list_add(&policy->sandbox.deny, policy->assessor.key_file);
}

static char *expand(const struct policy *policy, const char *path)
{
	char *whole = NULL;

	if (*path != '~')
		return read_copy(path);
	if (asprintf(&whole, "%s%s", policy->home ? policy->home : "", path + 1) < 0)
		abort();
	return whole;
}

char *assessor_ca_file(const struct policy *policy)
{
	return policy->assessor.ca_file ? expand(policy, policy->assessor.ca_file) : NULL;
}

static int read_key_file(const struct policy *policy, char **ret_key, struct error **ret_error)
{
	_cleanup_free_ char *path = expand(policy, policy->assessor.key_file);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[KEY_MOST + 1];
	struct stat st;
	ssize_t length;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_POLICY, errno, "the key in %s", path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IRWXG | S_IRWXO)))
		return fail(ret_error, E_POLICY, "the key in %s is open to others: chmod 600",
			    path);
	length = read_all(fd, text, sizeof(text));
	if (length < 0)
		return fail_errno(ret_error, E_POLICY, (int)-length, "the key in %s", path);
	while (length > 0 && strchr(" \t\r\n", text[length - 1]))
		length--;
	if (length == 0 || length > KEY_MOST || memchr(text, '\0', (size_t)length))
		return fail(ret_error, E_POLICY, "there is no key in %s", path);
	text[length] = '\0';
	*ret_key = read_copy(text);
	explicit_bzero(text, sizeof(text));
	return 0;
}

int assessor_key(const struct policy *policy, char **ret_key, struct error **ret_error)
{
	const struct assessor *assessor = &policy->assessor;
	const char *value = assessor->key_variable ? getenv(assessor->key_variable) : NULL;

	*ret_key = NULL;
	if (assessor->key_file)
		return read_key_file(policy, ret_key, ret_error);
	if (assessor->key_variable && (!value || !*value))
		return fail(ret_error, E_POLICY, "%s, which holds the key, is not set",
			    assessor->key_variable);
	*ret_key = value ? read_copy(value) : NULL;
	return 0;
}
