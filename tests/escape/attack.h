/* SPDX-License-Identifier: Apache-2.0 */
/* What the attack programs share: a table of attacks by name, and the three ways one can end. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SUCCEEDED, REFUSED, NOT_TRIED };

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

struct attack {
	const char *name;
	int arguments;
	int (*run)(char **arguments);
};

/* For what the attack only needs and what no wall should refuse. */
static inline _Noreturn void cannot_try(const char *what)
{
	fprintf(stderr, "cannot be tried: %s: %s\n", what, strerror(errno));
	exit(NOT_TRIED);
}

/* How an attack ends that is decided by one call: what, and with which errno it failed. */
static inline int verdict(bool succeeded, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, succeeded ? "succeeded" : strerror(errno));
	return succeeded ? SUCCEEDED : REFUSED;
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Starts a thread that spoils what the main one is about to do. */
static inline void start_racer(void *(*racer)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, racer, data) != 0)
		cannot_try("starting a thread");
}

/* How long a race may take. */
enum { RACE_MS = 400 };

/* Between two moves of a racer: what it wrote is seen, and stays for a while. */
static inline void linger(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		__asm__ volatile("" ::: "memory");
}

static inline int attack_main(const struct attack *attacks, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < count; i++)
		if (strcmp(attacks[i].name, argv[1]) == 0 && argc - 2 >= attacks[i].arguments)
			return attacks[i].run(argv + 2);
	fprintf(stderr, "there is no such attack, or an argument is missing\n");
	return NOT_TRIED;
}
