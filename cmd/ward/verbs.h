/* SPDX-License-Identifier: Apache-2.0 */
/* One function per verb: argv[0] is the verb, the result is the exit status. */
#pragma once

int verb_run(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_log(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_audit(int argc, char **argv);
int verb_policy(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_hook(int argc, char **argv);
int verb_init(int argc, char **argv);
int verb_mcp(int argc, char **argv);
int verb_feed(int argc, char **argv);
int verb_inside(int argc, char **argv);
int verb_contained(int argc, char **argv);
int verb_keep(int argc, char **argv);
int verb_grants(int argc, char **argv);
int verb_incidents(int argc, char **argv);
int verb_session(int argc, char **argv);
int verb_token(int argc, char **argv);
int verb_trust(int argc, char **argv);
int verb_caches(int argc, char **argv);
int verb_notify(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_events(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_pending(int argc, char **argv);
int verb_approve(int argc, char **argv);
int verb_deny(int argc, char **argv);
int verb_defer(int argc, char **argv);
int verb_wait(int argc, char **argv);
int verb_complete(int argc, char **argv);
int verb_web(int argc, char **argv);
