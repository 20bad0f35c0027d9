/* What the files of this folder share: the classes of HotSpot's pauses. */
#pragma once

#include "hotspot_facts.h"
#include "meaning.h"

/* What a safepoint was for. */
enum hotspot_class {
	HOTSPOT_YOUNG,
	HOTSPOT_STEP,  /* of a concurrent cycle */
	HOTSPOT_FULL,  /* at least one collection in it was */
	HOTSPOT_OTHER, /* nothing was collected */
	HOTSPOT_UNKNOWN,
	HOTSPOT_CLASSES
};

static inline enum hotspot_class hotspot_class(const struct pause *pause)
{
	return pause->class->order;
}

extern const struct runtime_meaning meaning_hotspot;
extern const struct runtime_report hotspot_report; /* in ../report */
