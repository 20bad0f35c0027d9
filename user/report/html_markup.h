/* Pieces of markup that pages share. In: bytes from anywhere. Out: HTML in which they are only ever text. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "flame_text.h"
#include "report.h"

/* @len bytes as character data; @scratch is overwritten. */
void html_markup_text(FILE *out, struct flame_text *scratch, const char *bytes, size_t len);

/*
 * Everything up to <body>, with a policy by which only the scripts and styles of this build run and nothing is fetched.
 * @what: of what kind the page is; @title may be NULL.
 */
void html_markup_head(FILE *out, struct flame_text *scratch, const char *what, const char *title);

/* Its pauses as a flame graph in a frame of that @id; where there is none, a note that says why. */
void html_markup_flame(FILE *out, struct flame_text *scratch, const struct report_input *input,
	const char *id);
