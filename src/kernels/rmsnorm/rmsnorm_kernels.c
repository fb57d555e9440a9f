/* SPDX-License-Identifier: MIT
 *
 * The rmsnorm micro-kernel, written once in the operations of rows_vec.h.
 * ROWS_REDUCE leaves the sum of a block's squares, ROWS_APPLY its results,
 * ROWS_WHOLE does rows of at most a step in registers.  CHAINS, a constant of
 * each variant, is the number of vectors in one step and of independent sums.
 */
#include <math.h>

#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rows/rows_micro.h"

SIMD_INLINE vfloat rmsnorm_result(const struct rows_call *call, vfloat value, size_t at, size_t left)
{
	return v_mul(v_mul(value, v_set(call->factor)), v_load_left(call->weight + at, left, 0));
}

SIMD_BODY void rmsnorm_reduce(struct rows_call *call, const int chains, const enum v_fetch fetch,
			      const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const struct rows_call before = late ? *call->late : *call; /* copies: stores cannot change them */
	const struct v_ahead ahead = rows_ahead(call);
	const float *x = call->x;
	vfloat sum[CHAINS_MAX];
	size_t i = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, ahead, fetch);
			vfloat value = v_load(x + i + (size_t)u * LANES);
			sum[u] = v_fma(value, value, sum[u]);
		}
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(&before, before.x, i + (size_t)u * LANES, LANES, late, rmsnorm_result);
	}
	for (; i < count; i += LANES) {
		vfloat value = v_load_left(x + i, count - i, 0);
		sum[0] = v_fma(value, value, sum[0]);
		if (late)
			rows_store(&before, before.x, i, count - i, late, rmsnorm_result);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	call->stat[0] = (double)v_reduce_add(sum[0]);
}

SIMD_INLINE float rmsnorm_pivot(const struct rows_call *call, const float *x, const int chains)
{
	(void)call, (void)x, (void)chains;
	return 0;
}

SIMD_INLINE void rmsnorm_add(vfloat sums[ROWS_STATS_MAX], vfloat value)
{
	sums[0] = v_fma(value, value, sums[0]);
}

SIMD_INLINE void rmsnorm_finish(double pivot, const double sums[ROWS_STATS_MAX], double count, double *stats)
{
	(void)pivot, (void)count;
	stats[0] = sums[0];
}

SIMD_INLINE void rmsnorm_group(struct rows_call *call, const int chains, const enum v_fetch fetch,
			       const enum rows_store late)
{
	static const struct rows_grouping op = { rmsnorm_pivot, rmsnorm_add, rmsnorm_finish, rmsnorm_result, 1 };
	rows_group(call, &op, chains, fetch, late);
}

SIMD_INLINE void rmsnorm_apply(const struct rows_call *call, const int chains, const enum v_fetch fetch,
			       const enum rows_store store)
{
	rows_apply(call, call->x, chains, fetch, store, rmsnorm_result);
}

SIMD_BODY void rmsnorm_whole(struct rows_call *call, const int chains, const enum rows_store store)
{
	const size_t count = call->count;
	const float *w = call->weight;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vfloat value[CHAINS_MAX], sum = v_set(0);
		v_prefetch_row(x, count, rows_ahead(call), fetch);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), 0);
			sum = v_fma(value[u], value[u], sum);
		}
		float squares = v_reduce_add(sum);
		if (!isfinite(squares))
			return;
		vfloat factor = v_set((float)(1 / sqrt((double)squares / (double)count + call->eps)));
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES, left = left_of(count, at);
			vfloat weight = v_load_left(w + at, left, 0);
			v_store_left(y + at, v_mul(v_mul(value[u], factor), weight), left, store == STORE_STREAM);
		}
	}
}

#define KERNEL(chains, n) ROWS_KERNEL(rmsnorm, chains, n)
#define ROW(chains, n) ROWS_VARIANT(rmsnorm, n, TCB_CLASS_BOUNDED)

ROWS_SIZES_MORE(KERNEL)
const struct tcb_variant SIMD_NAME(rmsnorm_variants)[] = { ROWS_SIZES_MORE(ROW){ 0 } };
