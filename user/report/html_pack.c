/* Numbers → base64, bytes → JSON strings that nothing in an HTML page takes for markup. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "html_pack.h"

static void put_group(struct html_pack *pack)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits =
		(uint32_t)pack->group[0] << 16 | (uint32_t)pack->group[1] << 8 | pack->group[2];

	for (unsigned int i = 0; i < 4; i++)
		putc_unlocked(i <= pack->waiting ? digits[bits >> (18 - 6 * i) & 63] : '=',
			pack->out);
	memset(pack->group, 0, sizeof(pack->group));
	pack->waiting = 0;
}

static void put_byte(struct html_pack *pack, unsigned char byte)
{
	pack->group[pack->waiting++] = byte;
	if (pack->waiting == sizeof(pack->group))
		put_group(pack);
}

void html_pack_begin(struct html_pack *pack, FILE *out)
{
	*pack = (struct html_pack){.out = out};
	putc_unlocked('"', out);
}

void html_pack_uint(struct html_pack *pack, uint64_t value)
{
	if (value > HTML_PACK_MOST)
		value = HTML_PACK_MOST;
	for (; value >= 0x80; value >>= 7)
		put_byte(pack, (unsigned char)(value | 0x80));
	put_byte(pack, (unsigned char)value);
}

void html_pack_int(struct html_pack *pack, int64_t value)
{
	const int64_t most = (int64_t)(HTML_PACK_MOST / 2);

	if (value > most)
		value = most;
	else if (value < -most)
		value = -most;
	html_pack_uint(pack, value < 0 ? 2 * (uint64_t)-value - 1 : 2 * (uint64_t)value);
}

void html_pack_end(struct html_pack *pack)
{
	if (pack->waiting)
		put_group(pack);
	putc_unlocked('"', pack->out);
}

static uint64_t column_value(enum html_packing packing, const uint64_t *values, size_t i)
{
	return packing == HTML_RISING && i ? values[i] - values[i - 1] : values[i];
}

/* How many from @i on are the same. */
static size_t run_length(enum html_packing packing, const uint64_t *values, size_t count, size_t i)
{
	size_t length = 1;

	while (i + length < count &&
		column_value(packing, values, i + length) == column_value(packing, values, i))
		length++;
	return length;
}

static size_t packed_bytes(uint64_t value)
{
	size_t bytes = 1;

	while (value >>= 7)
		bytes++;
	return bytes;
}

static bool runs_are_shorter(enum html_packing packing, const uint64_t *values, size_t count)
{
	size_t plain = 0, runs = 0, length;

	for (size_t i = 0; i < count; i += length) {
		size_t bytes = packed_bytes(column_value(packing, values, i));

		length = run_length(packing, values, count, i);
		plain += length * bytes;
		runs += bytes + packed_bytes(length);
	}
	return runs < plain;
}

void html_column(FILE *out, bool first, const char *name, enum html_packing packing,
	const uint64_t *values, size_t count)
{
	bool runs = runs_are_shorter(packing, values, count);
	struct html_pack pack;
	size_t length = 1;

	html_key(out, first, name);
	fputs(runs ? "{\"runs\":" : "{\"plain\":", out);
	html_pack_begin(&pack, out);
	for (size_t i = 0; i < count; i += length) {
		html_pack_uint(&pack, column_value(packing, values, i));
		if (!runs)
			continue;
		length = run_length(packing, values, count, i);
		html_pack_uint(&pack, length);
	}
	html_pack_end(&pack);
	if (packing != HTML_PLAIN)
		html_bool(out, packing == HTML_RISING ? "rising" : "known", true);
	putc_unlocked('}', out);
}

void html_key(FILE *out, bool first, const char *name)
{
	fprintf(out, "%s\"%s\":", first ? "" : ",", name);
}

void html_uint(FILE *out, const char *name, uint64_t value)
{
	html_key(out, false, name);
	fprintf(out, "%" PRIu64, value);
}

void html_known(FILE *out, const char *name, int64_t value)
{
	html_key(out, false, name);
	if (value < 0)
		fputs("null", out);
	else
		fprintf(out, "%" PRId64, value);
}

void html_real(FILE *out, const char *name, double value)
{
	html_key(out, false, name);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
	else
		fputs("null", out);
}

void html_bool(FILE *out, const char *name, bool value)
{
	html_key(out, false, name);
	fputs(value ? "true" : "false", out);
}

void html_string(FILE *out, const struct flame_text *text)
{
	putc_unlocked('"', out);
	for (size_t i = 0; i < text->bytes.count; i++) {
		unsigned char c = (unsigned char)text->bytes.items[i];

		/* U+2028 and U+2029 do not come here: flame_text_clean() replaces them. */
		if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' ||
			c == '\'' || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			putc_unlocked(c, out);
	}
	putc_unlocked('"', out);
}

void html_text(FILE *out, const char *name, const char *bytes, size_t len, size_t most,
	struct flame_text *scratch)
{
	flame_text_clear(scratch);
	flame_text_clean(scratch, bytes, len, most);
	html_key(out, false, name);
	html_string(out, scratch);
}
