/*
 * Folded stacks, one line each: "process;outermost;…;innermost;[gen 2] weight", of classes
 * "…;[young, G1CollectForAllocation] weight"; weight in µs, of pause time or what else the report weights them by.
 * Rounding is carried from line to line, so that the weights add up to the nearest µs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "flame_text.h"
#include "room.h"

struct folder {
	const struct report_input *input;
	struct flame_leaves leaves;
	struct flame_text names; /* of all frames that occurred */
	struct name {
		size_t offset, len; /* in names; len 0: not made yet */
	} *name_of;		    /* by frame */
	struct flame_text line;
	VEC(uint32_t) path; /* frames of the current stack, innermost first */
	bool truncated;	    /* it has more than these */
	struct report_room room;
	uint64_t total_ns, written_us;
};

static void folder_release(struct folder *folder)
{
	flame_leaves_release(&folder->leaves);
	flame_text_release(&folder->names);
	free(folder->name_of);
	flame_text_release(&folder->line);
	vec_free(&folder->path);
}

/* ";" separates frames, so within one it becomes ":", as in the stackcollapse tools; nothing else is special. */
static void no_separators(char *bytes, size_t len)
{
	for (char *at = bytes; at && (at = memchr(at, ';', len - (size_t)(at - bytes)));)
		*at = ':';
}

static const struct name *name_of(struct folder *folder, uint32_t frame)
{
	struct flame_text *names = &folder->names;
	struct name *name;

	frame = frame < folder->input->stacks->frame_count ? frame : 0;
	name = &folder->name_of[frame];
	if (!name->len) {
		name->offset = names->bytes.count;
		flame_text_frame(names, folder->input->stacks, frame, 0);
		name->len = names->bytes.count - name->offset;
		no_separators(names->bytes.items + name->offset, name->len);
	}
	return name;
}

static void put_frame(struct folder *folder, uint32_t frame)
{
	const struct name *name = name_of(folder, frame);

	flame_text_add(&folder->line, folder->names.bytes.items + name->offset, name->len);
	flame_text_put(&folder->line, ";");
}

/* Collects as many frames of @stack as there is room for; -EBADMSG when the way to the root does not end. */
static int find_path(struct folder *folder, uint32_t stack, struct err *err)
{
	const struct stack_node *nodes = folder->input->stacks->nodes;
	size_t left = report_room_left(&folder->room), bytes;

	folder->path.count = 0;
	folder->truncated = false;
	for (uint32_t n = stack; n; n = nodes[n].parent) {
		uint32_t *slot;

		bytes = name_of(folder, nodes[n].frame)->len + 1;
		folder->truncated = bytes > left;
		if (folder->truncated)
			break;
		left -= bytes;
		report_room_take(&folder->room, bytes);
		slot = vec_add(&folder->path);
		if (!slot)
			return err_set(err, ENOMEM, "memory ran out while folding stacks");
		*slot = nodes[n].frame;
		if (nodes[n].parent >= n)
			return err_set(err, EBADMSG,
				"stack %u of the recording is its own caller: the file is damaged",
				n);
	}
	return 0;
}

/* "[gen 2]", "[gen ?]", "[full, G1CollectFull]", "[not GC, ThreadDump]" */
static void put_kind(struct folder *folder, const struct flame_leaf *leaf)
{
	const struct pause_class *class = folder->leaves.classes[leaf->class].class;
	struct flame_text *line = &folder->line;
	size_t from = line->bytes.count;

	flame_text_put(line, "[");
	flame_text_class(line, class);
	if (flame_text_has_words(class)) {
		flame_text_put(line, ", ");
		flame_text_cause(line, folder->input->stacks, &folder->leaves, class, leaf->cause);
	}
	flame_text_put(line, "]");
	no_separators(line->bytes.items + from, line->bytes.count - from);
}

static int put_leaf(struct folder *folder, const struct flame_leaf *leaf, size_t origin_len,
	FILE *out, struct err *err)
{
	int r = find_path(folder, leaf->stack, err);
	uint64_t us;

	if (r)
		return r;
	folder->line.bytes.count = origin_len;
	if (folder->truncated)
		flame_text_put(&folder->line, "[truncated];");
	for (size_t i = folder->path.count; i > 0; i--)
		put_frame(folder, folder->path.items[i - 1]);
	if (leaf->stack == STACK_NONE)
		flame_text_put(&folder->line, "[no stack];");
	put_kind(folder, leaf);
	folder->total_ns += leaf->ns;
	us = (folder->total_ns + 500) / 1000 - folder->written_us;
	folder->written_us += us;
	flame_text_format(&folder->line, " %" PRIu64 "\n", us);
	fwrite(folder->line.bytes.items, 1, folder->line.bytes.count, out);
	return 0;
}

static int put_origin(struct folder *folder, const struct flame_origin *origin, FILE *out,
	struct err *err)
{
	size_t len;
	int r = 0;

	flame_text_clear(&folder->line);
	flame_text_origin(&folder->line, folder->input->recording, origin);
	no_separators(folder->line.bytes.items, folder->line.bytes.count);
	flame_text_put(&folder->line, ";");
	len = folder->line.bytes.count;
	for (size_t i = 0; !r && i < origin->leaves.count; i++)
		r = put_leaf(folder, &origin->leaves.items[i], len, out, err);
	return r;
}

static int write_folded(const struct report_input *input, FILE *out, struct err *err)
{
	_cleanup_(folder_release) struct folder folder = {
		.input = input,
		.room = report_room_of(input->recording),
		.name_of = calloc(input->stacks->frame_count, sizeof(*folder.name_of)),
	};
	int r = folder.name_of ? flame_leaves_collect(input, false, &folder.leaves, err)
			       : err_set(err, ENOMEM, "memory ran out while folding stacks");

	for (size_t i = 0; !r && i < folder.leaves.origins.count; i++)
		r = put_origin(&folder, &folder.leaves.origins.items[i], out, err);
	if (r)
		return r;
	if (folder.names.failed || folder.line.failed)
		return err_set(err, ENOMEM, "memory ran out while folding stacks");
	if (fflush(out) || ferror(out))
		return err_set(err, errno ? errno : EIO, "cannot write the folded stacks: %s",
			strerror(errno ? errno : EIO));
	return 0;
}

const struct report_ops report_folded = {
	.name = "folded",
	.summary = "folded stacks with pause time in microseconds, for other flame graph tools",
	.weights = true,
	.write = write_folded,
};
