/* What the files about one JVM share. Not for other rooms. */
#pragma once

#include "hotspot_process.h"
#include "u64map.h"
#include "vec.h"

#define NAME_BYTES 64
#define MAX_NAMES  512 /* VM operations: under 120 in any version so far */

struct hotspot {
	pid_t pid, ns_pid;
	uint64_t bias;
	int64_t clock_offset; /* of its clock, from the kernel's */
	bool clock_unknown;   /* what it says of the time cannot be placed */
	struct hotspot_file symbols;
	struct elf_file *file, *debug; /* debug: NULL without */
	struct jvm *jvm;
	struct jvm_plan plan;
	bool learned;
	char (*names)[NAME_BYTES]; /* of operations by number; "" until asked for */
	struct u64map vtables;	   /* address → index + 1 in classes */
	VEC(struct operation_class { char name[NAME_BYTES]; }) classes;
	char name[NAME_BYTES]; /* of the last operation, where USDT said it */
	char cause[NAME_BYTES];
	struct u64map tids; /* the JVM's → the host's, where they differ */
	/* The counters as the last record had them. */
	struct hotspot_counters {
		bool known;
		uint64_t taken_ns; /* 0: by a record, at the end of its safepoint */
		uint64_t safepoints, sync_time, safepoint_time, collections[EVENT_COLLECTORS];
		bool has_collections[EVENT_COLLECTORS];
	} before;
	/* When it became a target; all 0 once a record has come. */
	struct {
		uint64_t since_ns,
			begin_ns; /* begin_ns: of the safepoint under way then; 0: not known */
		bool stopped;
	} first;
};

/* Fills .collections and .number; @event's counters become those of before. */
void hotspot_count(struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_safepoint *ret);

/* While it lives: the operations of its last moments are named once it has gone. */
void hotspot_read_names(struct hotspot *hotspot);
