/* SPDX-License-Identifier: Apache-2.0 */
/* Reading `notify` of a policy file. */
#include "notify.h"
#include "policy.h"
#include "reading.h"
#include "../base/path.h"
#include "../base/units.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNEL_LIMIT = 16, WORDS_LIMIT = 100, NAME_LIMIT = 32, ATTEMPTS_LIMIT = 20 };

static const uint64_t second_ns = UINT64_C(1000000000);

static int wrong(struct reading *reading, const struct node *node, const char *hint,
		 const char *what)
{
	return yaml_fail(reading->ret_error, reading->layer->file, node, hint, "%s", what);
}

static bool is_word(const struct node *node)
{
	return node->kind == NODE_TEXT && *node->text && strlen(node->text) <= 4096;
}

static int read_words(struct reading *reading, const struct node *node, struct list *ret_words,
		      const char *hint)
{
	if (node->kind != NODE_LIST || node->count == 0 || node->count > WORDS_LIMIT)
		return read_wrong_kind(reading, node, "a list", hint);
	for (size_t i = 0; i < node->count; i++) {
		if (!is_word(node->items[i]))
			return read_wrong_kind(reading, node->items[i], "text", hint);
		list_add(ret_words, node->items[i]->text);
	}
	return 0;
}

/* The first of the keys that say what a channel is. */
static int take_kind(struct reading *reading, const struct node *node, enum channel_kind kind)
{
	if (reading->channel->kind != CHANNEL_NONE)
		return wrong(reading, node, "make two channels of it",
			     "a channel is one of webhook, program, desktop and mail");
	reading->channel->kind = kind;
	return 0;
}

int read_channel_name(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	(void)kind;
	if (!is_word(node) || strlen(node->text) > NAME_LIMIT ||
	    strspn(node->text, letters) != strlen(node->text) || node->text[0] == '-')
		return wrong(reading, node, "write name: team-chat",
			     "a name of small letters, digits and dashes is wanted here");
	reading->channel->name = read_copy(node->text);
	return 0;
}

int read_channel_webhook(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node))
		return read_wrong_kind(reading, node, "text",
				       "write webhook: https://chat.example/hook");
	reading->channel->url = read_copy(node->text);
	return take_kind(reading, node, CHANNEL_WEBHOOK);
}

int read_channel_webhook_file(struct reading *reading, const struct node *node,
			      enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || (node->text[0] != '/' && node->text[0] != '~'))
		return wrong(reading, node, "write webhook_file: ~/.config/ward/chat.url",
			     "the whole path of a file is wanted here");
	reading->channel->url_file = read_copy(node->text);
	return take_kind(reading, node, CHANNEL_WEBHOOK);
}

int read_channel_shape(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) ||
	    (strcmp(node->text, "generic") != 0 && strcmp(node->text, "slack") != 0))
		return wrong(reading, node, "write shape: slack",
			     "generic or slack is wanted here");
	reading->channel->shape = strcmp(node->text, "slack") == 0 ? SHAPE_SLACK : SHAPE_GENERIC;
	return 0;
}

int read_channel_secret_file(struct reading *reading, const struct node *node,
			     enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || (node->text[0] != '/' && node->text[0] != '~'))
		return wrong(reading, node, "write secret_file: ~/.config/ward/chat.secret",
			     "the whole path of a file is wanted here");
	reading->channel->secret_file = read_copy(node->text);
	return 0;
}

int read_channel_secret_variable(struct reading *reading, const struct node *node,
				 enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || !value_is_variable(node->text))
		return wrong(reading, node, "write secret_variable: CHAT_SECRET",
			     "the name of a variable is wanted here, not its value");
	reading->channel->secret_variable = read_copy(node->text);
	return 0;
}

static int read_truth(struct reading *reading, const struct node *node, bool *ret_truth)
{
	if (!is_word(node) || (strcmp(node->text, "true") != 0 && strcmp(node->text, "false") != 0))
		return wrong(reading, node, "write true or false", "true or false is wanted here");
	*ret_truth = strcmp(node->text, "true") == 0;
	return 0;
}

int read_channel_insecure(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_truth(reading, node, &reading->channel->insecure);
}

int read_channel_program(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char hint[] = "write program: [/usr/local/bin/tell, --chat]";
	int r = read_words(reading, node, &reading->channel->program, hint);

	(void)kind;
	if (r == 0 && reading->channel->program.items[0][0] != '/')
		return wrong(reading, node->items[0], hint,
			     "a program that runs outside the sandbox is named by its absolute "
			     "path");
	return r < 0 ? r : take_kind(reading, node, CHANNEL_PROGRAM);
}

int read_channel_desktop(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	bool wanted = false;
	int r = read_truth(reading, node, &wanted);

	(void)kind;
	if (r == 0 && !wanted)
		return wrong(reading, node, "remove the channel",
			     "a channel that is none has no use");
	return r < 0 ? r : take_kind(reading, node, CHANNEL_DESKTOP);
}

/* It becomes a word of sendmail's and part of a header: nothing that means something there. */
static bool is_address(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("@.-_+", *at))
			return false;
	return *text && *text != '-' && *text != '@' && strlen(text) <= 254 &&
	       strchr(text, '@') == strrchr(text, '@');
}

int read_channel_mail(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char hint[] = "write mail: [security@example.org]";
	struct list *mail = &reading->channel->mail;
	int r = read_words(reading, node, mail, hint);

	(void)kind;
	for (size_t i = 0; r == 0 && i < mail->count; i++)
		if (!is_address(mail->items[i]))
			r = wrong(reading, node->items[i], hint, "this is no plain address");
	return r < 0 ? r : take_kind(reading, node, CHANNEL_MAIL);
}

int read_channel_from(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || !is_address(node->text))
		return wrong(reading, node, "write from: ward@example.org",
			     "a plain address is wanted here");
	reading->channel->from = read_copy(node->text);
	return 0;
}

int read_channel_sendmail(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || node->text[0] != '/')
		return wrong(reading, node, "write sendmail: /usr/sbin/sendmail",
			     "the absolute path of a program is wanted here");
	free(reading->channel->sendmail);
	reading->channel->sendmail = read_copy(node->text);
	return 0;
}

int read_channel_on(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char hint[] = "write on: [asked, unanswered, expired, incident, near_limit]";
	_cleanup_list_ struct list words = {0};
	int r = read_words(reading, node, &words, hint);

	(void)kind;
	reading->channel->notices = 0;
	for (size_t i = 0; r == 0 && i < words.count; i++) {
		unsigned found = 0;

		for (unsigned bit = 1; bit < NOTICE_END; bit <<= 1)
			if (strcmp(words.items[i], notice_name(bit)) == 0)
				found = bit;
		if (!found)
			return wrong(reading, node->items[i], hint,
				     "there is nothing of that name to be told of");
		reading->channel->notices |= found;
	}
	return r;
}

int read_channel_risk(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	for (enum risk risk = RISK_LOW; is_word(node) && risk <= RISK_CRITICAL; risk++)
		if (strcmp(node->text, risk_name(risk)) == 0) {
			reading->channel->risk = risk;
			return 0;
		}
	return wrong(reading, node, "write risk: high",
		     "low, medium, high or critical is wanted here");
}

int read_channel_agents(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_words(reading, node, &reading->channel->agents, "write agents: [\"claude*\"]");
}

static int read_time(struct reading *reading, const struct node *node, uint64_t most,
		     const char *what, uint64_t *ret_ns)
{
	if (!is_word(node) || parse_duration(node->text, ret_ns, NULL) < 0 ||
	    *ret_ns < second_ns / 100 || *ret_ns > most)
		return wrong(reading, node, "write it as 10s", what);
	return 0;
}

int read_channel_timeout(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_time(reading, node, 3600 * second_ns, "a time from 10ms to 1h is wanted here",
			 &reading->channel->timeout_ns);
}

int read_channel_backoff(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_time(reading, node, 60 * second_ns, "a time from 10ms to 1m is wanted here",
			 &reading->channel->backoff_ns);
}

int read_channel_attempts(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	uint64_t number = 0;

	(void)kind;
	if (!is_word(node) || parse_count(node->text, &number, NULL) < 0 || number < 1 ||
	    number > ATTEMPTS_LIMIT)
		return wrong(reading, node, "write attempts: 12",
			     "a number from 1 to 20 is wanted here");
	reading->channel->attempts = (unsigned)number;
	return 0;
}

/* What only makes sense together. */
static int check_channel(struct reading *reading, const struct node *node)
{
	const struct notify_channel *channel = reading->channel;
	bool hook = channel->kind == CHANNEL_WEBHOOK;

	if (!channel->name)
		return wrong(reading, node, "write name: team-chat", "a channel without a name");
	if (notify_find(&reading->layer->notify, channel->name) != channel)
		return wrong(reading, node, "give it another", "two channels have that name");
	if (channel->kind == CHANNEL_NONE)
		return wrong(reading, node, "write webhook, program, desktop or mail",
			     "a channel that leads nowhere");
	if (channel->secret_file && channel->secret_variable)
		return wrong(reading, node, "remove one of them", "a channel has one secret");
	if (!hook && (channel->secret_file || channel->secret_variable || channel->insecure ||
		      channel->shape != SHAPE_GENERIC))
		return wrong(reading, node, "remove shape, insecure and the secret",
			     "only a webhook has a shape and a secret");
	if (channel->kind != CHANNEL_MAIL && channel->from)
		return wrong(reading, node, "remove from", "only mail is from somebody");
	if (channel->url && !channel_url_is_good(channel->url, channel->insecure))
		return wrong(reading, node,
			     "write webhook: https://chat.example/hook; http leads to this machine "
			     "alone, unless insecure: true",
			     "this is no URL that is posted to");
	return 0;
}

static int read_channels(struct reading *reading, const struct node *node, enum channel_group group)
{
	struct notify *notify = &reading->layer->notify;
	int r = 0;

	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "begin each with a dash: - name: team-chat");
	if (notify->count + node->count > CHANNEL_LIMIT)
		return wrong(reading, node, "remove some", "more than 16 channels");
	notify->channels = reallocarray(notify->channels, notify->count + node->count + 1,
					sizeof(*notify->channels));
	if (!notify->channels)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		struct notify_channel *channel = &notify->channels[notify->count];

		*channel = (struct notify_channel){
			.group = group,
			.sendmail = read_copy("/usr/sbin/sendmail"),
			.notices = group == GROUP_APPROVERS
					   ? NOTICE_ASKED | NOTICE_UNANSWERED
					   : NOTICE_UNANSWERED | NOTICE_EXPIRED | NOTICE_INCIDENT,
			.timeout_ns = 10 * second_ns,
			.backoff_ns = second_ns,
			.attempts = 12,
			.file = read_copy(reading->layer->file),
			.line = node->items[i]->line,
		};
		notify->count++;
		reading->channel = channel;
		r = read_map(reading, node->items[i], SECTION_CHANNEL, NULL);
		if (r == 0)
			r = check_channel(reading, node->items[i]);
	}
	return r;
}

int read_notify_approvers(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_channels(reading, node, GROUP_APPROVERS);
}

int read_notify_security(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_channels(reading, node, GROUP_SECURITY);
}

int read_notify_callback(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (!is_word(node) || !channel_url_is_good(node->text, /* insecure= */ false) ||
	    strchr(node->text, '?'))
		return wrong(
			reading, node, "write callback: https://ward.example",
			"the URL under which `ward web` is reached is wanted here, with https, "
			"or http on this machine");
	reading->layer->notify.callback = read_copy(node->text);
	return 0;
}

int read_notify(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	reading->layer->notify_line = node->line;
	return read_map(reading, node, SECTION_NOTIFY, NULL);
}
