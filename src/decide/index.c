/* SPDX-License-Identifier: Apache-2.0 */
/* An index of hashes: of the program's name with one operand that the rule names, or with none;
 * with the first operand, for commands of which not all words are known; and with a mark under
 * which all rules of the program are. Two words of one hash cost a try, nothing else. */
#include "index.h"
#include "../base/path.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEYS_LIMIT = 64,   /* of one rule */
	WORDS_LIMIT = 128, /* of a command that are looked up */
	INDEX_FROM = 16,   /* rules: fewer are tried one by one */
};

/* In place of an operand, or before the first. */
static const char every_rule[] = "\1", first_is[] = "\2", first_is_open[] = "\3";

struct entry {
	uint64_t hash;
	uint32_t place;
};

struct rule_index {
	const struct rule **order; /* by place */
	size_t count;
	struct entry *entries; /* by hash, then by place */
	size_t entry_count, entry_room;
	uint32_t *table; /* where a hash begins, and 1 */
	size_t mask;
	uint32_t *rest; /* places of those that have no key */
	size_t rest_count;
};

static uint64_t hash_bytes(uint64_t hash, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Of the program's name, a mark and an operand. */
static uint64_t hash_key(const char *program, size_t program_length, const char *mark,
			 const char *operand, size_t length)
{
	uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), program, program_length);

	hash = hash_bytes(hash_bytes(hash, "", 1), mark, strlen(mark));
	hash = hash_bytes(hash, operand, length);
	return hash ^ hash >> 32;
}

uint64_t index_hash_words(const struct list *words)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < words->count; i++)
		hash = hash_bytes(hash, words->items[i], strlen(words->items[i]) + 1);
	return hash;
}

/* The alternatives of a word, if they are plain text, as slices; 0: they are not, or too many. */
struct slice {
	const char *text;
	size_t length;
};

static size_t alternatives(const char *text, bool program, struct slice slices[static KEYS_LIMIT])
{
	size_t count = 0;

	/* A class could hold a slash, and a backslash hides the |. */
	if (text[strcspn(text, "[\\")])
		return 0;
	for (;; text++) {
		size_t length = strcspn(text, "|");
		struct slice slice = {text, length};

		for (size_t i = 0; program && i < length; i++)
			if (text[i] == '/')
				slice = (struct slice){text + i + 1, length - i - 1};
		if (count == KEYS_LIMIT || slice.length == 0 ||
		    memchr(slice.text, '*', slice.length) ||
		    memchr(slice.text, '?', slice.length) || slice.text[0] == '~' ||
		    memchr(slice.text, '/', slice.length))
			return 0;
		slices[count++] = slice;
		text += length;
		if (!*text)
			return count;
	}
}

static void add_entry(struct rule_index *index, uint64_t hash, size_t place)
{
	if (index->entry_count == index->entry_room) {
		index->entry_room = MAX(index->entry_room * 2, (size_t)64);
		index->entries =
			reallocarray(index->entries, index->entry_room, sizeof(*index->entries));
		if (!index->entries)
			abort();
	}
	index->entries[index->entry_count++] = (struct entry){hash, (uint32_t)place};
}

static int by_hash(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return (one->place > other->place) - (one->place < other->place);
}

static size_t find(const struct rule_index *index, uint64_t hash)
{
	for (size_t slot = hash & index->mask; index->table[slot]; slot = (slot + 1) & index->mask)
		if (index->entries[index->table[slot] - 1].hash == hash)
			return index->table[slot] - 1;
	return SIZE_MAX;
}

static void make_table(struct rule_index *index)
{
	size_t size = 16;

	if (index->entry_count)
		qsort(index->entries, index->entry_count, sizeof(*index->entries), by_hash);
	while (size < 2 * index->entry_count)
		size *= 2;
	free(index->table);
	index->mask = size - 1;
	index->table = calloc(size, sizeof(*index->table));
	if (!index->table)
		abort();
	for (size_t i = 0; i < index->entry_count; i++) {
		size_t slot = index->entries[i].hash & index->mask;

		if (i && index->entries[i - 1].hash == index->entries[i].hash)
			continue;
		while (index->table[slot])
			slot = (slot + 1) & index->mask;
		index->table[slot] = (uint32_t)i + 1;
	}
}

/* How many rules there are under a key. */
static size_t frequency(const struct rule_index *index, uint64_t hash)
{
	size_t at = find(index, hash), count = 0;

	while (at < index->entry_count && index->entries[at].hash == hash) {
		count++;
		at++;
	}
	return count;
}

static void add_keys(struct rule_index *index, size_t place, const struct slice *programs,
		     size_t program_count, const char *mark, const struct slice *operands,
		     size_t operand_count)
{
	for (size_t p = 0; p < program_count; p++)
		for (size_t o = 0; o < operand_count; o++)
			add_entry(index,
				  hash_key(programs[p].text, programs[p].length, mark,
					   operands[o].text, operands[o].length),
				  place);
}

/* The alternatives of an operand that every command must hold, under which few rules are; counted
 * by an index of all such operands. */
static size_t rarest_operand(const struct rule_index *counts, const struct pattern *pattern,
			     const struct slice *programs, size_t program_count,
			     struct slice best[static KEYS_LIMIT])
{
	size_t best_count = 0, least = SIZE_MAX;

	for (size_t i = 0; i < pattern->operands.count; i++) {
		const struct term *term = &pattern->operands.items[i];
		struct slice slices[KEYS_LIMIT];
		size_t count =
			term->kind == TERM_GLOB ? alternatives(term->text, false, slices) : 0;
		size_t weight = 0;

		if (count == 0 || count * program_count > KEYS_LIMIT)
			continue;
		for (size_t k = 0; counts && k < count; k++)
			weight += frequency(counts, hash_key(programs[0].text, programs[0].length,
							     "", slices[k].text, slices[k].length));
		if (weight >= least)
			continue;
		least = weight;
		best_count = count;
		memcpy(best, slices, count * sizeof(*slices));
	}
	return best_count;
}

/* An index of every operand, which only counts. */
static void count_operands(const struct rule_index *index, struct rule_index *ret_counts)
{
	for (size_t i = 0; i < index->count; i++) {
		const struct pattern *pattern = index->order[i]->compiled;
		struct slice programs[KEYS_LIMIT], slices[KEYS_LIMIT];

		if (!pattern->program || !alternatives(pattern->program, true, programs))
			continue;
		for (size_t k = 0; k < pattern->operands.count; k++) {
			const struct term *term = &pattern->operands.items[k];
			size_t count = term->kind == TERM_GLOB
					       ? alternatives(term->text, false, slices)
					       : 0;

			add_keys(ret_counts, i, programs, 1, "", slices, count);
		}
	}
	make_table(ret_counts);
}

static void add_rule(struct rule_index *index, const struct rule_index *counts, size_t place)
{
	static const struct slice none = {"", 0};
	const struct pattern *pattern = index->order[place]->compiled;
	const struct term *first = pattern->operands.count ? &pattern->operands.items[0] : NULL;
	struct slice programs[KEYS_LIMIT], operands[KEYS_LIMIT];
	size_t program_count =
		pattern->program ? alternatives(pattern->program, true, programs) : 0;
	size_t count;

	if (program_count == 0) {
		index->rest[index->rest_count++] = (uint32_t)place;
		return;
	}
	add_keys(index, place, programs, program_count, every_rule, &none, 1);
	count = rarest_operand(counts, pattern, programs, program_count, operands);
	if (count)
		add_keys(index, place, programs, program_count, "", operands, count);
	else
		add_keys(index, place, programs, program_count, "", &none, 1);
	count = first && first->kind == TERM_GLOB ? alternatives(first->text, false, operands) : 0;
	if (count && count * program_count <= KEYS_LIMIT)
		add_keys(index, place, programs, program_count, first_is, operands, count);
	else
		add_keys(index, place, programs, program_count, first_is_open, &none, 1);
}

static void index_free(struct rule_index *index)
{
	if (!index)
		return;
	free(index->order);
	free(index->entries);
	free(index->table);
	free(index->rest);
	free(index);
}

/* Takes order. */
static struct rule_index *index_make(const struct rule **order, size_t count)
{
	struct rule_index *index = calloc(1, sizeof(*index)), counts = {0};

	if (!index || !(index->rest = calloc(count + 1, sizeof(*index->rest))))
		abort();
	index->order = order;
	index->count = count;
	count_operands(index, &counts);
	for (size_t i = 0; i < count; i++)
		add_rule(index, &counts, i);
	free(counts.entries);
	free(counts.table);
	make_table(index);
	return index;
}

static int by_strength(const void *a, const void *b)
{
	const struct rule *one = *(const struct rule *const *)a;
	const struct rule *other = *(const struct rule *const *)b;

	if (one->kind != other->kind)
		return one->kind > other->kind ? -1 : 1;
	if (one->layer != other->layer)
		return one->layer > other->layer ? -1 : 1;
	return (one > other) - (one < other);
}

static void index_exact(struct policy *policy, struct policy_index *index)
{
	struct entry *entries = calloc(policy->rule_count + 1, sizeof(*entries));

	if (!entries)
		abort();
	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rules[i].exactly.count)
			entries[index->exact_count++] = (struct entry){
				index_hash_words(&policy->rules[i].exactly), (uint32_t)i};
	qsort(entries, index->exact_count, sizeof(*entries), by_hash);
	index->exact = calloc(index->exact_count + 1, sizeof(*index->exact));
	index->exact_hashes = calloc(index->exact_count + 1, sizeof(*index->exact_hashes));
	if (!index->exact || !index->exact_hashes)
		abort();
	for (size_t i = 0; i < index->exact_count; i++) {
		index->exact[i] = entries[i].place;
		index->exact_hashes[i] = entries[i].hash;
	}
	free(entries);
}

void policy_index_make(struct policy *policy)
{
	struct policy_index *index = calloc(1, sizeof(*index));
	const struct rule **top = calloc(policy->rule_count + 1, sizeof(*top));
	const struct rule **members = calloc(policy->rule_count + 1, sizeof(*members));
	size_t top_count = 0, member_count = 0;

	if (!index || !top || !members)
		abort();
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->compiled && rule->set < 0)
			top[top_count++] = rule;
		else if (rule->compiled)
			members[member_count++] = rule;
	}
	qsort(top, top_count, sizeof(*top), by_strength);
	index->top = index_make(top, top_count);
	index->members = index_make(members, member_count);
	index_exact(policy, index);
	policy->index = index;
}

void policy_index_free(struct policy_index *index)
{
	if (!index)
		return;
	index_free(index->top);
	index_free(index->members);
	free(index->exact);
	free(index->exact_hashes);
	free(index);
}

size_t policy_index_rest(const struct policy_index *index)
{
	return index->top->rest_count + index->members->rest_count;
}

struct visitor {
	const struct rule_index *index;
	bool (*visit)(void *data, size_t place, const struct rule *rule);
	void *data;
};

static void visit_key(const struct visitor *visitor, const char *program, const char *mark,
		      const char *operand)
{
	const struct rule_index *index = visitor->index;
	uint64_t hash = hash_key(program, strlen(program), mark, operand, strlen(operand));

	for (size_t i = find(index, hash); i < index->entry_count && index->entries[i].hash == hash;
	     i++)
		if (!visitor->visit(visitor->data, index->entries[i].place,
				    index->order[index->entries[i].place]))
			return;
}

/* The word as it is written, and where it leads: ./push is push, too. */
static void visit_word(const struct visitor *visitor, const char *program, const char *mark,
		       const char *word)
{
	visit_key(visitor, program, mark, word);
	if (strchr(word, '/')) {
		_cleanup_free_ char *normal = path_normalise(word);

		visit_key(visitor, program, mark, normal);
	}
}

static void visit_all(const struct visitor *visitor)
{
	for (size_t i = 0; i < visitor->index->count; i++)
		if (!visitor->visit(visitor->data, i, visitor->index->order[i]))
			return;
}

/* Where the first operand is at the latest, whichever options have values; 0: that is not known, or
 * a word before it is not. */
static size_t last_for_first(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc && i < first + WORDS_LIMIT; i++) {
		if (command->dynamic && pattern_word_varies(command, command->argv[i]))
			return 0;
		if (command->argv[i][0] != '-' &&
		    (i == first + 1 || command->argv[i - 1][0] != '-'))
			return i;
	}
	return 0;
}

/* The rules of a program whose name is known. */
static void visit_program(const struct visitor *visitor, const struct command *command,
			  const struct link *link, const char *program)
{
	size_t last = command->argc - 1;
	const char *mark = "";

	if (command->dynamic || link->more || command->argc - link->first > WORDS_LIMIT) {
		/* What is not known may be any operand but the first. */
		last = last_for_first(command, link->first);
		mark = first_is;
	}
	if (last == 0 && command->argc > 1) {
		visit_key(visitor, program, every_rule, "");
		return;
	}
	visit_key(visitor, program, mark == first_is ? first_is_open : "", "");
	for (size_t i = link->first + 1; i <= last; i++)
		visit_word(visitor, program, mark, command->argv[i]);
}

void index_visit(const struct rule_index *index, const struct command *command,
		 const struct chain *chain, const char *name,
		 bool (*visit)(void *data, size_t place, const struct rule *rule), void *data)
{
	const struct visitor visitor = {index, visit, data};

	if (index->count < INDEX_FROM) {
		visit_all(&visitor);
		return;
	}
	for (size_t i = 0; i < index->rest_count; i++)
		if (!visit(data, index->rest[i], index->order[index->rest[i]]))
			break;
	for (size_t i = 0; i < chain->count; i++) {
		const struct link *link = &chain->links[i];
		const char *word = i == 0 && name ? name : NULL;

		if (!word && link->first < command->argc)
			word = command->argv[link->first];
		if (!word)
			continue;
		if (command->dynamic && pattern_word_varies(command, word)) {
			visit_all(&visitor);
			return;
		}
		visit_program(&visitor, command, link, path_last(word));
		if (strchr(word, '/')) {
			_cleanup_free_ char *normal = path_normalise(word);

			visit_program(&visitor, command, link, path_last(normal));
		}
	}
}

void index_visit_program(const struct rule_index *index, const char *program,
			 bool (*visit)(void *data, size_t place, const struct rule *rule),
			 void *data)
{
	const struct visitor visitor = {index, visit, data};
	struct slice slices[KEYS_LIMIT];
	_cleanup_free_ char *name = NULL;

	if (!program || !alternatives(program, true, slices)) {
		visit_all(&visitor);
		return;
	}
	for (size_t i = 0; i < index->rest_count; i++)
		if (!visit(data, index->rest[i], index->order[index->rest[i]]))
			break;
	/* What is about all of them is about the first. */
	name = strndup(slices[0].text, slices[0].length);
	visit_key(&visitor, name, every_rule, "");
}
