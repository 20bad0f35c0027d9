/* How a condition of tracing is answered, and read from a file of the kernel's. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "kernel_priv.h"

void kernel_answer(struct kernel_check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(check->answer, sizeof(check->answer), format, args);
	va_end(args);
}

void kernel_refuse(struct kernel_check *check, int error, const char *format, ...)
{
	va_list args;

	check->good = false;
	check->fatal = error;
	check->error = error;
	va_start(args, format);
	vsnprintf(check->remedy, sizeof(check->remedy), format, args);
	va_end(args);
}

bool kernel_read_line(const char *path, const char *key, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *stream = fopen(path, "re");
	char line[256];

	while (stream && fgets(line, sizeof(line), stream))
		if (!strncmp(line, key, strlen(key))) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(ret, size, "%s", line + strlen(key));
			return true;
		}
	return false;
}
