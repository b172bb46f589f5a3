/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic as the shell does it, where all that is in it is known and nothing is assigned. */
#include "scope.h"
#include "lexer.h"

#include <string.h>

enum { DEPTH_LIMIT = 32 };

struct sum {
	const struct where *where;
	const char *at, *end;
	unsigned depth;
	bool certain;
	bool failed; /* something is not known, or would be an error */
};

static int64_t read_choice(struct sum *sum);

static int64_t fail_sum(struct sum *sum)
{
	sum->failed = true;
	sum->at = sum->end;
	return 0;
}

static int peek(struct sum *sum)
{
	while (sum->at < sum->end && (is_blank(*sum->at) || *sum->at == '\n'))
		sum->at++;
	return sum->at < sum->end ? (unsigned char)*sum->at : -1;
}

static bool take(struct sum *sum, const char *sign)
{
	size_t length = strlen(sign);

	peek(sum);
	if ((size_t)(sum->end - sum->at) < length || memcmp(sum->at, sign, length) != 0)
		return false;
	sum->at += length;
	return true;
}

static int digit_of(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 64;
}

/* 10, 0x1f, 017, 2#101 */
static int64_t read_number(struct sum *sum)
{
	uint64_t number = 0, base = 10;
	const char *start = sum->at;

	if (*sum->at == '0') {
		base = 8;
		sum->at++;
		if (sum->at < sum->end && (*sum->at == 'x' || *sum->at == 'X')) {
			base = 16;
			sum->at++;
		}
	}
	for (; sum->at < sum->end; sum->at++) {
		uint64_t digit = (uint64_t)digit_of((unsigned char)*sum->at);

		if (*sum->at == '#' && base == 10 && number >= 2 && number <= 36) {
			base = number;
			number = 0;
			start = sum->at + 1;
			continue;
		}
		if (digit == 64 && *sum->at != '_' && *sum->at != '@')
			break;
		if (digit >= base)
			return fail_sum(sum);
		number = number * base + digit;
	}
	return sum->at > start ? (int64_t)number : fail_sum(sum);
}

/* The value of a name is a sum of its own; that of $name is a part of the text, which is known to
 * stay one only where it is a number. */
static int64_t value_of_name(struct sum *sum, const char *name, bool dollar)
{
	struct value value;
	struct sum inner = {.where = sum->where, .depth = sum->depth + 1, .certain = true};
	int64_t number;

	if (sum->depth > DEPTH_LIMIT || !value_of(sum->where, name, &value) || value.list ||
	    value.variants > 1 || value.count != 1)
		return fail_sum(sum);
	inner.at = value.items[0];
	inner.end = inner.at + strlen(inner.at);
	if (dollar && inner.at[strspn(inner.at, "0123456789")])
		return fail_sum(sum);
	if (peek(&inner) < 0)
		return dollar ? fail_sum(sum) : 0;
	number = read_choice(&inner);
	if (inner.failed || peek(&inner) >= 0)
		return fail_sum(sum);
	sum->certain &= inner.certain && value.certain;
	return number;
}

/* x, $x, ${x} */
static int64_t read_name(struct sum *sum)
{
	char name[64];
	size_t length = 0;
	bool dollar = take(sum, "$"), braces = dollar && take(sum, "{");

	while (sum->at < sum->end && (is_name_start(*sum->at) || is_digit(*sum->at))) {
		if (length + 1 >= sizeof(name))
			return fail_sum(sum);
		name[length++] = *sum->at++;
	}
	name[length] = '\0';
	if (length == 0 || (braces && !take(sum, "}")) || peek(sum) == '[')
		return fail_sum(sum);
	return value_of_name(sum, name, dollar);
}

static int64_t read_factor(struct sum *sum)
{
	int64_t number;
	int c = peek(sum);

	if (++sum->depth > DEPTH_LIMIT || c < 0)
		return fail_sum(sum);
	if (take(sum, "++") || take(sum, "--"))
		return fail_sum(sum); /* or twice a sign: not worth telling apart */
	if (take(sum, "+"))
		number = read_factor(sum);
	else if (take(sum, "-"))
		number = (int64_t) - (uint64_t)read_factor(sum);
	else if (take(sum, "~"))
		number = ~read_factor(sum);
	else if (c == '!' && take(sum, "!"))
		number = !read_factor(sum);
	else if (take(sum, "(")) {
		number = read_choice(sum);
		if (!take(sum, ")"))
			fail_sum(sum);
	} else if (take(sum, "$((")) {
		number = read_choice(sum);
		if (!take(sum, "))"))
			fail_sum(sum);
	} else if (is_digit(c)) {
		number = read_number(sum);
	} else {
		number = read_name(sum);
	}
	sum->depth--;
	return number;
}

static int64_t power(struct sum *sum, int64_t base, int64_t exponent)
{
	uint64_t result = 1, factor = (uint64_t)base;

	if (exponent < 0)
		return fail_sum(sum);
	for (; exponent > 0; exponent >>= 1) {
		if (exponent & 1)
			result *= factor;
		factor *= factor;
	}
	return (int64_t)result;
}

static const struct sign {
	const char *text;
	unsigned rank; /* the higher, the closer it binds */
} signs[] = {
	/* longer ones first */
	{"**", 11}, {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
	{"&&", 2},  {"||", 1}, {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},
	{"<", 7},   {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},
};

static int64_t combine(struct sum *sum, const char *sign, int64_t left, int64_t right)
{
	uint64_t a = (uint64_t)left, b = (uint64_t)right;
	bool shifts = sign[0] == sign[1] && (sign[0] == '<' || sign[0] == '>');

	if ((shifts && (right < 0 || right > 62)) ||
	    ((*sign == '/' || *sign == '%') && (right == 0 || right == -1)))
		return fail_sum(sum);
	switch (*sign) {
	case '*':
		return sign[1] ? power(sum, left, right) : (int64_t)(a * b);
	case '/':
		return left / right;
	case '%':
		return left % right;
	case '+':
		return (int64_t)(a + b);
	case '-':
		return (int64_t)(a - b);
	case '<':
		return shifts ? (int64_t)(a << b) : sign[1] ? left <= right : left < right;
	case '>':
		return shifts ? left >> right : sign[1] ? left >= right : left > right;
	case '=':
		return left == right;
	case '!':
		return left != right;
	case '&':
		return sign[1] ? left && right : left & right;
	case '|':
		return sign[1] ? left || right : left | right;
	default:
		return left ^ right;
	}
}

static const struct sign *next_sign(struct sum *sum)
{
	peek(sum);
	for (size_t i = 0; i < ELEMENTS(signs); i++) {
		const char *start = sum->at;

		if (!take(sum, signs[i].text))
			continue;
		/* it assigns, or it is ++ */
		if (signs[i].rank != 6 && signs[i].rank != 7 && sum->at < sum->end &&
		    (*sum->at == '=' || (signs[i].rank == 9 && *sum->at == *start)))
			fail_sum(sum);
		else
			sum->at = start;
		return &signs[i];
	}
	return NULL;
}

static int64_t read_signs(struct sum *sum, unsigned rank)
{
	int64_t left = read_factor(sum);
	const struct sign *sign;

	while (!sum->failed && (sign = next_sign(sum)) && sign->rank >= rank && !sum->failed) {
		bool to_right = sign->rank == 11;

		take(sum, sign->text);
		left = combine(sum, sign->text, left,
			       read_signs(sum, to_right ? sign->rank : sign->rank + 1));
	}
	return left;
}

static int64_t read_choice(struct sum *sum)
{
	int64_t number, yes, no;

	if (++sum->depth > DEPTH_LIMIT)
		return fail_sum(sum);
	number = read_signs(sum, 1);
	if (!sum->failed && take(sum, "?")) {
		yes = read_choice(sum);
		if (!take(sum, ":"))
			fail_sum(sum);
		no = read_choice(sum);
		number = number ? yes : no;
	}
	sum->depth--;
	return number;
}

bool arithmetic_value(const struct where *where, const char *text, size_t length,
		      int64_t *ret_number, bool *ret_certain)
{
	struct sum sum = {.where = where, .at = text, .end = text + length, .certain = true};

	*ret_number = peek(&sum) < 0 ? 0 : read_choice(&sum);
	*ret_certain = sum.certain;
	return !sum.failed && peek(&sum) < 0;
}
