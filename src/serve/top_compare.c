/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of what was read: connections by their names, shares of the CPU, limits that are
 * near. */
#include "top.h"
#include "top_parts.h"
#include "../base/macro.h"
#include "../request/text_json.h"
#include "../run/watch.h"

#include <arpa/inet.h>
#include <string.h>

enum { CONNECTIONS_MOST = 256, SOCKETS_MOST = 100000 };

void top_sockets_done(struct top_sockets *sockets)
{
	free(sockets->items);
	*sockets = (struct top_sockets){0};
}

static void add_socket(void *data, const struct diag_socket *socket)
{
	struct top_sockets *sockets = data;

	if (!socket->inode || sockets->count >= SOCKETS_MOST)
		return;
	if ((sockets->count & (sockets->count - 1)) == 0) { /* twice as many each time */
		sockets->items = reallocarray(sockets->items, MAX(2 * sockets->count, (size_t)1),
					      sizeof(*sockets->items));
		if (!sockets->items)
			abort();
	}
	sockets->items[sockets->count++] = *socket;
}

static void address_words(const struct in6_addr *address, char text[static INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

static json_t *connection(const struct diag_socket *socket, const json_t *names, bool *ret_nameless)
{
	char address[INET6_ADDRSTRLEN];
	json_t *object = json_object(), *name;

	address_words(&socket->remote, address);
	name = json_object_get(names, address);
	*ret_nameless |= !json_is_string(name);
	json_put(object, "host", json_is_string(name) ? json_incref(name) : json_string(address));
	json_put(object, "port", json_integer(socket->remote_port));
	json_put(object, "address", json_string(address));
	json_put_count(object, "sent", socket->sent);
	json_put_count(object, "received", socket->received);
	return object;
}

json_t *top_connections(struct top_sockets *sockets, const uint64_t *inodes, size_t count,
			const json_t *names, bool *ret_nameless)
{
	json_t *array = json_array();

	*ret_nameless = false;
	if (count && !sockets->read)
		(void)diag_connections(add_socket, sockets);
	sockets->read |= count > 0;
	for (size_t i = 0; i < sockets->count; i++)
		for (size_t k = 0; k < count; k++)
			if (sockets->items[i].inode == inodes[k] &&
			    json_array_size(array) < CONNECTIONS_MOST)
				json_array_append_new(
					array, connection(&sockets->items[i], names, ret_nameless));
	return array;
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static const json_t *same_run(const json_t *rows, const json_t *row)
{
	const json_t *other;
	size_t i;

	json_array_foreach (rows, i, other)
		if (json_equal(json_object_get(other, "run"), json_object_get(row, "run")))
			return other;
	return NULL;
}

/* Told by the supervisor: what only it counts. All else is as it is now. */
static bool is_told(const char *limit)
{
	return strcmp(limit, "time") == 0 || strcmp(limit, "output") == 0;
}

static void find_near(json_t *row)
{
	static const struct {
		const char *used, *most, *name;
	} counted[] = {{"memory", "memory", "memory"},
		       {"processes", "processes", "processes"},
		       {"disk_written", "disk", "disk"},
		       {"cpu_ms", "cpu_ms", "cpu"},
		       {"cpu_percent", "cpu_percent", "share"}};
	const json_t *limits = json_object_get(row, "limits"), *told = json_object_get(row, "near");
	json_t *near = json_array(), *name;
	size_t i;

	for (i = 0; i < ELEMENTS(counted); i++) {
		double most = number(limits, counted[i].most);

		if (most > 0 && number(row, counted[i].used) * 100 >= most * NEAR_PERCENT)
			json_array_append_new(near, json_string(counted[i].name));
	}
	json_array_foreach (told, i, name)
		if (json_is_string(name) && is_told(json_string_value(name)))
			json_array_append(near, name);
	json_put(row, "near", near);
}

void top_compare(const json_t *before, json_t *rows, uint64_t elapsed_ns)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *other = same_run(before, row);
		double used = number(row, "cpu_ms") - number(other, "cpu_ms");

		if (other && elapsed_ns)
			json_put(row, "cpu_percent",
				 json_real(MAX(used, 0.0) * 1e6 / (double)elapsed_ns * 100));
		else
			json_put(row, "cpu_percent", json_null());
		find_near(row);
	}
}
