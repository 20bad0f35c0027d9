/* What all verbs share: options in; failures become sentences and exit statuses. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "suggest.h"

/* The usage error for an option that is not in @longs, with the nearest one that is. */
static int no_such_option(const struct command *command, const struct option *longs,
	const char *typed)
{
	char nearest[40];

	suggest_option(longs, typed, nearest, sizeof(nearest));
	return cmd_usage(command, "there is no option %s%s%s%s", typed,
		*nearest ? " (did you mean " : "", nearest, *nearest ? "?)" : "");
}

int cmd_options(const struct command *command, int argc, char **argv, const char *shorts,
	const struct option *longs, int (*take)(int option, void *arg), void *arg)
{
	const bool ends = *shorts == '+'; /* as getopt_long() wants it, first */
	char all[32];
	int option, status = EXIT_OK;

	snprintf(all, sizeof(all), "%s:%s", ends ? "+" : "", shorts + ends);
	opterr = 0;
	optind = 1;
	while (!status && (option = getopt_long(argc, argv, all, longs, NULL)) != -1) {
		if (option == ':')
			return cmd_usage(command, "%s needs a value", argv[optind - 1]);
		if (option == '?')
			return no_such_option(command, longs, argv[optind - 1]);
		status = take(option, arg);
	}
	return status;
}

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
	const bool live = !strcmp(command->name, "live"); /* what `gctrace -p PID` means */
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_error("%s; see `gctrace %s%s--help`", text, live ? "" : command->name, live ? "" : " ");
	return EXIT_USAGE;
}
