/*
 * Text from other processes made safe: every byte string becomes valid UTF-8 before it is stored or
 * shown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define UTF8_REPLACEMENT 0xfffdu

/*
 * Decodes the code point at @text, of which @len > 0 bytes may be read. Returns the bytes consumed;
 * a byte that begins no valid sequence is consumed alone and reads as UTF8_REPLACEMENT.
 */
size_t utf8_next(const char *text, size_t len, uint32_t *ret_point);

/* Writes @point at @ret, which has room for 4 bytes. Returns the bytes written. */
size_t utf8_put(char *ret, uint32_t point);

/*
 * Whether @text is valid UTF-8 without a NUL, so that it can be a C string and a database's text.
 */
bool utf8_valid(const char *text, size_t len);

/*
 * Copies @text with whatever is invalid, and NUL, replaced by U+FFFD; cut at a code point when
 * @size is too small, always terminated (@size > 0). 3 * len + 1 bytes always suffice. Returns the
 * length written.
 */
size_t utf8_clean(char *out, size_t size, const char *text, size_t len);

/*
 * The same for a terminal: control characters and the marks that reorder or hide text become "?"
 * and what is longer than @columns code points ends in "…". Returns the code points written.
 */
size_t utf8_show(char *out, size_t size, const char *text, size_t len, size_t columns);

/*
 * Prints @text as utf8_show() makes it, all of it: for every line that may hold a name chosen by another
 * process.
 */
void utf8_print(FILE *out, const char *text);
