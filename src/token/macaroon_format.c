/* SPDX-License-Identifier: Apache-2.0 */
/* Version 2 of the binary format: fields of a type, a length and bytes, each part of the macaroon
 * ended by a zero. Every length is checked against what is there before anything is copied. */
#include "macaroon.h"

#include <string.h>

enum { VERSION = 2 };
enum field { END = 0, LOCATION = 1, ID = 2, SEALED = 4, SIGNATURE = 6 };

struct reader {
	const unsigned char *data;
	size_t length, at;
};

/* Seven bits a byte, lowest first; the shortest form alone, so that one macaroon is one text. */
static bool read_number(struct reader *reader, size_t *ret_number)
{
	size_t number = 0;

	for (unsigned shift = 0; shift <= 21; shift += 7) {
		unsigned char byte;

		if (reader->at == reader->length)
			return false;
		byte = reader->data[reader->at++];
		number |= (size_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret_number = number;
		return byte != 0 || shift == 0;
	}
	return false;
}

/* True if the field was there, and was read. */
static bool read_field(struct reader *reader, enum field field, size_t most, struct bytes *ret)
{
	size_t length;

	*ret = (struct bytes){0};
	if (reader->at == reader->length || reader->data[reader->at] != field)
		return false;
	reader->at++;
	if (!read_number(reader, &length) || length == 0 || length > most ||
	    length > reader->length - reader->at)
		return false;
	ret->data = malloc(length);
	if (!ret->data)
		abort();
	memcpy(ret->data, reader->data + reader->at, length);
	ret->length = length;
	reader->at += length;
	return true;
}

static bool is_next(const struct reader *reader, enum field field)
{
	return reader->at < reader->length && reader->data[reader->at] == field;
}

static bool read_end(struct reader *reader)
{
	if (!is_next(reader, END))
		return false;
	reader->at++;
	return true;
}

/* A field that need not be there. */
static bool read_optional(struct reader *reader, enum field field, size_t most, struct bytes *ret)
{
	*ret = (struct bytes){0};
	return !is_next(reader, field) || read_field(reader, field, most, ret);
}

static bool read_caveat(struct reader *reader, struct macaroon_caveat *caveat)
{
	return read_optional(reader, LOCATION, MACAROON_FIELD, &caveat->location) &&
	       read_field(reader, ID, MACAROON_FIELD, &caveat->id) &&
	       read_optional(reader, SEALED, MACAROON_FIELD, &caveat->sealed) && read_end(reader);
}

static bool read_caveats(struct reader *reader, struct macaroon *macaroon)
{
	macaroon->caveats = calloc(MACAROON_CAVEATS, sizeof(*macaroon->caveats));
	if (!macaroon->caveats)
		abort();
	while (!is_next(reader, END)) {
		if (macaroon->count == MACAROON_CAVEATS)
			return false;
		/* Counted before it is read: what is read of it is freed. */
		if (!read_caveat(reader, &macaroon->caveats[macaroon->count++]))
			return false;
	}
	return read_end(reader);
}

static bool read_all_of(struct reader *reader, struct macaroon *macaroon)
{
	struct bytes signature = {0};
	bool whole;

	if (reader->at == reader->length || reader->data[reader->at++] != VERSION ||
	    !read_optional(reader, LOCATION, MACAROON_FIELD, &macaroon->location) ||
	    !read_field(reader, ID, MACAROON_FIELD, &macaroon->id) || !read_end(reader) ||
	    !read_caveats(reader, macaroon))
		return false;
	whole = read_field(reader, SIGNATURE, MACAROON_KEY, &signature) &&
		signature.length == MACAROON_KEY;
	if (whole)
		memcpy(macaroon->signature, signature.data, MACAROON_KEY);
	free(signature.data);
	return whole;
}

int macaroon_read(const unsigned char *data, size_t length, size_t *ret_used,
		  struct macaroon *ret_macaroon, struct error **ret_error)
{
	struct reader reader = {.data = data, .length = length};
	struct macaroon macaroon = {0};

	if (!read_all_of(&reader, &macaroon)) {
		macaroon_done(&macaroon);
		return fail(ret_error, E_INPUT,
			    "the token is no macaroon of version 2: it breaks off or is damaged at "
			    "byte %zu",
			    reader.at);
	}
	*ret_used = reader.at;
	*ret_macaroon = macaroon;
	return 0;
}

static void write_number(size_t number, struct buffer *to)
{
	for (; number > 0x7f; number >>= 7)
		buffer_add_char(to, (char)(0x80 | (number & 0x7f)));
	buffer_add_char(to, (char)number);
}

static void write_field(enum field field, const void *data, size_t length, struct buffer *to)
{
	if (length == 0)
		return;
	buffer_add_char(to, (char)field);
	write_number(length, to);
	buffer_add(to, data, length);
}

void macaroon_write(const struct macaroon *macaroon, struct buffer *to)
{
	buffer_add_char(to, VERSION);
	write_field(LOCATION, macaroon->location.data, macaroon->location.length, to);
	write_field(ID, macaroon->id.data, macaroon->id.length, to);
	buffer_add_char(to, END);
	for (size_t i = 0; i < macaroon->count; i++) {
		const struct macaroon_caveat *caveat = &macaroon->caveats[i];

		write_field(LOCATION, caveat->location.data, caveat->location.length, to);
		write_field(ID, caveat->id.data, caveat->id.length, to);
		write_field(SEALED, caveat->sealed.data, caveat->sealed.length, to);
		buffer_add_char(to, END);
	}
	buffer_add_char(to, END);
	write_field(SIGNATURE, macaroon->signature, MACAROON_KEY, to);
}
