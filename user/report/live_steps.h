/*
 * The steps of a session that goes on. In: marks and pauses as they come. Out: which steps have ended since the last
 * line, how long they were, and for how much of that pauses stopped them. They are found as the report finds them, by
 * the same choosers, in the latest marks; nothing is said below the confidence that reports ask for.
 */
#pragma once

#include "attrib.h"
#include "live_lines.h"
#include "window.h"

#define LIVE_LOOK_NS                                                                               \
	20000 /* the shortest time between two looks at the marks, for each mark: looks take 1 % of it */
#define LIVE_PAUSES 65536 /* kept for steps that have not ended */
#define LIVE_NAMED  5	  /* slow steps that get a line each second */

/* How long a step was, and how it was stopped. */
struct live_step {
	uint64_t end_ns, duration_ns;
	uint64_t overlap_ns, pauses;
	const struct pause_class *class; /* of its longest pause; NULL: none */
	bool known; /* false: there were too many pauses to keep, so the three above mean nothing */
	bool slow;  /* SLOW_RATIO × the median or more */
};

/* The steps of one process since the last line. */
struct live_track {
	uint32_t process, tid;
	char signal[160];
	bool told; /* they are known with confidence */
	bool open; /* there may be a loop around them, which further steps will show or rule out */
	bool around;  /* there may be one at all */
	bool doubted; /* there were rounds of them: the latest marks alone may not show that again */
	bool news;    /* how they are told has not been said */
	bool ended;   /* the process has, and its last step is counted */
	double confidence; /* the latest */
	uint64_t until_ns; /* steps that began before this are counted */
	uint32_t begins;   /* the series whose mark began the latest step */
	uint64_t hurry_ns; /* a pause that got a line ended then, in a step that goes on; 0: none */
	VEC(uint64_t) durations;
	uint64_t slowed; /* by pauses */
	struct live_step slowest;
};

struct live_pause {
	uint64_t start_ns, end_ns;
	int64_t waited_ns;
	const struct pause_class *class;
	uint32_t runtime, tid;
	int32_t interpreter;
	bool at_exit;
};

/* All zero: steps are not looked for. */
struct live_steps {
	bool on;
	struct step_spec spec;
	struct step_window window;
	VEC(struct live_pause) pauses; /* as they ended */
	uint64_t lost_ns;	       /* of those that ended before, some were not kept */
	VEC(struct live_track) tracks;
	struct live_lines named; /* which slow steps get a line */
	uint64_t named_ns;	 /* those with shorter pauses get none */
	uint64_t look_ns;	 /* when the marks were last looked at */
	bool fresh;		 /* some have come since */
};

/*
 * Looks for steps as @spec says (windows of time are none). Those that pauses of @min_ns or more slowed get a line; @most:
 * LIVE_NAMED, or 0 for all.
 */
void live_steps_start(struct live_steps *steps, const struct step_spec *spec, uint64_t min_ns,
	unsigned int most);
void live_steps_release(struct live_steps *steps);

/* A slow step is named at its end, which is a mark: some write a line. */
void live_steps_mark(struct live_steps *steps, FILE *out, const struct recording *recording,
	const struct mark *mark);
/* @pause: judged. @shown: it got a line. */
void live_steps_pause(struct live_steps *steps, const struct recording *recording,
	const struct pause *pause, bool shown);

/* Counts the steps that ended since the last look. @last: nothing more comes, so that each process's last step has ended. */
void live_steps_look(struct live_steps *steps, FILE *out, const struct recording *recording,
	uint64_t now_ns, bool last);

/* Whether the steps of some process are told. */
bool live_steps_told(const struct live_steps *steps);
/* Whether the next look may find steps that have ended. */
bool live_steps_pending(const struct live_steps *steps, const struct recording *recording);

/* Forgets processes that the session has forgotten. */
void live_steps_forget(struct live_steps *steps, const struct recording *recording);
