/* The page's markup: the answer, what is missing, the advice and the flame graph as text; places for the rest. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "html.h"
#include "html_assets.h"
#include "html_markup.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

/* @len bytes from anywhere, as character data. */
static void put_bytes(struct html_page *page, const char *bytes, size_t len)
{
	html_markup_text(page->out, &page->text, bytes, len);
}

static void put_field(struct html_page *page, const char *field, size_t size)
{
	put_bytes(page, field, strnlen(field, size));
}

/* When it was recorded, in the one zone that every reader can convert. */
static void put_time(FILE *out, const struct recording *recording)
{
	int64_t wall_ns = recording_wall_ns(recording, recording->start_ns);
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (wall_ns >= 0 && gmtime_r(&seconds, &tm) &&
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		fprintf(out, "<span class=\"when\">%s</span>", text);
}

static void put_banner_top(struct html_page *page)
{
	const struct recording *recording = page->input->recording;
	const char *title = page->input->title;
	FILE *out = page->out;

	fputs("<header class=\"top\">\n<h1><span class=\"brand\">gctrace</span> "
	      "<span class=\"run\">",
		out);
	put_field(page, title && *title ? title : "recording", HTML_WHOLE);
	fputs("</span></h1>\n<p class=\"where\">", out);
	if (*recording->host) {
		fputs("<span>", out);
		put_field(page, recording->host, sizeof(recording->host));
		fputs("</span>", out);
	}
	put_time(out, recording);
	fprintf(out,
		"<span>%s recorded</span></p>\n<div class=\"tools\" id=\"tools\"></div>\n"
		"</header>\n",
		FORMAT_DURATION(verdict_span_ns(recording, &page->summary)));
}

/* A text between two pieces of markup; nothing of an empty one. */
static void put_part(struct html_page *page, const char *before, const char *text,
	const char *after)
{
	if (!text || !*text)
		return;
	fputs(before, page->out);
	put_bytes(page, text, strlen(text));
	fputs(after, page->out);
}

static void put_cell(struct html_page *page, const struct model_table *table, size_t row,
	const char *before, const char *key, const char *after)
{
	put_part(page, before, model_named(table, row, key)->text, after);
}

static void put_advice(struct html_page *page, const struct model_table *table, size_t row,
	bool several)
{
	fprintf(page->out, "<article class=\"card%s\">",
		model_named(table, row, "calm")->value ? " calm" : "");
	put_cell(page, table, row, "<h3>", "title", "</h3>\n");
	if (several)
		put_cell(page, table, row, "<p class=\"whose\">", "whose", "</p>\n");
	if (model_named(table, row, "saves")->text) {
		put_cell(page, table, row, "<p class=\"saves\"><b>", "less", "</b> ");
		put_cell(page, table, row, "", "saves", " <span>");
		put_cell(page, table, row, "", "range", " ");
		fputs("<i class=\"source\">estimated</i></span></p>\n", page->out);
	}
	put_cell(page, table, row, "<pre><code>", "line", "</code></pre>\n");
	put_cell(page, table, row, "<p>", "estimate", "</p>\n");
	put_cell(page, table, row, "<p class=\"risk\"><b>Risk</b> ", "risk", "</p>\n");
	fputs("</article>\n", page->out);
}

/* 0 or -ENOMEM. */
static int put_incomplete(struct html_page *page)
{
	const struct recording *recording = page->input->recording;
	_cleanup_(model_release) struct model model = {0};
	const struct model_table *table;

	if (verdict_complete(recording) && !*page->damage.text)
		return 0;
	model_missing(&model, recording, &page->summary,
		*page->damage.text ? page->damage.text : NULL);
	if (model.failed)
		return -ENOMEM;
	table = model.tables.items[0];
	fputs("<div class=\"banner\" role=\"alert\"><h2>INCOMPLETE</h2>"
	      "<p>The figures on this page are lower bounds.</p><ul>\n",
		page->out);
	for (size_t i = 0; i < table->rows; i++)
		put_cell(page, table, i, "<li>", "sentence", "</li>\n");
	fputs("</ul></div>\n", page->out);
	return 0;
}

static int put_answer(struct html_page *page)
{
	struct verdict verdict;
	int r;

	verdict_make(page->input, &page->summary, &verdict);
	fputs("<section class=\"answer\" aria-label=\"Verdict\">\n<div class=\"verdict\">\n",
		page->out);
	if (verdict.count)
		put_part(page, "<p>", verdict.lines[0].text, "</p>\n");
	for (size_t i = 1; i < verdict.count; i++) {
		fprintf(page->out, "%s<dt>%s</dt>", i == 1 ? "<dl>\n" : "", verdict.lines[i].label);
		put_part(page, "<dd>", verdict.lines[i].text, "</dd>\n");
	}
	fputs(verdict.count > 1 ? "</dl>\n</div>\n" : "</div>\n", page->out);
	r = put_incomplete(page);
	fputs("</section>\n", page->out);
	return r;
}

/* Cards in the markup, so that they are there without a script. 0 or -ENOMEM. */
static int put_advices(struct html_page *page)
{
	_cleanup_(model_release) struct model model = {0};
	const struct model_table *table;

	model_advice(&model, page->input);
	if (model.failed)
		return -ENOMEM;
	table = model.tables.items[0];
	if (!table->rows)
		return 0;
	fputs("<section id=\"advice\" aria-labelledby=\"advice-title\">\n"
	      "<h2 id=\"advice-title\">What would help</h2>\n<p class=\"lead\">Computed from this recording.</p>\n"
	      "<div class=\"cards\">\n",
		page->out);
	for (size_t i = 0; i < table->rows; i++)
		put_advice(page, table, i, html_tracks(page) > 1);
	fputs("</div>\n", page->out);
	for (size_t i = 0; i < table->notes.count; i++)
		put_part(page, "<p class=\"note\">", table->notes.items[i].text, "</p>\n");
	fputs("</section>\n", page->out);
	return 0;
}

static void put_flame(struct html_page *page)
{
	fputs("<section id=\"flame\" aria-labelledby=\"flame-title\">\n"
	      "<h2 id=\"flame-title\">Where the pauses come from</h2>\n",
		page->out);
	html_markup_flame(page->out, &page->text, page->input, "flame-graph");
	fputs("</section>\n", page->out);
}

int html_page_write(struct html_page *page, struct err *err)
{
	FILE *out = page->out;
	int r;

	html_markup_head(out, &page->text, "GC report", page->input->title);
	put_banner_top(page);
	fputs("<main id=\"main\">\n", out);
	r = put_answer(page);
	if (!r)
		r = put_advices(page);
	if (r)
		return err_set(err, -r, "memory ran out while writing the page");
	fputs("<noscript><p class=\"note\">The timeline and the tables are drawn by the script in "
	      "this page, which is not allowed to run here. <code>gctrace report FILE</code> has "
	      "the same figures as text.</p></noscript>\n"
	      "<div id=\"tracks\"></div>\n<div id=\"tables\"></div>\n",
		out);
	put_flame(page);
	fputs("<section id=\"recorded\"></section>\n</main>\n"
	      "<script type=\"application/json\" id=\"data\">",
		out);
	r = html_data_write(page, err);
	fprintf(out, "</script>\n<script>\n%s</script>\n</body>\n</html>\n", html_script);
	return r;
}
