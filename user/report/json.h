/* The JSON contract (docs/gct-schema.md): one object a line. */
#pragma once

#include <stdio.h>

#include "json_waits.h"
#include "pause.h"
#include "report.h"
#include "room.h"
#include "stack_table.h"

/* Each writes one line. ferror(@out) says whether writing failed. */
void json_recording(FILE *out, const struct recording *recording);
/* A process record: of a process in which no runtime was found, or of one runtime in its process. */
void json_process(FILE *out, const struct process *process, struct report_room *room);
void json_runtime(FILE *out, const struct recording *recording, const struct runtime *runtime,
	struct report_room *room);
/*
 * @input and @index: of the report it is part of, the pause's number from 0; NULL: not attributed (yet). @room: of the
 * report; NULL: of a live session.
 */
void json_pause(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, const struct report_input *input, uint64_t index,
	struct report_room *room);
void json_drop(FILE *out, const struct drop *drop);

/*
 * The rest, after the records of pauses, stalls and phases, which were written as they happened: steps, drops, advice,
 * summary. 0 or -errno.
 */
int json_tail(const struct report_input *input, FILE *out, struct err *err);

/* The JSON Schema text of these records, for `gctrace schema`. */
extern const char json_schema[];
