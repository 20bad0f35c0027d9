/* How far apart two words are: what was typed and what may have been meant. */
#pragma once

/*
 * Levenshtein's distance: insertions, deletions and replacements that make @a of @b, or @most + 1 if there
 * are more than @most. Of longer names the first 160 bytes count.
 */
unsigned int edit_distance(const char *a, const char *b, unsigned int most);
