/*
 * Cells of a text table: padded and cut by characters, not bytes, and safe to show on a terminal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pause.h"
#include "strtab.h"

/*
 * Right-aligned in @width columns; left-aligned in -@width. Longer text is cut with "…". No
 * separator.
 */
void cell_text(FILE *out, const char *text, int width);
void cell_bytes(FILE *out, const char *text, size_t len, int width);
void cell_count(FILE *out, uint64_t count, int width);
void cell_known(FILE *out, int64_t count, int width); /* "-" when it is UNKNOWN */
void cell_duration(FILE *out, uint64_t ns, int width);
void cell_pause(FILE *out, const struct pause *pause,
	int width); /* its length, "≥12.0 s" if no less */
void cell_string(FILE *out, const struct strtab *strings, uint32_t id,
	int width); /* "-" for id 0 */

/* "HH:MM:SS.mmm" of CLOCK_MONOTONIC @ns, in local time: 12 columns. */
void cell_time(FILE *out, const struct recording *recording, uint64_t ns);
