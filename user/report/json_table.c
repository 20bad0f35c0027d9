/* A table's cells → an array of objects, or one object, whose members are named by the columns. */
#include <string.h>

#include "json_line.h"
#include "json_stack.h"
#include "json_table.h"

static void put_key(FILE *out, bool first, const char *key)
{
	fputs_unlocked(first ? "\"" : ",\"", out);
	fputs_unlocked(key, out);
	fputs_unlocked("\":", out);
}

static void put_value(FILE *out, const struct stack_table *stacks, enum model_unit unit,
	const struct model_cell *cell)
{
	if (cell->state != CELL_KNOWN) {
		fputs_unlocked("null", out);
		return;
	}
	switch (unit) {
	case UNIT_TEXT:
		line_string(out, cell->text, (size_t)cell->of);
		return;
	case UNIT_CLASS:
		line_string(out, cell->text, strlen(cell->text));
		return;
	case UNIT_BOOL:
		fputs_unlocked(cell->value ? "true" : "false", out);
		return;
	case UNIT_FRAME:
		json_frame_value(out, stacks, (uint32_t)cell->value);
		return;
	case UNIT_STACK:
		json_stack_value(out, stacks, (uint32_t)cell->value, NULL);
		return;
	case UNIT_REAL:
	case UNIT_PART:
		fprintf(out, "%.9g", cell->real);
		return;
	default:
		line_number(out, cell->value > INT64_MAX ? INT64_MAX : (int64_t)cell->value);
	}
}

/* The members of row @row, without braces; @first: none stands before them. */
static void put_members(FILE *out, const struct stack_table *stacks,
	const struct model_table *table, size_t row, bool first)
{
	uint8_t columns[MODEL_COLUMNS];
	size_t count = model_view(table, IN_JSON, columns);

	for (size_t i = 0; i < count; i++) {
		const struct model_column *column = &table->columns[columns[i]];
		struct model_cell cell = model_cell_at(table, row, columns[i], IN_JSON);

		put_key(out, first && !i, column->key);
		put_value(out, stacks, column->unit, &cell);
	}
}

static bool is_listed(const struct model_table *table)
{
	uint8_t columns[MODEL_COLUMNS];

	return !table->layout->records && model_view(table, IN_JSON, columns) > 0;
}

static bool same(const char *one, const char *other)
{
	return one == other || (one && other && !strcmp(one, other));
}

/* Whether a table before table @at has its key and group: their rows are in one array. */
static bool is_written(const struct model *model, size_t at)
{
	const struct model_layout *layout = model->tables.items[at]->layout;

	for (size_t i = 0; i < at; i++)
		if (is_listed(model->tables.items[i]) &&
			same(model->tables.items[i]->layout->key, layout->key) &&
			same(model->tables.items[i]->layout->group, layout->group))
			return true;
	return false;
}

/* Table @at, and the rows of those after it that have its key. */
static void put_array(FILE *out, const struct stack_table *stacks, const struct model *model,
	size_t at)
{
	const struct model_layout *layout = model->tables.items[at]->layout;
	char before = '[';

	line_key(out, layout->key);
	for (; at < model->tables.count; at++) {
		const struct model_table *table = model->tables.items[at];

		if (!is_listed(table) || !same(table->layout->key, layout->key) ||
			!same(table->layout->group, layout->group))
			continue;
		for (size_t row = 0; row < table->rows; row++) {
			putc_unlocked(before, out);
			before = ',';
			putc_unlocked('{', out);
			put_members(out, stacks, table, row, true);
			putc_unlocked('}', out);
		}
	}
	fputs_unlocked(before == '[' ? "[]" : "]", out);
}

/* The arrays of the tables of @group; NULL: of those that are in none. */
static void put_group(FILE *out, const struct stack_table *stacks, const struct model *model,
	const char *group, bool last)
{
	for (size_t i = 0; i < model->tables.count; i++) {
		const struct model_table *table = model->tables.items[i];
		const struct model_layout *layout = table->layout;

		if (!is_listed(table) || layout->json_last != last || !same(layout->group, group) ||
			is_written(model, i))
			continue;
		if (!layout->object) {
			put_array(out, stacks, model, i);
			continue;
		}
		line_key(out, layout->key);
		putc_unlocked('{', out);
		if (table->rows)
			put_members(out, stacks, table, 0, true);
		put_group(out, stacks, model, layout->key, false);
		putc_unlocked('}', out);
	}
}

void json_tables(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	put_group(out, stacks, model, NULL, false);
	put_group(out, stacks, model, NULL, true);
}

void json_records(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++) {
		const struct model_table *table = model->tables.items[i];

		for (size_t row = 0; table->layout->records && row < table->rows; row++) {
			line_begin(out, table->layout->key);
			put_members(out, stacks, table, row, false);
			line_end(out);
		}
	}
}
