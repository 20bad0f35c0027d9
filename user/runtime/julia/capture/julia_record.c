/* What came as a record of a pause → whether it may be one. */
#include "julia_record.h"
#include "julia_wire.h"

bool julia_record_makes_sense(const void *bytes, size_t size)
{
	const struct gc_julia_pause *wire = bytes;

	if (size < sizeof(*wire) || wire->header.type != GC_EVENT_JULIA_PAUSE ||
		wire->asked > GC_JULIA_UNKNOWN)
		return false;
	if (wire->start_ns > wire->stopped_ns || wire->stopped_ns > wire->header.time_ns)
		return false;
	if (!(wire->flags & GC_JULIA_COLLECTED))
		return !wire->waited_ns && !wire->post_ns;
	return wire->collected_ns >= wire->stopped_ns &&
	       wire->collected_ns <= wire->header.time_ns &&
	       wire->waited_ns <= wire->header.time_ns - wire->collected_ns &&
	       wire->post_ns <= wire->header.time_ns - wire->collected_ns - wire->waited_ns;
}
