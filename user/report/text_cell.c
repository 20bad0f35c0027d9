/* Numbers and hostile strings in, table cells out. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "parse.h"
#include "runtime_words.h"
#include "text_cell.h"
#include "utf8.h"

#define CELL_COLUMNS 160

void cell_bytes(FILE *out, const char *text, size_t len, int width)
{
	char shown[4 * CELL_COLUMNS + 1];
	size_t columns = width < 0 ? (size_t)-width : (size_t)width;
	size_t used;
	int pad;

	if (columns > CELL_COLUMNS)
		columns = CELL_COLUMNS;
	used = utf8_show(shown, sizeof(shown), text, len, columns);
	pad = (int)(columns - used);
	if (width > 0)
		fprintf(out, "%*s%s", pad, "", shown);
	else
		fprintf(out, "%s%*s", shown, pad, "");
}

void cell_text(FILE *out, const char *text, int width)
{
	cell_bytes(out, text, strlen(text), width);
}

void cell_count(FILE *out, uint64_t count, int width)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	cell_text(out, text, width);
}

void cell_known(FILE *out, int64_t count, int width)
{
	if (count < 0)
		cell_text(out, "-", width);
	else
		cell_count(out, (uint64_t)count, width);
}

void cell_duration(FILE *out, uint64_t ns, int width)
{
	cell_text(out, FORMAT_DURATION(ns), width);
}

void cell_pause(FILE *out, const struct pause *pause, int width)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%s", pause_is_open(pause) ? "≥" : "",
		FORMAT_DURATION(pause_duration(pause)));
	cell_text(out, text, width);
}

void cell_string(FILE *out, const struct strtab *strings, uint32_t id, int width)
{
	if (id)
		cell_bytes(out, strtab_get(strings, id), strtab_len(strings, id), width);
	else
		cell_text(out, "-", width);
}

void cell_time(FILE *out, const struct recording *recording, uint64_t ns)
{
	cell_text(out, WORDS_TIME(recording, ns), -12);
}
