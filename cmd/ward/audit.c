/* SPDX-License-Identifier: Apache-2.0 */
/* ward audit: check the audit log, or print it. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/units.h"
#include "../../src/record/audit.h"
#include "../../src/record/state.h"
#include "../../src/record/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward audit verify\n"
	"       ward audit export [--since SEQ]\n"
	"\n"
	"verify checks every record of the audit log against the one before it, and the end of the "
	"log\n"
	"against the head kept beside it, and against what the database made of it (state.db) "
	"knows,\n"
	"where there is one; the log alone is enough. Exit status 0: all holds. 1: a record was "
	"changed,\n"
	"removed, added or moved, or the end, or all of it, is missing; the line and the fault are "
	"printed.\n"
	"What a write that was broken off left at the end is no record, and is told as a "
	"warning.\n"
	"\n"
	"export prints the records as they stand in the file, one JSON object a line.\n"
	"\n"
	"  --since SEQ   begin at record number SEQ\n"
	"  --help        this text\n"
	"\n"
	"example: ward audit verify && ward audit export > audit.jsonl\n";

enum { EXIT_FAULT = 1 };

static int verify(const char *directory, uint64_t since, struct error **ret_error)
{
	struct audit_report report;
	struct audit_seen seen;
	int r;

	(void)since;
	store_seen(directory, &seen); /* first: the log may grow meanwhile */
	r = audit_verify(directory, &seen, &report, ret_error);
	if (r < 0)
		return r;
	if (report.fault) {
		printf("line %" PRIu64 ": ", report.bad_line);
		output_text(COLOUR_RED, report.fault);
		printf("\nrecords before it that hold: %" PRIu64 "\n", report.records);
		r = EXIT_FAULT;
	} else {
		printf("%" PRIu64 " records, head %s\n", report.records, report.head);
		if (report.torn)
			printf("warning: the last %" PRIu64
			       " bytes are no whole line: a record whose writing broke off, which "
			       "the next writer removes\n",
			       report.torn);
		if (report.is_another)
			printf("warning: state.db was made from another log, of %" PRIu64
			       " records: this one was begun since, or put in its place\n",
			       seen.records);
	}
	audit_report_done(&report);
	return r;
}

static int print_line(const char *line, size_t length, void *data)
{
	_cleanup_buffer_ struct buffer escaped = {0};

	(void)data;
	/* A program gets the bytes, a terminal nothing that could steer it. */
	if (isatty(STDOUT_FILENO)) {
		escape_for_terminal(&escaped, line, length);
		line = escaped.data;
		length = escaped.length;
	}
	fwrite(line, 1, length, stdout);
	putchar('\n');
	return output_is_closed();
}

static int export(const char *directory, uint64_t since, struct error **ret_error)
{
	int r = audit_read_lines(directory, since, print_line, /* data= */ NULL, ret_error);

	return MIN(r, 0);
}

static const struct {
	const char *name;
	bool takes_since;
	int (*act)(const char *directory, uint64_t since, struct error **ret_error);
} acts[] = {
	{"verify", false, verify},
	{"export", true, export},
};

int verb_audit(int argc, char **argv)
{
	static const struct option options[] = {
		{"since", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *directory = NULL;
	const char *since_text = NULL;
	uint64_t since = 1;
	int option, r;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 's':
			since_text = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return output_end("audit", 0);
		default:
			return output_bad_option("audit", argv, options, option);
		}
	}
	if (argc == optind)
		return output_usage("audit", "verify or export?");
	if (argc - optind > 1)
		return output_usage("audit", "unexpected word '%s'", argv[optind + 1]);
	for (size_t i = 0; i < ELEMENTS(acts); i++) {
		if (strcmp(argv[optind], acts[i].name) != 0)
			continue;
		if (since_text && !acts[i].takes_since)
			return output_usage("audit", "%s does not take --since", acts[i].name);
		if (since_text && parse_count(since_text, &since, &error) < 0) {
			error_wrap(&error, "--since");
			return output_error("audit", error);
		}
		r = state_directory(&directory, &error);
		if (r == 0)
			r = acts[i].act(directory, since, &error);
		return r < 0 ? output_error("audit", error) : output_end("audit", r);
	}
	return output_usage("audit", "unknown word '%s'", argv[optind]);
}
