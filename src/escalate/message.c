/* SPDX-License-Identifier: Apache-2.0 */
/* What is told, as one JSON object for programs, and what all shapes have in common. */
#include "message.h"
#include "../base/escape.h"
#include "../request/text_json.h"

#include <string.h>

enum { BODY_MOST = 256 << 10, KEPT_MOST = 8 << 10 };

void message_add_key(struct buffer *buffer, json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text)
		escape_for_terminal(buffer, text, strlen(text));
}

void message_title(const struct matter_told *matter, struct buffer *ret_text)
{
	json_t *ask = json_object_get(matter->entry, "ask");
	const char *risk =
		json_string_value(json_object_get(json_object_get(ask, "risk"), "level"));

	switch (matter->notice) {
	case NOTICE_ASKED:
		buffer_add_text(ret_text, "ward: a question waits for an answer");
		if (risk)
			buffer_printf(ret_text, " (risk: %s)", risk);
		break;
	case NOTICE_UNANSWERED:
		buffer_add_text(ret_text, "ward: nobody answered a question in time");
		break;
	case NOTICE_EXPIRED:
		buffer_add_text(ret_text, "ward: a grant ended while its command ran");
		break;
	case NOTICE_NEAR:
		buffer_add_text(ret_text, "ward: a run comes near to a limit");
		break;
	default:
		buffer_add_text(ret_text, "ward: an incident");
	}
}

/* What stays the same as long as it waits, but for the number that ties answers to it. */
static json_t *question_of(json_t *entry)
{
	static const char *const left_out[] = {"nonce", "lasts", "ticket", "progress", "likeness"};
	json_t *question = json_copy(entry);

	for (size_t i = 0; i < ELEMENTS(left_out); i++)
		json_object_del(question, left_out[i]);
	return question;
}

/* What can be left out first. */
static void shorten(json_t *question)
{
	static const char *const heavy[] = {
		"text", "code", "similar_operations", "extents", "what_will_happen", "refused"};
	static const char *const kept[] = {"id",      "kind", "agent", "session",
					   "choices", "risk", "tier"};
	json_t *ask = json_copy(json_object_get(question, "ask")), *rest;

	for (size_t i = 0; i < ELEMENTS(heavy); i++)
		json_object_del(ask, heavy[i]);
	if (json_dumpb(ask, NULL, 0, JSON_COMPACT) > BODY_MOST) {
		rest = json_object();
		for (size_t i = 0; i < ELEMENTS(kept); i++)
			if (json_object_get(ask, kept[i]) &&
			    json_dumpb(json_object_get(ask, kept[i]), NULL, 0, JSON_ENCODE_ANY) <
				    KEPT_MOST)
				json_object_set(rest, kept[i], json_object_get(ask, kept[i]));
		json_decref(ask);
		ask = rest;
	}
	json_put(question, "ask", ask);
}

json_t *message_generic(const struct notify_channel *channel, const struct matter_told *matter)
{
	json_t *object = json_object(), *question;
	_cleanup_buffer_ struct buffer title = {0};
	bool shortened = false;

	message_title(matter, &title);
	json_put(object, "version", json_integer(1));
	json_put_text(object, "delivery", matter->delivery);
	json_put_text(object, "channel", channel->name);
	json_put_text(object, "to", channel_group_name(channel->group));
	json_put_text(object, "event", notice_name(matter->notice));
	json_put_text(object, "title", buffer_text(&title));
	if (!matter->entry) {
		json_object_set(object, "about", matter->event);
		return object;
	}
	question = question_of(matter->entry);
	if (json_dumpb(question, NULL, 0, JSON_COMPACT) > BODY_MOST) {
		shorten(question);
		shortened = true;
	}
	json_put(object, "question", question);
	if (shortened)
		json_put(object, "shortened", json_true());
	/* A yes is to what was seen. */
	if (matter->callback && !shortened)
		json_put(object, "callback",
			 json_pack("{s:s, s:s, s:O}", "url", matter->callback, "nonce",
				   matter->nonce, "hash", json_object_get(matter->entry, "hash")));
	else
		json_put(object, "callback", json_null());
	return object;
}

char *message_make(const struct notify_channel *channel, const struct matter_told *matter)
{
	json_t *object = NULL;
	char *text;

	if (channel->kind == CHANNEL_MAIL)
		return message_mail(channel, matter);
	if (channel->kind == CHANNEL_DESKTOP)
		object = message_desktop(matter);
	else if (channel->kind == CHANNEL_WEBHOOK && channel->shape == SHAPE_SLACK)
		object = message_slack(channel, matter);
	else
		object = message_generic(channel, matter);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (!text)
		abort();
	return text;
}
