/* Symbols of compiled Julia code → names as people write them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "julia_name.h"

/*
 * julia_: arguments as the method has them, unboxed; japi1_, japi3_: boxed; jlsys_: in the system image, called
 * from JIT code (1.11). The adapters: jfptr_ takes boxed arguments and calls julia_, jlcapi_ is a @cfunction,
 * gfptrjfptr_ and tojlinvoke (1.7 on) go through the method's entry.
 */
static const char *const functions[] = {"julia_", "japi1_", "japi2_", "japi3_", "jlsys_"};
static const char *const adapters[] = {"jfptr_", "jlcapi_", "gfptrjfptr_", "gfptr_", "tojlinvoke"};

static const char *behind(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(text, prefixes[i], length) && text[length])
			return text + length;
	}
	return NULL;
}

bool julia_name_is_adapter(const char *symbol)
{
	return behind(symbol, adapters, ARRAY_SIZE(adapters));
}

/* Where ".clone_1" of another processor's copy in the system image begins, or LLVM's ".12"; @length: there is none. */
static size_t without_copy(const char *name, size_t length)
{
	const char *dot = memrchr(name, '.', length);
	size_t tail = dot ? (size_t)(name + length - dot) - 1 : 0;
	const char *number = dot ? dot + 1 : NULL;

	if (!dot || dot == name)
		return length;
	if (tail > 6 && !strncmp(number, "clone_", 6)) {
		number += 6;
		tail -= 6;
	}
	for (size_t i = 0; i < tail; i++)
		if (!isdigit((unsigned char)number[i]))
			return length;
	return tail ? (size_t)(dot - name) : length;
}

/* A copy may be of a copy: ".clone_1.clone_2". */
static size_t without_copies(const char *name, size_t length)
{
	for (size_t less = without_copy(name, length); less < length;
		less = without_copy(name, length))
		length = less;
	return length;
}

/*
 * What the system image's symbols have for characters that assemblers refuse (aotcompile.cpp, makeSafeName), as far
 * as 1.5.3's image has them, where debug information has the names as they are.
 */
static const struct {
	const char *text;
	char stands_for;
} escapes[] = {{"NOT.", '!'}, {"YY.", '#'}, {"AND.", '&'}, {"MUL.", '*'}, {"SUM.", '+'},
	{"SUB.", '-'}, {"DIV.", '/'}, {"LT.", '<'}, {"EQ.", '='}, {"GT.", '>'}, {"POW.", '^'},
	{"OR.", '|'}, {"TLD.", '~'}};

/* In place. */
static void unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; to++) {
		size_t i = 0;

		while (i < ARRAY_SIZE(escapes) &&
			strncmp(from, escapes[i].text, strlen(escapes[i].text)))
			i++;
		*to = i < ARRAY_SIZE(escapes) ? escapes[i].stands_for : *from;
		from += i < ARRAY_SIZE(escapes) ? strlen(escapes[i].text) : 1;
	}
	*to = '\0';
}

bool julia_name(const char *symbol, char *ret, size_t size, unsigned int *ret_number)
{
	const char *name = behind(symbol, functions, ARRAY_SIZE(functions));
	unsigned int number = 0;
	size_t length, digits = 0;

	if (!name)
		name = behind(symbol, adapters, ARRAY_SIZE(adapters));
	if (!name)
		return false;
	length = without_copies(name, strlen(name));
	while (digits < length && isdigit((unsigned char)name[length - 1 - digits]))
		digits++;
	if (digits && digits < 10 && length > digits + 1 && name[length - digits - 1] == '_') {
		length -= digits + 1;
		for (size_t i = 0; i < digits; i++)
			number = number * 10 + (unsigned int)(name[length + 1 + i] - '0');
	}
	snprintf(ret, size, "%.*s", (int)length, name);
	unescape(ret);
	if (ret_number)
		*ret_number = number;
	return true;
}

void julia_name_plain(const char *name, char *ret, size_t size)
{
	size_t length = strlen(name);

	if (julia_name(name, ret, size, NULL))
		return;
	if (length > 1 && name[length - 1] == ';')
		length--;
	snprintf(ret, size, "%.*s", (int)length, name);
}
