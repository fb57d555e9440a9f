/* SPDX-License-Identifier: MIT
 *
 * The short convolution on CPUs: token after token, each as vectors of a task's channels, of which the last three
 * tokens and the weights are in the first cache.
 */
#include "kernels/delta/short_conv.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_silu.h"

/* What a sequence goes on from that goes on from nothing. */
static const float zeros[CONV_CHANNELS];

/* x of token T; below 0 of the state that the sequence goes on from. */
SIMD_INLINE const float *input(const struct conv_call *call, ptrdiff_t t)
{
	if (t >= 0)
		return call->x + (size_t)t * call->row;
	return call->old ? call->old + (size_t)(CONV_KEPT + t) * call->row : zeros;
}

SIMD_INLINE void store(float *to, vfloat value, size_t left)
{
	if (left >= LANES)
		v_store(to, value);
	else
		v_store_part(to, value, left);
}

/* LEFT channels from AT on, of which a vector is taken: the sum below silu. */
SIMD_INLINE vfloat sum_of(const struct conv_call *call, const float *const x[CONV_TAPS], size_t at, size_t left)
{
	vfloat sum = v_load_left(call->bias + at, left, 0);
	SIMD_FOR (int i = 0; i < CONV_TAPS; i++)
		sum = v_fma(v_load_left(call->weights + (size_t)i * call->row + at, left, 0),
			    v_load_left(x[i] + at, left, 0), sum);
	return sum;
}

SIMD_BODY void write_token(const struct conv_call *call, size_t t)
{
	const float *x[CONV_TAPS];
	float *y = call->y + t * call->row;
	size_t at = 0;
	SIMD_FOR (int i = 0; i < CONV_TAPS; i++)
		x[i] = input(call, (ptrdiff_t)t - CONV_KEPT + i);
	for (; at + LANES <= call->channels; at += LANES)
		v_store(y + at, v_silu(sum_of(call, x, at, LANES), 1));
	if (at < call->channels)
		store(y + at, v_silu(sum_of(call, x, at, call->channels - at), 1), call->channels - at);
}

/* A state may take the place of the one that the sequence goes on from, which is in registers by then. */
SIMD_BODY void store_states(const struct conv_call *call, size_t at, size_t left)
{
	vfloat old[CONV_KEPT];
	SIMD_FOR (int i = 0; i < CONV_KEPT; i++)
		old[i] = v_load_left(input(call, i - CONV_KEPT) + at, left, 0);
	for (size_t s = 0; s < call->kept; s++)
		for (int i = 0; i < CONV_KEPT; i++) {
			const ptrdiff_t t = (ptrdiff_t)call->keep[s].token - (CONV_KEPT - 1) + i;
			const vfloat x = t < 0 ? old[CONV_KEPT + t] : v_load_left(input(call, t) + at, left, 0);
			store(call->keep[s].to + (size_t)i * call->row + at, x, left);
		}
}

static void SIMD_NAME(short_conv)(const struct conv_call *call)
{
	for (size_t t = call->first; t < call->first + call->tokens; t++)
		write_token(call, t);
	for (size_t at = 0; call->kept && at < call->channels; at += LANES)
		store_states(call, at, call->channels - at);
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
