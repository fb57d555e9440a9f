/* SPDX-License-Identifier: MIT
 *
 * The activations of the quantised matmuls' GPU kernels under contract q8: a
 * warp's 256 floats come in, 8 consecutive ones a lane, codes and what they are
 * scaled with go out, to a record of 8 tokens (plan_record()): two tiles of 128 of k,
 * a byte each, like those of halves; scales; sums.  Scales and sums are where the
 * lanes of mma's D and B look for them: of tokens 2 p and 2 p + 1, and of runs p and
 * p + 4, with lane p of four.
 */

#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

enum { TOKEN_BYTES = 128, LANE_BYTES = 8 };

/* A record, in shared memory or, where a launch of its own makes it, in global. */
struct record {
	kit_op at;
	int is_global;
};

/* OFFSET behind it. */
static kit_op behind(struct qmm_writer *w, const struct record *record, kit_op offset)
{
	return record->is_global ? tcb_kit_element(&w->kit.b, record->at, offset, 1)
				 : u_add(&w->kit.b, record->at, offset);
}

static void store(struct qmm_writer *w, const struct record *record, const char *type, kit_op at, const kit_op *values,
		  unsigned count)
{
	tcb_kit_store(&w->kit.b, record->is_global ? TCB_KIT_GLOBAL : TCB_KIT_SHARED, type, at, values, count);
}

static kit_op lane_bits(struct qmm_writer *w, unsigned from, unsigned mask)
{
	const kit_op lane = from ? u_shr(&w->kit.b, w->kit.lane, I(from)) : w->kit.lane;
	return u_and(&w->kit.b, lane, I(mask));
}

/* Where the lane's codes of the token in row ROW are in a record: half of a chunk. */
static kit_op place_of(struct qmm_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op chunk = u_shl(b, u_xor(b, lane_bits(w, 1, 7), row), I(4));
	const kit_op at =
		u_mad(b, lane_bits(w, 4, 1), I(QMM_TILE_BYTES), u_mad(b, lane_bits(w, 0, 1), I(LANE_BYTES), chunk));
	return u_mad(b, row, I(TOKEN_BYTES), at);
}

/* VALUE, by the first of each LANES lanes, to AT bytes behind the record and as many as OFFSET says. */
static void store_one_of(struct qmm_writer *w, const struct record *record, unsigned lanes, const char *type,
			 kit_op offset, unsigned at, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op to = behind(w, record, u_add(b, offset, I(at)));
	tcb_ptx_guard(b, u_eq(b, lane_bits(w, 0, lanes - 1), I(0)));
	store(w, record, type, to, &value, 1);
	tcb_ptx_unguard(b);
}

/*
 * What mins are multiplied with, as pairs of halves for B's two registers: sums of 16 codes of a run and of the fourth
 * after it, then of the other 16 of both; or sums of 32 times their scale and a power of two, and what that half
 * leaves. With X < 2^(e+1) the largest of 256 values, such a sum is below 2^(e+6), times 2^(8-e) below 2^14.
 */
static void store_sums(struct qmm_writer *w, const struct record *record, kit_op row, kit_op at_tokens, kit_op largest,
		       const kit_op word[2], kit_op scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const unsigned lanes = g->group == 32 ? 4 : 2;
	kit_op sum = I(0), value, exponent, half, at;
	at = u_mad(b, row, I(32), u_shl(b, lane_bits(w, 2, 3), I(3)));
	at = u_mad(b, lane_bits(w, 4, 1), I(2), at);
	for (int i = 0; i < 2; i++)
		sum = s_dot(b, word[i], I(0x01010101), sum);
	for (unsigned distance = 1; distance < lanes; distance *= 2)
		sum = u_add(b, sum, tcb_kit_butterfly(b, sum, distance));
	if (g->group != 32) {
		at = u_mad(b, lane_bits(w, 1, 1), I(4), at);
		store_one_of(w, record, lanes, "b16", at, g->x_sum_at, f16_from_s(b, sum));
		return;
	}
	for (unsigned distance = lanes; distance < WARP; distance *= 2)
		largest = u_max(b, largest, tcb_kit_butterfly(b, largest, distance));
	exponent = u_max(b, u_shr(b, largest, I(23)), I(17)); /* no power overflows */
	value = f_mul(b, f_from_s(b, sum), scale);
	value = f_mul(b, value, b_set(b, u_shl(b, u_sub(b, I(127 + 127 + 8), exponent), I(23))));
	half = f16_from_f(b, value);
	store_one_of(w, record, lanes, "b16", at, g->x_sum_at, half);
	value = f_sub(b, value, f_from_f16(b, half));
	store_one_of(w, record, lanes, "b16", at, g->x_sum_at + 4, f16_from_f(b, value));
	exponent = u_shl(b, u_sub(b, exponent, I(8)), I(23));
	store_one_of(w, record, WARP, "b32", at_tokens, g->x_power_at, exponent);
}

void qmm_write_x_codes(struct qmm_writer *w, int is_global, kit_op record, kit_op row, const kit_op value[])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const struct record to = { record, is_global };
	const kit_op largest = tcb_quant_write_largest(b, value, TCB_QUANT_LANE_VALUES, g->group);
	kit_op word[2], at = u_shl(b, u_and(b, row, I(1)), I(2));
	const kit_op scale = tcb_quant_write_codes(b, value, TCB_QUANT_LANE_VALUES, largest, word);
	at = u_mad(b, u_shr(b, row, I(1)), I(QMM_SCALE_STRIDE), at);
	if (tcb_format(g->unit.format)->has_offsets)
		store_sums(w, &to, row, at, largest, word, scale);
	if (g->group == 32) {
		at = u_mad(b, lane_bits(w, 3, 3), I(QMM_GROUP_TOKENS / 2 * QMM_SCALE_STRIDE), at);
		at = u_mad(b, lane_bits(w, 2, 1), I(QMM_SCALE_STRIDE / 2), at);
	}
	store_one_of(w, &to, g->group / TCB_QUANT_LANE_VALUES, "b32", at, g->x_scale_at, scale);
	at = tcb_ptx_assume_aligned(b, behind(w, &to, place_of(w, row)), LANE_BYTES);
	store(w, &to, "b32", at, word, 2);
}
