/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations, shares and times. */
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct unit {
	const char *name;
	double factor;
};

static int parse_with_units(const char *text, const struct unit *units, size_t count, double limit,
			    double *ret_value)
{
	char *end;
	double value;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL; /* also keeps strtod from reading inf, nan, signs and blanks */
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	value = strtod(text, &end);
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(end, units[i].name) != 0)
			continue;
		value = rint(value * units[i].factor); /* 1.001 thousand is not quite 1001 */
		if (!isfinite(value) || value < 0 || value > limit)
			return -ERANGE;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct error **ret_error)
{
	static const struct unit units[] = {
		{"", 1},	 {"B", 1},	   {"K", 1024.0},     {"KB", 1024.0},
		{"KiB", 1024.0}, {"M", 1048576.0}, {"MB", 1048576.0}, {"MiB", 1048576.0},
		{"G", 0x1p30},	 {"GB", 0x1p30},   {"GiB", 0x1p30},   {"T", 0x1p40},
		{"TB", 0x1p40},	 {"TiB", 0x1p40},
	};
	double value;

	if (parse_with_units(text, units, ELEMENTS(units), 0x1p62, &value) < 0) {
		fail(ret_error, E_USAGE, "'%s' is not a size", text);
		return error_hint(ret_error, "write it as 512M, 1G or a number of bytes");
	}
	*ret_bytes = (uint64_t)value;
	return 0;
}

int parse_duration(const char *text, uint64_t *ret_ns, struct error **ret_error)
{
	static const struct unit units[] = {
		{"", 1e9},   {"s", 1e9},    {"ms", 1e6},   {"us", 1e3},
		{"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};
	double value;

	if (parse_with_units(text, units, ELEMENTS(units), 0x1p62, &value) < 0) {
		fail(ret_error, E_USAGE, "'%s' is not a duration", text);
		return error_hint(ret_error, "write it as 30s, 500ms, 5m or 1h");
	}
	*ret_ns = (uint64_t)value;
	return 0;
}

int processors_online(void)
{
	static long online; /* to ask takes reading a file */

	if (online <= 0)
		online = sysconf(_SC_NPROCESSORS_ONLN);
	return (int)MAX(online, 1);
}

int parse_cpu(const char *text, uint64_t *ret_millicpus, struct error **ret_error)
{
	struct unit units[] = {{"%", 0}, {"", 1000}};
	double value;

	if (strchr(text, '%'))
		units[0].factor = 10.0 * processors_online();
	if (parse_with_units(text, units, ELEMENTS(units), 1e9, &value) < 0 || value < 1) {
		fail(ret_error, E_USAGE, "'%s' is not a share of the CPU", text);
		return error_hint(ret_error, "write it as 50%% of the machine, or 1.5 CPUs");
	}
	*ret_millicpus = (uint64_t)value;
	return 0;
}

int parse_count(const char *text, uint64_t *ret_count, struct error **ret_error)
{
	char *end;

	errno = 0;
	if (text[0] < '0' || text[0] > '9' || (*ret_count = strtoull(text, &end, 10), errno) ||
	    *end)
		return fail(ret_error, E_USAGE, "'%s' is not a number", text);
	return 0;
}

void size_text(uint64_t bytes, char text[static SIZE_TEXT])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double size = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
		return;
	}
	for (; size >= 1024 && unit + 1 < ELEMENTS(units); unit++)
		size /= 1024;
	snprintf(text, SIZE_TEXT, "%.1f %s", size, units[unit]);
}

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Days since 1970 as a date (Hinnant's civil calendar): the library's own way reads the time zone
 * from disk first. */
static void date_of(int64_t days, int *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	int64_t shifted = days + 719468,
		era = shifted / 146097; /* 400 years; times before 0000-03-01 do not occur */
	unsigned of_era = (unsigned)(shifted - era * 146097);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100),
		 month = (5 * of_year + 2) / 153;

	*ret_day = of_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = (int)(year + era * 400) + (*ret_month <= 2);
}

void time_text(char text[static TIME_TEXT])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	time_text_of(&now, text);
}

void time_text_of(const struct timespec *time, char text[static TIME_TEXT])
{
	unsigned month, day, second;
	int year;

	date_of(time->tv_sec / 86400, &year, &month, &day);
	second = (unsigned)(time->tv_sec % 86400);
	snprintf(text, TIME_TEXT, "%04d-%02u-%02uT%02u:%02u:%02u.%03uZ", year % 10000, month % 100,
		 day % 100, second / 3600 % 100, second / 60 % 60, second % 60,
		 (unsigned)(time->tv_nsec / 1000000) % 1000);
}
