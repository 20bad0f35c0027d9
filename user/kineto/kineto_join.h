/* The clock of a trace against that of a recording. */
#pragma once

#include "kineto_trace.h"
#include "pause.h"
#include "step.h"

/* The labels of a recording's series, and the marks behind each. */
struct kineto_marks {
	struct kineto_labels labels;
	VEC(struct kineto_line {
		uint32_t label; /* index in labels */
		const struct series *series;
		const struct step_line *line;
	})
	lines;
};

/* What the arguments point to must outlive *ret, which is released in either case. 0 or -ENOMEM. */
int kineto_marks_make(const struct recording *recording, const struct step_marks *marks,
	struct kineto_marks *ret);
void kineto_marks_release(struct kineto_marks *marks);

struct kineto_clock {
	int64_t shift_ns;  /* to add to the trace's times */
	uint64_t error_ns; /* the most by which they are then wrong */
	size_t calls;	   /* that both saw and agree on it; 0: it is by the trace's base time */
	bool known;
};

/*
 * Finds the clock by the events of process @pid (index) of @trace that are marks of @process in the recording; by its
 * base time where these are too few or say nothing certain. 0 or -ENOMEM.
 */
int kineto_join(const struct kineto_trace *trace, uint32_t pid, const struct recording *recording,
	const struct kineto_marks *marks, const struct process *process, struct kineto_clock *ret);

/* The thread @tid of the trace as the host numbers it. */
uint32_t kineto_tid(const struct process *process, uint32_t tid);
