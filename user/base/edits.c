/* Two words in, the distance between them out: one row of the matrix is kept. */
#include <stddef.h>
#include <string.h>

#include "edits.h"

#define MAX_BYTES 160 /* as long as the name of a step signal */

unsigned int edit_distance(const char *a, const char *b, unsigned int most)
{
	size_t rows = strnlen(a, MAX_BYTES), columns = strnlen(b, MAX_BYTES);
	unsigned int line[MAX_BYTES + 1], diagonal, least;

	if (rows > columns + most || columns > rows + most)
		return most + 1;
	for (size_t j = 0; j <= columns; j++)
		line[j] = (unsigned int)j;
	for (size_t i = 1; i <= rows; i++) {
		diagonal = line[0];
		line[0] = least = (unsigned int)i;
		for (size_t j = 1; j <= columns; j++) {
			unsigned int above = line[j], cost = diagonal + (a[i - 1] != b[j - 1]);

			if (above + 1 < cost)
				cost = above + 1;
			if (line[j - 1] + 1 < cost)
				cost = line[j - 1] + 1;
			diagonal = above;
			line[j] = cost;
			if (cost < least)
				least = cost;
		}
		if (least > most)
			return most + 1;
	}
	return line[columns] > most ? most + 1 : line[columns];
}
