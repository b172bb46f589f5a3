/* SPDX-License-Identifier: Apache-2.0 */
/* ward feed: for runs whose policy names a program for events, not for people. */
#include "output.h"
#include "verbs.h"
#include "../../src/serve/feed.h"

#include <string.h>

int verb_feed(int argc, char **argv)
{
	struct feed feed = {.process = 3};
	_cleanup_error_ struct error *error = NULL;

	if (argc < 7 || !event_place_read(argv[3], &feed.after))
		return output_usage("feed", "it is for ward itself: STATE RUN AFTER TIMEOUT KINDS "
					    "PROGRAM...");
	feed.state = argv[1];
	feed.run = argv[2];
	feed.timeout_ns = strtoull(argv[4], NULL, 10);
	feed.kinds = argv[5];
	feed.program = argv + 6;
	return feed_program(&feed, &error) < 0 ? output_error("feed", error) : 0;
}
