/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter. Attaching a filter costs time with its length and every call walks it, so neighbours
 * with one action become one range and the ranges a balanced tree, what is to be returned is there
 * once for many, and an argument is loaded once for tests in a row. */
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
	int size; /* of its rules, as a leaf of a block */
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

/* Blocks. A conditional jump reaches 255 instructions, so the tree is cut into blocks of no more
 * than that: comparisons, then one return for each action, which everything in the block jumps to.
 */

enum { REACH = UINT8_MAX, ACTIONS = 32, NOTHING = UINT8_MAX };

struct block {
	int returns; /* where they stand */
	uint32_t actions[ACTIONS];
	int count;
};

static bool know_action(struct block *block, uint32_t action)
{
	for (int i = 0; i < block->count; i++)
		if (block->actions[i] == action)
			return true;
	if (block->count == ACTIONS)
		return false;
	block->actions[block->count++] = action;
	return true;
}

static bool know_actions(struct block *block, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!know_action(block, ranges[i].action))
			return false;
		for (const struct bpf_rule *rule = ranges[i].rules; rule && rule->action; rule++)
			if (rule->action != BPF_AND_NEXT && !know_action(block, rule->action))
				return false;
	}
	return true;
}

static int return_of(const struct block *block, uint32_t action)
{
	int i = 0;

	while (block->actions[i] != action)
		i++;
	return block->returns + i;
}

static bool has_mask(const struct bpf_rule *rule)
{
	return (rule->test == BPF_MASKED_IS || rule->test == BPF_MASKED_NOT) &&
	       rule->mask != UINT32_MAX;
}

/* loaded: the argument whose low half lies in the accumulator already, or NOTHING. */
static int test_size(const struct bpf_rule *rule, uint8_t loaded)
{
	return (loaded != rule->argument) + has_mask(rule) + 1 +
	       (rule->test == BPF_NOT_NULL ? 2 : 0);
}

static uint8_t left_loaded(const struct bpf_rule *rule)
{
	return rule->test == BPF_NOT_NULL || has_mask(rule) ? NOTHING : rule->argument;
}

/* A rule and those it is bound to by BPF_AND_NEXT: their size, the last of them, and what is loaded
 * behind it, whichever of the tests it was that failed. */
static int chain_size(const struct bpf_rule *rule, uint8_t loaded, const struct bpf_rule **ret_last,
		      uint8_t *ret_loaded)
{
	uint8_t common = left_loaded(rule);
	int size = 0;

	for (;; rule++) {
		size += test_size(rule, loaded);
		loaded = left_loaded(rule);
		if (loaded != common)
			common = NOTHING;
		if (rule->action != BPF_AND_NEXT)
			break;
	}
	*ret_last = rule;
	*ret_loaded = common;
	return size;
}

static int rules_size(const struct bpf_rule *rule)
{
	uint8_t loaded = NOTHING;
	int size = 0;

	for (; rule && rule->action; rule++)
		size += chain_size(rule, loaded, &rule, &loaded);
	return size;
}

/* To where the program goes on; both are absolute, and less than REACH away. */
static void emit_jump(struct emitter *e, uint16_t test, uint32_t k, int when_true, int when_false)
{
	int next = e->length + 1;

	emit(e, BPF_JMP | test | BPF_K, k, (uint8_t)(when_true - next),
	     (uint8_t)(when_false - next));
}

static void emit_test(struct emitter *e, const struct bpf_rule *rule, uint8_t loaded, int holds,
		      int fails)
{
	size_t low = offsetof(struct seccomp_data, args) + 8u * rule->argument;

	if (loaded != rule->argument)
		emit_load(e, low);
	if (has_mask(rule))
		emit(e, BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
	switch (rule->test) {
	case BPF_ANY_BITS:
		emit_jump(e, BPF_JSET, rule->mask, holds, fails);
		break;
	case BPF_MASKED_IS:
		emit_jump(e, BPF_JEQ, rule->value, holds, fails);
		break;
	case BPF_MASKED_NOT:
		emit_jump(e, BPF_JEQ, rule->value, fails, holds);
		break;
	case BPF_NOT_NULL:
		emit_jump(e, BPF_JEQ, 0, e->length + 1, holds);
		emit_load(e, low + 4);
		emit_jump(e, BPF_JEQ, 0, fails, holds);
		break;
	}
}

static void emit_leaf(struct emitter *e, const struct block *block, const struct range *range)
{
	uint8_t loaded = NOTHING, behind;

	for (const struct bpf_rule *rule = range->rules; rule && rule->action; rule++) {
		const struct bpf_rule *last;
		int next = e->length + chain_size(rule, loaded, &last, &behind);

		if (!last[1].action)
			next = return_of(block, range->action);
		for (; rule < last; rule++) {
			int size = test_size(rule, loaded);

			emit_test(e, rule, loaded, e->length + size, next);
			loaded = left_loaded(rule);
		}
		emit_test(e, rule, loaded, return_of(block, rule->action), next);
		loaded = behind;
	}
}

static bool is_plain(const struct range *range)
{
	return range->size == 0;
}

/* Without the returns. */
static int nodes_size(const struct range *ranges, size_t count)
{
	int size = (int)count - 1;

	for (size_t i = 0; i < count; i++)
		size += ranges[i].size;
	return size;
}

static void emit_nodes(struct emitter *e, const struct block *block, const struct range *ranges,
		       size_t count)
{
	size_t half = count / 2;
	const struct range *right = ranges + half;
	int below = e->length + 1, above = below;

	if (count == 1) {
		emit_leaf(e, block, ranges);
		return;
	}
	if (half == 1 && is_plain(ranges))
		below = return_of(block, ranges->action);
	else
		above += nodes_size(ranges, half);
	if (count - half == 1 && is_plain(right))
		above = return_of(block, right->action);
	emit_jump(e, BPF_JGE, right->first, above, below);
	emit_nodes(e, block, ranges, half);
	emit_nodes(e, block, right, count - half);
}

/* A leaf that is no block by itself, because of its length or its actions: each rule with a return
 * of its own. */
static void emit_long_leaf(struct emitter *e, const struct range *range)
{
	const struct bpf_rule *last;
	uint8_t loaded;

	for (const struct bpf_rule *rule = range->rules; rule && rule->action; rule++) {
		int holds = e->length + chain_size(rule, NOTHING, &last, &loaded);

		for (loaded = NOTHING; rule < last; rule++) {
			int size = test_size(rule, loaded);

			emit_test(e, rule, loaded, e->length + size, holds + 1);
			loaded = left_loaded(rule);
		}
		emit_test(e, rule, loaded, holds, holds + 1);
		emit_return(e, rule->action);
	}
	emit_return(e, range->action);
}

static void emit_tree(struct emitter *e, const struct range *ranges, size_t count)
{
	struct block block = {0};
	size_t half = count / 2;
	int size = nodes_size(ranges, count), jump = e->length, left;

	if (size <= REACH - ACTIONS && know_actions(&block, ranges, count)) {
		block.returns = e->length + size;
		emit_nodes(e, &block, ranges, count);
		for (int i = 0; i < block.count; i++)
			emit_return(e, block.actions[i]);
		return;
	}
	if (count == 1) {
		emit_long_leaf(e, ranges);
		return;
	}
	/* How far it is over the left half is known behind it. */
	emit(e, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, 0, 1);
	emit(e, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_tree(e, ranges, half);
	left = e->length - jump - 2;
	if (e->length > 0)
		e->program[jump + 1].k = (uint32_t)left;
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
	range.size = rules_size(range.rules);
	ranges[(*count)++] = range;
	return 0;
}

int bpf_build(uint32_t architecture, const struct bpf_call *calls, size_t count, uint32_t otherwise,
	      struct sock_filter program[static BPF_ROOM])
{
	struct emitter e = {.program = program};
	static struct range ranges[RANGES]; /* of a stack's every page would be touched */
	size_t range_count = 0;
	uint32_t next = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)calls[i].number;

		if (calls[i].number < 0 || number < next)
			return -EINVAL;
		if ((number > next && add_range(ranges, &range_count,
						(struct range){next, otherwise, NULL, 0}) < 0) ||
		    add_range(ranges, &range_count,
			      (struct range){number, calls[i].action, calls[i].rules, 0}) < 0)
			return -E2BIG;
		next = number + 1;
	}
	if (add_range(ranges, &range_count, (struct range){next, otherwise, NULL, 0}) < 0)
		return -E2BIG;
	emit_load(&e, offsetof(struct seccomp_data, arch));
	emit(&e, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
	emit_return(&e, SECCOMP_RET_KILL_PROCESS);
	emit_load(&e, offsetof(struct seccomp_data, nr));
	emit_tree(&e, ranges, range_count);
	return e.length;
}
