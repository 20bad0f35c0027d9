/* One file per output format. In: a recording, its stacks, its pauses one by one. Out: text on a FILE. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "err.h"
#include "pause.h"
#include "stack_table.h"

struct report_input {
	const struct recording *recording;
	const struct stack_table *stacks;
	/* 1: a pause, 0: the end, -errno. */
	int (*next)(void *source, struct pause *ret, struct err *err);
	int (*rewind)(void *source);
	void *source;
	const char *title; /* of the recording, for a picture's heading */
	const struct pause_filter *filter; /* of what is listed or drawn; totals cover all; or NULL */
};

struct report_ops {
	const char *name;    /* as in -f NAME */
	const char *summary; /* one line for --help */
	/* Writes the whole report. 0 or -errno with a sentence. */
	int (*write)(const struct report_input *input, FILE *out, struct err *err);
};

extern const struct report_ops report_text, report_json, report_folded, report_flamegraph;

/* NULL-terminated, in the order --help shows them; the first is the default. */
extern const struct report_ops *const report_formats[];
const struct report_ops *report_find(const char *name); /* NULL: no such format */
