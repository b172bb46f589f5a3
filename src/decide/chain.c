/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that one simple command holds: itself, and what it wraps. */
#include "pattern.h"
#include "../base/path.h"

#include <string.h>

static void add(struct chain *chain, struct link link)
{
	size_t room = ELEMENTS(chain->few);

	if (chain->count == room) {
		chain->links = calloc(2 * room, sizeof(link));
		if (!chain->links)
			abort();
		memcpy(chain->links, chain->few, sizeof(chain->few));
	} else if (chain->count > room && (chain->count & (chain->count - 1)) == 0) {
		chain->links = reallocarray(chain->links, 2 * chain->count, sizeof(link));
		if (!chain->links)
			abort();
	}
	chain->links[chain->count++] = link;
}

/* The characters that words may begin with, wherever they lead: enough to see that most rules mean
 * another command. */
static void note_initials(const struct command *command, struct link *link)
{
	for (size_t i = link->first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		unsigned char initial = (unsigned char)word[0];

		/* The name of a directory may be folded away, and what varies be anything, or more
		 * than one word. */
		if (initial == '.' || strstr(word, "/.") ||
		    (command->dynamic && pattern_word_varies(command, word) &&
		     (strpbrk(word, "$`{") || strchr("*?[~<>", initial)))) {
			link->any_initial = true;
			return;
		}
		link->initials[initial / 64] |= UINT64_C(1) << initial % 64;
	}
}

static void look_at(const struct command *command, struct link *link)
{
	if (link->first >= command->argc)
		return;
	link->any_initial =
		link->more ||
		(command->dynamic && pattern_word_varies(command, command->argv[link->first]));
	memset(link->initials, 0, sizeof(link->initials));
	note_initials(command, link);
	for (size_t i = link->first + 1; i < command->argc; i++) {
		const char *name = path_last(command->argv[link->first]);

		if (command->argv[i][0] != '-')
			continue;
		link->knows_options = pattern_knows_options(name, &link->with_value);
		return;
	}
}

void chain_make(const struct command *command, size_t first, struct chain *ret_chain)
{
	struct link link = {.first = first, .certain = true, .started = true};

	ret_chain->count = 0;
	ret_chain->links = ret_chain->few;
	for (;;) {
		size_t inner = parse_wrapped(command, link.first);
		const char *name;

		look_at(command, &link);
		add(ret_chain, link);
		if (inner == 0)
			return;
		name = path_last(command->argv[link.first]);
		/* But for programs of many names, which start nobody for it. */
		link.started &= parse_word_in("busybox toybox", name, strlen(name));
		/* These change who runs it, or add words to it. */
		link.certain &=
			!parse_word_in("sudo doas pkexec xargs busybox", name, strlen(name));
		link.more |= strcmp(name, "xargs") == 0;
		link.first = inner;
	}
}

void chain_done(struct chain *chain)
{
	if (chain->links != chain->few)
		free(chain->links);
}
