/* SPDX-License-Identifier: MIT
 *
 * The short convolution on CPUs: vectors of channels, each through all of a task's tokens, whose last three are in
 * registers.
 */
#include "kernels/delta/short_conv.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_silu.h"

/* x of token T, from channel AT on, LEFT of them; below 0 of OLD, the last three. */
SIMD_INLINE vfloat input(const struct conv_call *call, const vfloat old[CONV_KEPT], ptrdiff_t t, size_t at, size_t left)
{
	return t < 0 ? old[CONV_KEPT + t] : v_load_left(call->x + (size_t)t * call->row + at, left, 0);
}

SIMD_INLINE void store(float *to, vfloat value, size_t left)
{
	if (left >= LANES)
		v_store(to, value);
	else
		v_store_part(to, value, left);
}

SIMD_BODY void channels_of(const struct conv_call *call, size_t at, size_t left)
{
	const ptrdiff_t first = (ptrdiff_t)call->first;
	vfloat old[CONV_KEPT], last[CONV_KEPT], weight[CONV_TAPS];
	const vfloat bias = v_load_left(call->bias + at, left, 0);
	SIMD_FOR (int i = 0; i < CONV_TAPS; i++)
		weight[i] = v_load_left(call->weights + (size_t)i * call->row + at, left, 0);
	SIMD_FOR (int i = 0; i < CONV_KEPT; i++)
		old[i] = call->old ? v_load_left(call->old + (size_t)i * call->row + at, left, 0) : v_set(0);
	SIMD_FOR (int i = 0; i < CONV_KEPT; i++)
		last[i] = input(call, old, first - CONV_KEPT + i, at, left);
	for (size_t t = call->first; t < call->first + call->tokens; t++) {
		const vfloat x = v_load_left(call->x + t * call->row + at, left, 0);
		vfloat sum = v_fma(weight[0], last[0], bias);
		sum = v_fma(weight[1], last[1], sum);
		sum = v_fma(weight[2], last[2], sum);
		sum = v_fma(weight[3], x, sum);
		store(call->y + t * call->row + at, v_silu(sum, 1), left);
		last[0] = last[1];
		last[1] = last[2];
		last[2] = x;
	}
	/* Only now: a state may take the place of the one that the sequence goes on from. */
	for (size_t s = 0; s < call->kept; s++)
		for (int i = 0; i < CONV_KEPT; i++) {
			const ptrdiff_t t = (ptrdiff_t)call->keep[s].token - (CONV_KEPT - 1) + i;
			store(call->keep[s].to + (size_t)i * call->row + at, input(call, old, t, at, left), left);
		}
}

static void SIMD_NAME(short_conv)(const struct conv_call *call)
{
	size_t at = 0;
	for (; at + LANES <= call->channels; at += LANES)
		channels_of(call, at, LANES);
	if (at < call->channels)
		channels_of(call, at, call->channels - at);
}

#define TABLE(kind)                                                                \
	const struct tcb_variant SIMD_NAME(short_conv_##kind##_f32_variants)[] = { \
		{ .name = "short_conv_" #kind "_f32_" SIMD_TEXT,                   \
		  .contract = TCB_CONTRACT_F32,                                    \
		  .isa = SIMD_ISA_ID,                                              \
		  .layout = TCB_LAYOUT_NATIVE,                                     \
		  .micro = { 1, 1, 1 },                                            \
		  .unroll = 1,                                                     \
		  .class = TCB_CLASS_BOUNDED,                                      \
		  .signed_in = tcb_signed_variants,                                \
		  .entry = (void (*)(void))SIMD_NAME(short_conv) },                \
		{ .name = NULL },                                                  \
	};
TABLE(decode)
TABLE(prefill)
