/*
 * Call stacks, each distinct one once: a tree of nodes whose path to the root is the stack. In: frames,
 * outermost first. Out: dense ids that pauses carry and the store keeps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "strtab.h"

enum frame_lang { LANG_PYTHON = 1, LANG_JAVA = 2, LANG_JULIA = 3, LANG_NATIVE = 4, LANG_MARK = 5 };
/* LANG_MARK: "[truncated]", "[gone]": not a function but something the reader must know. */

struct frame {
	uint32_t function, file; /* ids in stack_table.strings; file 0: not known */
	uint32_t line;		 /* 0: not known */
	uint32_t lang;		 /* enum frame_lang */
};

struct stack_node {
	uint32_t parent; /* node id, always smaller than this node's own */
	uint32_t frame;	 /* index into frames */
};

struct stack_table {
	struct strtab *strings;
	struct frame *frames;	  /* index 0 is unused */
	struct stack_node *nodes; /* node 0 is the root: the empty stack */
	uint32_t frame_count, node_count;
	struct stack_index *index; /* private */
	uint32_t
		generation; /* how often it was emptied: ids of another generation mean other things */
};

#define STACK_NONE 0u

int stack_table_init(struct stack_table *table); /* 0 or -ENOMEM */
void stack_table_release(struct stack_table *table);

/*
 * Whether it is so large that it should be emptied; otherwise a session's would grow with all code
 * that ever ran.
 */
bool stack_table_is_large(const struct stack_table *table);

/* Interns a frame. Returns its index, or 0 when memory is out. */
uint32_t stack_table_frame(struct stack_table *table, const struct frame *frame);

/* Interns the child of node @parent for @frame. Returns its id, or 0 when memory is out. */
uint32_t stack_table_node(struct stack_table *table, uint32_t parent, uint32_t frame);

/*
 * The next id without a search, for what is known to be new. 0 when memory is out, or for a node whose parent
 * or frame does not exist (yet).
 */
uint32_t stack_table_append_frame(struct stack_table *table, const struct frame *frame);
uint32_t stack_table_append_node(struct stack_table *table, uint32_t parent, uint32_t frame);

const char *frame_lang_name(uint32_t lang); /* "python", …, "mark" */
