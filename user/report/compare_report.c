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
#define NAME_COLUMNS   56 /* at most */
#define JUDGED_COLUMNS 12

/* Columns at these places are named or made as wide as the rows need. */
enum { COLUMN_LABEL = 2, COLUMN_INTERVAL = 9 };

static const struct model_column comparison_columns[] = {
	{"name", NULL, UNIT_TEXT},
	{"of", NULL, UNIT_TEXT},
	[COLUMN_LABEL] = {"label", NULL, UNIT_TEXT, .width = -24},
	{"unit", NULL, UNIT_TEXT},
	{"before", "Before", UNIT_REAL, .width = 13},
	{"after", "After", UNIT_REAL, .width = 13},
	{"change", "Change", UNIT_REAL, .width = CHANGE_COLUMNS + 1},
	{"low", NULL, UNIT_REAL},
	{"high", NULL, UNIT_REAL},
	[COLUMN_INTERVAL] = {"interval", "95 % interval", UNIT_TEXT, .width = -20},
	{"judged", "Judged", UNIT_TEXT, .width = -JUDGED_COLUMNS},
	{"detectable", NULL, UNIT_REAL},
	{"breach", NULL, UNIT_BOOL},
};

static const struct model_layout comparison_layout = {
	.key = "comparison",
	.columns = comparison_columns,
	.column_count = ARRAY_SIZE(comparison_columns),
	.text = "label before after change interval judged",
	.json = "name of unit before after change low high judged detectable breach",
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

static const char *label_of(const struct comparison *item)
{
	return *item->of ? item->of : item->name;
}

/* A percentage says nothing of what was not there before. */
static struct model_cell change_of(struct model *model, const struct comparison *item)
{
	struct model_cell change = model_real(item->known ? item->change : NAN);

	change.text =
		item->known && !isfinite(item->change)
			? "new"
			: model_shown(model, model_format(model, "%+.1f %%", 100 * item->change),
				  SIZE_MAX, CHANGE_COLUMNS);
	if (item->known)
		change.state = CELL_KNOWN;
	return isfinite(item->change) ? change : model_not_in(IN_JSON, change);
}

static void add_comparison(struct model_table *table, const struct comparison *item)
{
	struct model *model = table->model;
	bool interval = item->known && item->has_interval;
	const char *judged = compare_change_name(item->judged);

	MODEL_ROW(table, model_text(item->name), model_text(*item->of ? item->of : NULL),
		model_text(label_of(item)), model_text(item->unit),
		figure(model, item, item->before), figure(model, item, item->after),
		change_of(model, item), model_real(interval ? item->low : NAN),
		model_real(interval ? item->high : NAN),
		interval ? model_text(model_format(model, "%+.1f … %+.1f %%", 100 * item->low,
				   100 * item->high))
			 : model_blank(),
		judged ? model_text(judged) : model_not_in(IN_JSON, model_blank()),
		model_real(item->detectable > 0 ? item->detectable : NAN),
		model_number(item->breach));
}

/* Why a mean or a share differs from that of report and check. */
static void note_warm_up(struct model_table *table, const struct comparisons *comparisons)
{
	if (comparisons->warm_up[0] || comparisons->warm_up[1])
		model_note(table, IN_TEXT | IN_PAGE,
			"Without the warm-up, which report, check and cost.share count: step.*, stopped.share and "
			"pause.per_step leave out the first steps, %zu before and %zu after.",
			comparisons->warm_up[0], comparisons->warm_up[1]);
}

struct model_table *compare_model(struct model *model, const struct comparisons *comparisons)
{
	struct model_column columns[ARRAY_SIZE(comparison_columns)];
	struct model_table *table;
	size_t widest = 0;

	for (size_t i = 0; i < comparisons->items.count; i++) {
		const char *label = label_of(&comparisons->items.items[i]);
		char text[4 * NAME_COLUMNS + 1];
		size_t width = utf8_show(text, sizeof(text), label, strlen(label), NAME_COLUMNS);

		widest = width > widest ? width : widest;
	}
	memcpy(columns, comparison_columns, sizeof(columns));
	columns[COLUMN_LABEL].width = (int8_t) - (widest < NAME_COLUMNS ? widest : NAME_COLUMNS);
	columns[COLUMN_INTERVAL].title =
		model_format(model, "%.0f %% interval", 100 * comparisons->confidence);
	table = model_add_with(model, &comparison_layout, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < comparisons->items.count; i++)
		add_comparison(table, &comparisons->items.items[i]);
	model_note(table, IN_TEXT | IN_PAGE, "%s", comparisons->chance);
	note_warm_up(table, comparisons);
	return table;
}

static void put_files(FILE *out, const char *side, const char *const *files, size_t count)
{
	fprintf(out, "%s", side);
	for (size_t i = 0; i < count; i++) {
		fputc(' ', out);
		utf8_print(out, files[i]);
	}
	fputc('\n', out);
}

void compare_report_text(FILE *to, const struct comparisons *comparisons, const char *const *files)
{
	_cleanup_(model_release) struct model model = {0};
	FILE *out = terminal_open(to);

	terminal_style(out, TERMINAL_STRONG);
	utf8_print(out, comparisons->verdict);
	terminal_style(out, TERMINAL_PLAIN);
	fputc('\n', out);
	if (*comparisons->calls) {
		utf8_print(out, comparisons->calls);
		fputc('\n', out);
	}
	fputc('\n', out);
	put_files(out, "before:", files, comparisons->runs[0]);
	put_files(out, "after: ", files + comparisons->runs[0], comparisons->runs[1]);
	fputc('\n', out);
	compare_model(&model, comparisons);
	text_bodies(out, NULL, &model);
	terminal_close(out, to);
}

static void put_names(FILE *out, const char *key, const char *const *files, size_t count)
{
	line_key(out, key);
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputc(',', out);
		line_string(out, files[i], strlen(files[i]));
	}
	fputc(']', out);
}

void compare_report_json(FILE *out, const struct comparisons *comparisons, const char *const *files)
{
	_cleanup_(model_release) struct model model = {0};
	const size_t before = comparisons->runs[0];

	compare_model(&model, comparisons);
	json_records(out, NULL, &model);
	line_begin(out, "diff");
	line_text(out, "before", files[0]);
	line_text(out, "after", files[before]);
	put_names(out, "files_before", files, before);
	put_names(out, "files_after", files + before, comparisons->runs[1]);
	line_bool(out, "comparable", comparisons->comparable);
	line_unsigned(out, "warm_up_before", comparisons->warm_up[0]);
	line_unsigned(out, "warm_up_after", comparisons->warm_up[1]);
	line_real(out, "confidence", comparisons->confidence);
	line_text(out, "answer", compare_answer_name(comparisons->answer));
	line_bool(out, "breach", comparisons->breach);
	line_text(out, "verdict", comparisons->verdict);
	line_text(out, "calls", comparisons->calls);
	line_text(out, "chance", comparisons->chance);
	line_end(out);
}
