/* SPDX-License-Identifier: MIT
 *
 * The experts of one token: its scores are copied, and the largest one that is left is taken out of them, again and
 * again; vectors look for its value, a loop for the first that has it.
 */
#include <float.h>
#include <math.h>

#include "kernels/route/route.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_exp.h"

#define TAKEN (-(float)INFINITY) /* below all scores */

/* Scores as they count, to TO, filled up to whole vectors; returns how many that are. */
static size_t copy_scores(const struct route_call *call, float *to)
{
	const size_t end = (call->experts + LANES - 1) / LANES * LANES;
	for (size_t i = 0; i < call->experts; i++) {
		const float score = call->scores[i];
		to[i] = score > FLT_MAX ? FLT_MAX : score >= -FLT_MAX ? score : -FLT_MAX;
	}
	for (size_t i = call->experts; i < end; i++)
		to[i] = TAKEN;
	return end;
}

SIMD_INLINE float largest(const float *scores, size_t end)
{
	vfloat most = v_load(scores);
	for (size_t i = LANES; i < end; i += LANES)
		most = v_max(most, v_load(scores + i));
	return v_reduce_max(most);
}

static void SIMD_NAME(route)(const struct route_call *call)
{
	float scores[ROUTE_EXPERTS_MAX + LANES], first = 0, sum = 0;
	const size_t end = copy_scores(call, scores);
	for (size_t u = 0; u < call->used; u++) {
		const float most = largest(scores, end);
		size_t at = 0;
		while (scores[at] != most)
			at++;
		first = u ? first : most;
		call->ids[u] = (int32_t)at;
		call->factors[u] = most - first;
		scores[at] = TAKEN;
	}
	for (size_t u = 0; u < call->used; u += LANES) {
		const size_t left = call->used - u;
		const vfloat power = v_exp(v_load_left(call->factors + u, left, TAKEN));
		if (left >= LANES)
			v_store(call->factors + u, power);
		else
			v_store_part(call->factors + u, power, left);
	}
	for (size_t u = 0; u < call->used; u++)
		sum += call->factors[u];
	for (size_t u = 0; u < call->used; u++)
		call->factors[u] /= sum;
}

const struct tcb_variant SIMD_NAME(route_variants)[] = {
	{ .name = "route_f32_" SIMD_TEXT,
	  .contract = TCB_CONTRACT_F32,
	  .isa = SIMD_ISA_ID,
	  .layout = TCB_LAYOUT_NATIVE,
	  .micro = { 1, 1, 1 },
	  .unroll = 1,
	  .class = TCB_CLASS_BOUNDED,
	  .signed_in = tcb_signed_variants,
	  .entry = (void (*)(void))SIMD_NAME(route) },
	{ .name = NULL },
};
