/*
 * Tests of what only one runtime has are skipped in a build that leaves it out (-Druntimes=…); the others of their
 * file run.
 */
#pragma once

#include <string.h>

#include "meaning.h"

#define NEEDS(runtime)                                                                             \
	do {                                                                                       \
		if (strcmp(meaning_of(runtime)->kind, runtime))                                    \
			skip();                                                                    \
	} while (0)
