/* SPDX-License-Identifier: Apache-2.0 */
/* The assessment of a command as it is typed. */
#pragma once

#include "../../src/assess/assess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static inline void assess_text(struct arena *arena, const char *text,
			       struct assessment *ret_assessment)
{
	_cleanup_request_ struct request request;
	struct plan plan;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, ret_assessment);
}

static inline void check_class(const char *const *commands, size_t count, enum class class)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct assessment got;

		assess_text(arena, commands[i], &got);
		if (got.class == class)
			continue;
		wrong++;
		print_error("%s: is %s (%s), not %s\n", commands[i], class_name(got.class),
			    got.reasons[0] ? got.reasons[0] : "no reason", class_name(class));
	}
	if (wrong)
		fail_msg("%zu of %zu", wrong, count);
}
