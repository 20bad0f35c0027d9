/* Attribution in; the steps of each process, their costs and the worst of them out. */
#include "cleanup.h"
#include "model_track.h"
#include "parse.h"
#include "text_steps.h"
#include "text_table.h"

#define TRACKS_SHOWN 8

/* Returns quietly when memory runs out: the report is whole except for it. */
static void put_track(FILE *out, const struct report_input *input, size_t index)
{
	_cleanup_(model_release) struct model model = {0};

	model_track(&model, input, index);
	text_tables(out, input->stacks, &model);
}

void text_steps(FILE *out, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	size_t count = attribution ? attribution->tracks.count : 0;

	for (size_t i = 0; i < count && i < TRACKS_SHOWN; i++)
		put_track(out, input, i);
	if (count > TRACKS_SHOWN)
		fprintf(out, "\n… and %zu more process%s with steps (-f json has them all)\n",
			count - TRACKS_SHOWN, count - TRACKS_SHOWN == 1 ? "" : "es");
	if (count && attribution->elsewhere)
		fprintf(out,
			"\nIn processes that run no steps: %llu pause%s, %s, charged to no step\n",
			(unsigned long long)attribution->elsewhere,
			attribution->elsewhere == 1 ? "" : "s",
			FORMAT_DURATION(attribution->elsewhere_ns));
}
