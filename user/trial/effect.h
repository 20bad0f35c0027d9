/*
 * What a setting did, by how blocks were drawn: randomisation inference over pairs of blocks. In: a figure of each
 * block, as it is and tried. Out: the effect, its interval, and what could have been seen.
 *
 * In each pair a coin decided which block comes first. If the setting does nothing, each block would have had the
 * figure that it has under the other draw too: then a difference at least as large as the one seen, by magnitude,
 * comes up under exactly that share of the draws that could have been made. Nothing is assumed of the steps: they may drift, depend on each
 * other and pause at regular times. The interval holds the effects that such a test does not reject.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Below this the test can hardly reject: with 6 pairs its smallest p is 3.1 %. */
#define EFFECT_PAIRS_LEAST 8

struct effect {
	size_t pairs;
	double base;	   /* mean as it is */
	double estimate;   /* of the difference */
	double low, high;  /* its 95 % interval; infinite: the pairs are too few */
	double p;	   /* how often chance alone does as much */
	double detectable; /* the difference that would have been told from none in 4 of 5 trials */
};

/* Differences as they are, or as shares of @as_it_is: then its figures are > 0. */
enum effect_scale { EFFECT_PLAIN, EFFECT_SHARE };

/* 0 or -ENOMEM; -ENODATA without pairs. */
int effect_of(const double *as_it_is, const double *tried, size_t pairs, enum effect_scale scale,
	struct effect *ret);
