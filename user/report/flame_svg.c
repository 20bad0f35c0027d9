/* The flame graph as one SVG file: boxes of a flame_tree → markup that stands alone, with its style and script. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "devices.h"
#include "flame_assets.h"
#include "flame_svg.h"
#include "flame_text.h"
#include "origin.h"
#include "parse.h"
#include "runtime_words.h"
#include "u64map.h"

/* Sizes in px of the picture as drawn; the script fits it to the window (MARGIN is known there too). */
enum { WIDTH = 1200, MARGIN = 16, ROW = 18, HEAD = 92, WARNING = 22, FOOT = 34 };
#define EDGED	 4 /* px from which a box has an edge; on narrower ones it would hide the colour */
#define COLUMN	 7.3 /* per character: a little more than most monospace fonts take at 12 px */
#define TIP_MOST 240 /* characters of a name in its tooltip */

/* A call narrower than 0.23 px of the picture is merged; 5000 calls draw at most about 5 MB. */
const struct flame_limits flame_svg_limits = {.calls = 5000, .share = 5000, .depth = 512};

/* How to speak of the picture by what its widths are. */
static const struct wording {
	const char *of;		     /* "12.34 % of the pause time" */
	const char *time;	     /* "1.234 s of pause time" */
	const char *width;	     /* "Width is pause time" */
	const char *empty, *nothing; /* why nothing is drawn: there are no pauses; none took time */
} wordings[] = {
	[WEIGHT_TIME] = {"the pause time", "pause time", "pause time",
		"No pauses: nothing to draw.",
		"The pauses took no measurable time: nothing to draw."},
	[WEIGHT_GPU_IDLE] = {"the GPU idle time", "GPU idle time because of them", "GPU idle time",
		"No pause is known to have left a GPU idle: nothing to draw.",
		"No pause is known to have left a GPU idle: nothing to draw."},
};

struct drawing {
	const struct report_input *input;
	const struct flame_limits *limits;
	const struct wording *wording;
	struct flame_leaves leaves;
	struct flame_tree tree;
	struct flame_text name, line; /* scratch */
	FILE *out;
	int top; /* y of the uppermost row */
};

static void drawing_release(struct drawing *drawing)
{
	flame_leaves_release(&drawing->leaves);
	flame_tree_release(&drawing->tree);
	flame_text_release(&drawing->name);
	flame_text_release(&drawing->line);
}

static void put_share(struct flame_text *text, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && percent < 0.005)
		flame_text_put(text, "<0.01 %");
	else
		flame_text_format(text, "%.2f %%", percent);
}

/* "1.234 ms · 12.34 % of the pause time · 23 pauses". */
static void put_figures(const struct drawing *d, struct flame_text *text, uint64_t ns,
	uint64_t pauses)
{
	flame_text_format(text, "%s · ", FORMAT_DURATION(ns));
	put_share(text, ns, d->leaves.ns);
	flame_text_format(text, " of %s · ", d->wording->of);
	flame_text_count(text, pauses, "pause", "pauses");
}

/* Where nothing need be collected in a pause, what is not known differs from what is known to be nothing. */
static const char *colour_of(const struct pause_class *class)
{
	static const char *const colours[CLASS_COLOURS] = {"gen0", "gen1", "gen2", "genx"};

	if (class->colour == CLASS_COLOURS - 1 && class->full == UNKNOWN && !class->of->generations)
		return "gen3";
	return colours[class->colour];
}

static void put_class(struct flame_text *text, const struct pause_class *class)
{
	flame_text_class(text, class);
	if (class->of->generations && class->full > 0)
		flame_text_put(text, " (full)");
}

/* The same function has the same shade in every picture; those of a language with packages are shades of their own. */
static const char *call_class(const struct stack_table *stacks, const struct frame *frame)
{
	static const char *const classes[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
	static const char *const packaged[] = {"j0", "j1", "j2", "j3"};
	const char *name = strtab_get(stacks->strings, frame->function);
	uint64_t hash = 0;

	if (frame->lang == LANG_MARK)
		return "mark";
	for (size_t i = 0; i < strtab_len(stacks->strings, frame->function); i++)
		hash = u64_mix(hash ^ (unsigned char)name[i]);
	if (frame_has_packages(frame))
		return packaged[hash % ARRAY_SIZE(packaged)];
	return classes[hash % ARRAY_SIZE(classes)];
}

static const struct frame *frame_of(const struct stack_table *stacks, const struct flame_box *box,
	uint32_t *ret)
{
	uint32_t frame = stacks->nodes[box->id].frame;

	*ret = frame < stacks->frame_count ? frame : 0;
	return &stacks->frames[*ret];
}

static const char *box_class(const struct drawing *d, const struct flame_box *box)
{
	uint32_t frame;

	switch (box->kind) {
	case FLAME_CALL:
		return call_class(d->input->stacks, frame_of(d->input->stacks, box, &frame));
	case FLAME_PAUSE:
		return colour_of(d->leaves.classes[box->id >> 8].class);
	case FLAME_ORIGIN:
		return "origin";
	case FLAME_ALL:
		return "all";
	}
	return "merged";
}

/* What both the label and the first line of a tooltip say of a box that is not a call. */
static void put_plain_name(struct flame_text *text, const struct drawing *d,
	const struct flame_box *box)
{
	const struct pause_class *class;

	switch (box->kind) {
	case FLAME_ALL:
		flame_text_put(text, "all processes");
		break;
	case FLAME_ORIGIN:
		flame_text_origin(text, d->input->recording, &d->leaves.origins.items[box->id]);
		break;
	case FLAME_NARROW:
		flame_text_format(text, "[%u narrow frame%s]", box->id, box->id == 1 ? "" : "s");
		break;
	case FLAME_DEEPER:
		flame_text_put(text, "[deeper frames]");
		break;
	case FLAME_NO_STACK:
		flame_text_put(text, "[no stack]");
		break;
	case FLAME_PAUSE:
		class = d->leaves.classes[box->id >> 8].class;
		put_class(text, class);
		flame_text_put(text, ", ");
		flame_text_cause(text, d->input->stacks, &d->leaves, class, box->id & 0xff);
		break;
	}
}

/* The line under the name in a tooltip: where a call is, or what a box stands for; may be empty. */
static void put_note(struct flame_text *text, const struct drawing *d, const struct flame_box *box)
{
	const struct flame_origin *origin;
	const struct runtime *runtime;
	const struct process *process;

	if (box->kind == FLAME_NARROW)
		flame_text_put(text,
			"each too narrow to draw: drawn as one, with all that they called");
	else if (box->kind == FLAME_DEEPER)
		flame_text_format(text, "what lies more than %u frames deep, drawn as one",
			d->limits->depth);
	else if (box->kind == FLAME_NO_STACK)
		flame_text_put(text, "pauses whose stack was not taken");
	if (box->kind != FLAME_ORIGIN)
		return;
	origin = &d->leaves.origins.items[box->id];
	runtime = recording_runtime(d->input->recording, origin->runtime);
	process = runtime ? recording_process(d->input->recording, runtime->process) : NULL;
	if (!process)
		return;
	flame_text_clean(text, runtime->kind, strnlen(runtime->kind, sizeof(runtime->kind)), 0);
	flame_text_put(text, " ");
	flame_text_clean(text, runtime->version,
		strnlen(runtime->version, sizeof(runtime->version)), 0);
	if (process->ns_pid && process->ns_pid != process->pid)
		flame_text_format(text, ", pid %d in its own namespace", process->ns_pid);
}

/* Fills d->name with the label and d->line with the tooltip: name, place or note, figures. */
static void name_box(struct drawing *d, const struct flame_box *box)
{
	const struct stack_table *stacks = d->input->stacks;
	size_t named;

	flame_text_clear(&d->name);
	flame_text_clear(&d->line);
	if (box->kind == FLAME_CALL) {
		uint32_t id;
		const struct frame *frame = frame_of(stacks, box, &id);
		size_t len = strtab_len(stacks->strings, frame->function);

		flame_text_frame(&d->name, stacks, id, TIP_MOST);
		if (len)
			flame_text_clean(&d->line, strtab_get(stacks->strings, frame->function),
				len, TIP_MOST);
		else
			flame_text_put(&d->line, "[unknown]");
		flame_text_put(&d->line, "\n");
		named = d->line.bytes.count;
		flame_text_place(&d->line, stacks, id, true, TIP_MOST);
	} else {
		put_plain_name(&d->name, d, box);
		put_plain_name(&d->line, d, box);
		flame_text_put(&d->line, "\n");
		named = d->line.bytes.count;
		put_note(&d->line, d, box);
	}
	if (d->line.bytes.count > named)
		flame_text_put(&d->line, "\n");
	put_figures(d, &d->line, box->ns, box->pauses);
}

static void draw_box(struct drawing *d, const struct flame_box *box)
{
	double left = 100.0 * (double)box->start_ns / (double)d->leaves.ns;
	double part = 100.0 * (double)box->ns / (double)d->leaves.ns;
	double px = part / 100 * (WIDTH - 2 * MARGIN);
	int y = ((int)d->tree.depth - 1 - (int)box->depth) * ROW;

	name_box(d, box);
	fprintf(d->out, "<g class=\"%s%s\"><title>", box_class(d, box),
		px >= EDGED ? " edged" : "");
	flame_text_xml(d->out, &d->line, 0);
	fprintf(d->out, "</title><rect x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\"/>",
		left, y, part, ROW - 1);
	if (px >= 3 * COLUMN + 6) {
		fprintf(d->out, "<text x=\"%.4f%%\" y=\"%d\" dx=\"4\">", left, y + 13);
		flame_text_xml(d->out, &d->name, (size_t)((px - 6) / COLUMN));
		fputs("</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

static void put_more(struct flame_text *text, uint64_t count, const char *one, const char *many)
{
	flame_text_put(text, ", ");
	flame_text_count(text, count, one, many);
}

static size_t process_count(const struct drawing *d)
{
	const struct recording *recording = d->input->recording;
	struct u64map seen = {};
	size_t count;

	for (size_t i = 0; i < d->leaves.origins.count; i++) {
		const struct runtime *runtime =
			recording_runtime(recording, d->leaves.origins.items[i].runtime);

		if (runtime && u64map_put(&seen, runtime->process, 1))
			break;
	}
	count = seen.count;
	u64map_release(&seen);
	return count;
}

/* "23 pauses, 1.234 s of pause time, 2.06 % of 60.00 s recorded, 1 process" */
static void draw_totals(struct drawing *d)
{
	const struct recording *recording = d->input->recording;
	uint64_t span_ns = recording->end_ns > recording->start_ns
				   ? recording->end_ns - recording->start_ns
				   : 0;
	struct flame_text *line = &d->line;

	flame_text_clear(line);
	flame_text_count(line, d->leaves.pauses, "pause", "pauses");
	flame_text_format(line, ", %s of %s", FORMAT_DURATION(d->leaves.ns), d->wording->time);
	if (span_ns && d->leaves.origins.count == 1) {
		flame_text_put(line, ", ");
		put_share(line, d->leaves.ns, span_ns);
		flame_text_format(line, " of %s recorded", FORMAT_DURATION(span_ns));
	} else if (span_ns) {
		flame_text_format(line, " in %s recorded", FORMAT_DURATION(span_ns));
	}
	if (d->leaves.pauses)
		put_more(line, process_count(d), "process", "processes");
	if (d->leaves.unknown)
		put_more(line, d->leaves.unknown, "pause left out: not known",
			"pauses left out: not known");
	if (d->tree.narrow)
		put_more(line, d->tree.narrow, "narrow frame merged", "narrow frames merged");
	fprintf(d->out, "<text class=\"line totals\" y=\"52\">");
	flame_text_xml(d->out, line, 0);
	fputs("</text>\n", d->out);
}

static void draw_legend(struct drawing *d)
{
	bool first = true;

	fputs("<text class=\"line legend\" y=\"76\">", d->out);
	for (uint32_t i = 0; i < FLAME_CLASSES; i++) {
		const struct flame_class *total = &d->leaves.classes[i];

		if (!total->class)
			continue;
		flame_text_clear(&d->line);
		flame_text_clear(&d->name);
		put_class(&d->name, total->class);
		flame_text_format(&d->line, "%s · ", FORMAT_DURATION(total->ns));
		put_share(&d->line, total->ns, d->leaves.ns);
		flame_text_put(&d->line, " · ");
		flame_text_count(&d->line, total->pauses, "pause", "pauses");
		fprintf(d->out,
			"<tspan class=\"%s\"%s>■</tspan><tspan class=\"key\" dx=\"6\" data-search=\"",
			colour_of(total->class), first ? "" : " dx=\"26\"");
		flame_text_xml(d->out, &d->name, 0);
		fputs("\">", d->out);
		flame_text_xml(d->out, &d->name, 0);
		fputs("</tspan><tspan dx=\"8\">", d->out);
		flame_text_xml(d->out, &d->line, 0);
		fputs("</tspan>", d->out);
		first = false;
	}
	fputs("</text>\n", d->out);
}

/* Why the picture may not show everything; "" when it does. */
static void incomplete(const struct recording *recording, struct flame_text *line)
{
	uint64_t drops = recording_drop_total(recording);
	uint64_t missed = recording_missed_total(recording);

	flame_text_clear(line);
	if (recording->complete && !drops && !missed)
		return;
	flame_text_put(line, "Incomplete");
	if (recording->cut_off)
		flame_text_put(line, ", the recording was cut off");
	if (drops)
		put_more(line, drops, "event lost", "events lost");
	if (missed)
		put_more(line, missed, "collection missed", "collections missed");
	if (recording->damage[0]) {
		flame_text_put(line, ", ");
		flame_text_clean(line, recording->damage,
			strnlen(recording->damage, sizeof(recording->damage)), 0);
	}
}

/* "GC pause time", or the same with the runtime's word for its pauses; "GPU idle time because of GC (measured)". */
static void put_heading(const struct drawing *d, struct flame_text *text)
{
	const struct runtime_meaning *sole = words_sole(d->input->recording);

	if (d->input->weight == WEIGHT_GPU_IDLE)
		flame_text_format(text, "GPU idle time because of %s (%s)",
			sole ? sole->cause : "pauses", devices_source(d->input->attribution->gpu));
	else if (!sole || !strcmp(sole->pause, "pause"))
		flame_text_put(text, "GC pause time");
	else
		flame_text_format(text, "%c%s time", toupper((unsigned char)*sole->pause),
			sole->pause + 1);
}

static void draw_head(struct drawing *d)
{
	const char *title = d->input->title ? d->input->title : "";

	fprintf(d->out, "<g class=\"head\"><rect class=\"back\" width=\"100%%\" height=\"%d\"/>\n",
		d->top - 4);
	fprintf(d->out,
		"<svg class=\"heading\" x=\"%d\" width=\"%d\" height=\"40\">"
		"<text class=\"title\" y=\"29\">",
		MARGIN, WIDTH - 2 * MARGIN);
	flame_text_clear(&d->line);
	put_heading(d, &d->line);
	if (*title) {
		flame_text_put(&d->line, " · ");
		flame_text_clean(&d->line, title, strlen(title), TIP_MOST);
	}
	flame_text_xml(d->out, &d->line, 0);
	fprintf(d->out, "</text></svg>\n<g transform=\"translate(%d,0)\">\n", MARGIN);
	draw_totals(d);
	draw_legend(d);
	incomplete(d->input->recording, &d->line);
	if (d->line.bytes.count) {
		fprintf(d->out, "<text class=\"line warning\" y=\"%d\">", HEAD + 6);
		flame_text_xml(d->out, &d->line, 0);
		fputs("</text>\n", d->out);
	}
	fputs("</g></g>\n", d->out);
}

static void draw_frames(struct drawing *d)
{
	fprintf(d->out, "<svg class=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">\n",
		MARGIN, d->top, WIDTH - 2 * MARGIN, (int)d->tree.depth * ROW);
	for (size_t i = 0; i < d->tree.boxes.count; i++)
		draw_box(d, &d->tree.boxes.items[i]);
	fprintf(d->out,
		"</svg>\n<text class=\"hint\" x=\"%d\" y=\"%d\">Width is %s, widest "
		"first; outermost frames at the bottom, the pauses on top. Click or Enter "
		"zooms, Esc goes back, arrows move, Ctrl-F or / searches.</text>\n",
		MARGIN, d->top + (int)d->tree.depth * ROW + 22, d->wording->width);
	fputs("<metadata>", d->out);
	for (size_t i = 0; i < d->tree.boxes.count; i++)
		fprintf(d->out, "%u %" PRIu64 "\n", d->tree.boxes.items[i].depth,
			d->tree.boxes.items[i].ns);
	fputs("</metadata>\n", d->out);
}

/* The document's, which a browser shows in its tab. */
static void draw_title(struct drawing *d)
{
	flame_text_clear(&d->line);
	put_heading(d, &d->line);
	flame_text_put(&d->line, " by stack (gctrace)");
	fputs("<title>", d->out);
	flame_text_xml(d->out, &d->line, 0);
	fputs("</title>\n", d->out);
}

static void draw(struct drawing *d)
{
	int height;

	incomplete(d->input->recording, &d->line);
	d->top = HEAD + (d->line.bytes.count ? WARNING : 0);
	height = d->top + (int)d->tree.depth * ROW + FOOT;
	fprintf(d->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n",
		WIDTH, height, WIDTH, height);
	draw_title(d);
	fprintf(d->out,
		"<style><![CDATA[\n%s]]></style>\n"
		"<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n",
		flame_style);
	if (d->tree.boxes.count)
		draw_frames(d);
	else
		fprintf(d->out, "<text class=\"hint empty\" x=\"%d\" y=\"%d\">%s</text>\n", MARGIN,
			d->top + 20, d->leaves.pauses ? d->wording->nothing : d->wording->empty);
	draw_head(d);
	if (d->tree.boxes.count)
		fprintf(d->out, "<script><![CDATA[\n%s]]></script>\n", flame_script);
	fputs("</svg>\n", d->out);
}

int flame_svg_write(const struct report_input *input, const struct flame_limits *limits, FILE *out,
	struct err *err)
{
	_cleanup_(drawing_release) struct drawing d = {
		.input = input, .limits = limits, .wording = &wordings[input->weight], .out = out};
	int r = flame_leaves_collect(input, true, &d.leaves, err);

	if (!r && d.leaves.ns)
		r = flame_tree_build(&d.leaves, input->stacks, limits, &d.tree, err);
	if (r)
		return r;
	draw(&d);
	if (d.name.failed || d.line.failed)
		return err_set(err, ENOMEM, "memory ran out while drawing the flame graph");
	if (fflush(out) || ferror(out))
		return err_set(err, errno ? errno : EIO, "cannot write the flame graph: %s",
			strerror(errno ? errno : EIO));
	return 0;
}

static int write_flamegraph(const struct report_input *input, FILE *out, struct err *err)
{
	return flame_svg_write(input, &flame_svg_limits, out, err);
}

const struct report_ops report_flamegraph = {
	.name = "flamegraph",
	.summary = "interactive SVG: pause time by stack and kind of pause",
	.weights = true,
	.write = write_flamegraph,
};
