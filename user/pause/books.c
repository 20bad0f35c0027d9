/* Gaps between consecutive cumulative counts. */
#include <errno.h>
#include <stdlib.h>

#include "books.h"

void books_release(struct books *books)
{
	vec_free(&books->lines);
	u64map_release(&books->index);
}

static uint64_t key(uint32_t process, uint64_t owner)
{
	return u64_mix(owner ^ u64_mix(process));
}

static struct books_line *find(struct books *books, uint32_t process, uint64_t owner)
{
	const uint64_t *at = u64map_get(&books->index, key(process, owner));

	return at ? &books->lines.items[*at] : NULL;
}

/* NULL when memory is out: gaps of this line then go unnoticed, but its pauses are still counted. */
static struct books_line *begin(struct books *books, uint32_t process, uint64_t owner,
	const struct books_counts *counts)
{
	struct books_line *line = vec_add(&books->lines);

	if (!line)
		return NULL;
	line->process = process;
	line->owner = owner;
	line->names = counts->names;
	for (int i = 0; i < BOOKS_COUNTERS && counts->names[i]; i++)
		line->seen[i] = counts->of[i];
	if (u64map_put(&books->index, key(process, owner), books->lines.count - 1)) {
		books->lines.count--;
		return NULL;
	}
	return line;
}

/* Moves @line forward to @counts; never back: a read may be older than a pause already counted. */
static uint64_t advance(struct books_line *line, const struct books_counts *counts)
{
	uint64_t gap = 0;

	for (int i = 0; i < BOOKS_COUNTERS && line->names[i]; i++)
		if (counts->of[i] > line->seen[i]) {
			gap += counts->of[i] - line->seen[i];
			line->seen[i] = counts->of[i];
		}
	return gap;
}

/* Takes the collection that was under way at the beginning off the first gap, if there is one. */
static uint64_t forgive(struct books_line *line, uint64_t gap)
{
	bool spared = line->one_unseen && gap;

	line->one_unseen = false;
	return gap - spared;
}

bool books_open(struct books *books, uint32_t process, uint64_t owner,
	const struct books_counts *counts)
{
	return !find(books, process, owner) && begin(books, process, owner, counts);
}

uint64_t books_settle(struct books *books, uint32_t process, uint64_t owner,
	const struct books_counts *counts)
{
	struct books_line *line = find(books, process, owner);

	if (line)
		return forgive(line, advance(line, counts));
	begin(books, process, owner, counts);
	return 0;
}

uint64_t books_pause(struct books *books, uint32_t process, uint64_t owner, unsigned int counter,
	const struct books_counts *counts)
{
	struct books_line *line = find(books, process, owner);

	if (!line) {
		begin(books, process, owner, counts);
		return 0;
	}
	line->idle = false;
	if (counts->of[counter] <= line->seen[counter])
		return 0; /* a read of the books overtook this pause and counted it already */
	return forgive(line, advance(line, counts) - 1);
}

void books_count(struct books *books, uint32_t process, uint64_t owner, unsigned int counter)
{
	struct books_line *line = find(books, process, owner);

	if (line)
		line->seen[counter]++;
}

void books_expect(struct books *books, uint32_t process, uint64_t owner)
{
	struct books_line *line = find(books, process, owner);

	if (line)
		line->one_unseen = true;
}

void books_exec(struct books *books, uint32_t process)
{
	for (size_t i = 0; i < books->lines.count; i++) {
		struct books_line *line = &books->lines.items[i];

		if (line->process != process)
			continue;
		u64map_remove(&books->index, key(process, line->owner));
		line->process = 0;
	}
}

int books_fork(struct books *books, uint32_t parent, uint32_t child)
{
	size_t count = books->lines.count;

	for (size_t i = 0; i < count; i++) {
		struct books_line line = books->lines.items[i];

		if (line.process == parent &&
			!begin(books, child, line.owner,
				&(struct books_counts){line.names, line.seen}))
			return -ENOMEM;
	}
	return 0;
}

/* Keeps those lines for which @keep(@arg, line) holds. */
static void sift(struct books *books, bool (*keep)(void *arg, const struct books_line *line),
	void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < books->lines.count; i++) {
		struct books_line line = books->lines.items[i];
		uint64_t *at = u64map_get(&books->index, key(line.process, line.owner));

		if (!keep(arg, &line)) {
			if (at && *at == i)
				u64map_remove(&books->index, key(line.process, line.owner));
			continue;
		}
		if (at && *at == i)
			*at = kept;
		books->lines.items[kept++] = line;
	}
	books->lines.count = kept;
}

struct known {
	bool (*known)(void *arg, uint32_t process);
	void *arg;
};

static bool is_of_known(void *arg, const struct books_line *line)
{
	const struct known *known = arg;

	return known->known(known->arg, line->process);
}

void books_keep(struct books *books, bool (*known)(void *arg, uint32_t process), void *arg)
{
	struct known those = {known, arg};

	sift(books, is_of_known, &those);
}

#define MOST_LINES 512

static bool is_in_use(void *arg, const struct books_line *line)
{
	bool numbered = line->owner && line->owner <= INT32_MAX; /* no address is so low */

	return !numbered || !line->idle;
}

void books_turn(struct books *books)
{
	if (books->lines.count < (books->turn_at ? books->turn_at : MOST_LINES))
		return;
	sift(books, is_in_use, NULL);
	for (size_t i = 0; i < books->lines.count; i++)
		books->lines.items[i].idle = true;
	/* Less than twice as many: the next turn leaves only those that came since. */
	books->turn_at =
		books->lines.count / 2 * 3 > MOST_LINES ? books->lines.count / 2 * 3 : MOST_LINES;
}
