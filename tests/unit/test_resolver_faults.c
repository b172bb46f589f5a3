/* SPDX-License-Identifier: Apache-2.0 */
/* The stub resolver: every packet it may meet. */
#include "resolver_packets.h"

static void add_opt(struct packet *packet, uint8_t version, unsigned flags)
{
	packet->data[11]++;
	add(packet, "", 1);
	add_16(packet, OPT);
	add_16(packet, 4096);
	add(packet, (uint8_t[]){0, version}, 2);
	add_16(packet, flags);
	add_16(packet, 0);
}

/* Labels of up to 63 octets, in all exactly length characters. */
static void fill_name(char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	name[length] = '\0';
}

static void a_name_of_253_characters_is_answered_both_ways(void **state)
{
	char name[256];
	const char *address;

	fill_name(name, 253);
	address = address_of(*state, name, AAAA);
	assert_string_equal(name_at(*state, address), name);
	assert_reverse_is(*state, address, name);
}

static void a_name_of_254_characters_is_a_format_error(void **state)
{
	char name[256];
	struct answer answer;

	fill_name(name, 254);
	answer = ask(*state, name, A);
	assert_int_equal(answer.rcode, FORMERR);
	assert_int_equal(answer.questions, 0);
}

static void a_label_of_64_octets_is_a_format_error(void **state)
{
	char name[65];

	memset(name, 'a', 64);
	name[64] = '\0';
	assert_int_equal(ask(*state, name, A).rcode, FORMERR);
	name[63] = '\0';
	assert_int_equal(ask(*state, name, A).rcode, NOERROR);
}

static void compression_in_a_question_is_a_format_error(void **state)
{
	static const uint8_t pointers[][2] = {
		{0xc0, 0x0c}, {0xc0, 0x00}, {0xff, 0xff}, {0x80, 0x01}};

	for (size_t i = 0; i < ELEMENTS(pointers); i++) {
		struct packet bare = header(0, 1), after_label = header(0, 1);

		add(&bare, pointers[i], 2);
		add(&bare, "\0\1\0\1", 4);
		assert_int_equal(send_packet(*state, &bare).rcode, FORMERR);
		add(&after_label, "\1a", 2);
		add(&after_label, pointers[i], 2);
		add(&after_label, "\0\1\0\1", 4);
		assert_int_equal(send_packet(*state, &after_label).rcode, FORMERR);
	}
}

static void a_packet_cut_anywhere_is_a_format_error_or_gets_no_reply(void **state)
{
	struct packet packet = query("www.example.com", A);
	size_t question_end = packet.length, whole;

	add_opt(&packet, 0, 0);
	whole = packet.length;
	for (packet.length = 0; packet.length < whole; packet.length++) {
		struct answer answer = send_packet(*state, &packet);

		if (packet.length < HEADER) {
			assert_int_equal(answer.length, 0);
			continue;
		}
		assert_int_equal(answer.id, 0xbeef);
		assert_int_equal(answer.rcode, FORMERR);
		assert_int_equal(answer.questions, packet.length >= question_end);
		assert_int_equal(answer.answers, 0);
		assert_int_equal(answer.additionals, 0);
	}
	assert_int_equal(send_packet(*state, &packet).rcode, NOERROR);
}

static void octets_after_the_end_are_a_format_error(void **state)
{
	struct packet packet = query("example.com", A);

	add(&packet, "x", 1);
	assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
}

static void any_number_of_questions_but_one_is_a_format_error(void **state)
{
	struct packet none = header(0, 0), two = query("a.example", A);

	assert_int_equal(send_packet(*state, &none).rcode, FORMERR);
	two.data[5] = 2; /* said, but only one is there */
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	add_name(&two, "b.example");
	add_16(&two, A);
	add_16(&two, IN);
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	assert_null(name_at(*state, "198.18.0.1"));
}

static void a_query_with_answers_or_authorities_is_a_format_error(void **state)
{
	for (size_t count = 7; count <= 9; count += 2) {
		struct packet packet = query("example.com", A);

		packet.data[count] = 1;
		assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
		add(&packet, "\0\0\1\0\1\0\0\0\0\0\0", 11);
		assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
	}
}

static void a_response_is_not_answered(void **state)
{
	struct packet packet = query("example.com", A);

	packet.data[2] |= 0x80;
	assert_int_equal(send_packet(*state, &packet).length, 0);
	packet.length = HEADER; /* broken besides */
	assert_int_equal(send_packet(*state, &packet).length, 0);
}

static void an_opcode_other_than_query_is_not_implemented(void **state)
{
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		struct packet packet = query("example.com", A);
		struct answer answer;

		packet.data[2] |= opcode << 3;
		answer = send_packet(*state, &packet);
		assert_int_equal(answer.rcode, NOTIMP);
		assert_int_equal(answer.flags >> 11 & 0xf, opcode);
		assert_int_equal(answer.answers, 0);
	}
}

static void a_class_other_than_in_is_refused(void **state)
{
	static const unsigned classes[] = {0, CHAOS, 4, 254, 255, 257};

	for (size_t i = 0; i < ELEMENTS(classes); i++) {
		struct packet packet = header(0, 1);
		struct answer answer;

		add_name(&packet, "version.bind");
		add_16(&packet, A);
		add_16(&packet, classes[i]);
		answer = send_packet(*state, &packet);
		assert_int_equal(answer.rcode, REFUSED);
		assert_int_equal(answer.questions, 1);
		assert_int_equal(answer.answers, 0);
	}
}

static void edns_is_answered_with_edns(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	add_opt(&packet, 0, 0x8001);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.additionals, 1);
	assert_int_equal(answer.opt[0], 0);
	assert_int_equal(get_16(answer.opt + 1), OPT);
	assert_true(get_16(answer.opt + 3) >= 512);
	assert_int_equal(get_16(answer.opt + 5), 0);
	assert_int_equal(get_16(answer.opt + 7), 0x8000); /* DO comes back, the rest does not */
	assert_int_equal(get_16(answer.opt + 9), 0);
}

static void edns_options_are_skipped(void **state)
{
	struct packet packet = query("example.com", A);

	add_opt(&packet, 0, 0);
	packet.data[packet.length - 1] = 12;
	add(&packet, "\0\12\0\10cookies!", 12);
	assert_int_equal(send_packet(*state, &packet).additionals, 1);
	assert_int_equal(send_packet(*state, &packet).rcode, NOERROR);
	packet.length--; /* now the options are longer than the packet */
	assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
}

static void an_unknown_edns_version_is_badvers(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	add_opt(&packet, 1, 0);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, 0);
	assert_int_equal(answer.answers, 0);
	assert_int_equal(answer.additionals, 1);
	assert_int_equal(answer.opt[5], 1); /* 16 = 1 here and 0 in the header */
	assert_int_equal(answer.opt[6], 0);
}

static void two_opts_or_an_opt_below_the_root_are_format_errors(void **state)
{
	struct packet two = query("example.com", A), named = query("example.com", A);

	add_opt(&two, 0, 0);
	add_opt(&two, 0, 0);
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	named.data[11] = 1;
	add(&named, "\1a\0\0\51\20\0\0\0\0\0\0\0", 13);
	assert_int_equal(send_packet(*state, &named).rcode, FORMERR);
}

static void other_additional_records_are_skipped(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	packet.data[11] = 1;
	add(&packet, "\3key\0\0\372\0\377\0\0\0\0\0\2xy", 17);
	add_opt(&packet, 0, 0);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.additionals, 1);
}

static void a_reply_without_room_is_truncated_and_says_so(void **state)
{
	struct packet packet = query("example.com", A);
	size_t question_end = packet.length, whole;

	add_opt(&packet, 0, 0);
	whole = send_packet(*state, &packet).length;
	for (size_t room = 0; room < whole; room++) {
		struct answer answer = send_with_room(*state, &packet, room);

		if (room < HEADER) {
			assert_int_equal(answer.length, 0);
			continue;
		}
		assert_int_equal(answer.id, 0xbeef);
		assert_int_equal(answer.flags & 0x0200, 0x0200);
		assert_int_equal(answer.questions, room >= question_end);
		assert_int_equal(answer.answers, 0);
		assert_int_equal(answer.additionals, 0);
	}
	assert_int_equal(send_with_room(*state, &packet, whole).flags & 0x0200, 0);
}

static void the_longest_replies_fit_in_512_octets(void **state)
{
	char name[256], reverse[128];
	struct packet forward, backward;
	struct answer answer;

	fill_name(name, 253);
	forward = query(name, AAAA);
	add_opt(&forward, 0, 0);
	assert_int_equal(send_packet(*state, &forward).flags & 0x0200, 0);
	reverse_of(address_of(*state, name, AAAA), reverse, sizeof(reverse));
	backward = query(reverse, PTR);
	add_opt(&backward, 0, 0);
	answer = send_packet(*state, &backward);
	assert_int_equal(answer.flags & 0x0200, 0);
	assert_int_equal(answer.answers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_of_253_characters_is_answered_both_ways),
		TEST(a_name_of_254_characters_is_a_format_error),
		TEST(a_label_of_64_octets_is_a_format_error),
		TEST(compression_in_a_question_is_a_format_error),
		TEST(a_packet_cut_anywhere_is_a_format_error_or_gets_no_reply),
		TEST(octets_after_the_end_are_a_format_error),
		TEST(any_number_of_questions_but_one_is_a_format_error),
		TEST(a_query_with_answers_or_authorities_is_a_format_error),
		TEST(a_response_is_not_answered),
		TEST(an_opcode_other_than_query_is_not_implemented),
		TEST(a_class_other_than_in_is_refused),
		TEST(edns_is_answered_with_edns),
		TEST(edns_options_are_skipped),
		TEST(an_unknown_edns_version_is_badvers),
		TEST(two_opts_or_an_opt_below_the_root_are_format_errors),
		TEST(other_additional_records_are_skipped),
		TEST(a_reply_without_room_is_truncated_and_says_so),
		TEST(the_longest_replies_fit_in_512_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
