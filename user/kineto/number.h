/* Numbers as traces write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decimal text in, its 1000-fold, rounded, out: µs → ns without a double, which cannot hold both. INT64_MIN: it is none. */
int64_t number_thousandfold(const char *text, size_t len);
/* The integer that @text is, or ends with ("stream 7"). INT64_MIN: none. */
int64_t number_whole(const char *text, size_t len);
