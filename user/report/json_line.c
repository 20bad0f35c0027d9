/*
 * Keys and values in, JSON text out. Numbers are written here, any string that is not plain goes
 * through json-c.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_line.h"
#include "utf8.h"

void line_begin(FILE *out, const char *type)
{
	fputs_unlocked("{\"type\":\"", out);
	fputs_unlocked(type, out);
	putc_unlocked('"', out);
}

void line_end(FILE *out)
{
	fputs_unlocked("}\n", out);
}

void line_key(FILE *out, const char *key)
{
	fputs_unlocked(",\"", out);
	fputs_unlocked(key, out);
	fputs_unlocked("\":", out);
}

void line_number(FILE *out, int64_t value)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		digits[--at] = '-';
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, out);
}

void line_int(FILE *out, const char *key, int64_t value)
{
	line_key(out, key);
	line_number(out, value);
}

void line_unsigned(FILE *out, const char *key, uint64_t value)
{
	line_int(out, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void line_null(FILE *out, const char *key)
{
	line_key(out, key);
	fputs_unlocked("null", out);
}

void line_known(FILE *out, const char *key, int64_t value)
{
	if (value < 0)
		line_null(out, key);
	else
		line_int(out, key, value);
}

void line_real(FILE *out, const char *key, double value)
{
	line_key(out, key);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
	else
		fputs_unlocked("null", out);
}

void line_bool(FILE *out, const char *key, int value)
{
	line_key(out, key);
	fputs_unlocked(value < 0 ? "null" : value ? "true" : "false", out);
}

/* Letters that JSON takes as they are. */
static int is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			return 0;
	}
	return 1;
}

/* JSON allows DEL and the controls U+0080 to U+009F as they are; a terminal would obey them. */
static void put_escaped(FILE *out, const char *json)
{
	for (; *json; json++) {
		const unsigned char *byte = (const unsigned char *)json;

		if (*byte == 0x7f) {
			fputs_unlocked("\\u007f", out);
		} else if (*byte == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0) {
			fprintf(out, "\\u%04x", byte[1]);
			json++;
		} else {
			putc_unlocked(*json, out);
		}
	}
}

size_t line_bytes(const char *text, size_t len)
{
	size_t bytes = len;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		bytes += c < ' ' || c == 0x7f || c == 0xc2 ? 5 : c == '"' || c == '\\';
	}
	return bytes;
}

void line_string(FILE *out, const char *text, size_t len)
{
	_cleanup_free_ char *clean = NULL;
	struct json_object *object;

	if (is_plain(text, len)) {
		putc_unlocked('"', out);
		fwrite_unlocked(text, 1, len, out);
		putc_unlocked('"', out);
		return;
	}
	clean = malloc(3 * len + 1);
	len = clean ? utf8_clean(clean, 3 * len + 1, text, len) : 0;
	object = len ? json_object_new_string_len(clean, (int)len) : NULL;
	put_escaped(out, object ? json_object_to_json_string_ext(object,
					  JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
				: "\"[out of memory]\"");
	json_object_put(object);
}

void line_field(FILE *out, const char *key, const char *field, size_t size)
{
	size_t len = strnlen(field, size);

	if (!len) {
		line_null(out, key);
		return;
	}
	line_key(out, key);
	line_string(out, field, len);
}

void line_text(FILE *out, const char *key, const char *text)
{
	line_field(out, key, text ? text : "", text ? strlen(text) : 0);
}
