/* What a pause of HotSpot means: a safepoint, in which something was collected or not. */
#include <string.h>

#include "cleanup.h"
#include "hotspot_meaning.h"
#include "jvm_advice.h"

static const struct pause_class classes[HOTSPOT_CLASSES] = {
	[HOTSPOT_YOUNG] = {&meaning_hotspot, "young", "young", "young", "young collections",
		HOTSPOT_YOUNG, 0, 0, 1, .leaves_live = true},
	[HOTSPOT_STEP] = {&meaning_hotspot, "concurrent step", "conc", "concurrent step",
		"safepoints", HOTSPOT_STEP, 1, 0, 0},
	[HOTSPOT_FULL] = {&meaning_hotspot, "full", "full", "full", "full collections",
		HOTSPOT_FULL, 2, 1, 2, .leaves_live = true},
	[HOTSPOT_OTHER] = {&meaning_hotspot, "not GC", "-", "not GC", "safepoints", HOTSPOT_OTHER,
		3, 0, 0},
	[HOTSPOT_UNKNOWN] = {&meaning_hotspot, "unknown", "?", "unknown", "safepoints",
		HOTSPOT_UNKNOWN, 3, UNKNOWN, 0, .legend = "or not known"},
};

/*
 * A young collection that was counted makes it young, whatever else its operation is: PAUSE_CONCURRENT comes of the
 * operation's name, and where one safepoint runs several operations (8, 11) that is the name of the first alone.
 */
static enum hotspot_class class_of(const struct pause *pause)
{
	if (!pause_collects(pause))
		return HOTSPOT_OTHER;
	if (pause->flags & PAUSE_FULL || pause->facts[HOTSPOT_FULL_COLLECTIONS] > 0)
		return HOTSPOT_FULL;
	if (pause->facts[HOTSPOT_YOUNG_COLLECTIONS] > 0)
		return HOTSPOT_YOUNG;
	if (pause->flags & PAUSE_CONCURRENT)
		return HOTSPOT_STEP;
	return pause->generation ? HOTSPOT_UNKNOWN : HOTSPOT_YOUNG;
}

static bool at_exit(const struct strtab *strings, const struct pause *pause)
{
	const char *operation;

	if (pause->cause == CAUSE_SHUTDOWN)
		return true;
	if (!pause->facts[HOTSPOT_OPERATION])
		return false;
	operation = strtab_get(strings, (uint32_t)pause->facts[HOTSPOT_OPERATION]);
	return (*operation == 'E' || *operation == 'H') &&
	       (!strcmp(operation, "Exit") || !strcmp(operation, "Halt"));
}

static void judge(const struct strtab *strings, struct pause *pause)
{
	enum hotspot_class class = class_of(pause);

	pause->class = &classes[class];
	pause->collects = class != HOTSPOT_OTHER;
	if (class == HOTSPOT_UNKNOWN && !pause->facts[HOTSPOT_CAUSE] &&
		pause->facts[HOTSPOT_HEAP_AFTER] < 0)
		pause->collects = UNKNOWN;
	pause->at_exit = at_exit(strings, pause);
}

/* The cause of a collection; of what is none, or a step of one, its operation. */
static uint32_t reason(const struct pause *pause)
{
	uint32_t operation = (uint32_t)pause->facts[HOTSPOT_OPERATION];
	uint32_t cause = (uint32_t)pause->facts[HOTSPOT_CAUSE];
	enum hotspot_class class = hotspot_class(pause);

	if (class == HOTSPOT_OTHER || class == HOTSPOT_STEP)
		return operation ? operation : cause;
	return cause ? cause : operation;
}

static bool asked_for(const struct strtab *strings, const struct pause *pause)
{
	return !strcmp(strtab_get(strings, (uint32_t)pause->facts[HOTSPOT_CAUSE]), "System.gc()");
}

static bool starts_with_any(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* By the package; a class without one is the user's. */
static enum origin origin(const char *function, const char *file)
{
	static const char *const jdk[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
	/* Under a framework's name, but what a user runs and changes. */
	static const char *const examples[] = {"org.apache.spark.examples.",
		"org.deeplearning4j.examples.", "org.nd4j.examples.", "hex.examples."};
	static const char *const frameworks[] = {"org.nd4j.", "org.deeplearning4j.", "org.datavec.",
		"org.bytedeco.", "org.apache.", "hex.", "water.", "ai.h2o.", "ml.dmlc.",
		"com.microsoft.azure.synapse.", "org.tensorflow.", "ai.djl.", "ai.onnxruntime.",
		"org.pytorch.", "smile.", "scala.", "kotlin.", "kotlinx.", "clojure.", "groovy.",
		"io.netty.", "io.grpc.", "com.google.common.", "com.google.protobuf.",
		"com.fasterxml.", "com.esotericsoftware.", "org.codehaus.", "org.eclipse.",
		"org.springframework.", "org.slf4j.", "ch.qos.logback.", "it.unimi.dsi.",
		"net.jpountz.", "com.github.luben.", "org.xerial.", "breeze.", "akka.", "reactor.",
		"org.junit.", "org.gradle."};

	if (starts_with_any(function, jdk, ARRAY_SIZE(jdk)))
		return ORIGIN_RUNTIME;
	if (starts_with_any(function, examples, ARRAY_SIZE(examples)))
		return ORIGIN_USER;
	return starts_with_any(function, frameworks, ARRAY_SIZE(frameworks)) ? ORIGIN_FRAMEWORK
									     : ORIGIN_USER;
}

static const struct pause_fact facts[HOTSPOT_FACTS] = {
	[HOTSPOT_OPERATION] = {FACT_OPERATION, NULL, "operation", FACT_STRING, false},
	[HOTSPOT_CAUSE] = {FACT_CAUSE, NULL, "cause", FACT_STRING, false},
	[HOTSPOT_YOUNG_COLLECTIONS] = {"young", "young_collections", "young", FACT_COUNT, false,
		false, "collections"},
	[HOTSPOT_FULL_COLLECTIONS] = {"full", "full_collections", "full", FACT_COUNT, false, false,
		"collections"},
	[HOTSPOT_TTSP_NS] = {FACT_TTSP, NULL, "reaching (time to safepoint)", FACT_NS, true, true},
	[HOTSPOT_CLEANUP_NS] = {"cleanup_ns", NULL, "cleanup", FACT_NS, true},
	[HOTSPOT_CORE_NS] = {"core_ns", NULL, "at the safepoint", FACT_NS, true},
	[HOTSPOT_LEAVE_NS] = {"leave_ns", NULL, "leaving", FACT_NS, true},
	[HOTSPOT_HEAP_BEFORE] = {FACT_HEAP_BEFORE, "heap_before_bytes", "heap before", FACT_BYTES,
		false},
	[HOTSPOT_HEAP_AFTER] = {FACT_HEAP_AFTER, "live_bytes", "heap after", FACT_BYTES, false},
	[HOTSPOT_LATE_TID] = {FACT_LATE, NULL, "late", FACT_THREAD, false},
	[HOTSPOT_LATE_STACK] = {FACT_LATE_STACK, NULL, "where it was", FACT_STACK, false},
	[HOTSPOT_LATE_RAN_NS] = {"late_ran_ns", NULL, "it had run", FACT_NS, false},
};

static const char *const waits[] = {
	[STALL_EXPLICIT] = "System.gc",
	[STALL_ALLOCATION] = "allocation stall",
	[STALL_PACING] = "pacing",
	[STALL_LOCKER] = "GC locker",
};

_Static_assert(HOTSPOT_FACTS <= PAUSE_FACTS, "struct pause has room for them");

static const struct exit_words exit_words = {
	"safepoint", "safepoints", "the JVM's exit", "a JVM's exit"};

const struct runtime_meaning meaning_hotspot = {
	.kind = "hotspot",
	.label = "HotSpot",
	.subject = "Safepoints",
	.cause = "safepoints",
	.pause = "safepoint",
	.pauses = "safepoints",
	.verb = "stopped",
	.process = "a JVM",
	.begun = "asked for the safepoint",
	.no_stack = "no Java stack: short safepoints, or asked for by a thread of the JVM itself",
	.not_once = "No safepoint stopped",
	.exit = &exit_words,
	.asked = true,
	.apart = true,
	.collectors = true,
	.waits = waits,
	.wait_count = ARRAY_SIZE(waits),
	.call = "System.gc()",
	.lang = LANG_JAVA,
	.packages = true,
	.classes = classes,
	.class_count = HOTSPOT_CLASSES,
	.young_full = true,
	.facts = facts,
	.fact_count = HOTSPOT_FACTS,
	.fact_table = "safepoint",
	.judge = judge,
	.reason = reason,
	.asked_for = asked_for,
	.origin = origin,
	.advice = &jvm_adviser,
	.report = &hotspot_report,
};
