/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as words of a command for which a rule is written: it has none, or what is written
 * reads back as one rule with exactly these words. Words end at NUL; the first is the directory. */
#include "../../src/decide/layer.h"
#include "../../src/decide/remember.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rule *rule, const char *text)
{
	_cleanup_buffer_ struct buffer file = {0};
	_cleanup_error_ struct error *error = NULL;
	struct layer *layer = NULL;
	const struct rule *read;

	buffer_printf(&file, "rules:\n%s", text);
	if (layer_parse(file.data, file.length, "fuzz.yaml", NULL, NULL, &layer, &error) < 0)
		abort();
	read = layer->rules;
	if (layer->count || layer->rule_count != 1 || read->kind != VERDICT_DENY ||
	    read->exactly.count != rule->exactly.count || strcmp(read->in, rule->in) != 0)
		abort();
	for (size_t i = 0; i < rule->exactly.count; i++)
		if (strcmp(read->exactly.items[i], rule->exactly.items[i]) != 0)
			abort();
	layer_free(layer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct buffer bytes = {0}, in = {0};
	struct rule rule = {.kind = VERDICT_DENY, .why = (char *)"fuzz"};
	char *text;

	if (size > 4096)
		return 0;
	buffer_add(&bytes, (const char *)data, size);
	buffer_add_char(&bytes, '\0');
	buffer_printf(&in, "/%s", bytes.data);
	rule.in = in.data;
	list_add(&rule.exactly, "program");
	for (size_t at = strlen(bytes.data) + 1; at < size && rule.exactly.count < 100;
	     at += strlen(bytes.data + at) + 1)
		list_add(&rule.exactly, bytes.data + at);
	text = remember_rule(&rule);
	if (text)
		check(&rule, text);
	free(text);
	list_done(&rule.exactly);
	return 0;
}
