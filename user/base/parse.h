/* Text the user typed → numbers, and numbers → text a user reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* "1.5s", "20ms", "50us", "3m", "100ns"; a bare number is seconds. 0 or -EINVAL with a sentence. */
int parse_duration(const char *text, uint64_t *ret_ns, struct err *err);

/* "4M", "512K", "65536", powers of 1024. 0 or -EINVAL with a sentence. */
int parse_size(const char *text, uint64_t *ret_bytes, struct err *err);

/* A decimal integer in [min, max]; @what names it in the sentence. 0 or -EINVAL. */
int parse_int(const char *text, const char *what, long min, long max, long *ret, struct err *err);

/* "1.234 ms": four significant digits and the unit that suits. Returns @buffer. */
const char *format_duration(uint64_t ns, char *buffer, size_t size);
#define FORMAT_DURATION(ns) format_duration((ns), (char[32]){0}, 32)
