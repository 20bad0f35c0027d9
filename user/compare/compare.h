/*
 * Recordings of one training job, before and after a change: one or several a side. In: an attribution of each. Out:
 * figures with intervals, which of them got better or worse for certain, and a verdict. Text, JSON and page render
 * struct comparisons and compute nothing. Definitions: docs/steps.md.
 */
#pragma once

#include "attrib.h"

#define COMPARE_TOLERANCE  0.05 /* how much worse a figure may become, unless told otherwise */
#define COMPARE_RUN_TO_RUN 0.03 /* standard deviation of the mean step between runs, likewise */

/* What chance allows to say about a change. */
enum compare_change {
	CHANGE_UNJUDGED,
	CHANGE_BETTER,
	CHANGE_WORSE,
	CHANGE_NONE,	/* a change of the tolerance's size would have been seen */
	CHANGE_UNKNOWN, /* it might not have been */
};

/* A figure before and after. */
struct comparison {
	char name[32]; /* "step.mean", "step.p99", "stopped.share", "collections", "calls.by", … */
	/*
	 * Of which, where several rows have a name, for people: "full collections", "System.gc() calls",
	 * "by Trainer.fit (Trainer.java:88)"; "" for others.
	 */
	char of[112];
	char unit[8];	      /* "ns", "share", "count", "bytes" */
	double before, after; /* means over a side's runs */
	bool known;	      /* of all of them */
	bool has_interval;
	double change, low, high; /* relative; change is after ÷ before − 1 */
	enum compare_change judged;
	bool breach; /* worse for certain, and by more than the tolerance */
	double detectable; /* the least relative change that four of five such comparisons would show; 0: not judged */
	VEC(double) each; /* of each run, those before first; NAN: not known */
};

enum compare_answer {
	COMPARE_HELPED,
	COMPARE_WORSE,
	COMPARE_MIXED, /* some of mean, p99 and worst step are better, others worse */
	COMPARE_SAME,
	COMPARE_INCONCLUSIVE, /* a change of the tolerance's size could not have been seen */
	COMPARE_PAUSES,	      /* steps cannot be compared */
};

struct comparisons {
	VEC(struct comparison) items;
	enum compare_answer answer;
	char verdict[1024]; /* one paragraph: did it help, by how much, how sure */
	char calls
		[256]; /* a sentence on calls for a collection: "Nobody called System.gc()."; "": nothing is known */
	char chance[320]; /* what the intervals contain and do not: one or two sentences */
	bool comparable;  /* all have confident steps by marks */
	bool breach;	  /* any item is one */
	size_t runs[2];	  /* before, after */
	size_t warm_up
		[2]; /* the most first steps that a run of that side leaves out of all step.* and shares */
	double confidence; /* of the intervals: 0.95, or 0.9 where there are several runs */
};

struct compare_rule {
	double tolerance, run_to_run; /* relative */
};

/* What is compared of one recording. */
struct compare_run;

/* Keeps nothing of @attribution. The caller releases *ret. 0 or -ENOMEM with a sentence. */
int compare_read(const struct attribution *attribution, struct compare_run **ret, struct err *err);
void compare_run_free(struct compare_run *run);

/* @runs: @before of them from before the change, then @after. 0 or -ENOMEM with a sentence. */
int compare(struct compare_run *const *runs, size_t before, size_t after,
	const struct compare_rule *rule, struct comparisons *ret, struct err *err);
void comparisons_release(struct comparisons *comparisons);

/* "helped", "worse", "mixed", "same", "inconclusive", "pauses": for programs. */
const char *compare_answer_name(enum compare_answer answer);
/* "better", "worse", "same", "inconclusive"; NULL: unjudged. */
const char *compare_change_name(enum compare_change change);
