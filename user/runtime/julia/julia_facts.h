/* The places in struct pause.facts of what Julia tells of its pauses, which capture/ fills and meaning/ explains. */
#pragma once

enum julia_fact {
	JULIA_TTSP_NS, /* from the call of the collector until all threads stood still */
	JULIA_CORE_NS, /* collecting: by how much gc_num.total_time grew */
	JULIA_MARK_NS, /* of the core */
	JULIA_SWEEP_NS,
	JULIA_POST_NS, /* finalizers and callbacks, once the threads may run again */
	JULIA_FREED_BYTES,
	JULIA_HEAP_BEFORE, /* bytes, as jl_gc_live_bytes() counts, and what was allocated since */
	JULIA_HEAP_AFTER,  /* as it counts */
	JULIA_ASKED,	  /* string: "auto", "full", "incremental": the argument of the collector */
	JULIA_LATE_TID,	  /* the thread that came to the safepoint last */
	JULIA_LATE_STACK, /* where it was */
	JULIA_FULL_SWEEPS, /* by how much gc_num.full_sweep grew: 2 if it collected all of the heap twice */
	JULIA_FACTS
};
