/* SPDX-License-Identifier: MIT
 *
 * Small pieces of PTX: operands come in, one or a few instructions are appended,
 * their results go out.
 */
#include "kernels/gpu/values.h"

kit_op tcb_kit_constant(struct tcb_ptx_build *b, const char *type, kit_op value)
{
	return OP1(b, tcb_ptx_namef(b, "mov.%s", type), value);
}

kit_op tcb_kit_element(struct tcb_ptx_build *b, kit_op base, kit_op index, unsigned bytes)
{
	return l_mad_wide(b, index, I(bytes), base);
}

kit_op tcb_kit_behind(struct tcb_ptx_build *b, kit_op base, kit_op offset)
{
	return l_add(b, base, l_from_u(b, offset));
}

kit_op tcb_kit_vector(struct tcb_ptx_build *b, const kit_op *values, unsigned width)
{
	return width > 1 ? tcb_ptx_vector(b, values, width) : values[0];
}

const char *tcb_kit_access(struct tcb_ptx_build *b, const char *prefix, const char *type, unsigned width)
{
	return width > 1 ? tcb_ptx_namef(b, "%s.v%u.%s", prefix, width, type) : tcb_ptx_namef(b, "%s.%s", prefix, type);
}

void tcb_kit_load(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, kit_op *out,
		  unsigned width)
{
	tcb_ptx_load(b, tcb_kit_access(b, prefix, type, width), address, out, width);
}

void tcb_kit_load_into(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, const kit_op *to,
		       unsigned width)
{
	tcb_ptx_into1(b, tcb_kit_access(b, prefix, type, width), tcb_kit_vector(b, to, width), address);
}

void tcb_kit_store(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, const kit_op *values,
		   unsigned width)
{
	tcb_ptx_store(b, tcb_kit_access(b, prefix, type, width), address, values, width);
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

kit_op tcb_kit_pack_f16(struct tcb_ptx_build *b, kit_op low, kit_op high)
{
	if (b->module->target.sm >= 80)
		return f16x2_from_f(b, high, low);
	const kit_op first = f16_from_f(b, low), second = f16_from_f(b, high);
	return b_set(b, tcb_ptx_vector(b, (const kit_op[]){ first, second }, 2));
}

kit_op tcb_kit_butterfly(struct tcb_ptx_build *b, kit_op value, unsigned distance)
{
	return OP4(b, "shfl.sync.bfly.b32", value, I(distance), I(WARP - 1), I(-1));
}

kit_op tcb_kit_over_lanes(struct tcb_ptx_build *b, kit_word *op, kit_op value, unsigned lanes)
{
	for (unsigned distance = lanes / 2; distance; distance /= 2)
		value = op(b, value, tcb_kit_butterfly(b, value, distance));
	return value;
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

void tcb_kit_multiply_f16(struct tcb_ptx_build *b, kit_op sums[4], const kit_op a[4], const kit_op x[2])
{
	const kit_op d = tcb_ptx_vector(b, sums, 4);
	if (b->module->target.sm >= 80) {
		const kit_op all[4] = { d, tcb_ptx_vector(b, a, 4), tcb_ptx_vector(b, x, 2), d };
		tcb_ptx_into(b, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, all);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		const kit_op all[4] = { d, tcb_ptx_vector(b, a + 2 * i, 2), tcb_ptx_vector(b, x + i, 1), d };
		tcb_ptx_into(b, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 4, all);
	}
}

void tcb_kit_nounroll(struct tcb_ptx_build *b)
{
	OP1(b, ".pragma", (kit_op){ .kind = TCB_PTX_O_TEXT, .reg = TCB_PTX_NO_REG, .text = "nounroll" });
}
