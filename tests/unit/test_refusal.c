/* kernel: what libbpf prints of a program that the kernel refuses → one sentence, and the whole to -v. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "load_priv.h"
#include "log.h"

/* As libbpf 1.1 says it of an object that Linux 6.1 refused. */
#define FAILED	"libbpf: prog 'on_collect_begin': BPF program load failed: Permission denied\n"
#define VERDICT "combined stack size of 2 calls is 576. Too large"
#define LOG                                                                                        \
	"libbpf: prog 'on_collect_begin': -- BEGIN PROG LOAD LOG --\n"                             \
	"0: R1=ctx(off=0,imm=0) R10=fp0\n; int on_collect_begin(struct pt_regs *ctx)\n" VERDICT    \
	"\nprocessed 2144 insns (limit 1000000)\n-- END PROG LOAD LOG --\n"

static int __attribute__((format(printf, 2, 3))) say(enum libbpf_print_level level,
	const char *format, ...)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	va_list args;
	int r;

	va_start(args, format);
	r = print(level, format, args);
	va_end(args);
	libbpf_set_print(print);
	return r;
}

/* Root was told to run as root: the verifier's refusal is EACCES too. */
static void the_verifier_has_the_word(void **state)
{
	struct err err = {};

	kernel_quiet_libbpf();
	say(LIBBPF_WARN, "%s", FAILED);
	assert_int_equal(kernel_explain_refusal(-EACCES, &err), -EACCES);
	assert_non_null(strstr(err.text, "on_collect_begin: Permission denied"));
	say(LIBBPF_WARN, "%s", LOG);
	assert_int_equal(kernel_explain_refusal(-EACCES, &err), -EACCES);
	assert_non_null(strstr(err.text, "on_collect_begin: \"" VERDICT "\""));
	assert_null(strstr(err.text, "root"));
	assert_null(strstr(err.text, "doctor"));
	assert_int_equal(kernel_explain_refusal(-ENOMEM, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "--buffer"));
}

/* What stderr gets while libbpf warns of LOG and chats. */
static size_t heard(char *ret, size_t size)
{
	int kept = dup(STDERR_FILENO), pipes[2];
	ssize_t length;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	say(LIBBPF_WARN, "%s", LOG);
	say(LIBBPF_DEBUG, "%s", "libbpf: loading object\n");
	fprintf(stderr, "end\n");
	dup2(kept, STDERR_FILENO);
	length = read(pipes[0], ret, size - 1);
	assert_true(length > 0);
	ret[length] = '\0';
	close(kept);
	close(pipes[0]);
	close(pipes[1]);
	return (size_t)length;
}

/* -v cut the verifier's words at their first newline. */
static void verbose_has_every_line(void **state)
{
	char text[2048];

	kernel_quiet_libbpf();
	assert_int_equal(heard(text, sizeof(text)), strlen("end\n"));
	log_set_level(LOG_DEBUG);
	heard(text, sizeof(text));
	log_set_level(LOG_INFO);
	assert_non_null(strstr(text, "BEGIN PROG LOAD LOG"));
	assert_non_null(strstr(text, VERDICT));
	assert_non_null(strstr(text, "END PROG LOAD LOG"));
	assert_null(strstr(text, "loading object"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verifier_has_the_word),
		cmocka_unit_test(verbose_has_every_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
