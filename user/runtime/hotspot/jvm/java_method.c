/*
 * Method → names, file, line. In: the address of a Method, read with its ConstMethod, ConstantPool,
 * InstanceKlass and Symbols. Out: struct java_frame. Layout: HotSpot's oops/{method,constMethod,
 * constantPool,instanceKlass,symbol}.hpp and code/compressedStream.hpp.
 */
#include <errno.h>
#include <string.h>

#include "java_layout.h"
#include "utf8.h"

#define CONST_MAX_BYTES (16u << 20) /* of a ConstMethod with its bytecodes and tables */
#define OBJECT_BYTES	160	    /* of an object's head that are copied */
#define TAG_UTF8	1	    /* JVM_CONSTANT_Utf8 */
#define CLASS_BYTES	384	    /* of a class's name that are kept; the rest is the method's */
#define METHOD_BYTES	(JAVA_NAME_BYTES - CLASS_BYTES)
#define SYMBOL_BYTES	512 /* of a symbol that are read */
#define CUT		"…"

/* What is read of a ConstMethod and of the ConstantPool it is in. */
struct constants {
	uint64_t method;     /* the ConstMethod */
	uint64_t end;	     /* of it with all that follows it */
	uint32_t code_bytes; /* of bytecodes; 0: native or abstract */
	bool has_lines;
	uint16_t name;
	uint64_t pool, holder, tags;
	uint32_t pool_length;
	uint16_t source; /* 17+; else 0 */
};

static int read_pool(const struct java_code *code, struct constants *c)
{
	uint8_t head[OBJECT_BYTES];
	int r = jvm_read(code->jvm, c->pool, head, code->pool_bytes);

	if (r)
		return r;
	c->holder = java_get(head, code->pool_holder, 8);
	c->tags = java_get(head, code->pool_tags, 8);
	c->pool_length = (uint32_t)java_get(head, code->pool_length, 4);
	if (code->pool_source != JAVA_NO_FIELD)
		c->source = (uint16_t)java_get(head, code->pool_source, 2);
	if (!java_pointer(c->holder) || !java_pointer(c->tags) || c->pool_length > UINT16_MAX + 1u)
		return -EBADMSG;
	return 0;
}

static int read_constants(const struct java_code *code, uint64_t const_method,
	struct constants *ret)
{
	struct constants c = {.method = const_method};
	uint8_t head[OBJECT_BYTES];
	uint64_t bytes;
	int r = jvm_read(code->jvm, const_method, head, code->const_bytes);

	if (r)
		return r;
	c.pool = java_get(head, code->const_pool, 8);
	bytes = java_get(head, code->const_size, 4) * 8;
	c.code_bytes = (uint32_t)java_get(head, code->const_code_size, 2);
	c.name = (uint16_t)java_get(head, code->const_name, 2);
	c.has_lines = java_get(head, code->const_flags, 2) & code->line_flag;
	c.end = const_method + bytes;
	if (bytes > CONST_MAX_BYTES || bytes < code->const_bytes + c.code_bytes ||
		!java_pointer(c.pool))
		return -EBADMSG;
	r = read_pool(code, &c);
	if (!r)
		*ret = c;
	return r;
}

/* A pair of surrogates, as modified UTF-8 has them: three bytes each. Returns 6, or 0. */
static size_t next_surrogates(const uint8_t *text, size_t len, uint32_t *ret_point)
{
	if (len < 6 || text[0] != 0xed || (text[1] & 0xf0) != 0xa0 || (text[2] & 0xc0) != 0x80 ||
		text[3] != 0xed || (text[4] & 0xf0) != 0xb0 || (text[5] & 0xc0) != 0x80)
		return 0;
	*ret_point = 0x10000 + ((text[1] & 0xfu) << 16 | (text[2] & 0x3fu) << 10 |
				       (text[4] & 0xfu) << 6 | (text[5] & 0x3fu));
	return 6;
}

/*
 * Modified UTF-8 (JVMS 4.4.7) → UTF-8, terminated; what does not fit is cut, and then, or if @cut,
 * ends in "…". @size > 4 + strlen(CUT).
 */
static void put_text(char *ret, size_t size, const uint8_t *text, size_t len, bool cut)
{
	size_t used = 0, last = 0; /* last: up to where there is room for the mark */

	for (size_t at = 0; at < len;) {
		uint32_t point;
		size_t step = next_surrogates(text + at, len - at, &point);
		char utf8[4];
		size_t bytes;

		if (!step)
			step = utf8_next((const char *)text + at, len - at, &point);
		bytes = utf8_put(utf8, point ? point : UTF8_REPLACEMENT);
		if (used + bytes >= size) {
			cut = true;
			break;
		}
		memcpy(ret + used, utf8, bytes);
		used += bytes;
		if (used + strlen(CUT) < size)
			last = used;
		at += step;
	}
	if (cut) {
		memcpy(ret + last, CUT, strlen(CUT));
		used = last + strlen(CUT);
	}
	ret[used] = '\0';
}

static int read_symbol(const struct java_code *code, uint64_t symbol, char *ret, size_t size)
{
	uint8_t text[SYMBOL_BYTES];
	uint16_t length;
	size_t len;
	int r;

	if (!java_pointer(symbol & ~7ull))
		return -EBADMSG;
	r = jvm_read(code->jvm, symbol + code->symbol_length, &length, sizeof(length));
	if (r)
		return r;
	if (!length)
		return -EBADMSG;
	len = length < sizeof(text) ? length : sizeof(text);
	r = jvm_read(code->jvm, symbol + code->symbol_body, text, len);
	if (!r)
		put_text(ret, size, text, len, length > len);
	return r;
}

/* The text of entry @index of the constant pool, which must be one. */
static int read_constant(const struct java_code *code, const struct constants *c, uint16_t index,
	char *ret, size_t size)
{
	uint64_t symbol;
	uint8_t tag;
	int r;

	if (!index || index >= c->pool_length)
		return -EBADMSG;
	r = jvm_read(code->jvm, c->tags + code->array_u1 + index, &tag, sizeof(tag));
	if (!r)
		r = jvm_read(code->jvm, c->pool + code->pool_bytes + 8ull * index, &symbol,
			sizeof(symbol));
	if (r)
		return r;
	return tag == TAG_UTF8 ? read_symbol(code, symbol, ret, size) : -EBADMSG;
}

/*
 * As Java writes the name of a class: dots, and before the address of a hidden one, which HotSpot
 * keeps as "Name+0x…", a slash.
 */
static void to_java(char *name)
{
	char *plus = strrchr(name, '+');

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '.';
	if (plus && plus[1] == '0' && plus[2] == 'x' &&
		plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0')
		*plus = '/';
}

static int read_names(const struct java_code *code, const struct constants *c,
	struct java_frame *frame)
{
	char class[CLASS_BYTES], method[METHOD_BYTES];
	uint16_t source = c->source;
	uint64_t name;
	size_t len;
	int r = jvm_read(code->jvm, c->holder + code->klass_name, &name, sizeof(name));

	if (!r)
		r = read_symbol(code, name, class, sizeof(class));
	if (!r)
		r = read_constant(code, c, c->name, method, sizeof(method));
	if (!r && code->klass_source != JAVA_NO_FIELD)
		r = jvm_read(code->jvm, c->holder + code->klass_source, &source, sizeof(source));
	if (!r && source)
		r = read_constant(code, c, source, frame->file, sizeof(frame->file));
	if (r)
		return r;
	to_java(class);
	len = strlen(class);
	memcpy(frame->function, class, len);
	frame->function[len] = '.';
	memcpy(frame->function + len + 1, method, strlen(method) + 1);
	return 0;
}

static int signed_step(struct java_stream *stream, uint32_t excluded, int64_t *value)
{
	uint32_t raw;
	int r = java_stream_u5(stream, excluded, &raw);

	if (!r)
		*value += (int32_t)(raw >> 1 ^ -(raw & 1)); /* zigzag */
	return r;
}

/*
 * The next pair of the line table: one byte (five bits of bci, three of line), or 0xff and two
 * signed numbers. 1: there was one, 0: the table's end, or -errno.
 */
static int next_line(struct java_stream *stream, uint32_t excluded, int64_t *bci, int64_t *line)
{
	int byte = java_stream_byte(stream), r;

	if (byte <= 0)
		return byte;
	if (byte != 0xff) {
		*bci += byte >> 3;
		*line += byte & 7;
	} else {
		r = signed_step(stream, excluded, bci);
		if (!r)
			r = signed_step(stream, excluded, line);
		if (r)
			return r;
	}
	return *bci < 0 || *bci > UINT16_MAX || *line < 0 || *line > UINT16_MAX ? -EBADMSG : 1;
}

/* The line of the last entry at or before @bci; entries are not always sorted. */
static int read_line(const struct java_code *code, const struct constants *c, int32_t bci,
	uint32_t *ret)
{
	int64_t at = 0, line = 0, best = 0;
	uint32_t found = 0;
	struct java_stream stream;
	int r;

	java_stream_init(&stream, code->jvm, c->method + code->const_bytes + c->code_bytes, c->end);
	while ((r = next_line(&stream, code->excluded, &at, &line)) > 0) {
		if (at > bci || at < best)
			continue;
		found = (uint32_t)line;
		best = at;
		if (at == bci)
			break;
	}
	if (r >= 0)
		*ret = found;
	return r < 0 ? r : 0;
}

int java_method_frame(const struct java_code *code, uint64_t method, uint64_t const_method,
	int32_t bci, struct java_frame *ret)
{
	struct java_frame frame = {0};
	struct constants c;
	uint64_t now;
	int r;

	if (!java_pointer(method))
		return -EBADMSG;
	r = jvm_read(code->jvm, method + code->method_const, &now, sizeof(now));
	if (r)
		return r;
	if (const_method && now != const_method)
		return -ESTALE;
	if (!java_pointer(now))
		return -EBADMSG;
	r = read_constants(code, now, &c);
	if (!r && c.code_bytes && (bci < -1 || bci >= (int32_t)c.code_bytes))
		r = -EBADMSG;
	if (!r)
		r = read_names(code, &c, &frame);
	if (!r && c.code_bytes && c.has_lines)
		r = read_line(code, &c, bci < 0 ? 0 : bci, &frame.line);
	if (!r)
		*ret = frame;
	return r;
}
