/* The verbs' registry, and the one place where failures become sentences and statuses. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"

const struct command *const commands[] = {
	&cmd_live, &cmd_run, &cmd_record, &cmd_report, &cmd_check, &cmd_diff,
	&cmd_doctor, &cmd_schema, NULL,
};

int cmd_fail(int error, const struct err *err)
{
	log_error("%s", err && err->text[0] ? err->text : strerror(-error));
	return EXIT_FAILED;
}

int cmd_blind(const struct err *err)
{
	log_error("%s", err->text);
	return EXIT_BLIND;
}

int cmd_usage(const struct command *command, const char *format, ...)
{
	const bool live = command == &cmd_live;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_error("%s; see `gctrace %s%s--help`", text, live ? "" : command->name, live ? "" : " ");
	return EXIT_USAGE;
}
