/* SPDX-License-Identifier: MIT
 *
 * Small pieces of PTX: operands come in, one or a few instructions are appended,
 * their results go out.
 */
#include "kernels/gpu/values.h"

#include <stdio.h>

struct kit_split u_split(struct tcb_ptx_build *b, kit_op x, kit_op y)
{
	const kit_op whole = u_div(b, x, y);
	return (struct kit_split){ whole, u_sub(b, x, u_mul(b, whole, y)) };
}

kit_op u_div_up(struct tcb_ptx_build *b, kit_op x, unsigned n)
{
	return u_div(b, u_add(b, x, I(n - 1)), I(n));
}

kit_op tcb_kit_element(struct tcb_ptx_build *b, kit_op base, kit_op index, unsigned bytes)
{
	return l_mad_wide(b, index, I(bytes), base);
}

kit_op tcb_kit_past_gaps(struct tcb_ptx_build *b, kit_op base, kit_op row, size_t bytes)
{
	return bytes ? l_mad_wide(b, row, I((int64_t)bytes), base) : base;
}

kit_op tcb_kit_behind(struct tcb_ptx_build *b, kit_op base, kit_op offset)
{
	return l_add(b, base, l_from_u(b, offset));
}

kit_op tcb_kit_vector(struct tcb_ptx_build *b, const kit_op *values, unsigned width)
{
	return width > 1 ? tcb_ptx_vector(b, values, width) : values[0];
}

enum tcb_kit_memory tcb_kit_input(int is_dependent)
{
	return is_dependent ? TCB_KIT_GLOBAL : TCB_KIT_INPUT;
}

enum tcb_kit_memory tcb_kit_input_once(int is_dependent)
{
	return is_dependent ? TCB_KIT_GLOBAL_ONCE : TCB_KIT_INPUT_ONCE;
}

enum { MNEMONIC_MAX = 64 };

/* "ld", 4, "f32": the mnemonic of an access to as many of that type. */
static const char *access_of(char text[MNEMONIC_MAX], const char *verb, enum tcb_kit_memory memory, const char *type,
			     unsigned width)
{
	static const char *const memories[] = {
		[TCB_KIT_SHARED] = "shared",
		[TCB_KIT_CLUSTER] = "shared::cluster",
		[TCB_KIT_GLOBAL] = "global",
		[TCB_KIT_GLOBAL_ONCE] = "global.L1::no_allocate",
		[TCB_KIT_INPUT] = "global.nc",
		[TCB_KIT_INPUT_ONCE] = "global.nc.L1::no_allocate",
		[TCB_KIT_INPUT_PASSING] = "global.nc.L1::evict_first",
		[TCB_KIT_OTHERS] = "global.cg",
		[TCB_KIT_STREAM] = "global.cs",
		[TCB_KIT_RELAXED] = "relaxed.gpu.global",
		[TCB_KIT_ACQUIRE] = "acquire.gpu.global",
	};
	if (width > 1)
		snprintf(text, MNEMONIC_MAX, "%s.%s.v%u.%s", verb, memories[memory], width, type);
	else
		snprintf(text, MNEMONIC_MAX, "%s.%s.%s", verb, memories[memory], type);
	return text;
}

void tcb_kit_load(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address, kit_op *out,
		  unsigned width)
{
	char text[MNEMONIC_MAX];
	tcb_ptx_load(b, access_of(text, "ld", memory, type, width), tcb_ptx_at(address, 0), out, width);
}

void tcb_kit_load_into(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address,
		       const kit_op *to, unsigned width)
{
	char text[MNEMONIC_MAX];
	tcb_ptx_into1(b, access_of(text, "ld", memory, type, width), tcb_kit_vector(b, to, width),
		      tcb_ptx_at(address, 0));
}

void tcb_kit_store(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address,
		   const kit_op *values, unsigned width)
{
	char text[MNEMONIC_MAX];
	tcb_ptx_store(b, access_of(text, "st", memory, type, width), tcb_ptx_at(address, 0), values, width);
}

kit_op tcb_kit_get(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address)
{
	kit_op value;
	tcb_kit_load(b, memory, type, address, &value, 1);
	return value;
}

void tcb_kit_put(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address, kit_op value)
{
	tcb_kit_store(b, memory, type, address, &value, 1);
}

void tcb_kit_load_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
			kit_op address, const kit_op *to, unsigned width)
{
	tcb_ptx_guard(b, where);
	tcb_kit_load_into(b, memory, type, address, to, width);
	tcb_ptx_unguard(b);
}

void tcb_kit_store_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
			 kit_op address, const kit_op *values, unsigned width)
{
	tcb_ptx_guard(b, where);
	tcb_kit_store(b, memory, type, address, values, width);
	tcb_ptx_unguard(b);
}

void tcb_kit_put_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
		       kit_op address, kit_op value)
{
	tcb_kit_store_where(b, where, memory, type, address, &value, 1);
}

kit_op tcb_kit_entry(struct tcb_ptx_build *b, enum tcb_kit_memory memory, kit_op base, kit_op index)
{
	return tcb_kit_get(b, memory, "u32", tcb_kit_element(b, base, index, 4));
}

void tcb_kit_copy(struct tcb_ptx_build *b, kit_op to, kit_op from, unsigned bytes, int is_shared, const kit_op *some)
{
	const kit_op operands[] = { tcb_ptx_at(to, 0), tcb_ptx_at(from, 0), I(bytes), some ? *some : I(0) };
	tcb_ptx_into(b, bytes == 16 && !is_shared ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global",
		     some ? 4 : 3, operands);
}

void tcb_kit_words(struct tcb_ptx_build *b, kit_op wide, kit_op out[2])
{
	for (unsigned i = 0; i < 2; i++)
		out[i] = tcb_ptx_reg(b, "u32");
	lb_set_to(b, tcb_ptx_vector(b, out, 2), wide);
}

kit_op tcb_kit_wide(struct tcb_ptx_build *b, kit_op low, kit_op high)
{
	const kit_op wide = tcb_ptx_reg(b, "u64");
	lb_set_to(b, wide, tcb_ptx_vector(b, (const kit_op[]){ low, high }, 2));
	return wide;
}

void tcb_kit_halves(struct tcb_ptx_build *b, kit_op word, kit_op out[2])
{
	for (unsigned i = 0; i < 2; i++)
		out[i] = tcb_ptx_reg(b, "b16");
	b_set_to(b, tcb_ptx_vector(b, out, 2), word);
}

void tcb_kit_floats(struct tcb_ptx_build *b, kit_op word, kit_op out[2])
{
	kit_op half[2];
	tcb_kit_halves(b, word, half);
	for (unsigned i = 0; i < 2; i++)
		out[i] = f_from_f16(b, half[i]);
}

void tcb_kit_e4m3(struct tcb_ptx_build *b, kit_op word, kit_op out[2])
{
	kit_op two[2];
	if (b->module->target.sm >= 89) {
		const kit_op small = b_set(b, I(0x1c001c00)); /* 2^-8 */
		tcb_kit_halves(b, word, two);
		for (unsigned i = 0; i < 2; i++)
			out[i] = h_mul(b, h_from_e4m3(b, two[i]), small);
		return;
	}
	/* Exponents and mantissas seven bits up, where halves have them, signs eight. */
	for (unsigned i = 0; i < 2; i++) {
		const kit_op upper = u_permute(b, word, I(0), I(i ? 0x3424 : 0x1404));
		const kit_op size = u_and(b, u_shr(b, upper, I(1)), I(0x3f803f80));
		out[i] = u_and_or(b, upper, I((int64_t)0x80008000), size);
	}
}

void tcb_kit_e4m3_f16(struct tcb_ptx_build *b, kit_op word, kit_op out[2])
{
	kit_op two[2];
	if (b->module->target.sm >= 89) {
		tcb_kit_halves(b, word, two);
		for (unsigned i = 0; i < 2; i++)
			out[i] = h_from_e4m3(b, two[i]);
		return;
	}
	tcb_kit_e4m3(b, word, out);
	/* A NaN's seven bits are ones, and the only ones that carry: then the exponent's are ones. */
	for (unsigned i = 0; i < 2; i++) {
		const kit_op carry = u_and(b, u_add(b, u_and(b, out[i], I(0x7fff7fff)), I(0x00800080)), I(0x40004000));
		out[i] = h_mul(b, b_set(b, u_or(b, out[i], carry)), b_set(b, I(0x5c005c00))); /* 2^8 */
	}
}

kit_op tcb_kit_pack_f16(struct tcb_ptx_build *b, kit_op low, kit_op high)
{
	if (b->module->target.sm >= 80)
		return f16x2_from_f(b, high, low);
	const kit_op first = f16_from_f(b, low), second = f16_from_f(b, high);
	return b_set(b, tcb_ptx_vector(b, (const kit_op[]){ first, second }, 2));
}

kit_op tcb_kit_pack(struct tcb_ptx_build *b, const char *type, kit_op low, kit_op high)
{
	return type[0] == 'b' ? bf16x2_from_f(b, high, low) : tcb_kit_pack_f16(b, low, high);
}

kit_op tcb_kit_butterfly(struct tcb_ptx_build *b, kit_op value, unsigned distance)
{
	return tcb_ptx_op4(b, "shfl.sync.bfly.b32", value, I(distance), I(WARP - 1), I(-1));
}

kit_op tcb_kit_over_lanes(struct tcb_ptx_build *b, kit_word *op, kit_op value, unsigned lanes)
{
	for (unsigned distance = lanes / 2; distance; distance /= 2)
		value = op(b, value, tcb_kit_butterfly(b, value, distance));
	return value;
}

kit_op tcb_kit_largest_wide(struct tcb_ptx_build *b, kit_op value, unsigned lanes)
{
	for (unsigned distance = lanes / 2; distance; distance /= 2) {
		kit_op word[2];
		tcb_kit_words(b, value, word);
		for (unsigned i = 0; i < 2; i++)
			word[i] = tcb_kit_butterfly(b, word[i], distance);
		value = l_max(b, value, tcb_kit_wide(b, word[0], word[1]));
	}
	return value;
}

/*
 * 2^p, p = t log2(e) rounded, and what p lost, c = t - p ln(2), as 2^p + c 2^p.  Where p is infinite c is not a number
 * or infinite, and has no part in a power that is 0.
 */
kit_op tcb_kit_exp(struct tcb_ptx_build *b, kit_op t)
{
	const float ln2_high = 0x1.62e43p-1f, ln2_low = -0x1.05c61p-29f; /* of ln 2, together to 2^-50 */
	const kit_op p = f_mul(b, t, F(0x1.715476p0f));
	const kit_op power = f_power2(b, p);
	kit_op c = f_fma(b, p, F(-ln2_high), t);
	c = f_fma(b, p, F(-ln2_low), c);
	return f_fma(b, power, f_min(b, c, F(1)), power);
}

kit_op tcb_kit_fold(struct tcb_ptx_build *b, kit_word *op, const kit_op *values, unsigned count)
{
	enum { CHAINS = 4 };
	kit_op chain[CHAINS];
	unsigned chains = count < CHAINS ? count : CHAINS;
	for (unsigned i = 0; i < count; i++)
		chain[i % CHAINS] = i < CHAINS ? values[i] : op(b, chain[i % CHAINS], values[i]);
	for (; chains > 1; chains = (chains + 1) / 2)
		for (unsigned i = 0; i < chains / 2; i++)
			chain[i] = op(b, chain[i], chain[chains - 1 - i]);
	return chain[0];
}

/* MNEMONIC of ROWS rows, each with BYTES of k. */
static void multiply(struct tcb_ptx_build *b, const char *mnemonic, unsigned rows, unsigned bytes, const kit_op *sums,
		     const kit_op *before, const kit_op *a, const kit_op *x)
{
	const unsigned row_words = bytes / 4, sum_words = rows * 8 / WARP;
	const kit_op all[4] = { tcb_ptx_vector(b, sums, sum_words), tcb_ptx_vector(b, a, rows * row_words / WARP),
				tcb_ptx_vector(b, x, 8 * row_words / WARP), tcb_ptx_vector(b, before, sum_words) };
	tcb_ptx_into(b, mnemonic, 4, all);
}

void tcb_kit_multiply(struct tcb_ptx_build *b, const char *type, unsigned k, const kit_op sums[4],
		      const kit_op before[4], const kit_op *a, const kit_op *x)
{
	char text[MNEMONIC_MAX];
	snprintf(text, sizeof text, "mma.sync.aligned.m16n8k%u.row.col.f32.%s.%s.f32", k, type, type);
	multiply(b, text, 16, k * (type[0] == 't' ? 4 : 2), sums, before, a, x);
}

void tcb_kit_multiply_bytes(struct tcb_ptx_build *b, unsigned rows, unsigned k, int a_is_signed, const kit_op *sums,
			    const kit_op *before, const kit_op *a, const kit_op *x)
{
	char text[MNEMONIC_MAX];
	snprintf(text, sizeof text, "mma.sync.aligned.m%un8k%u.row.col.s32.%s.s8.s32", rows, k,
		 a_is_signed ? "s8" : "u8");
	multiply(b, text, rows, k, sums, before, a, x);
}

void tcb_kit_load_matrices(struct tcb_ptx_build *b, int is_turned, kit_op address, kit_op *out, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = tcb_ptx_reg(b, "b32");
	tcb_kit_load_matrices_into(b, is_turned, address, out, count);
}

void tcb_kit_load_matrices_into(struct tcb_ptx_build *b, int is_turned, kit_op address, const kit_op *to,
				unsigned count)
{
	char text[MNEMONIC_MAX];
	snprintf(text, sizeof text, "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16", count, is_turned ? ".trans" : "");
	tcb_ptx_into1(b, text, tcb_kit_vector(b, to, count), tcb_ptx_at(address, 0));
}

void tcb_kit_multiply_f16(struct tcb_ptx_build *b, kit_op sums[4], const kit_op a[4], const kit_op x[2])
{
	const unsigned steps = b->module->target.sm >= 80 ? 1 : 2;
	for (unsigned i = 0; i < steps; i++)
		tcb_kit_multiply(b, "f16", 16 / steps, sums, sums, a + 2 * i, x + i);
}

void tcb_kit_nounroll(struct tcb_ptx_build *b)
{
	tcb_ptx_op1(b, ".pragma", (kit_op){ .kind = TCB_PTX_O_TEXT, .reg = TCB_PTX_NO_REG, .text = "nounroll" });
}
