/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ward show that is about runs that were followed. */
#pragma once

#include <jansson.h>

/* Nothing where it was not. run: as store_run gives it. */
void show_monitored(json_t *run);
