/* A table's cells → padded lines: the heading, rows, how many more there are, the total, notes. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "attrib.h"
#include "parse.h"
#include "runtime_words.h"
#include "terminal.h"
#include "text_cell.h"
#include "text_stack.h"
#include "text_table.h"
#include "utf8.h"
#include "verdict.h"

#define ROWS_SHOWN    16
#define LAST_COLUMNS  160 /* of a text that nothing follows, unless its column says otherwise */
#define MOST_COLUMNS  512
#define HEADING_BYTES 64

/* A table as text has it. */
struct view {
	FILE *out;
	const struct stack_table *stacks;
	const struct model_table *table;
	uint8_t columns[MODEL_COLUMNS];
	size_t count, beside; /* columns; those of them that are not below the row */
	size_t shown;	      /* rows */
	const char *indent;   /* of rows and notes */
};

static int width_of(const struct model_column *column)
{
	static const int8_t widths[] = {
		[UNIT_COUNT] = 8,
		[UNIT_ID] = 8,
		[UNIT_NS] = 11,
		[UNIT_BYTES] = 9,
		[UNIT_SHARE] = 8,
		[UNIT_TIMES] = 9,
		[UNIT_STEP] = 8,
		[UNIT_MOMENT] = 12,
		[UNIT_REAL] = 9,
		[UNIT_PART] = 8,
		[UNIT_BOOL] = 6,
		[UNIT_TEXT] = -30,
		[UNIT_FRAME] = -1,
		[UNIT_STACK] = -1,
		[UNIT_CLASS] = -16,
		[UNIT_CHANGE] = 16,
	};

	return column->width ? column->width : widths[column->unit];
}

/* Only ASCII letters are capitalised: titles have no others. */
static const char *heading_of(const struct model_column *column, char text[HEADING_BYTES])
{
	const char *from = column->heading ? column->heading : column->title;
	size_t i = 0;

	for (; from && from[i] && i < HEADING_BYTES - 1; i++)
		text[i] = column->heading ? from[i] : (char)toupper((unsigned char)from[i]);
	text[i] = '\0';
	return text;
}

static void put_gap(const struct view *view, size_t at)
{
	const struct model_column *column = &view->table->columns[view->columns[at]];

	if (at && width_of(column) < 0)
		fprintf(view->out, "%*s", column->gap ? column->gap : 2, "");
}

/* What is last is not padded. */
static void put_bytes(const struct view *view, const struct model_column *column, const char *text,
	size_t len, int width, bool last)
{
	size_t most = column->most ? column->most : LAST_COLUMNS;
	char shown[4 * MOST_COLUMNS + 1];

	if (!last || width > 0) {
		cell_bytes(view->out, text, len, width);
		return;
	}
	utf8_show(shown, sizeof(shown), text, len, most < MOST_COLUMNS ? most : MOST_COLUMNS);
	fputs(shown, view->out);
}

static const char *number_text(const struct model_column *column, const struct model_cell *cell,
	char text[32])
{
	switch (column->unit) {
	case UNIT_NS:
		return format_duration(cell->value, text, 32);
	case UNIT_BYTES:
		return words_bytes((int64_t)cell->value, text, 32);
	case UNIT_SHARE:
		return verdict_share(cell->value, cell->of, text, 32);
	case UNIT_TIMES:
		snprintf(text, 32, "%.1f ×", (double)cell->value / 1000);
		return text;
	case UNIT_MOMENT:
		snprintf(text, 32, "+%.3f s", (double)cell->value / 1e9);
		return text;
	case UNIT_REAL:
		snprintf(text, 32, "%.*f", column->digits, cell->real);
		return text;
	case UNIT_PART:
		snprintf(text, 32, "%.*f %%", column->digits, 100 * cell->real);
		return text;
	case UNIT_BOOL:
		return cell->value ? "yes" : "no";
	default:
		snprintf(text, 32, "%" PRIu64, cell->value);
		return text;
	}
}

/* 0: none. */
static uint32_t frame_of(const struct view *view, const struct model_column *column,
	const struct model_cell *cell)
{
	const struct stack_table *stacks = view->stacks;
	uint32_t frame = (uint32_t)cell->value;

	if (column->unit == UNIT_STACK)
		frame = frame < stacks->node_count ? stacks->nodes[frame].frame : 0;
	return frame < stacks->frame_count ? frame : 0;
}

/* As wide as the names of the functions shown, unless the column says how wide. */
static int function_width(const struct view *view, const struct model_column *column)
{
	const struct model_table *table = view->table;
	int width = 0;

	if (column->width)
		return -column->width;
	for (size_t i = 0; i < view->shown; i++) {
		const struct model_cell *cell =
			&table->cells.items[i * table->column_count +
					    (size_t)(column - table->columns)];
		uint32_t frame = frame_of(view, column, cell);

		width = frame ? text_frame_widen(view->stacks, frame, width) : width;
	}
	return width;
}

static void put_frame(const struct view *view, const struct model_column *column,
	const struct model_cell *cell)
{
	uint32_t frame = frame_of(view, column, cell);

	if (frame)
		text_frame(view->out, view->stacks, frame, function_width(view, column));
	else
		fputs(cell->text ? cell->text : column->none ? column->none : "-", view->out);
}

static void put_cell(const struct view *view, const struct model_column *column,
	const struct model_cell *cell, bool last)
{
	const char *text = cell->text;
	size_t len = (size_t)cell->of;
	char number[32];

	if (column->unit == UNIT_FRAME || column->unit == UNIT_STACK) {
		put_frame(view, column, cell);
		return;
	}
	if (cell->state != CELL_KNOWN)
		text = cell->state == CELL_BLANK ? "" : column->none ? column->none : "-";
	else if (!text)
		text = number_text(column, cell, number);
	if (cell->state != CELL_KNOWN || column->unit != UNIT_TEXT)
		len = strlen(text);
	put_bytes(view, column, text, len, width_of(column), last);
}

/* All frames the first time; of a stack that an earlier row has, the line that stands for it. */
static void put_stack(const struct view *view, const struct model_cell *cells, size_t column)
{
	const struct model_cell *before = view->table->cells.items;
	uint32_t node = (uint32_t)cells[column].value;
	bool again = false;

	for (; before < cells && !again; before += view->table->column_count)
		again = before[column].state == CELL_KNOWN && before[column].value == node &&
			view->stacks->nodes[node].parent;
	if (!again) {
		text_stack(view->out, view->stacks, node);
		return;
	}
	fputs("      ", view->out);
	text_frame(view->out, view->stacks, attrib_trigger(view->stacks, node), 0);
	fputs("  (stack as above)\n", view->out);
}

/* The columns that have a line of their own, where they are known. */
static void put_below(const struct view *view, const struct model_cell *cells)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct model_column *column = &view->table->columns[view->columns[i]];
		const struct model_cell *cell = &cells[view->columns[i]];

		if (!column->below || cell->state != CELL_KNOWN || cell->unknown_in & IN_TEXT)
			continue;
		if (column->unit == UNIT_STACK) {
			put_stack(view, cells, view->columns[i]);
			continue;
		}
		fprintf(view->out, "%*s%s", column->gap ? column->gap : 6, "",
			column->heading ? column->heading : "");
		put_cell(view, column, cell, true);
		fputc('\n', view->out);
	}
}

/* @cells: of all columns. Blank ones at the end are left out. */
static void put_row(const struct view *view, const struct model_cell *cells)
{
	size_t beside = view->beside;

	while (beside && cells[view->columns[beside - 1]].state == CELL_BLANK)
		beside--;
	if (view->table->layout->strong)
		terminal_style(view->out, TERMINAL_STRONG);
	fputs(view->indent, view->out);
	for (size_t i = 0; i < beside; i++) {
		struct model_cell cell = cells[view->columns[i]];

		if (cell.unknown_in & IN_TEXT)
			cell.state = CELL_UNKNOWN;
		put_gap(view, i);
		put_cell(view, &view->table->columns[view->columns[i]], &cell, i == beside - 1);
	}
	fputc('\n', view->out);
	if (view->table->layout->strong)
		terminal_style(view->out, TERMINAL_PLAIN);
	put_below(view, cells);
}

/* At the margin, the first heading also takes up the two blanks before the rows. */
static void put_headings(const struct view *view)
{
	const struct model_column *columns = view->table->columns;
	bool flush = view->table->layout->flush && *view->indent;
	size_t count = view->beside;
	char text[HEADING_BYTES];

	while (count && !*heading_of(&columns[view->columns[count - 1]], text))
		count--;
	if (!count)
		return;
	fputs(flush ? "" : view->indent, view->out);
	for (size_t i = 0; i < count; i++) {
		const struct model_column *column = &columns[view->columns[i]];
		int width = width_of(column);

		if (!i && flush)
			width += width < 0 ? -2 : 2;
		heading_of(column, text);
		put_gap(view, i);
		put_bytes(view, column, text, strlen(text), width, i == count - 1);
	}
	fputc('\n', view->out);
}

/* In a view, columns below the row come last. */
static struct view view_of(FILE *out, const struct stack_table *stacks,
	const struct model_table *table)
{
	struct view view = {.out = out,
		.stacks = stacks,
		.table = table,
		.indent = table->layout->margin ? "" : "  "};
	size_t most = table->layout->text_rows ? table->layout->text_rows : ROWS_SHOWN;

	view.shown = table->rows < most ? table->rows : most;
	view.count = model_view(table, IN_TEXT, view.columns);
	while (view.beside < view.count && !table->columns[view.columns[view.beside]].below)
		view.beside++;
	return view;
}

static void put_body(FILE *out, const struct stack_table *stacks, const struct model_table *table)
{
	const struct model_layout *layout = table->layout;
	const struct view view = view_of(out, stacks, table);
	size_t more = view.count && !layout->first_rows ? table->rows - view.shown : 0;

	if (table->rows && view.count)
		put_headings(&view);
	for (size_t i = 0; view.count && i < view.shown; i++)
		put_row(&view, &table->cells.items[i * table->column_count]);
	if (more)
		fprintf(out, "%s… and %zu more%s%s%s\n", view.indent, more, layout->more ? " " : "",
			layout->more ? layout->more : "", layout->more && more > 1 ? "s" : "");
	if (table->rows && view.count && table->totalled)
		put_row(&view, table->total);
	for (size_t i = 0; i < table->notes.count; i++) {
		if (!(table->notes.items[i].in & IN_TEXT))
			continue;
		fputs(view.indent, out);
		utf8_print(out, table->notes.items[i].text);
		fputc('\n', out);
	}
}

void text_table(FILE *out, const struct stack_table *stacks, const struct model_table *table)
{
	uint8_t columns[MODEL_COLUMNS];

	if ((!table->rows || !model_view(table, IN_TEXT, columns)) &&
		!model_has_notes(table, IN_TEXT))
		return;
	fputc('\n', out);
	if (table->title)
		fprintf(out, "%s\n", table->title);
	put_body(out, stacks, table);
}

void text_tables(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++)
		text_table(out, stacks, model->tables.items[i]);
}

void text_bodies(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++)
		put_body(out, stacks, model->tables.items[i]);
}
