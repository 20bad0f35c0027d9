/* The JSON contract (docs/gct-schema.md): one object a line. */
#pragma once

#include <stdio.h>

#include "pause.h"
#include "report.h"
#include "room.h"
#include "stack_table.h"
#include "summary.h"

/* Each writes one line. Writing failures are seen by ferror(@out). */
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
	const struct pause *pause, const struct report_input *input, uint64_t index, struct report_room *room);
void json_drop(FILE *out, const struct drop *drop);
void json_stall(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct stall *stall, struct report_room *room);
void json_phase(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct phase *phase);
void json_summary(FILE *out, const struct report_input *input, struct summary *summary,
	const struct report_room *room);

/* The key @key with stack @node as an array, innermost first, or with frame @frame alone; null without. */
void json_stack(FILE *out, const char *key, const struct stack_table *stacks, uint32_t node,
	struct report_room *room);
void json_frame(FILE *out, const char *key, const struct stack_table *stacks, uint32_t frame);

/* The key @key with string @id, the name of an operation, a cause or a phase: no longer than a real one. */
void json_word(FILE *out, const char *key, const struct stack_table *stacks, uint32_t id);

/*
 * What comes after the records that were written as they happened, pauses, stalls and phases: steps, drops,
 * advice, summary. 0 or -errno.
 */
int json_tail(const struct report_input *input, FILE *out, struct err *err);

/* The JSON Schema text of these records, for `gctrace schema`. */
extern const char json_schema[];
