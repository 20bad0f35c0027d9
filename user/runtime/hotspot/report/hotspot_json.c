/* A safepoint in; the keys that its JSON record has beside a pause's out: a contract, so their order stays. */
#include "hotspot_report.h"
#include "json_line.h"
#include "json_stack.h"
#include "runtime_words.h"

void hotspot_json(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, struct report_room *room)
{
	const int64_t *facts = pause->facts;
	int64_t late_tid = facts[HOTSPOT_LATE_TID] > 0 ? facts[HOTSPOT_LATE_TID] : UNKNOWN;

	line_bool(out, "gc", pause->collects);
	json_word(out, "operation", stacks, (uint32_t)facts[HOTSPOT_OPERATION]);
	line_bool(out, "concurrent", !!(pause->flags & PAUSE_CONCURRENT));
	line_known(out, "young_collections", facts[HOTSPOT_YOUNG_COLLECTIONS]);
	line_known(out, "full_collections", facts[HOTSPOT_FULL_COLLECTIONS]);
	line_known(out, "ttsp_ns", facts[HOTSPOT_TTSP_NS]);
	line_known(out, "cleanup_ns", facts[HOTSPOT_CLEANUP_NS]);
	line_known(out, "core_ns", facts[HOTSPOT_CORE_NS]);
	line_known(out, "leave_ns", facts[HOTSPOT_LEAVE_NS]);
	line_known(out, "heap_before_bytes", facts[HOTSPOT_HEAP_BEFORE]);
	line_known(out, "live_bytes", facts[HOTSPOT_HEAP_AFTER]);
	line_known(out, "freed_bytes",
		summary_freed(facts[HOTSPOT_HEAP_BEFORE], facts[HOTSPOT_HEAP_AFTER]));
	line_text(out, "thread", words_thread(recording, pause->runtime, pause->tid));
	line_known(out, "late_tid", late_tid);
	line_text(out, "late_thread", words_thread(recording, pause->runtime, late_tid));
	json_stack(out, "late_stack", stacks, (uint32_t)facts[HOTSPOT_LATE_STACK], room);
	line_known(out, "late_ran_ns", facts[HOTSPOT_LATE_RAN_NS]);
	line_bool(out, "exact", !(pause->flags & PAUSE_INEXACT));
}
