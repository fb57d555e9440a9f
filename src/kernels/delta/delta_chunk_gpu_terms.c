/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: floats as two terms that tensor cores multiply.
 */
#include "kernels/delta/delta_chunk_gpu.h"

void chunk_split(struct tcb_ptx_build *b, kit_op x, struct chunk_terms *out)
{
	out->high = tf32_from_f(b, x);
	out->low = tf32_from_f(b, f_sub(b, x, out->high));
}

void chunk_multiply(struct tcb_ptx_build *b, kit_op sums[4], const struct chunk_terms a[4],
		    const struct chunk_terms x[2])
{
	const kit_op high[4] = { a[0].high, a[1].high, a[2].high, a[3].high };
	const kit_op low[4] = { a[0].low, a[1].low, a[2].low, a[3].low };
	const kit_op x_high[2] = { x[0].high, x[1].high }, x_low[2] = { x[0].low, x[1].low };
	tcb_kit_multiply(b, "tf32", CHUNK_EIGHT, sums, sums, low, x_high);
	tcb_kit_multiply(b, "tf32", CHUNK_EIGHT, sums, sums, high, x_low);
	tcb_kit_multiply(b, "tf32", CHUNK_EIGHT, sums, sums, high, x_high);
}

void chunk_load_pair(struct tcb_ptx_build *b, kit_op at, int64_t offset, struct chunk_terms out[2])
{
	kit_op pair[2];
	tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, offset), pair, 2);
	chunk_split(b, pair[0], &out[0]);
	chunk_split(b, pair[1], &out[1]);
}
