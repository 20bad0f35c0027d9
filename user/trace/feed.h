/* What a session hands to its owner: the recording's tables, and the sink that gets each row. */
#pragma once

#include "gpu_fact.h"
#include "pause.h"
#include "trace.h"

struct feed {
	struct trace_sink sink;
	struct recording recording;
	int error; /* the sink's first: it ends the session at the next turn */
	uint64_t pauses, stalls, phases; /* put so far */
};

/* Rows of the recording, new or changed. Each goes to the sink, if that asks for its kind. */
void feed_process(struct feed *feed, const struct process *process);
void feed_runtime(struct feed *feed, const struct runtime *runtime);
void feed_signal(struct feed *feed, const struct signal *signal);
void feed_series(struct feed *feed, const struct series *series);
void feed_mark(struct feed *feed, const struct mark *mark);
void feed_gpu(struct feed *feed, const struct gpu_fact *fact);
/* Sends thread @tid's name, once. */
void feed_thread(struct feed *feed, uint32_t process, pid_t pid, uint32_t tid);
/* Each gets its id. */
void feed_pause(struct feed *feed, struct pause *pause);
void feed_stall(struct feed *feed, struct stall *stall);
void feed_phase(struct feed *feed, struct phase *phase);
/* So much has been lost by @cause so far; 0 is nothing. */
void feed_drop(struct feed *feed, const char *cause, uint64_t count, const char *remedy);
