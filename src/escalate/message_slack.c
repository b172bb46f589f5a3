/* SPDX-License-Identifier: Apache-2.0 */
/* What is told, as Slack and those who read its webhooks want it: a line of text, and blocks. Words
 * of an agent's stand in plain text, where nothing is markup. */
#include "../base/escape.h"
#include "../request/text_json.h"
#include "message.h"

#include <string.h>

enum { PLAIN_MOST = 2800, FIELD_MOST = 1800, LINE_MOST = 600 };

/* Buttons that need no second question; a yes for longer, or to more, is given where all of it can
 * be seen. */
static const struct {
	const char *choice, *label, *style;
} buttons[] = {
	{"approve once", "Approve once", "primary"},
	{"approve session", "Approve for the session", NULL},
	{"approve monitored", "Approve, and follow it", NULL},
	{"deny once", "Deny", "danger"},
	{"deny session", "Deny for the session", NULL},
	{"abort", "Abort", NULL},
	{"defer", "Later", NULL},
};

static void add_escaped(struct buffer *buffer, const char *text, bool code)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			buffer_add_text(buffer, "&amp;");
			break;
		case '<':
			buffer_add_text(buffer, "&lt;");
			break;
		case '>':
			buffer_add_text(buffer, "&gt;");
			break;
		case '@':
		case '`':
			if (code) {
				buffer_printf(buffer, "\\x%02x", *text);
				break;
			}
			/* fallthrough */
		default:
			buffer_add_char(buffer, *text);
		}
}

void message_add_slack(struct buffer *buffer, const char *text)
{
	_cleanup_buffer_ struct buffer shown = {0};

	escape_for_terminal(&shown, text, strlen(text));
	add_escaped(buffer, buffer_text(&shown), /* code= */ false);
}

void message_add_code(struct buffer *buffer, const char *text)
{
	_cleanup_buffer_ struct buffer shown = {0};

	escape_for_terminal(&shown, text, strlen(text));
	add_escaped(buffer, buffer_text(&shown), /* code= */ true);
}

/* All of it where there is room; else the beginning of it, whole characters, and that it is not
 * all.
 */
static bool add_bounded(struct buffer *buffer, const char *text, size_t most)
{
	_cleanup_buffer_ struct buffer whole = {0};
	_cleanup_free_ char *part = NULL;
	size_t end = most / 8;

	message_add_slack(&whole, text);
	if (whole.length <= most) {
		buffer_add_text(buffer, buffer_text(&whole));
		return true;
	}
	end = MIN(end, strlen(text));
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	part = strndup(text, end);
	if (!part)
		abort();
	message_add_slack(buffer, part);
	buffer_printf(buffer, " ... and %zu more bytes", strlen(text) - end);
	return false;
}

static json_t *plain(const char *text)
{
	return json_pack("{s:s, s:s, s:b}", "type", "plain_text", "text", text, "emoji", 0);
}

static json_t *section(const char *text)
{
	return json_pack("{s:s, s:o}", "type", "section", "text", plain(text));
}

/* False where not all of it is shown. */
static bool add_field(json_t *fields, const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer buffer = {0};
	bool whole;

	if (!text || !*text)
		return true;
	buffer_printf(&buffer, "%s: ", label);
	whole = add_bounded(&buffer, text, FIELD_MOST);
	json_array_append_new(fields, plain(buffer_text(&buffer)));
	return whole;
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* What a yes creates, whole; false where it does not fit. */
static bool add_grants(json_t *blocks, json_t *ask)
{
	_cleanup_buffer_ struct buffer grants = {0}, text = {0};
	json_t *item;
	size_t i;
	bool whole;

	json_array_foreach (json_object_get(ask, "grants"), i, item)
		buffer_printf(&grants, "%s%s", i ? ", " : "", json_string_value(item));
	buffer_add_text(&text, "A yes gives: ");
	whole = add_bounded(&text, grants.length ? buffer_text(&grants) : "nothing more",
			    LINE_MOST);
	json_array_append_new(blocks, section(buffer_text(&text)));
	return whole;
}

static bool is_offered(json_t *ask, const char *choice)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(ask, "choices"), i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), choice) == 0)
			return true;
	return false;
}

static json_t *confirmation(void)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "title", plain("Are you sure?"), "text",
			 plain("What it does may not be undone."), "confirm", plain("Approve"),
			 "deny", plain("Back"));
}

static json_t *make_button(const struct matter_told *matter, size_t number, bool asks_twice)
{
	const char *choice = buttons[number].choice;
	_cleanup_buffer_ struct buffer value = {0};
	json_t *button;

	buffer_printf(&value, "%s %s %s %s", text_of(matter->entry, "id"), matter->nonce,
		      text_of(matter->entry, "hash"), choice);
	button = json_pack("{s:s, s:o, s:s, s:s}", "type", "button", "text",
			   plain(buttons[number].label), "action_id", choice, "value",
			   buffer_text(&value));
	if (buttons[number].style)
		json_put_text(button, "style", buttons[number].style);
	if (asks_twice && strncmp(choice, "approve", 7) == 0)
		json_put(button, "confirm", confirmation());
	return button;
}

static void add_buttons(json_t *blocks, const struct matter_told *matter, bool whole)
{
	json_t *ask = json_object_get(matter->entry, "ask"), *elements = json_array();
	const char *risk = text_of(json_object_get(ask, "risk"), "level");
	bool asks_twice = json_is_true(json_object_get(ask, "destroys")) ||
			  (risk && (strcmp(risk, "high") == 0 || strcmp(risk, "critical") == 0));

	for (size_t i = 0; i < ELEMENTS(buttons); i++)
		/* A yes is to what was seen. */
		if (is_offered(ask, buttons[i].choice) &&
		    (whole || strncmp(buttons[i].choice, "approve", 7) != 0))
			json_array_append_new(elements, make_button(matter, i, asks_twice));
	if (json_array_size(elements))
		json_array_append_new(
			blocks, json_pack("{s:s, s:O}", "type", "actions", "elements", elements));
	json_decref(elements);
}

static void add_question(json_t *blocks, const struct matter_told *matter)
{
	json_t *ask = json_object_get(matter->entry, "ask"), *fields = json_array();
	_cleanup_buffer_ struct buffer text = {0}, how = {0};
	bool whole = add_bounded(&text, text_of(ask, "command") ? text_of(ask, "command") : "",
				 PLAIN_MOST) &&
		     !json_object_get(ask, "code");

	json_array_append_new(blocks, section(text.length ? buffer_text(&text) : "-"));
	whole &= add_field(fields, "Agent", text_of(ask, "agent"));
	whole &= add_field(fields, "Directory", text_of(ask, "cwd"));
	whole &= add_field(fields, "Operation", text_of(ask, "operation"));
	whole &= add_field(fields, "Why it is asked", text_of(ask, "why"));
	whole &= add_field(fields, "Wants", text_of(ask, "object"));
	whole &= add_field(fields, "Which is", text_of(ask, "note"));
	whole &= add_field(fields, "The agent says", text_of(ask, "reason"));
	whole &= add_field(fields, "A model's opinion, unchecked",
			   text_of(json_object_get(ask, "opinion"), "summary"));
	whole &= add_field(fields, "Until", text_of(matter->entry, "until"));
	if (json_array_size(fields))
		json_array_append_new(blocks,
				      json_pack("{s:s, s:O}", "type", "section", "fields", fields));
	json_decref(fields);
	whole &= add_grants(blocks, ask);
	buffer_printf(&how, "%sward approve %s, or ward deny %s",
		      whole ? "" : "Not all of it is shown here. ", text_of(matter->entry, "id"),
		      text_of(matter->entry, "id"));
	json_array_append_new(blocks, section(buffer_text(&how)));
	if (matter->callback)
		add_buttons(blocks, matter, whole);
}

static void add_event(json_t *blocks, const struct matter_told *matter)
{
	static const char *const keys[] = {"run", "agent", "session", "permission",
					   "why", "time",  "kind"};
	json_t *fields = json_array();

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		(void)add_field(fields, keys[i], text_of(matter->event, keys[i]));
	if (json_array_size(fields))
		json_array_append_new(blocks,
				      json_pack("{s:s, s:O}", "type", "section", "fields", fields));
	json_decref(fields);
}

json_t *message_slack(const struct notify_channel *channel, const struct matter_told *matter)
{
	json_t *blocks = json_array(), *object;
	const char *command = text_of(json_object_get(matter->entry, "ask"), "command");
	_cleanup_buffer_ struct buffer title = {0}, text = {0};

	(void)channel;
	message_title(matter, &title);
	/* For those who show no blocks, and for notifications. */
	buffer_add_text(&text, buffer_text(&title));
	if (command) {
		_cleanup_free_ char *start = strndup(command, LINE_MOST);
		bool lossy;
		_cleanup_free_ char *valid =
			start ? escape_to_utf8(start, strlen(start), &lossy) : NULL;

		buffer_add_text(&text, ": ```");
		message_add_code(&text, valid ? valid : "");
		buffer_printf(&text, "```%s", strlen(command) > LINE_MOST ? " and more" : "");
	}
	json_array_append_new(blocks, json_pack("{s:s, s:o}", "type", "header", "text",
						plain(buffer_text(&title))));
	if (matter->entry)
		add_question(blocks, matter);
	else
		add_event(blocks, matter);
	object = json_pack("{s:s, s:o, s:b, s:b}", "text", buffer_text(&text), "blocks", blocks,
			   "unfurl_links", 0, "unfurl_media", 0);
	if (!object)
		abort();
	return object;
}
