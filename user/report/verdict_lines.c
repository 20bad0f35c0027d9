/* A recording, its steps and its advice in; the first lines of a report, which answer a tired engineer, out. */
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "parse.h"
#include "request_cost.h"
#include "verdict.h"
#include "verdict_cause.h"
#include "verdict_steps.h"

/* The next line, to be ended with end(). */
static struct prose begin(struct verdict *verdict)
{
	struct verdict_line *line = &verdict->lines[verdict->count];

	*line->text = '\0';
	return (struct prose){line->text, sizeof(line->text), 0};
}

/* What was said is a line, unless it was nothing. A blank that sentences begin with is none of a line. */
static void end(struct verdict *verdict, const struct prose *prose, const char *label)
{
	struct verdict_line *line = &verdict->lines[verdict->count];

	if (!prose->used || verdict->count + 1 >= VERDICT_LINES)
		return;
	line->label = label;
	if (*line->text == ' ')
		memmove(line->text, line->text + 1, prose->used);
	verdict->count++;
}

/* What part of the pauses that need not collect did, and what pauses do not show. */
static void say_beside(struct prose *prose, const struct report_input *input,
	const struct summary *summary)
{
	char stalls[VERDICT_STALLS_BYTES];

	for (size_t i = 0; i < summary->kinds.items.count; i++) {
		const struct summary_kind *kind = &summary->kinds.items.items[i];

		/* Not where it would be 100.0 %. */
		if (kind->meaning->apart &&
			(double)kind->collecting_ns < 0.9995 * (double)kind->sum.total_ns)
			say(prose, " Of the time at %s %s%s was to collect.", kind->meaning->pauses,
				kind->unsure ? "at least " : "",
				VERDICT_SHARE(kind->collecting_ns, kind->sum.total_ns));
	}
	say(prose, "%s",
		verdict_stalls(input->recording, input->attribution,
			verdict_traced_ns(input->recording, summary), stalls, sizeof(stalls)));
}

/* Where the share above is not the one that budgets and comparisons go by. */
static void say_pause_share(struct prose *prose, const struct attribution *attribution,
	const struct summary *summary)
{
	const struct exit_words *words = meaning_exit(attribution->figures.exits_of);
	uint64_t exits = attribution->figures.exits;
	char name[96], share[32];
	uint32_t process;

	describe_share(attrib_pause_share(attribution, &process), share, sizeof(share));
	if (attribution->recording->runtimes.count > 1 && process)
		say(prose, " Of its own time %s paused most: %s (pause.share%s%s%s%s).",
			verdict_process_name(recording_process(attribution->recording, process),
				name, sizeof(name)),
			share, exits ? ", which leaves out " : "", exits ? words->several : "",
			exits ? " at " : "", exits ? words->any : "");
	else if (exits && summary->count)
		say(prose, " Without the %s at %s: %s (pause.share).",
			exits == 1 ? words->one : words->several, words->the, share);
}

/* As a sentence of its own. */
static void say_note(struct prose *prose, const char *note)
{
	size_t at = prose->used;

	say_shown(prose, note, strlen(note), 160);
	say_capital(prose, at);
	if (prose->used && prose->text[prose->used - 1] != '.')
		say(prose, ".");
}

static void say_savings(struct prose *prose, const struct report_input *input,
	const struct advice *advice)
{
	bool whole = attrib_speaker(input->attribution, advice->process) == ATTRIB_NONE;
	double per_ns = advice->saves_share / (double)advice->saves_ns;
	const char *low = DESCRIBE_SHARE(per_ns * (double)advice->saves_low_ns);
	const char *high = DESCRIBE_SHARE(per_ns * (double)advice->saves_high_ns);

	say(prose, "%s saves about %s of %s", strstr(advice->title, ": ") ? ";" : ":",
		DESCRIBE_SHARE(advice->saves_share), whole ? "the traced time" : "training time");
	if (advice->worse_ns)
		say(prose, " (at worst it costs %s, at best it saves %s)",
			DESCRIBE_SHARE(per_ns * (double)advice->worse_ns), high);
	else if (strcmp(low, high) != 0)
		say(prose, " (%s to %s)", low, high);
}

/* "Call gc.freeze() once, after warm-up: saves about 15.8 % of training time (8.7 to 27.2 %)." */
static void add_try(struct verdict *verdict, const struct report_input *input)
{
	const struct advice *advice =
		input->advices && input->advices->items.count ? input->advices->items.items : NULL;
	struct prose prose = begin(verdict);

	if (!advice)
		return;
	say_shown(&prose, advice->title, strlen(advice->title), sizeof(advice->title));
	if (advice->saves_ns)
		say_savings(&prose, input, advice);
	say(&prose, ".");
	end(verdict, &prose, "try");
}

static void add_steps(struct verdict *verdict, const struct report_input *input, size_t track,
	const struct summary *summary, bool harmless)
{
	struct prose prose = begin(verdict);

	steps_say_cost(&prose, input, track);
	say(&prose, harmless ? ": look elsewhere." : ".");
	end(verdict, &prose, "cost");
	prose = begin(verdict);
	steps_say_felt(&prose, input, track);
	end(verdict, &prose, "felt");
	prose = begin(verdict);
	if (!harmless)
		cause_say(&prose, input, track, summary);
	end(verdict, &prose, "cause");
	prose = begin(verdict);
	if (!harmless)
		cause_say_where(&prose, input, track);
	end(verdict, &prose, "where");
	prose = begin(verdict);
	steps_say_sure(&prose, input, track);
	end(verdict, &prose, "sure");
	if (!harmless)
		add_try(verdict, input);
	prose = begin(verdict);
	steps_say_siblings(&prose, input, track);
	end(verdict, &prose, "also");
	prose = begin(verdict);
	say_beside(&prose, input, summary);
	end(verdict, &prose, "also");
}

static void add_requests(struct verdict *verdict, const struct attribution *attribution,
	const char *label)
{
	struct prose prose = begin(verdict);
	char requests[VERDICT_REQUESTS_BYTES];

	say(&prose, "%s", verdict_requests(attribution, requests, sizeof(requests)));
	end(verdict, &prose, label);
}

/* By the processes as a whole, where no steps speak for them. */
static void add_whole(struct verdict *verdict, const struct report_input *input,
	const struct summary *summary)
{
	const struct attribution *attribution = input->attribution;
	struct prose prose = begin(verdict);
	bool harmless;

	verdict_sentence(input->recording, input->stacks, attribution, summary, prose.text,
		prose.size);
	prose.used = strlen(prose.text);
	harmless = strstr(prose.text, "look elsewhere");
	end(verdict, &prose, "cost");
	if (!attribution || !input->recording->runtimes.count)
		return;
	add_requests(verdict, attribution, "felt");
	prose = begin(verdict);
	if (!harmless)
		cause_say_all_where(&prose, input, summary);
	end(verdict, &prose, "where");
	prose = begin(verdict);
	if (attribution->tracks.count)
		steps_say_silent(&prose, attribution);
	else if (*attribution->steps->note && !attribution->requests.count)
		say_note(&prose, attribution->steps->note);
	end(verdict, &prose, "sure");
	if (summary->count && !harmless)
		add_try(verdict, input);
	prose = begin(verdict);
	say_pause_share(&prose, attribution, summary);
	end(verdict, &prose, "also");
}

void verdict_make(const struct report_input *input, const struct summary *summary,
	struct verdict *ret)
{
	const struct attribution *attribution = input->attribution;
	size_t speaker = steps_speaker(attribution);
	char stalls[VERDICT_STALLS_BYTES], gpu[VERDICT_GPU_BYTES];
	struct prose prose;
	bool harmless;

	ret->count = 0;
	if (speaker == ATTRIB_NONE) {
		add_whole(ret, input, summary);
	} else {
		harmless = verdict_complete(input->recording) && steps_harmless(attribution) &&
			   request_costs_harmless(attribution) &&
			   !*verdict_stalls(input->recording, attribution,
				   verdict_traced_ns(input->recording, summary), stalls,
				   sizeof(stalls));
		add_steps(ret, input, speaker, summary, harmless);
		add_requests(ret, attribution, "also");
	}
	prose = begin(ret);
	say(&prose, "%s", verdict_gpu(attribution, gpu, sizeof(gpu)));
	end(ret, &prose, "gpu");
}

const char *verdict_paragraph(const struct report_input *input, const struct summary *summary,
	char *text, size_t size)
{
	struct prose prose = {text, size, 0};
	struct verdict verdict;

	*text = '\0';
	verdict_make(input, summary, &verdict);
	for (size_t i = 0; i < verdict.count; i++)
		say(&prose, "%s%s", i ? " " : "", verdict.lines[i].text);
	return text;
}
