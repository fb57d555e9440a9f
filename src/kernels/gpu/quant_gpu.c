/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits on a GPU: registers with floats come in, words of codes
 * and a scale go out.  The largest magnitude as an integer, codes by adding
 * 1.5 * 2^23, whose lowest byte then is the code.  Nibbles to bytes of a table: prmt
 * takes four of eight bytes, by selectors of three bits.
 */
#include "kernels/gpu/quant_gpu.h"

enum {
	SMALLEST = 0x03fe0000, /* bits of 127 * 2^-126: smaller ones count as zeros */
	INFINITE = 0x7f800000,
	NOT_A_NUMBER = 0x7fc00000
};
#define ROUND_BIAS 12582912.0f /* 1.5 * 2^23 */

kit_op tcb_quant_write_largest(struct tcb_ptx_build *b, const kit_op value[], unsigned count, unsigned group)
{
	kit_op bits[TCB_QUANT_LANE_MAX];
	for (unsigned i = 0; i < count; i++)
		bits[i] = OP2(b, "and.b32", value[i], I(0x7fffffff));
	for (unsigned left = count / 2; left; left /= 2)
		for (unsigned i = 0; i < left; i++)
			bits[i] = OP2(b, "max.u32", bits[i], bits[i + left]);
	if (group == WARP * count && b->module->target.sm >= 80)
		return OP2(b, "redux.sync.max.u32", bits[0], I(-1));
	for (unsigned distance = 1; distance < group / count; distance *= 2)
		bits[0] = OP2(b, "max.u32", bits[0], tcb_kit_butterfly(b, bits[0], distance));
	return bits[0];
}

/* Four values to a word of codes, or two to its lower half. */
static kit_op codes_of(struct tcb_ptx_build *b, const kit_op *value, unsigned count, kit_op inverse)
{
	kit_op code[4], pair[2] = { I(0), I(0) };
	for (unsigned i = 0; i < count; i++)
		code[i] = OP3(b, "fma.rn.f32", value[i], inverse, F(ROUND_BIAS));
	for (unsigned i = 0; i < count / 2; i++) {
		const kit_op low = OP1(b, "mov.b32", code[2 * i]), high = OP1(b, "mov.b32", code[2 * i + 1]);
		pair[i] = OP3(b, "prmt.b32", low, high, I(0x0040));
	}
	return OP3(b, "prmt.b32", pair[0], pair[1], I(0x5410));
}

kit_op tcb_quant_write_codes(struct tcb_ptx_build *b, const kit_op value[], unsigned count, kit_op largest,
			     kit_op word_out[])
{
	const unsigned each = count < 4 ? count : 4;
	const kit_op some = OP2(b, "setp.ge.u32", largest, I(SMALLEST)),
		     bad = OP2(b, "setp.ge.u32", largest, I(INFINITE));
	kit_op scale = OP2(b, "mul.rn.f32", OP1(b, "mov.b32", largest), F(1.0f / 127.0f));
	kit_op inverse = OP1(b, "rcp.approx.ftz.f32", scale);
	inverse = OP3(b, "selp.f32", inverse, F(0), some);
	scale = OP3(b, "selp.f32", scale, F(0), some);
	scale = OP3(b, "selp.b32", I(NOT_A_NUMBER), scale, bad);
	for (unsigned i = 0; i < count / each; i++)
		word_out[i] = codes_of(b, value + 4 * i, each, inverse);
	return scale;
}

void tcb_quant_write_table(struct tcb_ptx_build *b, const uint8_t bytes[16], kit_op table_out[4])
{
	for (unsigned i = 0; i < 4; i++) {
		uint32_t word = 0;
		for (unsigned byte = 0; byte < 4; byte++)
			word |= (uint32_t)bytes[4 * i + byte] << 8 * byte;
		table_out[i] = tcb_kit_constant(b, "b32", I((int32_t)word));
	}
}

/* Both halves of the table are looked up, and one of the two bytes taken by the fourth bit. */
void tcb_quant_write_lookup(struct tcb_ptx_build *b, const kit_op table[4], kit_op word, kit_op out[2])
{
	const kit_op index = OP2(b, "and.b32", word, I(0x77777777));
	const kit_op half =
		OP4(b, "lop3.b32", OP2(b, "shr.u32", word, I(1)), I(0x44444444), I(0x32103210), I(TCB_KIT_AND_OR));
	for (unsigned i = 0; i < 2; i++) {
		const kit_op at = i ? OP2(b, "shr.u32", index, I(16)) : index;
		const kit_op below = OP3(b, "prmt.b32", table[0], table[1], at);
		const kit_op above = OP3(b, "prmt.b32", table[2], table[3], at);
		out[i] = OP3(b, "prmt.b32", below, above, i ? OP2(b, "shr.u32", half, I(16)) : half);
	}
}
