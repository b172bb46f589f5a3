/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a policy shown to people and programs. Secrets are not part of a policy. */
#include "policy_show.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <string.h>

static void print_text(const char *key, const char *text)
{
	if (!text)
		return;
	printf("      %s: ", key);
	policy_print_quoted(text);
	putchar('\n');
}

static void notices_of(const struct notify_channel *channel, struct list *ret_words)
{
	for (unsigned bit = 1; bit < NOTICE_END; bit <<= 1)
		if (channel->notices & bit)
			list_add(ret_words, notice_name(bit));
}

static void print_channel(const struct notify_channel *channel)
{
	_cleanup_list_ struct list notices = {0};

	notices_of(channel, &notices);
	printf("    - name: %s", channel->name);
	policy_print_origin(channel->file, channel->line);
	print_text("webhook", channel->url);
	print_text("webhook_file", channel->url_file);
	policy_print_list("      ", "program", &channel->program);
	if (channel->kind == CHANNEL_DESKTOP)
		puts("      desktop: true");
	policy_print_list("      ", "mail", &channel->mail);
	policy_print_list("      ", "on", &notices);
	printf("      risk: %s\n", risk_name(channel->risk));
	policy_print_list("      ", "agents", &channel->agents);
	if (channel->shape == SHAPE_SLACK)
		puts("      shape: slack");
	print_text("secret_file", channel->secret_file);
	print_text("secret_variable", channel->secret_variable);
	if (channel->insecure)
		puts("      insecure: true");
	print_text("from", channel->from);
	print_text("sendmail", channel->kind == CHANNEL_MAIL ? channel->sendmail : NULL);
	printf("      timeout: %.17g\n      attempts: %u\n      backoff: %.17g\n",
	       (double)channel->timeout_ns / 1e9, channel->attempts,
	       (double)channel->backoff_ns / 1e9);
}

void policy_print_notify(const struct notify *notify)
{
	if (notify->count || notify->callback)
		puts("notify:");
	if (notify->callback) {
		fputs("  callback: ", stdout);
		policy_print_quoted(notify->callback);
		putchar('\n');
	}
	for (enum channel_group group = 0; group < GROUPS; group++) {
		bool first = true;

		for (size_t i = 0; i < notify->count; i++) {
			if (notify->channels[i].group != group)
				continue;
			if (first)
				printf("  %s:\n", channel_group_name(group));
			first = false;
			print_channel(&notify->channels[i]);
		}
	}
}

static json_t *channel_object(const struct notify_channel *channel)
{
	_cleanup_list_ struct list notices = {0};
	json_t *object = json_object();

	notices_of(channel, &notices);
	json_put_text(object, "name", channel->name);
	json_put_text(object, "kind", channel_kind_name(channel->kind));
	json_put_text(object, "to", channel_group_name(channel->group));
	json_put_text(object, "webhook", channel->url);
	json_put_text(object, "webhook_file", channel->url_file);
	json_put_text(object, "shape", channel_shape_name(channel->shape));
	json_put_text(object, "secret_file", channel->secret_file);
	json_put_text(object, "secret_variable", channel->secret_variable);
	json_put(object, "insecure", json_boolean(channel->insecure));
	json_put_list(object, "program", &channel->program);
	json_put_list(object, "mail", &channel->mail);
	json_put_text(object, "from", channel->from);
	json_put_list(object, "on", &notices);
	json_put_text(object, "risk", risk_name(channel->risk));
	json_put_list(object, "agents", &channel->agents);
	json_put(object, "timeout_ms", json_real((double)channel->timeout_ns / 1e6));
	json_put(object, "backoff_ms", json_real((double)channel->backoff_ns / 1e6));
	json_put(object, "attempts", json_integer(channel->attempts));
	json_put_text(object, "file", channel->file);
	json_put(object, "line", json_integer(channel->line));
	return object;
}

json_t *policy_notify_object(const struct notify *notify)
{
	json_t *object = json_object(), *channels = json_array();

	for (size_t i = 0; i < notify->count; i++)
		json_array_append_new(channels, channel_object(&notify->channels[i]));
	json_put(object, "channels", channels);
	json_put_text(object, "callback", notify->callback);
	return object;
}
