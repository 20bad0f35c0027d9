/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Texts in the target that name a call: a std::string → bytes, and a hash of them. */
#pragma once

#include "core.bpf.h"

#define SOURCE_TEXT_MOST (1u << 20) /* a longer std::string is none: the bytes are something else */
#define LABEL_WORDS	 (GC_LABEL_BYTES / 8)

struct text {
	__u64 words[LABEL_WORDS]; /* zeros behind the end */
	__u64 length;		  /* in full */
};

static __always_inline __u64 mix(__u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* What a Python object's head may hold in addition: __dict__ and weak references up to 3.11, free threads. */
#define PY_HEAD_MORE 16

/* Copies the text of a std::string (libstdc++'s). False if there is none. */
static __always_inline bool read_text(__u64 address, bool in_object, struct text *text)
{
	struct {
		__u64 data, length;
	} string;

	if (bpf_probe_read_user(&string, sizeof(string), (void *)address))
		return false;
	if (in_object && string.length > SOURCE_TEXT_MOST &&
		bpf_probe_read_user(&string, sizeof(string), (void *)(address + PY_HEAD_MORE)))
		return false;
	if (string.length > SOURCE_TEXT_MOST)
		return false;
	text->length = string.length;
	return !bpf_probe_read_user(text->words, at_most(string.length, GC_LABEL_BYTES),
		(void *)string.data);
}

static __always_inline __u64 hash_text(const struct text *text, __u64 seed)
{
	__u64 hash = seed ^ text->length;

	for (int i = 0; i < LABEL_WORDS && i * sizeof(__u64) < text->length; i++) {
		hash = (hash ^ text->words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return mix(hash);
}
