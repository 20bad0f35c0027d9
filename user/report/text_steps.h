/* The parts of the text report about training steps: what pauses cost them. */
#pragma once

#include <stdio.h>

#include "report.h"

/* For each process that trains: its steps with and without pauses, what they cost, the worst steps. */
void text_steps(FILE *out, const struct report_input *input);
