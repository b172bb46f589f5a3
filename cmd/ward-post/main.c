/* SPDX-License-Identifier: Apache-2.0 */
/* ward-post: one exchange over HTTP. Reads one JSON object on standard input, writes one on
 * standard output, and ends. A program of its own, because libcurl and what it needs cannot be part
 * of a static program and would cost every start of it.
 *
 *   {"url", "method", "headers": {}, "body": TEXT, "timeout_ms": N, "max_bytes": N,
 *    "proxy": URL, "ca_file": PATH, "insecure_http": false}
 *   {"status": N, "body": TEXT, "truncated": false, "retry_after": N}
 *   {"error": TEXT, "timeout": false}
 *
 *   order.c   what is wanted, checked
 *   send.c    the exchange
 */
#include "post.h"

#include "../../src/base/escape.h"
#include "../../src/base/io.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* Times of the library are kept by the library; this is for what it does not keep. */
static void set_alarm(unsigned milliseconds)
{
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec when = {
		.it_value = {milliseconds / 1000 + 1, (long)(milliseconds % 1000) * 1000000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &how, &timer) == 0)
		timer_settime(timer, 0, &when, NULL);
}

/* Nothing of what it holds needs an end of its own. */
static _Noreturn void print(const json_t *object)
{
	const char *text = json_dumps(object, JSON_COMPACT);

	_exit(text && write_all(STDOUT_FILENO, text, strlen(text)) == 0 ? 0 : 1);
}

static json_t *answer_json(const struct reply *reply)
{
	bool lossy;
	_cleanup_free_ char *body =
		escape_to_utf8(buffer_text(&reply->body), reply->body.length, &lossy);

	return json_pack("{s:i, s:s, s:b, s:I}", "status", (int)reply->status, "body", body,
			 "truncated", reply->truncated, "retry_after",
			 (json_int_t)reply->retry_after);
}

int main(void)
{
	struct rlimit none = {0, 0};
	struct reply reply = {0};
	struct order order;
	const char *fault;
	json_t *object;

	/* There are secrets in what it reads. */
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &none);
	object = order_read(STDIN_FILENO);
	fault = object ? order_check(object, &order) : "standard input is not one JSON object";
	if (!fault) {
		set_alarm(order.timeout_ms);
		fault = order_send(&order, &reply);
	}
	if (fault)
		print(json_pack("{s:s, s:b}", "error", fault, "timeout", reply.timed_out));
	print(answer_json(&reply));
}
