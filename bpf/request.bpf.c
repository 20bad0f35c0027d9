// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a server receives and sends → a gc_mark for each HTTP/1 request, when its first bytes have been read, and for
 * each response, when its first bytes are to be written. Their number is the connection's descriptor.
 */
#include "step_thread.bpf.h"

/* A call that receives, as its thread entered it. */
struct receive {
	__u64 sp; /* where its stack was; 0: none is under way */
	__u64 buffer;
	__u64 fd;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct receive);
} receives SEC(".maps");

static __always_inline struct receive *this_receive(__u64 flags)
{
	return state_is_refused()
		       ? NULL
		       : bpf_task_storage_get(&receives, bpf_get_current_task_btf(), NULL, flags);
}

/* Where the first byte is: @argument is a buffer, a struct iovec, or a struct msghdr, whose msg_iov is at 16. */
static __always_inline __u64 first_buffer(__u32 kind, __u64 argument)
{
	if (kind == GC_REQUEST_MESSAGE)
		argument = read_u64(argument + 16);
	return kind == GC_REQUEST_BUFFER ? argument : read_u64(argument);
}

/* The bytes of a text of at most eight characters, the first in the lowest. */
#define TEXT(a, b, c, d, e, f, g, h)                                                               \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
		(__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define FIRST(word, bytes) ((word) & (~0ull >> (64 - 8 * (bytes))))

/* RFC 9110, 9.1, and RFC 5789: a request begins with its method and a blank. */
static __always_inline bool is_request(__u64 word)
{
	return FIRST(word, 4) == TEXT('G', 'E', 'T', ' ', 0, 0, 0, 0) ||
	       FIRST(word, 5) == TEXT('P', 'O', 'S', 'T', ' ', 0, 0, 0) ||
	       FIRST(word, 4) == TEXT('P', 'U', 'T', ' ', 0, 0, 0, 0) ||
	       FIRST(word, 5) == TEXT('H', 'E', 'A', 'D', ' ', 0, 0, 0) ||
	       FIRST(word, 7) == TEXT('D', 'E', 'L', 'E', 'T', 'E', ' ', 0) ||
	       FIRST(word, 6) == TEXT('P', 'A', 'T', 'C', 'H', ' ', 0, 0) ||
	       word == TEXT('O', 'P', 'T', 'I', 'O', 'N', 'S', ' ');
}

/* "HTTP/1.1 200"; what comes before the response, 100, 102 and 103, is none. */
static __always_inline bool is_response(__u64 word, __u64 rest)
{
	if (FIRST(word, 7) != TEXT('H', 'T', 'T', 'P', '/', '1', '.', 0) || FIRST(rest, 1) != ' ')
		return false;
	return FIRST(rest, 3) != TEXT(' ', '1', '0', 0, 0, 0, 0, 0) ||
	       FIRST(rest, 4) == TEXT(' ', '1', '0', '1', 0, 0, 0, 0);
}

static __always_inline struct gc_signal *count_call(__u64 cookie)
{
	struct gc_signals *all;
	struct gc_signal *signal;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&signals, &zero);
	if (!all)
		return NULL;
	signal = &all->signals[GC_REQUEST_SIGNAL(cookie)];
	__sync_fetch_and_add(&signal->hits, 1);
	return signal;
}

/* Any thread may go on with a connection: marks are their process's, which is the thread that they name. */
static __always_inline void send_request_mark(const struct gc_signal *signal, __u64 cookie,
	__u64 fd)
{
	struct gc_mark *mark = bpf_ringbuf_reserve(&events, sizeof(*mark), 0);

	if (!mark) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&mark->header, GC_EVENT_MARK, sizeof(*mark), bpf_ktime_get_ns());
	mark->header.tid = mark->header.pid;
	mark->signal = GC_REQUEST_SIGNAL(cookie);
	mark->flags = 0;
	mark->key = fd + 1;
	mark->number = fd;
	mark->rss_bytes = mark->work_ns = 0;
	mark->skipped = mark->pad = 0;
	bpf_ringbuf_submit(mark, wakeup_flags(signal->hits));
}

SEC("uprobe")
int on_receive(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct receive *receive;

	OWN_STACK(ctx, no_programs);
	if (!is_target() || !count_call(cookie))
		return 0;
	receive = this_receive(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!receive) {
		count_drop(GC_DROP_THREAD);
		return 0;
	}
	receive->sp = PT_REGS_SP(ctx);
	receive->fd = (__u32)PT_REGS_PARM1(ctx);
	receive->buffer = first_buffer(GC_REQUEST_KIND(cookie), PT_REGS_PARM2(ctx));
	return 0;
}

SEC("uretprobe")
int on_received(struct pt_regs *ctx)
{
	struct receive *receive = this_receive(0);
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct gc_signals *all;
	__u32 zero = 0;

	OWN_STACK(ctx, no_programs);
	if (!receive || receive->sp + sizeof(__u64) != PT_REGS_SP(ctx))
		return 0;
	receive->sp = 0;
	all = bpf_map_lookup_elem(&signals, &zero);
	if (all && (__s64)PT_REGS_RC(ctx) >= 8 && is_request(read_u64(receive->buffer)))
		send_request_mark(&all->signals[GC_REQUEST_SIGNAL(cookie)], cookie, receive->fd);
	return 0;
}

SEC("uprobe")
int on_send(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), buffer;
	struct gc_signal *signal;

	OWN_STACK(ctx, no_programs);
	if (!is_target())
		return 0;
	signal = count_call(cookie);
	buffer = first_buffer(GC_REQUEST_KIND(cookie), PT_REGS_PARM2(ctx));
	if (signal && is_response(read_u64(buffer), read_u64(buffer + 8)))
		send_request_mark(signal, cookie, (__u32)PT_REGS_PARM1(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
