/* The marks of a recording, gathered by series; releasing and looking up. */
#include <errno.h>
#include <stdlib.h>

#include "step_priv.h"

/* Many series have only a mark or two: a line's first allocation is small. */
static int grow(struct step_line *line)
{
	size_t capacity = line->marks.capacity ? line->marks.capacity * 2 : 2;
	struct step_mark *grown =
		reallocarray(line->marks.items, capacity, sizeof(*line->marks.items));

	if (!grown)
		return -ENOMEM;
	line->marks.items = grown;
	line->marks.capacity = capacity;
	return 0;
}

static uint32_t pack_rss(int64_t bytes)
{
	return bytes >= 0 && bytes / 1024 < STEP_RSS_UNKNOWN ? (uint32_t)(bytes / 1024)
							     : STEP_RSS_UNKNOWN;
}

int step_marks_add(struct step_marks *marks, const struct mark *mark)
{
	const uint64_t *found = u64map_get(&marks->index, mark->series);
	struct step_line *line;

	if (found) {
		line = &marks->lines.items[*found];
	} else {
		if (u64map_put(&marks->index, mark->series, marks->lines.count))
			return -ENOMEM;
		line = vec_add(&marks->lines);
		if (!line) {
			u64map_remove(&marks->index, mark->series);
			return -ENOMEM;
		}
		line->series = mark->series;
	}
	if (line->marks.count == line->marks.capacity && grow(line))
		return -ENOMEM;
	line->marks.items[line->marks.count++] = (struct step_mark){
		.time_ns = mark->time_ns,
		.rss = pack_rss(mark->rss_bytes),
		.skipped = mark->skipped,
		.work_ns = mark->work_ns,
	};
	return 0;
}

void step_marks_release(struct step_marks *marks)
{
	if (!marks)
		return;
	for (size_t i = 0; i < marks->lines.count; i++)
		vec_free(&marks->lines.items[i].marks);
	vec_free(&marks->lines);
	u64map_release(&marks->index);
}

void track_release(struct step_track *track)
{
	vec_free(&track->steps);
	vec_free(&track->changes);
}

void steps_release(struct steps *steps)
{
	if (!steps)
		return;
	for (size_t i = 0; i < steps->tracks.count; i++)
		track_release(&steps->tracks.items[i]);
	vec_free(&steps->tracks);
	vec_free(&steps->candidates);
}

const struct step_track *steps_track(const struct steps *steps, uint32_t process)
{
	for (size_t i = 0; i < steps->tracks.count; i++)
		if (steps->tracks.items[i].process == process)
			return &steps->tracks.items[i];
	return NULL;
}
