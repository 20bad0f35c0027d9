/* libbpf's words → our log, and what the kernel's verifier said of a program that it refused. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "cleanup.h"
#include "load_priv.h"
#include "log.h"

/* What the kernel said last of a program that it refused; libbpf prints it, and keeps it nowhere. */
static struct {
	char program[64], words[256];
} refusal;

/* "libbpf: prog 'on_step': BPF program load failed: …", and the verifier's log as a message. */
static void note_refusal(const char *text)
{
	const char *end = strstr(text, "\nprocessed "), *last;
	const char *log = strstr(text, "-- BEGIN PROG LOAD LOG --");

	if (sscanf(text, "libbpf: prog '%63[^']'", refusal.program) != 1 || !log || !end)
		return;
	for (last = end; last > log && last[-1] != '\n';)
		last--;
	snprintf(refusal.words, sizeof(refusal.words), "%.*s", (int)(end - last), last);
}

static void log_lines(const char *text)
{
	for (size_t length; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		log_debug("%.*s", (int)length, text);
	}
}

static int __attribute__((format(printf, 2, 0))) print_libbpf(enum libbpf_print_level level,
	const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	note_refusal(text);
	log_lines(text);
	return 0;
}

void kernel_quiet_libbpf(void)
{
	libbpf_set_print(print_libbpf);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
}

int kernel_explain_refusal(int r, struct err *err)
{
	const char *program = refusal.program[0] ? refusal.program : "of gctrace";

	if (r == -ENOMEM)
		return err_set(err, ENOMEM,
			"no memory for the BPF maps: a smaller --buffer, or a larger "
			"limit of the container's memory");
	if (refusal.words[0])
		return err_set(err, -r,
			"the kernel's verifier refuses the BPF program %s: \"%s\"; "
			"please report this with what -v prints and `uname -r`",
			program, refusal.words);
	return err_set(err, -r,
		"the kernel refuses the BPF program %s: %s; -v prints all of its words", program,
		strerror(-r));
}
