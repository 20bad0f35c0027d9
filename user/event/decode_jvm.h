/* Private to this room: the records of a JVM. */
#pragma once

#include "event.h"

/* @type: GC_EVENT_…. 0, or -EBADMSG for bytes that no BPF program of this version writes. */
int decode_jvm(const void *bytes, size_t size, uint32_t type, struct event *event);
