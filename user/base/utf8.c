/* Byte strings → valid UTF-8, for the store, for JSON and for a terminal. */
#include <string.h>

#include "utf8.h"

/*
 * Length of the sequence that @lead begins, and the range its second byte must be in (Unicode,
 * table 3-7).
 */
static size_t sequence(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

size_t utf8_next(const char *text, size_t len, uint32_t *ret_point)
{
	const unsigned char *byte = (const unsigned char *)text;
	unsigned char low, high;
	size_t need;
	uint32_t point;

	*ret_point = byte[0];
	if (byte[0] < 0x80)
		return 1;
	*ret_point = UTF8_REPLACEMENT;
	need = sequence(byte[0], &low, &high);
	if (!need || need > len || byte[1] < low || byte[1] > high)
		return 1;
	point = byte[0] & (0xffu >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 1;
		point = point << 6 | (byte[i] & 0x3f);
	}
	*ret_point = point;
	return need;
}

size_t utf8_put(char *ret, uint32_t point)
{
	if (point < 0x80) {
		ret[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		ret[0] = (char)(0xc0 | point >> 6);
		ret[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		ret[0] = (char)(0xe0 | point >> 12);
		ret[1] = (char)(0x80 | (point >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | point >> 18);
	ret[1] = (char)(0x80 | (point >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (point >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

bool utf8_valid(const char *text, size_t len)
{
	uint32_t point;

	for (size_t at = 0; at < len;) {
		size_t used = utf8_next(text + at, len - at, &point);

		if (!point || (point == UTF8_REPLACEMENT && used == 1))
			return false;
		at += used;
	}
	return true;
}

size_t utf8_clean(char *out, size_t size, const char *text, size_t len)
{
	size_t written = 0;

	for (size_t at = 0; at < len;) {
		char bytes[4];
		uint32_t point;
		size_t need;

		at += utf8_next(text + at, len - at, &point);
		need = utf8_put(bytes, point ? point : UTF8_REPLACEMENT);
		if (written + need >= size)
			break;
		memcpy(out + written, bytes, need);
		written += need;
	}
	out[written] = '\0';
	return written;
}

/* Whether showing @point could move the cursor, reorder the line or hide what follows. */
static bool unsafe(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad || point == 0x61c ||
	       (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
	       (point >= 0xe0000 && point <= 0xe0fff);
}

size_t utf8_show(char *out, size_t size, const char *text, size_t len, size_t columns)
{
	size_t written = 0, shown = 0;
	size_t cut = 0, cut_shown = 0; /* where "…" goes if the text turns out too long */
	uint32_t point;

	for (size_t at = 0; at < len; shown++) {
		char bytes[4];
		size_t need;

		at += utf8_next(text + at, len - at, &point);
		need = utf8_put(bytes, unsafe(point) ? '?' : point);
		if (shown == columns || written + need >= size) {
			bool room = columns && cut + sizeof("…") <= size;

			memcpy(out + cut, "…", room ? sizeof("…") : 0);
			out[room ? cut + sizeof("…") - 1 : cut] = '\0';
			return cut_shown + room;
		}
		if (written + sizeof("…") <= size) {
			cut = written;
			cut_shown = shown;
		}
		memcpy(out + written, bytes, need);
		written += need;
	}
	out[written] = '\0';
	return shown;
}

void utf8_print(FILE *out, const char *text)
{
	size_t len = strlen(text);
	uint32_t point;

	for (size_t at = 0; at < len;) {
		char bytes[4];

		at += utf8_next(text + at, len - at, &point);
		fwrite(bytes, 1, utf8_put(bytes, unsafe(point) ? '?' : point), out);
	}
}
