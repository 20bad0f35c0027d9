/* C++ names, mangled (Itanium C++ ABI, 5.1) and plain. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "signal_name.h"

/* Appends "::" and @length bytes of @part. False if it does not fit. */
static bool append(char *text, size_t size, size_t *used, const char *part, size_t length)
{
	int n = snprintf(text + *used, size - *used, "%s%.*s", *used ? "::" : "", (int)length,
		part);

	if (n < 0 || (size_t)n >= size - *used)
		return false;
	*used += (size_t)n;
	return true;
}

/* Reads <length><name>, and leaves *at behind it. */
static bool take_part(const char **at, const char **ret_part, size_t *ret_length)
{
	size_t length = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at) && length < 4096; (*at)++)
		length = length * 10 + (size_t)(**at - '0');
	if (!length || strnlen(*at, length) < length)
		return false;
	*ret_part = *at;
	*ret_length = length;
	*at += length;
	return true;
}

bool signal_name_plain(const char *mangled, char *ret, size_t size)
{
	const char *at = mangled, *part = NULL;
	size_t length = 0, used = 0;
	char text[256] = "";
	bool nested;

	if (strncmp(at, "_Z", 2))
		return false;
	at += 2;
	nested = *at == 'N';
	if (nested)
		at += 1 + strspn(at + 1, "rVKRO");
	while (take_part(&at, &part, &length)) {
		if (!append(text, sizeof(text), &used, part, length))
			return false;
		if (!nested)
			break;
	}
	if (!used)
		return false;
	if (nested && (*at == 'C' || *at == 'D') && isdigit((unsigned char)at[1])) {
		/* A constructor or destructor: named after its class. */
		if (*at == 'D' || !append(text, sizeof(text), &used, part, length))
			return false;
	} else if (nested && *at != 'E' && *at != 'I') {
		return false;
	}
	snprintf(ret, size, "%s", text);
	return true;
}

struct parts {
	const char *start[16];
	size_t length[16], count;
};

static bool split(const char *name, struct parts *parts)
{
	parts->count = 0;
	for (const char *at = name;;) {
		const char *end = strstr(at, "::");
		size_t length = end ? (size_t)(end - at) : strlen(at);

		if (!length || parts->count == ARRAY_SIZE(parts->start))
			return false;
		for (size_t i = 0; i < length; i++)
			if (!isalnum((unsigned char)at[i]) && at[i] != '_')
				return false;
		parts->start[parts->count] = at;
		parts->length[parts->count++] = length;
		if (!end)
			return true;
		at = end + 2;
	}
}

size_t signal_name_prefixes(const char *name, char (*ret)[192], size_t max)
{
	char body[128] = "";
	struct parts parts;
	size_t used = 0, count = 0;

	if (!split(name, &parts))
		return 0;
	for (size_t i = 0; i < parts.count; i++) {
		int n = snprintf(body + used, sizeof(body) - used, "%zu%.*s", parts.length[i],
			(int)parts.length[i], parts.start[i]);

		if (n < 0 || (size_t)n >= sizeof(body) - used)
			return 0;
		used += (size_t)n;
	}
	if (parts.count == 1) {
		if (max)
			snprintf(ret[count++], sizeof(*ret), "_Z%s", body);
		return count;
	}
	/* Plain, const, and a template. */
	for (size_t i = 0; i < 4 && count < max; i++)
		snprintf(ret[count++], sizeof(*ret), "_ZN%s%s%s", i & 1 ? "K" : "", body,
			i & 2 ? "I" : "E");
	if (parts.length[parts.count - 1] == parts.length[parts.count - 2] && count < max &&
		!strncmp(parts.start[parts.count - 1], parts.start[parts.count - 2],
			parts.length[parts.count - 1])) {
		char last[128];
		int n = snprintf(last, sizeof(last), "%zu%.*s", parts.length[parts.count - 1],
			(int)parts.length[parts.count - 1], parts.start[parts.count - 1]);

		snprintf(ret[count++], sizeof(*ret), "_ZN%.*sC", (int)(used - (size_t)n), body);
	}
	return count;
}
