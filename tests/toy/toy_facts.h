/* The facts of the toy's pauses: their places in struct pause.facts, which capture/ fills and meaning/ explains. */
#pragma once

#define TOY_LANG 0x746f79 /* of its frames: a language that nobody else knows */

enum toy_fact { TOY_MARK, TOY_SWEPT, TOY_FACTS };
