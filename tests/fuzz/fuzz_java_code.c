/*
 * The memory of a JVM → methods, compiled code, stacks: whatever is there, no read outside, no
 * crash, no name that is not UTF-8. The input patches a sound JVM (offset, length, bytes …), or is
 * the memory itself.
 */
#include "java_fixture.h"
#include "java_stack.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sound {
	struct jvm *jvm;
	struct nest nest;
};

/* A JVM of each layout, made once. */
static const struct sound *sound_jvm(unsigned which)
{
	static const int releases[] = {8, 17, 25};
	static struct sound sounds[3];
	struct sound *sound = &sounds[which % 3];

	if (!sound->jvm) {
		sound->jvm = jvm_of(releases[which % 3]);
		make_nest(sound->jvm, &sound->nest);
	}
	return sound;
}

static void patch(struct jvm *jvm, const uint8_t *data, size_t size)
{
	while (size > 3) {
		size_t at = (data[0] | (size_t)data[1] << 8) % (jvm->top - BASE);
		size_t len = 1 + data[2] % 8;

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		memcpy(jvm->memory + at, data, len);
		data += len;
		size -= len;
	}
}

static void check(const struct java_frame *frame)
{
	size_t len = strnlen(frame->function, sizeof(frame->function));
	size_t file = strnlen(frame->file, sizeof(frame->file));

	MUST(len < sizeof(frame->function) && len >= 3 && utf8_valid(frame->function, len));
	MUST(file < sizeof(frame->file) && utf8_valid(frame->file, file));
	MUST(frame->line <= UINT16_MAX);
}

static void try_compiled(const struct java_code *code, const struct fake_nmethod *nmethod,
	int32_t at, size_t max)
{
	struct java_frame *frames =
		malloc(max * sizeof(*frames)); /* the sanitizer sees one too many */
	int count = java_compiled(code, nmethod->nmethod, nmethod->compile_id, nmethod->method, at,
		frames, max);

	MUST(count != 0 && count <= (int)max);
	for (int i = 0; i < count; i++)
		check(&frames[i]);
	free(frames);
}

static void try_stack(const struct jvm *jvm, const struct nest *nest, int32_t at)
{
	const struct event_java_frame frames[] = {
		{nest->code.nmethod, nest->code.method, nest->code.compile_id, at, EVENT_COMPILED,
			0},
		{nest->inner.method, nest->inner.const_method, 0, at % 64, EVENT_INTERPRETED, 0},
	};
	const struct event_java_stack stack = {frames, 2, (uint32_t)at & 15};
	struct java_stacks *stacks = java_stacks_new();
	struct stack_table table;

	MUST(stacks && !stack_table_init(&table));
	for (int i = 0; i < 2; i++)
		MUST(java_stack(stacks, jvm, &stack, (uint64_t)at, NULL, NULL, &table));
	stack_table_release(&table);
	java_stacks_free(stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sound *sound;
	struct java_code *code;
	struct java_frame frame;
	struct jvm *jvm;
	int32_t at;

	if (size < 4)
		return 0;
	sound = sound_jvm(data[0]);
	jvm = malloc(sizeof(*jvm));
	*jvm = *sound->jvm;
	at = data[1] & 1 ? CODE_BEGIN + 100 : data[2] << 2;
	if (data[0] & 0x80)
		memcpy(jvm->memory, data + 4, size - 4 < MEMORY_BYTES ? size - 4 : MEMORY_BYTES);
	else
		patch(jvm, data + 4, size - 4);
	MUST(!java_code_new(jvm, &code, NULL));
	if (!java_interpreted(code, sound->nest.middle.method, sound->nest.middle.const_method,
		    (int8_t)data[3], &frame))
		check(&frame);
	try_compiled(code, &sound->nest.code, at, 1 + data[3] % 4);
	try_stack(jvm, &sound->nest, at);
	java_code_free(code);
	free(jvm);
	return 0;
}
