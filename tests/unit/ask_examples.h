/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of each kind. */
#pragma once

#include "escalate/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *categories[] = {"package install", "network", NULL};
static const char *reasons[] = {"installs packages, which run code of others", NULL};
static const struct assessment medium = {CLASS_ASK, RISK_MEDIUM, categories, reasons,
					 .reversible = true};
static const struct assessment high = {CLASS_ASK, RISK_HIGH, categories, reasons};

static const struct ask before = {
	.kind = ASK_BEFORE,
	.command = "pip install numpy",
	.cwd = "/home/anna/project",
	.agent = "claude",
	.session = "s-12",
	.tool = "bash",
	.call_id = "call_9",
	.turn = "3",
	.reason = "numpy is needed for the tests",
	.why = "rule 'pip': packages are asked for",
	.assessment = &medium,
	.covers = "pip install",
	.always_rule = "- allow: pip install *\n  why: said so",
	.always_file = "/home/anna/.config/ward/ward.yaml",
	.never_rule = "- deny: pip install *",
};

static char *refused_items[] = {"write /srv/site/index.html (openat by cp)",
				"unix /run/docker.sock (connect by docker)", NULL};
static char *granted_items[] = {"write /srv/site", "unix /run/docker.sock", NULL};
static const struct list refused = {refused_items, 2, 3}, granted = {granted_items, 2, 3};

static const struct ask retry = {
	.kind = ASK_RETRY,
	.command = "set -e\ncp -r build/. /srv/site\ndocker restart site\n",
	.cwd = "/home/anna/project",
	.agent = "claude, tool \"x\"",
	.tool = "bash",
	.reason = "deploy \u202enow\u202c, \x1b[2Jp\u0430ypal",
	.retry_reason = "command failed; retry with what it was refused?",
	.assessment = &high,
	.refused = &refused,
	.grants = &granted,
	.covers = "make",
	.may_unsandbox = true,
	.starts_again = true,
};

static char *wished_items[] = {"connect packages.example:443", NULL};
static char *set_items[] = {"connect packages.example:443", "connect files.example:443", NULL};
static const struct list wished = {wished_items, 1, 2}, whole_set = {set_items, 2, 3};
static struct extent extents[] = {
	{"this alone", &wished, "- command: pip install\n  permissions: [one]"},
	{"registry:python", &whole_set, "- command: pip install\n  permissions: [one, two]"},
};

static const struct ask in_place = {
	.kind = ASK_IN_PLACE,
	.command = "pip install numpy",
	.program = "pip",
	.object = "packages.example:443",
	.note = "registry:python: packages.example, files.example",
	.why = "it is on no list; the connection waits",
	.assessment = &medium,
	.grants = &wished,
	.covers = "pip install",
	.always_rule = "- command: pip install\n  permissions: [one]",
	.always_file = "/home/anna/.config/ward/ward.yaml",
	.extents = extents,
	.extent_count = ELEMENTS(extents),
};

static char *domain_items[] = {"packages.example", NULL};
static char *code_items[] = {"profile code-net", "connect packages.example", NULL};
static const struct list domains = {domain_items, 1, 2}, code_grants = {code_items, 2, 3};

static const struct ask networked = {
	.kind = ASK_BEFORE,
	.command = "python3 -c <code>",
	.operation = "networked code",
	.code = "import urllib.request\nprint(urllib.request.urlopen('http://packages.example'))",
	.reason = "looks at the index",
	.assessment = &medium,
	.grants = &code_grants,
	.domains = &domains,
};

static const struct ask bare = {.kind = ASK_BEFORE, .command = "true"};
