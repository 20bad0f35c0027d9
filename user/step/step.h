/*
 * Steps. In: the marks of all candidate signals of a recording. Out: for each process that trains,
 * its steps, the signal that marks them, and how far to trust it. Pure analysis: it can be repeated
 * on the same recording with another choice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "pause.h"
#include "step_spec.h"
#include "u64map.h"

#define STEP_RSS_UNKNOWN UINT32_MAX

/* The marks of a recording, gathered by series. A zeroed one is empty and ready. */
struct step_marks {
	VEC(struct step_line {
		uint32_t series; /* struct series.id */
		VEC(struct step_mark {
			uint64_t time_ns;
			uint32_t rss;	  /* in KiB; STEP_RSS_UNKNOWN */
			uint32_t skipped; /* struct mark.skipped */
			int64_t work_ns;  /* struct mark.work_ns */
		})
		marks; /* by time, once steps_find() has run */
	})
	lines;
	struct u64map index; /* series id → index in lines */
};

int step_marks_add(struct step_marks *marks, const struct mark *mark); /* 0 or -ENOMEM */
void step_marks_release(struct step_marks *marks);

struct step {
	uint64_t start_ns, end_ns; /* [start, end) */
	int64_t rss_bytes;	   /* at the start; UNKNOWN if not known */
	/*
	 * CPU time of the thread that makes the steps, within the step and outside calls that wait (a wait may spin). What
	 * is left of the duration it waited, was stopped or was not scheduled. UNKNOWN if not known.
	 */
	int64_t work_ns;
};

static inline uint64_t step_duration(const struct step *step)
{
	return step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;
}

/* N marks per step from here on. */
struct step_change {
	uint64_t step; /* index */
	uint32_t from, to;
};

#define STEP_LEVELS 3

/* What else its user may call a step, as --step takes it ("torch:record:Optimizer.step#Adam.step/32"), and how many there are. */
struct step_levels {
	struct step_level {
		char signal[176];
		uint64_t steps;
	} items[STEP_LEVELS];
	size_t count;
};

/* The steps of one process, by time; they do not overlap, but there may be time between two. */
struct step_track {
	uint32_t process; /* struct process.id */
	uint32_t tid;
	VEC(struct step) steps;
	char signal[160];  /* "torch:record:Optimizer.step#Adam.step": what --step would take */
	uint32_t per_step; /* marks per step; the latest value, where it changed */
	VEC(struct step_change) changes;
	/*
	 * Since when its marks could be seen, if that was later than its process's pauses; else 0.
	 */
	uint64_t seen_ns;
	uint64_t period_ns; /* median duration */
	double variation;   /* of the durations, robust: 1.4826·MAD / median */
	double confidence;  /* 0 … 1: how sure it is that these are the steps */
	bool measured;	    /* by marks; else windows: inferred */
	bool rounds; /* nothing says that these are the user's steps: there may be a loop around them */
	char note[512];		   /* a sentence the reader should know ("2 threads …"), or "" */
	struct step_levels levels; /* which the note names, too, if it has room */
};

/* One series or group of them that was considered, for doctor --steps and for explanations. */
struct step_candidate {
	uint32_t process, tid;
	char signal[160];
	uint64_t marks;	   /* calls, including those without a mark of their own */
	double per_second; /* while it was active */
	uint32_t per_step; /* marks per step if this were the signal; 0: no period found */
	double variation, confidence;
	bool chosen;
	char why[160]; /* a clause: "chosen", "let go at 12,000/s", "no regular pattern" */
};

/* Below this, no claim per step is made, and no per-step budget is judged. */
#define STEP_CONFIDENT 0.7

/* Whether they are steps for certain enough. Windows of time are what they say they are. */
static inline bool step_track_confident(const struct step_track *track)
{
	return !track->measured || track->confidence >= STEP_CONFIDENT;
}

struct steps {
	VEC(struct step_track) tracks; /* one for each process that trains, the busiest first */
	VEC(struct step_candidate) candidates; /* best first */
	char note[256]; /* why there are none, or what holds for all; or "" */
};

/*
 * Finds the steps of every process. With STEP_AUTO and no usable signal: no tracks, and a note that
 * says so ("no step signal: …"). -ENOENT with a sentence (the nearest names) when a named signal
 * has no marks, or the name fits several. @end_ns: of the recording. Sorts @marks. The caller
 * releases *ret.
 */
int steps_find(const struct recording *recording, struct step_marks *marks, uint64_t end_ns,
	const struct step_spec *spec, struct steps *ret, struct err *err);
void steps_release(struct steps *steps);

/* The next pause of a recording. 1; 0: there is no other; or -errno with a sentence. */
typedef int (*steps_next_fn)(void *source, struct pause *ret, struct err *err);
/*
 * Whether after every so many steps of @track other work comes (not pauses, which are read for this: @next from the first one
 * on). Then a step may be what lies between: the track's note and levels say so, and its confidence is below STEP_CONFIDENT
 * where that work is much. Asks for pauses only if there is a reason to. 0 or -errno with a sentence.
 */
int steps_rounds(const struct recording *recording, struct step_track *track, steps_next_fn next,
	void *source, struct err *err);

/*
 * Whether some of the latest steps of @track were as long as where other work comes in between, and too few to know yet
 * whether that recurs: the next is not overdue. *ret is untouched on failure. 0 or -errno with a sentence.
 */
int steps_rounds_open(const struct recording *recording, const struct step_track *track,
	steps_next_fn next, void *source, bool *ret, struct err *err);

/* The track of @process, or NULL. */
const struct step_track *steps_track(const struct steps *steps, uint32_t process);
