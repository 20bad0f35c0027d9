/*
 * Names as folded stacks and flame graphs show them. In: bytes from other processes. Out: valid UTF-8 on one line, in
 * which whatever cannot be shown is replaced and nothing reorders or hides the text beside it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "flame_leaves.h"
#include "report.h"
#include "vec.h"

/* A line under construction. Once memory has run out, `failed` is set and the line is unusable. */
struct flame_text {
	VEC(char) bytes; /* not terminated */
	bool failed;
};

void flame_text_release(struct flame_text *text);
void flame_text_clear(struct flame_text *text);
void flame_text_add(struct flame_text *text, const char *trusted, size_t len);
void flame_text_put(struct flame_text *text, const char *trusted);
void flame_text_format(struct flame_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds @len bytes made showable, control characters as "\x1b"; after @most characters (0: no limit) it says how many
 * bytes were cut.
 */
void flame_text_clean(struct flame_text *text, const char *bytes, size_t len, size_t most);

/* "train.py:41"; the whole path if @path, else its last part; nothing when the file is not known. */
void flame_text_place(struct flame_text *text, const struct stack_table *stacks, uint32_t frame,
	bool path, size_t most);
/* "Trainer.step (train.py:41)", and "[unknown]" for a frame that is not in the table. */
void flame_text_frame(struct flame_text *text, const struct stack_table *stacks, uint32_t frame,
	size_t most);
/* "train (1234)", with runtime and interpreter where the process has several. */
void flame_text_origin(struct flame_text *text, const struct recording *recording,
	const struct flame_origin *origin);
/* "gen 2", "gen ?" where classes are generations; else the class's name: "young", "not GC". */
void flame_text_class(struct flame_text *text, const struct pause_class *class);
/* Whether its runtime has words of its own for why a pause of @class was. */
bool flame_text_has_words(const struct pause_class *class);
/* These, "unknown operation", or "automatic", given as flame_leaf.cause. */
void flame_text_cause(struct flame_text *text, const struct stack_table *stacks,
	const struct flame_leaves *leaves, const struct pause_class *class, uint32_t cause);
/* "1,234,567 pauses", "1 pause" */
void flame_text_count(struct flame_text *text, uint64_t count, const char *one, const char *many);

/* Writes @text as XML character data; stops before column @columns (0: no limit) and adds "…". */
void flame_text_xml(FILE *out, const struct flame_text *text, size_t columns);
