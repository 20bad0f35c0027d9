/* The inside of what watches step signals, shared by its files only. */
#pragma once

#include "steps.h"

/* signals.c: index of the signal called @name, or -ENOENT. */
int step_find_signal(const struct step_watch *steps, const char *name);
/* That of @plan's name, new if need be, without its places. Its index or -errno. */
int step_get_signal(struct step_watch *steps, const struct signal_plan *plan);
/* Notes what was probed for it; NULL: it could not be. */
void step_describe(struct step_watch *steps, size_t index, const char *detail);
/* Probes @plan in the file open as @fd. */
void step_attach(struct step_watch *steps, int fd, const struct signal_plan *plan);
/* Puts the probe at @place, unless there are as many marks as are kept. 0 or -errno, which is a drop. */
int step_attach_place(struct step_watch *steps, struct step_place *place);
void step_detach(struct step_signal *watch);
/* Tells BPF how many hits the signal may have, by what one costs. */
void step_set_rate(struct step_watch *steps, size_t index);
void step_tell(struct step_watch *steps, size_t index);

/* heat.c: what is due for each signal. */
void step_watch_signals(struct step_watch *steps, uint64_t now);
/* What a hit costs here, measured when calls first come near a limit: most sessions need not know. */
uint64_t step_price(struct step_watch *steps);

/* waits.c: a file that may have calls that wait is to be looked through; */
void step_waits_expect(struct step_watch *steps);
/* these are in the one open as @fd; */
void step_waits_attach(struct step_watch *steps, int fd, const struct wait_plan *plan);
/* it has been looked through, and @all of them can be probed. */
void step_waits_looked(struct step_watch *steps, bool all);
void step_set_waits_rate(struct step_watch *steps, uint64_t price_ns);
/* Whether a quarter of the calls that are tolerated at once have come. */
bool step_waits_run_hot(const struct step_watch *steps, uint64_t now);
/* What is due for them. */
void step_watch_waits(struct step_watch *steps, uint64_t now);
void step_waits_detach(struct step_watch *steps);

/* scan.c */
void step_close_scans(struct step_watch *steps);

/*
 * price.c: what a hit of step signals' @program costs a program on this machine, in ns: from an eighth of
 * STEP_HIT_PRICE_NS, which is also what it is where it costs more or cannot be measured. Takes 15 ms, and the
 * caller detaches *ret, which takes 30 and so can wait.
 */
uint64_t step_hit_price(const struct bpf_program *program, struct uprobe *ret);
#define STEP_HIT_PRICE_NS 500
