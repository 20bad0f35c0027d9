/*
 * Libraries that look to gctrace like Julia's collector, as several builds have it; the code is never run.
 *   PREFIX      of what is exported: i from 1.8 on
 *   VERSION     "1.13.1"
 *   TRAMPOLINE  what libjulia has since 1.6: jumps
 *   INLINED     what collects is no function of its own
 *   USDT        built WITH_DTRACE
 *   LEAVES      finalizers are run by a jump
 *   NO_CFI      nothing says where a function ends
 *   MMTK        what MMTk calls to collect is exported
 */
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define EXPORTED(name) JOIN(PREFIX, name)

	.macro begin name
	.p2align 4
	.type \name, @function
\name:
#ifndef NO_CFI
	.cfi_startproc
#endif
	.endm

	.macro end name
#ifndef NO_CFI
	.cfi_endproc
#endif
	.size \name, . - \name
	.endm

	.macro getter name, insn, what
	.globl \name
	begin \name
#ifdef TRAMPOLINE
	mov elsewhere(%rip), %r11
	jmp *%r11
#else
	\insn \what(%rip), %rax
	ret
#endif
	end \name
	.endm

#ifdef USDT
	.macro probe name
990:	nop
	.pushsection .note.stapsdt, "?", "note"
	.balign 4
	.4byte 992f - 991f, 994f - 993f, 3
991:	.asciz "stapsdt"
992:	.balign 4
993:	.8byte 990b, _.stapsdt.base, semaphore
	.asciz "julia"
	.asciz "\name"
	.asciz ""
994:	.balign 4
	.popsection
	.endm
	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.hidden _.stapsdt.base
_.stapsdt.base:
	.space 1
	.size _.stapsdt.base, 1
	.section .probes, "aw"
semaphore:
	.2byte 0
#else
	.macro probe name
	.endm
#endif

	.bss
	.balign 64
gc_num:	.space 232
live:	.space 8
flag:	.space 8
disabled:
	.space 8
callbacks:
	.space 8
elsewhere:
	.space 8
	.section .rodata
version:
	.asciz VERSION

	.text
	getter EXPORTED(jl_gc_total_hrtime), mov, gc_num+64
	getter EXPORTED(jl_gc_live_bytes), mov, live
	getter EXPORTED(jl_ver_string), lea, version
	.globl EXPORTED(jl_hrtime)
	begin EXPORTED(jl_hrtime)
hrtime:	rdtsc
	ret
	end EXPORTED(jl_hrtime)

#ifdef MMTK
	.globl EXPORTED(jl_gc_prepare_to_collect)
	begin EXPORTED(jl_gc_prepare_to_collect)
	ret
	end EXPORTED(jl_gc_prepare_to_collect)
#endif

	begin some
	ret
	end some

	begin run_finalizers
	.fill 64, 1, 0x90
	ret
	end run_finalizers

	begin mark_loop
	.fill 200, 1, 0x90
	ret
	end mark_loop

	/* Larger, but called once too often. */
	begin queue
	.fill 300, 1, 0x90
	ret
	end queue

	begin collect
	push %rbx
	call hrtime
	mov %rax, %rbx
	call mark_loop
	call queue
	call queue
	call mark_loop
	call queue
	call queue
	call mark_loop
	mov %rax, %rdi
marked:	nop
	.fill 400, 1, 0x90
	call hrtime
	pop %rbx
	ret
	end collect

	.globl EXPORTED(jl_gc_collect)
	begin EXPORTED(jl_gc_collect)
#ifdef TRAMPOLINE
	mov elsewhere(%rip), %r11
	jmp *%r11
#else
	endbr64
entry:	push %rbp
	mov %rsp, %rbp
	push %rbx
	mov %edi, %ebx
	cmpl $0, flag(%rip)
	jne 9f
	call some
	test %eax, %eax
	je 8f
stopped:
	probe gc__stop_the_world
#ifdef INLINED
	call hrtime
	call some
	call hrtime
	test %eax, %eax
	jne 2f
#else
first:	call collect
	test %eax, %eax
behind_first:
	jne 2f
#endif
3:
ended:	probe gc__end
	call some
	cmpl $0, flag(%rip)
	jne 4f
#ifdef LEAVES
	jmp run_finalizers
#else
finalize:
	call run_finalizers
#endif
4:	mov callbacks(%rip), %rbx
	test %rbx, %rbx
without:
	je 5f
6:	call *8(%rbx)
	mov (%rbx), %rbx
	test %rbx, %rbx
last:	jne 6b
5:	pop %rbx
	pop %rbp
	ret
2:	mov %ebx, %edi
#ifndef INLINED
second:	call collect
behind_second:
#endif
	jmp 3b
8:	pop %rbx
	pop %rbp
	jmp some
9:	pop %rbx
	pop %rbp
	ret
#endif
	end EXPORTED(jl_gc_collect)

	.globl EXPORTED(jl_gc_enable)
	begin EXPORTED(jl_gc_enable)
	test %edi, %edi
	je 1f
	lock subl $1, disabled(%rip)
	ret
1:	lock addl $1, disabled(%rip)
	ret
	end EXPORTED(jl_gc_enable)

	.section .note.GNU-stack, "", @progbits
