// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A call that may mark a step → one gc_mark record, and before it, once, the text of its label. */
#include "memory.bpf.h"
#include "step_text.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gc_signals);
} signals SEC(".maps");

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
		return LOADED(ctx->r9);
	}
	return 0;
}

/* False if the hits of this signal, this one included, are more than are borne: it is muted. */
static __always_inline bool pour(struct gc_signal *signal, __u64 now)
{
	__sync_fetch_and_add(&signal->due_ns, GC_SIGNAL_RATE_NS);
	if (signal->due_ns < now) {
		signal->due_ns = now;
		return true;
	}
	if (signal->due_ns - now < GC_SIGNAL_RATE_NS * GC_SIGNAL_BURST)
		return true;
	signal->muted = 1;
	return false;
}

/* A label whose record is lost is sent again before its next mark. */
static __always_inline void send_label(struct gc_signals *all, __u32 index, __u64 key,
	const struct text *text, __u64 now)
{
	struct gc_label *label;

	if (all->labels[key % GC_LABEL_SLOTS] == key)
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

static __always_inline __u64 read_dims(struct pt_regs *ctx, __u32 first)
{
	__u32 m = argument(ctx, first), n = argument(ctx, first + 1), k = argument(ctx, first + 2);

	if (m > GC_DIMS_MOST || n > GC_DIMS_MOST || k > GC_DIMS_MOST)
		return mix(mix((__u64)m << 32 | n) ^ k) | GC_DIMS_HASHED;
	return GC_DIMS(m, n, k);
}

static __always_inline void send_mark(struct gc_signal *signal, __u32 index, __u64 key, __u64 number,
	__u64 now)
{
	struct gc_mark *mark = bpf_ringbuf_reserve(&events, sizeof(*mark), 0);
	__u64 flags = BPF_RB_NO_WAKEUP;

	signal->marked = 1;
	if (!mark) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&mark->header, GC_EVENT_MARK, sizeof(*mark), now);
	mark->signal = index;
	mark->key = key;
	mark->number = number;
	mark->rss_bytes = 0;
	mark->flags = read_rss(&mark->rss_bytes) ? GC_MARK_RSS : 0;
	if (!(signal->hits % 16) && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(mark, flags);
}

static __always_inline void mark(struct pt_regs *ctx, struct gc_signals *all,
	struct gc_signal *signal, __u64 cookie, __u64 now)
{
	__u64 key = GC_STEP_VARIANT(cookie), number = 0;

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
	case GC_KEY_DIMS:
		number = read_dims(ctx, GC_STEP_ARGUMENT(cookie));
		key = mix(number ^ mix(cookie));
		break;
	}
	send_mark(signal, GC_STEP_SIGNAL(cookie), key, number, now);
}

SEC("uprobe")
int on_step(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), cookie;
	__u32 tgid = current_tgid(), zero = 0;
	struct gc_signal *signal;
	struct gc_signals *all;

	OWN_STACK(ctx, no_programs);
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	all = bpf_map_lookup_elem(&signals, &zero);
	if (!all)
		return 0;
	signal = &all->signals[GC_STEP_SIGNAL(cookie)];
	__sync_fetch_and_add(&signal->hits, 1);
	if (!signal->muted && (signal->kept || pour(signal, now)))
		mark(ctx, all, signal, cookie, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
