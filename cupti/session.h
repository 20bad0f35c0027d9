/*
 * Recording by CUPTI's Activity API while a tracer is attached. All calls of CUPTI are made by a thread of the session's
 * own, which lives as long as recording is wanted; so a call that never returns stops neither the program nor the watch.
 */
#pragma once

#include <stdbool.h>

/* Recording is wanted, or no longer. Called ten times a second by one thread; returns at once. */
void session_want(bool wanted);

/* In a child: nothing is recorded, and CUPTI's calls are answered without effect. */
void session_silence(void);
