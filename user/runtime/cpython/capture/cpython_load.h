/* How a running CPython loads a library: its remote debugging (PEP 768), from 3.14 on. */
#pragma once

#include "load.h"

extern const struct load_ops cpython_load;
