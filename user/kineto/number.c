/* Decimal text in, 64-bit integers out. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

/* With an exponent; what is no number is none. */
static int64_t by_double(const char *text, size_t len, double factor)
{
	char copy[64], *end;
	double value;

	if (!len || len >= sizeof(copy))
		return INT64_MIN;
	memcpy(copy, text, len);
	copy[len] = '\0';
	value = strtod(copy, &end) * factor;
	return *end || end == copy || !(fabs(value) < 0x1p62) ? INT64_MIN : llround(value);
}

/* Digits from *@at on; whether they fit. */
static bool digits(const char *text, size_t len, size_t *at, int64_t *value)
{
	for (; *at < len && isdigit((unsigned char)text[*at]); ++*at)
		if (__builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, text[*at] - '0', value))
			return false;
	return true;
}

int64_t number_thousandfold(const char *text, size_t len)
{
	bool minus = len && *text == '-';
	size_t at = minus, begin = at, places = 0;
	int64_t value = 0;

	if (!digits(text, len, &at, &value) || at == begin)
		return INT64_MIN;
	if (at < len && text[at] == '.')
		at++;
	for (; places < 3; places++) {
		bool more = at < len && isdigit((unsigned char)text[at]);

		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, more ? text[at] - '0' : 0, &value))
			return INT64_MIN;
		at += more;
	}
	value += at < len && text[at] >= '5' && text[at] <= '9' && value < INT64_MAX;
	while (at < len && isdigit((unsigned char)text[at]))
		at++;
	if (at < len)
		return by_double(text, len, 1000);
	return minus ? -value : value;
}

int64_t number_whole(const char *text, size_t len)
{
	int64_t value = 0;
	size_t at = len;
	bool minus;

	while (at && isdigit((unsigned char)text[at - 1]))
		at--;
	if (at == len || (at && text[at - 1] == '.'))
		return by_double(text, len, 1);
	minus = at == 1 && *text == '-';
	if (!digits(text, len, &at, &value))
		return INT64_MIN;
	return minus ? -value : value;
}
