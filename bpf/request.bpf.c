// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a server accepts, receives and sends → a gc_mark for each connection, for each HTTP/1 request, when its first bytes
 * have been read, and for each response, when its first bytes are to be written. Their number is the connection's
 * descriptor. One more for each connection whose requests cannot be read: its number is why.
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
	return kind == GC_REQUEST_BUFFER || kind == GC_REQUEST_SOCKET ? argument
								      : read_u64(argument);
}

/* What is looked at beforehand (MSG_PEEK, 2) is received once more. @fourth: of the function, or of the system call. */
static __always_inline bool only_looks(__u32 kind, struct pt_regs *ctx, __u64 fourth)
{
	return (kind == GC_REQUEST_SOCKET && fourth & 2) ||
	       (kind == GC_REQUEST_MESSAGE && PT_REGS_PARM3(ctx) & 2);
}

/* The bytes of a text of at most eight characters, the first in the lowest. */
#define TEXT(a, b, c, d, e, f, g, h)                                                               \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
		(__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define FIRST(word, bytes) ((word) & (~0ull >> (64 - 8 * (bytes))))

/* Whether @word is a method of @length bytes and what follows it: a blank, then a path, a URL or an asterisk. */
static __always_inline bool asks(__u64 word, __u64 method, __u32 length)
{
	__u8 next = word >> 8 * (length + 1) & 0xff;

	return FIRST(word, length + 1) == (method | (__u64)' ' << 8 * length) &&
	       (next == '/' || next == 'h' || next == '*');
}

/* RFC 9110, 9.1, and RFC 5789; RFC 9112, 3.2. Of "OPTIONS " no more is in a word. */
static __always_inline bool is_request(__u64 word)
{
	return asks(word, TEXT('G', 'E', 'T', 0, 0, 0, 0, 0), 3) ||
	       asks(word, TEXT('P', 'O', 'S', 'T', 0, 0, 0, 0), 4) ||
	       asks(word, TEXT('P', 'U', 'T', 0, 0, 0, 0, 0), 3) ||
	       asks(word, TEXT('H', 'E', 'A', 'D', 0, 0, 0, 0), 4) ||
	       asks(word, TEXT('D', 'E', 'L', 'E', 'T', 'E', 0, 0), 6) ||
	       asks(word, TEXT('P', 'A', 'T', 'C', 'H', 0, 0, 0), 5) ||
	       word == TEXT('O', 'P', 'T', 'I', 'O', 'N', 'S', ' ');
}

/* What only a client sends: TLS's ClientHello (RFC 8446, 5.1 and 4), HTTP/2's preface (RFC 9113, 3.4). 0: neither. */
static __always_inline __u64 why_untold(__u64 word)
{
	if (FIRST(word, 2) == TEXT(0x16, 3, 0, 0, 0, 0, 0, 0) && (word >> 40 & 0xff) == 1)
		return GC_UNTOLD_ENCRYPTED;
	return word == TEXT('P', 'R', 'I', ' ', '*', ' ', 'H', 'T') ? GC_UNTOLD_HTTP2 : 0;
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
static __always_inline void send_request_mark(const struct gc_signal *signal, __u32 index,
	__u64 number)
{
	struct gc_mark *mark = bpf_ringbuf_reserve(&events, sizeof(*mark), 0);

	if (!mark) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&mark->header, GC_EVENT_MARK, sizeof(*mark), bpf_ktime_get_ns());
	mark->header.tid = mark->header.pid;
	mark->signal = index;
	mark->flags = 0;
	mark->key = number + 1;
	mark->number = number;
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
	if (!is_target() || !count_call(cookie) ||
		only_looks(GC_REQUEST_KIND(cookie), ctx, PT_REGS_PARM4(ctx)))
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

/* So many bytes were received at @buffer. */
static __always_inline void look_at(__u64 cookie, __u64 buffer, __s64 bytes, __u64 fd)
{
	struct gc_signals *all;
	__u64 word, why;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&signals, &zero);
	if (!all || bytes < 8)
		return;
	word = read_u64(buffer);
	why = why_untold(word);
	if (is_request(word))
		send_request_mark(&all->signals[GC_REQUEST_SIGNAL(cookie)],
			GC_REQUEST_SIGNAL(cookie), fd);
	else if (why)
		send_request_mark(&all->signals[GC_REQUEST_OTHER(cookie)], GC_REQUEST_OTHER(cookie),
			why);
}

SEC("uretprobe")
int on_received(struct pt_regs *ctx)
{
	struct receive *receive = this_receive(0);

	OWN_STACK(ctx, no_programs);
	if (!receive || receive->sp + MACHINE_RETURN_POPS != PT_REGS_SP(ctx))
		return 0;
	receive->sp = 0;
	look_at(bpf_get_attach_cookie(ctx), receive->buffer, (__s64)PT_REGS_RC(ctx), receive->fd);
	return 0;
}

/* Right behind the system call: its arguments are still in their registers (elf/elf_syscall.h). */
SEC("uprobe")
int on_received_here(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 kind = GC_REQUEST_KIND(cookie);

	OWN_STACK(ctx, no_programs);
	if (!is_target() || !count_call(cookie) || (__s64)PT_REGS_RC(ctx) < 8 ||
		only_looks(kind, ctx, PT_REGS_PARM4_SYSCALL(ctx)))
		return 0;
	look_at(cookie, first_buffer(kind, PT_REGS_PARM2(ctx)), (__s64)PT_REGS_RC(ctx),
		(__u32)PT_REGS_PARM1(ctx));
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
		send_request_mark(signal, GC_REQUEST_SIGNAL(cookie), (__u32)PT_REGS_PARM1(ctx));
	return 0;
}

/* accept() and accept4(): what they return is another connection than the one that had this descriptor before. */
SEC("uretprobe")
int on_accepted(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct gc_signal *signal;

	OWN_STACK(ctx, no_programs);
	if ((__s32)PT_REGS_RC(ctx) < 0 || !is_target())
		return 0;
	signal = count_call(cookie);
	if (signal)
		send_request_mark(signal, GC_REQUEST_SIGNAL(cookie), (__u32)PT_REGS_RC(ctx));
	return 0;
}

/* OpenSSL's SSL_set_accept_state(), which reads from the socket by itself: a connection to a server. */
SEC("uprobe")
int on_encrypted(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct gc_signal *signal;

	OWN_STACK(ctx, no_programs);
	if (!is_target())
		return 0;
	signal = count_call(cookie);
	if (signal)
		send_request_mark(signal, GC_REQUEST_SIGNAL(cookie), GC_UNTOLD_ENCRYPTED);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
