/* SPDX-License-Identifier: MIT
 *
 * The layernorm micro-kernel, written once in the operations of rows_vec.h.
 * ROWS_REDUCE leaves a block's mean and the squared deviations from it,
 * ROWS_APPLY its results, ROWS_WHOLE does rows of at most a step in registers.
 * CHAINS, a constant of each variant, is the number of vectors in one step and
 * of independent sums.
 */
#include <math.h>

#include "kernels/layernorm/layernorm.h"
#include "kernels/rows/rows_micro.h"

SIMD_BODY float block_mean(const float *x, size_t count, const int chains, const struct v_ahead ahead,
			   const enum v_fetch fetch)
{
	const size_t step = (size_t)chains * LANES;
	vfloat sum[CHAINS_MAX];
	size_t i = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, ahead, fetch);
			sum[u] = v_add(sum[u], v_load(x + i + (size_t)u * LANES));
		}
	}
	for (; i < count; i += LANES)
		sum[0] = v_add(sum[0], v_load_left(x + i, count - i, 0));
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	return v_reduce_add(sum[0]) / (float)count;
}

/* Of how many columns the pivot is the mean, where there is no block before. */
SIMD_INLINE size_t pivot_columns(const struct rows_call *call)
{
	const size_t share = call->count / LAYERNORM_PIVOT_SHARE;
	const size_t columns = share > LAYERNORM_PIVOT_MIN ? share : LAYERNORM_PIVOT_MIN;
	return call->form == TCB_FORM_ONEPASS && columns < call->count ? columns : call->count;
}

SIMD_INLINE vfloat layernorm_result(const struct rows_call *call, vfloat value, size_t at, size_t left)
{
	vfloat scaled = v_mul(v_sub(value, v_set(call->shift)), v_set(call->factor));
	return v_fma(scaled, v_load_left(call->weight + at, left, 0), v_load_left(call->bias + at, left, 0));
}

SIMD_INLINE void layernorm_finish(double pivot, const double sums[ROWS_STATS_MAX], double count, double *stats)
{
	const double m2 =
		sums[1] - sums[0] * sums[0] / count; /* of equal values it may come out below 0, by roundings */
	stats[LAYERNORM_MEAN] = pivot + sums[0] / count;
	stats[LAYERNORM_M2] = m2 < 0 ? 0 : m2;
}

SIMD_BODY void layernorm_reduce(struct rows_call *call, const int chains, const enum v_fetch fetch,
				const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const struct rows_call before = late ? *call->late : *call; /* copies: stores cannot change them */
	const struct v_ahead ahead = rows_ahead(call);
	const float *x = call->x;
	/* The pass that goes over the whole block first asks for what comes later, or the one that stores. */
	const int is_once = call->form == TCB_FORM_ONEPASS, is_asking = is_once || late;
	float p;
	if (is_once && call->before)
		p = (float)call->before[LAYERNORM_MEAN];
	else if (is_asking)
		p = block_mean(x, pivot_columns(call), chains, ahead, FETCH_NONE);
	else
		p = block_mean(x, count, chains, ahead, fetch);
	const vfloat pivot = v_set(p);
	vfloat sum[CHAINS_MAX], squares[CHAINS_MAX];
	size_t i = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		sum[u] = squares[u] = v_set(0);
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			if (is_asking)
				v_prefetch_step(x + i, u, ahead, fetch);
			vfloat value = v_sub(v_load(x + i + (size_t)u * LANES), pivot);
			sum[u] = v_add(sum[u], value);
			squares[u] = v_fma(value, value, squares[u]);
		}
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(&before, before.x, i + (size_t)u * LANES, LANES, late, layernorm_result);
	}
	for (; i < count; i += LANES) {
		vfloat value = v_sub(v_load_left(x + i, count - i, p), pivot);
		sum[0] = v_add(sum[0], value);
		squares[0] = v_fma(value, value, squares[0]);
		if (late)
			rows_store(&before, before.x, i, count - i, late, layernorm_result);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++) {
		sum[0] = v_add(sum[0], sum[u]);
		squares[0] = v_add(squares[0], squares[u]);
	}
	const double sums[] = { (double)v_reduce_add(sum[0]), (double)v_reduce_add(squares[0]) };
	layernorm_finish((double)p, sums, (double)count, call->stat);
}

SIMD_INLINE float layernorm_pivot(const struct rows_call *call, const float *x, const int chains)
{
	return block_mean(x, pivot_columns(call), chains, rows_ahead(call), FETCH_NONE);
}

SIMD_INLINE void layernorm_add(vfloat sums[ROWS_STATS_MAX], vfloat value)
{
	sums[0] = v_add(sums[0], value);
	sums[1] = v_fma(value, value, sums[1]);
}

SIMD_INLINE void layernorm_group(struct rows_call *call, const int chains, const enum v_fetch fetch,
				 const enum rows_store late)
{
	static const struct rows_grouping op = { layernorm_pivot, layernorm_add, layernorm_finish, layernorm_result,
						 LAYERNORM_STATS };
	rows_group(call, &op, chains, fetch, late);
}

SIMD_INLINE void layernorm_apply(const struct rows_call *call, const int chains, const enum v_fetch fetch,
				 const enum rows_store store)
{
	rows_apply(call, call->x, chains, fetch, store, layernorm_result);
}

SIMD_BODY void layernorm_whole(struct rows_call *call, const int chains, const enum rows_store store)
{
	const size_t count = call->count;
	const float *w = call->weight, *b = call->bias;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vfloat value[CHAINS_MAX], sum = v_set(0), squares = v_set(0);
		v_prefetch_row(x, count, rows_ahead(call), fetch);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), 0);
			sum = v_add(sum, value[u]);
		}
		vfloat mean = v_set(v_reduce_add(sum) / (float)count);
		sum = v_set(0);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t left = left_of(count, (size_t)u * LANES);
			value[u] = v_sub(value[u], mean);
			if (left < LANES)
				value[u] = v_part(value[u], left);
			sum = v_add(sum, value[u]);
			squares = v_fma(value[u], value[u], squares);
		}
		/* The sum of what should sum to 0 says how far the mean is off. */
		double off = (double)v_reduce_add(sum) / (double)count;
		double variance = (double)v_reduce_add(squares) / (double)count - off * off;
		if (!isfinite(variance))
			return;
		vfloat factor = v_set((float)(1 / sqrt((variance < 0 ? 0 : variance) + call->eps)));
		vfloat rest = v_set((float)off);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES, left = left_of(count, at);
			vfloat result = v_mul(v_sub(value[u], rest), factor);
			result = v_fma(result, v_load_left(w + at, left, 0), v_load_left(b + at, left, 0));
			v_store_left(y + at, result, left, store == STORE_STREAM);
		}
	}
}

#define KERNEL(chains, n) ROWS_KERNEL(layernorm, chains, n)
#define ROW(chains, n) ROWS_VARIANT(layernorm, n, TCB_CLASS_BOUNDED)

ROWS_SIZES(KERNEL)
const struct tcb_variant SIMD_NAME(layernorm_variants)[] = { ROWS_SIZES(ROW){ 0 } };
