/* SPDX-License-Identifier: MIT
 *
 * In: a cubin, which is an ELF64 file.  Out: what the log of the assembler
 * does not say on every target: the bytes of a kernel's constant banks, the
 * sections .nv.constantN.NAME.  Nothing in the file is believed.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/assemble/assemble_private.h"

static int section_at(const unsigned char *cubin, size_t bytes, const Elf64_Ehdr *head, size_t index, Elf64_Shdr *out)
{
	size_t room = bytes > head->e_shoff ? (bytes - head->e_shoff) / sizeof *out : 0;

	if (index >= head->e_shnum || index >= room)
		return 0;
	memcpy(out, cubin + head->e_shoff + index * sizeof *out, sizeof *out);
	return 1;
}

unsigned tcb_assemble_cubin_constants(const unsigned char *cubin, size_t bytes, const char *entry)
{
	static const char prefix[] = ".nv.constant";
	Elf64_Ehdr head;
	Elf64_Shdr names, section;
	uint64_t sum = 0;

	if (bytes < sizeof head)
		return 0;
	memcpy(&head, cubin, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof section || !section_at(cubin, bytes, &head, head.e_shstrndx, &names) ||
	    names.sh_offset > bytes || names.sh_size > bytes - names.sh_offset || !names.sh_size ||
	    cubin[names.sh_offset + names.sh_size - 1])
		return 0;
	for (size_t i = 0; section_at(cubin, bytes, &head, i, &section); i++) {
		const char *name = (const char *)cubin + names.sh_offset + section.sh_name;
		char *end;
		if (section.sh_name >= names.sh_size || strncmp(name, prefix, strlen(prefix)) != 0)
			continue;
		strtoul(name + strlen(prefix), &end, 10);
		if (*end == '.' && strcmp(end + 1, entry) == 0)
			sum += section.sh_size;
	}
	return sum > UINT32_MAX ? UINT32_MAX : (unsigned)sum;
}
