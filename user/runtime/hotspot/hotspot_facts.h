/* The places in struct pause.facts of what HotSpot tells of its pauses. */
#pragma once

enum hotspot_fact {
	HOTSPOT_OPERATION, /* string: "G1CollectForAllocation", as -Xlog:safepoint calls it */
	HOTSPOT_CAUSE, /* string: "G1 Evacuation Pause", HotSpot's own words; 0 without a collection */
	HOTSPOT_YOUNG_COLLECTIONS, /* within; UNKNOWN: not counted */
	HOTSPOT_FULL_COLLECTIONS,
	/* ns; where all of them are known, together the pause's duration: */
	HOTSPOT_TTSP_NS, /* from the request until all threads stood still */
	HOTSPOT_CLEANUP_NS, /* JDK 17 to 22: 8 and 11 tell no part of its own, 23 has none (JDK-8329488) */
	HOTSPOT_CORE_NS, /* "At safepoint": the operation itself */
	HOTSPOT_LEAVE_NS, /* "Leaving": threads run again one by one; JDK 25+, 21.0.8+ (JDK-8350313) */
	HOTSPOT_HEAP_BEFORE, /* bytes used, around the collections within */
	HOTSPOT_HEAP_AFTER,
	HOTSPOT_LATE_TID,   /* the thread that reached the safepoint last; only after a long ttsp */
	HOTSPOT_LATE_STACK, /* where it was */
	HOTSPOT_LATE_RAN_NS, /* for how long of that it had had a processor, at least */
	HOTSPOT_FACTS
};
