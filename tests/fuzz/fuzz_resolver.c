/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the stub resolver: the input is one DNS message, answered into rooms of several sizes; and
 * a stream of messages, each with its length in front. */
#include "observe/network/nameserver.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_reply(const uint8_t *query, const uint8_t *reply, size_t length)
{
	require(length >= 12);
	require(memcmp(reply, query, 2) == 0);
	require((query[2] & 0x80) == 0);
	require(reply[2] & 0x80);
	require((reply[2] & 0x04) == 0);
	require((reply[2] & 0x79) == (query[2] & 0x79)); /* opcode and RD */
}

/* An address that was handed out must tell its name, or a later connect could not be judged. */
static void check_address(const struct resolver *resolver, const uint8_t *reply, size_t length)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	size_t at = 12;

	if (reply[7] != 1)
		return;
	require(reply[5] == 1);
	while (reply[at])
		at += reply[at] + 1u;
	at += 5;
	require(at + 12 <= length);
	require(at + 12u + (size_t)(reply[at + 10] << 8 | reply[at + 11]) <= length);
	if (reply[at + 3] != 1 || reply[at + 12] == 127)
		return;
	memcpy(&address.sin_addr, reply + at + 12, sizeof(address.sin_addr));
	require(resolver_name(resolver, (const struct sockaddr *)&address) != NULL);
}

/* However much of the stream is there: whole queries are taken as they stand in it, and only they.
 */
static void check_stream(struct resolver *resolver, const uint8_t *data, size_t size)
{
	while (size > 0) {
		/* Of its own, so that a read past what is there is seen. */
		uint8_t *in = malloc(size), *out = malloc(STREAM_REPLY);
		size_t length = STREAM_REPLY + 1, whole = 0;
		ssize_t used;

		memcpy(in, data, size);
		if (size >= 2)
			whole = (size_t)(in[0] << 8 | in[1]) + 2;
		used = nameserver_answer(resolver, in, size, out, &length);
		require(length == 0 || (length > 2 && length <= STREAM_REPLY));
		require(length == 0 || (size_t)(out[0] << 8 | out[1]) == length - 2);
		require(used > 0 || length == 0);
		if (whole > STREAM_QUERY)
			require(used < 0);
		else
			require((size_t)used == (whole > 0 && whole <= size ? whole : 0));
		if (length > 0)
			check_reply(in + 2, out + 2, length - 2);
		free(in);
		free(out);
		if (used <= 0)
			break;
		data += used;
		size -= (size_t)used;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t rooms[] = {512, 0, 11, 12, 13, 29, 40, 60, 512};
	struct resolver *resolver = resolver_new();
	uint8_t first[512];
	size_t first_length = 0;

	for (size_t i = 0; i < ELEMENTS(rooms); i++) {
		/* Of its own, so that a write past the room is seen. */
		uint8_t *reply = malloc(MAX(rooms[i], 1u));
		size_t length = resolver_answer(resolver, data, size, reply, rooms[i]);

		require(length <= rooms[i]);
		if (length > 0)
			check_reply(data, reply, length);
		if (rooms[i] == sizeof(first)) {
			if (i == 0) {
				first_length = length;
				memcpy(first, reply, length);
			}
			/* Asking again changes nothing, and 512 octets are always enough. */
			require(length == first_length && memcmp(first, reply, length) == 0);
			if (length > 0) {
				require((reply[2] & 0x02) == 0);
				check_address(resolver, reply, length);
			}
		}
		free(reply);
	}
	check_stream(resolver, data, size);
	resolver_free(resolver);
	return 0;
}
