/* SPDX-License-Identifier: MIT
 *
 * The short convolution before a recurrent layer (Qwen3-Next's and Mamba-2's conv1d with its silu): of each channel of
 * each sequence, over its last four tokens,
 *
 *     y_t = silu(bias + w_0 x_t-3 + w_1 x_t-2 + w_2 x_t-1 + w_3 x_t)
 *
 * Shapes, words, counts and slots are those of the recurrent op that follows (delta.h), so that a host hands both the
 * same: channels are the row of its qkv, y is its qkv.  A state is what a later token needs, the last three x, the
 * oldest first: [slots][3][channels], in f32.  Before a sequence that goes on from nothing there are zeros.  One pool
 * can be both operands, as with the layer's.
 *
 * An op of its own: what it reads and writes beside weights is a row of qkv and six rows of state for each token, some
 * 0.1 of the layer's state at 1x128x128,h32/16, and behind the product that makes x it is a launch, or a step of a
 * chain, among others; fused into the layer, each of the blocks or tasks that share a head of keys would work it out
 * again for itself.
 */
#ifndef TCB_KERNELS_SHORT_CONV_H
#define TCB_KERNELS_SHORT_CONV_H

#include "kernels/delta/delta.h"

enum { CONV_X, CONV_WEIGHTS, CONV_BIAS, CONV_Y, CONV_STATES_OUT, CONV_STATES, CONV_COUNTS, CONV_SLOTS, CONV_OPERANDS };
enum { CONV_TAPS = 4, CONV_KEPT = CONV_TAPS - 1 };
/* Of a CPU's task: what it reads and writes for four tokens, sixteen rows of them, is in the first cache. */
enum { CONV_CHANNELS = 512 };
/* Roundings: of the sum, and those of silu in units of CONV_CHAIN's magnitude (short_conv_ops.c). */
enum { CONV_CHAIN = 10 };

/* Of a state. */
static inline size_t conv_state(const struct tcb_shape *shape)
{
	return CONV_KEPT * delta_row(shape);
}

/* A task: channels of one sequence, tokens from FIRST on. */
struct conv_call {
	const float *x; /* of the sequence's first token, as are y's; the next one's are ROW floats behind */
	float *y;
	size_t row;
	const float *weights, *bias; /* a row of ROW for each tap */
	const float *old;            /* what the sequence goes on from, rows of ROW; NULL: zeros */
	size_t first, tokens, channels;
	size_t kept; /* states to be stored */
	struct {
		float *to;
		size_t token; /* behind which it is */
	} keep[DELTA_DECODE_TOKENS_MAX];
};
typedef void conv_micro_fn(const struct conv_call *call);

extern const struct tcb_side short_conv_decode_f32_cpu, short_conv_prefill_f32_cpu;
extern const struct tcb_side short_conv_decode_f32_gpu, short_conv_prefill_f32_gpu;

#endif
