/* SPDX-License-Identifier: Apache-2.0 */
/* Globs over one word. Not fnmatch(): that takes exponential time over many stars, and the words
 * come from whoever is to be judged. */
#include "pattern.h"

#include <string.h>

/* The class at *at (behind its '['); steps over it. */
static bool class_matches(const char **at, const char *end, unsigned char c)
{
	const char *p = *at;
	bool negated = p < end && (*p == '!' || *p == '^'), found = false;

	p += negated;
	for (bool first = true; p < end && (*p != ']' || first); first = false) {
		unsigned char low = (unsigned char)*p++, high = low;

		if (low == '\\' && p < end)
			low = high = (unsigned char)*p++;
		if (p + 1 < end && *p == '-' && p[1] != ']') {
			high = (unsigned char)p[1];
			p += 2;
		}
		found |= c >= low && c <= high;
	}
	*at = p < end ? p + 1 : p;
	return found != negated;
}

static bool one_matches(const char **at, const char *end, unsigned char c)
{
	char p = *(*at)++;

	if (p == '?')
		return true;
	if (p == '[')
		return class_matches(at, end, c);
	if (p == '\\' && *at < end)
		p = *(*at)++;
	return (unsigned char)p == c;
}

bool glob_matches_part(const char *pattern, size_t length, const char *text, size_t text_length)
{
	const char *p = pattern, *end = pattern + length, *t = text, *t_end = text + text_length;
	const char *star = NULL, *resume = NULL;

	while (t < t_end) {
		if (p < end && *p == '*') {
			star = ++p;
			resume = t;
			continue;
		}
		if (p < end && one_matches(&p, end, (unsigned char)*t)) {
			t++;
			continue;
		}
		if (!star)
			return false;
		p = star;
		t = ++resume;
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* The length up to the next | that stands for itself. */
static size_t alternative(const char *pattern)
{
	size_t i = 0;

	while (pattern[i] && pattern[i] != '|')
		i += pattern[i] == '\\' && pattern[i + 1] ? 2 : 1;
	return i;
}

bool glob_any(const char *pattern, bool (*satisfies)(const char *, size_t, void *), void *data)
{
	for (;;) {
		size_t length = alternative(pattern);

		if (satisfies(pattern, length, data))
			return true;
		if (!pattern[length])
			return false;
		pattern += length + 1;
	}
}

static bool matches_text(const char *pattern, size_t length, void *text)
{
	return glob_matches_part(pattern, length, text, strlen(text));
}

bool glob_matches(const char *pattern, const char *text)
{
	return glob_any(pattern, matches_text, (void *)text);
}

struct beginning {
	const char *word;
	size_t fixed;
};

static bool could_match(const char *pattern, size_t length, void *data)
{
	const struct beginning *beginning = data;
	size_t same = 0;

	while (same < length && !strchr("*?[\\", pattern[same]))
		same++;
	if (memcmp(pattern, beginning->word, MIN(same, beginning->fixed)) != 0)
		return false;
	return same < length || beginning->fixed <= length;
}

bool glob_could_match(const char *pattern, const char *word, size_t fixed)
{
	struct beginning beginning = {word, fixed};

	return glob_any(pattern, could_match, &beginning);
}

const char *glob_fault(const char *pattern)
{
	size_t since = 0;

	for (size_t i = 0;; i++, since++) {
		if (pattern[i] == '|' || pattern[i] == '\0') {
			if (since == 0)
				return "an alternative beside | is empty";
			if (pattern[i] == '\0')
				return NULL;
			since = (size_t)-1;
		} else if (pattern[i] == '\\') {
			if (!pattern[++i])
				return "a backslash at the end of a word";
		} else if (pattern[i] == '[') {
			const char *close;

			i += 1 + (pattern[i + 1] == '!' || pattern[i + 1] == '^');
			close = pattern[i] ? strchr(pattern + i + 1, ']') : NULL;
			if (!close || memchr(pattern + i, '|', (size_t)(close - pattern) - i))
				return "a [ is never closed";
			i = (size_t)(close - pattern);
		}
	}
}
