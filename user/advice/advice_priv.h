/* What the files about advice tell each other. Not for other rooms. */
#pragma once

#include "advice.h"
#include "advice_model.h"

/* One process while it is advised. */
struct advising {
	const struct attribution *attribution;
	const struct gc_facts *facts;
	struct gc_model model;
	struct advices *advices;
};

#define ADVICE_HARMLESS 0.001 /* of training time: below it GC is to be left alone */

/* Each adds what it finds worth advising. 0 or -ENOMEM. */
int advise_freeze(struct advising *advising);
int advise_threshold(struct advising *advising);
int advise_manual(struct advising *advising);
int advise_disable(struct advising *advising);
int advise_remove(struct advising *advising);
int advise_cycles(struct advising *advising);

/* Of the JVM. */
int advise_young(struct advising *advising);
int advise_explicit(struct advising *advising);
int advise_ttsp(struct advising *advising);
int advise_metaspace(struct advising *advising);
int advise_heap(struct advising *advising);
int advise_stalls(struct advising *advising);

/* Whether the steps are DL4J's. */
bool advice_of_dl4j(const struct advising *advising);
/* What there is to save: pauses, and of a JVM the waits beside. */
uint64_t advice_most(const struct advising *advising);
/* A share of the time that counts. */
double advice_share(const struct advising *advising, double ns);
/* "of training time", or what stands for it */
const char *advice_time(const struct advising *advising);

/*
 * Adds @advice with its saving set from real figures, ordered and bounded by what pauses took,
 * unless that is too little to bother. NULL: it is; *ret_r tells whether memory was out.
 */
struct advice *advice_add(struct advising *advising, enum advice_kind kind, double saves,
	double low, double high, int *ret_r);

/* "pauses fall from … to about …" */
void advice_say_fall(const struct advising *advising, struct advice *advice);

/* To a text that ends in what fits. */
#define APPEND_TO(text, ...)                                                                       \
	do {                                                                                       \
		size_t used_ = strlen(text);                                                       \
		snprintf((text) + used_, sizeof(text) - used_, __VA_ARGS__);                       \
	} while (0)
