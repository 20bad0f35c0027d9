/* A signal's name and label → what its calls mean; names as people read and type them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "step_priv.h"
#include "utf8.h"

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* torch.autograd.profiler.record_function: the label shows who recorded it. */
static enum step_class classify_record(const char *label)
{
	if (!label)
		return CLASS_RECORD;
	if (starts(label, "Optimizer.step#"))
		return CLASS_UPDATE;
	if (starts(label, "Optimizer.zero_grad#"))
		return CLASS_ZERO;
	if (starts(label, "enumerate(DataLoader)#"))
		return CLASS_LOAD;
	return CLASS_RECORD;
}

enum step_class classify(const char *signal, const char *label)
{
	static const struct {
		const char *name;
		enum step_class class;
	} known[] = {
		{"torch:backward", CLASS_BACKWARD},
		{"torch:loss", CLASS_LOSS},
		{"torch:learner", CLASS_LEARNER},
		{"jax:execute", CLASS_EXECUTE},
		{"jax:pjit", CLASS_JIT},
		{"tensorflow:execute", CLASS_EXECUTE},
		{"xgboost:update", CLASS_UPDATE},
		{"lightgbm:update", CLASS_UPDATE},
		{"dl4j:update", CLASS_UPDATE},
		{"dl4j:loss", CLASS_LOSS},
		{"torch:allreduce", CLASS_COLLECTIVE},
		{"nvtx", CLASS_RECORD},
		{"cuda:graph", CLASS_GRAPH},
		{"cuda:read", CLASS_SYNC},
		{"cuda:sync", CLASS_SYNC},
		{"http:request", CLASS_REQUEST},
		{"http:response", CLASS_REQUEST},
		{"http:connection", CLASS_REQUEST},
		{"http:untold", CLASS_REQUEST},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(signal, known[i].name))
			return known[i].class;
	if (!strcmp(signal, "torch:record"))
		return classify_record(label);
	if (starts(signal, "user:"))
		return CLASS_USER;
	return starts(signal, "nccl:") ? CLASS_COLLECTIVE : CLASS_CALL;
}

double class_prior(enum step_class class)
{
	static const double priors[CLASS_COUNT] = {
		[CLASS_USER] = 1.0,
		[CLASS_UPDATE] = 0.98,
		[CLASS_EXECUTE] = 0.95,
		[CLASS_BACKWARD] = 0.9,
		[CLASS_GRAPH] = 0.9,
		[CLASS_JIT] = 0.85,
		[CLASS_ZERO] = 0.85,
		[CLASS_COLLECTIVE] = 0.65,
		[CLASS_REQUEST] = 1.0,
		[CLASS_CALL] = 0.65, /* a step makes some, and so does a loop within one */
		[CLASS_LOAD] = 0.65,
		[CLASS_RECORD] = 0.65,
		[CLASS_SYNC] = 0.65,
		[CLASS_LOSS] = 0.5,
	};

	return priors[class];
}

/* Numbers that are addresses in the process, another in each run. */
static bool is_address(const struct symbol *symbol)
{
	return symbol->class == CLASS_UPDATE || symbol->class == CLASS_BACKWARD;
}

bool symbols_same(const struct symbol *one, const struct symbol *other)
{
	return is_address(one) && one->strand == other->strand && one->class == other->class &&
	       !strcmp(one->signal, other->signal) &&
	       !strcmp(one->label ? one->label : "", other->label ? other->label : "");
}

void symbol_name(const struct symbol *symbol, char *ret, size_t size)
{
	char text[512];
	int len;

	if (symbol->label)
		len = snprintf(text, sizeof(text), "%s:%s", symbol->signal, symbol->label);
	else if (symbol->number == UNKNOWN || is_address(symbol))
		len = snprintf(text, sizeof(text), "%s", symbol->signal);
	else if (symbol->class == CLASS_CALL || symbol->class == CLASS_GRAPH)
		len = snprintf(text, sizeof(text), "%s:%" PRIx64, symbol->signal,
			(uint64_t)symbol->number);
	else
		len = snprintf(text, sizeof(text), "%s:%" PRId64, symbol->signal, symbol->number);
	utf8_clean(ret, size, text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

int function_score(const char *name)
{
	static const struct {
		const char *part;
		int score;
	} parts[] = {
		{"train", 2},
		{"step", 2},
		{"update", 2},
		{"fit", 1},
		{"optim", 1},
		{"apply_grad", 1},
		{"eval", -4},
		{"test", -3},
		{"valid", -4},
		{"predict", -3},
		{"infer", -3},
		{"metric", -3},
		{"accuracy", -3},
		{"log", -2},
		{"init", -3},
		{"loss", -1},
		{"sample", -2},
		{"generate", -2},
		{"copy", -3},
		{"ema", -2},
		{"norm", -2},
		{"accum", -1},
		{"grad", -1},
	};
	int score = name && (*name == '_' || !strncmp(name, "tree_", 5)) ? -2 : 0; /* a library's */

	for (size_t i = 0; name && i < ARRAY_SIZE(parts); i++)
		if (strcasestr(name, parts[i].part))
			score += parts[i].score;
	return score;
}
