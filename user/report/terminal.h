/*
 * Text on a terminal: lines that fit its width, and a few in bold or colour. In pipes and files nothing is
 * changed. In: a stream of whole lines. Out: another, which the text goes through.
 */
#pragma once

#include <stdio.h>

enum terminal_style {
	TERMINAL_PLAIN,
	TERMINAL_STRONG, /* the answer, the worst */
	TERMINAL_ALARM,	 /* something is missing */
};

/*
 * If @out is a terminal, a stream whose lines are fitted and written there: prose is wrapped, rows of tables
 * are cut. Else @out itself. There is one at a time. With NO_COLOR, or TERM=dumb, it has no styles.
 */
FILE *terminal_open(FILE *out);

/* Writes what is left and closes what terminal_open() made of @out; for @out itself it only flushes. */
void terminal_close(FILE *shown, FILE *out);

/* How the lines to come are shown, if @shown is of terminal_open(); else nothing. */
void terminal_style(FILE *shown, enum terminal_style style);
