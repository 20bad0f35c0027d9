/* What a gctrace for another processor than x86-64 says of a JVM: in the place of all else in this folder. */
#include <stddef.h>

#include "strangers.h"

extern const struct stranger refused_hotspot;

const struct stranger refused_hotspot = {"libjvm.so", NULL, "HotSpot on arm64",
	"-Xlog:gc,safepoint has the JVM log its pauses; a CPython in the same job can be traced"};
