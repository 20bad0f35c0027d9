/* The verbs' registry. */
#include <stddef.h>

#include "cmd.h"

const struct command *const commands[] = {
	&cmd_live,
	&cmd_run,
	&cmd_record,
	&cmd_report,
	&cmd_check,
	&cmd_diff,
	&cmd_trial,
	&cmd_doctor,
	&cmd_schema,
	&cmd_version,
	NULL,
};
