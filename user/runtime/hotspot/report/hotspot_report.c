/* The entry of HotSpot's own tables and records. */
#include "hotspot_report.h"

const struct runtime_report hotspot_report = {
	.tables = hotspot_tables,
	.json = hotspot_json,
};
