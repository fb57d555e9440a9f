/* SPDX-License-Identifier: MIT
 *
 * Samples of outputs.  In: what was found right, and how to fetch bytes of what is
 * there now; out: whether they are the same.
 */
#include "worker/look_again.h"

#include <string.h>

#include "base/sizes.h"
#include "base/util.h"

/* 2,048 fetches of 16 KiB are taken to cost some 30 ms of a GPU's time, most of it for asking. */
enum { STRETCHES = 2048, PIECE = 16 << 10, BYTES_LEAST = 256 << 20 };

/* The same of one output, OPERAND. */
static enum tcb_status look_at(const struct tcb_right *right, size_t operand, struct tcb_rng *rng, tcb_fetch_fn *fetch,
			       void *ctx, int *is_same_out, struct tcb_error *err)
{
	const size_t bytes = right->output.bytes, piece = tcb_least(bytes, PIECE);
	const size_t stretch = tcb_most(bytes / STRETCHES, piece), stretches = tcb_div_up(bytes, stretch);
	char got[PIECE];
	for (size_t i = 0; i < stretches && *is_same_out; i++) {
		const size_t in = i == 0 ? 0 : (size_t)tcb_rng_below(rng, stretch - piece + 1);
		const size_t first = i + 1 == stretches ? bytes - piece : tcb_least(i * stretch + in, bytes - piece);
		TCB_TRY(fetch(ctx, operand, first, piece, got, err));
		*is_same_out = memcmp(got, (const char *)right->output.data + first, piece) == 0;
	}
	return TCB_OK;
}

enum tcb_status tcb_look_again(const struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_rng *rng,
			       tcb_fetch_fn *fetch, void *ctx, int *is_same_out, struct tcb_error *err)
{
	size_t bytes = 0;
	*is_same_out = 1;
	for (size_t i = 0; i < instance->output_count; i++) {
		const struct tcb_right *right = &instance->output[i].right;
		*is_same_out &= right->output.map && right->chain <= plan->chain && right->ulps <= plan->ulps;
		bytes += right->output.bytes;
	}
	*is_same_out &= bytes >= BYTES_LEAST;
	for (size_t i = 0; i < instance->output_count && *is_same_out; i++)
		TCB_TRY(look_at(&instance->output[i].right, instance->output[i].operand, rng, fetch, ctx, is_same_out,
				err));
	return TCB_OK;
}
