/* SPDX-License-Identifier: Apache-2.0 */
/* A stub DNS responder on packets: it invents an address per name and remembers which is whose. */
#include "resolver.h"

#include "../../base/arena.h"
#include <sodium.h>
#include <string.h>

/* 198.18.0.0/15 is set aside for benchmarks (RFC 2544): no host that a program means is there. */
static const uint32_t synthetic_ipv4 = 0xc6120000;
/* fd77:6172:6400::/64: a unique local prefix, which nobody routes. */
static const uint8_t synthetic_ipv6[8] = {0xfd, 0x77, 0x61, 0x72, 0x64, 0x00, 0x00, 0x00};

enum {
	/* A sandboxed program chooses how many names it asks for; ward's memory has to end
	 * somewhere. */
	NAMES_MAX = 65000,
	SLOTS = 128 * 1024, /* a power of two, at least twice NAMES_MAX so that probes stay short */
	FIRST_ADDRESS = 1,  /* the address of name 0 within a range */
	NAME_LONGEST = 253, /* in text; 255 octets on the wire */
	LABEL_LONGEST = 63, /* greater length octets are pointers and dead extensions */
	HEADER = 12,	    /* octets */
	TTL = 1,	    /* seconds; addresses do not outlive the run, so none should be kept */
	OUR_UDP_ROOM = 1232, /* what EDNS is told; our own replies never come near it */
	LOOPBACK_NETWORK = 127,
};

_Static_assert(NAMES_MAX * 2 <= SLOTS, "the hash table must stay at most half full");
_Static_assert(NAMES_MAX <= UINT16_MAX, "a slot holds an index plus one");
_Static_assert(FIRST_ADDRESS + NAMES_MAX <= 1 << 17, "a /15 must hold every name");

enum { TYPE_A = 1, TYPE_PTR = 12, TYPE_AAAA = 28, TYPE_OPT = 41, TYPE_ANY = 255 };
enum { CLASS_IN = 1 };
enum {
	FLAG_RESPONSE = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_TRUNCATED = 0x0200,
	FLAG_RECURSION_DESIRED = 0x0100,
	FLAG_RECURSION_AVAILABLE = 0x0080,
	EDNS_FLAG_DNSSEC_OK = 0x8000,
};
enum rcode {
	NOERROR = 0,
	FORMERR = 1,
	SERVFAIL = 2,
	NXDOMAIN = 3,
	NOTIMP = 4,
	REFUSED = 5,
	BADVERS = 16, /* its upper bits travel in the OPT record */
};

struct resolver {
	struct arena *arena;	    /* the names' text */
	char own[NAME_LONGEST + 1]; /* the machine's own name, lower case */
	/* Keyed, because the program inside chooses the names and could otherwise choose them to
	 * collide and make every lookup a walk through the table. */
	uint8_t key[crypto_shorthash_KEYBYTES];
	uint32_t count;
	const char *names[NAMES_MAX]; /* by index */
	uint16_t slots[SLOTS];	      /* index + 1, 0 while empty */
};

struct name {
	char text[NAME_LONGEST + 1]; /* lower case, without the trailing dot; "" is the root */
	size_t length;
	bool plain; /* letters, digits, hyphens and underscores only: text says all there is */
};

struct query {
	uint16_t flags;
	size_t question_end; /* 0 until a whole question was read */
	struct name name;
	uint16_t type, class;
	bool edns;
	uint8_t edns_version;
	uint16_t edns_flags;
};

/* Reading past the end gives zeros and marks the reader broken, so that checks can wait. */
struct reader {
	const uint8_t *data;
	size_t length, position;
	bool broken;
};

/* What does not fit is left out whole, and so is all that follows. */
struct writer {
	uint8_t *data;
	size_t room, length;
	uint16_t records; /* of the answer */
	bool full;
};

/* Not ctype.h: what a name means must not depend on the locale. */
static char fold_case(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : (char)c;
}

struct resolver *resolver_new(void)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		abort();
	resolver->arena = arena_new();
	if (gethostname(resolver->own, sizeof(resolver->own) - 1) < 0)
		resolver->own[0] = '\0';
	for (char *c = resolver->own; *c; c++)
		*c = fold_case((uint8_t)*c);
	crypto_shorthash_keygen(resolver->key);
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	arena_free(resolver->arena);
	free(resolver);
}

static const uint8_t *read_octets(struct reader *reader, size_t count)
{
	const uint8_t *octets = reader->data + reader->position;

	if (reader->broken || reader->length - reader->position < count) {
		reader->broken = true;
		return NULL;
	}
	reader->position += count;
	return octets;
}

static uint8_t read_8(struct reader *reader)
{
	const uint8_t *octets = read_octets(reader, 1);

	return octets ? octets[0] : 0;
}

static uint16_t read_16(struct reader *reader)
{
	const uint8_t *octets = read_octets(reader, 2);

	return octets ? (uint16_t)(octets[0] << 8 | octets[1]) : 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

static void read_name(struct reader *reader, struct name *ret_name)
{
	struct name name = {.plain = true};

	for (;;) {
		size_t length = read_8(reader);
		size_t dot = name.length > 0;
		const uint8_t *label;

		if (length == 0)
			break;
		/* A pointer is refused along with the rest: nothing stands before the question that
		 * it could honestly point at, and without pointers there are no loops. */
		if (length > LABEL_LONGEST || name.length + dot + length > NAME_LONGEST) {
			reader->broken = true;
			break;
		}
		label = read_octets(reader, length);
		if (!label)
			break;
		if (dot)
			name.text[name.length++] = '.';
		for (size_t i = 0; i < length; i++) {
			char c = fold_case(label[i]);

			name.plain = name.plain && is_plain(c);
			name.text[name.length++] = c;
		}
		if (label[0] == '-' || label[length - 1] == '-')
			name.plain = false;
	}
	*ret_name = name;
}

/* Takes one record of the additional section; only OPT means anything here. */
static void read_additional(struct reader *reader, struct query *query)
{
	struct name owner;
	uint16_t type, flags;
	uint8_t version;

	read_name(reader, &owner);
	type = read_16(reader);
	read_16(reader); /* class: for OPT the asker's UDP room, which our replies never reach */
	read_8(reader);	 /* the upper bits of an rcode, which a query has none of */
	version = read_8(reader);
	flags = read_16(reader);
	read_octets(reader, read_16(reader));
	if (type != TYPE_OPT)
		return;
	if (query->edns || owner.length > 0)
		reader->broken = true;
	query->edns = true;
	query->edns_version = version;
	query->edns_flags = flags;
}

/* Reads what follows the id; NOERROR where the question deserves an answer. */
static enum rcode read_query(struct reader *reader, struct query *query)
{
	uint16_t questions, answers, authorities, additionals;

	query->flags = read_16(reader);
	questions = read_16(reader);
	answers = read_16(reader);
	authorities = read_16(reader);
	additionals = read_16(reader);
	/* First, because other opcodes give the sections other meanings. */
	if (query->flags & FLAG_OPCODE)
		return NOTIMP;
	if (questions != 1 || answers || authorities)
		return FORMERR;
	read_name(reader, &query->name);
	query->type = read_16(reader);
	query->class = read_16(reader);
	if (reader->broken)
		return FORMERR;
	query->question_end = reader->position;
	for (; additionals && !reader->broken; additionals--)
		read_additional(reader, query);
	if (reader->broken || reader->position != reader->length) {
		query->edns = false; /* from a record that cannot be trusted */
		return FORMERR;
	}
	if (query->edns_version != 0)
		return BADVERS;
	return query->class == CLASS_IN ? NOERROR : REFUSED;
}

static void put(struct writer *writer, const void *octets, size_t count)
{
	if (writer->full || writer->room - writer->length < count) {
		writer->full = true;
		return;
	}
	memcpy(writer->data + writer->length, octets, count);
	writer->length += count;
}

static void put_8(struct writer *writer, uint8_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_16(struct writer *writer, uint16_t value)
{
	put(writer, (uint8_t[]){value >> 8, value & 0xff}, 2);
}

static void put_32(struct writer *writer, uint32_t value)
{
	put_16(writer, value >> 16);
	put_16(writer, value & 0xffff);
}

static void put_name(struct writer *writer, const char *name)
{
	for (;;) {
		size_t length = strcspn(name, ".");

		put_8(writer, length);
		put(writer, name, length);
		if (name[length] == '\0')
			break;
		name += length + 1;
	}
	put_8(writer, 0);
}

/* All of a record that stands before its data; the owner is the name in the question. */
static void put_record(struct writer *writer, uint16_t type, size_t data_length)
{
	writer->records++;
	put_16(writer, 0xc000 | HEADER);
	put_16(writer, type);
	put_16(writer, CLASS_IN);
	put_32(writer, TTL);
	put_16(writer, data_length);
}

bool name_is_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x')
		return last[2 + strspn(last + 2, "0123456789abcdef")] == '\0';
	return last[strspn(last, "0123456789")] == '\0';
}

static bool name_is_under(const struct name *name, const char *domain)
{
	size_t length = strlen(domain);
	const char *tail;

	if (name->length < length)
		return false;
	tail = name->text + name->length - length;
	return strcmp(tail, domain) == 0 && (tail == name->text || tail[-1] == '.');
}

/* The index of a name, which is given one if it is new; -1 where the table is full. */
static int64_t index_of(struct resolver *resolver, const struct name *name)
{
	uint64_t hash;
	size_t slot;

	_Static_assert(sizeof(hash) == crypto_shorthash_BYTES, "the hash is 64 bits wide");
	crypto_shorthash((uint8_t *)&hash, (const uint8_t *)name->text, name->length,
			 resolver->key);
	for (slot = hash % SLOTS; resolver->slots[slot]; slot = (slot + 1) % SLOTS) {
		uint32_t index = resolver->slots[slot] - 1;

		if (strcmp(resolver->names[index], name->text) == 0)
			return index;
	}
	if (resolver->count == NAMES_MAX)
		return -1;
	resolver->names[resolver->count] = arena_strndup(resolver->arena, name->text, name->length);
	resolver->slots[slot] = resolver->count + 1;
	return resolver->count++;
}

static enum rcode put_address(struct resolver *resolver, const struct query *query,
			      struct writer *writer)
{
	uint32_t ipv4 = INADDR_LOOPBACK;
	struct in6_addr ipv6 = in6addr_loopback;

	if (!name_is_under(&query->name, "localhost") &&
	    strcmp(query->name.text, resolver->own) != 0) {
		int64_t index = index_of(resolver, &query->name);
		uint32_t host = FIRST_ADDRESS + index;

		if (index < 0)
			return SERVFAIL;
		ipv4 = synthetic_ipv4 + host;
		memset(&ipv6, 0, sizeof(ipv6));
		memcpy(ipv6.s6_addr, synthetic_ipv6, sizeof(synthetic_ipv6));
		host = htonl(host);
		memcpy(ipv6.s6_addr + sizeof(ipv6) - sizeof(host), &host, sizeof(host));
	}
	if (query->type != TYPE_AAAA) {
		put_record(writer, TYPE_A, sizeof(ipv4));
		put_32(writer, ipv4);
	}
	if (query->type != TYPE_A) {
		put_record(writer, TYPE_AAAA, sizeof(ipv6));
		put(writer, &ipv6, sizeof(ipv6));
	}
	return NOERROR;
}

static struct in6_addr map_ipv4(struct in_addr ipv4)
{
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(mapped.s6_addr + 12, &ipv4, sizeof(ipv4));
	return mapped;
}

/* "4.3.2.1.in-addr.arpa" as ::ffff:1.2.3.4. */
static bool read_reverse_ipv4(const char *text, struct in6_addr *ret_address)
{
	uint8_t octets[4];

	for (int i = 3; i >= 0; i--) {
		unsigned value = 0;
		size_t digits = 0;

		for (; is_digit(text[digits]) && digits < 3; digits++)
			value = value * 10 + (unsigned)(text[digits] - '0');
		if (digits == 0 || (digits > 1 && text[0] == '0') || value > 255 ||
		    text[digits] != '.')
			return false;
		octets[i] = value;
		text += digits + 1;
	}
	if (strcmp(text, "in-addr.arpa") != 0)
		return false;
	*ret_address = map_ipv4((struct in_addr){
		htonl((uint32_t)octets[0] << 24 | octets[1] << 16 | octets[2] << 8 | octets[3])});
	return true;
}

/* 32 nibbles, the last one first, before "ip6.arpa". */
static bool read_reverse_ipv6(const char *text, struct in6_addr *ret_address)
{
	static const char hex[] = "0123456789abcdef";
	struct in6_addr address = {0};

	for (int i = 31; i >= 0; i--) {
		const char *digit = *text ? strchr(hex, *text) : NULL;

		if (!digit || text[1] != '.')
			return false;
		address.s6_addr[i / 2] |= (digit - hex) << (i % 2 ? 0 : 4);
		text += 2;
	}
	if (strcmp(text, "ip6.arpa") != 0)
		return false;
	*ret_address = address;
	return true;
}

static const char *name_of(const struct resolver *resolver, const struct in6_addr *address)
{
	uint32_t words[4], index;

	for (size_t i = 0; i < ELEMENTS(words); i++) {
		memcpy(&words[i], address->s6_addr + i * sizeof(words[i]), sizeof(words[i]));
		words[i] = ntohl(words[i]);
	}
	if (IN6_IS_ADDR_V4MAPPED(address))
		index = words[3] - synthetic_ipv4 - FIRST_ADDRESS;
	else if (memcmp(address, synthetic_ipv6, sizeof(synthetic_ipv6)) == 0 && words[2] == 0)
		index = words[3] - FIRST_ADDRESS;
	else
		return NULL;
	/* An address below the first one has wrapped round to a great index. */
	return index < resolver->count ? resolver->names[index] : NULL;
}

static bool is_loopback(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == LOOPBACK_NETWORK);
}

static enum rcode put_pointer(const struct resolver *resolver, const struct query *query,
			      struct writer *writer)
{
	struct in6_addr address;
	const char *name;

	if (!read_reverse_ipv4(query->name.text, &address) &&
	    !read_reverse_ipv6(query->name.text, &address))
		return NXDOMAIN;
	name = is_loopback(&address) ? "localhost" : name_of(resolver, &address);
	if (!name)
		return NXDOMAIN;
	/* On the wire a name has one length octet more than dots, and the root's zero. */
	put_record(writer, TYPE_PTR, strlen(name) + 2);
	put_name(writer, name);
	return NOERROR;
}

static enum rcode put_answer(struct resolver *resolver, const struct query *query,
			     struct writer *writer)
{
	if (!query->name.plain || query->name.length == 0 || name_is_number(query->name.text))
		return NXDOMAIN;
	switch (query->type) {
	case TYPE_A:
	case TYPE_AAAA:
	case TYPE_ANY:
		return put_address(resolver, query, writer);
	case TYPE_PTR:
		if (name_is_under(&query->name, "in-addr.arpa") ||
		    name_is_under(&query->name, "ip6.arpa"))
			return put_pointer(resolver, query, writer);
		return NOERROR;
	default:
		return NOERROR;
	}
}

static void put_opt(struct writer *writer, enum rcode rcode, uint16_t flags)
{
	put_8(writer, 0); /* owned by the root */
	put_16(writer, TYPE_OPT);
	put_16(writer, OUR_UDP_ROOM);
	put_8(writer, rcode >> 4);
	put_8(writer, 0); /* version */
	put_16(writer, flags & EDNS_FLAG_DNSSEC_OK);
	put_16(writer, 0); /* no options */
}

size_t resolver_answer(struct resolver *resolver, const uint8_t *query, size_t query_length,
		       uint8_t *reply, size_t reply_room)
{
	struct reader reader = {.data = query, .length = query_length};
	struct writer header = {.data = reply, .room = HEADER};
	struct writer body = {.data = reply, .room = reply_room, .length = HEADER};
	struct query asked = {0};
	bool question, opt;
	size_t question_end;
	enum rcode rcode;
	uint16_t id, flags;

	if (query_length < HEADER || reply_room < HEADER)
		return 0;
	id = read_16(&reader);
	rcode = read_query(&reader, &asked);
	/* A reply to a reply is how two servers talk for ever. */
	if (asked.flags & FLAG_RESPONSE)
		return 0;

	/* The question goes back octet for octet: askers that mix case check for it. */
	if (asked.question_end)
		put(&body, query + HEADER, asked.question_end - HEADER);
	question_end = body.length;
	question = question_end > HEADER;
	if (rcode == NOERROR)
		rcode = put_answer(resolver, &asked, &body);
	opt = asked.edns;
	if (opt)
		put_opt(&body, rcode, asked.edns_flags);

	flags = FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | (asked.flags & FLAG_OPCODE) |
		(asked.flags & FLAG_RECURSION_DESIRED) | (rcode & 0xf);
	if (body.full) {
		/* At most 380 octets are needed, so this is a caller with little room. */
		body.length = question_end;
		body.records = 0;
		opt = false;
		flags |= FLAG_TRUNCATED;
	}
	put_16(&header, id);
	put_16(&header, flags);
	put_16(&header, question);
	put_16(&header, body.records);
	put_16(&header, 0); /* authorities */
	put_16(&header, opt);
	return body.length;
}

const char *resolver_name(const struct resolver *resolver, const struct sockaddr *address)
{
	struct in6_addr plain;

	/* Copied out, because an address read from another process may lie anywhere. */
	switch (address->sa_family) {
	case AF_INET: {
		struct sockaddr_in ipv4;

		memcpy(&ipv4, address, sizeof(ipv4));
		plain = map_ipv4(ipv4.sin_addr);
		break;
	}
	case AF_INET6: {
		struct sockaddr_in6 ipv6;

		memcpy(&ipv6, address, sizeof(ipv6));
		plain = ipv6.sin6_addr;
		break;
	}
	default:
		return NULL;
	}
	return name_of(resolver, &plain);
}
