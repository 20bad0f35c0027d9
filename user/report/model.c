/* Cells and sentences in; tables that own them out. */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "utf8.h"

static void table_free(struct model_table *table)
{
	vec_free(&table->cells);
	vec_free(&table->notes);
	free(table);
}

void model_release(struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++)
		table_free(model->tables.items[i]);
	for (size_t i = 0; i < model->texts.count; i++)
		free(model->texts.items[i]);
	vec_free(&model->spare.cells);
	vec_free(&model->spare.notes);
	vec_free(&model->tables);
	vec_free(&model->texts);
}

/* Takes over @memory, which may be NULL. Returns it, or NULL when it could not be kept. */
static void *keep(struct model *model, void *memory)
{
	char **slot = memory ? vec_add(&model->texts) : NULL;

	if (!slot) {
		free(memory);
		model->failed = true;
		return NULL;
	}
	return *slot = memory;
}

struct model_table *model_add(struct model *model, const struct model_layout *layout)
{
	struct model_table *table = calloc(1, sizeof(*table));
	struct model_table **slot = table ? vec_add(&model->tables) : NULL;

	if (!slot) {
		free(table);
		model->failed = true;
		table = &model->spare;
	} else {
		*slot = table;
	}
	table->model = model;
	table->layout = layout;
	table->title = layout->title;
	table->caption = layout->caption ? layout->caption : layout->title;
	table->sort = layout->sort;
	table->columns = layout->columns;
	table->column_count = layout->column_count;
	return table;
}

struct model_table *model_add_with(struct model *model, const struct model_layout *layout,
	const struct model_column *columns, size_t count)
{
	struct model_table *table = model_add(model, layout);
	struct model_column *copy = keep(model, calloc(count, sizeof(*copy)));

	assert(count <= MODEL_COLUMNS);
	if (copy)
		memcpy(copy, columns, count * sizeof(*copy));
	table->columns = copy;
	table->column_count = copy ? count : 0;
	return table;
}

void model_row(struct model_table *table, const struct model_cell *cells, size_t count)
{
	assert(table->model->failed || count == table->column_count);
	for (size_t i = 0; i < count && !table->model->failed; i++) {
		struct model_cell *slot = vec_add(&table->cells);

		if (slot)
			*slot = cells[i];
		else
			table->model->failed = true;
	}
	table->rows += !table->model->failed;
}

void model_total(struct model_table *table, const struct model_cell *cells, size_t count)
{
	assert(count <= MODEL_COLUMNS);
	memcpy(table->total, cells, count * sizeof(*cells));
	table->totalled = true;
}

__attribute__((format(printf, 2, 0))) static const char *format_kept(struct model *model,
	const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	text = keep(model, text);
	return text ? text : "";
}

const char *model_format(struct model *model, const char *format, ...)
{
	const char *text;
	va_list args;

	va_start(args, format);
	text = format_kept(model, format, args);
	va_end(args);
	return text;
}

const char *model_capital(struct model *model, const char *text)
{
	return model_format(model, "%.*s%s", *text != '\0',
		(char[2]){(char)toupper((unsigned char)*text)}, *text ? text + 1 : "");
}

const char *model_shown(struct model *model, const char *text, size_t size, size_t columns)
{
	size_t len = text ? strnlen(text, size) : 0, most = 4 * (columns < len ? columns : len) + 4;
	char *shown = keep(model, malloc(most));

	if (!shown)
		return "";
	utf8_show(shown, most, text ? text : "", len, columns);
	return shown;
}

void model_note(struct model_table *table, uint8_t in, const char *format, ...)
{
	struct model_note *note = vec_add(&table->notes);
	va_list args;

	if (!note) {
		table->model->failed = true;
		return;
	}
	va_start(args, format);
	*note = (struct model_note){format_kept(table->model, format, args), in};
	va_end(args);
}

struct model_cell model_text(const char *text)
{
	return model_bytes(text, text ? strlen(text) : 0);
}

struct model_cell model_string(const struct strtab *strings, uint32_t id)
{
	return id ? model_bytes(strtab_get(strings, id), strtab_len(strings, id))
		  : model_text(NULL);
}

static size_t find_column(const struct model_table *table, const char *key, size_t len)
{
	size_t i = 0;

	while (i < table->column_count &&
		(strncmp(table->columns[i].key, key, len) || table->columns[i].key[len]))
		i++;
	return i;
}

static bool is_shown(const struct model_table *table, size_t column, int in)
{
	bool shown = in == IN_JSON || !table->columns[column].if_known;

	for (size_t row = 0; !shown && row < table->rows; row++)
		shown = model_cell_at(table, row, column, in).state == CELL_KNOWN;
	return shown;
}

size_t model_view(const struct model_table *table, int in, uint8_t ret[MODEL_COLUMNS])
{
	const struct model_layout *layout = table->layout;
	const char *keys = in == IN_TEXT   ? layout->text
			   : in == IN_JSON ? layout->json
					   : layout->page;
	size_t count = 0;

	for (size_t i = 0; !keys && i < table->column_count; i++)
		if ((in != IN_JSON || table->columns[i].unit != UNIT_SHARE) &&
			is_shown(table, i, in))
			ret[count++] = (uint8_t)i;
	while (keys && *keys && count < MODEL_COLUMNS) {
		size_t len = strcspn(keys, " "), at = find_column(table, keys, len);

		assert(table->model->failed || at < table->column_count);
		if (at < table->column_count && is_shown(table, at, in))
			ret[count++] = (uint8_t)at;
		keys += len + (keys[len] == ' ');
	}
	for (size_t i = 0; keys && in == IN_PAGE && i < table->column_count; i++)
		if (table->columns[i].folded && count < MODEL_COLUMNS && is_shown(table, i, in))
			ret[count++] = (uint8_t)i;
	return count;
}

struct model_cell model_cell_at(const struct model_table *table, size_t row, size_t column, int in)
{
	struct model_cell cell = table->cells.items[row * table->column_count + column];

	if (cell.unknown_in & in)
		cell.state = CELL_UNKNOWN;
	return cell;
}

const struct model_cell *model_named(const struct model_table *table, size_t row, const char *key)
{
	size_t column = find_column(table, key, strlen(key));

	assert(column < table->column_count && row < table->rows);
	return &table->cells.items[row * table->column_count + column];
}

bool model_has_notes(const struct model_table *table, int in)
{
	for (size_t i = 0; i < table->notes.count; i++)
		if (table->notes.items[i].in & in)
			return true;
	return false;
}
