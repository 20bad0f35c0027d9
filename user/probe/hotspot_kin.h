/* What runs Java and is no HotSpot: a GraalVM native image in a process, as its program or as a library. */
#pragma once

#include "proc.h"

/* Defined by each native image, in .dynsym too, which strip leaves (GraalVM 20 and later). */
#define NATIVE_IMAGE_SYMBOL "__svm_version_info"

/* The first file of @pid that is one, or NULL. Looks into all that it maps. */
const struct proc_map *probe_native_image(pid_t pid, const struct proc_maps *maps);
