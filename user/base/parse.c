/* Text the user typed → numbers, and durations → text. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "parse.h"

struct unit {
	const char *suffix;
	double factor;
};

/* Reads "<number><suffix>" against @units. 0 or -EINVAL. */
static int parse_scaled(const char *text, const struct unit *units, size_t count, double *ret)
{
	char *end;
	double number;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	number = strtod(text, &end);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(end, units[i].suffix)) {
			number *= units[i].factor;
			if (!(number >= 0 && number < 9e18))
				return -EINVAL;
			*ret = number;
			return 0;
		}
	return -EINVAL;
}

int parse_duration(const char *text, uint64_t *ret_ns, struct err *err)
{
	static const struct unit units[] = {
		{"", 1e9},
		{"s", 1e9},
		{"ms", 1e6},
		{"us", 1e3},
		{"µs", 1e3},
		{"ns", 1},
		{"m", 60e9},
		{"min", 60e9},
		{"h", 3600e9},
	};
	double ns;

	if (parse_scaled(text, units, ARRAY_SIZE(units), &ns))
		return err_set(err, EINVAL,
			"\"%s\" is not a duration: write 1.5s, 20ms, 50us, 3m, or a number of seconds",
			text);
	*ret_ns = (uint64_t)llround(ns);
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct err *err)
{
	static const struct unit units[] = {
		{"", 1},
		{"K", 0x1p10},
		{"M", 0x1p20},
		{"G", 0x1p30},
		{"KiB", 0x1p10},
		{"MiB", 0x1p20},
		{"GiB", 0x1p30},
	};
	double bytes;

	if (parse_scaled(text, units, ARRAY_SIZE(units), &bytes))
		return err_set(err, EINVAL,
			"\"%s\" is not a size: write 4M, 512K or a number of bytes", text);
	*ret_bytes = (uint64_t)llround(bytes);
	return 0;
}

int parse_int(const char *text, const char *what, long min, long max, long *ret, struct err *err)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || errno || value < min || value > max)
		return err_set(err, EINVAL, "\"%s\" is not %s (a whole number from %ld to %ld)",
			text, what, min, max);
	*ret = value;
	return 0;
}

const char *format_duration(uint64_t ns, char *buffer, size_t size)
{
	static const struct unit units[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t u = ns >= 999950000 ? 3 : ns >= 999950 ? 2 : ns >= 1000 ? 1 : 0;
	double value = (double)ns / units[u].factor;
	int decimals = !u ? 0 : value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;

	snprintf(buffer, size, "%.*f %s", decimals, value, units[u].suffix);
	return buffer;
}
