/*
 * Pauses of a recording in; whom each stops, figures over all of them, and intervals to charge out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attrib_priv.h"
#include "device_memory.h"
#include "gpu_cost.h"
#include "meaning.h"
#include "stats.h"
#include "cleanup.h"

/* Whom the pauses of a process stop. */
struct owner {
	uint32_t track;	 /* or ATTRIB_NONE */
	bool worker;	 /* its parent's track */
	uint32_t pauses; /* index + 1 into figures.processes; 0: none yet */
};

struct charging_pass {
	struct attribution *attribution;
	struct charging *charging;
	struct owner *owners; /* as recording.processes */
	struct u64map asked;  /* frame → index in figures.asked */
};

/*
 * The process that forked @index: the latest one before it with the parent's pid, as pids are reused; failing
 * that, a later one, as with several -p the child may come first. -1: it was not traced.
 */
static long parent_of(const struct recording *recording, const struct u64map *latest, size_t index)
{
	const struct process *process = &recording->processes.items[index];
	const uint64_t *found = u64map_get(latest, (uint64_t)process->ppid);

	if (found)
		return (long)*found;
	for (size_t i = index + 1; i < recording->processes.count && i < index + 64; i++)
		if (recording->processes.items[i].pid == process->ppid)
			return (long)i;
	return -1;
}

/*
 * A worker has no steps of its own and is a child of a process that has. Grandchildren are not: they feed their
 * own parent.
 */
static int find_owners(const struct attribution *attribution, struct owner **ret)
{
	const struct recording *recording = attribution->recording;
	size_t count = recording->processes.count;
	struct owner *owners = calloc(count + 1, sizeof(*owners));
	struct u64map latest = {}, tracks = {};
	int r = owners ? 0 : -ENOMEM;

	for (size_t i = 0; i < attribution->tracks.count && !r; i++)
		r = u64map_put(&tracks, attribution->steps->tracks.items[i].process, i);
	for (size_t i = 0; i < count && !r; i++) {
		const uint64_t *track = u64map_get(&tracks, recording->processes.items[i].id);

		owners[i].track = track ? (uint32_t)*track : ATTRIB_NONE;
	}
	for (size_t i = 0; i < count && !r; i++) {
		long parent = parent_of(recording, &latest, i);

		if (owners[i].track == ATTRIB_NONE && parent >= 0 && !owners[parent].worker &&
			owners[parent].track != ATTRIB_NONE) {
			owners[i].track = owners[parent].track;
			owners[i].worker = true;
		}
		r = u64map_put(&latest, (uint64_t)recording->processes.items[i].pid, i);
	}
	u64map_release(&latest);
	u64map_release(&tracks);
	if (r) {
		free(owners);
		return r;
	}
	*ret = owners;
	return 0;
}

/* How busy the workers of each track were that lived for half of its steps or longer. */
static void find_busy(const struct owner *owners, struct attribution *attribution)
{
	const struct recording *recording = attribution->recording;

	for (size_t i = 0; i < recording->processes.count; i++) {
		const struct process_cpu *cpu = &recording->processes.items[i].cpu;
		struct track_cost *cost;
		double busy, time = (double)cpu->until_ns - (double)cpu->from_ns;

		if (!owners[i].worker || !(time > 0))
			continue;
		cost = &attribution->tracks.items[owners[i].track];
		busy = (double)cpu->used_ns / time;
		if (2 * time >= (double)cost->time_ns && busy > cost->worker_busy)
			cost->worker_busy = busy;
	}
}

static void keep_longest(struct pause *longest, const struct pause *pause)
{
	if (!longest->id || pause_duration(pause) > pause_duration(longest))
		*longest = *pause;
}

static struct fact_figures *figures_of(struct pause_figures *figures, const char *key)
{
	struct fact_figures *added;

	for (size_t i = 0; i < figures->facts.count; i++)
		if (!strcmp(figures->facts.items[i].key, key))
			return &figures->facts.items[i];
	added = vec_add(&figures->facts);
	if (added)
		*added = (struct fact_figures){.key = key};
	return added;
}

/* 0 or -ENOMEM. */
static int add_fact(const struct pause *pause, int place, struct pause_figures *figures)
{
	struct fact_figures *fact = figures_of(figures, pause->class->of->facts[place].key);
	int64_t value = pause->facts[place];

	if (!fact)
		return -ENOMEM;
	fact->pauses++;
	if (value < 0)
		return 0;
	if (!fact->pause.id || (uint64_t)value > fact->values.max_ns)
		fact->pause = *pause;
	return sums_add(&fact->values, (uint64_t)value);
}

static int add_facts(const struct pause *pause, struct pause_figures *figures)
{
	const struct runtime_meaning *meaning = pause->class->of;
	int r = 0;

	for (int i = 0; !r && i < meaning->fact_count; i++)
		if (meaning->facts[i].figures)
			r = add_fact(pause, i, figures);
	return r;
}

/* Those of one runtime stay together, in its own order. 0 or -ENOMEM. */
static int count_class(struct pause_figures *figures, const struct pause_class *class)
{
	size_t at = 0, last;

	while (at < figures->classes.count && figures->classes.items[at].class->of != class->of)
		at++;
	while (at < figures->classes.count && figures->classes.items[at].class->of == class->of &&
		figures->classes.items[at].class->order < class->order)
		at++;
	if (at < figures->classes.count && figures->classes.items[at].class == class) {
		figures->classes.items[at].pauses++;
		return 0;
	}
	if (!vec_add(&figures->classes))
		return -ENOMEM;
	for (last = figures->classes.count - 1; last > at; last--)
		figures->classes.items[last] = figures->classes.items[last - 1];
	figures->classes.items[at] = (struct class_pauses){class, 1};
	return 0;
}

/* 0 or -ENOMEM. */
static int count_asked(struct charging_pass *pass, const struct pause *pause)
{
	const struct stack_table *stacks = pass->attribution->stacks;
	struct pause_figures *figures = &pass->attribution->figures;
	uint32_t frame =
		pause->stack < stacks->node_count ? pass->charging->triggers[pause->stack] : 0;
	const uint64_t *known = u64map_get(&pass->asked, frame);
	struct asked_pauses *added;

	if (known) {
		figures->asked.items[*known].pauses++;
		return 0;
	}
	added = vec_add(&figures->asked);
	if (!added)
		return -ENOMEM;
	*added = (struct asked_pauses){pause->class->of, frame, 1};
	return u64map_put(&pass->asked, frame, figures->asked.count - 1);
}

static int add_figures(struct charging_pass *pass, const struct pause *pause, long process)
{
	const struct attribution *attribution = pass->attribution;
	struct pause_figures *figures = &pass->attribution->figures;
	struct owner *owner = process < 0 ? NULL : &pass->owners[process];
	uint64_t duration_ns = pause_duration(pause);

	if (pause->at_exit) {
		figures->exits_of = !figures->exits || figures->exits_of == pause->class->of
					    ? pause->class->of
					    : NULL;
		figures->exits++;
		return 0;
	}
	if (sums_add(&figures->durations, duration_ns) || add_facts(pause, figures) ||
		count_class(figures, pause->class) ||
		(pause->cause == CAUSE_MANUAL && count_asked(pass, pause)))
		return -ENOMEM;
	keep_longest(&figures->longest, pause);
	if (pause->class->full > 0) {
		figures->full++;
		stats_add(&figures->full_ns, duration_ns);
		keep_longest(&figures->longest_full, pause);
	}
	if (!owner)
		return 0;
	if (!owner->pauses) {
		struct process_pauses *added = vec_add(&figures->processes);

		if (!added)
			return -ENOMEM;
		added->process = attribution->recording->processes.items[process].id;
		owner->pauses = (uint32_t)figures->processes.count;
	}
	figures->processes.items[owner->pauses - 1].pauses++;
	stats_add(&figures->processes.items[owner->pauses - 1].pause_ns, duration_ns);
	return 0;
}

static void add_trigger(struct charging_pass *pass, const struct pause *pause)
{
	const struct stack_table *stacks = pass->attribution->stacks;
	uint32_t frame =
		pause->stack < stacks->node_count ? pass->charging->triggers[pause->stack] : 0;
	struct trigger_cost *sum = &pass->charging->sums[frame];

	sum->frame = frame;
	if (!sum->pauses++)
		sum->collected = UNKNOWN;
	stats_add(&sum->pause_ns, pause_duration(pause));
	if (pause->collected >= 0 && sum->collected < 0)
		sum->collected = pause->collected;
	else if (pause->collected >= 0 &&
		 __builtin_add_overflow(sum->collected, pause->collected, &sum->collected))
		sum->collected = INT64_MAX;
}

/*
 * When the pause kept its track waiting: all along, or, of a worker, at its end and as long as was
 * observed.
 */
static int add_interval(struct charging_pass *pass, const struct pause *pause, bool worker,
	uint32_t track)
{
	uint64_t waited_ns = pause_duration(pause);
	struct interval *interval;

	if (worker && pause->waited_ns < 0)
		return 0;
	if (worker && (uint64_t)pause->waited_ns < waited_ns)
		waited_ns = (uint64_t)pause->waited_ns;
	if (worker && !waited_ns)
		return 0;
	interval = vec_add(&pass->charging->intervals);
	if (!interval)
		return -ENOMEM;
	interval->start_ns = pause->end_ns - waited_ns;
	interval->end_ns = pause->end_ns;
	interval->charge = (uint32_t)pass->attribution->charges.count - 1;
	interval->track = track;
	if (worker)
		gpu_cost_note_worker(pass->attribution, pass->charging, track, waited_ns);
	return 0;
}

static bool stops_others(const struct runtime *runtime, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;

	return !meaning->stops_others || meaning->stops_others(runtime, pause);
}

/* The place of @class among the attribution's, of which there are a handful. 0 or -ENOMEM. */
static int find_class(struct attribution *attribution, const struct pause_class *class,
	uint16_t *ret)
{
	const struct pause_class **added;
	size_t i = 0;

	while (i < attribution->classes.count && attribution->classes.items[i] != class)
		i++;
	if (i == attribution->classes.count) {
		added = i <= UINT16_MAX ? vec_add(&attribution->classes) : NULL;
		if (!added)
			return -ENOMEM;
		*added = class;
	}
	*ret = (uint16_t)i;
	return 0;
}

/*
 * @owner: the process's, or NULL. A pause at the runtime's exit stops no step: of the last step
 * only the begin is known, and training is over.
 */
static int add_charge(struct charging_pass *pass, const struct pause *pause,
	const struct owner *owner, const struct runtime *runtime)
{
	struct attribution *attribution = pass->attribution;
	uint32_t track = owner ? owner->track : ATTRIB_NONE;
	struct charge *charge = vec_add(&attribution->charges);
	struct track_cost *cost;
	uint16_t class;

	if (!charge || find_class(attribution, pause->class, &class))
		return -ENOMEM;
	*charge = (struct charge){.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.track = track,
		.step = ATTRIB_NONE,
		.stack = pause->stack,
		.class = class,
		.worker = owner && owner->worker};
	if (track == ATTRIB_NONE) {
		attribution->elsewhere++;
		stats_add(&attribution->elsewhere_ns, pause_duration(pause));
		return 0;
	}
	cost = &attribution->tracks.items[track];
	if (owner->worker) {
		cost->worker_pauses++;
		stats_add(&cost->worker_ns, pause_duration(pause));
		return pause->at_exit ? 0 : add_interval(pass, pause, true, track);
	}
	charge->own = !pause->class->of->asked &&
		      pause->tid == attribution->steps->tracks.items[track].tid;
	cost->pauses++;
	if (stops_others(runtime, pause) && !pause->at_exit)
		return add_interval(pass, pause, false, track);
	charge->track = ATTRIB_NONE;
	stats_add(&cost->pause_ns, pause_duration(pause));
	cost->outside++;
	stats_add(&cost->outside_ns, pause_duration(pause));
	return 0;
}

static int64_t heap_of(const struct pause *pause, const char *key)
{
	int place = meaning_fact(pause->class->of, key);

	return place < 0 ? UNKNOWN : pause->facts[place];
}

/* Keeps a pause that a call for a collection may have caused; @charged: it has a charge. */
static int add_explicit(struct charging_pass *pass, const struct pause *pause, uint32_t process,
	bool charged)
{
	const struct attribution *attribution = pass->attribution;
	bool named = pause->class->of->asked_for(attribution->stacks->strings, pause);
	struct explicit_pause *added;

	if (!named && (!pause_collects(pause) || !u64map_get(&pass->charging->callers,
							 (uint64_t)process << 32 | pause->tid)))
		return 0;
	added = vec_add(&pass->charging->explicit);
	if (!added)
		return -ENOMEM;
	*added = (struct explicit_pause){
		.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.process = process,
		.tid = pause->tid,
		.charge = charged ? (uint32_t)attribution->charges.count - 1 : ATTRIB_NONE,
		.named = named,
		.heap_before = heap_of(pause, FACT_HEAP_BEFORE),
		.heap_after = heap_of(pause, FACT_HEAP_AFTER),
	};
	return 0;
}

/* Keeps when a process stood still whose threads also waited by themselves. */
static int add_stopped(struct charging *charging, const struct pause *pause, uint32_t process)
{
	struct stopped *added;

	if (!u64map_get(&charging->stalled, process))
		return 0;
	added = vec_add(&charging->stopped);
	if (!added)
		return -ENOMEM;
	*added = (struct stopped){pause->start_ns, pause->end_ns, process};
	return 0;
}

static int read_one(struct charging_pass *pass, struct pause *pause)
{
	struct attribution *attribution = pass->attribution;
	const struct recording *recording = attribution->recording;
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;
	long index = process ? process - recording->processes.items : -1;

	if (pause->end_ns < pause->start_ns)
		pause->end_ns = pause->start_ns;
	if (pause->end_ns > attribution->end_ns && !recording->end_ns)
		attribution->end_ns = pause->end_ns;
	if (add_figures(pass, pause, index))
		return -ENOMEM;
	add_trigger(pass, pause);
	if (gpu_cost_note(attribution, pass->charging, process, pause,
		    runtime && stops_others(runtime, pause)) ||
		device_memory_note(attribution, pass->charging, pause))
		return -ENOMEM;
	if (!attribution->tracks.count) {
		attribution->elsewhere++;
		stats_add(&attribution->elsewhere_ns, pause_duration(pause));
	} else if (add_charge(pass, pause, index < 0 ? NULL : &pass->owners[index], runtime)) {
		return -ENOMEM;
	}
	if (process && add_stopped(pass->charging, pause, process->id))
		return -ENOMEM;
	return process && pause->flags & PAUSE_HAS_FACTS && pause->class->of->asked_for
		       ? add_explicit(pass, pause, process->id, attribution->tracks.count)
		       : 0;
}

/* Finds the threads that call for collections, and the processes whose threads wait by themselves. */
static int find_callers(const struct recording *recording, struct charging *charging)
{
	for (size_t i = 0; i < recording->stalls.count; i++) {
		const struct stall *stall = &recording->stalls.items[i];
		const struct runtime *runtime = recording_runtime(recording, stall->runtime);

		if (runtime && u64map_put(&charging->stalled, runtime->process, 1))
			return -ENOMEM;
		if (stall->kind == STALL_EXPLICIT && runtime &&
			u64map_put(&charging->callers,
				(uint64_t)runtime->process << 32 | stall->tid, 1))
			return -ENOMEM;
	}
	return 0;
}

int charge_read(struct attribution *attribution, struct charging *charging, attrib_next_fn next,
	void *source, struct err *err)
{
	_cleanup_free_ struct owner *owners = NULL;
	struct charging_pass pass = {.attribution = attribution, .charging = charging};
	struct pause pause;
	int r = 1;

	if (find_owners(attribution, &owners) || find_callers(attribution->recording, charging))
		return err_set(err, ENOMEM, "out of memory while charging pauses to steps");
	find_busy(owners, attribution);
	pass.owners = owners;
	while (r > 0 && (r = next(source, &pause, err)) > 0)
		if (attribution->charges.count >= ATTRIB_NONE || read_one(&pass, &pause))
			r = err_set(err, ENOMEM,
				"out of memory after %zu pauses: report a shorter recording",
				attribution->figures.durations.count);
	u64map_release(&pass.asked);
	return r;
}
