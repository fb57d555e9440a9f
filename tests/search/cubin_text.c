/* SPDX-License-Identifier: MIT
 *
 * In: a cubin.  Out: figures of its .text sections.  An instruction has 16
 * bytes; its low 12 bits are the opcode, and 0x947 is BRA, whose distance from
 * the next instruction in units of 4 bytes stands in bits 34 to 81, and its low
 * byte in bits 16 to 23 (read off the branch to itself that ptxas puts behind
 * each kernel, and off loops of known length).  Registers stand in
 * .nv.info: records of 04 2f 08 00, the kernel's symbol and their number.
 */
#include "cubin_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { BYTES = 16, OPCODE = 0xfff, BRA = 0x947, LOW_BITS = 30, DISTANCE_BITS = 48, LOW_BYTE = 16, UNIT = 4 };
static const unsigned char REGISTER_RECORD[] = { 0x04, 0x2f, 0x08, 0x00 };

/* Where the branch at AT goes to, in bytes of its section; -1: it is none. */
static int64_t branch_target(const unsigned char *code, size_t at)
{
	uint64_t low, high;
	memcpy(&low, code + at, sizeof low);
	memcpy(&high, code + at + sizeof low, sizeof high);
	if ((low & OPCODE) != BRA)
		return -1;
	const uint64_t field = low >> (64 - LOW_BITS) | high << LOW_BITS;
	const int64_t distance = (int64_t)(field << (64 - DISTANCE_BITS)) >> (64 - DISTANCE_BITS);
	return (int64_t)at + BYTES + UNIT * (distance * 256 + (int64_t)(low >> LOW_BYTE & 0xff));
}

static void read_section(const unsigned char *code, size_t bytes, struct cubin_text *out)
{
	const size_t count = bytes / BYTES;
	unsigned char *in_loop = calloc(count + 1, 1);
	for (size_t i = 0; i < count && in_loop; i++) {
		const int64_t target = branch_target(code, i * BYTES);
		if (target < 0 || (size_t)target >= i * BYTES) /* forwards, or ptxas' guard behind the last exit */
			continue;
		memset(in_loop + (size_t)target / BYTES, 1, i + 1 - (size_t)target / BYTES);
	}
	for (size_t i = 0; i < count && in_loop; i++)
		out->in_loops += in_loop[i];
	free(in_loop);
	out->instructions += (unsigned)count;
	out->hash = tcb_hash64(code, bytes, out->hash);
}

static void read_registers(const unsigned char *info, size_t bytes, struct cubin_text *out)
{
	uint32_t registers;
	for (size_t at = 0; at + 12 <= bytes; at += 4) {
		if (memcmp(info + at, REGISTER_RECORD, sizeof REGISTER_RECORD) != 0)
			continue;
		memcpy(&registers, info + at + 8, sizeof registers);
		out->registers = registers > out->registers ? registers : out->registers;
	}
}

static int has_name(const unsigned char *file, size_t bytes, uint64_t at, const char *name, size_t length)
{
	return at + length <= bytes && memcmp(file + at, name, length) == 0;
}

int cubin_text_read(const void *data, size_t bytes, struct cubin_text *out)
{
	Elf64_Ehdr header;
	Elf64_Shdr names, section;
	memset(out, 0, sizeof *out);
	if (bytes < sizeof header)
		return 0;
	memcpy(&header, data, sizeof header);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_shoff + (uint64_t)header.e_shnum * sizeof section > bytes || header.e_shstrndx >= header.e_shnum)
		return 0;
	const unsigned char *at = data;
	memcpy(&names, at + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
	for (unsigned i = 0; i < header.e_shnum; i++) {
		memcpy(&section, at + header.e_shoff + i * sizeof section, sizeof section);
		const uint64_t name = names.sh_offset + section.sh_name;
		if (section.sh_type == SHT_NOBITS || section.sh_offset + section.sh_size > bytes)
			continue;
		if (has_name(at, bytes, name, ".text.", strlen(".text.")))
			read_section(at + section.sh_offset, section.sh_size, out);
		if (has_name(at, bytes, name, ".nv.info", sizeof ".nv.info"))
			read_registers(at + section.sh_offset, section.sh_size, out);
	}
	return out->instructions > 0;
}
