/* Lines in; lines no wider than the terminal out. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.h"

#define NARROWEST  40
#define ROW_INDENT 6  /* of what follows a row on lines of its own */
#define KEPT_TAIL  12 /* columns that the end of a path gets at least */

/* The one terminal that is written to. */
static struct {
	FILE *shown, *out;
	bool colour;
	enum terminal_style style;
	char line[8192];
	size_t used;
} terminal;

/* Columns of the terminal; 0: not known. */
static size_t width_of(void)
{
	const char *given = getenv("COLUMNS");
	struct winsize size;
	size_t columns = 0;

	if (!ioctl(fileno(terminal.out), TIOCGWINSZ, &size))
		columns = size.ws_col;
	if (!columns && given)
		columns = strtoul(given, NULL, 10);
	return columns && columns < NARROWEST ? NARROWEST : columns;
}

static size_t columns_of(const char *text, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += (text[i] & 0xc0) != 0x80; /* not a continuation byte */
	return columns;
}

/* The bytes of the first @columns of @text. */
static size_t bytes_of(const char *text, size_t len, size_t columns)
{
	size_t i = 0;

	while (i < len && (columns || (text[i] & 0xc0) == 0x80))
		columns -= (text[i++] & 0xc0) != 0x80;
	return i;
}

/* One line: @indent blanks, @text, @mark, @end. */
static void emit(size_t indent, const char *text, size_t len, const char *mark, const char *end,
	size_t end_len)
{
	static const char *const begins[] = {
		[TERMINAL_STRONG] = "\033[1m",
		[TERMINAL_ALARM] = "\033[1;31m",
	};
	bool styled = terminal.colour && terminal.style != TERMINAL_PLAIN;

	fprintf(terminal.out, "%s%*s%.*s%s%.*s%s\n", styled ? begins[terminal.style] : "",
		(int)indent, "", (int)len, text, mark, (int)end_len, end, styled ? "\033[0m" : "");
}

/* Where the last column of a table's row begins; 0 for prose. Two columns are a row if one is a path. */
static size_t last_column(const char *text, size_t len)
{
	size_t columns = 0, last = 0, i = strspn(text, " ");

	for (; i + 2 < len; i++)
		if (text[i] == ' ' && text[i + 1] == ' ' && text[i + 2] != ' ') {
			last = i + 2;
			columns++;
		}
	return columns > 1 || (columns && memchr(text + last, '/', len - last)) ? last : 0;
}

/* Where the first column begins that ends beyond @width. */
static size_t first_beyond(const char *text, size_t len, size_t width)
{
	size_t start = strspn(text, " ");

	for (size_t i = start; i + 2 < len; i++)
		if (text[i] == ' ' && text[i + 1] == ' ' && text[i + 2] != ' ') {
			if (columns_of(text, i) > width)
				break;
			start = i + 2;
		}
	return start;
}

static size_t without_blanks(const char *text, size_t len)
{
	while (len && text[len - 1] == ' ')
		len--;
	return len;
}

/*
 * Writes @text, which has a path at @path: the path is cut at its beginning, as its end says most, and the blanks
 * before it are dropped. False if that leaves it too little room.
 */
static bool put_path(size_t indent, const char *text, size_t len, size_t path, size_t width)
{
	size_t left = without_blanks(text, path), columns = columns_of(text + path, len - path);
	size_t used = indent + columns_of(text, left) + (left ? 2 : 0), room, cut = 0;

	room = width > used ? width - used : 0;
	if (room < columns && room < KEPT_TAIL)
		return false;
	if (columns > room)
		cut = bytes_of(text + path, len - path, columns - room + 1);
	emit(indent, text, left,
		cut    ? left ? "  …" : "…"
		: left ? "  "
		       : "",
		text + path + cut, len - path - cut);
	return true;
}

/* Wrapped at blanks: after @blanks the first line, after @indent the others. */
static void put_prose(const char *text, size_t len, size_t blanks, size_t indent, size_t width)
{
	while (len) {
		size_t fits = bytes_of(text, len, width - blanks), cut = fits;

		while (cut < len && cut && text[cut] != ' ')
			cut--;
		if (cut <= strspn(text, " ")) /* one long word */
			cut = fits;
		emit(blanks, text, cut, "", "", 0);
		for (text += cut, len -= cut; len && *text == ' '; text++)
			len--;
		blanks = indent;
	}
}

static bool is_prose(const char *text, size_t len)
{
	size_t blanks = 0;

	for (size_t i = 0; i < len; i++)
		blanks += text[i] == ' ';
	return blanks > 2 || memchr(text, '(', len);
}

/* A last column of words that does not fit goes to lines of its own. */
static void put_words(const char *text, size_t len, size_t last, size_t width)
{
	size_t left = without_blanks(text, last);

	if (columns_of(text, left) > width || !is_prose(text + last, len - last)) {
		emit(0, text, bytes_of(text, len, width - 1), "…", "", 0);
		return;
	}
	emit(0, text, left, "", "", 0);
	put_prose(text + last, len - last, ROW_INDENT, ROW_INDENT, width);
}

/* So does a path, with what names it; else the row is cut. */
static void put_row(const char *text, size_t len, size_t last, size_t width)
{
	size_t split;

	if (!memchr(text + last, '/', len - last) || is_prose(text + last, len - last)) {
		put_words(text, len, last, width);
		return;
	}
	if (put_path(0, text, len, last, width))
		return;
	split = first_beyond(text, len, width);
	emit(0, text, without_blanks(text, split), "", "", 0);
	if (!put_path(ROW_INDENT, text + split, len - split, last > split ? last - split : 0,
		    width))
		put_path(ROW_INDENT, text + last, len - last, 0, width);
}

/* Writes the line that has been gathered. */
static void put_line(void)
{
	size_t width = width_of(), len = terminal.used, last, indent;

	terminal.line[len] = '\0';
	indent = strspn(terminal.line, " ");
	terminal.used = 0;
	if (!width || columns_of(terminal.line, len) <= width) {
		emit(0, terminal.line, len, "", "", 0);
		return;
	}
	last = last_column(terminal.line, len);
	if (last)
		put_row(terminal.line, len, last, width);
	else
		put_prose(terminal.line, len, 0, indent < width / 2 ? indent : width / 2, width);
}

static ssize_t take(void *cookie, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n' || terminal.used == sizeof(terminal.line) - 1)
			put_line();
		if (bytes[i] != '\n')
			terminal.line[terminal.used++] = bytes[i];
	}
	return fflush(terminal.out) || ferror(terminal.out) ? 0 : (ssize_t)size;
}

FILE *terminal_open(FILE *out)
{
	const cookie_io_functions_t calls = {.write = take};
	const char *refused = getenv("NO_COLOR"), *kind = getenv("TERM");
	FILE *shown;

	if (!out || terminal.shown || fileno(out) < 0 || !isatty(fileno(out)))
		return out;
	shown = fopencookie(NULL, "w", calls);
	if (!shown)
		return out;
	terminal.shown = shown;
	terminal.out = out;
	terminal.colour = !(refused && *refused) && kind && strcmp(kind, "dumb");
	terminal.style = TERMINAL_PLAIN;
	return shown;
}

void terminal_close(FILE *shown, FILE *out)
{
	if (!shown || shown == out || shown != terminal.shown)
		return;
	fclose(shown);
	if (terminal.used)
		put_line();
	fflush(out);
	terminal.shown = NULL;
}

void terminal_style(FILE *shown, enum terminal_style style)
{
	if (!shown || shown != terminal.shown)
		return;
	fflush(shown);
	terminal.style = style;
}
