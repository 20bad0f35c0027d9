/*
 * Blocks of steps, in which a setting is as it is or tried. In: how long steps take and how often they are paused;
 * later the steps themselves. Out: how long blocks are; later what the setting did.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "effect.h"
#include "err.h"
#include "fulls.h"
#include "stats.h"
#include "step.h"

#define BLOCK_STEPS_LEAST 16 /* after the part that settles */
#define BLOCK_NO_PAIR	  UINT32_MAX

struct block {
	uint64_t from_ns, to_ns;
	uint32_t
		pair; /* two have the same; BLOCK_NO_PAIR: it only shows what the one before it left to do */
	bool tried; /* else the settings are as they were */
	bool cut;   /* it ended early, because memory ran short */
};

struct blocks_plan {
	uint64_t block_ns;
	uint64_t tail_ns; /* of what follows the last pair */
	uint64_t
		settle_ns; /* of each block's begin, which shows what the block before it put off */
	size_t pairs;
};

/* What blocks have to be long against; 0: not known. */
struct blocks_against {
	uint64_t step_ns;
	uint64_t period_ns; /* of pauses that matter */
	/* Of collections that promote to the oldest generation, if that matters: the first shows what the block before put off. */
	uint64_t promoting_ns;
	uint64_t tried_ns; /* of the same with what is tried, if that matters */
};

/*
 * Plans them, if the user wants @pairs (0: does not say) within @duration_ns (0: likewise). 0, or -ENOTSUP: the time is too
 * short for an answer; *@ret then has the shortest blocks that would do.
 */
int blocks_plan(const struct blocks_against *against, size_t pairs, uint64_t duration_ns,
	struct blocks_plan *ret);

/* How long all of them take. */
uint64_t blocks_total_ns(const struct blocks_plan *plan);

/* What was drawn for a pair. */
struct blocks_draw {
	bool tried_first;
	uint64_t block_ns; /* of each of the two */
};

/*
 * Lengths differ by up to a fifth from pair to pair, so that blocks do not fall into step with pauses that come at
 * regular times.
 */
struct blocks_draw blocks_draw(const struct blocks_plan *plan, struct stats_random *random);

struct blocks_result {
	size_t pairs;	    /* that count */
	size_t left_out;    /* a block of theirs had too few steps, or the one after it */
	size_t steps;	    /* in the blocks of those that count */
	struct effect step; /* ns a step; difference as a share */
	struct effect rss;  /* growth in bytes a step */
	struct {
		bool came;	    /* at least one */
		double per_step[2]; /* as it is, tried: of those that are charged */
		double ns[2];	    /* a step, on average: what is charged */
	} full;
	bool has_rss; /* every block's is known */
};

/*
 * @blocks by time, without gaps; @steps by time. A block's figure is the mean length of its steps after the first
 * @settle_ns, plus what the first @settle_ns of the next block take beyond that block's mean: work that was put off,
 * such as a collection, is charged to the block that put it off. A step that lies in two blocks belongs to each as far
 * as it lies there. (To count it in one of them would be wrong: that a block ends within a step is likelier the longer
 * the step is.) Automatic full collections are left out as they came, but for what one took beyond the usual; what its
 * setting leads to by itself is added, by @fulls. Growth is that of the part that has settled. @ret->pairs may be 0; its
 * effects say how many pairs they rest on. 0 or -ENOMEM.
 */
int blocks_judge(const struct block *blocks, size_t count, const struct step *steps,
	size_t step_count, uint64_t settle_ns, const struct fulls *fulls,
	struct blocks_result *ret);
