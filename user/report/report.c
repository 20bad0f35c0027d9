/*
 * The registry: a format's name → its table of operations. A new format is one file and one line
 * here.
 */
#include <string.h>

#include "report.h"

const struct report_ops *const report_formats[] = {
	&report_text,
	&report_json,
	&report_folded,
	&report_flamegraph,
	&report_html,
	NULL,
};

const struct report_ops *report_find(const char *name)
{
	for (size_t i = 0; report_formats[i]; i++)
		if (!strcmp(report_formats[i]->name, name))
			return report_formats[i];
	return NULL;
}
