/*
 * The runtime's own books, compared with what the probes saw. In: its cumulative counts of collections, of
 * which it may have several, from every pause and from reads of the target. Out: how many no probe saw.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "u64map.h"
#include "vec.h"

#define BOOKS_COUNTERS 4 /* of one line, at most */

/* Counts, in the order of their counters' names, which end in NULL and outlive the books. */
struct books_counts {
	const char *const *names; /* "generation 0", … */
	const uint64_t *of;
};

#define BOOKS_PROCESS 0 /* the owner, where a process counts in one place */

/* What one process counts, or of one that counts in several places one of these: an interpreter. */
struct books_line {
	uint32_t process; /* struct process.id; 0: the line has ended */
	/* The interpreter's address; of one beside the main one its number, once that is known; or BOOKS_PROCESS. */
	uint64_t owner;
	const char *const *names;
	uint64_t seen[BOOKS_COUNTERS]; /* collections accounted for */
	bool one_unseen; /* one was under way at the start and will be counted later */
	bool idle;	 /* no pause has come since the last turn */
};

struct books {
	VEC(struct books_line) lines;
	struct u64map index;
	size_t turn_at; /* with this many lines it is time for a turn */
};

void books_release(struct books *books);

/*
 * Collections up to @counts happened before tracing: the line of this owner begins here. False, and nothing
 * changes, if it has begun already, or memory is out.
 */
bool books_open(struct books *books, uint32_t process, uint64_t owner,
	const struct books_counts *counts);

/*
 * All collections up to @counts are now accounted for. Returns how many of them neither a pause nor
 * an earlier call had accounted for: missed ones; 0 for a line that begins here.
 */
uint64_t books_settle(struct books *books, uint32_t process, uint64_t owner,
	const struct books_counts *counts);

/*
 * A pause was seen that moved @counter; @counts include it. Returns how many
 * collections lie between it and what was accounted for before: missed ones.
 */
uint64_t books_pause(struct books *books, uint32_t process, uint64_t owner, unsigned int counter,
	const struct books_counts *counts);

/* A pause was seen that moved @counter, by one, to what it does not say. */
void books_count(struct books *books, uint32_t process, uint64_t owner, unsigned int counter);

/*
 * A collection was under way when the line began: the next gap, if it comes before the next pause
 * without one, may be larger by one.
 */
void books_expect(struct books *books, uint32_t process, uint64_t owner);

/* Keeps the lines of those processes for which @known(@arg, process) holds. */
void books_keep(struct books *books, bool (*known)(void *arg, uint32_t process), void *arg);
/*
 * Once there are many lines, forgets the interpreters with a number that have not collected since the last time: nobody
 * says when one ends, and a process may begin and end them for ever. One that lives begins a new line with its next pause.
 */
void books_turn(struct books *books);
/* The process has become another program: its lines end, and the same addresses may begin new ones. */
void books_exec(struct books *books, uint32_t process);

/* A forked child begins with its parent's books. 0 or -ENOMEM. */
int books_fork(struct books *books, uint32_t parent, uint32_t child);
