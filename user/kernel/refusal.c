/* For tests: features of this kernel that are not to be used, as if it were an older one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "kernel.h"
#include "load_priv.h"
#include "uprobe.h"

int kernel_parse_refusals(unsigned int *ret, struct err *err)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} features[] = {
		{"session", 1u << UPROBE_SESSION},
		{"multi", 1u << UPROBE_MULTI},
		{"task-storage", REFUSE_STATES},
		{"task-storage-at-ends", REFUSE_ENDS},
	};
	const char *text = getenv("GCTRACE_REFUSE"); /* for tests: see CONTRIBUTING.md */

	*ret = 0;
	while (text && *text) {
		size_t length = strcspn(text, ","), i = 0;

		while (i < ARRAY_SIZE(features) && (strlen(features[i].name) != length ||
							   memcmp(features[i].name, text, length)))
			i++;
		if (i == ARRAY_SIZE(features))
			return err_set(err, EINVAL, "GCTRACE_REFUSE: no feature is called \"%.*s\"",
				(int)length, text);
		*ret |= features[i].bit;
		text += length + (text[length] == ',');
	}
	return 0;
}

bool kernel_has_uprobe_multi(void)
{
	unsigned int refused;
	struct err err;

	return !kernel_parse_refusals(&refused, &err) && uprobe_best_way(refused) != UPROBE_PERF;
}
