/* jvm: methods, compiled code of three layouts, UNSIGNED5, line tables, names, memory that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "java_fixture.h"

static struct java_code *code_of(const struct jvm *jvm)
{
	struct java_code *code = NULL;
	struct err err;

	assert_int_equal(java_code_new(jvm, &code, &err), 0);
	return code;
}

/* UNSIGNED5 of @bytes; asserts that all were taken. */
static uint32_t u5(uint32_t excluded, size_t size, const uint8_t *bytes)
{
	struct jvm *jvm = jvm_of(17);
	uint64_t at = make_bytes(jvm, bytes, size);
	struct java_stream stream;
	uint32_t value = 0;

	java_stream_init(&stream, jvm, at, at + size);
	assert_int_equal(java_stream_u5(&stream, excluded, &value), 0);
	assert_int_equal(java_stream_byte(&stream), -EBADMSG);
	free(jvm);
	return value;
}

static int u5_error(uint32_t excluded, size_t size, const uint8_t *bytes)
{
	struct jvm *jvm = jvm_of(17);
	uint64_t at = make_bytes(jvm, bytes, size);
	struct java_stream stream;
	uint32_t value = 77;
	int r;

	java_stream_init(&stream, jvm, at, at + size);
	r = java_stream_u5(&stream, excluded, &value);
	assert_int_equal(value, 77);
	free(jvm);
	return r;
}

#define BYTES(...)                                                                                 \
	sizeof((const uint8_t[]){__VA_ARGS__}), (const uint8_t[])                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void unsigned5_of_before_20(void **state)
{
	assert_int_equal(u5(0, BYTES(0)), 0);
	assert_int_equal(u5(0, BYTES(191)), 191);
	assert_int_equal(u5(0, BYTES(192, 0)), 192);
	assert_int_equal(u5(0, BYTES(255, 0)), 255);
	assert_int_equal(u5(0, BYTES(192, 1)), 256);
	assert_int_equal(u5(0, BYTES(255, 191)), 255 + 64 * 191);
	assert_int_equal(u5(0, BYTES(192, 192, 0)), 192 + 64 * 192);
	assert_int_equal(u5(0, BYTES(255, 252, 252, 252, 252)),
		UINT32_MAX); /* the fifth byte is the last */
	assert_int_equal(u5_error(0, BYTES(200)), -EBADMSG);
}

static void unsigned5_from_20(void **state)
{
	assert_int_equal(u5(1, BYTES(1)), 0);
	assert_int_equal(u5(1, BYTES(191)), 190);
	assert_int_equal(u5(1, BYTES(192, 1)), 191);
	assert_int_equal(u5(1, BYTES(255, 1)), 254);
	assert_int_equal(u5(1, BYTES(192, 2)), 191 + 64);
	assert_int_equal(u5(1, BYTES(255, 191)), 254 + 64 * 190);
	assert_int_equal(u5_error(1, BYTES(0)), -EBADMSG);
	assert_int_equal(u5_error(1, BYTES(192, 0)), -EBADMSG);
	assert_int_equal(u5_error(1, BYTES(192, 192, 192)), -EBADMSG);
}

static void streams_are_read_in_pieces(void **state)
{
	struct jvm *jvm = jvm_of(17);
	uint8_t bytes[300];
	struct java_stream stream;
	uint64_t at;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	at = make_bytes(jvm, bytes, sizeof(bytes));
	java_stream_init(&stream, jvm, at, at + sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(java_stream_byte(&stream), bytes[i]);
	assert_int_equal(java_stream_byte(&stream), -EBADMSG);
	java_stream_init(&stream, jvm, at, at - 1);
	assert_int_equal(java_stream_byte(&stream), -EBADMSG);
	java_stream_init(&stream, jvm, BASE - 8, BASE);
	assert_int_equal(java_stream_byte(&stream), -EFAULT);
	free(jvm);
}

static struct java_frame interpreted(const struct jvm *jvm, const struct fake_method *fake,
	int32_t bci)
{
	struct java_code *code = code_of(jvm);
	struct java_frame frame;

	memset(&frame, 0xaa, sizeof(frame));
	assert_int_equal(java_interpreted(code, fake->method, fake->const_method, bci, &frame), 0);
	java_code_free(code);
	return frame;
}

static void methods_have_names_and_lines(void **state)
{
	static const int releases[] = {8, 17, 25};

	for (size_t i = 0; i < 3; i++) {
		struct jvm *jvm = jvm_of(releases[i]);
		struct fake_method fake = a_method(jvm, "org/example/Trainer$Step", "fit");
		struct java_frame frame = interpreted(jvm, &fake, 12);

		assert_string_equal(frame.function, "org.example.Trainer$Step.fit");
		assert_string_equal(frame.file, "Some.java");
		assert_int_equal(frame.line, 102);
		assert_int_equal(interpreted(jvm, &fake, 0).line, 100);
		assert_int_equal(interpreted(jvm, &fake, 9).line, 100);
		assert_int_equal(interpreted(jvm, &fake, 10).line, 102);
		assert_int_equal(interpreted(jvm, &fake, 39).line, 105);
		free(jvm);
	}
}

static uint32_t line_at(int32_t bci, size_t size, const uint8_t *lines)
{
	struct jvm *jvm = jvm_of(17);
	struct fake_method fake = {"A", "b", NULL, 50, lines, size, 0, 0, 0, 0};
	struct java_frame frame;

	make_method(jvm, &fake);
	frame = interpreted(jvm, &fake, bci);
	free(jvm);
	return frame.line;
}

static void lines_of_odd_tables(void **state)
{
	/* Of javac's loops: 0 → 1, 30 → 2, 4 → 3, so not sorted. */
	const uint8_t loop[] = {1, 30 << 3 | 1, 0xff, 51, 2, 0};

	assert_int_equal(line_at(0, sizeof(loop), loop), 1);
	assert_int_equal(line_at(3, sizeof(loop), loop), 1);
	assert_int_equal(line_at(4, sizeof(loop), loop), 3);
	assert_int_equal(line_at(29, sizeof(loop), loop), 3);
	assert_int_equal(line_at(30, sizeof(loop), loop), 2);
	assert_int_equal(line_at(49, sizeof(loop), loop), 2);
	/* Nothing before 8. */
	assert_int_equal(line_at(7, BYTES(8 << 3 | 5, 0)), 0);
	assert_int_equal(line_at(8, BYTES(8 << 3 | 5, 0)), 5);
	assert_int_equal(line_at(3, BYTES(0)), 0);
}

static int line_error(size_t size, const uint8_t *lines)
{
	struct jvm *jvm = jvm_of(17);
	struct fake_method fake = {"A", "b", NULL, 40, lines, size, 0, 0, 0, 0};
	struct java_code *code = code_of(jvm);
	struct java_frame frame = {.line = 77};
	int r;

	make_method(jvm, &fake);
	r = java_interpreted(code, fake.method, fake.const_method, 39, &frame);
	assert_int_equal(frame.line, 77);
	java_code_free(code);
	free(jvm);
	return r;
}

static void broken_line_tables(void **state)
{
	/* As long as the ConstMethod has room for, without an end. */
	assert_int_equal(line_error(BYTES(9, 9, 9, 9, 9, 9, 9, 9)), -EBADMSG);
	assert_int_equal(line_error(BYTES(0xff, 1, 2, 0, 0, 0, 0, 0)), -EBADMSG); /* bci −1 */
	assert_int_equal(line_error(BYTES(0xff, 0, 255, 191, 255, 0, 0, 0)),
		-EBADMSG); /* line < 0 */
	assert_int_equal(line_error(BYTES(0xff, 0, 254, 252, 252, 252, 8, 0)), -EBADMSG);
	assert_int_equal(line_error(BYTES(0xff, 0, 254, 254, 0xc0, 0xc0, 0xc0, 0xc0)), -EBADMSG);
}

static void native_methods_have_no_line(void **state)
{
	struct jvm *jvm = jvm_of(25);
	struct fake_method fake = {
		"java/lang/Thread", "sleep0", "Thread.java", 0, NULL, 0, 0, 0, 0, 0};
	struct java_frame frame;

	make_method(jvm, &fake);
	frame = interpreted(jvm, &fake, -1234567);
	assert_string_equal(frame.function, "java.lang.Thread.sleep0");
	assert_string_equal(frame.file, "Thread.java");
	assert_int_equal(frame.line, 0);
	free(jvm);
}

static void check_name(const char *class, const char *method, const char *file,
	const char *function, const char *shown)
{
	struct jvm *jvm = jvm_of(21);
	struct fake_method fake = {class, method, file, 4, NULL, 0, 0, 0, 0, 0};
	struct java_frame frame;

	jvm->const_bytes = 56;
	make_method(jvm, &fake);
	frame = interpreted(jvm, &fake, 2);
	assert_string_equal(frame.function, function);
	assert_string_equal(frame.file, shown);
	free(jvm);
}

static void names_are_what_java_prints(void **state)
{
	check_name("A", "<clinit>", NULL, "A.<clinit>", "");
	check_name("p/B$$Lambda+0x00007f1234abcd00", "applyAsInt", NULL,
		"p.B$$Lambda/0x00007f1234abcd00.applyAsInt", "");
	check_name("p/B$$Lambda$14+0x0800", "run", NULL, "p.B$$Lambda$14/0x0800.run", "");
	check_name("p/C+0x12zz", "d", NULL, "p.C+0x12zz.d", "");
	check_name("p/C+", "d", NULL, "p.C+.d", "");
	check_name("p/Größe", "länge", "Größe.java", "p.Größe.länge", "Größe.java");
	/* Modified UTF-8: U+1D4B3 as two surrogates, NUL as two bytes, a surrogate alone. */
	check_name("\xed\xa0\xb5\xed\xb2\xb3", "x", NULL, "𝒳.x", "");
	check_name("A\xc0\x80", "\xed\xa0\xb5y", NULL, "A��.���y", "");
	check_name("A", "b", "\xed\xb2\xb3\xed\xa0\xb5", "A.b", "������");
}

static void long_names_are_cut_where_a_character_ends(void **state)
{
	char class[700], method[200], file[200], function[600], shown[200];

	memset(class, 'c', sizeof(class));
	memset(method, 'm', sizeof(method));
	for (size_t i = 0; i + 1 < sizeof(file); i += 2)
		memcpy(file + i, "é", strlen("é"));
	class[699] = method[199] = file[198] = '\0';
	snprintf(function, sizeof(function), "%.380s….%.124s…", class, method);
	snprintf(shown, sizeof(shown), "%.124s…", file);
	check_name(class, method, file, function, shown);
	class[383] = method[127] = '\0'; /* just short enough */
	snprintf(function, sizeof(function), "%.383s.%.127s", class, method);
	check_name(class, method, NULL, function, "");
}

static int interpreted_error(const struct jvm *jvm, uint64_t method, uint64_t const_method, int bci)
{
	struct java_code *code = code_of(jvm);
	struct java_frame frame;
	int r = java_interpreted(code, method, const_method, bci, &frame);

	java_code_free(code);
	return r;
}

static void interpreted_frames_that_are_no_longer_there(void **state)
{
	struct jvm *jvm = jvm_of(17);
	struct fake_method fake = a_method(jvm, "A", "b");

	assert_int_equal(interpreted_error(jvm, fake.method, fake.const_method, 39), 0);
	assert_int_equal(interpreted_error(jvm, fake.method, fake.const_method, 40), -EBADMSG);
	assert_int_equal(interpreted_error(jvm, fake.method, fake.const_method, -2), -EBADMSG);
	assert_int_equal(interpreted_error(jvm, fake.method, fake.const_method + 8, 0), -ESTALE);
	assert_int_equal(interpreted_error(jvm, fake.method, 0, 0), -ESTALE);
	assert_int_equal(interpreted_error(jvm, 0, fake.const_method, 0), -EBADMSG);
	assert_int_equal(interpreted_error(jvm, fake.method + 1, fake.const_method, 0), -EBADMSG);
	assert_int_equal(interpreted_error(jvm, 1ull << 63, fake.const_method, 0), -EBADMSG);
	assert_int_equal(interpreted_error(jvm, BASE - 4096, fake.const_method, 0), -EFAULT);
	/* Another method takes its place while this one is read. */
	jvm->change = fake.method + 8;
	jvm->change_at = jvm->reads + 9;
	assert_int_equal(interpreted_error(jvm, fake.method, fake.const_method, 39), -ESTALE);
	free(jvm);
}

/* What becomes of a sound method when one thing in it is another. */
static int lie(uint64_t (*where)(const struct jvm *jvm, const struct fake_method *fake),
	uint64_t value, size_t bytes)
{
	struct jvm *jvm = jvm_of(17);
	struct fake_method fake = a_method(jvm, "A", "b");
	struct java_code *code = code_of(jvm);
	struct java_frame frame;
	int r;

	put(jvm, where(jvm, &fake), value, bytes);
	r = java_interpreted(code, fake.method, fake.const_method, 0, &frame);
	java_code_free(code);
	free(jvm);
	return r;
}

#define AT(name, expression)                                                                       \
	static uint64_t name(const struct jvm *jvm, const struct fake_method *fake)                \
	{                                                                                          \
		return expression;                                                                 \
	}
AT(at_pool, fake->const_method + 8)
AT(at_size, fake->const_method + 24)
AT(at_code_size, fake->const_method + 32)
AT(at_name, fake->const_method + 34)
AT(at_tags, fake->pool + 8)
AT(at_holder, fake->pool + 24)
AT(at_source, fake->pool + 54)
AT(at_length, fake->pool + 60)
AT(at_symbol, fake->pool + jvm->pool_bytes + 3 * 8)
AT(at_class, fake->holder + 24)

static void methods_that_lie(void **state)
{
	assert_int_equal(lie(at_pool, 0, 8), -EBADMSG);
	assert_int_equal(lie(at_pool, BASE + MEMORY_BYTES - 8, 8), -EFAULT);
	assert_int_equal(lie(at_size, 0, 4), -EBADMSG);
	assert_int_equal(lie(at_size, 1 << 22, 4), -EBADMSG);
	assert_int_equal(lie(at_code_size, 60000, 2), -EBADMSG);
	assert_int_equal(lie(at_name, 0, 2), -EBADMSG);
	assert_int_equal(lie(at_name, 7, 2), -EBADMSG);
	assert_int_equal(lie(at_name, 2, 2), -EBADMSG); /* not a text */
	assert_int_equal(lie(at_tags, 12345, 8), -EBADMSG);
	assert_int_equal(lie(at_tags, 1ull << 46, 8), -EFAULT);
	assert_int_equal(lie(at_holder, 0, 8), -EBADMSG);
	assert_int_equal(lie(at_holder, 1ull << 46, 8), -EFAULT);
	assert_int_equal(lie(at_source, 6, 2), -EBADMSG);
	assert_int_equal(lie(at_source, 0, 2), 0);
	assert_int_equal(lie(at_length, 3, 4), -EBADMSG);
	assert_int_equal(lie(at_length, UINT32_MAX, 4), -EBADMSG);
	assert_int_equal(lie(at_symbol, 0, 8), -EBADMSG);
	assert_int_equal(lie(at_symbol, 1ull << 46, 8), -EFAULT);
	assert_int_equal(lie(at_class, BASE, 8), -EBADMSG); /* a symbol without a character */
}

static void check_nest(const struct java_frame *frames)
{
	assert_string_equal(frames[0].function, "Inner.leaf");
	assert_int_equal(frames[0].line, 105);
	assert_string_equal(frames[1].function, "org.example.Middle.go");
	assert_int_equal(frames[1].line, 100);
	assert_string_equal(frames[2].function, "org.example.Outer.run");
	assert_int_equal(frames[2].line, 102);
}

/* What the compiled code says of its offset @at. */
static int frames_at(const struct jvm *jvm, const struct nest *nest, int at, struct java_frame *ret,
	size_t max)
{
	struct java_code *code = code_of(jvm);
	int count = java_compiled(code, nest->code.nmethod, nest->code.compile_id,
		nest->outer.method, CODE_BEGIN + at, ret, max);

	java_code_free(code);
	return count;
}

static void compiled_frames_of_every_layout(void **state)
{
	static const int releases[] = {8, 17, 25};
	static const int others[] = {
		0, 39, 99, 101, 300, 400}; /* no entry, or one without a scope */

	for (size_t i = 0; i < 3; i++) {
		struct jvm *jvm = jvm_of(releases[i]);
		struct java_frame frames[4];
		struct nest nest;

		make_nest(jvm, &nest);
		assert_int_equal(frames_at(jvm, &nest, 100, frames, 4), 3);
		check_nest(frames);
		assert_int_equal(frames_at(jvm, &nest, 200, frames, 4), 1);
		assert_string_equal(frames[0].function, "org.example.Outer.run");
		assert_int_equal(frames[0].line, 100);
		for (size_t k = 0; k < 6; k++) {
			assert_int_equal(frames_at(jvm, &nest, others[k], frames, 4), 1);
			assert_string_equal(frames[0].function, "org.example.Outer.run");
			assert_int_equal(frames[0].line, 0);
		}
		assert_int_equal(frames_at(jvm, &nest, 40, frames, 4), 1);
		assert_int_equal(frames[0].line, 102);
		assert_int_equal(frames_at(jvm, &nest, 399, frames, 4), 1);
		assert_int_equal(frames[0].line, 102);
		free(jvm);
	}
}

static void no_more_frames_than_there_is_room_for(void **state)
{
	struct jvm *jvm = jvm_of(25);
	struct java_frame frames[3];
	struct nest nest;

	make_nest(jvm, &nest);
	memset(frames, 0x55, sizeof(frames));
	assert_int_equal(frames_at(jvm, &nest, 100, frames, 2), 2);
	assert_string_equal(frames[1].function, "org.example.Middle.go");
	assert_int_equal(frames[2].line, 0x55555555);
	assert_int_equal(frames_at(jvm, &nest, 100, frames, 0), -EBADMSG);
	free(jvm);
}

static void compiled_frames_that_are_no_longer_there(void **state)
{
	struct jvm *jvm = jvm_of(17);
	struct java_frame frames[4];
	struct nest nest, other;

	make_nest(jvm, &nest);
	other = nest;
	other.code.compile_id = 42;
	assert_int_equal(frames_at(jvm, &other, 100, frames, 4), -ESTALE);
	other = nest;
	other.outer = nest.inner;
	assert_int_equal(frames_at(jvm, &other, 100, frames, 4), -ESTALE);
	other = nest;
	other.code.nmethod = BASE + MEMORY_BYTES - 8;
	assert_int_equal(frames_at(jvm, &other, 100, frames, 4), -EFAULT);
	other.code.nmethod = 0;
	assert_int_equal(frames_at(jvm, &other, 100, frames, 4), -EBADMSG);
	assert_int_equal(frames_at(jvm, &nest, -CODE_BEGIN - 1, frames, 4), -EBADMSG);
	assert_int_equal(frames_at(jvm, &nest, 1 << 20, frames, 4), -EBADMSG);
	/* Another nmethod takes its place while this one is read. */
	jvm->change = nest.code.nmethod + 304;
	jvm->change_at = jvm->reads + 9;
	assert_int_equal(frames_at(jvm, &nest, 100, frames, 4), -ESTALE);
	free(jvm);
}

/* The nest of @release with @bytes at @offset of @place replaced; what the frame at 100 says. */
enum part { HEAD, SCOPES, METADATA, PCS };
static int nest_lie(int release, enum part part, uint32_t offset, uint64_t value, size_t bytes)
{
	struct jvm *jvm = jvm_of(release);
	struct java_frame frames[4];
	struct nest nest;
	int r;

	make_nest(jvm, &nest);
	{
		const uint64_t parts[] = {nest.code.nmethod, nest.code.scope_data,
			nest.code.metadata, nest.code.pc_data};

		put(jvm, parts[part] + offset, value, bytes);
	}
	r = frames_at(jvm, &nest, 100, frames, 4);
	free(jvm);
	return r;
}

static void compiled_code_that_lies(void **state)
{
	assert_int_equal(nest_lie(17, SCOPES, 4, 0, 1),
		-EBADMSG); /* no sender, but not the method itself */
	assert_int_equal(nest_lie(17, SCOPES, 7, 7, 1), -EBADMSG);  /* its own sender */
	assert_int_equal(nest_lie(17, SCOPES, 7, 10, 1), -EBADMSG); /* a sender behind it */
	assert_int_equal(nest_lie(17, SCOPES, 8, 0, 1), -EBADMSG);  /* no method */
	assert_int_equal(nest_lie(17, SCOPES, 8, 4, 1), -EBADMSG);  /* more than there are */
	assert_int_equal(nest_lie(17, SCOPES, 9, 41, 1),
		-EBADMSG); /* a bci after the last bytecode */
	assert_int_equal(nest_lie(25, SCOPES, 9, 0, 1), -EBADMSG); /* an excluded byte */
	assert_int_equal(nest_lie(17, SCOPES, 9, 0xffffffffffff, 6), -EBADMSG);
	assert_int_equal(nest_lie(17, METADATA, 8, 0, 8), -EBADMSG);
	assert_int_equal(nest_lie(17, METADATA, 8, 1ull << 46, 8), -EFAULT);
	assert_int_equal(nest_lie(17, PCS, 2 * 16 + 4, 13, 4), -EBADMSG);
	assert_int_equal(nest_lie(17, PCS, 2 * 16 + 4, 16, 4),
		-EBADMSG); /* behind the last scope */
	assert_int_equal(nest_lie(17, PCS, 2 * 16 + 4, UINT32_MAX, 4), -EBADMSG);
	assert_int_equal(nest_lie(17, PCS, 2 * 16, 101, 4),
		1); /* not the pc: no debug information */
	assert_int_equal(nest_lie(17, HEAD, 12, UINT32_MAX, 4), -EBADMSG); /* _size */
	assert_int_equal(nest_lie(17, HEAD, 32, 0, 8), -EBADMSG);	   /* _code_begin */
	assert_int_equal(nest_lie(17, HEAD, 32, BASE + MEMORY_BYTES, 8), -EBADMSG);
	assert_int_equal(nest_lie(17, HEAD, 120, 0, 8), -EBADMSG); /* _scopes_data_begin */
	assert_int_equal(nest_lie(17, HEAD, 120, 1ull << 46, 8), -EBADMSG);
	assert_int_equal(nest_lie(17, HEAD, 260, 1 << 30, 4), -EBADMSG);    /* _metadata_offset */
	assert_int_equal(nest_lie(17, HEAD, 268, UINT32_MAX, 4), -EBADMSG); /* _scopes_pcs_offset */
	assert_int_equal(nest_lie(17, HEAD, 272, 0, 4), -EBADMSG); /* _dependencies_offset */
	assert_int_equal(nest_lie(25, HEAD, 96, 0, 8), -EFAULT);   /* _immutable_data */
	assert_int_equal(nest_lie(25, HEAD, 160, 0, 4), -EBADMSG); /* _immutable_data_size */
	assert_int_equal(nest_lie(25, HEAD, 16, UINT64_MAX - 20, 8), -EBADMSG); /* _mutable_data */
	assert_int_equal(nest_lie(25, HEAD, 28, 999, 4), -EBADMSG);	  /* _relocation_size */
	assert_int_equal(nest_lie(8, HEAD, 32, UINT32_MAX, 4), -EBADMSG); /* _code_offset */
	assert_int_equal(nest_lie(8, HEAD, 176, 0, 4), -EBADMSG);	  /* _scopes_data_offset */
}

static int layout_error(int release, const char *lacks, const char *lies, uint32_t offset)
{
	struct jvm *jvm = jvm_of(release);
	struct java_code *code = NULL;
	struct err err = {.text = ""};
	int r;

	jvm->lacks = lacks;
	jvm->lies = lies;
	jvm->lie = offset;
	r = java_code_new(jvm, &code, &err);
	assert_true(r == 0 || strlen(err.text) > 20);
	java_code_free(code);
	free(jvm);
	return r;
}

static void layouts_that_lack_or_lie(void **state)
{
	struct jvm *jvm = jvm_of(25);
	struct java_code *code;
	struct java_frame frames[4];
	struct nest nest;

	assert_int_equal(layout_error(17, NULL, NULL, 0), 0);
	assert_int_equal(layout_error(17, "_constMethod", NULL, 0), -ENOENT);
	assert_int_equal(layout_error(17, "_compile_id", NULL, 0), -ENOENT);
	assert_int_equal(layout_error(17, NULL, "_constants", 48), -EBADMSG);
	assert_int_equal(layout_error(17, NULL, "_constMethod", UINT32_MAX - 1), -EBADMSG);
	assert_int_equal(layout_error(17, NULL, "_tags", 70), -EBADMSG);
	assert_int_equal(layout_error(17, NULL, "_compile_id", 1021), -EBADMSG);
	assert_int_equal(layout_error(17, NULL, "_scope_decode_offset", 13), -EBADMSG);
	jvm->release = 0;
	assert_int_equal(java_code_new(jvm, &code, NULL), -EAGAIN);
	jvm->release = 25;
	jvm->const_bytes = 161;
	assert_int_equal(java_code_new(jvm, &code, NULL), -EBADMSG);
	jvm->const_bytes = 56;
	jvm->lacks = "_mutable_data"; /* as 23 and 24: names of interpreted frames only */
	code = code_of(jvm);
	jvm->lacks = NULL;
	make_nest(jvm, &nest);
	assert_int_equal(java_compiled(code, nest.code.nmethod, 41, nest.outer.method,
				 CODE_BEGIN + 100, frames, 4),
		-EBADMSG);
	assert_int_equal(interpreted(jvm, &nest.inner, 10).line, 102);
	java_code_free(code);
	java_code_free(NULL);
	free(jvm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsigned5_of_before_20),
		cmocka_unit_test(unsigned5_from_20),
		cmocka_unit_test(streams_are_read_in_pieces),
		cmocka_unit_test(methods_have_names_and_lines),
		cmocka_unit_test(lines_of_odd_tables),
		cmocka_unit_test(broken_line_tables),
		cmocka_unit_test(native_methods_have_no_line),
		cmocka_unit_test(names_are_what_java_prints),
		cmocka_unit_test(long_names_are_cut_where_a_character_ends),
		cmocka_unit_test(interpreted_frames_that_are_no_longer_there),
		cmocka_unit_test(methods_that_lie),
		cmocka_unit_test(compiled_frames_of_every_layout),
		cmocka_unit_test(no_more_frames_than_there_is_room_for),
		cmocka_unit_test(compiled_frames_that_are_no_longer_there),
		cmocka_unit_test(compiled_code_that_lies),
		cmocka_unit_test(layouts_that_lack_or_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
