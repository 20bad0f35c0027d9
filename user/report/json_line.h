/* One JSON object a line, key by key, straight to a FILE. Unknown values are null. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Begins the object with its "type", which decides what follows. */
void line_begin(FILE *out, const char *type);
void line_end(FILE *out);

void line_key(FILE *out, const char *key);
void line_int(FILE *out, const char *key, int64_t value);
void line_unsigned(FILE *out, const char *key, uint64_t value); /* at most INT64_MAX */
void line_known(FILE *out, const char *key, int64_t value);	/* null when UNKNOWN */
void line_real(FILE *out, const char *key, double value);	/* null when not finite */
void line_bool(FILE *out, const char *key, int value);		/* null when < 0 */
void line_null(FILE *out, const char *key);
void line_text(FILE *out, const char *key, const char *text); /* null when NULL or empty */
void line_field(FILE *out, const char *key, const char *field,
	size_t size); /* a char array; the same */

/* Values alone, for arrays. */
void line_number(FILE *out, int64_t value);
void line_string(FILE *out, const char *text, size_t len);
/* How long line_string() makes it, roughly. */
size_t line_bytes(const char *text, size_t len);
