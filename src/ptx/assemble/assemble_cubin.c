/* SPDX-License-Identifier: MIT
 *
 * In: a cubin, which is an ELF64 file.  Out: what the log of the assembler
 * does not say: the bytes of a kernel's constant banks, the sections
 * .nv.constantN.NAME (on new targets), and the registers of a function that is
 * no kernel, in .nv.info.  Nothing in the file is believed.
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

static int is_inside(size_t bytes, const Elf64_Shdr *section)
{
	return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

/* Strings, the last of which ends. */
static int is_text(const unsigned char *cubin, size_t bytes, const Elf64_Shdr *section)
{
	return is_inside(bytes, section) && section->sh_size && !cubin[section->sh_offset + section->sh_size - 1];
}

/* The file's head and the section that has the names of the sections; 0: it is no such file. */
static int open_cubin(const unsigned char *cubin, size_t bytes, Elf64_Ehdr *head, Elf64_Shdr *names)
{
	if (bytes < sizeof *head)
		return 0;
	memcpy(head, cubin, sizeof *head);
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_shentsize == sizeof *names && section_at(cubin, bytes, head, head->e_shstrndx, names) &&
	       is_text(cubin, bytes, names);
}

unsigned tcb_assemble_cubin_constants(const unsigned char *cubin, size_t bytes, const char *entry)
{
	static const char prefix[] = ".nv.constant";
	Elf64_Ehdr head;
	Elf64_Shdr names, section;
	uint64_t sum = 0;

	if (!open_cubin(cubin, bytes, &head, &names))
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

/* The number of the symbol called NAME, 0 when there is none. */
static uint32_t find_symbol(const unsigned char *cubin, size_t bytes, const Elf64_Ehdr *head, const char *name,
			    size_t length)
{
	Elf64_Shdr symbols, texts;
	Elf64_Sym symbol;

	for (size_t i = 0; section_at(cubin, bytes, head, i, &symbols); i++) {
		if (symbols.sh_type != SHT_SYMTAB || !is_inside(bytes, &symbols) ||
		    !section_at(cubin, bytes, head, symbols.sh_link, &texts) || !is_text(cubin, bytes, &texts))
			continue;
		for (uint32_t k = 1; k < symbols.sh_size / sizeof symbol; k++) {
			memcpy(&symbol, cubin + symbols.sh_offset + k * sizeof symbol, sizeof symbol);
			const char *found = (const char *)cubin + texts.sh_offset + symbol.st_name;
			if (symbol.st_name < texts.sh_size && strncmp(found, name, length) == 0 && !found[length])
				return k;
		}
	}
	return 0;
}

/* Attributes follow each other: format, kind, size or value; of format 4 the size of what follows. */
enum { ATTRIBUTE_HEAD = 4, FORMAT_SIZED = 4, KIND_REGISTERS = 0x2f };

static unsigned registers_in(const unsigned char *info, size_t bytes, uint32_t symbol)
{
	for (size_t at = 0; at + ATTRIBUTE_HEAD <= bytes;) {
		const unsigned char *head = info + at;
		const size_t size = head[0] == FORMAT_SIZED ? head[2] | (size_t)head[3] << 8 : 0;
		uint32_t values[2];
		at += ATTRIBUTE_HEAD;
		if (size > bytes - at)
			return 0;
		if (head[1] == KIND_REGISTERS && size == sizeof values) {
			memcpy(values, info + at, sizeof values);
			if (values[0] == symbol)
				return values[1];
		}
		at += size;
	}
	return 0;
}

unsigned tcb_assemble_cubin_registers(const unsigned char *cubin, size_t bytes, const char *name, size_t length)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, section;

	if (!open_cubin(cubin, bytes, &head, &names))
		return 0;
	const uint32_t symbol = find_symbol(cubin, bytes, &head, name, length);
	for (size_t i = 0; symbol && section_at(cubin, bytes, &head, i, &section); i++)
		if (section.sh_name < names.sh_size && is_inside(bytes, &section) &&
		    strcmp((const char *)cubin + names.sh_offset + section.sh_name, ".nv.info") == 0)
			return registers_in(cubin + section.sh_offset, section.sh_size, symbol);
	return 0;
}
