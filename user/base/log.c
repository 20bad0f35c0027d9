/* The log: one line per message on stderr, with "gctrace: " before it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "utf8.h"

static enum log_level threshold = LOG_INFO;

void log_set_level(enum log_level level)
{
	threshold = level;
}

bool log_enabled(enum log_level level)
{
	return level <= threshold;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
	char line[2048], shown[3 * sizeof(line)];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* It contains names of processes, files and threads, which anybody may choose. */
	utf8_show(shown, sizeof(shown), line, strlen(line), sizeof(line));
	fprintf(stderr, "gctrace: %s%s\n", prefix[level], shown);
}
