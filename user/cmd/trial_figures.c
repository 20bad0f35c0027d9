/* The result of a trial → text, or JSON records: trial_block for each block, then trial. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "json_line.h"
#include "parse.h"
#include "stats.h"
#include "terminal.h"
#include "trial_priv.h"

static size_t cuts(const struct trial *trial)
{
	size_t count = 0;

	for (size_t i = 0; i < trial->blocks.count; i++)
		count += trial->blocks.items[i].cut;
	return count;
}

/* The share of a step's time that is charged for full collections. */
static double full_share(const struct blocks_result *result, bool tried)
{
	const struct effect *step = &result->step;
	double ns = step->base * (tried ? 1 + step->estimate : 1);

	return ns > 0 ? result->full.ns[tried] / ns : 0;
}

static const char *share(double value, char *ret, size_t size)
{
	snprintf(ret, size, "%+.2f %%", 100 * value);
	return ret;
}
#define SHARE(value) share((value), (char[32]){0}, 32)

static const char *bytes(double value, char *ret, size_t size)
{
	static const char *const units[] = {"B", "K", "M", "G"};
	size_t unit = 0;

	for (; fabs(value) >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(ret, size, unit ? "%+.2f%s" : "%+.0f%s", value, units[unit]);
	return ret;
}
#define BYTES(value) bytes((value), (char[32]){0}, 32)

static bool is_told(const struct blocks_result *result)
{
	return result->pairs >= EFFECT_PAIRS_LEAST;
}

/* The answer in a sentence. */
static void show_answer(const struct trial *trial, const struct blocks_result *result)
{
	const struct effect *step = &result->step;
	char tried[96];

	subject_describe(&trial->subject, &trial->subject.tried, tried, sizeof(tried));
	terminal_style(trial->out, TERMINAL_STRONG);
	if (!is_told(result))
		fprintf(trial->out,
			"It cannot be told: %zu pairs of blocks are too few (%d at least).\n",
			result->pairs, EFFECT_PAIRS_LEAST);
	else if (step->low > 0 || step->high < 0)
		fprintf(trial->out,
			"With the collector %s, a step takes %.2f %% %s (95 %% interval %s to %s).\n",
			tried, 100 * fabs(step->estimate), step->estimate < 0 ? "less" : "more",
			SHARE(step->low), SHARE(step->high));
	else
		fprintf(trial->out,
			"With the collector %s, no difference in step time was found: it is between %s and %s "
			"(95 %% interval).\n",
			tried, SHARE(step->low), SHARE(step->high));
	terminal_style(trial->out, TERMINAL_PLAIN);
	if (is_told(result))
		fprintf(trial->out,
			"A difference of %.2f %% would have been found in four of five such trials.\n",
			100 * step->detectable);
}

/* How often one would come under a setting alone. */
static const char *every(double per_step, char *ret, size_t size)
{
	if (per_step > 0)
		snprintf(ret, size, "one every %.0f steps", 1 / per_step);
	else
		snprintf(ret, size, "none");
	return ret;
}
#define EVERY(per_step) every((per_step), (char[48]){0}, 48)

static void show_fulls(const struct trial *trial, const struct blocks_result *result)
{
	if (!result->full.came)
		return;
	fprintf(trial->out,
		"Full collections are charged by what leads to them: as it is %s (%.1f %% of the time), tried %s "
		"(%.1f %%).\n",
		EVERY(result->full.per_step[false]), 100 * full_share(result, false),
		EVERY(result->full.per_step[true]), 100 * full_share(result, true));
}

static void show_table(const struct trial *trial, const struct blocks_result *result)
{
	const struct effect *step = &result->step, *rss = &result->rss;

	fprintf(trial->out, "\n%-20s %12s %12s %12s   %s\n", "", "AS IT IS", "TRIED", "DIFFERENCE",
		"95 % INTERVAL");
	fprintf(trial->out, "%-20s %12s %12s %12s   %s to %s\n", "step time",
		FORMAT_DURATION(stats_whole(step->base)),
		FORMAT_DURATION(stats_whole(step->base * (1 + step->estimate))),
		SHARE(step->estimate), SHARE(step->low), SHARE(step->high));
	if (result->has_rss)
		fprintf(trial->out, "%-20s %12s %12s %12s   %s to %s\n", "RSS growth a step",
			BYTES(rss->base), BYTES(rss->base + rss->estimate), BYTES(rss->estimate),
			BYTES(rss->low), BYTES(rss->high));
	fputc('\n', trial->out);
}

static void show_text(const struct trial *trial, const struct step_track *track,
	const struct blocks_result *result)
{
	FILE *out = trial->out;
	char was[96], is[96];

	fprintf(out, "as it is: %s\n",
		subject_describe(&trial->subject, &trial->subject.as_it_is, was, sizeof(was)));
	fprintf(out, "tried:    %s\n",
		subject_describe(&trial->subject, &trial->subject.tried, is, sizeof(is)));
	if (track && trial->blocks.count)
		fprintf(out,
			"%zu pairs of blocks of %s, %zu steps (%s); the first %s of a block are charged to the block "
			"before\n",
			result->pairs, FORMAT_DURATION(trial->plan.block_ns), result->steps,
			track->signal, FORMAT_DURATION(trial->plan.settle_ns));
	if (is_told(result))
		show_table(trial, result);
	show_answer(trial, result);
	if (is_told(result))
		show_fulls(trial, result);
	if (trial->rss_peak)
		fprintf(out,
			"RSS was %" PRIu64 " MiB at the begin and %" PRIu64
			" MiB at most; the limit was %" PRIu64 " MiB.\n",
			trial->rss_before >> 20, trial->rss_peak >> 20, trial->rss_limit >> 20);
	if (cuts(trial))
		fprintf(out, "%zu blocks ended early, at that limit.\n", cuts(trial));
	if (result->left_out)
		fprintf(out, "%zu pairs were left out: a block had too few steps.\n",
			result->left_out);
	if (*trial->why)
		fprintf(out, "The trial ended early: %s.\n", trial->why);
	fprintf(out, "%s\n",
		trial->by_program
			? "What the program set itself is left alone; all else is as it was."
			: "The settings are as they were.");
}

static void show_effect(FILE *out, const char *name, const struct effect *effect, bool known)
{
	static const char *const parts[] = {"", "_low", "_high", "_p", "_detectable"};
	const double values[] = {
		effect->estimate, effect->low, effect->high, effect->p, effect->detectable};
	char key[48];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(key, sizeof(key), "%s%s", name, parts[i]);
		line_real(out, key, known ? values[i] : NAN);
	}
}

static void show_full(FILE *out, const struct blocks_result *result, bool known)
{
	static const char *const keys[][2] = {
		{"full_per_step", "full_share"}, {"full_per_step_tried", "full_share_tried"}};

	for (size_t tried = 0; tried < 2; tried++) {
		line_real(out, keys[tried][0], known ? result->full.per_step[tried] : NAN);
		line_real(out, keys[tried][1], known ? full_share(result, tried) : NAN);
	}
}

static void show_blocks(const struct trial *trial)
{
	for (size_t i = 0; i < trial->blocks.count; i++) {
		const struct block *block = &trial->blocks.items[i];

		line_begin(trial->out, "trial_block");
		line_known(trial->out, "pair",
			block->pair == BLOCK_NO_PAIR ? UNKNOWN : (int64_t)block->pair);
		line_bool(trial->out, "tried", block->tried);
		line_bool(trial->out, "cut", block->cut);
		line_unsigned(trial->out, "start_ns", block->from_ns);
		line_unsigned(trial->out, "end_ns", block->to_ns);
		line_end(trial->out);
	}
}

static void show_settings(const struct trial *trial)
{
	const struct settings *was = &trial->subject.as_it_is, *is = &trial->subject.tried;

	line_key(trial->out, "settings");
	fputc('[', trial->out);
	for (size_t i = 0; i < was->count; i++) {
		fputs(i ? ",{\"name\":" : "{\"name\":", trial->out);
		line_string(trial->out, was->items[i].name, strlen(was->items[i].name));
		fprintf(trial->out, ",\"as_it_is\":%d,\"tried\":%d}", was->items[i].value,
			is->items[i].value);
	}
	fputc(']', trial->out);
}

static void show_json(const struct trial *trial, const struct step_track *track,
	const struct blocks_result *result)
{
	bool told = is_told(result);
	FILE *out = trial->out;

	show_blocks(trial);
	line_begin(out, "trial");
	line_int(out, "pid", trial->pid);
	line_text(out, "runtime", trial->subject.plan->ops->kind);
	line_text(out, "runtime_version", trial->subject.plan->version);
	show_settings(trial);
	line_text(out, "step_signal", track ? track->signal : NULL);
	line_known(out, "block_ns", trial->blocks.count ? (int64_t)trial->plan.block_ns : UNKNOWN);
	line_unsigned(out, "pairs", result->pairs);
	line_unsigned(out, "pairs_left_out", result->left_out);
	line_unsigned(out, "blocks_cut", cuts(trial));
	line_unsigned(out, "steps", result->steps);
	line_known(out, "settle_ns",
		trial->blocks.count ? (int64_t)trial->plan.settle_ns : UNKNOWN);
	line_real(out, "step_ns", told ? result->step.base : NAN);
	show_effect(out, "step_effect", &result->step, told);
	show_full(out, result, told && result->full.came);
	line_real(out, "rss_growth", told && result->has_rss ? result->rss.base : NAN);
	show_effect(out, "rss_effect", &result->rss, told && result->has_rss);
	line_known(out, "rss_begin", trial->rss_before ? (int64_t)trial->rss_before : UNKNOWN);
	line_known(out, "rss_peak", trial->rss_peak ? (int64_t)trial->rss_peak : UNKNOWN);
	line_known(out, "rss_limit", trial->rss_limit ? (int64_t)trial->rss_limit : UNKNOWN);
	line_text(out, "ended_early", trial->why);
	line_bool(out, "changed_by_program", trial->by_program);
	line_end(out);
}

void trial_show(const struct trial *trial, const struct step_track *track,
	const struct blocks_result *result)
{
	(trial->options->capture.json ? show_json : show_text)(trial, track, result);
	fflush(trial->out);
}
