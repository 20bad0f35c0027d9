/* What runs Java and is no HotSpot: OpenJ9, or a GraalVM native image, as a process's program or as a library. */
#pragma once

#include "proc.h"
#include "strangers.h"

extern const struct stranger hotspot_strangers[];

/* See runtime_ops.beside_it: a native image. Looks into all that @pid maps. */
bool hotspot_finds_image(pid_t pid, const struct proc_maps *maps, char *ret, size_t size);
