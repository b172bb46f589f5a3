/* SPDX-License-Identifier: Apache-2.0 */
/* What is told, as mail and as a notification on a desktop. Headers hold nothing that an agent, or
 * anybody but the policy, has written. */
#include "../base/escape.h"
#include "../base/id.h"
#include "../request/text_json.h"
#include "message.h"

#include <string.h>
#include <time.h>

enum { LINE_MOST = 900, SUMMARY_MOST = 200, MAIL_MOST = 256 << 10 };

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* When it happened, as mail writes it: not when it is sent, so that it stays the same. */
static void add_date(struct buffer *mail, const struct matter_told *matter)
{
	const char *time =
		matter->entry ? text_of(matter->entry, "since") : text_of(matter->event, "time");
	struct tm parts = {0};
	char text[64];

	if (!time || !strptime(time, "%Y-%m-%dT%H:%M:%S", &parts))
		return;
	(void)timegm(&parts); /* the day of the week */
	if (strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &parts))
		buffer_printf(mail, "Date: %s\n", text);
}

/* Lines that are fit for a terminal already, as long as mail may have them; the rest of a longer
 * one goes on in the next. */
static void add_lines(struct buffer *mail, const char *text)
{
	size_t column = 0;

	for (size_t i = 0, size; text[i] && mail->length < MAIL_MOST; i += size) {
		unsigned code;

		size = utf8_decode(text + i, strlen(text + i) < 4 ? strlen(text + i) : 4, &code);
		if (text[i] == '\n') {
			column = 0;
			size = 1;
			buffer_add_char(mail, '\n');
			continue;
		}
		if (column + 12 > LINE_MOST) {
			buffer_add_char(mail, '\n');
			column = 0;
		}
		size = size ? size : 1;
		escape_for_terminal(mail, text + i, size);
		column += size;
	}
	if (mail->length >= MAIL_MOST)
		buffer_add_text(mail, "\n... and more, which does not fit");
	buffer_add_char(mail, '\n');
}

static void add_event(struct buffer *mail, json_t *event)
{
	_cleanup_free_ char *text = json_dumps(event, JSON_INDENT(2) | JSON_ENSURE_ASCII);

	if (text)
		add_lines(mail, text);
	if (text_of(event, "run") && id_is_one(text_of(event, "run")))
		buffer_printf(mail, "\nward show %s\n", text_of(event, "run"));
}

char *message_mail(const struct notify_channel *channel, const struct matter_told *matter)
{
	_cleanup_buffer_ struct buffer mail = {0};

	if (channel->from)
		buffer_printf(&mail, "From: ward <%s>\n", channel->from);
	buffer_add_text(&mail, "To: ");
	for (size_t i = 0; i < channel->mail.count; i++)
		buffer_printf(&mail, "%s%s", i ? ",\n " : "", channel->mail.items[i]);
	buffer_add_text(&mail, "\nSubject: ");
	message_title(matter, &mail);
	buffer_add_char(&mail, '\n');
	add_date(&mail, matter);
	buffer_printf(&mail,
		      "Message-ID: <%s@ward.invalid>\nMIME-Version: 1.0\n"
		      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
		      "Auto-Submitted: auto-generated\n\n",
		      matter->delivery);
	if (matter->entry) {
		const char *id = text_of(matter->entry, "id"),
			   *text = text_of(json_object_get(matter->entry, "ask"), "text");

		add_lines(&mail, text ? text : "");
		buffer_printf(&mail, "\nward approve %s\nward deny %s\n", id, id);
	} else {
		add_event(&mail, matter->event);
	}
	return buffer_steal(&mail);
}

/* What some desktops take for markup. */
static void add_markup(struct buffer *buffer, const char *text)
{
	_cleanup_buffer_ struct buffer shown = {0};
	size_t length = strlen(text);

	escape_for_terminal(&shown, text, MIN(length, (size_t)SUMMARY_MOST));
	for (const char *at = buffer_text(&shown); *at; at++)
		if (*at == '&' || *at == '<' || *at == '>')
			buffer_add_text(buffer, *at == '&'   ? "&amp;"
						: *at == '<' ? "&lt;"
							     : "&gt;");
		else
			buffer_add_char(buffer, *at);
	if (length > SUMMARY_MOST)
		buffer_printf(buffer, " ... and %zu more bytes", length - SUMMARY_MOST);
}

json_t *message_desktop(const struct matter_told *matter)
{
	json_t *ask = json_object_get(matter->entry, "ask"), *object;
	_cleanup_buffer_ struct buffer title = {0}, body = {0};
	const char *what = matter->entry ? text_of(ask, "command") : text_of(matter->event, "kind");
	const char *agent = text_of(matter->entry ? ask : matter->event, "agent");

	message_title(matter, &title);
	if (agent) {
		add_markup(&body, agent);
		buffer_add_text(&body, ": ");
	}
	if (what)
		add_markup(&body, what);
	if (matter->entry)
		buffer_printf(&body, "\nward approve %s", text_of(matter->entry, "id"));
	else if (text_of(matter->event, "run"))
		buffer_printf(&body, "\nward show %s", text_of(matter->event, "run"));
	object = json_pack("{s:s, s:s, s:b}", "summary", buffer_text(&title), "body",
			   buffer_text(&body), "urgent",
			   matter->notice != NOTICE_EXPIRED && matter->notice != NOTICE_NEAR);
	if (!object)
		abort();
	return object;
}
