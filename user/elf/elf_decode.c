/* Bytes of a file → instructions, by the table of its machine. */
#include <errno.h>
#include <stdlib.h>

#include "elf_decode.h"
#include "elf_machine.h"
#include "elf_priv.h"

int decode_init(struct decode *decode, const struct elf_file *file, uint64_t vaddr, uint64_t len)
{
	struct decode made = {.machine = elf_machine_of(file), .vaddr = vaddr};
	int r;

	made.next = elf_bytes_at(file, vaddr, &made.left);
	if (!made.next)
		return -EFAULT;
	if (made.left > len)
		made.left = (size_t)len;
	r = made.machine->open ? made.machine->open(&made) : 0;
	if (!r)
		*decode = made;
	return r;
}

void decode_release(struct decode *decode)
{
	if (decode->machine && decode->machine->close)
		decode->machine->close(decode);
	*decode = (struct decode){};
}

bool decode_next(struct decode *decode)
{
	return decode->machine->next(decode);
}

unsigned int decode_writes(const struct decode *decode)
{
	return decode->machine->writes(decode);
}

bool decode_calls(const struct decode *decode)
{
	return decode->machine->calls(decode);
}

bool decode_jumps(const struct decode *decode)
{
	return decode->machine->jumps(decode);
}

bool decode_returns(const struct decode *decode)
{
	return decode->machine->returns(decode);
}

bool decode_jump_target(const struct decode *decode, uint64_t *ret)
{
	return decode->machine->jump_target(decode, ret);
}

bool decode_call_target(const struct decode *decode, uint64_t *ret)
{
	return decode->machine->call_target(decode, ret);
}

bool decode_ends_block(const struct decode *decode)
{
	return decode->machine->ends_block(decode);
}

bool decode_is_emulated(const struct decode *decode)
{
	return decode->machine->is_emulated(decode);
}

int decode_targets_init(struct decode_targets *targets, const struct elf_file *file, uint64_t start,
	uint64_t len)
{
	struct decode decode = {};
	uint64_t target;
	uint8_t *bits;
	int result;

	result = decode_init(&decode, file, start, len);
	if (result)
		return result;
	bits = calloc(1, (size_t)(len / 8 + 1));
	if (!bits) {
		decode_release(&decode);
		return -ENOMEM;
	}
	while (decode_next(&decode))
		if (decode_jump_target(&decode, &target) && target - start < len)
			bits[(target - start) / 8] |= (uint8_t)(1u << (target - start) % 8);
	decode_release(&decode);
	*targets = (struct decode_targets){start, len, bits};
	return 0;
}

void decode_targets_release(struct decode_targets *targets)
{
	free(targets->bits);
	*targets = (struct decode_targets){};
}

bool decode_targets_has(const struct decode_targets *targets, uint64_t vaddr)
{
	uint64_t at = vaddr - targets->start;

	return at < targets->len && targets->bits[at / 8] >> at % 8 & 1;
}
