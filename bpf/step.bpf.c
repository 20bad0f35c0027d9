// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A call that may mark a step → one gc_mark record, and before it, once, the text of its label. */
#include "core.bpf.h"
#include "memory.bpf.h"

extern const volatile __u32 wakeup_bytes;

#define SOURCE_TEXT_MOST (1u << 20) /* a longer std::string is none: the bytes are something else */
#define LABEL_WORDS	 (GC_LABEL_BYTES / 8)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gc_signals);
} signals SEC(".maps");

struct text {
	__u64 words[LABEL_WORDS]; /* zeros behind the end */
	__u64 length;		  /* in full */
};

static __always_inline __u64 mix(__u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* The smaller one, in a form that the verifier follows: clang would fold the comparison away. */
static __always_inline __u64 at_most(__u64 length, __u64 most)
{
	asm volatile("" : "+r"(length));
	return length > most ? most : length;
}

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

/* Copies the text of a std::string (libstdc++'s). False if there is none. */
static __always_inline bool read_text(__u64 address, struct text *text)
{
	struct {
		__u64 data, length;
	} string;

	if (bpf_probe_read_user(&string, sizeof(string), (void *)address) ||
		string.length > SOURCE_TEXT_MOST)
		return false;
	text->length = string.length;
	return !bpf_probe_read_user(text->words, at_most(string.length, GC_LABEL_BYTES),
		(void *)string.data);
}

/*
 * PyASCIIObject. Up to 3.11 the bit `ready` is set, and a pointer more lies before the characters; the
 * bits above are never written.
 */
struct py_text {
	__u64 refcount, type, length, hash;
	__u32 state, pad;
};

#define PY_TUPLE_SIZE	   16 /* the first item follows */
#define PY_TYPE_FLAGS	   168
#define PY_UNICODE	   (1u << 28) /* Py_TPFLAGS_UNICODE_SUBCLASS */
#define PY_ASCII_MASK	   0x7c
#define PY_ASCII	   0x64 /* kind 1, compact, ascii */
#define PY_READY	   0x80
#define PY_ASCII_DATA	   40

/* Copies the str that is the first item of the tuple that @address points to. False for all else. */
static __always_inline bool read_pytext(__u64 address, struct text *text)
{
	struct {
		__u64 size, first;
	} tuple;
	struct py_text head;

	if (bpf_probe_read_user(&tuple, sizeof(tuple), (void *)(read_u64(address) + PY_TUPLE_SIZE)) ||
		!tuple.size || bpf_probe_read_user(&head, sizeof(head), (void *)tuple.first) ||
		!(read_u64(head.type + PY_TYPE_FLAGS) & PY_UNICODE) ||
		(head.state & PY_ASCII_MASK) != PY_ASCII || head.length > SOURCE_TEXT_MOST)
		return false;
	text->length = head.length;
	return !bpf_probe_read_user(text->words, at_most(head.length, GC_LABEL_BYTES),
		(void *)(tuple.first + PY_ASCII_DATA + (head.state & PY_READY ? 8 : 0)));
}

static __always_inline __u64 hash_text(const struct text *text, __u64 seed)
{
	__u64 hash = seed ^ text->length;

	for (int i = 0; i < LABEL_WORDS; i++) {
		hash = (hash ^ text->words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return mix(hash);
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

/* False if the call is no mark. */
static __always_inline bool read_label(struct pt_regs *ctx, struct gc_signals *all,
	struct gc_signal *signal, __u64 cookie, __u64 now, __u64 *ret_key)
{
	__u64 from = argument(ctx, GC_STEP_ARGUMENT(cookie)) + GC_STEP_OFFSET(cookie);
	__u32 index = GC_STEP_SIGNAL(cookie);
	struct text text = {};

	if (GC_STEP_KEY(cookie) == GC_KEY_PYTEXT) {
		if (signal->direct || !read_pytext(from, &text))
			return false;
	} else {
		signal->direct = 1;
		if (!read_text(from, &text))
			return true; /* a mark without a label */
	}
	*ret_key = hash_text(&text, mix(index + 1));
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

/* A signal that says more has spoken. */
static __always_inline bool is_superseded(const struct gc_signals *all, const struct gc_signal *signal)
{
	__u32 other = signal->unless - 1;

	return other < GC_MAX_SIGNALS && all->signals[other].marked;
}

static __always_inline void mark(struct pt_regs *ctx, struct gc_signals *all,
	struct gc_signal *signal, __u64 cookie, __u64 now)
{
	__u64 key = GC_STEP_VARIANT(cookie), number = 0;

	switch (GC_STEP_KEY(cookie)) {
	case GC_KEY_TEXT:
	case GC_KEY_PYTEXT:
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

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	all = bpf_map_lookup_elem(&signals, &zero);
	if (!all)
		return 0;
	signal = &all->signals[GC_STEP_SIGNAL(cookie)];
	__sync_fetch_and_add(&signal->hits, 1);
	if (!signal->muted && (signal->kept || pour(signal, now)) && !is_superseded(all, signal))
		mark(ctx, all, signal, cookie, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
