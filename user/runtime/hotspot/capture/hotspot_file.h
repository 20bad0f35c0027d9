/* What is kept of a libjvm, in struct probe_plan.own, and what its sites are. */
#pragma once

#include "hotspot_wire.h"
#include "probe.h"

/* probe_site.kind; see bpf/hotspot/ */
enum hotspot_site {
	SITE_SAFEPOINT_BEGIN,
	SITE_SAFEPOINT_SYNC,
	SITE_SAFEPOINT_END,
	SITE_SAFEPOINT_BLOCK, /* a thread has come to the safepoint */
	SITE_HEAP_SUMMARY,
	SITE_VM_REQUEST, /* USDT: an operation is handed to the VM Thread, */
	SITE_VM_BEGIN,	 /* and begun */
	SITE_WAIT,	 /* a thread waits from a function's entry to its return */
	SITE_PHASE_BEGIN,
	SITE_PHASE_END,
	SITE_PERF_WATCH, /* writes of the VM Thread to a counter */
};

/* SafepointTracing's variables, and what else a libjvm's symbols give away. */
enum hotspot_static {
	HOTSPOT_TYPE, /* _current_type */
	HOTSPOT_BEGIN,
	HOTSPOT_SYNC,
	HOTSPOT_CLEANUP,
	HOTSPOT_LEAVE,
	HOTSPOT_END,
	HOTSPOT_STATICS
};

struct hotspot_file {
	uint64_t statics; /* virtual address of the first; 0: not known */
	uint32_t statics_bytes;
	uint8_t at[HOTSPOT_STATICS]; /* of each, from there; 0xff: this version has none */
	uint64_t operation_names;    /* VM_Operation::_names; 0: not known */
	bool arguments;		     /* the safepoint functions are given nanoseconds (17+) */
	uint64_t site_address[GC_MAX_SITES]; /* of the plan's sites, in the file */
};

_Static_assert(sizeof(struct hotspot_file) <= PROBE_OWN_BYTES, "it has room in a plan");

static inline struct hotspot_file *hotspot_file(const struct probe_plan *plan)
{
	return (struct hotspot_file *)plan->own;
}
