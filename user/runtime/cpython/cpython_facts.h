/* The facts of CPython's pauses: their places in struct pause.facts, which capture/ fills and meaning/ explains. */
#pragma once

/*
 * Thresholds: what gc.get_threshold() would have said as the pause began. Known of the first pause of a process and of those
 * by which one of them had changed: of the others they are those of the one before.
 */
enum cpython_fact {
	CPYTHON_THRESHOLD_0,
	CPYTHON_THRESHOLD_1,
	CPYTHON_THRESHOLD_2,
	/*
	 * Of a free-threaded build, where that is known. The pause is the call of the collector, which keeps its own thread
	 * all along; others stop while it asks them to, and until it lets them go.
	 */
	CPYTHON_REACH_NS,   /* until the last of them had stopped, all times together */
	CPYTHON_STOPPED_NS, /* from then on until they could go on, likewise */
	CPYTHON_ALONE_NS,   /* the rest: only its own thread does not go on */
	CPYTHON_FIRST_AT,   /* the first time: from the pause's start until they are asked, … */
	CPYTHON_FIRST_NS,   /* … and from then on until they could go on */
	CPYTHON_SECOND_AT,
	CPYTHON_SECOND_NS,
	CPYTHON_FIRST_REACH, /* of the first time, until the last had stopped */
	CPYTHON_SECOND_REACH,
	CPYTHON_FACTS
};
