/* What a gctrace for another processor than x86-64 says of Julia: in the place of all else in this folder. */
#include <stddef.h>

#include "strangers.h"

extern const struct stranger refused_julia;

const struct stranger refused_julia = {"libjulia", NULL, "Julia on arm64",
	"GC.enable_logging(true) has Julia print its collections"};
