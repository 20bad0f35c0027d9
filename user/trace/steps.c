/* The life of what watches step signals: open, a turn now and then, finish, close. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "gctrace.skel.h"
#include "steps_priv.h"

int steps_open(struct step_watch *steps, const struct trace_options *options, const char *of,
	struct err *err)
{
	void *page;

	if (!options->steps && !options->step_wish)
		return 0;
	steps->known_signals = options->steps;
	steps->marks_most = options->marks_most;
	if (options->step_wish)
		steps->wish = *options->step_wish;
	steps->of = of;
	steps->texts = strtab_new();
	if (!steps->texts)
		return err_set(err, ENOMEM, "out of memory");
	page = mmap(NULL, sizeof(*steps->page), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(steps->programs->bpf->maps.signals), 0);
	if (page == MAP_FAILED)
		return err_set(err, errno, "the BPF map of step signals cannot be mapped: %s",
			strerror(errno));
	steps->page = page;
	steps->page->waits.epoch = 1;
	step_set_waits_rate(steps, STEP_HIT_PRICE_NS);
	steps->on = true;
	return 0;
}

void steps_close(struct step_watch *steps)
{
	step_close_scans(steps);
	if (steps->on)
		steps_over(steps, 0);
	uprobe_detach(&steps->price_probe);
	for (size_t i = 0; i < ARRAY_SIZE(steps->signals); i++) {
		step_detach(&steps->signals[i]);
		vec_free(&steps->signals[i].places);
	}
	step_waits_detach(steps);
	vec_free(&steps->waits.places);
	for (size_t i = 0; i < steps->fds.count; i++)
		close(steps->fds.items[i]);
	vec_free(&steps->fds);
	if (steps->page)
		munmap(steps->page, sizeof(*steps->page));
	u64map_release(&steps->files);
	u64map_release(&steps->told);
	u64map_release(&steps->labels);
	u64map_release(&steps->series);
	strtab_free(steps->texts);
}

void steps_turn(struct step_watch *steps)
{
	if (!steps->on)
		return;
	steps_take_scans(steps);
	step_watch_signals(steps, now_ns());
}

void steps_finish(struct step_watch *steps)
{
	if (!steps->on)
		return;
	for (size_t i = 0; i < steps->feed->recording.signals.count; i++) {
		struct signal *signal = &steps->feed->recording.signals.items[i];

		signal->hits = steps->page->signals[i].hits;
		if (signal->hits != steps->signals[i].told_hits)
			step_tell(steps, i);
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

int steps_check_wish(const struct step_watch *steps, struct err *err)
{
	const struct signal_wish *wish = &steps->wish;
	char near[300];

	if (!wish->name[0] || step_find_signal(steps, wish->name) >= 0)
		return 0;
	list_near(&steps->near, near, sizeof(near));
	if (steps->refused)
		return err_set(err, ENOENT,
			"calls of %s in memory are seen by debug registers only, which are not set unless "
			"GCTRACE_DEBUG_REGISTERS=1 allows it",
			wish->symbol);
	if (steps->of)
		return err_set(err, ENOENT,
			"no function %s of %s has been compiled in the process%s (what is inlined into "
			"all its callers has no code of its own; if it will be compiled later, add "
			"--wait)",
			wish->symbol, steps->of, near);
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
	return err_set(err, ENOENT,
		"%s has no function %s%s (if it will be loaded later, add --wait)", steps->searched,
		wish->symbol, near);
}
