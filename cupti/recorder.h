/*
 * CUPTI's Activity API, switched on and off. Its calls are made by one thread, which may wait long in them; its callbacks
 * come from any. There is one recorder in a process, as CUPTI has one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Switches recording on, or takes up what has been recorded, and hands it over. If there is nothing to record with, or
 * another user of CUPTI is at work, says so and looks again now and then.
 */
void recorder_tick(void);

/* Off: what has been recorded is handed over, and CUPTI records nothing for us any more. */
void recorder_end(void);

bool recorder_recording(void);

/* Since when its thread is in a call of CUPTI; 0: it is not. By any thread. */
uint64_t recorder_calling_ns(void);

/* In a child, where no other thread is left: the callbacks go on to answer, and nothing is handed over. */
void recorder_silence(void);
