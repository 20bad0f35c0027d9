/* The settings of CPython's collector: settings.h. */
#pragma once

#include "settings.h"

extern const struct settings_ops cpython_settings;
