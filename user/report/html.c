/* gctrace report -f html. In: a recording, its pauses, steps and costs. Out: one page that needs no network. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "html.h"

#define PAUSES_MOST 100000
#define LONGEST	    100
#define NODES_MOST  20000  /* of stacks: some 100 KB of the page */
#define TEXT_MOST   600000 /* bytes of names */

static void page_release(struct html_page *page)
{
	summary_release(&page->summary);
	html_keep_release(&page->keep);
	vec_free(&page->longest);
	html_stacks_release(&page->stacks);
	u64map_release(&page->tracks);
	flame_text_release(&page->text);
}

/* Whether the page shows the steps of track @index: not those that are a guess, whose process then has none. */
static bool is_shown(const struct html_page *page, uint32_t index)
{
	return index < html_tracks(page) &&
	       step_track_confident(&page->input->attribution->steps->tracks.items[index]);
}

static int index_tracks(struct html_page *page)
{
	for (size_t i = html_tracks(page); i--;) {
		uint32_t process = page->input->attribution->steps->tracks.items[i].process;

		if (is_shown(page, (uint32_t)i) && u64map_put(&page->tracks, process, i))
			return -ENOMEM;
	}
	return 0;
}

static int keep_pause(struct html_page *page, const struct pause *pause, uint32_t order)
{
	const struct report_input *input = page->input;
	const struct runtime *runtime = recording_runtime(input->recording, pause->runtime);
	const uint64_t *track = runtime ? u64map_get(&page->tracks, runtime->process) : NULL;
	const struct attribution *attribution = input->attribution;
	struct html_pause kept = {
		.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.generation = pause->generation,
		.collected = pause->collected,
		.uncollectable = pause->uncollectable,
		.rss_start = pause->rss_start,
		.rss_end = pause->rss_end,
		.order = order,
		.process = runtime ? runtime->process : 0,
		.track = track ? (uint32_t)*track : ATTRIB_NONE,
		.step = ATTRIB_NONE,
		.stack = pause->stack,
		.cause = pause->cause,
		.flags = pause->flags,
		.passes = !input->filter || pause_passes(pause, input->filter),
		.runtime = pause->runtime,
		.tid = pause->tid,
		.reason = pause->class->of->reason ? pause->class->of->reason(pause) : 0,
		.ttsp_ns = meaning_value(pause, FACT_TTSP),
		.class = pause->class,
	};

	if (attribution && order < attribution->charges.count) {
		const struct charge *charge = &attribution->charges.items[order];

		kept.worker = charge->worker;
		if (is_shown(page, charge->track)) {
			kept.cost_ns = charge->cost_ns;
			kept.track = charge->track;
			kept.step = charge->step;
		}
	}
	return html_keep_add(&page->keep, &kept, pause->facts);
}

/* Of a damaged file, what could be read is reported. 0, or -ENOMEM with a sentence. */
static int read_pauses(struct html_page *page, struct err *err)
{
	const struct report_input *input = page->input;
	struct pause pause;
	uint32_t order = 0;
	int r;

	while ((r = input->next(input->source, &pause, &page->damage)) > 0) {
		if (summary_add(&page->summary, &pause) || keep_pause(page, &pause, order++))
			return err_set(err, ENOMEM, "memory ran out while adding up the pauses");
	}
	if (r == -ENOMEM)
		return err_set(err, ENOMEM, "%s", page->damage.text);
	if (!r)
		*page->damage.text = '\0';
	else if (!*page->damage.text)
		err_set(&page->damage, -r, "%s", strerror(-r));
	return 0;
}

static int64_t index_of(uint32_t index)
{
	return index == ATTRIB_NONE ? UNKNOWN : (int64_t)index;
}

/* Whether it is known what the pause cost: one that is in no step cost none. */
static bool is_charged(const struct html_page *page, uint32_t order)
{
	const struct attribution *attribution = page->input->attribution;
	uint32_t track = ATTRIB_NONE;

	if (!html_tracks(page))
		return false;
	if (order < attribution->charges.count)
		track = attribution->charges.items[order].track;
	return track == ATTRIB_NONE || attrib_told(&attribution->tracks.items[track]);
}

static int take_longest(struct html_page *page, const struct html_long *longest)
{
	const struct html_pause *kept = &longest->pause;
	struct longest_pause *slot = vec_add(&page->longest);

	if (!slot)
		return -ENOMEM;
	*slot = (struct longest_pause){
		.pause = {.start_ns = kept->start_ns,
			.end_ns = kept->end_ns,
			.generation = kept->generation,
			.collected = kept->collected,
			.uncollectable = kept->uncollectable,
			.rss_start = kept->rss_start,
			.rss_end = kept->rss_end,
			.stack = kept->stack,
			.cause = kept->cause,
			.flags = kept->flags,
			.runtime = kept->runtime,
			.tid = kept->tid,
			.class = kept->class},
		.order = kept->order,
		.cost_ns = kept->cost_ns,
		.charged = is_charged(page, kept->order),
		.worker = kept->worker,
		.track = index_of(kept->track),
		.step = index_of(kept->step),
	};
	memcpy(slot->pause.facts, longest->facts, sizeof(longest->facts));
	return 0;
}

/* The longest pauses have their stacks first, before the room for stacks is used up. */
static int take_stacks(struct html_page *page)
{
	struct html_keep *keep = &page->keep;
	const struct html_long *longest = keep->longest.items;
	const struct html_long *const end = longest + keep->longest.count;

	html_keep_longest_first(keep);
	for (size_t i = 0; i < keep->pauses.count; i++) {
		struct html_pause *pause = &keep->pauses.items[i];

		/* Of those a filter lets pass, some may be too short to be kept. */
		if (longest < end && longest->pause.order == pause->order &&
			take_longest(page, longest++))
			return -ENOMEM;
		if (html_stacks_node(&page->stacks, pause->stack, &pause->stack))
			return -ENOMEM;
	}
	html_keep_by_track(keep);
	return 0;
}

static int write_html(const struct report_input *input, FILE *out, struct err *err)
{
	_cleanup_(page_release) struct html_page page = {
		.input = input,
		.out = out,
		.keep = {.most = PAUSES_MOST, .longest_most = LONGEST},
		.stacks = {.table = input->stacks,
			.nodes_most = NODES_MOST,
			.text_most = TEXT_MOST},
	};
	int r;

	if (index_tracks(&page))
		return err_set(err, ENOMEM, "memory ran out while reading the steps");
	r = read_pauses(&page, err);
	if (!r && take_stacks(&page))
		r = err_set(err, ENOMEM, "memory ran out while reading the stacks");
	if (!r)
		r = html_page_write(&page, err);
	if (!r && page.text.failed)
		r = err_set(err, ENOMEM, "memory ran out while writing the page");
	if (!r && (fflush(out) || ferror(out)))
		r = err_set(err, errno ? errno : EIO, "cannot write the page: %s",
			strerror(errno ? errno : EIO));
	return r;
}

const struct report_ops report_html = {
	.name = "html",
	.summary = "one page with everything: timeline of steps, distribution, tables, flame graph",
	.steps = true,
	.write = write_html,
};
