/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits on a GPU: registers with floats come in, words of codes
 * and a scale go out.  The largest magnitude as an integer, codes by adding
 * 1.5 * 2^23, whose lowest byte then is the code.  Nibbles to bytes of a table: prmt
 * takes four of eight bytes, by selectors of three bits.  Activations and results that are of 16 bits in memory.
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
	kit_op slope = F((float)(-(double)how->slope * LOG2_E));
	if (how->cubic != 0)
		slope = f_fma(b, f_mul(b, p, p), F((float)(-(double)how->cubic * LOG2_E)), slope);
	const kit_op power = f_power2(b, f_mul(b, p, slope));
	const kit_op opened = f_mul(b, p, f_reciprocal_near(b, f_add(b, power, F(1))));
	return f_mul(b, opened, how->plus != 0 ? f_add(b, u, F(how->plus)) : u);
}

/* --- activations and results of other types --- */

/* The two values of 16 bits in WORD to TO. */
static void widen(struct tcb_ptx_build *b, enum tcb_type type, kit_op word, const kit_op to[2])
{
	kit_op value[2];
	if (type == TCB_TYPE_F16) {
		tcb_kit_floats(b, word, value);
	} else {
		value[0] = b_set(b, u_shl(b, word, I(16)));
		value[1] = b_set(b, u_and(b, word, I((int32_t)0xffff0000)));
	}
	for (unsigned i = 0; i < 2; i++)
		f_set_to(b, to[i], value[i]);
}

static void load_words(struct tcb_ptx_build *b, enum tcb_kit_memory memory, enum tcb_type type, kit_op at,
		       const kit_op *to, unsigned width)
{
	kit_op word[TCB_QUANT_LANE_VALUES / 2];
	if (type == TCB_TYPE_F32) {
		tcb_kit_load_into(b, memory, "f32", at, to, width);
		return;
	}
	if (width == 1) {
		const kit_op half = tcb_kit_get(b, memory, "b16", at);
		if (type == TCB_TYPE_F16)
			f_set_to(b, *to, f_from_f16(b, half));
		else
			f_set_to(b, *to, b_set(b, u_shl(b, u_from_u16(b, half), I(16))));
		return;
	}
	tcb_kit_load(b, memory, "b32", at, word, width / 2);
	for (unsigned i = 0; i < width / 2; i++)
		widen(b, type, word[i], to + 2 * (size_t)i);
}

void tcb_quant_load_floats(struct tcb_ptx_build *b, const kit_op *has, enum tcb_kit_memory memory, enum tcb_type type,
			   kit_op at, const kit_op *to, unsigned width)
{
	if (has)
		tcb_ptx_guard(b, *has);
	load_words(b, memory, type, at, to, width);
	if (has)
		tcb_ptx_unguard(b);
}

/* The upper half of VALUE, rounded to nearest even, where there is no instruction for it. */
static kit_op bf16_by_integers(struct tcb_ptx_build *b, kit_op value)
{
	const kit_op bits = b_set(b, value), odd = u_and(b, u_shr(b, bits, I(16)), I(1));
	const kit_op rounded = u_shr(b, u_add(b, u_add(b, bits, I(0x7fff)), odd), I(16));
	const kit_op is_nan = u_ge(b, u_and(b, bits, I(0x7fffffff)), I(INFINITE + 1));
	return u16_from_u(b, u_select(b, I(0x7fff), rounded, is_nan));
}

/* VALUE as 16 bits, .b16; of f32 as it is. */
static kit_op narrowed(struct tcb_ptx_build *b, enum tcb_type type, kit_op value)
{
	if (type == TCB_TYPE_F16)
		return f16_from_f(b, value);
	if (type == TCB_TYPE_BF16)
		return b->module->target.sm >= 80 ? bf16_from_f(b, value) : bf16_by_integers(b, value);
	return value;
}

kit_op tcb_quant_rounded(struct tcb_ptx_build *b, enum tcb_type type, kit_op value)
{
	const kit_op half = narrowed(b, type, value);
	return type == TCB_TYPE_F16    ? f_from_f16(b, half)
	       : type == TCB_TYPE_BF16 ? b_set(b, u_shl(b, u_from_u16(b, half), I(16)))
				       : value;
}

void tcb_quant_store_floats(struct tcb_ptx_build *b, enum tcb_kit_memory memory, enum tcb_type type, kit_op at,
			    const kit_op *values, unsigned width)
{
	kit_op word[2];
	if (type == TCB_TYPE_F32) {
		tcb_kit_store(b, memory, "f32", at, values, width);
		return;
	}
	if (width == 1) {
		tcb_kit_put(b, memory, "b16", at, narrowed(b, type, values[0]));
		return;
	}
	for (unsigned i = 0; i < width / 2; i++) {
		const kit_op *pair = values + 2 * (size_t)i;
		if (type == TCB_TYPE_BF16 && b->module->target.sm < 80)
			word[i] = u_or(b, u_from_u16(b, narrowed(b, type, pair[0])),
				       u_shl(b, u_from_u16(b, narrowed(b, type, pair[1])), I(16)));
		else
			word[i] = tcb_kit_pack(b, type == TCB_TYPE_F16 ? "f16" : "bf16", pair[0], pair[1]);
	}
	tcb_kit_store(b, memory, "b32", at, word, width / 2);
}

void tcb_quant_put_float(struct tcb_ptx_build *b, const kit_op *has, enum tcb_type type, kit_op at, kit_op value)
{
	value = narrowed(b, type, value);
	const char *stored = type == TCB_TYPE_F32 ? "f32" : "b16";
	if (has)
		tcb_kit_put_where(b, *has, TCB_KIT_GLOBAL, stored, at, value);
	else
		tcb_kit_put(b, TCB_KIT_GLOBAL, stored, at, value);
}
