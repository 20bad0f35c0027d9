/* Integers in the memory behind a descriptor of /proc/PID/mem, compared and written. */
#pragma once

#include "err.h"
#include "settings.h"

/* Whether all are as @settings says. 0, -EBUSY or -ESRCH with a sentence: subject.h. */
int settings_verify(int memory, const struct settings *settings, struct err *err);

/*
 * Writes those of @to that differ in @from, where @from still stands, and reads them back. All are tried. 0; -EBUSY:
 * one was neither, and was left alone; -ESRCH; or -errno: with a sentence.
 */
int settings_write(int memory, const struct settings *from, const struct settings *to,
	struct err *err);
