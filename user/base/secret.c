/* Arguments in; out come the same, with *** for the values whose names say that they are secrets. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secret.h"

#define NAME_MOST 64 /* only the end of a name decides */

/* What a name, or a part of it before "-", "_", "." or a capital, ends in. */
static const char *const words[] = {
	"token",
	"password",
	"passwd",
	"passphrase",
	"secret",
	"apikey",
	"accesskey",
	"privatekey",
	"credential",
	"credentials",
	"auth",
	"authorization",
	"bearer",
};

/* Where the text is copied to; it never grows much beyond twice its length. */
struct masked {
	const char *at, *end;
	char *to;
};

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* What ends a value within an argument, as in sh -c 'TOKEN=x command'. */
static bool ends_value(char c)
{
	return is_blank(c) || strchr(";&|,)}'\"`", c); /* NUL too */
}

static bool ends_in_word(const char *letters, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t size = strlen(words[i]);

		if (len >= size && !memcmp(letters + len - size, words[i], size))
			return true;
	}
	return false;
}

/* "--hf-token", "WANDB_API_KEY" and "keyStorePassword" are; "--tokenizer" and "--max-tokens" are not. */
static bool is_secret(const char *name, size_t len)
{
	char letters[NAME_MOST];
	size_t used = 0;

	if (len > NAME_MOST) {
		name += len - NAME_MOST;
		len = NAME_MOST;
	}
	for (size_t i = 0; i < len; i++) {
		bool capital =
			i && isupper((unsigned char)name[i]) && islower((unsigned char)name[i - 1]);

		if ((capital || !isalnum((unsigned char)name[i])) && ends_in_word(letters, used))
			return true;
		if (isalnum((unsigned char)name[i]))
			letters[used++] = (char)tolower((unsigned char)name[i]);
	}
	return ends_in_word(letters, used);
}

static void copy_to(struct masked *text, const char *until)
{
	size_t len = (size_t)(until - text->at);

	memcpy(text->to, text->at, len);
	text->to += len;
	text->at = until;
}

/* Leaves out what lies before @until. */
static void hide_to(struct masked *text, const char *until)
{
	if (until > text->at) {
		memcpy(text->to, "***", 3);
		text->to += 3;
	}
	text->at = until;
}

/* The end of a value at @at: of the quoted text, of the argument if @whole, or of the word. */
static const char *value_end(const char *at, const char *end, char quote, bool whole)
{
	while (at < end && *at && (quote ? *at != quote : whole || !ends_value(*at)))
		at++;
	return at;
}

/* "Authorization: Bearer x": the secret is the second word. */
static const char *after_scheme(const char *at, const char *end)
{
	static const char *const schemes[] = {"bearer ", "basic ", "token "};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t len = strlen(schemes[i]);

		if ((size_t)(end - at) > len && !strncasecmp(at, schemes[i], len))
			return at + len;
	}
	return at;
}

/*
 * At the end of a secret's name: passes "=", ": ", quotes and, after an option, blanks or the end of the
 * argument; hides the value. @whole: the name begins its argument, so that the value is all the rest of it.
 */
static void hide_value(struct masked *text, bool option, bool whole)
{
	const char *at = text->at, *end = text->end;
	char quote = '\0';
	bool given = false;

	if (at < end && (*at == '"' || *at == '\''))
		at++; /* {"api_key": "…"} */
	while (at < end && is_blank(*at))
		at++;
	if (at < end && (*at == '=' || *at == ':')) {
		at++;
		given = true;
		while (at < end && is_blank(*at))
			at++;
	} else if (option && (at > text->at || (at < end && !*at))) {
		whole = at < end && !*at;
		at += whole;
		given = at < end && *at != '-';
	}
	if (!given)
		return;
	if (at < end && (*at == '"' || *at == '\''))
		quote = *at++;
	else if (!whole)
		at = after_scheme(at, end);
	copy_to(text, at);
	hide_to(text, value_end(at, end, quote, whole));
}

/* At "://": hides the password of scheme://user:password@host. */
static void hide_userinfo(struct masked *text)
{
	const char *host = text->at + 3, *colon = NULL, *sign = NULL;

	for (const char *at = host;
		at < text->end && *at != '/' && *at != '?' && *at != '#' &&
		(*at == ')' || *at == ',' || *at == ';' || *at == '&' || !ends_value(*at));
		at++) {
		if (*at == '@')
			sign = at;
		else if (*at == ':' && !colon)
			colon = at + 1;
	}
	copy_to(text, host);
	if (!sign || !colon || colon > sign)
		return;
	copy_to(text, colon);
	hide_to(text, sign);
}

char *secret_mask(const char *cmdline, size_t len, size_t *ret_len)
{
	struct masked text = {.at = cmdline, .end = cmdline + len};
	const char *begin = cmdline; /* of the argument */
	char *masked = text.to = malloc(2 * len + 4);

	while (masked && text.at < text.end) {
		const char *name = text.at, *after = name;

		if (!*name)
			begin = name + 1;
		while (after < text.end && is_name(*after))
			after++;
		if (after > name) {
			copy_to(&text, after);
			if (is_secret(name, (size_t)(after - name)))
				hide_value(&text, *name == '-', name == begin);
			if (text.at > after)
				begin = NULL; /* no name follows a value before the argument's end */
		} else if (text.end - name >= 3 && !memcmp(name, "://", 3)) {
			hide_userinfo(&text);
		} else {
			copy_to(&text, name + 1);
		}
	}
	if (masked)
		*ret_len = (size_t)(text.to - masked);
	return masked;
}
