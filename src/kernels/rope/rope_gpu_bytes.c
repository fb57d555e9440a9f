/* SPDX-License-Identifier: MIT
 *
 * A vector of a head as FP8 on a GPU: floats come in, bytes of E4M3 go to the cache.  By integers, since only GPUs from
 * sm_89 on have an instruction for it: a normal number's code is the upper bits of the float, rounded to the nearest or
 * the even one; below 2^-6 steps are 2^-9, which are those of 2^14.
 */
#include "kernels/rope/rope_gpu_writer.h"

enum {
	STEP_BITS = 20, /* of a significand that E4M3 has not */
	HALF_STEP = (1 << (STEP_BITS - 1)) - 1,
	BIAS = 120 << 3,          /* exponents of f32 are 120 more */
	LEAST_NORMAL = 121 << 23, /* 2^-6 */
	OF_448 = 0x43e00000,      /* what is larger becomes 448, too */
	OF_INFINITY = 0x7f800000,
	CODE_448 = 0x7e,
	CODE_NAN = 0x7f,
	SIGN = 0x80
};

static kit_op code_of(struct tcb_ptx_build *b, kit_op value)
{
	const kit_op bits = b_set(b, value), size = u_and(b, bits, I(INT32_MAX));
	const kit_op sign = u_and(b, u_shr(b, bits, I(24)), I(SIGN));
	const kit_op odd = u_and(b, u_shr(b, size, I(STEP_BITS)), I(1));
	const kit_op rounded = u_shr(b, u_add(b, u_add(b, size, I(HALF_STEP)), odd), I(STEP_BITS));
	const kit_op small = u_and(b, b_set(b, f_add(b, f_abs(b, value), F(0x1p14f))), I(0xff));
	kit_op code = u_select(b, small, u_sub(b, rounded, I(BIAS)), u_lt(b, size, I(LEAST_NORMAL)));
	code = u_select(b, I(CODE_448), code, u_ge(b, size, I(OF_448)));
	code = u_select(b, I(CODE_NAN), code, u_gt(b, size, I(OF_INFINITY)));
	return u_or(b, sign, code);
}

void rope_store_bytes(struct rope_writer *w, enum tcb_kit_memory memory, kit_op address, const kit_op *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned width = w->g->width, each = width < 4 ? width : 4;
	kit_op word[ROPE_WIDTH_MAX / 4], half[2];
	for (unsigned i = 0; i < width; i += each) {
		kit_op all = code_of(b, values[i]);
		for (unsigned j = 1; j < each; j++)
			all = u_mad(b, code_of(b, values[i + j]), I(INT64_C(1) << 8 * j), all);
		word[i / each] = all;
	}
	if (width < 4) {
		tcb_kit_halves(b, word[0], half);
		tcb_kit_put(b, memory, "b16", address, half[0]);
		return;
	}
	tcb_kit_store(b, memory, "b32", address, word, width / 4);
}
