/* How far apart two words are: one that was typed and one that may have been meant. */
#pragma once

/*
 * Levenshtein's distance: how many insertions, deletions and replacements turn @b into @a, or @most
 * + 1 if it takes more than @most. Of longer names only the first 160 bytes count.
 */
unsigned int edit_distance(const char *a, const char *b, unsigned int most);
