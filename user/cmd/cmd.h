/* Verbs. The only room that reads options and prints errors. */
#pragma once

#include <getopt.h>

#include "err.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BLIND = 3,	     /* nothing could be traced, or a budget could not be judged */
	EXIT_INCOMPLETE = 4, /* traced but incomplete, or untold, where a verdict was asked for */
	EXIT_BREACH = 99,    /* a budget is broken, or a comparison shows a regression */
};

struct command {
	const char *name;
	const char *summary;		   /* one line for --help */
	const char *usage;		   /* the whole help of the verb */
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns an enum exit_status */
};

/* NULL-terminated. The first, "live", is what `gctrace -p PID` means. */
extern const struct command *const commands[];
extern const struct command cmd_live, cmd_run, cmd_record, cmd_report, cmd_check, cmd_diff,
	cmd_trial, cmd_doctor, cmd_schema, cmd_version;

/*
 * Passes each option of @longs (and @shorts, as for getopt_long, without the leading ":") to @take,
 * which returns an exit status; prints an error for an unknown option or a missing value. With "+"
 * before @shorts the first operand ends the options. Operands begin at optind.
 */
int cmd_options(const struct command *command, int argc, char **argv, const char *shorts,
	const struct option *longs, int (*take)(int option, void *arg), void *arg);

/* Prints the one sentence of a failure (or strerror(-@error)): EXIT_FAILED. */
int cmd_fail(int error, const struct err *err);

/* The same where nothing could be traced: EXIT_BLIND. */
int cmd_blind(const struct err *err);

/* "gctrace VERB: …, see `gctrace VERB --help`": EXIT_USAGE. */
int cmd_usage(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
