/*
 * Safepoints whose end is not seen: the recording ends within, or the JVM does. In: a JVM's own variables,
 * the slots shared with BPF. Out: pauses of at least some length; how many JVMs tell nothing.
 */
#include "cleanup.h"
#include "hotspot_session.h"

/* When a probe saw the safepoint begin that goes on; 0: none. */
static uint64_t open_since(const struct trace *trace, pid_t pid)
{
	struct trace_open_pause open[GC_OPEN_SLOTS];
	size_t count = trace_open_slots(trace, 0, open, ARRAY_SIZE(open));

	for (size_t i = 0; i < count; i++)
		if (open[i].pid == (uint32_t)pid)
			return open[i].start_ns;
	return 0;
}

/*
 * What goes on in @instance: .start_ns 0: nothing. By the JVM's own word, by a probe's, or since it
 * became a target at least.
 */
static struct jvm_stop find_stop(const struct jvms *jvms, const struct jvm_instance *instance)
{
	uint64_t seen_ns = open_since(jvms->trace, instance->pid), begin_ns, first_ns;
	int r = hotspot_stopped(instance->hotspot, &begin_ns);
	bool known;

	if (!r) /* an open slot is left where no state was to be had at the end */
		return (struct jvm_stop){};
	if (r == 1 && begin_ns)
		return (struct jvm_stop){begin_ns};
	if (seen_ns)
		return (struct jvm_stop){seen_ns};
	if (!hotspot_first(instance->hotspot, &first_ns, &known))
		return (struct jvm_stop){first_ns, .flags = known ? 0 : PAUSE_BEGUN_BEFORE};
	return (struct jvm_stop){.unsure = r < 0 && !hotspot_was_seen(instance->hotspot)};
}

void jvms_look(void *state)
{
	struct jvms *jvms = state;

	for (size_t i = 0; i < jvms->list.count; i++) {
		struct jvm_instance *instance = jvms->list.items[i];

		instance->stop = find_stop(jvms, instance);
		if (instance->stop.start_ns)
			hotspot_look(instance->hotspot, &instance->snapshot);
	}
}

void jvms_finish(void *state)
{
	struct jvms *jvms = state;

	for (size_t i = 0; i < jvms->list.count; i++) {
		struct jvm_instance *instance = jvms->list.items[i];
		struct runtime *runtime =
			trace_runtime(jvms->trace, instance->process, instance->image);
		const struct hotspot_event *event = &instance->snapshot.event;
		struct hotspot_safepoint read;

		jvms->unsure += instance->stop.unsure && !instance->record_ns;
		if (!runtime || !instance->stop.start_ns ||
			instance->record_ns >= event->head.time_ns ||
			instance->stop.start_ns >= event->head.time_ns)
			continue; /* none, or its end has come after all */
		hotspot_read_open(instance->hotspot, &instance->snapshot, instance->stop.start_ns,
			&read);
		jvms_put_safepoint(jvms, instance, runtime, event, &read,
			PAUSE_UNFINISHED | instance->stop.flags);
	}
}

void jvms_over(struct jvms *jvms, pid_t pid, uint64_t end_ns)
{
	struct jvm_instance *instance = jvms_find(jvms, pid);
	struct runtime *runtime =
		instance ? trace_runtime(jvms->trace, instance->process, instance->image) : NULL;
	uint64_t start_ns;
	bool known;

	if (!runtime || instance->record_ns || hotspot_first(instance->hotspot, &start_ns, &known))
		return;
	jvms->killed++;
	jvms_put_unknown(jvms, runtime, start_ns, end_ns,
		PAUSE_UNFINISHED | PAUSE_INEXACT | (known ? 0 : PAUSE_BEGUN_BEFORE), 0);
}
