/* Advice on a made-up recording: how it is asked for, looked up, read, and checked against its prediction. */
#pragma once

#include "advice.h"
#include "attrib_fixture.h"

static inline void advise(struct world *world, const struct attribution *attribution,
	struct advices *ret)
{
	struct err err = {};

	world->next = 0;
	assert_int_equal(advice_compute(attribution, world_next, world, ret, &err), 0);
}

/* FIXTURE_KINDS, of FIXTURE_KINDS_COUNT: those of the runtime whose advice is tested, from 1. */
#define ADVICE_NOTHING 0

static inline int kind_of(const struct advice *advice)
{
	long kind = advice->kind - FIXTURE_KINDS;

	if (advice->kind == &advice_nothing)
		return ADVICE_NOTHING;
	assert_in_range(kind, 1, FIXTURE_KINDS_COUNT - 1); /* no other runtime's */
	return (int)kind;
}

static inline const struct advice *find(const struct advices *advices, int kind)
{
	for (size_t i = 0; i < advices->items.count; i++)
		if (kind_of(&advices->items.items[i]) == kind)
			return &advices->items.items[i];
	return NULL;
}

static inline const struct advice *need(const struct advices *advices, int kind)
{
	const struct advice *found = find(advices, kind);

	if (!found) {
		fail_msg("%s is not advised", kind ? FIXTURE_KINDS[kind].name : "nothing");
		abort();
	}
	return found;
}

static inline void check_text(const struct advice *advice)
{
	assert_true(*advice->title && *advice->line && *advice->estimate && *advice->risk);
	assert_true(strlen(advice->estimate) < sizeof(advice->estimate) - 1);
	assert_true(strlen(advice->risk) < sizeof(advice->risk) - 1);
	assert_true(strlen(advice->title) < sizeof(advice->title) - 1);
	assert_true(strlen(advice->line) < sizeof(advice->line) - 1);
	assert_true(advice->saves_low_ns <= advice->saves_ns &&
		    advice->saves_ns <= advice->saves_high_ns);
	assert_true(!advice->worse_ns || !advice->saves_low_ns);
}

/*
 * Whether what came once @advice was followed, @left_ns of @paused_ns, is within what was promised, but for
 * @share of the latter and a millisecond.
 */
static inline bool is_kept(const char *program, const struct advice *advice, uint64_t paused_ns,
	uint64_t left_ns, double share)
{
	uint64_t slack_ns = (uint64_t)(share * (double)paused_ns) + MS;

	print_message("# %-24s %-20s %8.1f ms, promised %7.1f (%.1f to %.1f), came %7.1f\n#  %s\n# "
		      " %s\n#  %s\n#  %s\n",
		program, advice_name(advice->kind), (double)paused_ns / 1e6,
		(double)(paused_ns - advice->saves_ns) / 1e6,
		(double)(paused_ns - advice->saves_high_ns) / 1e6,
		(double)(paused_ns - advice->saves_low_ns + advice->worse_ns) / 1e6,
		(double)left_ns / 1e6, advice->title, advice->line, advice->estimate, advice->risk);
	return left_ns + slack_ns >= paused_ns - advice->saves_high_ns &&
	       left_ns <= paused_ns - advice->saves_low_ns + advice->worse_ns + slack_ns;
}
