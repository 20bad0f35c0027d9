// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A call that may mark a step → one gc_mark record, and before it, once, the text of its label. */
#include "memory.bpf.h"
#include "step_thread.bpf.h"
#include "step_text.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_WATCHED_STEPS);
	__type(key, struct gc_watched_place);
	__type(value, struct gc_watched_step);
} watched_steps SEC(".maps");

/* The verifier takes no computed offset into the registers: each load stays where it is written. */
#define LOADED(value)                                                                              \
	({                                                                                         \
		__u64 loaded_ = (value);                                                           \
		asm volatile("" : "+r"(loaded_));                                                  \
		loaded_;                                                                           \
	})

static __always_inline __u64 argument(struct pt_regs *ctx, __u32 number)
{
	switch (number) {
	case 1:
		return LOADED(PT_REGS_PARM1(ctx));
	case 2:
		return LOADED(PT_REGS_PARM2(ctx));
	case 3:
		return LOADED(PT_REGS_PARM3(ctx));
	case 4:
		return LOADED(PT_REGS_PARM4(ctx));
	case 5:
		return LOADED(PT_REGS_PARM5(ctx));
	case 6:
		return LOADED(MACHINE_PARM6(ctx));
	}
	return 0;
}

/* False if this signal has had more hits, this one included, than are tolerated: it is muted. */
static __always_inline bool pour(struct gc_signal *signal, __u64 now)
{
	__sync_fetch_and_add(&signal->due_ns, signal->rate_ns);
	if (signal->due_ns < now) {
		signal->due_ns = now;
		return true;
	}
	if (signal->due_ns - now < (__u64)signal->rate_ns * GC_SIGNAL_BURST)
		return true;
	signal->muted = 1;
	return false;
}

/* A label whose record is lost is sent again before its next mark. */
static __always_inline void send_label(struct gc_signals *all, __u32 index, __u64 key,
	const struct text *text, __u64 now)
{
	struct gc_label *label;

	if (likely(all->labels[key % GC_LABEL_SLOTS] == key))
		return;
	label = bpf_ringbuf_reserve(&events, sizeof(*label), 0);
	if (!label) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&label->header, GC_EVENT_LABEL, sizeof(*label), now);
	label->signal = index;
	label->length = text->length;
	label->key = key;
	__builtin_memcpy(label->bytes, text->words, GC_LABEL_BYTES);
	bpf_ringbuf_submit(label, BPF_RB_NO_WAKEUP);
	all->labels[key % GC_LABEL_SLOTS] = key;
}

/*
 * False if the call is no mark. Which of a signal's functions a library calls is seen when it does:
 * the outer one's mark stands for the first call of the inner one, and is the last of its kind.
 */
static __always_inline bool read_label(struct pt_regs *ctx, struct gc_signals *all,
	struct gc_signal *signal, __u64 cookie, __u64 now, __u64 *ret_key)
{
	__u64 from = argument(ctx, GC_STEP_ARGUMENT(cookie)) + GC_STEP_OFFSET(cookie);
	bool hint = GC_STEP_KEY(cookie) == GC_KEY_HINT, first = !signal->direct;
	__u32 index = GC_STEP_SIGNAL(cookie);
	struct text text = {};

	if (hint && !first)
		return false;
	if (!hint && first)
		signal->direct = 1;
	if (!read_text(from, GC_STEP_OFFSET(cookie), &text))
		return !hint; /* a mark without a label */
	*ret_key = hash_text(&text, mix(index + 1));
	if (!hint && first && signal->hint == *ret_key)
		return false;
	if (hint)
		signal->hint = *ret_key;
	send_label(all, index, *ret_key, &text, now);
	return true;
}

static __always_inline __u32 read_u32(__u64 address)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* Three arguments from @first on; @at: they are addresses, of numbers of 32 bits or of 64. */
static __always_inline __u64 read_dims(struct pt_regs *ctx, __u32 first, bool at)
{
	__u32 m = argument(ctx, first), n = argument(ctx, first + 1), k = argument(ctx, first + 2);

	if (at) {
		m = read_u32(argument(ctx, first));
		n = read_u32(argument(ctx, first + 1));
		k = read_u32(argument(ctx, first + 2));
	}
	if (m > GC_DIMS_MOST || n > GC_DIMS_MOST || k > GC_DIMS_MOST)
		return mix(mix((__u64)m << 32 | n) ^ k) | GC_DIMS_HASHED;
	return GC_DIMS(m, n, k);
}

/*
 * Of a vector at @address whose elements begin with a pointer to an object: the table of virtual functions of the first one,
 * which is the same for all objects of its class. 0 if there is none.
 */
static __always_inline __u64 read_class(__u64 address)
{
	for (int i = 0; i < 3; i++) {
		__u64 value = 0;

		if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
			return 0;
		address = value;
	}
	return address;
}

static __always_inline __u64 read_object(__u64 address)
{
	__u64 object = 0;

	bpf_probe_read_user(&object, sizeof(object), (void *)address);
	return object;
}

/* A call: when it came, and what its thread had done by then. */
struct moment {
	__u64 ns, work_ns;
	__u32 flags; /* GC_MARK_WORK: work_ns is known */
};

/*
 * What the thread has done, its CPU time being @cpu. Calls that wait and were not seen would pass for work: while there
 * may be some, nothing is known, and after that it is counted from another origin.
 */
static __always_inline void take_work(struct step_thread *thread, const struct gc_waits *waits,
	__u64 sp, __u64 cpu, struct moment *at)
{
	if (!thread || waits->muted || waits->blind)
		return;
	if (unlikely(thread->epoch != waits->epoch))
		begin_work(thread, waits->epoch, cpu);
	if (unlikely(thread->call_sp && thread->call_sp < sp))
		thread->call_sp = 0; /* left by a jump */
	if (thread->call_sp)
		cpu = thread->call_cpu;
	at->work_ns = cpu - thread->base_ns - thread->spun_ns;
	if ((__s64)at->work_ns >= 0) /* else an interrupt that was not known at its beginning */
		at->flags = GC_MARK_WORK;
}

static __always_inline void send_mark(struct gc_signal *signal, __u32 index, __u64 key,
	__u64 number, __u32 skipped, const struct moment *at)
{
	struct gc_mark *mark = bpf_ringbuf_reserve(&events, sizeof(*mark), 0);

	if (!signal->marked)
		signal->marked = 1;
	if (unlikely(!mark)) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&mark->header, GC_EVENT_MARK, sizeof(*mark), at->ns);
	mark->signal = index;
	mark->key = key;
	mark->number = number;
	mark->rss_bytes = 0;
	mark->work_ns = at->work_ns;
	mark->skipped = skipped;
	mark->pad = 0;
	mark->flags = at->flags | (read_rss(&mark->rss_bytes) ? GC_MARK_RSS : 0);
	bpf_ringbuf_submit(mark, wakeup_flags(signal->hits));
}

/*
 * A mark of another signal ends the rows of its thread: what waits in them is sent before it, so that between
 * two such marks the sum is that of all calls. Rows are begun only in threads that have such marks.
 */
static __always_inline void end_rows(struct gc_signals *all, struct step_thread *thread)
{
	if (likely(!all->any_thinned))
		return;
	if (!thread) {
		count_drop(GC_DROP_THREAD);
		return;
	}
	for (int i = 0; i < ROWS; i++) {
		struct row *row = &thread->rows[i];
		__u32 index = row->signal & (GC_MAX_SIGNALS - 1);

		if (!row->calls)
			break;
		if (row->waiting) {
			const struct moment at = {row->last_ns, row->last_work_ns, row->flags};

			send_mark(&all->signals[index], index, row->key, 0, row->waiting - 1, &at);
		}
		row->calls = row->waiting = 0;
	}
}

/* Whether the call waits for a later mark, which counts it: by the number of calls, never by the clock. */
static __always_inline bool waits(struct gc_signals *all, struct step_thread *thread, __u32 index,
	__u64 key, const struct moment *at, __u32 *ret_skipped)
{
	if (!all->any_thinned)
		all->any_thinned = 1;
	for (int i = 0; thread && i < ROWS; i++) {
		struct row *row = &thread->rows[i];

		if (row->calls && (row->key != key || row->signal != index))
			continue;
		row->key = key;
		row->signal = index;
		row->last_ns = at->ns;
		row->last_work_ns = at->work_ns;
		row->flags = at->flags;
		row->calls++;
		*ret_skipped = row->waiting++;
		if (row->waiting * GC_ROW_SHARE <= row->calls)
			return true;
		row->waiting = 0;
		return false;
	}
	return false;
}

static __always_inline void mark(struct pt_regs *ctx, struct gc_signals *all,
	struct gc_signal *signal, struct step_thread *thread, __u64 cookie, __u64 cpu, __u64 now)
{
	__u64 key = GC_STEP_VARIANT(cookie), number = 0;
	struct moment at = {.ns = now};
	__u32 index = GC_STEP_SIGNAL(cookie), skipped = 0;

	switch (GC_STEP_KEY(cookie)) {
	case GC_KEY_TEXT:
	case GC_KEY_HINT:
		if (!read_label(ctx, all, signal, cookie, now, &key))
			return;
		break;
	case GC_KEY_NUMBER:
		number = argument(ctx, GC_STEP_ARGUMENT(cookie));
		key = mix(number ^ mix(cookie));
		break;
	case GC_KEY_CLASS:
		number = read_class(argument(ctx, GC_STEP_ARGUMENT(cookie)));
		key = mix(number ^ mix(cookie));
		break;
	case GC_KEY_OBJECT:
		if (!thread || !thread->named)
			return;
		number = read_object(argument(ctx, GC_STEP_ARGUMENT(cookie)));
		key = mix(number ^ mix(cookie));
		break;
	case GC_KEY_SIZE:
		number = read_object(argument(ctx, GC_STEP_ARGUMENT(cookie))) >> 1;
		key = mix(number ^ mix(cookie));
		break;
	case GC_KEY_DIMS:
	case GC_KEY_DIMS_AT:
		number = read_dims(ctx, GC_STEP_ARGUMENT(cookie),
			GC_STEP_KEY(cookie) == GC_KEY_DIMS_AT);
		key = mix(number ^ mix(cookie));
		break;
	}
	if (!thread && !signal->thinned)
		thread = this_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread->named =
			GC_STEP_KEY(cookie) == GC_KEY_TEXT || GC_STEP_KEY(cookie) == GC_KEY_HINT;
	take_work(thread, &all->waits, PT_REGS_SP(ctx), cpu, &at);
	if (!signal->thinned)
		end_rows(all, thread);
	else if (waits(all, thread, index, key, &at, &skipped))
		return;
	send_mark(signal, index, key, number, skipped, &at);
}

SEC("uprobe")
int on_step(struct pt_regs *ctx)
{
	struct step_thread *thread = this_thread(0);
	struct gc_signal *signal;
	struct gc_signals *all;
	__u64 now, cpu, cookie;
	__u32 zero = 0;

	OWN_STACK(ctx, no_programs);
	if (!thread && !is_target())
		return 0;
	cpu = cpu_ns(&now);
	cookie = bpf_get_attach_cookie(ctx);
	all = bpf_map_lookup_elem(&signals, &zero);
	if (!all)
		return 0;
	signal = &all->signals[GC_STEP_SIGNAL(cookie)];
	__sync_fetch_and_add(&signal->hits, 1);
	if (!signal->muted && (signal->kept || pour(signal, now)))
		mark(ctx, all, signal, thread, cookie, cpu, now);
	return 0;
}

/*
 * The same where no uprobe can be: code in memory that no file holds. A debug register stops there. Which place it is,
 * is asked by its address: the event of a thread that came later is a copy, and the kernel copies no cookie.
 */
SEC("perf_event")
int on_step_watch(struct bpf_perf_event_data *ctx)
{
	struct gc_watched_place place = {.pid = current_tgid(), .address = PT_REGS_IP(&ctx->regs)};
	struct gc_watched_step *step;
	struct step_thread *thread;
	struct gc_signals *all;
	struct gc_signal *signal;
	struct moment at = {};
	__u32 zero = 0, index;
	__u64 cpu;

	if (!bpf_map_lookup_elem(&targets, &place.pid))
		return 0;
	step = bpf_map_lookup_elem(&watched_steps, &place);
	all = bpf_map_lookup_elem(&signals, &zero);
	if (!step || !all)
		return 0;
	cpu = cpu_ns(&at.ns);
	step->last_ns = at.ns;
	index = GC_STEP_SIGNAL(step->cookie);
	signal = &all->signals[index];
	__sync_fetch_and_add(&signal->hits, 1);
	thread = this_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	take_work(thread, &all->waits, PT_REGS_SP(&ctx->regs), cpu, &at);
	end_rows(all, thread);
	send_mark(signal, index, GC_STEP_VARIANT(step->cookie), 0, 0, &at);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
