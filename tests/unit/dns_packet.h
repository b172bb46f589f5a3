/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages as the tests write them. Behind cmocka.h. */
#pragma once

#include <stdint.h>
#include <string.h>

enum { PACKET_ROOM = 4096 };

struct packet {
	uint8_t data[PACKET_ROOM];
	size_t length;
};

static inline void add(struct packet *packet, const void *data, size_t length)
{
	assert_true(length <= sizeof(packet->data) - packet->length);
	memcpy(packet->data + packet->length, data, length);
	packet->length += length;
}

static inline void add_16(struct packet *packet, unsigned value)
{
	add(packet, (uint8_t[]){value >> 8, value & 0xff}, 2);
}

static inline void add_name(struct packet *packet, const char *name)
{
	while (*name) {
		size_t length = strcspn(name, ".");

		add(packet, (uint8_t[]){length}, 1);
		add(packet, name, length);
		name += length + (name[length] == '.');
	}
	add(packet, "", 1);
}
