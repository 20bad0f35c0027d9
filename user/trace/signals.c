/* Step signals: plans → probes in place, let go while they run hot; the recording's signal table. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "mem.h"
#include "trace_priv.h"

#define FIRST_WAIT_NS  10000000000ull /* until what was let go is tried again, then twice that */
#define SETTLE_POLL_MS 2

/* What a signal may cost of a processor's time, as its reciprocal: 1/400, and where it is thinned 1 %. */
#define COST	     400
#define COST_THINNED 100

static void tell(struct trace *trace, size_t index)
{
	struct signal *signal = &trace->recording.signals.items[index];
	int r = trace->sink.signal ? trace->sink.signal(trace->sink.arg, signal) : 0;

	trace->steps.signals[index].told_hits = signal->hits;
	trace_note_sink(trace, r);
}

int trace_steps_open(struct trace *trace, struct err *err)
{
	const struct trace_options *options = &trace->options;
	struct step_watch *steps = &trace->steps;
	void *page;

	if (!options->steps && !options->step_wish)
		return 0;
	if (options->step_wish)
		steps->wish = *options->step_wish;
	steps->texts = strtab_new();
	if (!steps->texts)
		return err_set(err, ENOMEM, "out of memory");
	page = mmap(NULL, sizeof(*steps->page), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(trace->programs.bpf->maps.signals), 0);
	if (page == MAP_FAILED)
		return err_set(err, errno, "the BPF map of step signals cannot be mapped: %s",
			strerror(errno));
	steps->page = page;
	steps->on = true;
	return 0;
}

static void detach(struct step_signal *watch)
{
	for (size_t i = 0; i < watch->places.count; i++)
		uprobe_detach(&watch->places.items[i].probe);
}

void trace_steps_close(struct trace *trace)
{
	struct step_watch *steps = &trace->steps;

	trace_scans_close(trace);
	uprobe_detach(&steps->price_probe);
	for (size_t i = 0; i < ARRAY_SIZE(steps->signals); i++) {
		detach(&steps->signals[i]);
		vec_free(&steps->signals[i].places);
	}
	for (size_t i = 0; i < steps->fds.count; i++)
		close(steps->fds.items[i]);
	vec_free(&steps->fds);
	if (steps->page)
		munmap(steps->page, sizeof(*steps->page));
	u64map_release(&steps->files);
	u64map_release(&steps->labels);
	u64map_release(&steps->series);
	strtab_free(steps->texts);
}

static int find_signal(const struct trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->recording.signals.count; i++)
		if (!strcmp(trace->recording.signals.items[i].name, name))
			return (int)i;
	return -ENOENT;
}

static void set_rate(struct trace *trace, size_t index)
{
	struct gc_signal *state = &trace->steps.page->signals[index];
	uint64_t price = trace->steps.price_ns ? trace->steps.price_ns : TRACE_HIT_PRICE_NS;

	state->rate_ns = (uint32_t)(price * (state->thinned ? COST_THINNED : COST));
}

/* What a hit costs here, measured when a signal first comes near a limit: most sessions need not know. */
static uint64_t hit_price(struct trace *trace)
{
	struct step_watch *steps = &trace->steps;

	if (steps->price_ns)
		return steps->price_ns;
	steps->price_ns = trace_hit_price(trace, &steps->price_probe);
	for (size_t i = 0; i < trace->recording.signals.count; i++)
		set_rate(trace, i);
	return steps->price_ns;
}

/* The signal of that name, a new one if need be. Its index or -errno. */
static int get_signal(struct trace *trace, const struct signal_plan *plan)
{
	size_t index = trace->recording.signals.count;
	int known = find_signal(trace, plan->name), other;
	struct signal *signal;

	if (known >= 0)
		return known;
	if (index == GC_MAX_SIGNALS)
		return -E2BIG;
	signal = vec_add(&trace->recording.signals);
	if (!signal)
		return -ENOMEM;
	signal->id = (uint32_t)index + 1;
	snprintf(signal->name, sizeof(signal->name), "%s", plan->name);
	other = plan->spare_of ? find_signal(trace, plan->spare_of) : -ENOENT;
	trace->steps.signals[index].spare_of = (uint32_t)(other < 0 ? 0 : other + 1);
	trace->steps.signals[index].spare_rate = plan->spare_rate;
	trace->steps.page->signals[index].kept = plan->kept;
	trace->steps.page->signals[index].thinned = plan->thinned;
	set_rate(trace, index);
	return (int)index;
}

static int attach(struct trace *trace, struct step_place *place)
{
	char path[32];
	const struct uprobe_place at = {
		path, place->offset, place->semaphore, place->cookie, false};
	int r;

	if (trace->recording.steps_until_ns)
		return 0;
	/* By the open file: the process through which it was found may be gone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	r = uprobe_attach(trace->programs.bpf->progs.on_step, &at, &place->probe);
	trace->unprobed_steps += r < 0;
	return r;
}

/* Appends what was probed in one more file. */
static void describe(struct signal *signal, const char *detail)
{
	char *text = NULL;

	if (signal->probe && strlen(signal->probe) > 1024)
		return;
	if (asprintf(&text, "%s%s%s", signal->probe ? signal->probe : "", signal->probe ? "; " : "",
		    detail) < 0)
		return;
	free(signal->probe);
	signal->probe = text;
}

void trace_step_attach(struct trace *trace, int fd, const struct signal_plan *plan)
{
	int index = get_signal(trace, plan), r = 0;
	struct step_signal *watch;
	struct signal *signal;

	if (index < 0) {
		log_debug("%s: %s", plan->name, strerror(-index));
		return;
	}
	signal = &trace->recording.signals.items[index];
	watch = &trace->steps.signals[index];
	for (size_t i = 0; i < plan->site_count && !r; i++) {
		const struct signal_site *site = &plan->sites[i];
		struct step_place *place = vec_add(&watch->places);

		if (!place)
			return;
		*place = (struct step_place){fd, site->offset, site->semaphore,
			GC_STEP_COOKIE(index, site->variant, plan->key, plan->argument,
				plan->offset),
			site->label, {}};
		if (!signal->let_go_ns && !(watch->settled && plan->key == GC_KEY_HINT))
			r = attach(trace, place); /* else when it is tried again, or never */
	}
	if (r && plan->kept)
		log_warning("%s cannot be probed: %s", plan->detail, strerror(-r));
	if (!r && !signal->attached_ns)
		signal->attached_ns = now_ns();
	describe(signal, plan->detail);
	log_debug("%s: %s%s%s", signal->name, plan->detail, r ? ": " : "", r ? strerror(-r) : "");
	tell(trace, (size_t)index);
}

/* Takes the signal's probes away. Its marks so far stay. */
static void let_go(struct trace *trace, size_t index)
{
	struct signal *signal = &trace->recording.signals.items[index];
	struct step_signal *watch = &trace->steps.signals[index];

	detach(watch);
	signal->let_go_ns = now_ns();
	signal->hits = trace->steps.page->signals[index].hits;
	watch->wait_ns = watch->wait_ns ? 2 * watch->wait_ns : FIRST_WAIT_NS;
	watch->retry_ns = signal->let_go_ns + watch->wait_ns;
	for (size_t i = 0; i < trace->recording.signals.count; i++) /* its spare is needed now */
		if (trace->steps.signals[i].spare_of == index + 1 &&
			trace->steps.signals[i].retry_ns)
			trace->steps.signals[i].retry_ns = signal->let_go_ns;
	tell(trace, index);
}

static void try_again(struct trace *trace, size_t index)
{
	struct signal *signal = &trace->recording.signals.items[index];
	volatile struct gc_signal *state = &trace->steps.page->signals[index];
	struct step_signal *watch = &trace->steps.signals[index];

	log_debug("%s is tried again", signal->name);
	signal->let_go_ns = 0;
	watch->retry_ns = 0;
	state->due_ns = 0;
	state->muted = 0;
	for (size_t i = 0; i < watch->places.count; i++)
		attach(trace, &watch->places.items[i]);
	tell(trace, index);
}

/* A user's own signal is never let go, but its price is said. */
static void warn_if_hot(struct trace *trace, size_t index, uint64_t now)
{
	const struct signal *signal = &trace->recording.signals.items[index];
	struct step_signal *watch = &trace->steps.signals[index];
	uint64_t most, grown = signal->hits - watch->level_hits;

	if (!watch->level_ns) {
		watch->level_ns = now;
		watch->level_hits = signal->hits;
		return;
	}
	most = (now - watch->level_ns) / trace->steps.page->signals[index].rate_ns;
	if (grown <= most) {
		watch->level_ns = now;
		watch->level_hits = signal->hits;
	} else if (grown - most > GC_SIGNAL_BURST && !watch->warned) {
		watch->warned = true;
		log_warning("%s is called %llu times a second: each call now costs the workload "
			    "about a microsecond, and the recording a row",
			signal->name,
			(unsigned long long)(grown * 1000000000ull / (now - watch->level_ns + 1)));
	}
}

/* Whether a signal that says more does so, and this one would only make very short steps longer. */
static bool is_spare(struct trace *trace, size_t index, uint64_t now)
{
	const struct signal *signal = &trace->recording.signals.items[index];
	struct step_signal *watch = &trace->steps.signals[index];
	const struct signal *other;
	uint64_t grown, most;
	bool spare;

	if (!watch->spare_of || signal->let_go_ns || now - watch->rate_ns < 1000000000)
		return false;
	other = &trace->recording.signals.items[watch->spare_of - 1];
	grown = signal->hits - watch->rate_hits;
	most = watch->spare_rate * (now - watch->rate_ns) / 1000000000;
	spare = watch->rate_ns && !other->let_go_ns && other->hits > watch->other_hits &&
		trace->steps.page->signals[watch->spare_of - 1].marked && grown > most &&
		grown * hit_price(trace) > most * TRACE_HIT_PRICE_NS;
	watch->rate_ns = now;
	watch->rate_hits = signal->hits;
	watch->other_hits = other->hits;
	return spare;
}

/* The outer functions' probes only cost, once the inner one is known to be called. */
static void drop_hints(struct step_signal *watch)
{
	watch->settled = true;
	for (size_t i = 0; i < watch->places.count; i++) {
		struct step_place *place = &watch->places.items[i];

		if (GC_STEP_KEY(place->cookie) != GC_KEY_HINT)
			continue;
		uprobe_detach(&place->probe);
		*place = watch->places.items[--watch->places.count];
		i--;
	}
}

/* Whether a quarter of the hits that are borne at once have come. */
static bool runs_hot(const volatile struct gc_signal *state, uint64_t now)
{
	return state->due_ns > now + (uint64_t)state->rate_ns * GC_SIGNAL_BURST / 4;
}

static void watch_signal(struct trace *trace, size_t index, uint64_t now)
{
	const volatile struct gc_signal *state = &trace->steps.page->signals[index];
	struct signal *signal = &trace->recording.signals.items[index];
	struct step_signal *watch = &trace->steps.signals[index];

	signal->hits = state->hits;
	if (!trace->steps.price_ns && runs_hot(state, now))
		hit_price(trace);
	if (state->kept)
		warn_if_hot(trace, index, now);
	if (state->direct && !watch->settled)
		drop_hints(watch);
	if ((state->muted && !signal->let_go_ns) || is_spare(trace, index, now))
		let_go(trace, index);
	else if (watch->retry_ns && now >= watch->retry_ns)
		try_again(trace, index);
}

/* There are as many marks as are kept: the probes would only cost. */
static void end_marks(struct trace *trace)
{
	if (trace->steps.ended)
		return;
	trace->steps.ended = true;
	for (size_t i = 0; i < ARRAY_SIZE(trace->steps.signals); i++)
		detach(&trace->steps.signals[i]);
	log_warning(
		"%llu calls that may mark steps are recorded, and no more are: later steps will not be known",
		(unsigned long long)trace->options.marks_most);
}

void trace_steps_turn(struct trace *trace)
{
	uint64_t now = now_ns();

	if (!trace->steps.on)
		return;
	trace_scans_turn(trace);
	if (trace->recording.steps_until_ns) {
		end_marks(trace);
		return;
	}
	for (size_t i = 0; i < trace->recording.signals.count; i++)
		watch_signal(trace, i, now);
}

void trace_steps_settle(struct trace *trace)
{
	struct pollfd ring = {.fd = trace_fd(trace), .events = POLLIN};

	while (trace->steps.scans.count) {
		trace_scans_settle(trace);
		if (poll(&ring, 1, SETTLE_POLL_MS) > 0) { /* nearly full, or news of a process */
			trace_woken(trace);
			trace_consume(trace);
		}
		trace_scans_turn(trace);
	}
}

void trace_steps_finish(struct trace *trace)
{
	if (!trace->steps.on)
		return;
	for (size_t i = 0; i < trace->recording.signals.count; i++) {
		struct signal *signal = &trace->recording.signals.items[i];

		signal->hits = trace->steps.page->signals[i].hits;
		if (signal->hits != trace->steps.signals[i].told_hits)
			tell(trace, i);
	}
}

/* "; did you mean a, b or c?" */
static void list_near(const struct signal_near *near, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < near->count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
			!i		      ? "; did you mean "
			: i + 1 < near->count ? ", "
					      : " or ",
			near->best[i].name);
	if (near->count && used + 2 < size)
		snprintf(text + used, size - used, "?");
}

int trace_check_step(const struct trace *trace, struct err *err)
{
	const struct step_watch *steps = &trace->steps;
	const struct signal_wish *wish = &steps->wish;
	char near[300];

	if (!wish->name[0] || find_signal(trace, wish->name) >= 0)
		return 0;
	if (wish->usdt)
		return err_set(err, ENOENT,
			"no file that the process has mapped holds the USDT probe %s:%s (readelf -n "
			"FILE lists those of a file); if it will be loaded later, add --wait",
			wish->library, wish->symbol);
	if (!steps->searched[0]) {
		list_near(&steps->near_files, near, sizeof(near));
		return err_set(err, ENOENT,
			"no file that the process has mapped has a name that begins with \"%s\"%s (if it "
			"will be loaded later, add --wait)",
			wish->library, near);
	}
	list_near(&steps->near, near, sizeof(near));
	return err_set(err, ENOENT,
		"%s has no function %s%s (if it will be loaded later, add --wait)", steps->searched,
		wish->symbol, near);
}
