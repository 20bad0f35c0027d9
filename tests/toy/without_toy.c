/*
 * The registry of a gctrace that was built without the toy, and here without any runtime: it reads
 * recordings of all of them, and knows what none of them means.
 */
#include "meaning.h"
#include "probe.h"
#include "strangers.h"
#include "strangers.h"

const struct runtime_ops *const probe_runtimes[] = {NULL};
const struct runtime_meaning *const runtime_meanings[] = {NULL};
const struct stranger *const probe_refused[] = {NULL};
