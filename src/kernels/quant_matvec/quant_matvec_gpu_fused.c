/* SPDX-License-Identifier: MIT
 *
 * The neighbours of a quantised matvec on a GPU.
 *
 * A norm's factor, 1 / sqrt(mean(x^2) + eps), is not waited for: warps prepare
 * x * norm and leave the sums of squares of what they had in the image, and who
 * has the sum of a row multiplies it with the factor, which each warp works out
 * of the parts while its first weights are on their way.  A second sum, of
 * x * RESCUE, is taken where the first one leaves f32; x * norm and its products
 * must not.
 *
 * A gate is silu(p) * u, silu(p) = p / (1 + exp(-p)): where exp is infinite the
 * quotient is -0, of -inf a NaN, as the formula has it.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "base/sizes.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

#define RESCUE 0x1p-80f
/* Beyond it so many parts would not add up. */
#define LOST 0x1p116f

/* --- norm --- */

void qmv_write_squares_begin(struct qmv_writer *w)
{
	for (int i = 0; i < 2; i++)
		w->squares[i] = tcb_kit_constant(&w->kit.b, "f32", F(0));
}

void qmv_write_squares_add(struct qmv_writer *w, const kit_op value[8])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (int i = 0; i < 2; i++) {
		kit_op chain[2];
		for (int j = 0; j < 8; j++) {
			const kit_op x = i ? OP2(b, "mul.rn.f32", value[j], F(RESCUE)) : value[j];
			chain[j % 2] = j < 2 ? OP2(b, "mul.rn.f32", x, x) : OP3(b, "fma.rn.f32", x, x, chain[j % 2]);
		}
		tcb_ptx_into2(b, "add.rn.f32", w->squares[i], w->squares[i], OP2(b, "add.rn.f32", chain[0], chain[1]));
	}
}

void qmv_write_squares_store(struct qmv_writer *w, kit_op part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[2];
	for (int i = 0; i < 2; i++)
		sum[i] = tcb_kit_over_lanes(b, "add.rn.f32", w->squares[i], 32);
	const kit_op at =
		OP3(b, w->image_is_global ? "mad.wide.u32" : "mad.lo.u32", part, I(QMV_SQUARES_BYTES), w->image);
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->kit.lane, I(0)));
	tcb_kit_store(b, w->image_store, "f32", tcb_ptx_at(at, w->g->image.squares), sum, 2);
	tcb_ptx_unguard(b);
}

/* What the calling lane has of the parts, summed up. */
static void load_parts(struct qmv_writer *w, kit_op sum[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned parts = w->g->image.squares_count;
	const kit_op at = OP3(b, "mad.lo.u32", w->kit.lane, I(QMV_SQUARES_BYTES), w->image);
	for (unsigned first = 0; first < parts; first += WARP) {
		kit_op part[2];
		for (int i = 0; i < 2; i++)
			part[i] = tcb_kit_constant(b, "f32", F(0));
		if (first + WARP > parts)
			tcb_ptx_guard(b, OP2(b, "setp.lt.u32", w->kit.lane, I(parts - first)));
		tcb_kit_load_into(b, "ld.shared", "f32",
				  tcb_ptx_at(at, w->g->image.squares + first * QMV_SQUARES_BYTES), part, 2);
		if (first + WARP > parts)
			tcb_ptx_unguard(b);
		for (int i = 0; i < 2; i++)
			sum[i] = first ? OP2(b, "add.rn.f32", sum[i], part[i]) : part[i];
	}
}

void qmv_write_factor(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned parts = w->g->image.squares_count;
	const unsigned lanes = parts < WARP ? (unsigned)tcb_power_of_two_up(parts) : WARP;
	kit_op sum[2];
	load_parts(w, sum);
	/* Lanes that have nothing hold zeros; all end with the same. */
	for (int i = 0; i < 2; i++)
		sum[i] = tcb_kit_over_lanes(b, "add.rn.f32", sum[i], lanes);
	for (unsigned distance = lanes; distance < WARP; distance *= 2)
		for (int i = 0; i < 2; i++)
			sum[i] = OP2(b, "add.rn.f32", sum[i], tcb_kit_butterfly(b, sum[i], distance));
	const kit_op is_lost = OP2(b, "setp.gtu.f32", sum[0], F(LOST));
	const kit_op total = OP3(b, "selp.f32", sum[1], sum[0], is_lost);
	const kit_op eps = OP3(b, "selp.f32", F(0), F((float)QMV_NORM_EPS), is_lost);
	const kit_op mean = OP3(b, "fma.rn.f32", total, F((float)(1.0 / w->g->k)), eps);
	const kit_op root = OP3(b, "selp.f32", F(RESCUE), F(1), is_lost);
	w->factor = OP2(b, "mul.rn.f32", OP1(b, "rsqrt.approx.f32", mean), root);
}

/*
 * Of the sum's relative error half reaches the factor: within a lane the square (and the scaling down), a superblock's
 * eight values and the superblocks that it has; over a warp, over the parts; the mean's two roundings.  Then
 * rsqrt.approx, 2^-22.9, and three products: with the norm, root and factor.
 */
double qmv_gpu_norm_chain(const struct qmv_gpu *g)
{
	const unsigned blocks = tcb_div_up(g->row_blocks, g->own_launch ? 1 : g->warps);
	const unsigned parts = tcb_div_up(g->image.squares_count, WARP);
	return g->has_norm ? (2 + 4 + (g->own_launch ? 1 : blocks) + 5 + parts + 5 + 2) / 2.0 + 3 + 3 : 0;
}

/* --- gate --- */

/* p / (1 + 2^(-p log2(e))) */
static kit_op silu(struct tcb_ptx_build *b, kit_op p)
{
	const kit_op power = OP1(b, "ex2.approx.ftz.f32", OP2(b, "mul.rn.f32", p, F(-0x1.715476p+0f)));
	return OP2(b, "mul.rn.f32", p, OP1(b, "rcp.approx.ftz.f32", OP2(b, "add.rn.f32", power, F(1))));
}

kit_op qmv_write_result(struct qmv_writer *w, kit_op gate, kit_op up)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->has_norm) {
		gate = OP2(b, "mul.rn.f32", gate, w->factor);
		if (w->g->is_gated)
			up = OP2(b, "mul.rn.f32", up, w->factor);
	}
	return w->g->is_gated ? OP2(b, "mul.rn.f32", silu(b, gate), up) : gate;
}

/* ex2.approx 2^-22.5, log2(e) as a float and the product are exp's argument, whose rounding is the chain's; the sum and
 * two products, half an ulp each; rcp.approx 1. */
double qmv_gpu_gate_ulps(const struct qmv_gpu *g)
{
	return g->is_gated ? 1.42 + 1.5 + 1 + 0.1 : 0;
}
