/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter. Attaching a filter costs time with its length and every call walks it, so neighbours
 * with one action become one range and the ranges a balanced tree. */
#include "bpf.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>

enum { RANGES = 512 };

/* All numbers from first up to the next range's first get the action, or the rules. */
struct range {
	uint32_t first;
	uint32_t action;
	const struct bpf_rule *rules;
};

struct emitter {
	struct sock_filter *program;
	int length; /* negative once something went wrong */
};

static void emit(struct emitter *e, uint16_t code, uint32_t k, uint8_t when_true,
		 uint8_t when_false)
{
	if (e->length < 0)
		return;
	if (e->length >= BPF_ROOM) {
		e->length = -E2BIG;
		return;
	}
	e->program[e->length++] = (struct sock_filter){code, when_true, when_false, k};
}

static void emit_load(struct emitter *e, size_t offset)
{
	emit(e, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_return(struct emitter *e, uint32_t action)
{
	emit(e, BPF_RET | BPF_K, action, 0, 0);
}

static int test_size(const struct bpf_rule *rule)
{
	switch (rule->test) {
	case BPF_MASKED_IS:
	case BPF_MASKED_NOT:
		return rule->mask == UINT32_MAX ? 2 : 3;
	case BPF_NOT_NULL:
		return 4;
	case BPF_ANY_BITS:
		break;
	}
	return 2;
}

/* Falls through where the test holds, else jumps over the next `otherwise` instructions. */
static void emit_test(struct emitter *e, const struct bpf_rule *rule, uint8_t otherwise)
{
	size_t low = offsetof(struct seccomp_data, args) + 8u * rule->argument;

	emit_load(e, low);
	switch (rule->test) {
	case BPF_ANY_BITS:
		emit(e, BPF_JMP | BPF_JSET | BPF_K, rule->mask, 0, otherwise);
		break;
	case BPF_MASKED_IS:
	case BPF_MASKED_NOT:
		if (rule->mask != UINT32_MAX)
			emit(e, BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
		if (rule->test == BPF_MASKED_IS)
			emit(e, BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, otherwise);
		else
			emit(e, BPF_JMP | BPF_JEQ | BPF_K, rule->value, otherwise, 0);
		break;
	case BPF_NOT_NULL:
		emit(e, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
		emit_load(e, low + 4);
		emit(e, BPF_JMP | BPF_JEQ | BPF_K, 0, otherwise, 0);
		break;
	}
}

/* One rule with those it is bound to by BPF_AND_NEXT; returns the last of them. */
static const struct bpf_rule *emit_rule(struct emitter *e, const struct bpf_rule *rule)
{
	for (;; rule++) {
		int rest = 1;

		for (const struct bpf_rule *r = rule; r->action == BPF_AND_NEXT; r++)
			rest += test_size(r + 1);
		emit_test(e, rule, (uint8_t)rest);
		if (rule->action != BPF_AND_NEXT)
			break;
	}
	emit_return(e, rule->action);
	return rule;
}

static bool is_plain(const struct range *range)
{
	return !range->rules;
}

static int leaf_size(const struct range *range)
{
	int size = 1;

	for (const struct bpf_rule *rule = range->rules; rule && rule->action; rule++)
		size += test_size(rule) + (rule->action != BPF_AND_NEXT);
	return size;
}

static void emit_leaf(struct emitter *e, const struct range *range)
{
	for (const struct bpf_rule *rule = range->rules; rule && rule->action; rule++)
		rule = emit_rule(e, rule);
	emit_return(e, range->action);
}

/* How many instructions emit_tree will write; a conditional jump reaches 255 of them. Two plain
 * neighbours that three of a kind surround (A B A) need one return for both As. */
static int tree_size(const struct range *ranges, size_t count)
{
	size_t half = count / 2;
	int size;

	if (count == 1)
		return leaf_size(ranges);
	if (count == 3 && is_plain(&ranges[0]) && is_plain(&ranges[2]) &&
	    ranges[0].action == ranges[2].action)
		return 2 + leaf_size(&ranges[1]) + 1;
	size = tree_size(ranges, half);
	return size + (size <= UINT8_MAX ? 1 : 2) + tree_size(ranges + half, count - half);
}

static void emit_tree(struct emitter *e, const struct range *ranges, size_t count)
{
	size_t half = count / 2;
	int left;

	if (count == 1) {
		emit_leaf(e, ranges);
		return;
	}
	if (count == 3 && is_plain(&ranges[0]) && is_plain(&ranges[2]) &&
	    ranges[0].action == ranges[2].action) {
		left = leaf_size(&ranges[1]);
		emit(e, BPF_JMP | BPF_JGE | BPF_K, ranges[1].first, 0, (uint8_t)(left + 1));
		emit(e, BPF_JMP | BPF_JGE | BPF_K, ranges[2].first, (uint8_t)left, 0);
		emit_leaf(e, &ranges[1]);
		emit_leaf(e, &ranges[0]);
		return;
	}
	left = tree_size(ranges, half);
	if (left <= UINT8_MAX) {
		emit(e, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, (uint8_t)left, 0);
	} else {
		emit(e, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, 0, 1);
		emit(e, BPF_JMP | BPF_JA, (uint32_t)left, 0, 0);
	}
	emit_tree(e, ranges, half);
	emit_tree(e, ranges + half, count - half);
}

/* Adds a range, or lets the one before go on where both do the same. */
static int add_range(struct range *ranges, size_t *count, struct range range)
{
	if (*count > 0 && !range.rules && !ranges[*count - 1].rules &&
	    ranges[*count - 1].action == range.action)
		return 0;
	if (*count == RANGES)
		return -E2BIG;
	ranges[(*count)++] = range;
	return 0;
}

int bpf_build(uint32_t architecture, const struct bpf_call *calls, size_t count, uint32_t otherwise,
	      struct sock_filter program[static BPF_ROOM])
{
	struct emitter e = {.program = program};
	struct range ranges[RANGES];
	size_t range_count = 0;
	uint32_t next = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)calls[i].number;

		if (calls[i].number < 0 || number < next)
			return -EINVAL;
		if ((number > next &&
		     add_range(ranges, &range_count, (struct range){next, otherwise, NULL}) < 0) ||
		    add_range(ranges, &range_count,
			      (struct range){number, calls[i].action, calls[i].rules}) < 0)
			return -E2BIG;
		next = number + 1;
	}
	if (add_range(ranges, &range_count, (struct range){next, otherwise, NULL}) < 0)
		return -E2BIG;
	emit_load(&e, offsetof(struct seccomp_data, arch));
	emit(&e, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
	emit_return(&e, SECCOMP_RET_KILL_PROCESS);
	emit_load(&e, offsetof(struct seccomp_data, nr));
	emit_tree(&e, ranges, range_count);
	return e.length;
}
