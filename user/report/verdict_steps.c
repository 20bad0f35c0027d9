/* Steps and what pauses cost them in; the paragraph that answers a tired engineer out. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "parse.h"
#include "utf8.h"
#include "verdict.h"

/* Text that grows, and is cut where it no longer fits. */
struct paragraph {
	char *text;
	size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) say(struct paragraph *paragraph,
	const char *format, ...)
{
	size_t room = paragraph->size - paragraph->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(paragraph->text + paragraph->used, room, format, args);
	va_end(args);
	if (n > 0)
		paragraph->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Names come from other processes. */
static void say_shown(struct paragraph *paragraph, const char *bytes, size_t len, size_t columns)
{
	char shown[4 * 160 + 1];

	utf8_show(shown, sizeof(shown), bytes, len, columns < 160 ? columns : 160);
	say(paragraph, "%s", shown);
}

static void say_frame(struct paragraph *paragraph, const struct stack_table *stacks, uint32_t index)
{
	const struct frame *frame = &stacks->frames[index];
	const char *file = strtab_get(stacks->strings, frame->file);
	const char *base = strrchr(file, '/');

	say_shown(paragraph, strtab_get(stacks->strings, frame->function),
		strtab_len(stacks->strings, frame->function), 60);
	base = base ? base + 1 : file;
	if (!*base)
		return;
	say(paragraph, " (");
	say_shown(paragraph, base, strlen(base), 60);
	if (frame->line)
		say(paragraph, ":%u", frame->line);
	say(paragraph, ")");
}

/* "97th", "every" for 1 */
static void say_ordinal(struct paragraph *paragraph, uint64_t n)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};
	uint64_t last = n % 10;

	if (n == 1)
		say(paragraph, "nearly every");
	else
		say(paragraph, "every %" PRIu64 "%s", n,
			last > 3 || n % 100 / 10 == 1 ? "th" : endings[last]);
}

static const char *name_of(const struct report_input *input, const struct step_track *track,
	char *text, size_t size)
{
	return verdict_process_name(recording_process(input->recording, track->process), text,
		size);
}
#define NAME_OF(input, track) name_of((input), (track), (char[96]){0}, 96)

/* The track that was stopped for the largest share of its time. */
static size_t stopped_most(const struct attribution *attribution)
{
	size_t best = 0;
	double most = -1;

	for (size_t i = 0; i < attribution->tracks.count; i++) {
		const struct track_cost *cost = &attribution->tracks.items[i];
		double share = cost->time_ns ? (double)cost->overlap_ns / (double)cost->time_ns : 0;

		if (share > most) {
			most = share;
			best = i;
		}
	}
	return best;
}

static bool is_harmless(const struct attribution *attribution)
{
	for (size_t i = 0; i < attribution->tracks.count; i++)
		if (!attrib_harmless(&attribution->tracks.items[i]))
			return false;
	return true;
}

/* "GC stopped training for 203.2 ms (25.1 % of its time)": what is a fact. */
static void say_stopped(struct paragraph *paragraph, const struct report_input *input,
	const struct step_track *track, const struct track_cost *cost)
{
	const char *subject = meaning_of_process(input->recording, track->process)->subject;
	size_t tracks = input->attribution->tracks.count;

	if (!cost->overlap_ns) {
		say(paragraph, "%s stopped no step", subject);
		if (tracks > 1)
			say(paragraph, " of %zu processes that train", tracks);
		return;
	}
	say(paragraph, "%s stopped ", subject);
	if (tracks > 1)
		say(paragraph, "%s, the most stopped of %zu processes that train,",
			NAME_OF(input, track), tracks);
	else
		say(paragraph, "training");
	say(paragraph, " for %s%s (%s of its time)",
		verdict_complete(input->recording) ? "" : "at least ",
		FORMAT_DURATION(cost->overlap_ns), VERDICT_SHARE(cost->overlap_ns, cost->time_ns));
}

/* "of which 12.0 ms (1.5 %) were lost (estimated, …)": by how much it fell behind, and how that is known. */
static void say_lost(struct paragraph *paragraph, const struct track_cost *cost)
{
	uint64_t lost_ns = describe_lost_ns(cost->cost.ns);
	const char *lost = FORMAT_DURATION(lost_ns);

	if (!cost->overlap_ns)
		return;
	if (!attrib_told(cost)) {
		say(paragraph, ", an unknown part of it lost");
		return;
	}
	if (!lost_ns)
		say(paragraph, ", none of it lost");
	else if (!strcmp(lost, FORMAT_DURATION(cost->overlap_ns)))
		say(paragraph, ", all of it lost");
	else if (lost_ns < cost->overlap_ns)
		say(paragraph, ", of which %s (%s) were lost", lost,
			VERDICT_SHARE(lost_ns, cost->time_ns));
	else /* after-effects, unless chance explains it */
		say(paragraph, "; %s%s (%s) were lost",
			cost->cost.low_ns > (int64_t)cost->overlap_ns
				? "with what followed the pauses, "
				: "",
			lost, VERDICT_SHARE(lost_ns, cost->time_ns));
	say(paragraph, " (%s%s)", describe_source(attrib_source(cost)),
		DESCRIBE_INTERVAL(cost, true));
}

/* Why it is not known what was lost, and what would tell: too long for the first sentence. */
static void say_untold(struct paragraph *paragraph, const struct track_cost *cost)
{
	if (!attrib_told(cost))
		say(paragraph, " What was lost cannot be told: %s.", DESCRIBE_UNTOLD(cost));
}

static void say_slow(struct paragraph *paragraph, const struct report_input *input,
	const struct track_cost *cost)
{
	const struct slow_pattern *slow = &cost->slow;

	if (!slow->class)
		return;
	say(paragraph, "; ");
	if (slow->every >= 1 && slow->chief > 2) {
		say(paragraph, "%s", slow->regular ? "" : "about ");
		say_ordinal(paragraph, (uint64_t)(slow->every + 0.5));
		say(paragraph, " step is");
	} else {
		say(paragraph, "%" PRIu64 " step%s", slow->chief,
			slow->chief == 1 ? " is" : "s are");
	}
	say(paragraph, " %.1f × the median because of %s", slow->ratio, slow->class->collections);
	if (slow->trigger) {
		say(paragraph, " triggered in %s",
			slow->trigger_share >= 0.5 ? "" : "several places, most in ");
		say_frame(paragraph, input->stacks, slow->trigger);
	}
}

static void say_steps(struct paragraph *paragraph, const struct report_input *input,
	const struct step_track *track)
{
	say(paragraph, "; %zu step%s of %s", (size_t)track->steps.count,
		track->steps.count == 1 ? "" : "s", FORMAT_DURATION(track->period_ns));
	if (track->measured) {
		say(paragraph, ", signal ");
		say_shown(paragraph, track->signal, strlen(track->signal), 100);
		if (track->per_step > 1)
			say(paragraph, " (%u a step)", track->per_step);
		say(paragraph, ", confidence %.2f", track->confidence);
		if (track->seen_ns)
			say(paragraph, ", seen from %s on",
				FORMAT_DURATION(track->seen_ns - input->recording->start_ns));
	} else {
		say(paragraph, ", which are windows of time, not steps");
	}
	say(paragraph, verdict_complete(input->recording) ? ", nothing dropped." : ", INCOMPLETE.");
}

/* Ranks wait for each other: what held it up may be another's pause. */
static void say_siblings(struct paragraph *paragraph, const struct report_input *input,
	const struct track_cost *cost)
{
	const struct sibling_cost *most = cost->siblings.items;
	char name[96];

	if (!cost->held_ns)
		return;
	for (size_t i = 1; i < cost->siblings.count; i++)
		if (cost->siblings.items[i].held_ns > most->held_ns)
			most = &cost->siblings.items[i];
	verdict_process_name(recording_process(input->recording, most->process), name,
		sizeof(name));
	if (cost->siblings.count == 1)
		say(paragraph, " %s, which is in step with it, paused for another %s (%s)", name,
			FORMAT_DURATION(cost->held_ns),
			VERDICT_SHARE(cost->held_ns, cost->time_ns));
	else
		say(paragraph,
			" The %zu processes in step with it paused for another %s (%s), most of it %s",
			(size_t)cost->siblings.count, FORMAT_DURATION(cost->held_ns),
			VERDICT_SHARE(cost->held_ns, cost->time_ns), name);
	if (cost->slow.held)
		say(paragraph, "; %" PRIu64 " step%s %.1f × the median or slower meanwhile",
			cost->slow.held, cost->slow.held == 1 ? " was" : "s were", SLOW_RATIO);
	say(paragraph, ".");
}

/* Slow steps that no pause explains are an answer too. */
static void say_exonerated(struct paragraph *paragraph, const struct track_cost *cost,
	const struct runtime_meaning *meaning)
{
	if (cost->slow.other)
		say(paragraph,
			" %" PRIu64
			" step%s %.1f × the median or slower for another reason than %s.",
			cost->slow.other, cost->slow.other == 1 ? " was" : "s were", SLOW_RATIO,
			meaning->cause);
	if (cost->slow.stalled)
		say(paragraph,
			" %" PRIu64 " of them %s: the thread that makes the steps waited for the "
			"collector by itself.",
			cost->slow.stalled,
			cost->slow.stalled == 1 ? "was a stall" : "were stalls");
}

/* What part of the pauses that need not collect did, and what pauses do not show. */
static void say_beside(struct paragraph *paragraph, const struct report_input *input,
	const struct summary *summary)
{
	char stalls[VERDICT_STALLS_BYTES];

	for (size_t i = 0; i < summary->kinds.items.count; i++) {
		const struct summary_kind *kind = &summary->kinds.items.items[i];

		/* Not where it would be 100.0 %. */
		if (kind->meaning->apart &&
			(double)kind->collecting_ns < 0.9995 * (double)kind->sum.total_ns)
			say(paragraph, " Of the time at %s %s%s was to collect.",
				kind->meaning->pauses, kind->unsure ? "at least " : "",
				VERDICT_SHARE(kind->collecting_ns, kind->sum.total_ns));
	}
	say(paragraph, "%s",
		verdict_stalls(input->recording, verdict_traced_ns(input->recording, summary),
			stalls, sizeof(stalls)));
}

/* Where the share above is not the one that budgets and comparisons go by. */
static void say_pause_share(struct paragraph *paragraph, const struct attribution *attribution,
	const struct summary *summary)
{
	const struct exit_words *words = meaning_exit(attribution->figures.exits_of);
	uint64_t exits = attribution->figures.exits;
	char name[96], share[32];
	uint32_t process;

	describe_share(attrib_pause_share(attribution, &process), share, sizeof(share));
	if (attribution->recording->runtimes.count > 1 && process)
		say(paragraph, " Of its own time %s paused most: %s (pause.share%s%s%s%s).",
			verdict_process_name(recording_process(attribution->recording, process),
				name, sizeof(name)),
			share, exits ? ", which leaves out " : "", exits ? words->several : "",
			exits ? " at " : "", exits ? words->any : "");
	else if (exits && summary->count)
		say(paragraph, " Without the %s at %s: %s (pause.share).",
			exits == 1 ? words->one : words->several, words->the, share);
}

/* As a sentence of its own. */
static void say_note(struct paragraph *paragraph, const char *note)
{
	size_t at = paragraph->used + 1;

	say(paragraph, " ");
	say_shown(paragraph, note, strlen(note), 160);
	if (at < paragraph->used && paragraph->text[at] >= 'a' && paragraph->text[at] <= 'z')
		paragraph->text[at] -= 'a' - 'A';
}

const char *verdict_paragraph(const struct report_input *input, const struct summary *summary,
	char *text, size_t size)
{
	struct paragraph paragraph = {text, size, 0};
	const struct attribution *attribution = input->attribution;
	bool complete = verdict_complete(input->recording), harmless;
	const struct runtime_meaning *meaning;
	char stalls[VERDICT_STALLS_BYTES], gpu[VERDICT_GPU_BYTES];
	const struct step_track *track;
	const struct track_cost *cost;

	verdict_gpu(attribution, gpu, sizeof(gpu));
	if (!attribution || !attribution->tracks.count) {
		verdict_sentence(input->recording, input->stacks, summary, text, size);
		paragraph.used = strlen(text);
		if (attribution)
			say_pause_share(&paragraph, attribution, summary);
		if (attribution && *attribution->steps->note && input->recording->runtimes.count) {
			say_note(&paragraph, attribution->steps->note);
			say(&paragraph, paragraph.text[paragraph.used - 1] == '.' ? "" : ".");
		}
		say(&paragraph, "%s", gpu);
		return text;
	}
	track = &attribution->steps->tracks.items[stopped_most(attribution)];
	cost = &attribution->tracks.items[stopped_most(attribution)];
	meaning = meaning_of_process(input->recording, track->process);
	harmless = complete && is_harmless(attribution) &&
		   !*verdict_stalls(input->recording, verdict_traced_ns(input->recording, summary),
			   stalls, sizeof(stalls));
	say_stopped(&paragraph, input, track, cost);
	say_lost(&paragraph, cost);
	if (harmless)
		say(&paragraph, ": look elsewhere");
	say_slow(&paragraph, input, cost);
	say_steps(&paragraph, input, track);
	say_untold(&paragraph, cost);
	say_siblings(&paragraph, input, cost);
	say_exonerated(&paragraph, cost, meaning);
	say_beside(&paragraph, input, summary);
	say(&paragraph, "%s", gpu);
	return text;
}
