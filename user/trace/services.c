/* What a session does for the capture code of its runtimes: trace_runtime.h. */
#include "gctrace.skel.h"
#include "trace_priv.h"

const struct trace_options *trace_options(const struct trace *trace)
{
	return &trace->options;
}

struct probe_plan *trace_plan(struct trace *trace, uint32_t image)
{
	return image < trace->images.count ? &trace->images.items[image].plan : NULL;
}

const struct bpf_map *trace_map(const struct trace *trace, const char *name)
{
	return bpf_object__find_map_by_name(trace->programs.bpf->obj, name);
}

bool trace_knows(const struct trace *trace, uint32_t process)
{
	return recording_process(&trace->feed.recording, process);
}

bool trace_ran_before(const struct trace *trace, uint32_t process, uint32_t image)
{
	return runtimes_aged(&trace->runtimes, process, image);
}

int trace_watch(struct trace *trace, uint32_t image, const struct probe_site *site, pid_t tid,
	unsigned int bytes, bool inherit, uint64_t cookie, struct err *err)
{
	return images_watch(&trace->images, image, site, tid, bytes, inherit, cookie, err);
}

uint32_t trace_process(struct trace *trace, pid_t pid)
{
	return processes_get(&trace->processes, pid);
}

struct runtime *trace_runtime(struct trace *trace, uint32_t process, uint32_t image)
{
	return runtimes_get(&trace->runtimes, process, image);
}

void trace_tell_runtime(struct trace *trace, const struct runtime *runtime)
{
	feed_runtime(&trace->feed, runtime);
}

void trace_thread(struct trace *trace, uint32_t process, pid_t pid, uint32_t tid)
{
	feed_thread(&trace->feed, process, pid, tid);
}

size_t trace_open_slots(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max)
{
	return slots_open(trace->shared, least_ns, ret, max);
}

struct stack_table *trace_stack_table(struct trace *trace)
{
	return &trace->stacks;
}

struct books *trace_books(struct trace *trace)
{
	return &trace->ledger.books;
}

void trace_saw_pause(struct trace *trace, uint32_t process, uint32_t image, uint64_t owner,
	uint64_t start_ns)
{
	const struct process *seen = processes_by_id(&trace->processes, process);

	if (seen)
		in_vain_pause(&trace->in_vain, seen->pid, image);
	runtimes_meet(&trace->runtimes, process, image);
	ledger_begun_next(&trace->ledger, process, owner, start_ns);
}

void trace_put_pause(struct trace *trace, struct pause *pause)
{
	feed_pause(&trace->feed, pause);
}

void trace_put_stall(struct trace *trace, struct stall *stall)
{
	feed_stall(&trace->feed, stall);
}

void trace_put_phase(struct trace *trace, struct phase *phase)
{
	feed_phase(&trace->feed, phase);
}

void trace_note_drop(struct trace *trace, const char *cause, uint64_t count, const char *remedy)
{
	feed_drop(&trace->feed, cause, count, remedy);
}

void trace_note_unprobed(struct trace *trace)
{
	trace->looks.unprobed++;
}

void trace_step_at(struct trace *trace, pid_t pid, const struct step_at *at)
{
	steps_probe_at(&trace->steps, pid, at);
}

void trace_step_near(struct trace *trace, const char *name)
{
	steps_near(&trace->steps, name);
}
