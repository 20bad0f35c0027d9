/* One file per output format. In: a recording, its stacks, its pauses one by one. Out: text on a FILE. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "advice.h"
#include "attrib.h"
#include "err.h"
#include "pause.h"
#include "stack_table.h"

/* What pictures of stacks add up. */
enum report_weight {
	WEIGHT_TIME, /* how long pauses were */
	WEIGHT_GPU_IDLE, /* how long GPUs stood idle because of them; needs an attribution with a timeline */
};

struct report_input {
	const struct recording *recording;
	const struct stack_table *stacks;
	/* 1: a pause, 0: the end, -errno. */
	int (*next)(void *source, struct pause *ret, struct err *err);
	int (*rewind)(void *source);
	void *source;
	const char *title; /* of the recording, for a picture's heading */
	const struct pause_filter
		*filter; /* of what is listed or drawn; totals cover all; or NULL */
	/* Of the same pauses in the same order; NULL: not asked for (a picture of stacks needs none). */
	const struct attribution *attribution;
	const struct advices *advices;
	/*
	 * Pauses without a collection that @next has passed over since the last rewind, so that totals
	 * lack them (--gc-only); NULL: none are.
	 */
	const uint64_t *left_out;
	enum report_weight weight;
};

struct report_ops {
	const char *name;    /* as in -f NAME */
	const char *summary; /* one line for --help */
	bool steps;	     /* wants input->attribution and ->advices */
	bool weights;	     /* goes by input->weight */
	/* Writes the whole report. 0 or -errno with a sentence. */
	int (*write)(const struct report_input *input, FILE *out, struct err *err);
};

extern const struct report_ops report_text, report_json, report_folded, report_flamegraph,
	report_html;

/* NULL-terminated, in the order --help shows them; the first is the default. */
extern const struct report_ops *const report_formats[];
const struct report_ops *report_find(const char *name); /* NULL: no such format */
