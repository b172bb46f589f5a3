/* SPDX-License-Identifier: Apache-2.0 */
/* One form for commands that mean the same: the words behind quotes and shells, and the options as
 * the tool reads them. Two commands of one form do the same thing; that two have different forms
 * says nothing. */
#pragma once

#include "../base/list.h"
#include "../request/request.h"

/* The words of the one simple command that is run, for a request that is nothing else: no
 * expansion, no operator, no variable before it. Shells that only run a text, and env
 * without words of its own, are looked through. False where it is anything more. */
bool canonical_words(const char *script, const struct list *argv, struct list *ret_words);
/* These words in the one form: the program by the name that leads to it; verbs; then options, one
 * by one with their values, sorted where data/tools says that their order means nothing; then
 * operands. As they stand where not all of the options are known. own_path: it
 * is run with a PATH of its own, where a name may lead elsewhere. */
void canonical_form(const struct list *words, bool own_path, struct list *ret_form);
