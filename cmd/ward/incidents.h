/* SPDX-License-Identifier: Apache-2.0 */
/* Incidents as people read them. */
#pragma once

#include <jansson.h>

/* Two or three lines, and all there is to know. */
void incident_print_short(const json_t *incident);
void incident_print(const json_t *incident);
