/* Sentences for failures: written where the object is known, printed by cmd/. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return -code;
}

void err_prefix(struct err *err, const char *format, ...)
{
	char rest[sizeof(err->text)];
	va_list args;
	int used;

	if (!err)
		return;
	memcpy(rest, err->text, sizeof(rest));
	va_start(args, format);
	used = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (used >= 0 && (size_t)used < sizeof(err->text))
		snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %s", rest);
}
