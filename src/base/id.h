/* SPDX-License-Identifier: Apache-2.0 */
/* Names for runs: unique, and in the order of time when sorted as text. */
#pragma once

enum { ID_TEXT = 27 };
/* 26 characters of base 32: 48 bits of milliseconds, 80 random bits. */
void id_make(char text[static ID_TEXT]);
