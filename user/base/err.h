/* An error that travels upwards with the sentence a user should read. */
#pragma once

struct err {
	char text[768];
};

/*
 * Writes the sentence (what failed, on which object, the remedy) into @err, which may be NULL, and
 * returns -code, so that a caller can `return err_set(err, ENOENT, "…", …)`.
 */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "<prefix>: " before the sentence already there; a half-sentence is cut, never overrun. */
void err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
