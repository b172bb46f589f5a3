/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"
#include "../base/id.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../sys/told.h"
#include "ask_json.h"
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { GLANCE_MS = 100, PATIENCE_SECONDS = 30 * 60 };

int channel_send(struct channel *channel, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	int r = text ? write_all(channel->fd, text, strlen(text)) : -ENOMEM;

	if (r == 0)
		r = write_all(channel->fd, "\n", 1);
	free(text);
	json_decref(message);
	return r;
}

/* One line of what was read; NULL: none is whole yet. Caller frees. */
static char *take_line(struct channel *channel)
{
	struct buffer *heard = &channel->heard;
	char *end = heard->length ? memchr(heard->data, '\n', heard->length) : NULL, *line;
	size_t length;

	if (!end)
		return NULL;
	length = (size_t)(end - heard->data);
	line = strndup(heard->data, length);
	memmove(heard->data, end + 1, heard->length - length - 1);
	heard->length -= length + 1;
	return line;
}

/* 1: there was something, 0: nothing yet, -1: nobody is there any more. */
static int listen_once(struct channel *channel, const struct meanwhile *meanwhile)
{
	struct pollfd fds[] = {{channel->fd, POLLIN, 0},
			       {meanwhile ? meanwhile->fd : -1, POLLIN, 0}};
	char data[4096];
	ssize_t got;

	if (poll(fds, ELEMENTS(fds), GLANCE_MS) <= 0)
		return 0;
	if (fds[1].revents)
		meanwhile->serve(meanwhile->data);
	if (!fds[0].revents)
		return 0;
	got = recv(channel->fd, data, sizeof(data), MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0 || channel->heard.length + (size_t)got > CHANNEL_LINE)
		return -1;
	buffer_add(&channel->heard, data, (size_t)got);
	return 1;
}

/* True if a line that came is the answer to this question. Others are to questions that were
 * withdrawn. */
static bool take_answer(struct channel *channel, json_t *question, struct answer *ret_answer)
{
	const char *id = json_string_value(json_object_get(question, "id")), *about;
	bool taken = false;
	char *line;

	while (!taken && (line = take_line(channel))) {
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		about = json_string_value(json_object_get(object, "id"));
		taken = about && strcmp(about, id) == 0;
		/* What is none is a no: whoever sent it was to check it. */
		if (taken && answer_from_json(json_object_get(object, "answer"), question,
					      ret_answer, NULL) < 0)
			*ret_answer = (struct answer){.kind = ANSWER_DENY, .by = strdup("caller")};
		json_decref(object);
		free(line);
	}
	return taken;
}

static int put(void *data, const struct ask *ask, struct answer *ret_answer,
	       struct error **ret_error)
{
	struct channel *channel = data;
	const struct meanwhile *meanwhile = ask->meanwhile;
	uint64_t deadline = monotonic_ns() + PATIENCE_SECONDS * (uint64_t)1000000000;
	char id[ID_TEXT];
	json_t *question;
	int r;

	(void)ret_error; /* nobody to ask is no failure */
	id_make(id);
	question = ask_to_json(ask, id);
	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	r = channel_send(channel, json_pack("{s:s, s:O}", "type", "ask", "ask", question));
	while (r == 0 && !take_answer(channel, question, ret_answer)) {
		bool obsolete = meanwhile && meanwhile->obsolete(meanwhile->data);

		if (obsolete || told_to_stop() || monotonic_ns() > deadline) {
			if (!obsolete)
				*ret_answer = (struct answer){.kind = ANSWER_DENY,
							      .by = strdup("nobody in time")};
			r = channel_send(channel,
					 json_pack("{s:s, s:s}", "type", "withdrawn", "id", id));
			break;
		}
		r = MIN(listen_once(channel, meanwhile), 0);
	}
	json_decref(question);
	if (r < 0)
		channel->answers = false;
	return 0;
}

static bool is_there(void *data)
{
	return ((struct channel *)data)->answers;
}

static void tell(void *data, const char *text)
{
	(void)channel_send(data, json_pack("{s:s, s:s}", "type", "notice", "text", text));
}

struct approver channel_approver(struct channel *channel)
{
	return (struct approver){is_there, put, tell, channel};
}

void channel_done(struct channel *channel)
{
	buffer_done(&channel->heard);
}
