/* The page's markup: the answer, what is missing, the advice and the flame graph as text; places for the rest. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "flame_assets.h"
#include "flame_svg.h"
#include "html.h"
#include "html_assets.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

/* Fewer than in a picture of its own: the page holds much else. */
static const struct flame_limits flame_limits = {.calls = 1500, .share = 2000, .depth = 256};

/* @len bytes from anywhere, as character data. */
static void put_bytes(struct html_page *page, const char *bytes, size_t len)
{
	flame_text_clear(&page->text);
	flame_text_clean(&page->text, bytes, len, 0);
	flame_text_xml(page->out, &page->text, 0);
}

static void put_field(struct html_page *page, const char *field, size_t size)
{
	put_bytes(page, field, strnlen(field, size));
}

static void put_head(struct html_page *page)
{
	const char *title = page->input->title ? page->input->title : "";
	FILE *out = page->out;

	/* Only scripts and styles named here may be used; nothing may be fetched or sent. */
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%s' '%s'; style-src '%s' '%s'; base-uri 'none'; form-action "
		"'none'\">\n",
		html_script_hash, flame_script_hash, html_style_hash, flame_style_hash);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>GC report",
		out);
	if (*title) {
		fputs(" · ", out);
		put_field(page, title, HTML_WHOLE);
	}
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", html_style);
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
	put_field(page, text, HTML_WHOLE);
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
	put_cell(page, table, row, "<p class=\"saves\"><b>", "less", "</b> ");
	put_cell(page, table, row, "", "saves", " <span>");
	put_cell(page, table, row, "", "interval", "</span></p>\n");
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
	char text[VERDICT_PARAGRAPH_BYTES];
	int r;

	fputs("<section class=\"answer\" aria-label=\"Verdict\">\n<p class=\"verdict\">",
		page->out);
	verdict_paragraph(page->input, &page->summary, text, sizeof(text));
	put_bytes(page, text, strlen(text));
	fputs("</p>\n", page->out);
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

/* @text as the value of an attribute between single quotes. */
static void put_attribute(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '&')
			fputs("&amp;", out);
		else if (text[i] == '\'')
			fputs("&#39;", out);
		else
			putc_unlocked(text[i], out);
	}
}

/* The picture is a document of its own in a frame, so that its ids and its style do not clash with the page's. */
static void put_flame(struct html_page *page)
{
	struct report_input input = *page->input;
	_cleanup_free_ char *svg = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&svg, &size);
	struct err err = {};
	int r = memory ? 0 : -ENOMEM;

	input.title = NULL;
	if (memory) {
		r = flame_svg_write(&input, &flame_limits, memory, &err);
		if (fclose(memory) && !r)
			r = -ENOMEM;
	}
	fputs("<section id=\"flame\" aria-labelledby=\"flame-title\">\n"
	      "<h2 id=\"flame-title\">Where the pauses come from</h2>\n",
		page->out);
	if (r) {
		put_part(page, "<p class=\"note\">There is no flame graph: ",
			*err.text ? err.text : strerror(-r), "</p>\n</section>\n");
		return;
	}
	fputs("<iframe id=\"flame-graph\" title=\"Flame graph of pause time\" "
	      "srcdoc='<!DOCTYPE html><title>Flame graph</title>"
	      "<meta name=\"color-scheme\" content=\"light dark\">"
	      "<body topmargin=0 leftmargin=0 marginwidth=0 marginheight=0>",
		page->out);
	put_attribute(page->out, svg, size);
	fputs("'></iframe>\n</section>\n", page->out);
}

int html_page_write(struct html_page *page, struct err *err)
{
	FILE *out = page->out;
	int r;

	put_head(page);
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
