/* Figures before and after → a table for people, records for programs. */
#include <math.h>
#include <string.h>

#include "compare_report.h"
#include "json_line.h"
#include "parse.h"
#include "terminal.h"
#include "text_cell.h"
#include "utf8.h"

/* A figure in its unit. */
static const char *show(const struct comparison *item, double value, char *text, size_t size)
{
	if (!strcmp(item->unit, "ns"))
		return format_duration(value > 0 ? (uint64_t)value : 0, text, size);
	if (!strcmp(item->unit, "share"))
		snprintf(text, size, "%.*f %%", value < 0.01 ? 3 : 1, 100 * value);
	else if (!strcmp(item->unit, "bytes"))
		snprintf(text, size, "%.1f KiB", value / 1024);
	else
		snprintf(text, size, "%.4g", value);
	return text;
}

static void put_change(FILE *out, const struct comparison *item)
{
	char text[48] = "-";

	if (item->known && isfinite(item->change))
		snprintf(text, sizeof(text), "%+.1f %%", 100 * item->change);
	cell_text(out, text, 10);
	if (item->known && item->has_interval)
		fprintf(out, "  %+.1f … %+.1f %%", 100 * item->low, 100 * item->high);
}

/* Why a mean or a share is another than that of report and check. */
static void put_warm_up(FILE *out, const struct comparisons *comparisons)
{
	if (comparisons->warm_up[0] || comparisons->warm_up[1])
		fprintf(out,
			"\nWithout the warm-up, which report and check count: step.mean, cost.share and "
			"pause.per_step leave out the first steps, %zu before and %zu after.\n",
			comparisons->warm_up[0], comparisons->warm_up[1]);
}

void compare_report_text(FILE *to, const struct comparisons *comparisons, const char *before,
	const char *after)
{
	FILE *out = terminal_open(to);
	char text[32];

	terminal_style(out, TERMINAL_STRONG);
	utf8_print(out, comparisons->verdict);
	terminal_style(out, TERMINAL_PLAIN);
	fputs("\n\nbefore: ", out);
	utf8_print(out, before);
	fputs("\nafter:  ", out);
	utf8_print(out, after);
	fputs("\n\n", out);
	fprintf(out, "%-24s %12s %12s %10s  %s\n", "", "BEFORE", "AFTER", "CHANGE",
		"95 % INTERVAL");
	for (size_t i = 0; i < comparisons->items.count; i++) {
		const struct comparison *item = &comparisons->items.items[i];

		cell_text(out, item->name, -24);
		fputc(' ', out);
		cell_text(out, item->known ? show(item, item->before, text, sizeof(text)) : "-",
			12);
		fputc(' ', out);
		cell_text(out, item->known ? show(item, item->after, text, sizeof(text)) : "-", 12);
		fputc(' ', out);
		put_change(out, item);
		fputc('\n', out);
	}
	put_warm_up(out, comparisons);
	terminal_close(out, to);
}

void compare_report_json(FILE *out, const struct comparisons *comparisons, const char *before,
	const char *after)
{
	for (size_t i = 0; i < comparisons->items.count; i++) {
		const struct comparison *item = &comparisons->items.items[i];

		line_begin(out, "comparison");
		line_text(out, "name", item->name);
		line_text(out, "unit", item->unit);
		line_real(out, "before", item->known ? item->before : NAN);
		line_real(out, "after", item->known ? item->after : NAN);
		line_real(out, "change", item->known ? item->change : NAN);
		line_real(out, "low", item->known && item->has_interval ? item->low : NAN);
		line_real(out, "high", item->known && item->has_interval ? item->high : NAN);
		line_end(out);
	}
	line_begin(out, "diff");
	line_text(out, "before", before);
	line_text(out, "after", after);
	line_bool(out, "comparable", comparisons->comparable);
	line_unsigned(out, "warm_up_before", comparisons->warm_up[0]);
	line_unsigned(out, "warm_up_after", comparisons->warm_up[1]);
	line_text(out, "verdict", comparisons->verdict);
	line_end(out);
}
