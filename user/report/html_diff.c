/* A comparison → a page: the verdict, figures with their intervals and how they are known, a flame graph of each side. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cleanup.h"
#include "compare_report.h"
#include "html_assets.h"
#include "html_diff.h"
#include "html_markup.h"
#include "model.h"

#define REACH_LEAST 0.02 /* of the picture of intervals, to either side */
#define REACH_MOST  1.0
#define HALF	    90 /* its width to either side of the middle */

struct writer {
	const struct html_diff *diff;
	const struct model_table *table;
	FILE *out;
	struct flame_text text; /* scratch */
	double reach;		/* the relative change at either end of the picture */
};

static void writer_release(struct writer *w)
{
	flame_text_release(&w->text);
}

/* @text between two pieces of markup; nothing of an empty one. */
static void put(struct writer *w, const char *before, const char *text, const char *after)
{
	if (!text || !*text)
		return;
	fputs(before, w->out);
	html_markup_text(w->out, &w->text, text, strlen(text));
	fputs(after, w->out);
}

static void put_side(struct writer *w, const char *name, size_t from, size_t count)
{
	fprintf(w->out, "<div><dt>%s</dt>", name);
	for (size_t i = from; i < from + count; i++)
		put(w, "<dd>", w->diff->files[i], "</dd>");
	fputs("</div>\n", w->out);
}

static void put_answer(struct writer *w)
{
	const struct comparisons *comparisons = w->diff->comparisons;

	fputs("<header class=\"top\">\n<h1><span class=\"brand\">gctrace diff</span></h1>\n"
	      "<p class=\"where\"></p>\n<div class=\"tools\" id=\"tools\"></div>\n</header>\n"
	      "<main id=\"main\">\n<section class=\"answer\" aria-label=\"Verdict\">\n",
		w->out);
	put(w, "<div class=\"verdict\"><p>", comparisons->verdict, "</p></div>\n");
	put(w, "<p class=\"lead\">", comparisons->calls, "</p>\n");
	put(w, "<div class=\"banner\" role=\"alert\"><h2>INCOMPLETE</h2><p>Figures may be too low: ",
		w->diff->missing, "</p></div>\n");
	fputs("<dl class=\"facts\">\n", w->out);
	put_side(w, "Before", 0, comparisons->runs[0]);
	put_side(w, "After", comparisons->runs[0], comparisons->runs[1]);
	fputs("</dl>\n</section>\n", w->out);
}

/* "measured"; of what was lost as each side has it; of what is not known that it is not. */
static void put_known(struct writer *w, const struct comparison *item)
{
	const char *const *known = w->diff->known;
	char text[128] = "measured";

	if (!strncmp(item->name, "cost.", strlen("cost.")) && known[0] && known[1])
		snprintf(text, sizeof(text), "%s%s%s", known[0],
			strcmp(known[0], known[1]) ? " → " : "",
			strcmp(known[0], known[1]) ? known[1] : "");
	else if (!item->known)
		snprintf(text, sizeof(text), "not known");
	put(w, "<td class=\"left\"><i class=\"source\">", text, "</i></td>");
}

/* How far intervals and changes go, so that most of them lie in the picture. */
static double reach_of(const struct comparisons *comparisons)
{
	double reach = REACH_LEAST;

	for (size_t i = 0; i < comparisons->items.count; i++) {
		const struct comparison *item = &comparisons->items.items[i];

		if (!item->known || !item->has_interval)
			continue;
		reach = fmax(reach, fmax(fabs(item->low), fabs(item->high)));
	}
	return reach < REACH_MOST ? reach : REACH_MOST;
}

static double place(const struct writer *w, double change)
{
	return fmax(-1, fmin(1, change / w->reach)) * HALF;
}

/* The interval as a line; an end of it that lies outside the picture has an arrow. */
static void put_interval(struct writer *w, const struct comparison *item)
{
	fprintf(w->out, "<path d=\"M%.1f 0H%.1f\"/>", place(w, item->low), place(w, item->high));
	if (item->low < -w->reach)
		fprintf(w->out, "<path d=\"M%d -4L%d 0L%d 4\"/>", 4 - HALF, -HALF, 4 - HALF);
	if (item->high > w->reach)
		fprintf(w->out, "<path d=\"M%d -4L%d 0L%d 4\"/>", HALF - 4, HALF, HALF - 4);
}

/* Each run as a dot: those before the change above the line, those after it below. */
static void put_runs(struct writer *w, const struct comparison *item)
{
	const size_t *runs = w->diff->comparisons->runs;

	if (runs[0] + runs[1] == 2 || !(item->before > 0))
		return;
	for (size_t i = 0; i < item->each.count; i++)
		if (isfinite(item->each.items[i]))
			fprintf(w->out, "<circle class=\"run\" cx=\"%.1f\" cy=\"%d\" r=\"1.5\"/>",
				place(w, item->each.items[i] / item->before - 1),
				i < runs[0] ? -5 : 5);
}

/* Of a figure with an interval or a judgement: the change as a dot, and what is known around it. */
static void put_picture(struct writer *w, const struct comparison *item)
{
	const char *judged = compare_change_name(item->judged);

	fputs("<td class=\"left spare\">", w->out);
	if (item->known && isfinite(item->change) && (item->has_interval || judged)) {
		fprintf(w->out,
			"<svg class=\"forest %s\" width=\"%d\" height=\"14\" viewBox=\"%d -7 %d 14\" "
			"aria-hidden=\"true\"><path class=\"zero\" d=\"M0 -7V7\"/>",
			judged ? judged : "unjudged", 2 * HALF + 10, -HALF - 5, 2 * HALF + 10);
		if (item->has_interval)
			put_interval(w, item);
		put_runs(w, item);
		fprintf(w->out, "<circle cx=\"%.1f\" r=\"3.5\"/></svg>", place(w, item->change));
	}
	fputs("</td>", w->out);
}

static void put_cell(struct writer *w, size_t row, const char *key, const char *class)
{
	const struct model_cell *cell = model_named(w->table, row, key);

	fprintf(w->out, "<td%s>", class);
	if (cell->state == CELL_UNKNOWN)
		fputs("-", w->out);
	else
		put(w, "", cell->text, "");
	fputs("</td>", w->out);
}

static void put_row(struct writer *w, size_t row)
{
	const struct comparison *item = &w->diff->comparisons->items.items[row];

	fprintf(w->out, "<tr%s>", item->breach ? " class=\"breach\"" : "");
	put_cell(w, row, "label", " class=\"left label\"");
	put_cell(w, row, "before", "");
	put_cell(w, row, "after", "");
	put_cell(w, row, "change", "");
	put_picture(w, item);
	put_cell(w, row, "interval", " class=\"left\"");
	put_known(w, item);
	put_cell(w, row, "judged", " class=\"left\"");
	fputs("</tr>\n", w->out);
}

static void put_figures(struct writer *w)
{
	const struct comparisons *comparisons = w->diff->comparisons;

	fprintf(w->out,
		"<section aria-labelledby=\"figures-title\">\n<h2 id=\"figures-title\">Figures</h2>\n"
		"<div class=\"table\"><div class=\"scroll\"><table class=\"figures\"><thead><tr>"
		"<th class=\"left\">Figure</th><th>Before</th><th>After</th><th>Change</th>"
		"<th class=\"left spare\">−%.0f … +%.0f %%</th><th class=\"left\">%.0f %% interval</th>"
		"<th class=\"left\">Known</th><th class=\"left\">Judged</th></tr></thead>\n<tbody>\n",
		100 * w->reach, 100 * w->reach, 100 * comparisons->confidence);
	for (size_t i = 0; i < comparisons->items.count; i++)
		put_row(w, i);
	fputs("</tbody></table></div></div>\n", w->out);
	if (comparisons->runs[0] + comparisons->runs[1] > 2)
		fputs("<p class=\"note\">Small dots: each run, those before the change above the line, those after "
		      "it below.</p>\n",
			w->out);
	for (size_t i = 0; i < w->table->notes.count; i++)
		if (w->table->notes.items[i].in & IN_PAGE)
			put(w, "<p class=\"note\">", w->table->notes.items[i].text, "</p>\n");
	fputs("</section>\n", w->out);
}

static void put_flame(struct writer *w, size_t side)
{
	static const char *const names[] = {"Before", "After"};
	const struct report_input *input = w->diff->inputs[side];
	const size_t *runs = w->diff->comparisons->runs;

	fprintf(w->out, "<div class=\"flame\">\n<h3>%s: ", names[side]);
	put(w, "", w->diff->files[side ? runs[0] : 0], "");
	if (runs[side] > 1)
		fprintf(w->out, ", the first of %zu", runs[side]);
	fputs("</h3>\n", w->out);
	if (input)
		html_markup_flame(w->out, &w->text, input, side ? "flame-after" : "flame-before");
	else
		fputs("<p class=\"note\">There is no flame graph: the recording cannot be read a second time.</p>\n",
			w->out);
	fputs("</div>\n", w->out);
}

/* Of each its own pause time: the widths of two graphs are not compared, the totals above them are. */
static void put_flames(struct writer *w)
{
	fputs("<section id=\"flame\" aria-labelledby=\"flame-title\">\n"
	      "<h2 id=\"flame-title\">Where the pauses come from</h2>\n"
	      "<p class=\"lead\">Each graph is as wide as its own pause time.</p>\n",
		w->out);
	put_flame(w, 0);
	put_flame(w, 1);
	fputs("</section>\n", w->out);
}

int html_diff_write(const struct html_diff *diff, FILE *out, struct err *err)
{
	_cleanup_(model_release) struct model model = {0};
	_cleanup_(writer_release) struct writer w = {
		.diff = diff,
		.table = compare_model(&model, diff->comparisons),
		.out = out,
		.reach = reach_of(diff->comparisons),
	};

	if (model.failed)
		return err_set(err, ENOMEM, "memory ran out while comparing");
	html_markup_head(out, &w.text, "GC before and after", diff->files[0]);
	put_answer(&w);
	put_figures(&w);
	put_flames(&w);
	fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", html_script);
	if (w.text.failed)
		return err_set(err, ENOMEM, "memory ran out while writing the page");
	if (fflush(out) || ferror(out))
		return err_set(err, errno ? errno : EIO, "cannot write the page: %s",
			strerror(errno ? errno : EIO));
	return 0;
}
