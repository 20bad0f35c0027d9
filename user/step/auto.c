/* Choices of strands → one track for each process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "step_priv.h"

#define MAX_JOINED 256 /* threads of a process that ran one after another */

typedef int (*chooser)(struct study *study, const struct strand *strand, struct choice *ret);

/* The order of trust: what only training does, then the patterns of what others may do as well. */
static const chooser choosers[] = {choose_user, choose_dl4j, choose_graph, choose_update,
	choose_execute, choose_jit, choose_backward, choose_collective, choose_load, choose_record,
	choose_sync, choose_call};
static const chooser *const trainers_end = choosers + 7, *const choosers_end =
								 choosers + ARRAY_SIZE(choosers);

void choices_release(choices *list)
{
	for (size_t i = 0; i < list->count; i++)
		choice_release(&list->items[i]);
	vec_free(list);
}

static int try_chooser(struct study *study, const struct strand *strand, chooser choose,
	struct choice *ret)
{
	int r;

	*ret = (struct choice){.strand = strand, .regular = -1};
	r = choose(study, strand, ret);
	if (r > 0 && ret->at.count)
		return 1;
	choice_release(ret);
	return r < 0 ? r : 0;
}

/* The best of the choosers from @from to @to for @strand. 1, 0 or -ENOMEM. */
static int choose_best(struct study *study, const struct strand *strand, const chooser *from,
	const chooser *to, struct choice *ret)
{
	const chooser *few = NULL;

	for (const chooser *choose = from; choose < to; choose++) {
		int r = try_chooser(study, strand, *choose, ret);

		if (r < 0)
			return r;
		if (!r)
			continue;
		if (ret->at.count >= 3 || ret->class == CLASS_USER)
			return 1;
		/* A step or two: only if there is nothing else. */
		choice_release(ret);
		few = few ? few : choose;
	}
	return few ? try_chooser(study, strand, *few, ret) : 0;
}

static size_t trust(enum step_class class)
{
	static const enum step_class order[] = {CLASS_USER, CLASS_UPDATE, CLASS_EXECUTE, CLASS_JIT,
		CLASS_BACKWARD, CLASS_GRAPH, CLASS_COLLECTIVE, CLASS_LOAD, CLASS_RECORD, CLASS_SYNC,
		CLASS_CALL};
	size_t i = 0;

	while (i < ARRAY_SIZE(order) && order[i] != class)
		i++;
	return i;
}

/* By process; within one, the best first. */
static int compare_choices(const void *a, const void *b)
{
	const struct choice *one = a, *other = b;
	size_t trusts[2] = {trust(one->class), trust(other->class)};

	if (one->strand->process != other->strand->process)
		return one->strand->process < other->strand->process ? -1 : 1;
	if ((one->at.count < 3) != (other->at.count < 3))
		return one->at.count < 3 ? 1 : -1;
	if (trusts[0] != trusts[1])
		return trusts[0] < trusts[1] ? -1 : 1;
	if (one->at.count != other->at.count)
		return one->at.count > other->at.count ? -1 : 1;
	return (one->strand->tid > other->strand->tid) - (one->strand->tid < other->strand->tid);
}

static uint64_t first_ns(const struct choice *choice)
{
	return choice->strand->events[choice->at.items[0]].time_ns;
}

static uint64_t last_ns(const struct choice *choice)
{
	return choice->strand->events[choice->at.items[choice->at.count - 1]].time_ns;
}

/* Whether @choice ran while one of @joined did. */
static bool overlaps(const struct choice *choice, const struct choice *const *joined, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (first_ns(choice) <= last_ns(joined[i]) &&
			last_ns(choice) >= first_ns(joined[i]))
			return true;
	return false;
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *one = a, *other = b;

	return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* Adds the steps of a thread that ran at another time. */
static int join_track(struct study *study, const struct choice *choice, struct step_track *track)
{
	struct step_track more;
	size_t before = 0;
	int r = track_build(study, choice, &more);

	if (!r)
		r = vec_reserve((void **)&track->steps.items, &track->steps.capacity,
			track->steps.count + more.steps.count, sizeof(*track->steps.items));
	if (!r && more.steps.count) {
		if (track->steps.count &&
			more.steps.items[0].start_ns < track->steps.items[0].start_ns)
			before = more.steps.count;
		memcpy(track->steps.items + track->steps.count, more.steps.items,
			more.steps.count * sizeof(*more.steps.items));
		track->steps.count += more.steps.count;
		for (size_t i = 0; i < track->changes.count; i++)
			track->changes.items[i].step += before;
	}
	track_release(&more);
	return r;
}

static void settle_joined(struct step_track *track)
{
	qsort(track->steps.items, track->steps.count, sizeof(*track->steps.items), compare_steps);
	for (size_t i = 0; i + 1 < track->steps.count; i++)
		if (track->steps.items[i].end_ns > track->steps.items[i + 1].start_ns)
			track->steps.items[i].end_ns = track->steps.items[i + 1].start_ns;
}

static void mark_chosen(struct study *study, const struct strand *strand)
{
	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		symbol->chosen |= symbol->anchor;
	}
}

/* Joins, or names in a note, the other threads that show steps by the same kind of signal. */
static int other_threads(struct study *study, const struct choice *list, size_t count,
	struct step_track *track)
{
	const struct choice *joined[MAX_JOINED] = {&list[0]};
	size_t joins = 1, at_once = 0, used = 0;
	char tids[96] = "";
	int r = 0;

	for (size_t i = 1; !r && i < count; i++) {
		const struct choice *other = &list[i];

		if (other->class != list[0].class || other->at.count < 3)
			continue;
		if (joins < MAX_JOINED && !strcmp(other->signal, list[0].signal) &&
			!overlaps(other, joined, joins)) {
			joined[joins++] = other;
			mark_chosen(study, other->strand);
			r = join_track(study, other, track);
		} else if (other->at.count * 10 >= list[0].at.count && overlaps(other, joined, 1)) {
			at_once++;
			if (used + 12 < sizeof(tids))
				used += (size_t)snprintf(tids + used, sizeof(tids) - used, ", %u",
					other->strand->tid);
		}
	}
	if (joins > 1) {
		settle_joined(track);
		note_add(track->note, sizeof(track->note),
			"%zu threads ran steps one after another", joins);
	}
	if (at_once)
		note_add(track->note, sizeof(track->note),
			"%zu threads of this process run steps at once (tids %u%s): these are of "
			"the busiest",
			at_once + 1, list[0].strand->tid, tids);
	return r;
}

static int add_track(struct study *study, const struct choice *list, size_t count,
	struct steps *ret)
{
	struct step_track track;
	struct step_track *slot;
	int r;

	mark_chosen(study, list[0].strand);
	r = track_build(study, &list[0], &track);
	if (!r)
		r = other_threads(study, list, count, &track);
	slot = r ? NULL : vec_add(&ret->tracks);
	if (!slot) {
		track_release(&track);
		return -ENOMEM;
	}
	*slot = track;
	return 0;
}

static int compare_tracks(const void *a, const void *b)
{
	const struct step_track *one = a, *other = b;

	if (one->steps.count != other->steps.count)
		return one->steps.count > other->steps.count ? -1 : 1;
	return (one->process > other->process) - (one->process < other->process);
}

/* Whether some process certainly trains. */
static bool any_trains(const choices *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (CLASS_BIT(list->items[i].class) & TRAINING && list->items[i].at.count >= 3)
			return true;
	return false;
}

int tracks_add(struct study *study, choices *list, struct steps *ret)
{
	int r = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_choices);
	for (size_t i = 0, next; !r && i < list->count; i = next) {
		next = i + 1;
		while (next < list->count &&
			list->items[next].strand->process == list->items[i].strand->process)
			next++;
		r = add_track(study, &list->items[i], next - i, ret);
	}
	if (ret->tracks.count)
		qsort(ret->tracks.items, ret->tracks.count, sizeof(*ret->tracks.items),
			compare_tracks);
	return r;
}

static int choose_all(struct study *study, const chooser *from, const chooser *to, choices *list)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < study->strands.count; i++) {
		struct choice choice, *slot;

		if (!study->strands.items[i].count)
			continue;
		r = choose_best(study, &study->strands.items[i], from, to, &choice);
		if (r <= 0)
			continue;
		slot = vec_add(list);
		if (slot) {
			*slot = choice;
		} else {
			choice_release(&choice);
			r = -ENOMEM;
		}
	}
	return r < 0 ? r : 0;
}

int steps_auto(struct study *study, struct steps *ret)
{
	choices list = {};
	int r = choose_all(study, choosers, trainers_end, &list);

	/* If some process certainly trains, others are its helpers and are not looked at. */
	if (!r && !any_trains(&list)) {
		choices_release(&list);
		r = choose_all(study, choosers, choosers_end, &list);
	}
	if (!r)
		r = tracks_add(study, &list, ret);
	choices_release(&list);
	return r;
}
