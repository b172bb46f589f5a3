/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and back: words that are read as flags, printed, taken apart as bash does and read again
 * give the same line. Input: words, each ended by NUL. */
#include "../../cmd/ward/options.c"
#include "../../cmd/ward/options_print.c"

enum { WORDS_MOST = 64, INPUT_BYTES = 4096 };

/* The words that escape_for_bash writes, in place. Returns how many. */
static int take_apart(char *line, char *words[static WORDS_MOST * 4])
{
	char *in = line, *out = line;
	int count = 0;

	while (*in) {
		while (*in == ' ')
			in++;
		words[count++] = out;
		while (*in && *in != ' ') {
			bool ansi = in[0] == '$' && in[1] == '\'';

			if (*in == '\\') { /* an escaped quote between two quoted parts */
				*out++ = in[1];
				in += 2;
				continue;
			}
			if (!ansi && *in != '\'') {
				*out++ = *in++;
				continue;
			}
			for (in += ansi ? 2 : 1; *in != '\'';) {
				if (!*in)
					abort(); /* a quote without its end */
				if (!ansi || *in != '\\') {
					*out++ = *in++;
				} else if (in[1] >= '0' && in[1] <= '7') {
					*out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 +
							(in[3] - '0'));
					in += 4;
				} else {
					*out++ = in[1];
					in += 2;
				}
			}
			in++;
		}
		if (*in)
			in++;
		*out++ = '\0';
	}
	words[count] = NULL;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_request_ struct request request, again;
	_cleanup_buffer_ struct buffer line = {0}, second = {0};
	_cleanup_free_ char *text = malloc(size + 1), *copy = NULL;
	char *words[WORDS_MOST * 4];
	int count = 0;

	if (!text || size > INPUT_BYTES)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	words[count++] = (char *)"run";
	for (size_t at = 0; at < size && count < WORDS_MOST; at += strlen(text + at) + 1)
		words[count++] = text + at;
	words[count] = NULL;
	request_init(&request);
	request_init(&again);
	if (options_parse_flags(count, words, &request, NULL) != 0)
		return 0;
	buffer_add_text(&line, "run");
	options_print(&request, &line);
	copy = strdup(buffer_text(&line));
	count = take_apart(copy, words);
	if (options_parse_flags(count, words, &again, NULL) != 0)
		abort();
	buffer_add_text(&second, "run");
	options_print(&again, &second);
	if (strcmp(buffer_text(&line), buffer_text(&second)) != 0)
		abort();
	return 0;
}
