/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of denials. */
#include "ledger.h"

#include <string.h>

static char *copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		abort();
	return result;
}

static void count(struct denial *denial)
{
	denial->count++;
	clock_gettime(CLOCK_REALTIME, &denial->last);
}

void ledger_count(struct ledger *ledger, size_t entry)
{
	if (entry < ledger->count)
		count(&ledger->denials[entry]);
}

struct denial *ledger_add(struct ledger *ledger, const char *operation, const char *object,
			  const char *syscall, const char *rule, const char *program)
{
	struct denial *denial;

	for (size_t i = 0; i < ledger->count; i++) {
		denial = &ledger->denials[i];
		if (strcmp(denial->object, object) == 0 &&
		    strcmp(denial->operation, operation) == 0) {
			count(denial);
			return denial;
		}
	}
	if (ledger->count == LEDGER_MOST) {
		ledger->beyond++;
		return NULL;
	}
	ledger->denials = reallocarray(ledger->denials, ledger->count + 1, sizeof(*denial));
	if (!ledger->denials)
		abort();
	denial = &ledger->denials[ledger->count++];
	*denial = (struct denial){
		.operation = copy(operation),
		.object = copy(object),
		.syscall = copy(syscall),
		.rule = copy(rule),
		.program = program ? copy(program) : NULL,
		.answer = "none",
		.count = 1,
	};
	denial->first = ledger->tried;
	if (denial->first.tv_sec == 0)
		clock_gettime(CLOCK_REALTIME, &denial->first);
	denial->last = denial->first;
	return denial;
}

void ledger_add_target(struct denial *denial, const char *host, const char *address, uint16_t port,
		       const char *protocol)
{
	if (!denial || denial->host)
		return;
	denial->host = copy(host);
	denial->address = address && *address ? copy(address) : NULL;
	denial->protocol = copy(protocol);
	denial->port = port;
}

void ledger_done(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++) {
		free(ledger->denials[i].operation);
		free(ledger->denials[i].object);
		free(ledger->denials[i].syscall);
		free(ledger->denials[i].rule);
		free(ledger->denials[i].program);
		free(ledger->denials[i].host);
		free(ledger->denials[i].address);
		free(ledger->denials[i].protocol);
	}
	free(ledger->denials);
	*ledger = (struct ledger){0};
}
