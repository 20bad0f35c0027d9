/*
 * What the data block of the HTML page is written with. In: numbers, and bytes from other processes. Out: JSON
 * that is inert inside a <script> element: no character in it can end the element or begin another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "flame_text.h"

/* Numbers as LEB128 bytes in base64, straight to a FILE as one JSON string. */
struct html_pack {
	FILE *out;
	unsigned char group[3]; /* bytes that are not written yet */
	unsigned int waiting;
};

/* The largest integer up to which a double holds all exactly; greater ones are clamped to it. */
#define HTML_PACK_MOST ((1ull << 53) - 1)

void html_pack_begin(struct html_pack *pack, FILE *out);
void html_pack_uint(struct html_pack *pack, uint64_t value);
void html_pack_int(struct html_pack *pack, int64_t value); /* zigzag: small magnitudes are short */
void html_pack_end(struct html_pack *pack);

/*
 * A column of numbers: "name":{"plain":"…"}, or where that is shorter {"runs":"…"}: a number, how often it occurs in a
 * row, and so on. Beside them stands how to read the numbers: "rising": each is the difference to the one before
 * (@values rise); "known": each is one more than its value, and 0 means not known.
 */
enum html_packing { HTML_PLAIN, HTML_RISING, HTML_KNOWN };
void html_column(FILE *out, bool first, const char *name, enum html_packing packing,
	const uint64_t *values, size_t count);

/* Nearest microsecond. */
static inline uint64_t html_us(uint64_t ns)
{
	return ns / 1000 + (ns % 1000 >= 500);
}

/* "name":, after a comma unless it is the first of its object. */
void html_key(FILE *out, bool first, const char *name);
void html_uint(FILE *out, const char *name, uint64_t value); /* ,"name":value */
void html_known(FILE *out, const char *name, int64_t value); /* null when negative */
void html_real(FILE *out, const char *name, double value);   /* null when it is not finite */
void html_bool(FILE *out, const char *name, bool value);

/* A JSON string of @text, which flame_text_clean() and its like have made showable. */
void html_string(FILE *out, const struct flame_text *text);
/* ,"name":"…" of @len bytes made showable, cut after @most characters (0: none); @scratch is overwritten. */
void html_text(FILE *out, const char *name, const char *bytes, size_t len, size_t most,
	struct flame_text *scratch);
