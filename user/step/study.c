/* Marks by series → strands: what each thread did, as one sequence of symbols by time. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

/* For each line of marks: its symbol, or SKIPPED. */
#define SKIPPED UINT32_MAX

struct gathering {
	struct study *study;
	struct strtab *names;  /* what identifies a symbol → its id, one more than its index */
	struct u64map strands; /* process and tid → index */
	uint32_t *line_symbol;
};

static int compare_marks(const void *a, const void *b)
{
	const struct step_mark *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static void sort_line(struct step_line *line)
{
	for (size_t i = 1; i < line->marks.count; i++)
		if (line->marks.items[i].time_ns < line->marks.items[i - 1].time_ns) {
			qsort(line->marks.items, line->marks.count, sizeof(*line->marks.items),
				compare_marks);
			return;
		}
}

/* The index of the strand of @series, or SKIPPED when memory is out. */
static uint32_t strand_of(struct gathering *g, const struct series *series)
{
	uint64_t key = (uint64_t)series->process << 32 | series->tid;
	const uint64_t *found = u64map_get(&g->strands, key);
	struct strand *strand;

	if (found)
		return (uint32_t)*found;
	if (u64map_put(&g->strands, key, g->study->strands.count))
		return SKIPPED;
	strand = vec_add(&g->study->strands);
	if (!strand)
		return SKIPPED;
	strand->process = series->process;
	strand->tid = series->tid;
	return (uint32_t)(g->study->strands.count - 1);
}

/* A range that numbers itself ("ProfilerStep#17") is one symbol: its label without the number. */
static size_t label_length(const struct series *series, enum step_class class)
{
	size_t len = series->label ? strlen(series->label) : 0;

	while (class == CLASS_RECORD && len > 1 && isdigit((unsigned char)series->label[len - 1]))
		len--;
	return len;
}

/* The index of the symbol of @series, new or known; SKIPPED when memory is out. */
static uint32_t symbol_of(struct gathering *g, const struct series *series,
	const struct signal *signal)
{
	const char *label = series->label && *series->label ? series->label : NULL;
	enum step_class class = classify(signal->name, label);
	/* Requests of all connections are one symbol. */
	int64_t number = class == CLASS_REQUEST ? UNKNOWN : series->number;
	char key[512];
	int head = snprintf(key, sizeof(key), "%u %u %lld %.80s ", series->process, series->tid,
		(long long)number, signal->name);
	size_t len = label_length(series, class), room = sizeof(key) - (size_t)head;
	struct symbol *symbol;
	uint32_t id;

	len = len < room ? len : room;
	if (len)
		memcpy(key + head, label, len);
	id = strtab_add(g->names, key, (size_t)head + len);
	if (id == STRTAB_NONE)
		return SKIPPED;
	if (id <= g->study->symbols.count)
		return id - 1;
	symbol = vec_add(&g->study->symbols);
	if (!symbol)
		return SKIPPED;
	*symbol = (struct symbol){
		.class = class,
		.strand = strand_of(g, series),
		.signal = signal->name,
		.label = label,
		.number = number,
		.first_ns = UINT64_MAX,
		.attached_ns = signal->attached_ns,
		.let_go_ns = signal->let_go_ns,
	};
	return symbol->strand == SKIPPED ? SKIPPED : id - 1;
}

/* Counts @line for its symbol. Lines of unknown series or signals are skipped. */
static int take_line(struct gathering *g, size_t index, const struct step_line *line,
	const char *keep)
{
	const struct series *series = recording_series(g->study->recording, line->series);
	const struct signal *signal =
		series ? recording_signal(g->study->recording, series->signal) : NULL;
	struct symbol *symbol;
	uint32_t id;

	g->line_symbol[index] = SKIPPED;
	if (!signal || !line->marks.count)
		return 0;
	id = symbol_of(g, series, signal);
	if (id == SKIPPED)
		return -ENOMEM;
	symbol = &g->study->symbols.items[id];
	/* Requests come as clients send them: they are no steps of a loop unless the user says so. */
	symbol->used = (!symbol->let_go_ns && symbol->class != CLASS_REQUEST) ||
		       symbol->class == CLASS_LEARNER || /* a part of them says enough */
		       (keep && !strcmp(symbol->signal, keep));
	for (size_t i = 0; i < line->marks.count; i++) {
		symbol->marks += 1ull + line->marks.items[i].skipped;
		symbol->thinned |= line->marks.items[i].skipped > 0;
	}
	if (line->marks.items[0].time_ns < symbol->first_ns)
		symbol->first_ns = line->marks.items[0].time_ns;
	if (line->marks.items[line->marks.count - 1].time_ns > symbol->last_ns)
		symbol->last_ns = line->marks.items[line->marks.count - 1].time_ns;
	g->line_symbol[index] = id;
	if (symbol->used)
		g->study->strands.items[symbol->strand].count += line->marks.count;
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct strand_event *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return (one->symbol > other->symbol) - (one->symbol < other->symbol);
}

static void sort_strand(struct strand *strand)
{
	for (size_t i = 1; i < strand->count; i++)
		if (compare_events(&strand->events[i - 1], &strand->events[i]) > 0) {
			qsort(strand->events, strand->count, sizeof(*strand->events),
				compare_events);
			return;
		}
}

/* Lays out the events of each strand one after another and sorts them. */
static int lay_events(struct gathering *g, const struct step_marks *marks)
{
	struct study *study = g->study;
	size_t total = 0;

	for (size_t i = 0; i < study->strands.count; i++)
		total += study->strands.items[i].count;
	study->events = malloc((total ? total : 1) * sizeof(*study->events));
	if (!study->events)
		return -ENOMEM;
	total = 0;
	for (size_t i = 0; i < study->strands.count; i++) {
		study->strands.items[i].events = study->events + total;
		total += study->strands.items[i].count;
		study->strands.items[i].count = 0;
	}
	for (size_t i = 0; i < marks->lines.count; i++) {
		const struct step_line *line = &marks->lines.items[i];
		uint32_t id = g->line_symbol[i];
		struct strand *strand;

		if (id == SKIPPED || !study->symbols.items[id].used)
			continue;
		strand = &study->strands.items[study->symbols.items[id].strand];
		for (size_t j = 0; j < line->marks.count; j++)
			strand->events[strand->count++] = (struct strand_event){
				.time_ns = line->marks.items[j].time_ns,
				.symbol = id,
				.rss = study->symbols.items[id].thinned
					       ? line->marks.items[j].skipped
					       : line->marks.items[j].rss,
				.work_ns = line->marks.items[j].work_ns,
			};
	}
	for (size_t i = 0; i < study->strands.count; i++)
		sort_strand(&study->strands.items[i]);
	return learners_fold(study);
}

static int compare_symbols(const void *a, const void *b, void *arg)
{
	const struct study *study = arg;
	const struct symbol *one = &study->symbols.items[*(const uint32_t *)a];
	const struct symbol *other = &study->symbols.items[*(const uint32_t *)b];

	if (one->strand != other->strand)
		return one->strand < other->strand ? -1 : 1;
	if (one->marks != other->marks)
		return one->marks > other->marks ? -1 : 1;
	return (one > other) - (one < other);
}

/* Gives each strand the list of its symbols. */
static int order_symbols(struct study *study)
{
	size_t count = study->symbols.count;

	study->order = malloc((count ? count : 1) * sizeof(*study->order));
	study->column = calloc(count ? count : 1, 1);
	if (!study->order || !study->column)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		study->order[i] = (uint32_t)i;
	qsort_r(study->order, count, sizeof(*study->order), compare_symbols, study);
	for (size_t i = 0; i < count; i++) {
		struct strand *strand =
			&study->strands.items[study->symbols.items[study->order[i]].strand];

		if (!strand->symbol_count++)
			strand->symbols = &study->order[i];
	}
	return 0;
}

int study_build(const struct recording *recording, struct step_marks *marks, uint64_t end_ns,
	const char *keep, struct study *ret)
{
	struct gathering g = {.study = ret};
	int r = 0;

	*ret = (struct study){.recording = recording, .end_ns = end_ns};
	g.names = strtab_new();
	g.line_symbol = calloc(marks->lines.count + 1, sizeof(*g.line_symbol));
	if (!g.names || !g.line_symbol)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < marks->lines.count; i++) {
		sort_line(&marks->lines.items[i]);
		r = take_line(&g, i, &marks->lines.items[i], keep);
	}
	if (!r)
		r = lay_events(&g, marks);
	if (!r)
		r = order_symbols(ret);
	strtab_free(g.names);
	u64map_release(&g.strands);
	free(g.line_symbol);
	return r;
}

void study_release(struct study *study)
{
	vec_free(&study->symbols);
	vec_free(&study->strands);
	free(study->events);
	free(study->learners);
	free(study->order);
	free(study->column);
	*study = (struct study){};
}
