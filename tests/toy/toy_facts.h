/* The facts of the toy's pauses: their places in struct pause.facts, which capture/ fills and meaning/ explains. */
#pragma once

enum toy_fact { TOY_MARK, TOY_SWEPT, TOY_FACTS };
