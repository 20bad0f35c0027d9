/* The facts of CPython's pauses: their places in struct pause.facts, which capture/ fills and meaning/ explains. */
#pragma once

/*
 * What gc.get_threshold() would have said as the pause began. Known of the first pause of a process and of those by
 * which one of them had changed: of the others they are those of the one before.
 */
enum cpython_fact { CPYTHON_THRESHOLD_0, CPYTHON_THRESHOLD_1, CPYTHON_THRESHOLD_2, CPYTHON_FACTS };
