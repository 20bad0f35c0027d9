/* A trial, turn by turn: first watched, then in blocks that a coin decided, then as it was. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "mem.h"
#include "parse.h"
#include "trial_priv.h"

#define LOOK_NS	      500000000ull /* between two looks for steps */
#define WATCH_NS      5000000000ull
#define WATCH_MOST_NS 15000000000ull /* while full collections are too rare to have a period */
#define GIVE_UP_NS    60000000000ull /* without steps */
#define SAY_NS	      5000000000ull
#define NS_PER_S      1000000000ull
#define WATCH_STEPS   64
#define WATCH_SHARE                                                                                \
	5 /* of the time given: a fifth is spent on watching, half on looking for steps */

static uint64_t at_most(uint64_t ns, uint64_t duration_ns, uint64_t share)
{
	return duration_ns && duration_ns / share < ns ? duration_ns / share : ns;
}

int trial_find_steps(struct trial *trial, uint64_t end_ns, const struct step_track **ret,
	struct err *err)
{
	const struct recording *recording = trace_recording(trial->trace);
	const struct step_track *track = NULL;
	int r;

	steps_release(&trial->steps);
	trial->steps = (struct steps){};
	r = steps_find(recording, &trial->marks, end_ns, &trial->options->capture.step,
		&trial->steps, err);
	if (r && r != -ENOENT)
		return r;
	for (size_t i = 0; !r && i < recording->processes.count; i++)
		if (recording->processes.items[i].pid == trial->pid)
			track = steps_track(&trial->steps, recording->processes.items[i].id);
	*ret = track;
	return 0;
}

/* How often the pauses come that matter: full ones if there were several, else all. 0: not known. */
static uint64_t period_of(const struct trial *trial, bool full)
{
	uint64_t first_ns = 0, last_ns = 0, count = 0;

	for (size_t i = 0; i < trial->pauses.count; i++) {
		const struct fulls_collection *pause = &trial->pauses.items[i];

		if (full && !pause->full)
			continue;
		first_ns = count++ ? first_ns : pause->start_ns;
		last_ns = pause->start_ns;
	}
	return count > 1 ? (last_ns - first_ns) / (count - 1) : 0;
}

/* That what was probed is what the runtime counts by: its own books have agreed. 0 or -errno. */
static int check_books(const struct trial *trial, struct err *err)
{
	const struct recording *recording = trace_recording(trial->trace);

	if (!trial->pauses.count)
		return err_set(err, ENODATA,
			"there was no collection in %s: settings of the collector would change nothing",
			FORMAT_DURATION(now_ns() - trial->start_ns));
	for (size_t i = 0; i < recording->runtimes.count; i++)
		if (recording->runtimes.items[i].missed)
			return err_set(err, EPROTO,
				"the runtime counts collections that no probe saw: no trial of what is not understood");
	return 0;
}

/* The settings that are due now, if they are not yet. 0 or -errno with a sentence. */
static int apply(struct trial *trial, bool tried, struct err *err)
{
	if (tried == trial->subject.undo.state->changed)
		return 0;
	return tried ? subject_change(&trial->subject, err) : subject_restore(&trial->subject, err);
}

static int add_block(struct trial *trial, uint32_t pair, bool tried, struct err *err)
{
	int r = apply(trial, tried, err);
	uint64_t now = now_ns();
	struct block *block;

	if (trial->blocks.count)
		trial->blocks.items[trial->blocks.count - 1].to_ns = now;
	block = r ? NULL : vec_add(&trial->blocks);
	if (!block)
		return r ? r : err_set(err, ENOMEM, "out of memory");
	*block = (struct block){.from_ns = now, .pair = pair, .tried = tried};
	return 0;
}

static void say_block(struct trial *trial, uint32_t pair, bool second, uint64_t now)
{
	if (now < trial->said_ns + SAY_NS)
		return;
	trial->said_ns = now;
	log_info("block %u of %zu", 2 * pair + second + 1, 2 * trial->plan.pairs);
}

/* @index: of the next block, of all in pairs. Two of a pair differ; which comes first is drawn. */
static int next_block(struct trial *trial, size_t index, struct err *err)
{
	uint32_t pair = (uint32_t)(index / 2);

	say_block(trial, pair, index % 2, now_ns());
	if (index % 2 == 0)
		trial->draw = blocks_draw(&trial->plan, &trial->random);
	trial->next_ns += trial->draw.block_ns;
	return add_block(trial, pair, trial->draw.tried_first != index % 2, err);
}

/* The mean: of steps that pause often, half may take much longer than the median. */
static uint64_t step_ns_of(const struct step_track *track)
{
	uint64_t total_ns = 0;

	for (size_t i = 0; i < track->steps.count; i++)
		stats_add(&total_ns, step_duration(&track->steps.items[i]));
	return total_ns / track->steps.count;
}

static bool had_full(const struct trial *trial)
{
	for (size_t i = 0; i < trial->pauses.count; i++)
		if (trial->pauses.items[i].full)
			return true;
	return false;
}

/* Where a full collection came, they matter, and with them what leads to one. */
static struct blocks_against against_of(const struct trial *trial, const struct step_track *track)
{
	const struct subject *subject = &trial->subject;
	const struct settings_ops *ops = subject->plan->ops->settings;
	const struct settings_pace is = ops->pace(&subject->as_it_is),
				   tried = ops->pace(&subject->tried);
	uint64_t full_ns = period_of(trial, true), any_ns = period_of(trial, false);
	const double object_ns = had_full(trial) ? (double)any_ns / is.made : 0;

	return (struct blocks_against){
		.step_ns = step_ns_of(track),
		.period_ns = full_ns ? full_ns : any_ns,
		.promoting_ns = stats_whole(is.promotes * is.made * object_ns),
		.tried_ns = tried.on ? stats_whole(tried.promotes * tried.made * object_ns) : 0,
	};
}

/* As long as it would have to be, with what is spent on watching: in whole seconds. */
static unsigned long long enough_s(const struct blocks_plan *plan)
{
	uint64_t total_ns = blocks_total_ns(plan), watch_ns = total_ns / (WATCH_SHARE - 1);

	watch_ns = (watch_ns < WATCH_MOST_NS ? watch_ns : WATCH_MOST_NS) + LOOK_NS;
	return (total_ns + watch_ns + NS_PER_S - 1) / NS_PER_S;
}

static int too_short(const struct blocks_plan *plan, const struct blocks_against *against,
	uint64_t duration_ns, struct err *err)
{
	const bool promoting = against->promoting_ns;

	return err_set(err, ENOTSUP,
		"-d %s is too short for %zu blocks of %s, as a step takes %s%s%s; -d %llus would do",
		FORMAT_DURATION(duration_ns), 2 * plan->pairs, FORMAT_DURATION(plan->block_ns),
		FORMAT_DURATION(against->step_ns),
		promoting ? " and collections that promote to the oldest generation come every "
			  : "",
		promoting ? FORMAT_DURATION(against->promoting_ns) : "", enough_s(plan));
}

static int begin_blocks(struct trial *trial, const struct step_track *track, uint64_t now,
	struct err *err)
{
	const struct blocks_against against = against_of(trial, track);
	uint64_t duration_ns = trial->options->capture.duration_ns;
	uint64_t spent_ns = now - trial->start_ns;
	char was[96], is[96];
	int r = check_books(trial, err);

	if (!r && blocks_plan(&against, trial->options->pairs,
			  duration_ns ? (duration_ns > spent_ns ? duration_ns - spent_ns : 1) : 0,
			  &trial->plan))
		r = too_short(&trial->plan, &against, duration_ns, err);
	if (r)
		return r;
	trial->rss_before = trial->rss_peak = trial_rss(trial->pid);
	trial->rss_limit = trial_rss_limit(trial->rss_before, trial->options->max_rss);
	log_info("steps: %s, of %s", track->signal, FORMAT_DURATION(against.step_ns));
	log_info("as it is: %s; tried: %s",
		subject_describe(&trial->subject, &trial->subject.as_it_is, was, sizeof(was)),
		subject_describe(&trial->subject, &trial->subject.tried, is, sizeof(is)));
	log_info("%zu blocks of %s, in all %s; Ctrl-C ends it and puts the settings back",
		2 * trial->plan.pairs, FORMAT_DURATION(trial->plan.block_ns),
		FORMAT_DURATION(blocks_total_ns(&trial->plan)));
	trial->phase = TRIAL_BLOCKS;
	trial->next_ns = trial->said_ns = now;
	return next_block(trial, 0, err);
}

static int watch(struct trial *trial, uint64_t now, struct err *err)
{
	const uint64_t duration_ns = trial->options->capture.duration_ns;
	const uint64_t most_ns = at_most(WATCH_MOST_NS, duration_ns, WATCH_SHARE);
	const uint64_t watched_ns = now - trial->start_ns;
	const struct step_track *track;
	int r;

	if (now < trial->look_ns)
		return 0;
	trial->look_ns = now + LOOK_NS;
	if (watched_ns < at_most(WATCH_NS, duration_ns, WATCH_SHARE) ||
		(!period_of(trial, true) && watched_ns < most_ns))
		return 0;
	r = trial_find_steps(trial, now, &track, err);
	if (r)
		return r;
	if (track && track->steps.count >= WATCH_STEPS && track->confidence >= STEP_CONFIDENT)
		return begin_blocks(trial, track, now, err);
	if (watched_ns < at_most(GIVE_UP_NS, duration_ns, 2))
		return 0;
	return err_set(err, ENODATA,
		"no %d steps were found in process %d in %s%s%s; gctrace doctor --steps -p %d shows what --step "
		"could name",
		WATCH_STEPS, trial->pid, FORMAT_DURATION(watched_ns),
		*trial->steps.note ? ": " : "", trial->steps.note, trial->pid);
}

/* Memory has run short: what is tried or not ends here, and the rest of the block is as it was. */
static int cut(struct trial *trial, uint64_t rss, struct err *err)
{
	struct block *block = &trial->blocks.items[trial->blocks.count - 1];

	if (block->cut || block->pair == BLOCK_NO_PAIR)
		return 0;
	block->cut = true;
	log_info("the process has %llu MiB: this block ends early (--max-rss)",
		(unsigned long long)(rss >> 20));
	return add_block(trial, BLOCK_NO_PAIR, false, err);
}

static size_t drawn(const struct trial *trial)
{
	size_t count = 0;

	for (size_t i = 0; i < trial->blocks.count; i++)
		count += trial->blocks.items[i].pair != BLOCK_NO_PAIR;
	return count;
}

static int run_blocks(struct trial *trial, uint64_t now, struct err *err)
{
	uint64_t rss = trial_rss(trial->pid);
	size_t index = drawn(trial);
	int r = subject_check(&trial->subject, err);

	if (!r && !watcher_lives(&trial->watcher))
		r = err_set(err, ECHILD,
			"the watcher, which would put the settings back, was killed");
	if (r)
		return r;
	trial->rss_peak = rss > trial->rss_peak ? rss : trial->rss_peak;
	if (rss > trial->rss_limit && trial->phase == TRIAL_BLOCKS) {
		if (now >= trial->next_ns)
			return err_set(err, ENOMEM,
				"the process keeps %llu MiB, which is more than --max-rss allows (%llu MiB)",
				(unsigned long long)(rss >> 20),
				(unsigned long long)(trial->rss_limit >> 20));
		return cut(trial, rss, err);
	}
	if (now < trial->next_ns)
		return 0;
	if (trial->phase == TRIAL_TAIL) {
		trial->stop = true;
		return 0;
	}
	if (index < 2 * trial->plan.pairs)
		return next_block(trial, index, err);
	trial->phase = TRIAL_TAIL;
	trial->next_ns = now + trial->plan.tail_ns;
	return add_block(trial, BLOCK_NO_PAIR, false, err);
}

int trial_turn(struct trial *trial, uint64_t now, struct err *err)
{
	return trial->phase == TRIAL_WATCH ? watch(trial, now, err) : run_blocks(trial, now, err);
}

void trial_end(struct trial *trial, uint64_t now)
{
	struct err err = {};
	int r = subject_restore(&trial->subject, &err);

	if (trial->blocks.count)
		trial->blocks.items[trial->blocks.count - 1].to_ns = now;
	if (r == -EBUSY) {
		trial->by_program = true;
		snprintf(trial->why, sizeof(trial->why), "%s", err.text);
	} else if (r && r != -ESRCH) {
		trial->kept = true;
		log_error("%s", err.text);
	}
}
