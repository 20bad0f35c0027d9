/* A symbol's name → whether it is a function of CPython's, maybe as the compiler renamed it. */
#include <string.h>

#include "cleanup.h"
#include "cpython_symbol.h"

enum cpython_abi cpython_abi(const char *name, const char *base)
{
	static const char *const suffixes[] = {".lto_priv.", ".llvm.", ".constprop.", ".isra."};
	enum cpython_abi abi = ABI_PLAIN;

	if (strncmp(name, base, strlen(base)))
		return ABI_NONE;
	for (name += strlen(base); *name;) {
		size_t i, digits;

		for (i = 0; i < ARRAY_SIZE(suffixes); i++)
			if (!strncmp(name, suffixes[i], strlen(suffixes[i])))
				break;
		if (i == ARRAY_SIZE(suffixes))
			return ABI_NONE;
		name += strlen(suffixes[i]);
		digits = strspn(name, "0123456789abcdefABCDEF");
		if (!digits)
			return ABI_NONE;
		name += digits;
		if (i >= 2)
			abi = ABI_CLONE;
	}
	return abi;
}
