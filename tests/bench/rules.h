/* SPDX-License-Identifier: Apache-2.0 */
/* Policies of any size with rules of the kind that people write: for programs of every day, with
 * their verbs, names, options and paths. */
#pragma once

#include "../../src/decide/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void write_rules(FILE *file, int rules)
{
	static const char *const programs[][5] = {
		{"git", "push", "checkout", "fetch", "branch"},
		{"docker", "run", "exec", "rm", "build"},
		{"kubectl", "apply", "delete", "get", "scale"},
		{"npm", "install", "publish", "run", "ci"},
		{"pip", "install", "uninstall", "download", "show"},
		{"cargo", "build", "publish", "install", "test"},
		{"terraform", "apply", "destroy", "plan", "import"},
		{"aws", "s3", "ec2", "iam", "lambda"},
		{"gcloud", "compute", "projects", "run", "sql"},
		{"systemctl", "restart", "stop", "enable", "status"},
		{"apt-get", "install", "remove", "update", "purge"},
		{"psql", "-c", "-f", "-l", "-d"},
		{"ssh", "web", "db", "build", "backup"},
		{"curl", "-X", "-o", "-d", "-s"},
		{"rm", "build", "dist", "target", "cache"},
		{"make", "install", "deploy", "clean", "test"},
		{"helm", "upgrade", "rollback", "install", "uninstall"},
		{"gh", "pr", "release", "repo", "secret"},
		{"go", "build", "install", "get", "test"},
		{"tar", "-x", "-c", "-t", "--delete"},
	};
	static const char *const kinds[] = {"ask", "deny", "allow"};

	fputs(rules ? "version: 1\nrules:\n" : "version: 1\n", file);
	for (int i = 0; i < rules; i++) {
		const char *const *words = programs[i % (int)ELEMENTS(programs)];
		const char *verb = words[1 + i / (int)ELEMENTS(programs) % 4];

		if (i < 5) {
			fprintf(file, "  - command: '*%d > /etc/**'\n", i);
		} else if (i % 10 < 5) {
			fprintf(file, "  - command: %s %s service-%d\n", words[0], verb, i);
		} else if (i % 10 < 7) {
			fprintf(file, "  - command: %s %s team-%d/**\n", words[0], verb, i);
		} else if (i % 10 == 7) {
			fprintf(file, "  - command: %s %s|all stage-%d --force\n", words[0], verb,
				i);
		} else if (i % 10 == 8) {
			fprintf(file, "  - command: tool%d %s\n    when: {agent: ci-%d}\n", i, verb,
				i);
		} else {
			fprintf(file, "  - exactly: [%s, %s, service-%d]\n", words[0], verb, i);
		}
		fprintf(file, "    do: %s\n    why: measured\n", kinds[i % 3]);
	}
}

static inline struct policy *make_policy(int rules)
{
	char path[] = "/tmp/ward-judge-XXXXXX";
	const struct policy_places places = {.workspace = "/nonexistent",
					     .extra = path,
					     .system = "/nonexistent",
					     .uid = geteuid(),
					     .brief = true};
	struct policy *policy;
	struct error *error = NULL;
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		exit(1);
	write_rules(file, rules);
	fclose(file);
	if (policy_load(&places, &policy, &error) < 0) {
		fprintf(stderr, "%s:%d: %s\n", error->file, error->line, error->message);
		exit(1);
	}
	unlink(path);
	return policy;
}
