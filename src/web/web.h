/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox in a browser, without its connections: open it, hand each request to web_handle(), poll
 * web_fd() and look when it is readable, tick when web_tick_ms() have passed, close it. Every yes
 * given here goes through the queue (escalate/queue.h), bound to the question that was seen. */
#pragma once

#include "../base/list.h"
#include "http.h"

struct web;

/* program: ward's own file. hosts: what Host may say; taken over. The whole log is taken in first,
 * which may take a while where that was never done. */
int web_open(const char *state, const char *program, struct list *hosts, struct web **ret_web,
	     struct error **ret_error);
void web_close(struct web *web);
/* reply is all zero, and the caller's from then on. */
void web_handle(struct web *web, const struct web_request *request, struct web_reply *reply);

int web_fd(const struct web *web);
/* Questions, runs or sessions may have changed: streams are told. */
void web_look(struct web *web);
int web_tick_ms(const struct web *web);
void web_tick(struct web *web);
