/* SPDX-License-Identifier: Apache-2.0 */
/* What flow_check shows, as an object: docs/check.schema.json. */
#pragma once

#include "../assess/assess.h"
#include "../decide/decide.h"
#include "../parse/plan.h"
#include <jansson.h>

json_t *check_to_json(const struct plan *plan, const struct assessment *assessment,
		      const struct verdict *verdict);
