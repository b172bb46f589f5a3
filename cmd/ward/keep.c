/* SPDX-License-Identifier: Apache-2.0 */
/* ward keep: the keeper of a ticket, in a process of its own. Started by ward, not by people. */
#include "output.h"
#include "verbs.h"
#include "../../src/serve/ticket.h"

enum { LOCK_FD = 3 };

int verb_keep(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;

	if (argc != 3)
		return output_usage("keep", "it is not for people: see `ward wait`");
	return ticket_keep(argv[1], argv[2], LOCK_FD, &error) < 0 ? output_error("keep", error) : 0;
}
