/* The runtimes' own parts of a session: each is asked what its struct capture_ops answers. */
#pragma once

#include "trace_runtime.h"

/* A runtime's part of the session. */
struct runtime_part {
	const struct capture_ops *ops;
	void *state;
};

struct captures {
	VEC(struct runtime_part) parts; /* as in probe_runtimes */
};

/* The lists of the programs of all runtimes, ending with NULL; owned by the caller. NULL: memory is out. */
const struct capture_program **captures_programs(void);

/* @trace is handed to them, for what they ask of the session. 0 or -ENOMEM. */
int captures_open(struct captures *captures, struct trace *trace);
void captures_close(struct captures *captures);

/* That of the runtime with @ops, which is a registered one. */
const struct runtime_part *captures_of(const struct captures *captures,
	const struct capture_ops *ops);
/* That which decodes records of @type; NULL: they are no runtime's own. */
const struct runtime_part *captures_of_record(const struct captures *captures, uint32_t type);

/* Each asks all of those that have an answer; see struct capture_ops. */
void captures_targeted(const struct captures *captures, pid_t pid);
void captures_over(const struct captures *captures, pid_t pid, uint64_t time_ns);
void captures_fork(const struct captures *captures, uint32_t parent, uint32_t child);
void captures_retire(const struct captures *captures);
void captures_turn(const struct captures *captures);
void captures_move_strings(const struct captures *captures, const struct strtab *from,
	struct strtab *to);
void captures_look(const struct captures *captures);
void captures_finish(const struct captures *captures);
void captures_drops(const struct captures *captures);

/* The runtime whose functions @wish (or NULL) is about; NULL: it is about files'. */
const struct runtime_ops *captures_asked(const struct signal_wish *wish);
/* Asks it for functions called @name in @pid. */
void captures_find_step(const struct captures *captures, const struct runtime_ops *asked, pid_t pid,
	const char *name);
