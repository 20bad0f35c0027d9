/*
 * A file, plain or gzip, in; its text out, in pieces in which profilers' slips against JSON are mended: numbers that are
 * none (NaN, inf), backslashes that escape nothing, raw control characters within strings.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "kineto_text.h"

#define PIECE 262144
#define AHEAD 16 /* bytes: no word or escape is longer that is to be mended */

int kineto_text_open(struct kineto_text *text, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = -errno;

	*text = (struct kineto_text){.path = path};
	if (fd < 0)
		return err_set(err, -r, "%s cannot be opened: %s", path, strerror(-r));
	text->bytes = malloc(PIECE + AHEAD);
	text->file = gzdopen(fd, "r");
	if (!text->file)
		close(fd);
	if (!text->file || !text->bytes || gzbuffer(text->file, PIECE))
		return err_set(err, ENOMEM, "out of memory while opening %s", path);
	return 0;
}

void kineto_text_close(struct kineto_text *text)
{
	if (text->file)
		gzclose(text->file);
	free(text->bytes);
	*text = (struct kineto_text){};
}

static bool is_no_number(const uint8_t *word, size_t len)
{
	static const char *const names[] = {"nan", "inf", "infinity"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (len == strlen(names[i]) && !strncasecmp((const char *)word, names[i], len))
			return true;
	return false;
}

/* From @at to the next string; how far it came, which is short of @len where a word may go on. */
static size_t mend_outside(struct kineto_text *text, size_t at, size_t len)
{
	uint8_t *bytes = text->bytes;

	while (at < len && bytes[at] != '"') {
		size_t end = at;

		while (end < len && isalpha(bytes[end]))
			end++;
		if (end == at) {
			text->last = bytes[at++];
			continue;
		}
		if (end == len && end - at < AHEAD && !text->ended)
			return at;
		/* After a digit it is an exponent. */
		if (!isdigit(text->last) && text->last != '.' &&
			is_no_number(bytes + at, end - at)) {
			memset(bytes + at, ' ', end - at);
			bytes[at] = '0';
		}
		text->last = bytes[end - 1];
		at = end;
	}
	if (at < len) {
		text->in_string = true;
		text->last = bytes[at++];
	}
	return at;
}

/* The length of the escape at @bytes, whose backslash becomes a slash if it escapes nothing. */
static size_t mend_escape(uint8_t *bytes, size_t len)
{
	if (len > 1 && strchr("\"\\/bfnrt", bytes[1]) && bytes[1])
		return 2;
	if (len > 5 && bytes[1] == 'u' && isxdigit(bytes[2]) && isxdigit(bytes[3]) &&
		isxdigit(bytes[4]) && isxdigit(bytes[5]))
		return 6;
	*bytes = '/';
	return 1;
}

static size_t mend_string(struct kineto_text *text, size_t at, size_t len)
{
	uint8_t *bytes = text->bytes;

	for (; at < len; at++) {
		if (bytes[at] == '"') {
			text->in_string = false;
			text->last = '"';
			return at + 1;
		}
		if (bytes[at] < ' ') {
			bytes[at] = ' ';
		} else if (bytes[at] == '\\') {
			if (len - at < 6 && !text->ended)
				return at;
			at += mend_escape(bytes + at, len - at) - 1;
		}
	}
	return at;
}

static size_t mend(struct kineto_text *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		bool inside = text->in_string;
		size_t next = inside ? mend_string(text, at, len) : mend_outside(text, at, len);

		at = next;
		if (inside == text->in_string)
			break; /* all of it, or the rest is to be seen with what follows */
	}
	return at;
}

/* What zlib says of its last read, in words. */
static int failure(const struct kineto_text *text, struct err *err)
{
	int code, r = errno;
	const char *words = gzerror(text->file, &code);

	if (code == Z_ERRNO)
		return err_set(err, r ? r : EIO, "%s cannot be read: %s", text->path,
			strerror(r ? r : EIO));
	if (code == Z_BUF_ERROR)
		return err_set(err, EBADMSG,
			"%s was cut off: its gzip data end too early; export or copy it again",
			text->path);
	if (code == Z_MEM_ERROR)
		return err_set(err, ENOMEM, "out of memory while reading %s", text->path);
	words = strrchr(words, ':') ? strrchr(words, ':') + 2 : words;
	return err_set(err, EBADMSG, "%s is damaged: its gzip data cannot be unpacked (%s)",
		text->path, words);
}

ssize_t kineto_text_next(struct kineto_text *text, const uint8_t **ret, struct err *err)
{
	static const uint8_t mark[] = {0xef, 0xbb, 0xbf}; /* of UTF-8, which some editors write */
	bool first = !text->given && !text->held;
	int len, code;

	if (text->ended && !text->held)
		return 0;
	memmove(text->bytes, text->bytes + text->given, text->held);
	errno = 0;
	len = gzread(text->file, text->bytes + text->held, PIECE);
	if (len < 0)
		return failure(text, err);
	text->ended = len < PIECE;
	gzerror(text->file, &code);
	if (text->ended && code != Z_OK && code != Z_STREAM_END)
		return failure(text, err);
	if (first && len >= 3 && !memcmp(text->bytes, mark, sizeof(mark)))
		memset(text->bytes, ' ', sizeof(mark));
	text->held += (size_t)len;
	text->given = mend(text, text->held);
	text->held -= text->given;
	*ret = text->bytes;
	return (ssize_t)text->given;
}
