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
 * A gate is silu(p) * u, silu(p) = p / (1 + exp(-p)), or gelu's: where exp is infinite the
 * quotient is -0, of -inf a NaN, as the formula has it.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "base/sizes.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

#define RESCUE 0x1p-80f
/* Beyond it so many parts would not add up. */
#define LOST 0x1p116f

/* --- norm --- */

void qmv_write_squares_begin(struct qmv_writer *w)
{
	for (int i = 0; i < 2; i++)
		w->squares[i] = f_set(&w->kit.b, F(0));
}

void qmv_write_squares_add(struct qmv_writer *w, const kit_op value[8])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (int i = 0; i < 2; i++) {
		kit_op chain[2];
		for (int j = 0; j < 8; j++) {
			const kit_op x = i ? f_mul(b, value[j], F(RESCUE)) : value[j];
			chain[j % 2] = j < 2 ? f_mul(b, x, x) : f_fma(b, x, x, chain[j % 2]);
		}
		f_add_to(b, w->squares[i], w->squares[i], f_add(b, chain[0], chain[1]));
	}
}

void qmv_write_squares_store(struct qmv_writer *w, kit_op part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[2];
	for (int i = 0; i < 2; i++)
		sum[i] = tcb_kit_over_lanes(b, f_add, w->squares[i], 32);
	const kit_op at = (w->image_is_global ? l_mad_wide : u_mad)(b, part, I(QMV_SQUARES_BYTES), w->image);
	tcb_kit_store_where(b, u_eq(b, w->kit.lane, I(0)), w->image_memory, "f32", tcb_ptx_at(at, w->g->image.squares),
			    sum, 2);
}

/* What the calling lane has of the parts of token TOKEN, summed up. */
static void load_parts(struct qmv_writer *w, unsigned token, kit_op sum[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned parts = w->g->image.squares_count;
	const unsigned squares = token * w->g->image.bytes + w->g->image.squares;
	const kit_op at = u_mad(b, w->kit.lane, I(QMV_SQUARES_BYTES), w->image);
	for (unsigned first = 0; first < parts; first += WARP) {
		kit_op part[2];
		for (int i = 0; i < 2; i++)
			part[i] = f_set(b, F(0));
		if (first + WARP > parts)
			tcb_ptx_guard(b, u_lt(b, w->kit.lane, I(parts - first)));
		tcb_kit_load_into(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, squares + first * QMV_SQUARES_BYTES), part,
				  2);
		if (first + WARP > parts)
			tcb_ptx_unguard(b);
		for (int i = 0; i < 2; i++)
			sum[i] = first ? f_add(b, sum[i], part[i]) : part[i];
	}
}

static kit_op factor_of(struct qmv_writer *w, unsigned token)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned parts = w->g->image.squares_count;
	const unsigned lanes = parts < WARP ? (unsigned)tcb_power_of_two_up(parts) : WARP;
	kit_op sum[2];
	load_parts(w, token, sum);
	/* Lanes that have nothing hold zeros; all end with the same. */
	for (int i = 0; i < 2; i++)
		sum[i] = tcb_kit_over_lanes(b, f_add, sum[i], lanes);
	for (unsigned distance = lanes; distance < WARP; distance *= 2)
		for (int i = 0; i < 2; i++)
			sum[i] = f_add(b, sum[i], tcb_kit_butterfly(b, sum[i], distance));
	const kit_op is_lost = f_not_le(b, sum[0], F(LOST));
	const kit_op total = f_select(b, sum[1], sum[0], is_lost);
	const kit_op eps = f_select(b, F(0), F((float)qmv_eps(&w->kit.out->problem)), is_lost);
	const kit_op mean = f_fma(b, total, F((float)(1.0 / w->g->k)), eps);
	const kit_op root = f_select(b, F(RESCUE), F(1), is_lost);
	return f_mul(b, f_rsqrt_near(b, mean), root);
}

void qmv_write_factor(struct qmv_writer *w)
{
	for (unsigned token = 0; token < w->g->at_once; token++)
		w->factors[token] = factor_of(w, token);
	w->factor = w->factors[0];
}

void qmv_write_factor_of(struct qmv_writer *w, kit_op token)
{
	struct tcb_ptx_build *b = &w->kit.b;
	w->factor = w->factors[0];
	for (unsigned i = 1; i < w->g->at_once; i++)
		w->factor = f_select(b, w->factors[i], w->factor, u_eq(b, token, I(i)));
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

kit_op qmv_write_sum_with(struct qmv_writer *w, const kit_op *has, kit_op at, kit_op sum)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_kit_memory memory = qmv_input(w->g);
	kit_op more;
	if (has) {
		more = f_set(b, F(0));
		tcb_kit_load_where(b, *has, memory, "f32", at, &more, 1);
	} else {
		more = tcb_kit_get(b, memory, "f32", at);
	}
	return f_add(b, sum, more);
}

kit_op qmv_write_result(struct qmv_writer *w, const kit_op *has, kit_op row, kit_op gate, kit_op up)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->has_norm) {
		gate = f_mul(b, gate, w->factor);
		if (w->g->is_gated)
			up = f_mul(b, up, w->factor);
	}
	if (w->g->has_bias) {
		const kit_op at = tcb_kit_element(b, w->bias, row, 4);
		gate = qmv_write_sum_with(w, has, at, gate);
		if (w->g->is_gated)
			up = qmv_write_sum_with(w, has, tcb_kit_element(b, at, w->rows, 4), up);
	}
	const struct tcb_quant_gate how = tcb_quant_gate_of(&w->kit.out->problem.shape.words);
	return w->g->is_gated ? tcb_quant_write_gate(b, &how, gate, up) : gate;
}

double qmv_gpu_gate_ulps(const struct qmv_gpu *g)
{
	return g->is_gated ? TCB_QUANT_SILU_ULPS : 0;
}
