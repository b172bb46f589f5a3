/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that show records share: options, errors, text made fit for a terminal, the end of
 * the output. */
#pragma once

#include "../../src/base/buffer.h"
#include "../../src/base/error.h"
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

enum { EXIT_WARD = 125, WORDS_TEXT = 32 };

/* A reader that goes away ends the output, not the program. */
void output_begin(void);
/* Flushes; the exit status: status itself, also where the reader went away, or 125 where the output
 * could not be written. */
int output_end(const char *verb, int status);
/* True once nothing more can be written, so that a long list can stop. */
bool output_is_closed(void);

/* "ward VERB: message" and the hint, on stderr, escaped; 125. */
int output_error(const char *verb, const struct error *error);
/* The same for words on the command line; the hint is the verb's own help. */
int output_usage(const char *verb, const char *format, ...) _printf_(2, 3);
/* For what getopt_long() answered with '?' or ':' (the short options begin with ':'). */
int output_bad_option(const char *verb, char *const argv[], const struct option *options,
		      int answer);

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };
/* Text from a record, escaped, in a colour where stdout is a terminal that wants colours. */
void output_text(enum colour colour, const char *text);
/* Cuts escaped text to the width, with an ellipsis in place of what does not fit. True where some
 * does not. */
bool output_shorten(struct buffer *text, size_t width);
/* The columns that escaped text fills. */
size_t output_columns(const struct buffer *text);
/* One object on one line; on a terminal in ASCII, so that nothing in it can steer that terminal. */
void output_json(const json_t *object);

/* A time of a record (UTC) as local time; as it is where it cannot be read. */
void output_time(const char *utc, const char *format, char ret_text[static WORDS_TEXT]);
void output_duration(double ms, char ret_text[static WORDS_TEXT]);
/* How a run came out, in a word: its exit code, its signal, the limit that ended it, why it did not
 * start; its colour. */
enum colour output_outcome(const json_t *run, char ret_text[static WORDS_TEXT]);

static inline const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
