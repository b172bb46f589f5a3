/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the configuration of a tool or as a file about sets. The first byte says which
 * reader, the second how values name hosts. Whatever is found is a host with a port: no
 * credentials, no pattern that the reader was not meant to make. */
#include "../../src/base/hosts.h"
#include "../../src/decide/sets_parts.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const configuration_reader readers[] = {
	read_python_ini, read_npmrc,	   read_yarnrc, read_variables, read_requirements,
	read_apt_list,	 read_apt_sources, read_toml,	read_git_config};

static void check_host(const char *host, enum hosts_in in)
{
	const char *colon = strrchr(host, ':');
	const char *name = in == IN_MODULES && strncmp(host, "*.", 2) == 0 ? host + 2 : host;

	if (host_pattern_check(host, NULL) < 0 || !colon || !colon[1] ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strpbrk(name, "*@/% "))
		abort();
}

static void check_file(const char *text, size_t length)
{
	_cleanup_error_ struct error *error = NULL;

	if (sets_parse(text, length, "fuzz.yaml", &error) < 0 &&
	    (!error || error->code != E_POLICY || !error->message || !error->hint || !error->file))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct wanted_key all[][2] = {
		{{"*", IN_URLS}, {NULL}}, {{"*", IN_INDEXES}, {NULL}}, {{"*", IN_PROXIES}, {NULL}},
		{{"*", IN_SUMS}, {NULL}}, {{"*", IN_MODULES}, {NULL}}, {{"*", IN_REMOTE}, {NULL}}};
	_cleanup_free_ char *text = NULL;
	struct findings findings = {0};
	size_t which;

	if (size < 2)
		return 0;
	text = malloc(size - 1);
	if (!text)
		abort();
	memcpy(text, data + 2, size - 2);
	text[size - 2] = '\0';
	which = data[0] % (ELEMENTS(readers) + 1);
	if (which == ELEMENTS(readers)) {
		check_file(text, size - 2);
		return 0;
	}
	findings.keys = all[data[1] % ELEMENTS(all)];
	readers[which](text, size - 2, &findings);
	if (findings.hosts.count > FINDINGS_LIMIT)
		abort();
	for (size_t i = 0; i < findings.hosts.count; i++)
		check_host(findings.hosts.items[i], findings.keys->in);
	list_done(&findings.hosts);
	return 0;
}
