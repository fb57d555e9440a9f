/* SPDX-License-Identifier: MIT
 *
 * One instruction at a time: a kernel that applies it to rows of three operands
 * and stores what it gives, and operands worth trying.  The emulator's results
 * are held against C, and where there is a GPU against that.
 */
#ifndef TCB_TESTS_EMU_OPS_H
#define TCB_TESTS_EMU_OPS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

enum { OPS_ROWS = 1024, OPS_BLOCK = 256 };

/* INS names its operands %d, %a, %b, %c; TYPES are theirs in this order: "f32 f32 f32".  C gives the bits of the
 * result, or NULL when only a GPU knows.  ULPS: how far the results may be apart. */
struct emu_op {
	const char *ins, *types;
	uint64_t (*c)(uint64_t a, uint64_t b, uint64_t c);
	unsigned ulps;
};

struct emu_op_types {
	char name[4][8];
	unsigned count;
};

static struct emu_op_types emu_op_types(const char *text)
{
	struct emu_op_types types = { .count = 0 };

	types.count =
		(unsigned)sscanf(text, "%7s %7s %7s %7s", types.name[0], types.name[1], types.name[2], types.name[3]);
	return types;
}

static unsigned emu_type_bits(const char *type)
{
	if (strcmp(type, "pred") == 0)
		return 1;
	if (strcmp(type + strlen(type) - 2, "x2") == 0)
		return strcmp(type, "f32x2") == 0 ? 64 : 32;
	return strcmp(type, "bf16") == 0 ? 16 : (unsigned)strtoul(type + 1, NULL, 10);
}

/* The kernel NAME for OP; rows of 24 bytes in, 8 bytes out. */
static void emu_op_text(const struct emu_op *op, const char *name, struct tcb_str *out)
{
	struct emu_op_types types = emu_op_types(op->types);

	tcb_str_addf(out,
		     ".visible .entry %s(.param .u64 p, .param .u64 q)\n{\n\t.reg .b32 %%r<9>;\n\t.reg .b64 %%x<9>;\n",
		     name);
	for (unsigned i = 0; i < types.count; i++) {
		unsigned bits = emu_type_bits(types.name[i]);

		if (bits == 1)
			tcb_str_addf(out, "\t.reg .pred %%%c;\n", "dabc"[i]);
		else
			tcb_str_addf(out, "\t.reg .b%u %%%c;\n", bits < 16 ? 16 : bits, "dabc"[i]);
	}
	tcb_str_add(
		out,
		"\tld.param.u64 %x1, [p];\n\tld.param.u64 %x2, [q];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, "
		"%ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmad.lo.u32 %r1, %r2, %r3, %r1;\n\tmad.wide.u32 %x1, %r1, 24, "
		"%x1;\n\tmad.wide.u32 %x2, %r1, 8, %x2;\n");
	for (unsigned i = 1; i < types.count; i++) {
		unsigned bits = emu_type_bits(types.name[i]);

		if (bits == 1)
			tcb_str_addf(out,
				     "\tld.global.u32 %%r4, [%%x1+%u];\n\tand.b32 %%r4, %%r4, 1;\n\tsetp.ne.u32 %%%c, "
				     "%%r4, 0;\n",
				     8 * (i - 1), "dabc"[i]);
		else
			tcb_str_addf(out, "\tld.global.b%u %%%c, [%%x1+%u];\n", bits, "dabc"[i], 8 * (i - 1));
	}
	tcb_str_addf(out, "\tmov.u64 %%x3, 0;\n\tst.global.u64 [%%x2], %%x3;\n\t%s;\n", op->ins);
	if (emu_type_bits(types.name[0]) == 1)
		tcb_str_add(out, "\tselp.u32 %r4, 1, 0, %d;\n\tst.global.u32 [%x2], %r4;\n");
	else
		tcb_str_addf(out, "\tst.global.b%u [%%x2], %%d;\n", emu_type_bits(types.name[0]));
	tcb_str_add(out, "\tret;\n}\n");
}

/* --- operands --- */

static uint64_t emu_pick(struct tcb_rng *rng, const uint64_t *values, size_t count)
{
	return values[tcb_rng_below(rng, count)];
}

#define EMU_PICK(rng, values) emu_pick(rng, values, sizeof values / sizeof *values)

/* Fields of a float of EXPONENT and MANTISSA bits whose magnitude is moderate: within 2^-12 to 2^12. */
static uint64_t emu_moderate(struct tcb_rng *rng, unsigned exponent, unsigned mantissa)
{
	uint64_t bias = (1ull << (exponent - 1)) - 1, e = bias - 12 + tcb_rng_below(rng, 25);

	return (tcb_rng_next(rng) & 1) << (exponent + mantissa) | e << mantissa |
	       (tcb_rng_next(rng) & ((1ull << mantissa) - 1) & (tcb_rng_next(rng) & 3 ? UINT64_MAX : ~0xfffull));
}

static uint64_t emu_operand(struct tcb_rng *rng, const char *type)
{
	static const uint64_t integers[] = { 0,
					     1,
					     2,
					     3,
					     7,
					     8,
					     15,
					     16,
					     23,
					     24,
					     31,
					     32,
					     33,
					     63,
					     64,
					     65,
					     127,
					     128,
					     255,
					     256,
					     32767,
					     32768,
					     65535,
					     65536,
					     0x7fffff,
					     0x800000,
					     0x7fffffff,
					     0x80000000,
					     0x80000001,
					     0xffffffff,
					     0x100000000,
					     0x7fffffffffffffff,
					     0x8000000000000000,
					     0xffffffffffffffff,
					     0xffffffffffffff80,
					     0xffffffff80000000,
					     0x8080808080808080,
					     0x7f7f7f7f7f7f7f7f };
	static const uint64_t floats[] = { 0,          0x80000000, 0x3f800000, 0xbf800000, 1,          0x80000001,
					   0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
					   0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff, 0xffc12345, 0x7f812345,
					   0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000, 0x4b000001, 0x4b800001,
					   0x4f000000, 0x4effffff, 0xcf000000, 0xcf000001, 0x4f800000, 0x5f000000,
					   0xdf000000, 0x477fe000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001,
					   0x33800000, 0x387fc000, 0x38800000, 0x3f7fffff, 0x3f800001, 0x7f7f8000,
					   0x42fe0000, 0x42ff0000, 0x437f8000, 0x43800000, 0x43e00000, 0x43e80000,
					   0x47600000, 0x7e800001, 0x3a800001, 0x3a800000, 0x3a800002, 0xba800001 };
	static const uint64_t halves[] = { 0,      0x8000, 0x3c00, 0xbc00, 1,      0x8001, 0x3ff,  0x400,
					   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xfe01, 0x3800,
					   0x4200, 0x6400, 0x6401, 0x7800, 0x3c01, 0x3bff, 0x83ff, 0x5640 };
	static const uint64_t brains[] = { 0,      0x8000, 0x3f80, 0xbf80, 1,      0x8001, 0x7f,   0x80,
					   0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7fff, 0x3f00, 0x4040,
					   0x4300, 0x4f00, 0x3f81, 0x0081, 0x807f, 0x7e80 };
	static const uint64_t doubles[] = { 0,
					    0x8000000000000000,
					    0x3ff0000000000000,
					    0xbff0000000000000,
					    1,
					    0x8000000000000001,
					    0x000fffffffffffff,
					    0x0010000000000000,
					    0x7fefffffffffffff,
					    0xffefffffffffffff,
					    0x7ff0000000000000,
					    0xfff0000000000000,
					    0x7ff8000000000000,
					    0x3fe0000000000000,
					    0x3ff8000000000000,
					    0x4004000000000000,
					    0x41e0000000000000,
					    0xc1e0000000000000,
					    0x43e0000000000000,
					    0x43f0000000000000,
					    0x47efffffe0000000,
					    0x47effffff0000000,
					    0x36a0000000000000,
					    0x3690000000000000,
					    0x3810000000000000,
					    0x380fffffffffffff,
					    0x40effc0000000000,
					    0x40f0000000000000,
					    0x3ff0000000000001,
					    0x3fefffffffffffff,
					    0xfff8000000000123,
					    0x7ff4deadbeef1234,
					    0xfff0123456789abc,
					    0x3f50000000000000 };
	unsigned how = (unsigned)tcb_rng_below(rng, 3);
	int is_pair = strlen(type) > 3 && strcmp(type + strlen(type) - 2, "x2") == 0;
	uint64_t wide = tcb_rng_next(rng);

	if (is_pair && type[0] != 'u' && type[0] != 's') {
		const char *element = strcmp(type, "f16x2") == 0 ? "f16" : strcmp(type, "f32x2") == 0 ? "f32" : "bf16";
		unsigned bits = emu_type_bits(type) / 2;
		uint64_t low = emu_operand(rng, element), high = emu_operand(rng, element);

		return low | high << bits;
	}
	if (strcmp(type, "f32") == 0)
		return how == 0 ? EMU_PICK(rng, floats) : how == 1 ? emu_moderate(rng, 8, 23) : wide & UINT32_MAX;
	if (strcmp(type, "f16") == 0)
		return how == 0 ? EMU_PICK(rng, halves) : how == 1 ? emu_moderate(rng, 5, 10) & 0xffff : wide & 0xffff;
	if (strcmp(type, "bf16") == 0)
		return how == 0 ? EMU_PICK(rng, brains) : how == 1 ? emu_moderate(rng, 8, 7) : wide & 0xffff;
	if (strcmp(type, "f64") == 0)
		return how == 0 ? EMU_PICK(rng, doubles) : how == 1 ? emu_moderate(rng, 11, 52) : wide;
	return how == 0 ? EMU_PICK(rng, integers) : how == 1 ? tcb_rng_below(rng, 70) : wide;
}

/* Rows of three operands for OP. */
static void emu_op_rows(const struct emu_op *op, uint64_t seed, uint64_t (*rows)[3])
{
	struct emu_op_types types = emu_op_types(op->types);
	struct tcb_rng rng;

	tcb_rng_init(&rng, seed);
	for (unsigned r = 0; r < OPS_ROWS; r++)
		for (unsigned i = 0; i < 3; i++) {
			const char *type = i + 1 < types.count ? types.name[i + 1] : "u32";
			unsigned bits = emu_type_bits(type);
			uint64_t value = emu_operand(&rng, type);

			rows[r][i] = bits == 64 ? value : value & ((1ull << bits) - 1);
		}
}

/* Whether X and Y are the same as results of TYPE, up to ULPS; all NaNs are alike when ULPS is not 0. */
static int emu_op_same(const char *type, uint64_t x, uint64_t y, unsigned ulps)
{
	unsigned bits = emu_type_bits(type);
	uint64_t sign = 1ull << (bits - 1), inf;
	int64_t p, q;

	if (x == y)
		return 1;
	if (!ulps)
		return 0;
	if (bits == 32 && strcmp(type, "f32") != 0) /* a pair */
		return emu_op_same(type[0] == 'b' ? "bf16" : "f16", x & 0xffff, y & 0xffff, ulps) &&
		       emu_op_same(type[0] == 'b' ? "bf16" : "f16", x >> 16, y >> 16, ulps);
	inf = bits == 64 ? 0x7ffull << 52 : bits == 32 ? 0xffull << 23 : strcmp(type, "f16") == 0 ? 0x7c00 : 0x7f80;
	if ((x & ~sign) > inf || (y & ~sign) > inf)
		return (x & ~sign) > inf && (y & ~sign) > inf;
	p = x & sign ? -(int64_t)(x & ~sign) : (int64_t)x;
	q = y & sign ? -(int64_t)(y & ~sign) : (int64_t)y;
	return (p > q ? p - q : q - p) <= (int64_t)ulps;
}

#endif
