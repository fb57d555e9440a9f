/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: floats as two terms that tensor cores multiply, and where these lie.
 */
#include "kernels/delta/delta_chunk_gpu.h"

#define LOG2_E_HIGH 1.44269502f
#define LOG2_E_LOW 1.92596303e-8f

struct chunk_words chunk_split_pair(struct tcb_ptx_build *b, kit_op x, kit_op y)
{
	const kit_op high = tcb_kit_pack(b, "bf16", x, y);
	const kit_op x_rest = f_sub(b, x, u_shl(b, high, I(16)));
	const kit_op y_rest = f_sub(b, y, u_and(b, high, I((int64_t)0xffff0000)));
	return (struct chunk_words){ high, tcb_kit_pack(b, "bf16", x_rest, y_rest) };
}

enum { LOW_BY_HIGH, HIGH_BY_LOW, HIGH_BY_HIGH };

static void multiply(struct tcb_ptx_build *b, const struct chunk_product *products, unsigned count, int which,
		     kit_op small[][4])
{
	for (unsigned i = 0; i < count; i++) {
		const struct chunk_product *p = &products[i];
		const kit_op *sums = small ? small[i] : p->sums;
		tcb_kit_multiply(b, "bf16", CHUNK_TILE, sums, sums, p->a[which == LOW_BY_HIGH],
				 which == HIGH_BY_LOW ? p->low : p->high);
	}
}

void chunk_multiply(struct tcb_ptx_build *b, const struct chunk_product *products, unsigned count)
{
	for (int which = LOW_BY_HIGH; which <= HIGH_BY_HIGH; which++)
		multiply(b, products, count, which, NULL);
}

void chunk_multiply_apart(struct tcb_ptx_build *b, const struct chunk_product *products, unsigned count,
			  kit_op small[][4])
{
	multiply(b, products, count, LOW_BY_HIGH, small);
	multiply(b, products, count, HIGH_BY_HIGH, NULL);
	multiply(b, products, count, HIGH_BY_LOW, small);
}

kit_op chunk_lane_down(struct tcb_ptx_build *b, kit_op lane, unsigned pitch)
{
	return u_mad(b, u_and(b, lane, I(15)), I(pitch), u_mul(b, u_shr(b, lane, I(4)), I(16)));
}

kit_op chunk_lane_across(struct tcb_ptx_build *b, kit_op lane, unsigned pitch)
{
	const kit_op row = u_mad(b, u_shr(b, lane, I(4)), I(8), u_and(b, lane, I(7)));
	return u_mad(b, row, I(pitch), u_mul(b, u_and(b, u_shr(b, lane, I(3)), I(1)), I(16)));
}

void chunk_load(struct tcb_ptx_build *b, int is_turned, kit_op at, int64_t offset, int64_t low, kit_op out[2][4])
{
	for (unsigned i = 0; i < 2; i++)
		tcb_kit_load_matrices(b, is_turned, tcb_ptx_at(at, offset + (i ? low : 0)), out[i], 4);
}

kit_op chunk_ratio(struct tcb_ptx_build *b, kit_op high, kit_op low)
{
	const kit_op x = f_mul(b, high, F(LOG2_E_HIGH));
	const kit_op lost = f_fma(b, high, F(LOG2_E_HIGH), f_neg(b, x));
	const kit_op rest = f_fma(b, low, F(LOG2_E_HIGH), f_fma(b, high, F(LOG2_E_LOW), lost));
	return f_mul(b, f_power2(b, x), f_power2(b, rest));
}

void chunk_put_tile(struct tcb_ptx_build *b, kit_op at, kit_op value[2][4])
{
	kit_op words[2][4];
	for (unsigned i = 0; i < 4; i++) {
		const kit_op *pair = &value[i / 2][2 * (i % 2)];
		const struct chunk_words both = chunk_split_pair(b, pair[0], pair[1]);
		words[0][i] = both.high;
		words[1][i] = both.low;
	}
	for (unsigned i = 0; i < 2; i++)
		tcb_kit_store(b, TCB_KIT_GLOBAL, "b32", tcb_ptx_at(at, (int64_t)i * CHUNK_TILE_BYTES / 2), words[i], 4);
}
