/* SPDX-License-Identifier: Apache-2.0 */
/* ward contained: pid 1 of a container. Started by the runtime, with the fds that the engine laid
 * out; not by people. */
#include "output.h"
#include "verbs.h"
#include "../../src/sandbox/container/container.h"

#include <unistd.h>

int verb_contained(int argc, char **argv)
{
	if (argc > 1 + APART_WORDS && getpid() == 1)
		apart_inside(argc - 1, argv + 1);
	if (argc != 1 || getpid() != 1)
		return output_usage("contained", "it is not for people: see `ward run --level "
						 "container`");
	container_inside();
}
