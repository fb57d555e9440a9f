/* SPDX-License-Identifier: MIT
 *
 * mma.sync: a warp's tile as fragments of 16 x 8 sums; 16 steps of k an
 * instruction, 8 on sm_75.  Fragments come by ldmatrix from swizzled rows: A as
 * it is, B (whose rows run along n) transposed on the way.
 */
#include "kernels/matmul/matmul_gpu_copy.h"
#include "kernels/matmul/matmul_gpu_math.h"

enum { FRAGMENT_M = 16, FRAGMENT_N = 8, PAIR_N = 16 /* columns of one ldmatrix */, SUMS = 4 };

/* Lanes 0 to 7 name the rows of the first 8 x 8 matrix, and so on. */
static void open_mma(struct mm_writer *w, struct mm_fragments *f)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const int is_eight = g->wk == 8;
	kit_op m0, n0;
	mm_write_warp_origin(w, &m0, &n0);
	const kit_op sixteen = u_and(b, w->kit.lane, I(15)), high = u_shr(b, w->kit.lane, I(4));
	const kit_op row = u_add(b, sixteen, m0);
	kit_op at = u_shl(b, high, I(4));
	if (is_eight)
		at = I(0);
	f->a_at = u_mad(b, row, I(g->pitch_a), u_xor(b, mm_write_swizzle(w, g->pitch_a, row), at));
	/* B: 8 (or 16) rows of k, then the next eight columns. */
	const kit_op k = is_eight ? u_and(b, w->kit.lane, I(7)) : sixteen;
	const kit_op right = is_eight ? u_and(b, u_shr(b, w->kit.lane, I(3)), I(1)) : high;
	const kit_op chunk = u_mad(b, right, I(16), u_shl(b, n0, I(1)));
	f->b_at = u_mad(b, k, I(g->pitch_b), u_xor(b, mm_write_swizzle(w, g->pitch_b, k), chunk));
	for (unsigned set = 0; set < 2; set++) {
		for (unsigned i = 0; i < g->wm / FRAGMENT_M * g->wk / 4; i++)
			f->a[set][i] = tcb_ptx_reg(b, "b32");
		for (unsigned i = 0; i < g->wn / FRAGMENT_N * g->wk / 8; i++)
			f->b[set][i] = tcb_ptx_reg(b, "b32");
	}
}

static void load_mma(struct mm_writer *w, struct mm_fragments *f, kit_op slot, unsigned step)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const unsigned a_regs = g->wk / 4, b_regs = g->wk / 4; /* of a load */
	const kit_op a_at = u_xor(b, u_add(b, slot, f->a_at), I(step * g->wk * 2));
	const kit_op b_at = u_add(b, u_add(b, slot, f->b_at), I(g->a_bytes));
	for (unsigned i = 0; i < g->wm / FRAGMENT_M; i++)
		tcb_kit_load_matrices_into(b, 0, tcb_ptx_at(a_at, (int64_t)i * FRAGMENT_M * g->pitch_a),
					   f->a[step % 2] + i * a_regs, a_regs);
	for (unsigned j = 0; j < g->wn / PAIR_N; j++)
		tcb_kit_load_matrices_into(
			b, 1,
			tcb_ptx_at(j ? u_xor(b, b_at, I(j * PAIR_N * 2)) : b_at, (int64_t)step * g->wk * g->pitch_b),
			f->b[step % 2] + j * b_regs, b_regs);
}

static void multiply_mma(struct mm_writer *w, struct mm_fragments *f, unsigned step)
{
	const struct matmul_gpu *g = w->g;
	const char *type = g->type == TCB_TYPE_F16 ? "f16" : "bf16";
	const unsigned a_regs = g->wk / 4, b_regs = g->wk / 8, across = g->wn / FRAGMENT_N;
	for (unsigned i = 0; i < g->wm / FRAGMENT_M; i++)
		for (unsigned c = 0; c < across; c++) {
			const unsigned j = i % 2 ? across - 1 - c : c;
			const kit_op *sums = w->acc + (i * across + j) * SUMS;
			tcb_kit_multiply(&w->kit.b, type, g->wk, sums, sums, f->a[step % 2] + i * a_regs,
					 f->b[step % 2] + j * b_regs);
		}
}

static void results_mma(struct mm_writer *w, void (*store)(struct mm_writer *w, kit_op row, kit_op column,
							   const kit_op *values, unsigned count))
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	kit_op m0, n0;
	mm_write_warp_origin(w, &m0, &n0);
	const kit_op m = u_add(b, u_add(b, w->row, m0), u_shr(b, w->kit.lane, I(2)));
	const kit_op pair = u_shl(b, u_and(b, w->kit.lane, I(3)), I(1));
	const kit_op n = u_add(b, u_add(b, w->column, n0), pair);
	for (unsigned i = 0; i < g->wm / 8; i++) {
		const kit_op row = u_add(b, m, I(8 * i));
		for (unsigned j = 0; j < g->wn / FRAGMENT_N; j++)
			store(w, row, u_add(b, n, I(8 * j)),
			      w->acc + (i / 2 * (g->wn / FRAGMENT_N) + j) * SUMS + i % 2 * 2, 2);
	}
}

struct mm_math mm_math_mma(const struct matmul_gpu *g)
{
	return (struct mm_math){ g->bk / g->wk, open_mma, load_mma, multiply_mma, results_mma };
}
