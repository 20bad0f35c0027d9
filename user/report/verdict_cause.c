/* Charges of a track in; which collections they were, whose, and where they were triggered, in sentences, out. */
#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "describe.h"
#include "stats.h"
#include "verdict.h"
#include "verdict_cause.h"
#include "verdict_where.h"

#define OTHERS 0.1 /* of the time of some pauses: so much may be of another cause */
#define ALL    0.995

/* The pauses of one class, of the process itself or of its workers, that stopped steps of a track. */
struct chief {
	const struct pause_class *class; /* NULL: no pause did */
	bool worker;
	uint64_t count, ns, all, all_ns;
};

/* Classes without a rank are not told apart. */
static bool is_like(const struct pause_class *one, const struct pause_class *other)
{
	return one == other || (one->of == other->of && !one->rank && !other->rank);
}

static bool is_in(const struct charge *charge, size_t track)
{
	return charge->track == track && charge->overlap_ns;
}

static bool is_of(const struct attribution *attribution, const struct chief *chief, size_t track,
	uint32_t charge)
{
	const struct charge *one = &attribution->charges.items[charge];

	return chief->class && is_in(one, track) && one->worker == chief->worker &&
	       is_like(attrib_class(attribution, charge), chief->class);
}

/* Those that made steps slow, or if none did, those that stopped them longest. */
static struct chief find_chief(const struct attribution *attribution, size_t track)
{
	const struct pause_class *slow = attribution->tracks.items[track].slow.class;
	size_t places = 2 * attribution->classes.count;
	_cleanup_free_ struct chief *sums = calloc(places + 1, sizeof(*sums));
	struct chief chief = {};

	for (uint32_t i = 0; sums && i < attribution->charges.count; i++) {
		const struct charge *charge = &attribution->charges.items[i];
		struct chief *sum = &sums[2 * charge->class + charge->worker];

		if (!is_in(charge, track))
			continue;
		sum->class = attrib_class(attribution, i);
		sum->worker = charge->worker;
		stats_add(&sum->ns, charge->overlap_ns);
		chief.all++;
		stats_add(&chief.all_ns, charge->overlap_ns);
	}
	for (size_t i = 0; sums && i < places; i++)
		if (sums[i].ns > chief.ns && (!slow || is_like(sums[i].class, slow))) {
			chief.class = sums[i].class;
			chief.worker = sums[i].worker;
			chief.ns = sums[i].ns;
		}
	chief.ns = 0;
	for (uint32_t i = 0; i < attribution->charges.count; i++)
		if (is_of(attribution, &chief, track, i)) {
			chief.count++;
			stats_add(&chief.ns, attribution->charges.items[i].overlap_ns);
		}
	return chief;
}

/*
 * ", automatic": why they were made, of pauses that all go by generation. What is known is the time of each cause in the whole
 * recording: the others' must be too little to be much of these.
 */
static void say_why(struct prose *prose, const struct chief *chief, const struct summary *summary)
{
	uint64_t all_ns = 0;

	if (!chief->class->of->generations || summary->kinds.items.count)
		return;
	for (uint32_t i = 0; i < SUMMARY_CAUSES; i++)
		stats_add(&all_ns, summary->causes[i].total_ns);
	for (uint32_t i = 1; i < SUMMARY_CAUSES; i++)
		if ((double)(all_ns - summary->causes[i].total_ns) < OTHERS * (double)chief->ns)
			say(prose, ", %s", pause_cause_name(i));
}

void cause_say(struct prose *prose, const struct report_input *input, size_t track,
	const struct summary *summary)
{
	struct chief chief = find_chief(input->attribution, track);
	size_t at = prose->used;

	if (!chief.class)
		return;
	say(prose, "%s%s", chief.class->collections,
		chief.worker ? " of its worker processes" : "");
	say_capital(prose, at);
	say_why(prose, &chief, summary);
	if (chief.count == chief.all)
		say(prose, ": all %" PRIu64 " %s in steps.", chief.all,
			chief.all == 1 ? chief.class->of->pause : chief.class->of->pauses);
	else
		say(prose, ": %" PRIu64 " of %" PRIu64 " %s in steps, %s of their time.",
			chief.count, chief.all, chief.class->of->pauses,
			VERDICT_SHARE(chief.ns, chief.all_ns));
}

/* "92.1 % triggered in Trainer.step (train.py:41)" */
static void say_line(struct prose *prose, const struct stack_table *stacks,
	const struct where *where)
{
	if (where->line_share < ALL)
		say(prose, "%s triggered in ", DESCRIBE_SHARE(where->line_share));
	else
		say(prose, "Triggered in ");
	say_frame(prose, stacks, where->line);
}

/* "All triggered below Trainer.explore (train.py:121), 37.5 % in Game.won (train.py:45)" */
static void say_below(struct prose *prose, const struct stack_table *stacks,
	const struct where *where)
{
	if (!where->below && where->none_share >= 0.5)
		say(prose, "Mostly not known");
	else if (!where->below)
		say(prose, "Triggered in several places");
	else if (where->below_share < ALL)
		say(prose, "%s triggered below ", DESCRIBE_SHARE(where->below_share));
	else
		say(prose, "All triggered below ");
	if (where->below)
		say_frame(prose, stacks, where->below);
	say(prose, ", %s in ", DESCRIBE_SHARE(where->line_share));
	say_frame(prose, stacks, where->line);
}

static void say_place(struct prose *prose, const struct stack_table *stacks,
	const uint64_t *by_node)
{
	struct where where;

	if (where_find(stacks, by_node, &where) || !where.line)
		return;
	if (where.line_share >= 0.5)
		say_line(prose, stacks, &where);
	else
		say_below(prose, stacks, &where);
	if (where.none_share >= OTHERS)
		say(prose, "; %s have no stack", DESCRIBE_SHARE(where.none_share));
	say(prose, ".");
}

void cause_say_where(struct prose *prose, const struct report_input *input, size_t track)
{
	const struct attribution *attribution = input->attribution;
	_cleanup_free_ uint64_t *by_node = calloc(input->stacks->node_count + 1, sizeof(*by_node));
	struct chief chief = find_chief(attribution, track);

	if (!by_node)
		return;
	for (uint32_t i = 0; i < attribution->charges.count; i++) {
		const struct charge *charge = &attribution->charges.items[i];

		if (charge->stack < input->stacks->node_count &&
			is_of(attribution, &chief, track, i))
			stats_add(&by_node[charge->stack], charge->overlap_ns);
	}
	say_place(prose, input->stacks, by_node);
}

void cause_say_all_where(struct prose *prose, const struct report_input *input,
	const struct summary *summary)
{
	const struct stack_table *stacks = input->stacks;
	_cleanup_free_ uint64_t *by_node = calloc(stacks->node_count + 1, sizeof(*by_node));

	for (size_t i = STACK_NONE; by_node && i < summary->stacks.count && i < stacks->node_count;
		i++)
		by_node[i] = summary->stacks.items[i].total_ns;
	if (by_node)
		say_place(prose, stacks, by_node);
}
