/* The file beside the shim that a runtime needs to load it. */
#pragma once

#include <stddef.h>

#include "err.h"

/* Writes @text to @path for good, with the rights of whoever called sudo, unless it is there. 0 or -errno with a sentence. */
int beside_write(const char *path, const char *text, size_t size, struct err *err);
