/* Candidate step signals and their scores in; a table or JSON records out: gctrace doctor --steps. */
#pragma once

#include <stdio.h>

#include "step.h"

void step_report_text(FILE *out, const struct recording *recording, const struct steps *steps);
/* One "step_candidate" record a line. */
void step_report_json(FILE *out, const struct recording *recording, const struct steps *steps);
