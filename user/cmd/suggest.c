/* A word that is not a verb or option in; the nearest one that is out. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "edits.h"
#include "suggest.h"

#define TYPED_BYTES 32

/* Letters that may be wrong in a word of this length; two that are swapped count as two. */
static unsigned int tolerance(const char *typed)
{
	return strlen(typed) < 4 ? 1 : 2;
}

const char *suggest_verb(const struct command *const *verbs, const char *typed)
{
	unsigned int least = tolerance(typed) + 1;
	const char *nearest = NULL;

	for (size_t i = 1; verbs[i]; i++) {
		unsigned int far = edit_distance(typed, verbs[i]->name, least);

		if (far < least) {
			least = far;
			nearest = verbs[i]->name;
		}
	}
	return nearest;
}

void suggest_option(const struct option *longs, const char *typed, char *ret, size_t size)
{
	size_t dashes = strspn(typed, "-");
	unsigned int least;
	char word[TYPED_BYTES];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed + dashes, "="), typed + dashes);
	least = tolerance(word) + 1;
	*ret = '\0';
	if (!dashes || strlen(word) < 2)
		return;
	for (; longs->name; longs++) {
		unsigned int far = edit_distance(word, longs->name, least);

		if (far < least) {
			least = far;
			snprintf(ret, size, "--%s", longs->name);
		}
	}
}
