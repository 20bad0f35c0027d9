/* A pause that has not ended yet, as live mode shows it. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "pause.h"

void running_text(FILE *out, const struct recording *recording, uint32_t pid, uint64_t start_ns,
	uint64_t now_ns);
/* @tid 0: not known. */
void running_json(FILE *out, uint32_t pid, uint32_t tid, uint64_t start_ns, uint64_t now_ns);
