/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits on a GPU: registers with floats come in, words of codes
 * and a scale go out.  The largest magnitude as an integer, codes by adding
 * 1.5 * 2^23, whose lowest byte then is the code.  Nibbles to bytes of a table: prmt
 * takes four of eight bytes, by selectors of three bits.
 */
#include "kernels/gpu/quant_gpu.h"

#define LOG2_E 1.4426950408889634

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
		bits[i] = u_and(b, value[i], I(0x7fffffff));
	for (unsigned left = count / 2; left; left /= 2)
		for (unsigned i = 0; i < left; i++)
			bits[i] = u_max(b, bits[i], bits[i + left]);
	if (group == WARP * count && b->module->target.sm >= 80)
		return tcb_ptx_op2(b, "redux.sync.max.u32", bits[0], I(-1));
	for (unsigned distance = 1; distance < group / count; distance *= 2)
		bits[0] = u_max(b, bits[0], tcb_kit_butterfly(b, bits[0], distance));
	return bits[0];
}

/* Four values to a word of codes, or two to its lower half. */
static kit_op codes_of(struct tcb_ptx_build *b, const kit_op *value, unsigned count, kit_op inverse)
{
	kit_op code[4], pair[2] = { I(0), I(0) };
	for (unsigned i = 0; i < count; i++)
		code[i] = f_fma(b, value[i], inverse, F(ROUND_BIAS));
	for (unsigned i = 0; i < count / 2; i++) {
		const kit_op low = b_set(b, code[2 * i]), high = b_set(b, code[2 * i + 1]);
		pair[i] = u_permute(b, low, high, I(0x0040));
	}
	return u_permute(b, pair[0], pair[1], I(0x5410));
}

kit_op tcb_quant_write_codes(struct tcb_ptx_build *b, const kit_op value[], unsigned count, kit_op largest,
			     kit_op word_out[])
{
	const unsigned each = count < 4 ? count : 4;
	const kit_op some = u_ge(b, largest, I(SMALLEST)), bad = u_ge(b, largest, I(INFINITE));
	kit_op scale = f_mul(b, b_set(b, largest), F(1.0f / 127.0f));
	kit_op inverse = f_reciprocal_near(b, scale);
	inverse = f_select(b, inverse, F(0), some);
	scale = f_select(b, scale, F(0), some);
	scale = b_select(b, I(NOT_A_NUMBER), scale, bad);
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
		table_out[i] = b_set(b, I((int32_t)word));
	}
}

/* Both halves of the table are looked up, and one of the two bytes taken by the fourth bit. */
void tcb_quant_write_lookup(struct tcb_ptx_build *b, const kit_op table[4], kit_op word, kit_op out[2])
{
	const kit_op index = u_and(b, word, I(0x77777777));
	const kit_op half = u_and_or(b, u_shr(b, word, I(1)), I(0x44444444), I(0x32103210));
	for (unsigned i = 0; i < 2; i++) {
		const kit_op at = i ? u_shr(b, index, I(16)) : index;
		const kit_op below = u_permute(b, table[0], table[1], at);
		const kit_op above = u_permute(b, table[2], table[3], at);
		out[i] = u_permute(b, below, above, i ? u_shr(b, half, I(16)) : half);
	}
}

/* X, no more than LIMIT; a NaN stays one, as min makes it none before sm_80. */
static kit_op limited(struct tcb_ptx_build *b, kit_op x, float limit)
{
	return f_select(b, F(limit), x, f_gt(b, x, F(limit)));
}

kit_op tcb_quant_write_gate(struct tcb_ptx_build *b, const struct tcb_quant_gate *how, kit_op p, kit_op u)
{
	if (how->limit < INFINITY) {
		p = limited(b, p, how->limit);
		u = limited(b, u, how->limit);
		u = f_select(b, F(-how->limit), u, f_lt(b, u, F(-how->limit)));
	}
	const kit_op power = f_power2(b, f_mul(b, p, F((float)(-(double)how->slope * LOG2_E))));
	const kit_op silu = f_mul(b, p, f_reciprocal_near(b, f_add(b, power, F(1))));
	return f_mul(b, silu, how->plus != 0 ? f_add(b, u, F(how->plus)) : u);
}
