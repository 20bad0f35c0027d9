/*
 * The stacks, frames and names that the HTML page refers to, and no others. In: ids of the recording's stack table.
 * Out: small dense ids, and their JSON.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "flame_text.h"
#include "stack_table.h"
#include "u64map.h"
#include "vec.h"

struct html_stacks {
	const struct stack_table *table;
	size_t nodes_most, text_most;		       /* limits: nodes, bytes of names */
	struct u64map node_ids, frame_ids, string_ids; /* of the table → of the page, both from 1 */
	VEC(uint32_t) nodes, frames, strings;	       /* of the table, by id of the page − 1 */
	VEC(uint32_t) path;			       /* scratch */
	size_t text_bytes;
	size_t walked;	  /* nodes of stacks that were refused */
	uint64_t refused; /* stacks that were left out because a limit was reached */
};

void html_stacks_release(struct html_stacks *stacks);

/*
 * The page's id of stack @node, or 0: none was taken, it is damaged, or a limit is reached. 0 or -ENOMEM.
 */
int html_stacks_node(struct html_stacks *stacks, uint32_t node, uint32_t *ret);
/* The page's id of frame @frame, whatever the limits; 0 for 0 and for one that does not exist. */
int html_stacks_frame(struct html_stacks *stacks, uint32_t frame, uint32_t *ret);

/* The page's id of string @string of the table, whatever the limits; 0 for 0. 0 or -ENOMEM. */
int html_stacks_string(struct html_stacks *stacks, uint32_t string, uint32_t *ret);

/* ,"strings":[…],"frames":[…],"nodes":"…". 0 or -ENOMEM. */
int html_stacks_write(const struct html_stacks *stacks, FILE *out, struct flame_text *scratch);
