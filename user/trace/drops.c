/* What each part of the session counted as lost → the recording's drops, with remedies. */
#include "trace_priv.h"

/* Images whose pauses cannot be told by what is known of them. */
static uint64_t count_misfits(const struct images *images)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < images->count; i++)
		count += images->items[i].misfit;
	return count;
}

void trace_count_drops(struct trace *trace)
{
	static const struct {
		const char *cause, *remedy;
	} kernel[GC_DROP_COUNT] = {
		[GC_DROP_RING] = {"ring-full", "give a larger --buffer"},
		[GC_DROP_THREAD] = {"thread-state",
			"the kernel had no memory for it, or was busy with it (before 6.2)"},
		[GC_DROP_UNMATCHED_END] = {"unmatched-end",
			"please report this, unless thread-state stands beside it"},
		[GC_DROP_TARGETS] = {"too-many-processes", "use --no-children, or several -p"},
	};

	for (int i = 0; i < GC_DROP_COUNT; i++)
		feed_drop(&trace->feed, kernel[i].cause,
			__atomic_load_n(&trace->shared->drops[i], __ATOMIC_RELAXED),
			kernel[i].remedy);
	feed_drop(&trace->feed, "unprobed-runtime", trace->looks.unprobed,
		*trace->looks.unprobed_why
			? trace->looks.unprobed_why
			: "a process got a runtime that could not be probed: gctrace doctor -p PID");
	feed_drop(&trace->feed, "layout-unknown", count_misfits(&trace->images),
		"a runtime keeps its state elsewhere than its version does: gctrace doctor -p PID");
	feed_drop(&trace->feed, "unprobed-linker", trace->linkers.unprobed,
		"a runtime that a process loads later is not seen: gctrace doctor says why");
	feed_drop(&trace->feed, "unprobed-step", trace->steps.unprobed,
		"a call that may mark steps could not be probed: gctrace doctor says why");
	feed_drop(&trace->feed, "unprobed-fact", trace->images.unprobed_facts,
		"a probe of a runtime could not be attached: what it tells is missing");
	feed_drop(&trace->feed, "gpu-records", trace->gpu.lost,
		"what GPUs did then is not known: give a larger --buffer");
	feed_drop(&trace->feed, "cupti-records", trace->gpu.dropped,
		"CUPTI had no buffer for them: what GPUs did then is not known");
	feed_drop(&trace->feed, "unprobed-gpu", trace->gpu.unprobed + trace->driver.unprobed,
		"a CUPTI shim, or CUDA's driver, could not be probed: what GPUs do is not known; "
		"gctrace doctor says why");
	captures_drops(&trace->captures);
	feed_drop(&trace->feed, "skipped-program", trace->gaps.skipped,
		"a fork or exec, of whatever process, was not told: a child's first pauses may be missing");
	feed_drop(&trace->feed, "late-probes", trace->ledger.late_probes,
		"a program collected before it was probed: name it: gctrace run -- python3 train.py");
	feed_drop(&trace->feed, "unseen-program", trace->looks.unseen,
		"a program ended before it was looked at: name it: gctrace run -- python3 train.py");
	feed_drop(&trace->feed, "bad-record",
		trace->bad_records + trace->gpu.bad + trace->driver.bad, "please report this");
	feed_drop(&trace->feed, "unfinished-pause", trace->ledger.unfinished,
		"the end of a pause was lost: its length is not known");
}
