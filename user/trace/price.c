/* What a hit of a step signal costs on this machine, found by putting a probe on ourselves and hitting it. */
#include <string.h>

#include "clock.h"
#include "log.h"
#include "steps_priv.h"

#define CALLS	100
#define BATCHES 8 /* the fastest counts: in the others something else ran */

/* Begins with a nop, which the kernel emulates, as it does the first instruction of most functions. */
void price_probed(void) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".globl price_probed\n"
	".hidden price_probed\n"
	".type price_probed, @function\n"
	"price_probed:\n"
	"	nop\n"
	"	ret\n"
	".size price_probed, . - price_probed\n");

static uint64_t time_batch(void)
{
	uint64_t start = now_ns();

	for (int i = 0; i < CALLS; i++)
		price_probed();
	return (now_ns() - start) / CALLS;
}

uint64_t step_hit_price(const struct bpf_program *program, struct uprobe *ret)
{
	const struct uprobe_place place = {
		.path = "/proc/self/exe", .offset = programs_own_offset(price_probed)};
	uint64_t best = UINT64_MAX;

	if (!place.offset || uprobe_attach(program, &place, ret))
		return STEP_HIT_PRICE_NS;
	for (int i = 0; i < BATCHES; i++) {
		uint64_t price = time_batch();

		best = price < best ? price : best;
	}
	log_debug("a hit of a step signal costs %llu ns here", (unsigned long long)best);
	if (best > STEP_HIT_PRICE_NS)
		return STEP_HIT_PRICE_NS;
	return best < STEP_HIT_PRICE_NS / 8 ? STEP_HIT_PRICE_NS / 8 : best;
}
