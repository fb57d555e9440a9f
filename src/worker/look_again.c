/* SPDX-License-Identifier: MIT
 *
 * Samples of an output.  In: what was found right, and how to fetch bytes of what
 * is there now; out: whether they are the same.
 */
#include "worker/look_again.h"

#include <string.h>

#include "base/sizes.h"
#include "base/util.h"

/* 2,048 fetches of 16 KiB are taken to cost some 30 ms of a GPU's time, most of it for asking. */
enum { STRETCHES = 2048, PIECE = 16 << 10, BYTES_LEAST = 256 << 20 };

enum tcb_status tcb_look_again(const struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_rng *rng,
			       tcb_fetch_fn *fetch, void *ctx, int *is_same_out, struct tcb_error *err)
{
	const struct tcb_right *right = &instance->right;
	const size_t bytes = right->output.bytes, stretch = tcb_most(bytes / STRETCHES, 1),
		     stretches = tcb_div_up(bytes, stretch);
	char got[PIECE];
	*is_same_out =
		bytes >= BYTES_LEAST && right->output.map && right->chain <= plan->chain && right->ulps <= plan->ulps;
	for (size_t i = 0; i < stretches && *is_same_out; i++) {
		const size_t in = i == 0 ? 0 : (size_t)tcb_rng_below(rng, stretch - PIECE + 1);
		const size_t first = i + 1 == stretches ? bytes - PIECE : tcb_least(i * stretch + in, bytes - PIECE);
		TCB_TRY(fetch(ctx, first, PIECE, got, err));
		*is_same_out = memcmp(got, (const char *)right->output.data + first, PIECE) == 0;
	}
	return TCB_OK;
}
