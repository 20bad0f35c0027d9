/* What the user typed after --step → struct step_spec, struct signal_wish. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "step_spec.h"

#define MAX_EVERY 1000000

static int no_signal(const char *text, struct err *err)
{
	return err_set(err, EINVAL,
		"\"%.80s\" is not a step signal: write auto, none, window:5s, or a signal's name such as "
		"torch:backward, jax:pjit:make_step, lib:symbol or usdt:provider:name, with /N for N marks a step",
		text);
}

int step_spec_wish(const struct step_spec *spec, struct signal_wish *ret, struct err *err)
{
	const char *text = spec->name;
	struct signal_wish wish = {.usdt = !strncmp(text, "usdt:", 5)};
	const char *library = wish.usdt ? text + 5 : text, *colon = strchr(library, ':');
	const char *base;

	if (!colon || colon == library || !colon[1] || colon[1] == ':')
		return err_set(err, EINVAL,
			"\"%s\" names no probe: write LIBRARY:FUNCTION (libtorch_cpu:"
			"torch::autograd::Engine::execute) or usdt:PROVIDER:NAME",
			text);
	base = wish.usdt ? NULL : memrchr(library, '/', (size_t)(colon - library));
	if (base)
		library = base + 1;
	if (colon - library >= (ptrdiff_t)sizeof(wish.library) ||
		strlen(colon + 1) >= sizeof(wish.symbol) ||
		strlen(text) + strlen("user:") >= sizeof(wish.name))
		return err_set(err, EINVAL,
			"\"%.40s…\" is too long for the name of a probe (%d characters at most); of "
			"a C++ function write namespace::class::function",
			text, SIGNAL_NAME_BYTES - 6);
	memcpy(wish.library, library, (size_t)(colon - library));
	snprintf(wish.symbol, sizeof(wish.symbol), "%s", colon + 1);
	snprintf(wish.name, sizeof(wish.name), "user:%s%s:%s", wish.usdt ? "usdt:" : "",
		wish.library, wish.symbol);
	*ret = wish;
	return 0;
}

/* Whether @text can be a signal's name: printable, with something on both sides of a colon. */
static bool is_name(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);

	if (!colon || colon == text || text[len - 1] == ':')
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

/* Where "/N" or "/most" begins in @text, or its end. A slash before anything else is part of the name. */
static const char *find_every(const char *text)
{
	const char *slash = strrchr(text, '/');

	if (slash && !strcmp(slash + 1, "most"))
		return slash;
	if (slash && slash[1 + strspn(slash + 1, "+-0123456789")] == '\0')
		return slash;
	return text + strlen(text);
}

static int parse_name(const char *text, struct step_spec *spec, struct err *err)
{
	const char *end = find_every(text);
	size_t len = (size_t)(end - text);
	struct signal_wish wish;
	long every = 0;
	int r;

	if (!len || !is_name(text, len))
		return no_signal(text, err);
	if (len >= sizeof(spec->name))
		return err_set(err, EINVAL, "the name of a step signal has at most %zu characters",
			sizeof(spec->name) - 1);
	spec->most = !strcmp(end, "/most");
	if (*end && !spec->most) {
		r = parse_int(end + 1, "a number of marks a step", 1, MAX_EVERY, &every, err);
		if (r)
			return r;
	}
	spec->way = STEP_NAMED;
	memcpy(spec->name, text, len);
	spec->name[len] = '\0';
	spec->every = (uint32_t)every;
	if (step_spec_wish(spec, &wish, NULL))
		snprintf(spec->recorded, sizeof(spec->recorded), "user:%s", spec->name);
	else
		snprintf(spec->recorded, sizeof(spec->recorded), "%s", wish.name);
	return 0;
}

int step_spec_parse(const char *text, struct step_spec *ret, struct err *err)
{
	struct step_spec spec = {.way = STEP_AUTO};
	int r = 0;

	if (!strcmp(text, "none")) {
		spec.way = STEP_NONE;
	} else if (!strncmp(text, "window:", 7) || !strcmp(text, "window")) {
		if (strlen(text) <= 7)
			return err_set(err, EINVAL, "a window needs its length: write window:5s");
		spec.way = STEP_WINDOW;
		r = parse_duration(text + 7, &spec.window_ns, err);
		if (!r && !spec.window_ns)
			return err_set(err, EINVAL, "a window cannot be empty: write window:5s");
	} else if (strcmp(text, "auto")) {
		r = parse_name(text, &spec, err);
	}
	if (!r)
		*ret = spec;
	return r;
}
