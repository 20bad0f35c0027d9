/* The steps of one process as tables of the model: what they are, how long they take, which were the worst. */
#pragma once

#include "model.h"
#include "report.h"

/* All of the below, of track @index of the attribution. */
void model_track(struct model *model, const struct report_input *input, size_t index);

/*
 * The colour of a step: that of the highest class among its pauses; where classes are not generations, of its longest
 * pause's.
 */
unsigned int model_step_colour(const struct attribution *attribution, const struct step_cost *cost);

/* The builder of the worst, for model_track(). */
void model_worst_steps(struct model *model, const struct report_input *input, size_t index);
