/* SPDX-License-Identifier: Apache-2.0 */
/* What programs write in passing, wherever they run, and do as well without: compiled modules,
 * histories, logs of their own. A refusal of one keeps nobody from anything, so nobody is asked;
 * it is listed like every other. */
#pragma once

#include "../base/list.h"

/* Adds their patterns; what is a by-product of one program alone has the program's name and a blank
 * before an exact path. home may be NULL. */
void by_products_add(const char *home, struct list *patterns);
