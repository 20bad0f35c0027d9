/* A trial in progress, shared by its files. */
#pragma once

#include "blocks.h"
#include "capture.h"
#include "stats.h"
#include "subject.h"
#include "trace.h"
#include "watcher.h"

struct trial_options {
	struct capture_options capture; /* the process, how long, what is a step; json, help */
	const char *set;		/* NULL: what the runtime would try */
	size_t pairs;			/* 0: the user does not say */
	uint64_t max_rss;		/* bytes; 0: likewise */
	bool restore;			/* no trial: undo what one has left */
};

enum trial_phase {
	TRIAL_WATCH, /* what a step is, and how often it pauses */
	TRIAL_BLOCKS,
	TRIAL_TAIL, /* as it was again: what the last block has put off */
};

struct trial {
	const struct command *command;
	const struct trial_options *options;
	FILE *out;
	pid_t pid;
	struct trace *trace;
	struct subject subject;
	struct watcher watcher;
	struct step_marks marks;
	struct steps steps;		     /* by the marks so far, or at the end */
	VEC(struct fulls_collection) pauses; /* of the process */
	enum trial_phase phase;
	uint64_t start_ns, look_ns, next_ns, said_ns;
	struct blocks_plan plan;
	VEC(struct block) blocks; /* the last one's end is not known yet */
	struct stats_random random;
	struct blocks_draw draw;		      /* of the pair */
	uint64_t rss_limit, rss_peak, rss_before;     /* bytes; 0: not known */
	char why[sizeof(((struct err *)NULL)->text)]; /* it ended before its time; "": it did not */
	bool by_program;  /* that is because the program changed its settings */
	bool interrupted; /* or a signal came */
	bool stop;
	bool kept; /* the settings could not be put back */
	int signals, timer, poll;
};

/*
 * trial_session.c: makes it. EXIT_OK, or the status of a refusal or failure that was printed. Afterwards the
 * process is as it was, and @trial has what can be judged.
 */
int trial_run(struct trial *trial);

/*
 * What is no process, or not one that may be looked at: -errno with the sentence that the other verbs have.
 */
int trial_check_process(pid_t pid, struct err *err);

/* trial_restore.c: undoes what a trial that was killed has left. The exit status, with all said. */
int trial_restore(struct trial *trial);

/* trial_turn.c: what is due. 0, or a negative errno with a sentence where there is no sense in going on. */
int trial_turn(struct trial *trial, uint64_t now_ns, struct err *err);
/* The last block has ended, at @now_ns, and the settings are put back. */
void trial_end(struct trial *trial, uint64_t now_ns);
/* The steps of the process by the marks so far; NULL: none. 0 or -errno with a sentence. */
int trial_find_steps(struct trial *trial, uint64_t end_ns, const struct step_track **ret,
	struct err *err);

/* trial_memory.c: resident bytes of @pid, 0 if not known; and how many are allowed. */
uint64_t trial_rss(pid_t pid);
uint64_t trial_rss_limit(uint64_t rss, uint64_t asked);

/* trial_figures.c: the result, as text or JSON. */
void trial_show(const struct trial *trial, const struct step_track *track,
	const struct blocks_result *result);
