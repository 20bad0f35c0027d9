/*
 * Text on a terminal: lines that fit its width, a few of them in bold or colour. Pipes and files get the text
 * unchanged. In: a stream of whole lines. Out: the stream to write them to.
 */
#pragma once

#include <stdio.h>

enum terminal_style {
	TERMINAL_PLAIN,
	TERMINAL_STRONG, /* the answer, the worst */
	TERMINAL_ALARM,	 /* something is missing */
};

/*
 * If @out is a terminal, a stream whose lines are fitted and written there: prose is wrapped, rows of tables are cut.
 * Else @out itself. Only one may be open. With NO_COLOR, or TERM=dumb, it has no styles.
 */
FILE *terminal_open(FILE *out);

/* Writes what is left and closes what terminal_open() made of @out; for @out itself it only flushes. */
void terminal_close(FILE *shown, FILE *out);

/* How the next lines are shown, if @shown is from terminal_open(); else does nothing. */
void terminal_style(FILE *shown, enum terminal_style style);
