/* Metrics of GPUs. Not for other rooms. */
#pragma once

#include "budget_metric.h"

/* NULL: there are no more. */
const struct budget_metric *budget_gpu_at(size_t at);
