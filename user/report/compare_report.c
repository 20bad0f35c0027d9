/* Figures before and after → a table for people, records for programs. */
#include <math.h>
#include <string.h>

#include "cleanup.h"
#include "compare_report.h"
#include "json_line.h"
#include "json_table.h"
#include "model.h"
#include "parse.h"
#include "terminal.h"
#include "text_table.h"
#include "utf8.h"

/* A figure in its unit. */
static const char *show(const struct comparison *item, double value, char *text, size_t size)
{
	if (!strcmp(item->unit, "ns"))
		return format_duration(value > 0 ? (uint64_t)value : 0, text, size);
	if (!strcmp(item->unit, "share"))
		snprintf(text, size, "%.*f %%", value < 0.01 ? 3 : 1, value > 0 ? 100 * value : 0);
	else if (!strcmp(item->unit, "bytes"))
		snprintf(text, size, "%.1f KiB", value / 1024);
	else
		snprintf(text, size, "%.4g", value);
	return text;
}

#define CHANGE_COLUMNS 10

static const struct model_column comparison_columns[] = {
	{"name", NULL, UNIT_TEXT, .width = -24},
	{"unit", NULL, UNIT_TEXT},
	{"before", "Before", UNIT_REAL, .width = 13},
	{"after", "After", UNIT_REAL, .width = 13},
	{"change", "Change", UNIT_REAL, .width = CHANGE_COLUMNS + 1},
	{"low", NULL, UNIT_REAL},
	{"high", NULL, UNIT_REAL},
	{"interval", "95 % interval", UNIT_TEXT},
};

static const struct model_layout comparison_layout = {
	.key = "comparison",
	.columns = comparison_columns,
	.column_count = ARRAY_SIZE(comparison_columns),
	.text = "name before after change interval",
	.json = "name unit before after change low high",
	.page = "",
	.records = true,
	.margin = true,
	.text_rows = UINT16_MAX,
};

static struct model_cell figure(struct model *model, const struct comparison *item, double value)
{
	struct model_cell cell = model_real(item->known ? value : NAN);
	char text[32];

	if (item->known) /* text shows also what JSON has no number for */
		cell.state = CELL_KNOWN;
	cell.text = model_format(model, "%s", show(item, value, text, sizeof(text)));
	return isfinite(value) ? cell : model_not_in(IN_JSON, cell);
}

static void add_comparison(struct model_table *table, const struct comparison *item)
{
	struct model *model = table->model;
	bool interval = item->known && item->has_interval;
	struct model_cell change = model_real(item->known ? item->change : NAN);

	change.text = model_shown(model, model_format(model, "%+.1f %%", 100 * item->change),
		SIZE_MAX, CHANGE_COLUMNS);
	MODEL_ROW(table, model_text(item->name), model_text(item->unit),
		figure(model, item, item->before), figure(model, item, item->after), change,
		model_real(interval ? item->low : NAN), model_real(interval ? item->high : NAN),
		interval ? model_text(model_format(model, "%+.1f … %+.1f %%", 100 * item->low,
				   100 * item->high))
			 : model_blank());
}

static void build(struct model *model, const struct comparisons *comparisons)
{
	struct model_table *table = model_add(model, &comparison_layout);

	for (size_t i = 0; i < comparisons->items.count; i++)
		add_comparison(table, &comparisons->items.items[i]);
}

/* Why a mean or a share differs from that of report and check. */
static void put_warm_up(FILE *out, const struct comparisons *comparisons)
{
	if (comparisons->warm_up[0] || comparisons->warm_up[1])
		fprintf(out,
			"\nWithout the warm-up, which report, check and cost.share count: step.mean, stopped.share and "
			"pause.per_step leave out the first steps, %zu before and %zu after.\n",
			comparisons->warm_up[0], comparisons->warm_up[1]);
}

void compare_report_text(FILE *to, const struct comparisons *comparisons, const char *before,
	const char *after)
{
	_cleanup_(model_release) struct model model = {0};
	FILE *out = terminal_open(to);

	terminal_style(out, TERMINAL_STRONG);
	utf8_print(out, comparisons->verdict);
	terminal_style(out, TERMINAL_PLAIN);
	fputs("\n\nbefore: ", out);
	utf8_print(out, before);
	fputs("\nafter:  ", out);
	utf8_print(out, after);
	fputs("\n\n", out);
	build(&model, comparisons);
	text_bodies(out, NULL, &model);
	put_warm_up(out, comparisons);
	terminal_close(out, to);
}

void compare_report_json(FILE *out, const struct comparisons *comparisons, const char *before,
	const char *after)
{
	_cleanup_(model_release) struct model model = {0};

	build(&model, comparisons);
	json_records(out, NULL, &model);
	line_begin(out, "diff");
	line_text(out, "before", before);
	line_text(out, "after", after);
	line_bool(out, "comparable", comparisons->comparable);
	line_unsigned(out, "warm_up_before", comparisons->warm_up[0]);
	line_unsigned(out, "warm_up_after", comparisons->warm_up[1]);
	line_text(out, "verdict", comparisons->verdict);
	line_end(out);
}
