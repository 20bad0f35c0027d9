/*
 * One self-contained HTML page. In: a report's input. Out: markup that gives the answer without a script, and a block
 * of data from which html_*.js draws the rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "flame_text.h"
#include "html_keep.h"
#include "html_stacks.h"
#include "html_steps.h"
#include "model_longest.h"
#include "report.h"
#include "summary.h"

#define HTML_WHOLE ((size_t)PTRDIFF_MAX) /* as the size of a field: a terminated string */

struct html_page {
	const struct report_input *input;
	FILE *out;
	struct summary summary;		   /* of all pauses */
	struct html_keep keep;		   /* those the page holds, by track and start */
	VEC(struct longest_pause) longest; /* longest first, of those the filter lets pass */
	struct html_stacks stacks;
	struct u64map tracks;	/* struct process.id → index of its track */
	struct flame_text text; /* scratch */
	struct err damage;	/* why reading the pauses ended early, or "" */
};

/* How many tracks the page can hold. */
size_t html_tracks(const struct html_page *page);

/* {…}: everything that the script draws. 0, or -ENOMEM with a sentence. */
int html_data_write(struct html_page *page, struct err *err);
/* Processes, drops, signals: members of that object. 0 or -ENOMEM. */
int html_recorded_write(struct html_page *page);

/* The whole page. 0 or -errno with a sentence. */
int html_page_write(struct html_page *page, struct err *err);
