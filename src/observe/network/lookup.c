/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for which name, and what is known of names for how long. */
#include "lookup.h"
#include "resolver.h"
#include "upstream.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
	NAMES_KEPT = 512,
	AT_ONCE = 64,	     /* names that are asked for */
	TICKETS_MOST = 4096, /* of all who wait */
	NAME_LONGEST = 253,
	LABEL_LONGEST = 63,
	SECOND = 1000, /* milliseconds */
};

struct entry {
	struct lookup *lookup;
	char name[NAME_LONGEST + 1];
	bool asking;
	unsigned telling; /* those who wait are being told: it must stay */
	int64_t expires;  /* milliseconds */
	uint64_t age;	  /* the smallest goes first */
	struct addresses found;
	int errnum; /* 0: found */
	uint64_t *tickets;
	size_t ticket_count, ticket_room;
};

struct lookup {
	lookup_done *done;
	void *data;
	struct upstream *upstream;
	struct entry *entries[NAMES_KEPT];
	size_t count, asking, tickets;
	uint64_t clock; /* counts questions, for the age of entries */
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * SECOND + time.tv_nsec / (1000 * 1000);
}

static void tell_one(struct entry *entry, uint64_t ticket)
{
	struct addresses found = entry->found; /* the entry may be asked anew meanwhile */

	entry->lookup->done(entry->lookup->data, ticket, entry->errnum ? NULL : &found,
			    entry->errnum);
}

static void add_ticket(struct entry *entry, uint64_t ticket)
{
	if (entry->ticket_count == entry->ticket_room) {
		entry->ticket_room = MAX(4, entry->ticket_room * 2);
		entry->tickets = reallocarray(entry->tickets, entry->ticket_room, sizeof(ticket));
		if (!entry->tickets)
			abort();
	}
	entry->tickets[entry->ticket_count++] = ticket;
	entry->lookup->tickets++;
}

static void remove_ticket(struct entry *entry, size_t index)
{
	entry->ticket_count--;
	entry->lookup->tickets--;
	memmove(entry->tickets + index, entry->tickets + index + 1,
		(entry->ticket_count - index) * sizeof(entry->tickets[0]));
}

static void take_answer(void *item, const struct addresses *found, int errnum, unsigned ttl)
{
	struct entry *entry = item;

	entry->found = found ? *found : (struct addresses){0};
	entry->errnum = errnum;
	entry->expires = now() + (int64_t)ttl * SECOND;
	entry->asking = false;
	entry->lookup->asking--;
	entry->telling++;
	/* Whoever is told may ask for more, this name included, or forget. */
	while (!entry->asking && entry->ticket_count > 0) {
		uint64_t ticket = entry->tickets[0];

		remove_ticket(entry, 0);
		tell_one(entry, ticket);
	}
	entry->telling--;
}

struct lookup *lookup_new(int epoll, lookup_done *done, void *data)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup)
		abort();
	lookup->done = done;
	lookup->data = data;
	lookup->upstream = upstream_new(epoll, take_answer);
	return lookup;
}

void lookup_use(struct lookup *lookup, const char *servers, int patience)
{
	upstream_use(lookup->upstream, servers, patience);
}

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > NAME_LONGEST || name_is_number(name) ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] != '\0')
		return false;
	for (const char *label = name;; label += length + 1) {
		length = strcspn(label, ".");
		if (length == 0 || length > LABEL_LONGEST)
			return false;
		if (label[length] == '\0')
			return true;
	}
}

static void entry_free(struct entry *entry)
{
	free(entry->tickets);
	free(entry);
}

/* A place for one more, of the oldest if need be; NULL where all are in use. */
static struct entry **find_place(struct lookup *lookup)
{
	struct entry **oldest = NULL;

	if (lookup->count < NAMES_KEPT)
		return &lookup->entries[lookup->count++];
	for (size_t i = 0; i < lookup->count; i++) {
		struct entry *entry = lookup->entries[i];

		if (!entry->asking && !entry->telling && (!oldest || entry->age < (*oldest)->age))
			oldest = &lookup->entries[i];
	}
	if (oldest)
		entry_free(*oldest);
	return oldest;
}

static struct entry *find_entry(const struct lookup *lookup, const char *name)
{
	for (size_t i = 0; i < lookup->count; i++) {
		if (strcmp(lookup->entries[i]->name, name) == 0)
			return lookup->entries[i];
	}
	return NULL;
}

static struct entry *add_entry(struct lookup *lookup, const char *name)
{
	struct entry **place = find_place(lookup), *entry;

	if (!place)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		abort();
	entry->lookup = lookup;
	strcpy(entry->name, name);
	*place = entry;
	return entry;
}

static void begin(struct entry *entry)
{
	entry->asking = true;
	entry->age = ++entry->lookup->clock;
	entry->lookup->asking++;
	upstream_ask(entry->lookup->upstream, entry->name, entry);
}

void lookup_name(struct lookup *lookup, const char *name, uint64_t ticket)
{
	struct entry *entry;

	if (!is_name(name)) {
		lookup->done(lookup->data, ticket, NULL, ENOENT);
		return;
	}
	entry = find_entry(lookup, name);
	if (entry && !entry->asking && entry->expires > now()) {
		tell_one(entry, ticket);
		return;
	}
	if (lookup->tickets >= TICKETS_MOST ||
	    ((!entry || !entry->asking) && lookup->asking >= AT_ONCE) ||
	    (!entry && !(entry = add_entry(lookup, name)))) {
		lookup->done(lookup->data, ticket, NULL, EAGAIN);
		return;
	}
	add_ticket(entry, ticket);
	if (!entry->asking)
		begin(entry);
}

void lookup_forget(struct lookup *lookup, uint64_t ticket)
{
	for (size_t i = 0; i < lookup->count; i++) {
		struct entry *entry = lookup->entries[i];

		for (size_t j = entry->ticket_count; j-- > 0;) {
			if (entry->tickets[j] == ticket)
				remove_ticket(entry, j);
		}
	}
}

bool lookup_serve(struct lookup *lookup, int fd, uint32_t events)
{
	return lookup && upstream_serve(lookup->upstream, fd, events);
}

void lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	upstream_free(lookup->upstream);
	for (size_t i = 0; i < lookup->count; i++)
		entry_free(lookup->entries[i]);
	free(lookup);
}
