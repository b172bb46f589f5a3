/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions over one word. Whoever wrote the expression, or the word, may want it to take
 * for ever: both are bounded, and a bound that is reached is neither yes nor no. */
#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

enum { MATCH_LIMIT = 20000, DEPTH_LIMIT = 500, HEAP_LIMIT_KIB = 1024, NEST_LIMIT = 30 };

struct regex {
	pcre2_code *code;
};

int regex_compile(const char *text, size_t length, struct regex **ret_regex,
		  struct error **ret_error)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	unsigned char message[128];
	PCRE2_SIZE at = 0;
	pcre2_code *code;
	int number = 0;

	if (!context || pcre2_set_parens_nest_limit(context, NEST_LIMIT) != 0)
		abort();
	code = pcre2_compile((PCRE2_SPTR)text, length,
			     PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL | PCRE2_NEVER_UTF |
				     PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE,
			     &number, &at, context);
	pcre2_compile_context_free(context);
	if (!code) {
		if (pcre2_get_error_message(number, message, sizeof(message)) < 0)
			message[0] = '\0';
		return fail(ret_error, E_POLICY,
			    "the regular expression '%.*s' cannot be used: %s (at character %zu)",
			    (int)length, text, (const char *)message, at + 1);
	}
	*ret_regex = calloc(1, sizeof(**ret_regex));
	if (!*ret_regex)
		abort();
	(*ret_regex)->code = code;
	return 0;
}

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	pcre2_code_free(regex->code);
	free(regex);
}

enum truth regex_matches(const struct regex *regex, const char *word)
{
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int r;

	if (!context || !data)
		abort();
	pcre2_set_match_limit(context, MATCH_LIMIT);
	pcre2_set_depth_limit(context, DEPTH_LIMIT);
	pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
	r = pcre2_match(regex->code, (PCRE2_SPTR)word, strlen(word), 0, 0, data, context);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return r == PCRE2_ERROR_NOMATCH ? TRUTH_NO : r < 0 ? TRUTH_UNKNOWN : TRUTH_YES;
}
