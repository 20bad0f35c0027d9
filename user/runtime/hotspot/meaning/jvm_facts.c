/* A safepoint in; an event that advice computes with out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm_facts.h"
#include "stats.h"
#include "cleanup.h"

#define MIB 1048576.0

const char *jvm_size(double bytes, char *text, size_t size)
{
	uint64_t mib = stats_whole(bytes / MIB);

	if ((double)mib * MIB < bytes)
		mib++;
	if (mib >= 10240 || (mib >= 1024 && mib % 1024 == 0))
		snprintf(text, size, "%llug", (unsigned long long)((mib + 1023) / 1024));
	else
		snprintf(text, size, "%llum",
			(unsigned long long)(mib > 64 ? (mib + 15) / 16 * 16 : mib));
	return text;
}

/* "17.0.15+6", "1.8.0_412", "25.412-b08" of an 8: the release, or 0. */
static int release_of(const char *version)
{
	char *end;
	long major = strtol(version, &end, 10);

	if (end == version || major < 1 || major > 999)
		return 0;
	if (major == 1 && *end == '.')
		major = strtol(end + 1, NULL, 10);
	return major > 0 && major <= 999 ? (int)major : 0;
}

/* The bytes of "-Xmx3g"; 0 for what is none. */
static uint64_t option_bytes(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);
	unsigned shift = *end == 'k' || *end == 'K'   ? 10
			 : *end == 'm' || *end == 'M' ? 20
			 : *end == 'g' || *end == 'G' ? 30
			 : *end == 't' || *end == 'T' ? 40
						      : 0;

	if (end == text || *text == '-' || (*end && (!shift || end[1])) || value >> (62 - shift))
		return 0;
	return value << shift;
}

/* What the command line says that advice must know; of an option given twice the last one holds. */
static void read_option(const char *text, struct jvm_facts *facts)
{
	static const char *const sizes[] = {"-Xmx", "-XX:MaxHeapSize="};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!strncmp(text, sizes[i], strlen(sizes[i])))
			facts->heap_max = option_bytes(text + strlen(sizes[i]));
	if (!strcmp(text, "-XX:+UseCountedLoopSafepoints"))
		facts->polls_in_loops = true;
}

static void read_options(const struct process *process, struct jvm_facts *facts)
{
	const char *at = process ? process->cmdline : NULL;
	const char *end = at ? at + process->cmdline_len : NULL;

	for (size_t len; at && at < end; at += len + 1) {
		char text[64];

		len = strnlen(at, (size_t)(end - at));
		if (len >= sizeof(text))
			continue;
		memcpy(text, at, len);
		text[len] = '\0';
		read_option(text, facts);
	}
}

/*
 * G1, ZGC and Shenandoah have polls in counted loops by default, in strips of 1000 turns, since 10.
 */
static bool has_polls(const char *collector)
{
	return strcmp(collector, "Serial") && strcmp(collector, "Parallel") &&
	       strcmp(collector, "CMS");
}

/* GCCause::to_string(), 8 to 26. */
static enum jvm_why why_of(const char *cause)
{
	static const struct {
		const char *cause;
		enum jvm_why why;
	} known[] = {
		{"Allocation Failure", JVM_WHY_ALLOCATION},
		{"G1 Evacuation Pause", JVM_WHY_ALLOCATION},
		{"G1 Preventive Collection", JVM_WHY_ALLOCATION},
		{"G1 Compaction Pause", JVM_WHY_ALLOCATION},
		{"Ergonomics", JVM_WHY_ALLOCATION},
		{"Metadata GC Threshold", JVM_WHY_METADATA},
		{"Metadata GC Clear Soft References", JVM_WHY_METADATA},
		{"System.gc()", JVM_WHY_EXPLICIT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(cause, known[i].cause))
			return known[i].why;
	return JVM_WHY_OTHER;
}

/* The innermost frame of Java code outside the JDK, else the innermost of Java code; 0: none. */
static uint32_t late_frame(const struct stack_table *stacks, uint32_t stack)
{
	uint32_t found = 0;

	if (stack >= stacks->node_count)
		return 0;
	for (uint32_t node = stack; node; node = stacks->nodes[node].parent) {
		uint32_t frame = stacks->nodes[node].frame;

		if (stacks->frames[frame].lang != LANG_JAVA)
			continue;
		if (frame_origin(stacks, frame) != ORIGIN_RUNTIME)
			return frame;
		found = found ? found : frame;
	}
	return found;
}

int jvm_facts_add(struct jvm_facts *facts, const struct advice_pause *one)
{
	const struct attribution *attribution = one->attribution;
	const struct pause *pause = one->pause;
	bool known = pause->flags & PAUSE_HAS_FACTS;
	struct jvm_event *event = vec_add(&facts->events);

	if (!event)
		return -ENOMEM;
	if (facts->events.count == 1) {
		snprintf(facts->collector, sizeof(facts->collector), "%s", one->runtime->collector);
		facts->release = release_of(one->runtime->version);
		facts->polls_in_loops = has_polls(one->runtime->collector);
		read_options(recording_process(attribution->recording, one->runtime->process),
			facts);
	}
	*event = (struct jvm_event){
		.duration_ns = pause_duration(pause),
		.weight = advice_weight(one),
		.heap_before = pause->facts[HOTSPOT_HEAP_BEFORE],
		.heap_after = pause->facts[HOTSPOT_HEAP_AFTER],
		.ttsp_ns = pause->facts[HOTSPOT_TTSP_NS],
		.late_ran_ns = pause->facts[HOTSPOT_LATE_RAN_NS],
		.late = late_frame(attribution->stacks, (uint32_t)pause->facts[HOTSPOT_LATE_STACK]),
		.class = (uint8_t)hotspot_class(pause),
		.uncounted = known && pause_collects(pause) && !(pause->flags & PAUSE_CONCURRENT) &&
			     pause->facts[HOTSPOT_YOUNG_COLLECTIONS] == UNKNOWN,
		.why = (uint8_t)why_of(strtab_get(attribution->stacks->strings,
			(uint32_t)pause->facts[HOTSPOT_CAUSE])),
	};
	stats_add(&facts->overlap_ns, one->overlap_ns);
	return 0;
}
