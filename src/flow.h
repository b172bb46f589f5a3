/* SPDX-License-Identifier: Apache-2.0 */
/* A request carried out from its first look to its record. */
#pragma once

#include "request/result.h"

/* Always fills *ret_result, whatever happens; notices are lines for a person, already fit for a
 * terminal. */
void flow_run(const struct request *request, struct result *ret_result, struct list *notices);
