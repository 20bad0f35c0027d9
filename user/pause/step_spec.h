/* What is typed after --step: how steps are found, and what has to be probed for that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define SIGNAL_NAME_BYTES 160

enum step_way { STEP_AUTO, STEP_NAMED, STEP_WINDOW, STEP_NONE };

struct step_spec {
	enum step_way way;
	char name[SIGNAL_NAME_BYTES]; /* STEP_NAMED: as typed, without "/N" */
	char recorded[SIGNAL_NAME_BYTES +
		      8]; /* STEP_NAMED: the signal's name where it is the user's own probe */
	uint32_t every;	  /* STEP_NAMED: N marks a step; 0: find out */
	bool most; /* STEP_NAMED, "/most": of marks that take turns, those of the learner that has most of them */
	uint64_t window_ns; /* STEP_WINDOW */
};

/*
 * "auto", "none", "window:5s", or the name of a signal: "torch:backward/2", "torch:backward/most", "jax:pjit:make_step",
 * "libfoo:bar", "usdt:provider:name/4". 0 or -EINVAL with a sentence.
 */
int step_spec_parse(const char *text, struct step_spec *ret, struct err *err);

/* A function or a USDT probe of the user's own. */
struct signal_wish {
	bool usdt;
	char library[128]; /* the begin of a file's name; or the provider */
	char symbol[128];  /* a symbol, or a C++ name with its namespaces; or the probe's name */
	char name[SIGNAL_NAME_BYTES]; /* of the signal: "user:libfoo:bar" */
};

/*
 * The probe that @spec.name asks for if it is not the name of a signal that is probed anyway: "lib:symbol" or
 * "usdt:provider:name". 0, or -EINVAL with a sentence for what can be the name of a signal, but of no probe.
 */
int step_spec_wish(const struct step_spec *spec, struct signal_wish *ret, struct err *err);
