/* Masks the secrets in command lines before anything keeps or shows them. */
#pragma once

#include <stddef.h>

/*
 * A copy of @cmdline (arguments separated by NUL, @len bytes) in which "***" replaces what a name
 * such as --token, DB_PASSWORD= or Authorization: marks as a secret, and the password in a URL. The
 * caller frees; NULL: no memory.
 */
char *secret_mask(const char *cmdline, size_t len, size_t *ret_len);
