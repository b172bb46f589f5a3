/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations, shares and times as people write them. */
#pragma once

#include "error.h"
#include <stdint.h>

/* "512M", "1G", "1048576", "2KiB": bytes, powers of 1024. */
int parse_size(const char *text, uint64_t *ret_bytes, struct error **ret_error);
/* "30s", "500ms", "5m", "1h", "2d", or plain seconds with a fraction: nanoseconds. */
int parse_duration(const char *text, uint64_t *ret_ns, struct error **ret_error);
/* Asked of the machine once: that takes longer than most of what it is wanted for. */
int processors_online(void);
/* "50%" of the machine or "1.5" CPUs: thousandths of one CPU. */
int parse_cpu(const char *text, uint64_t *ret_millicpus, struct error **ret_error);
int parse_count(const char *text, uint64_t *ret_count, struct error **ret_error);
/* "512 bytes", "1.4 KiB", "2.0 GiB": for people. */
enum { SIZE_TEXT = 32 };
void size_text(uint64_t bytes, char text[static SIZE_TEXT]);
uint64_t monotonic_ns(void);
/* Of a processor, used by this thread so far. */
uint64_t own_cpu_ns(void);
enum { TIME_TEXT = 32 };
/* Now, in UTC, as RFC 3339 with milliseconds. */
void time_text(char text[static TIME_TEXT]);
/* The same for any time since 1970. */
struct timespec;
void time_text_of(const struct timespec *time, char text[static TIME_TEXT]);
