/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ward top, and one run in full. */
#include "output.h"
#include "top.h"
#include "../../src/base/escape.h"
#include "../../src/base/macro.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_LEAST = 14, TREE_DEPTH = 12 };

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static uint64_t count_of(const json_t *object, const char *key)
{
	return (uint64_t)MAX(json_integer_value(json_object_get(object, key)), (json_int_t)0);
}

void top_size(uint64_t bytes, char text[static SHORT_TEXT])
{
	static const char units[] = "BKMGTPE";
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1000 && unit + 2 < sizeof(units)) {
		size /= 1024;
		unit++;
	}
	snprintf(text, SHORT_TEXT, unit && size < 9.95 ? "%.1f%c" : "%.0f%c", size, units[unit]);
}

static bool is_near(const json_t *row, const char *limit)
{
	json_t *name;
	size_t i;

	json_array_foreach (json_object_get(row, "near"), i, name)
		if (!limit || strcmp(json_string_value(name) ?: "", limit) == 0)
			return true;
	return false;
}

static void put_text(struct buffer *text, const json_t *row, const char *key)
{
	const char *value = text_of(row, key);

	buffer_add_text(text, value ? value : "-");
}

/* Its beginning, which `ward show` takes. */
static void put_run(const json_t *row, struct buffer *text)
{
	buffer_printf(text, "%.12s", text_of(row, "run"));
}

static void put_user(const json_t *row, struct buffer *text)
{
	put_text(text, row, "user");
}

static void put_agent(const json_t *row, struct buffer *text)
{
	put_text(text, row, "agent");
}

static void put_session(const json_t *row, struct buffer *text)
{
	put_text(text, row, "session");
}

static void put_level(const json_t *row, struct buffer *text)
{
	put_text(text, row, "level");
}

static void put_age(const json_t *row, struct buffer *text)
{
	char age[AGE_TEXT];

	age_of(text_of(row, "since"), age);
	buffer_add_text(text, age);
}

static void put_cpu(const json_t *row, struct buffer *text)
{
	const json_t *limits = json_object_get(row, "limits");

	if (json_is_number(json_object_get(row, "cpu_percent")))
		buffer_printf(text, "%.0f", number(row, "cpu_percent"));
	else
		buffer_add_text(text, "-");
	if (json_object_get(limits, "cpu_percent"))
		buffer_printf(text, "/%.0f", number(limits, "cpu_percent"));
	buffer_add_text(text, is_near(row, "cpu") || is_near(row, "share") ? "!" : "");
}

static void put_size(const json_t *row, const char *key, const char *limit, struct buffer *text)
{
	const json_t *limits = json_object_get(row, "limits");
	char size[SHORT_TEXT];

	top_size(count_of(row, key), size);
	buffer_add_text(text, size);
	if (json_object_get(limits, limit)) {
		top_size(count_of(limits, limit), size);
		buffer_printf(text, "/%s", size);
	}
	buffer_add_text(text, is_near(row, limit) ? "!" : "");
}

static void put_memory(const json_t *row, struct buffer *text)
{
	put_size(row, "memory", "memory", text);
}

static void put_disk(const json_t *row, struct buffer *text)
{
	put_size(row, "disk_written", "disk", text);
}

static void put_processes(const json_t *row, struct buffer *text)
{
	const json_t *limits = json_object_get(row, "limits");

	buffer_printf(text, "%.0f", number(row, "processes"));
	if (json_object_get(limits, "processes"))
		buffer_printf(text, "/%.0f", number(limits, "processes"));
	buffer_add_text(text, is_near(row, "processes") ? "!" : "");
}

static void put_network(const json_t *row, struct buffer *text)
{
	buffer_printf(text, "%zu", json_array_size(json_object_get(row, "connections")));
}

static void put_denials(const json_t *row, struct buffer *text)
{
	buffer_printf(text, "%.0f", number(row, "denials"));
}

static void put_questions(const json_t *row, struct buffer *text)
{
	buffer_printf(text, "%.0f", number(row, "questions"));
}

/* In their order. Where there is too little room, those go first whose rank is highest. */
static const struct column {
	const char *title;
	size_t width;
	unsigned rank;
	bool right;
	void (*put)(const json_t *row, struct buffer *text);
} columns_of_top[] = {
	{"RUN", 12, 0, false, put_run},	      {"USER", 8, 12, false, put_user},
	{"AGENT", 8, 8, false, put_agent},    {"SESSION", 10, 11, false, put_session},
	{"LEVEL", 10, 10, false, put_level},  {"AGE", 4, 3, true, put_age},
	{"CPU%", 9, 1, true, put_cpu},	      {"MEMORY", 11, 2, true, put_memory},
	{"PROCS", 9, 4, true, put_processes}, {"DISK", 11, 9, true, put_disk},
	{"NET", 3, 5, true, put_network},     {"DENY", 4, 6, true, put_denials},
	{"ASK", 3, 7, true, put_questions},
};

/* The highest rank that there is room for. */
static unsigned ranks_for(size_t columns)
{
	for (unsigned rank = ELEMENTS(columns_of_top); rank > 0; rank--) {
		size_t needed = 2 + COMMAND_LEAST;

		for (size_t i = 0; i < ELEMENTS(columns_of_top); i++)
			if (columns_of_top[i].rank <= rank)
				needed += columns_of_top[i].width + 1;
		if (needed <= columns)
			return rank;
	}
	return 0;
}

static void put_cell(struct buffer *line, const char *value, size_t width, bool right)
{
	_cleanup_buffer_ struct buffer cell = {0};
	int blank;

	escape_for_terminal(&cell, value, strlen(value));
	(void)output_shorten(&cell, width);
	blank = (int)(width - MIN(output_columns(&cell), width));
	buffer_printf(line, "%*s%s%*s ", right ? blank : 0, "", buffer_text(&cell),
		      right ? 0 : blank, "");
}

void top_title_line(size_t columns, struct buffer *text)
{
	unsigned most = ranks_for(columns);

	buffer_add_text(text, "  ");
	for (size_t i = 0; i < ELEMENTS(columns_of_top); i++)
		if (columns_of_top[i].rank <= most)
			put_cell(text, columns_of_top[i].title, columns_of_top[i].width,
				 columns_of_top[i].right);
	buffer_add_text(text, "COMMAND");
	(void)output_shorten(text, columns);
}

void top_line(const json_t *row, size_t columns, bool chosen, struct buffer *text)
{
	const char *command = text_of(row, "command");
	unsigned most = ranks_for(columns);

	buffer_printf(text, "%c%c", chosen ? '>' : ' ', is_near(row, NULL) ? '!' : ' ');
	for (size_t i = 0; i < ELEMENTS(columns_of_top); i++) {
		_cleanup_buffer_ struct buffer value = {0};

		if (columns_of_top[i].rank > most)
			continue;
		columns_of_top[i].put(row, &value);
		put_cell(text, buffer_text(&value), columns_of_top[i].width,
			 columns_of_top[i].right);
	}
	if (command)
		escape_for_terminal(text, command, strlen(command));
	(void)output_shorten(text, columns);
}

static const char *const sorts[TOP_SORTS] = {"age", "cpu_percent", "memory", "processes",
					     "disk_written"};

const char *top_sort_name(unsigned sort)
{
	static const char *const names[TOP_SORTS] = {"age", "cpu", "memory", "processes", "disk"};

	return names[sort];
}

static bool fits(const json_t *row, const char *filter)
{
	static const char *const searched[] = {"run", "user", "agent", "session", "command"};

	if (!filter || !*filter)
		return true;
	for (size_t i = 0; i < ELEMENTS(searched); i++)
		if (text_of(row, searched[i]) && strcasestr(text_of(row, searched[i]), filter))
			return true;
	return false;
}

json_t *top_order(const json_t *rows, unsigned sort, const char *filter)
{
	json_t *ordered = json_array(), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		size_t at = json_array_size(ordered);

		if (!fits(row, filter))
			continue;
		while (sort > 0 && at > 0 &&
		       number(json_array_get(ordered, at - 1), sorts[sort]) <
			       number(row, sorts[sort]))
			at--;
		json_array_insert(ordered, at, row);
	}
	return ordered;
}

static void draw_tree(struct screen *screen, const json_t *list, json_int_t parent, int depth,
		      unsigned least)
{
	const json_t *process;
	size_t i;

	json_array_foreach (list, i, process) {
		char memory[SHORT_TEXT];

		if (json_integer_value(json_object_get(process, "parent")) != parent ||
		    depth > TREE_DEPTH || screen->room <= least)
			continue;
		top_size(count_of(process, "memory"), memory);
		screen_line(screen, STYLE_NONE, "  %7.0f %s %7s %6.1fs  %*s%s",
			    number(process, "pid"), text_of(process, "state"), memory,
			    number(process, "cpu_ms") / 1000, 2 * depth, "",
			    text_of(process, "command"));
		draw_tree(screen, list, json_integer_value(json_object_get(process, "pid")),
			  depth + 1, least);
	}
}

/* Init is not in the list: who hangs below it is the first. */
static void draw_processes(struct screen *screen, const json_t *row, unsigned least)
{
	const json_t *list = json_object_get(row, "process_list");

	screen_line(screen, STYLE_TITLE, "processes (%.0f)      pid S  memory    cpu  command",
		    number(row, "processes"));
	draw_tree(screen, list,
		  json_integer_value(json_object_get(json_array_get(list, 0), "parent")), 0, least);
}

static void draw_connections(struct screen *screen, const json_t *row, unsigned least)
{
	const json_t *list = json_object_get(row, "connections"), *item;
	size_t i;

	screen_line(screen, STYLE_TITLE, "connections (%zu)", json_array_size(list));
	json_array_foreach (list, i, item) {
		char sent[SHORT_TEXT], received[SHORT_TEXT];

		if (screen->room <= least)
			break;
		top_size(count_of(item, "sent"), sent);
		top_size(count_of(item, "received"), received);
		screen_line(screen, STYLE_NONE, "  %s:%.0f  (%s)  sent %s, received %s",
			    text_of(item, "host"), number(item, "port"), text_of(item, "address"),
			    sent, received);
	}
}

static void draw_denials(struct screen *screen, const json_t *row)
{
	const json_t *denial;
	size_t i;

	screen_line(screen, STYLE_TITLE, "refused (%.0f), the last of it", number(row, "denials"));
	json_array_foreach (json_object_get(row, "last_denials"), i, denial)
		screen_line(screen, STYLE_NONE, "  %s %s  %s", text_of(denial, "operation"),
			    text_of(denial, "object"), text_of(denial, "program"));
}

void top_details(const json_t *row, struct screen *screen)
{
	_cleanup_buffer_ struct buffer uses = {0}, near = {0};
	json_t *name;
	size_t i;

	screen_line(screen, STYLE_TITLE, "run %s   q: back", text_of(row, "run"));
	screen_wrapped(screen, "command", text_of(row, "command"));
	screen_wrapped(screen, "agent", text_of(row, "agent"));
	screen_wrapped(screen, "session", text_of(row, "session"));
	buffer_add_text(&uses, "cpu ");
	put_cpu(row, &uses);
	buffer_add_text(&uses, " %  memory ");
	put_memory(row, &uses);
	buffer_add_text(&uses, "  processes ");
	put_processes(row, &uses);
	buffer_add_text(&uses, "  disk ");
	put_disk(row, &uses);
	screen_wrapped(screen, "uses", buffer_text(&uses));
	json_array_foreach (json_object_get(row, "near"), i, name)
		buffer_printf(&near, "%s%s", i ? ", " : "! ", json_string_value(name));
	screen_wrapped(screen, "near", buffer_text(&near));
	draw_processes(screen, row, screen->room * 2 / 5);
	draw_connections(screen, row, screen->room / 2);
	draw_denials(screen, row);
}
