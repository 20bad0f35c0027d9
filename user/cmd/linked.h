/* What gctrace is linked with, and the licences of what is in its file. The build makes the lists: linked.py. */
#pragma once

struct linked_library {
	const char *name;
	const char *version;
	const char *
		source; /* "elfutils 0.188-2.1": the source package of what is linked in; NULL: it is loaded at start */
	const char *licence; /* an SPDX expression, or "public domain" */
};

/* Ends with an entry of NULLs. */
extern const struct linked_library linked_libraries[];

/* The texts, each below a line "==== of what ====": gctrace's own licence, and what goes with libraries that are linked in. */
extern const char linked_licences[];
