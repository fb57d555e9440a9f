/* SPDX-License-Identifier: MIT
 *
 * The short convolution on CPUs: a few tokens together, as vectors of a task's channels, of each of which the weights
 * and the last three tokens are in registers meanwhile.
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

enum { TOGETHER = 4 /* rows of x, and of y, that are gone along at a time */ };

/* COUNT tokens from T on, TOGETHER at most: LEFT channels from AT on, of which a vector is taken. */
SIMD_BODY void write_vector(const struct conv_call *call, size_t t, const size_t count, size_t at, size_t left)
{
	const vfloat bias = v_load_left(call->bias + at, left, 0);
	const float *x = call->x + t * call->row + at;
	float *y = call->y + t * call->row + at;
	vfloat weight[CONV_TAPS], last[CONV_KEPT];
	SIMD_FOR (int i = 0; i < CONV_TAPS; i++)
		weight[i] = v_load_left(call->weights + (size_t)i * call->row + at, left, 0);
	SIMD_FOR (int i = 0; i < CONV_KEPT; i++)
		last[i] = v_load_left(input(call, (ptrdiff_t)t - CONV_KEPT + i) + at, left, 0);
	for (size_t i = 0; i < count; i++, x += call->row, y += call->row) {
		const vfloat next = v_load_left(x, left, 0);
		vfloat sum = bias;
		SIMD_FOR (int j = 0; j < CONV_KEPT; j++)
			sum = v_fma(weight[j], last[j], sum);
		store(y, v_silu(v_fma(weight[CONV_KEPT], next, sum), 1), left);
		SIMD_FOR (int j = 0; j + 1 < CONV_KEPT; j++)
			last[j] = last[j + 1];
		last[CONV_KEPT - 1] = next;
	}
}

SIMD_INLINE void write_tokens(const struct conv_call *call, size_t t, const size_t count)
{
	size_t at = 0;
	for (; at + LANES <= call->channels; at += LANES)
		write_vector(call, t, count, at, LANES);
	if (at < call->channels)
		write_vector(call, t, count, at, call->channels - at);
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
	const size_t end = call->first + call->tokens;
	size_t t = call->first;
	for (; t + TOGETHER <= end; t += TOGETHER)
		write_tokens(call, t, TOGETHER);
	if (t < end)
		write_tokens(call, t, end - t);
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
