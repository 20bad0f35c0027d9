/*
 * What a runtime adds to the reports that its facts and classes make of themselves. For report/ and the runtimes'
 * folders report/.
 */
#pragma once

#include "model_tables.h"
#include "room.h"

struct runtime_report {
	/*
	 * Its tables of @kind, instead of those by class: model_tables.h has what it may call for those that all runtimes have.
	 * @kind is sorted, and of a recording without such pauses it is empty.
	 */
	void (*tables)(struct model *model, const struct report_input *input,
		const struct summary_kind *kind);

	/* What JSON has of a pause beside the keys of all, instead of its class and facts in their order: json_line.h. */
	void (*json)(FILE *out, const struct recording *recording, const struct stack_table *stacks,
		const struct pause *pause, struct report_room *room);
};
