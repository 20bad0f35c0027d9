/* Settings of a collector: integers in the memory of a process, which the running code reads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct probe_plan;

#define SETTINGS_MAX 8

struct settings {
	size_t count;
	struct {
		const char *name;
		uint64_t address; /* in the process, of an int32_t */
		int32_t value;
	} items[SETTINGS_MAX];
};

/* How the collector comes to collect, and to collect everything, under some settings. */
struct settings_pace {
	bool on;
	double made;	   /* objects between two collections */
	double promotes;   /* collections to one that promotes to the oldest generation */
	double promotions; /* of those to a full one, at least */
	double share; /* of the objects that the last full one left: so many must have been promoted */
};

/* What a runtime says of its collector's settings. A trial changes them where it is sure of them, and only there. */
struct settings_ops {
	/*
	 * Finds them in @pid; @bias: what the process added to the file's addresses. -EAGAIN: not known yet. -ENOTSUP
	 * with a sentence: where they are, whose they are, or what they do is not certain.
	 */
	int (*find)(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct settings *ret,
		struct err *err);
	/*
	 * *ret: @now, changed as @text asks; NULL: by what is worth a try. -EINVAL, or -ENOTSUP if
	 * there is nothing to compare with, with a sentence.
	 */
	int (*change)(const struct settings *now, const char *text, struct settings *ret,
		struct err *err);
	/* For people: "on, thresholds 700, 10, 10". */
	void (*describe)(const struct settings *settings, char *ret, size_t size);
	struct settings_pace (*pace)(const struct settings *settings);
};
