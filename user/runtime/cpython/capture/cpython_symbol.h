/* Names that compilers give to CPython's functions. In: a symbol's name. Out: what its arguments are. */
#pragma once

enum cpython_abi {
	ABI_NONE,  /* it is another function */
	ABI_PLAIN, /* the arguments of the source */
	ABI_CLONE, /* specialised: other arguments */
};

/*
 * Whether @name is @base or a copy that the compiler made: link-time optimisation renames
 * it (.lto_priv, .llvm: the same arguments) or specialises it (.constprop, .isra: others).
 */
enum cpython_abi cpython_abi(const char *name, const char *base);
