/* What all pages begin with, text in them, and flame graphs in frames: markup. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "flame_assets.h"
#include "flame_svg.h"
#include "html_assets.h"
#include "html_markup.h"

/* Fewer than in a picture of its own: the page holds much else. */
static const struct flame_limits flame_limits = {.calls = 1500, .share = 2000, .depth = 256};

void html_markup_text(FILE *out, struct flame_text *scratch, const char *bytes, size_t len)
{
	flame_text_clear(scratch);
	flame_text_clean(scratch, bytes, len, 0);
	flame_text_xml(out, scratch, 0);
}

void html_markup_head(FILE *out, struct flame_text *scratch, const char *what, const char *title)
{
	/* Only scripts and styles named here may be used; nothing may be fetched or sent. */
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%s' '%s'; style-src '%s' '%s'; base-uri 'none'; form-action "
		"'none'\">\n",
		html_script_hash, flame_script_hash, html_style_hash, flame_style_hash);
	fprintf(out,
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n<title>%s",
		what);
	if (title && *title) {
		fputs(" · ", out);
		html_markup_text(out, scratch, title, strlen(title));
	}
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", html_style);
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
void html_markup_flame(FILE *out, struct flame_text *scratch, const struct report_input *input,
	const char *id)
{
	struct report_input untitled = *input;
	_cleanup_free_ char *svg = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&svg, &size);
	struct err err = {};
	int r = memory ? 0 : -ENOMEM;

	untitled.title = NULL;
	if (memory) {
		r = flame_svg_write(&untitled, &flame_limits, memory, &err);
		if (fclose(memory) && !r)
			r = -ENOMEM;
	}
	if (r) {
		const char *why = *err.text ? err.text : strerror(-r);

		fputs("<p class=\"note\">There is no flame graph: ", out);
		html_markup_text(out, scratch, why, strlen(why));
		fputs("</p>\n", out);
		return;
	}
	fprintf(out,
		"<iframe id=\"%s\" title=\"Flame graph of pause time\" "
		"srcdoc='<!DOCTYPE html><title>Flame graph</title>"
		"<meta name=\"color-scheme\" content=\"light dark\">"
		"<body topmargin=0 leftmargin=0 marginwidth=0 marginheight=0>",
		id);
	put_attribute(out, svg, size);
	fputs("'></iframe>\n", out);
}
