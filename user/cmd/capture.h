/* What live, record and run share: options, and the loop that drains a session until it is over. */
#pragma once

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cmd.h"
#include "budgets.h"
#include "step.h"
#include "trace.h"
#include "vec.h"

struct capture_options {
	struct trace_options trace;
	VEC(pid_t) pids;
	uint64_t duration_ns;	    /* 0: until interrupted */
	struct pause_filter filter; /* of what is shown: recordings and totals hold every pause */
	const char *output;	    /* a .gct to write, or NULL */
	uint64_t max_bytes;	    /* of the recording; 0: as large as the disk allows */
	const char *max_size;	    /* the same as it was typed */
	struct step_spec step;
	struct signal_wish wish; /* what that asks to probe: trace.step_wish */
	struct budgets budgets;	 /* of `gctrace run` */
	bool candidates; /* show the step signals that were seen at the end, instead of a report */
	bool min_duration_set; /* otherwise the live lines choose */
	bool json, wait, help;
	bool gpu_asked; /* --gpu measure or infer: without the shim, or the driver, there is nothing to record */
	bool inject; /* --gpu inject: measure, and the processes are to load the shim */
};

/*
 * The workload that `gctrace run` started; pid 0 for a capture that attaches to running processes.
 */
struct capture_child {
	pid_t pid;
	char **argv;	  /* the command to run */
	const char *name; /* its name */
	int gate;	  /* a byte lets the workload exec; -1 once that is done */
	int complaint;	  /* reads the errno of an exec that failed */
	int status;	  /* of waitpid(), once it has ended */
	bool ended;
};

/* The defaults. */
void capture_options_init(struct capture_options *options);

/*
 * Parses the options common to the capturing verbs; *ret_index is where the operands begin.
 * 0, or the exit status of a usage error that was already printed.
 */
int capture_parse(const struct command *command, int argc, char **argv, struct capture_options *ret,
	int *ret_index);
/* The value of --step. 0 or -EINVAL with a sentence. */
int capture_take_step(const char *text, struct capture_options *options, struct err *err);
void capture_options_release(struct capture_options *options);

/*
 * Captures until the time is up, a signal comes, or all targets have ended. Live lines and the
 * final report go to @out (NULL: neither); the recording to options->output or, without one, to a
 * file that disappears afterwards. Budgets are judged on it. Returns the exit status.
 */
int capture_run(const struct capture_options *options, struct capture_child *child, FILE *out);

/*
 * Starts the workload as the user who called sudo, and holds it before its exec until it is
 * released. CUDA will load @shim into it, unless that is NULL or the user has named another library.
 * 0, or -errno with a sentence.
 */
int child_start(char **argv, const char *shim, struct capture_child *ret, struct err *err);

/* Lets it exec. 0, or -errno with a sentence when it could not. */
int child_release(struct capture_child *child, struct err *err);

/* Reaps it if it has ended. */
void child_reap(struct capture_child *child);

/*
 * From here on a handler forwards to it the @signals that we receive, which were blocked until now.
 */
void child_pass_signals(const struct capture_child *child, const sigset_t *signals);

/* Waits for its end; kills it if it was never released. Returns whether it had been. */
bool child_finish(struct capture_child *child);
int child_exit_status(const struct capture_child *child);
