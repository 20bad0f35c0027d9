/* A file's e_machine → the table of what its code says. */
#include "elf_machine.h"
#include "cleanup.h"
#include "elf_priv.h"

static const struct elf_machine *const machines[] = {&elf_x86_64, &elf_aarch64};

const struct elf_machine *elf_machine_find(unsigned int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i]->number == number)
			return machines[i];
	return NULL;
}

const struct elf_machine *elf_machine_of(const struct elf_file *file)
{
	return elf_machine_find(file->header.e_machine);
}
