/* SPDX-License-Identifier: Apache-2.0 */
/* A policy shown to people and programs. */
#pragma once

#include "../../src/decide/policy.h"
#include <jansson.h>

/* Much as it would be written, with where each rule comes from. */
void policy_print(const struct policy *policy);
/* Caller releases. */
json_t *policy_object(const struct policy *policy);
