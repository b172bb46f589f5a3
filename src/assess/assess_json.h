/* SPDX-License-Identifier: Apache-2.0 */
/* The object `risk` of checks and questions. */
#pragma once

#include "assess.h"
#include <jansson.h>

json_t *assessment_to_json(const struct assessment *assessment);
