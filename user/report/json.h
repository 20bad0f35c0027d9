/* The JSON contract (docs/gct-schema.md): one object a line. */
#pragma once

#include <stdio.h>

#include "pause.h"
#include "stack_table.h"
#include "summary.h"

/* Each writes one line. Writing failures are seen by ferror(@out). */
void json_recording(FILE *out, const struct recording *recording);
/* A process record: of a process in which no runtime was found, or of one runtime in its process. */
void json_process(FILE *out, const struct process *process);
void json_runtime(FILE *out, const struct recording *recording, const struct runtime *runtime);
void json_pause(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause);
void json_drop(FILE *out, const struct drop *drop);
void json_summary(FILE *out, const struct recording *recording, struct summary *summary);

/* The JSON Schema text of these records, for `gctrace schema`. */
extern const char json_schema[];
