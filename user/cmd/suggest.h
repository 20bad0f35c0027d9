/* What a mistyped word was probably meant to be. */
#pragma once

#include <getopt.h>

struct command;

/* The name of the one of @verbs (NULL-terminated) that is nearest, or NULL if none is near. */
const char *suggest_verb(const struct command *const *verbs, const char *typed);

/* "--min-duration" for "--min-duraton=1ms" or "-min-duration", into @ret; "" if none is near. */
void suggest_option(const struct option *longs, const char *typed, char *ret, size_t size);
