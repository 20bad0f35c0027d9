/* A code object's line table → the line of an instruction. The bytes are the target's: bounded. */
#include <stdbool.h>

#include "python_code.h"

/* 3.8, 3.9: (address increment, signed line increment) pairs. */
static uint32_t line_by_lnotab(uint32_t line, const uint8_t *table, size_t size, int32_t lasti)
{
	int32_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > lasti)
			break;
		line += (uint32_t)(int32_t)(int8_t)table[i + 1];
	}
	return line;
}

/* 3.10: (length in bytes, signed line increment) pairs; an increment of -128 means no line. */
static uint32_t line_by_pairs(uint32_t line, const uint8_t *table, size_t size, int32_t lasti)
{
	int32_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		if (step != -128)
			line += (uint32_t)(int32_t)step;
		if (lasti < end)
			return step == -128 ? 0 : line;
	}
	return 0;
}

/* A little-endian number in 6-bit digits; bit 6 says that another follows. */
static bool read_varint(const uint8_t *table, size_t size, size_t *at, uint32_t *ret)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; *at < size && shift < 32; shift += 6) {
		uint8_t digit = table[(*at)++];

		value |= (uint32_t)(digit & 63) << shift;
		if (!(digit & 64)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The line increment of the location entry of @form whose body begins at *@at; skips the body. */
static bool read_location(const uint8_t *table, size_t size, size_t *at, unsigned int form,
	int32_t *ret_step)
{
	uint32_t value, ignored;

	*ret_step = 0;
	if (form == 15) /* no location */
		return true;
	if (form >= 10 && form <= 12) { /* one line, two columns */
		*ret_step = (int32_t)form - 10;
		*at += 2;
		return true;
	}
	if (form < 10) { /* same line, short columns */
		*at += 1;
		return true;
	}
	if (!read_varint(table, size, at, &value))
		return false;
	*ret_step = value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
	if (form == 13) /* no columns */
		return true;
	return read_varint(table, size, at, &ignored) && read_varint(table, size, at, &ignored) &&
	       read_varint(table, size, at, &ignored);
}

/* 3.11+: entries of a form, a length in 2-byte units, and a body. */
static uint32_t line_by_locations(uint32_t line, const uint8_t *table, size_t size, int32_t lasti)
{
	int32_t end = 0;

	for (size_t at = 0; at < size;) {
		uint8_t head = table[at++];
		unsigned int form = head >> 3 & 15;
		int32_t step;

		if (!(head & 128) || !read_location(table, size, &at, form, &step))
			return 0;
		line += (uint32_t)step;
		end += ((head & 7) + 1) * 2;
		if (lasti < end)
			return form == 15 ? 0 : line;
	}
	return 0;
}

uint32_t python_line(int minor, uint32_t first_line, const uint8_t *table, size_t size,
	int32_t lasti)
{
	if (lasti < 0) /* not started: the definition */
		return first_line;
	if (minor <= 9)
		return line_by_lnotab(first_line, table, size, lasti);
	if (minor == 10)
		return line_by_pairs(first_line, table, size, lasti);
	return line_by_locations(first_line, table, size, lasti);
}
