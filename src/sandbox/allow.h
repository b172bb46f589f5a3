/* SPDX-License-Identifier: Apache-2.0 */
/* What Landlock must allow where no mount hides anything: it cannot deny inside what it allows, so
 * what is denied is left out, by allowing everything beside it. */
#pragma once

#include "../base/buffer.h"
#include "../base/error.h"
#include "sandbox.h"

/* Adds records as stage_landlock reads them: "KIND DEVICE INODE PATH" with a NUL; kinds are r (read
 * and execute), w (everything), l (list a directory, with all that is in it by name) and d (read
 * and write a device). */
int allow_records(const struct sandbox *sandbox, const struct masks *masks, struct buffer *text,
		  struct error **ret_error);
