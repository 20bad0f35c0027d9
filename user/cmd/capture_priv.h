/* A capture in progress, shared by its files. */
#pragma once

#include <limits.h>

#include "capture.h"
#include "live_sums.h"
#include "store.h"

struct capture {
	const struct capture_options *options;
	struct capture_child *child;
	FILE *out;
	bool lines; /* show each pause; false where the lines would mix with the workload's own */
	struct trace *trace;
	struct store_writer *store;
	struct store_reader *reader; /* of the recording, for the final report */
	char path[PATH_MAX];	     /* of the recording, or "in FOLDER" where it is temporary */
	bool temporary; /* without -o: it has no name, and disappears with this process */
	bool settled;	/* it has been renamed to its path */
	bool said;	/* the log has said why it could not be written */
	uint64_t paused_from_ns, paused_until_ns; /* the last pause */
	struct live_sums
		sums; /* which pauses get a line of text; what is said of the others, and of steps */
	unsigned int
		headed; /* which headers of the lines have been written: text_live_header()'s */
	uint64_t deadline_ns, commit_ns;
	struct trace_open_pause shown; /* the running pause last shown */
	struct drop limit; /* why the recording ended before the session; count 0: it has not */
	size_t shifts;	   /* of the clock that are stored */
	uint64_t unstored; /* pauses after the limit */
	int signals, timer, poll;
	sigset_t signal_set; /* the signals that .signals receives */
	bool stop;
};

/*
 * What the session reports is stored, and shown if lines are wanted. Its arg is the struct capture.
 */
extern const struct trace_sink capture_sink;

/*
 * capture_store.c: begins the recording. A live session records too, so that its report is that of
 * a recording and memory does not grow with time. An exit status, with a sentence printed.
 */
int capture_open_store(struct capture *capture);
/* Replaces an older recording, once tracing has begun. An exit status, with a sentence printed. */
int capture_settle_store(struct capture *capture);

/* Commits what has been reported so far. 0 or -errno. */
int capture_commit(struct capture *capture);

/*
 * Ends the file as @recording says, cut short if there is a limit; what is shown of it at the end
 * is read by capture->reader. 0 or -errno with a sentence.
 */
int capture_close(struct capture *capture, struct recording recording, struct err *err);

/* At the session's end: capture_close(), unless it was closed. An exit status, sentence printed. */
int capture_close_store(struct capture *capture);

/*
 * quota.c: ends the recording once it is as large as it may get. With live lines the session goes
 * on without one, and capture->store is NULL from then on. 0 or -errno with a sentence.
 */
int capture_check_quota(struct capture *capture, struct err *err);

/* Writes the header of the lines for @pause's runtime, once; NULL: for the runtimes found. */
void capture_show_header(struct capture *capture, const struct pause *pause);
/* Writes the lines about steps, and about pauses that got none, if they are due at @now_ns. */
void capture_show_sums(struct capture *capture, uint64_t now_ns);
