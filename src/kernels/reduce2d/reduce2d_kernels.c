/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of the reduce2d ops, written once in vector operations.
 * One midi tile comes in, its partial result goes out.  A step takes M rows by
 * CHAINS vectors, constants of each variant, each vector to an accumulator of
 * its own; what a tile has beyond whole steps goes to the accumulators of the
 * first column, rows beyond whole steps to those of the first row.
 */
#include <math.h>

#include "kernels/reduce2d/reduce2d.h"
#include "kernels/rows/rows_vec.h"

enum { SUMS_MAX = 16 };

enum kind { SUM, MAX, MIN };

/* What a tile's steps add to.  SUM: lost is what kahan carries; levels and leaves are pairwise's. */
struct sums {
	vfloat sum[SUMS_MAX], lost[SUMS_MAX];
	vfloat level[REDUCE2D_LEVELS]; /* level l holds the sum of 2^l leaves where bit l of leaves is set */
	size_t leaves, steps;          /* leaves done; steps in the leaf under way */
	vflag nan;
};

SIMD_INLINE float identity_of(const enum kind kind)
{
	return kind == SUM ? -0.0f : kind == MAX ? -INFINITY : INFINITY;
}

SIMD_INLINE void take(struct sums *sums, int at, vfloat value, const enum kind kind, const enum tcb_form form)
{
	if (kind == MAX) {
		sums->nan = v_either(sums->nan, v_unordered(value, value));
		sums->sum[at] = v_maximum(sums->sum[at], value);
	} else if (kind == MIN) {
		sums->nan = v_either(sums->nan, v_unordered(value, value));
		sums->sum[at] = v_minimum(sums->sum[at], value);
	} else if (form == TCB_FORM_KAHAN) {
		vfloat add = v_sub(value, sums->lost[at]), total = v_add(sums->sum[at], add);
		sums->lost[at] = v_sub(v_sub(total, sums->sum[at]), add);
		sums->sum[at] = total;
	} else {
		sums->sum[at] = v_add(sums->sum[at], value);
	}
}

/* Closes the leaf of COUNT accumulators: into the cascade, as a binary counter carries. */
SIMD_INLINE void close_leaf(struct sums *sums, const int count)
{
	vfloat leaf = sums->sum[0];
	for (int s = 1; s < count; s++)
		leaf = v_add(leaf, sums->sum[s]);
	for (int s = 0; s < count; s++)
		sums->sum[s] = v_set(-0.0f);
	int level = 0;
	for (; sums->leaves >> level & 1u; level++)
		leaf = v_add(sums->level[level], leaf);
	sums->level[level] = leaf;
	sums->leaves++;
	sums->steps = 0;
}

SIMD_INLINE void count_step(struct sums *sums, const int count, const enum kind kind, const enum tcb_form form)
{
	if (kind == SUM && form == TCB_FORM_PAIRWISE && ++sums->steps == REDUCE2D_LEAF_STEPS)
		close_leaf(sums, count);
}

/* ROWS rows from X on, in steps of ROWS x CHAINS vectors. */
SIMD_INLINE void take_rows(struct sums *sums, const struct reduce2d_call *call, const float *x, const int rows,
			   const int chains, const int count, const enum kind kind, const enum tcb_form form)
{
	const size_t step = (size_t)chains * LANES, columns = call->columns, stride = call->stride;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	const struct v_ahead ahead = { call->prefetch, 1 };
	size_t i = 0;
	for (; i + step <= columns; i += step) {
		for (int r = 0; r < rows; r++) {
			const float *from = x + (size_t)r * stride + i;
			for (int u = 0; u < chains; u++) {
				v_prefetch_step(from, u, ahead, fetch);
				take(sums, r * chains + u, v_load(from + (size_t)u * LANES), kind, form);
			}
		}
		count_step(sums, count, kind, form);
	}
	for (; i < columns; i += LANES) {
		for (int r = 0; r < rows; r++) {
			const float *from = x + (size_t)r * stride + i;
			take(sums, r * chains, v_load_left(from, columns - i, identity_of(kind)), kind, form);
		}
		count_step(sums, count, kind, form);
	}
}

SIMD_INLINE double lanes_sum(vfloat value)
{
	float lanes[LANES];
	double sum = -0.0;
	v_store(lanes, value);
	for (int l = 0; l < LANES; l++)
		sum += (double)lanes[l];
	return sum;
}

SIMD_INLINE double finish_sum(struct sums *sums, const int count, const enum tcb_form form)
{
	if (form == TCB_FORM_KAHAN) {
		double sum = -0.0, lost = 0;
		for (int s = 0; s < count; s++) {
			sum += lanes_sum(sums->sum[s]);
			lost += lanes_sum(sums->lost[s]);
		}
		return sum - lost;
	}
	if (form == TCB_FORM_PAIRWISE) {
		close_leaf(sums, count);
		vfloat total = v_set(-0.0f);
		for (int level = 0; sums->leaves >> level; level++)
			if (sums->leaves >> level & 1u)
				total = v_add(sums->level[level], total);
		return (double)v_reduce_add(total);
	}
	for (int s = 1; s < count; s++)
		sums->sum[0] = v_add(sums->sum[0], sums->sum[s]);
	return (double)v_reduce_add(sums->sum[0]);
}

SIMD_INLINE double finish_extreme(struct sums *sums, const int count, const enum kind kind)
{
	float lanes[LANES];
	if (v_is_set(sums->nan))
		return (double)NAN;
	for (int s = 1; s < count; s++)
		sums->sum[0] =
			kind == MAX ? v_maximum(sums->sum[0], sums->sum[s]) : v_minimum(sums->sum[0], sums->sum[s]);
	v_store(lanes, sums->sum[0]);
	const struct reduce2d_operation *operation = kind == MAX ? &reduce2d_max : &reduce2d_min;
	double result = operation->identity;
	for (int l = 0; l < LANES; l++)
		result = operation->combine(result, (double)lanes[l]);
	return result;
}

SIMD_BODY void reduce_tile(struct reduce2d_call *call, const int m, const int chains, const enum kind kind,
			   const enum tcb_form form)
{
	struct sums sums;
	const int count = m * chains;
	size_t r = 0;
	for (int s = 0; s < count; s++) {
		sums.sum[s] = v_set(identity_of(kind));
		sums.lost[s] = v_set(0);
	}
	sums.leaves = sums.steps = 0;
	sums.nan = v_no_flag();
	for (; r + (size_t)m <= call->rows; r += (size_t)m)
		take_rows(&sums, call, call->x + r * call->stride, m, chains, count, kind, form);
	for (; r < call->rows; r++)
		take_rows(&sums, call, call->x + r * call->stride, 1, chains, count, kind, form);
	call->result = kind == SUM ? finish_sum(&sums, count, form) : finish_extreme(&sums, count, kind);
}

SIMD_INLINE void reduce2d_micro(struct reduce2d_call *call, const int m, const int chains, const enum kind kind)
{
	if (kind != SUM || call->form == TCB_FORM_LANES)
		reduce_tile(call, m, chains, kind, TCB_FORM_LANES);
	else if (call->form == TCB_FORM_PAIRWISE)
		reduce_tile(call, m, chains, kind, TCB_FORM_PAIRWISE);
	else
		reduce_tile(call, m, chains, kind, TCB_FORM_KAHAN);
}

/* Kernel reduce2d_<name>_<m>x<n>, and its row. */
#define KERNEL(name, kind, m, chains, n)                                    \
	static void reduce2d_##name##_##m##x##n(struct reduce2d_call *call) \
	{                                                                   \
		_Static_assert((chains)*LANES == (n), "tile of the name");  \
		reduce2d_micro(call, m, chains, kind);                      \
	}
#define KERNELS(m, chains, n, ...)     \
	KERNEL(sum, SUM, m, chains, n) \
	KERNEL(max, MAX, m, chains, n) \
	KERNEL(min, MIN, m, chains, n)
#define ROW(m, chains, n, name, class_)                      \
	{ "reduce2d_" #name "_f32_" SIMD_TEXT "_" #m "x" #n, \
	  TCB_CONTRACT_F32,                                  \
	  SIMD_ISA_ID,                                       \
	  TCB_LAYOUT_NATIVE,                                 \
	  { m, n, 1 },                                       \
	  1,                                                 \
	  TCB_CLASS_##class_,                                \
	  tcb_signed_variants,                               \
	  (void (*)(void))reduce2d_##name##_##m##x##n },

/* X(rows, chains, values of a row) for each worth trying. */
#if LANES == 1
#define SIZES(X, ...)           \
	X(1, 1, 1, __VA_ARGS__) \
	X(1, 4, 4, __VA_ARGS__) X(1, 8, 8, __VA_ARGS__) X(4, 1, 1, __VA_ARGS__) X(4, 2, 2, __VA_ARGS__)
#elif LANES == 4
#define SIZES(X, ...)            \
	X(1, 1, 4, __VA_ARGS__)  \
	X(1, 2, 8, __VA_ARGS__)  \
	X(1, 4, 16, __VA_ARGS__) \
	X(1, 8, 32, __VA_ARGS__) X(2, 4, 16, __VA_ARGS__) X(4, 2, 8, __VA_ARGS__) X(8, 1, 4, __VA_ARGS__)
#elif LANES == 8
#define SIZES(X, ...)            \
	X(1, 1, 8, __VA_ARGS__)  \
	X(1, 2, 16, __VA_ARGS__) \
	X(1, 4, 32, __VA_ARGS__) \
	X(1, 8, 64, __VA_ARGS__) X(2, 4, 32, __VA_ARGS__) X(4, 2, 16, __VA_ARGS__) X(8, 1, 8, __VA_ARGS__)
#else
#define SIZES(X, ...)             \
	X(1, 1, 16, __VA_ARGS__)  \
	X(1, 2, 32, __VA_ARGS__)  \
	X(1, 4, 64, __VA_ARGS__)  \
	X(1, 8, 128, __VA_ARGS__) \
	X(2, 4, 64, __VA_ARGS__) X(4, 2, 32, __VA_ARGS__) X(8, 1, 16, __VA_ARGS__) X(4, 4, 64, __VA_ARGS__)
#endif
SIZES(KERNELS, 0)
const struct tcb_variant SIMD_NAME(reduce2d_sum_variants)[] = { SIZES(ROW, sum, BOUNDED){ 0 } };
const struct tcb_variant SIMD_NAME(reduce2d_max_variants)[] = { SIZES(ROW, max, EXACT){ 0 } };
const struct tcb_variant SIMD_NAME(reduce2d_min_variants)[] = { SIZES(ROW, min, EXACT){ 0 } };
