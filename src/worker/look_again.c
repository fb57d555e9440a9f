/* SPDX-License-Identifier: MIT
 *
 * Samples of an output.  In: what was found right, and how to fetch bytes of what
 * is there now; out: whether they are the same.
 */
#include "worker/look_again.h"

#include <string.h>

#include "base/sizes.h"
#include "base/util.h"

/* 2,048 fetches of 16 KiB take some 30 ms from a GPU, most of it for asking. */
enum { STRETCHES = 2048, PIECE = 16 << 10 };

enum tcb_status tcb_look_again(const struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_rng *rng,
			       tcb_fetch_fn *fetch, void *ctx, int *is_same_out, struct tcb_error *err)
{
	const struct tcb_right *right = &instance->right;
	const size_t bytes = right->output.bytes, piece = tcb_least(PIECE, bytes);
	const size_t stretch = tcb_most(bytes / STRETCHES, piece), stretches = tcb_div_up(bytes, stretch);
	char got[PIECE];
	*is_same_out = right->output.map && right->chain <= plan->chain && right->ulps <= plan->ulps;
	for (size_t i = 0; i < stretches && *is_same_out; i++) {
		const size_t slack = i == 0 ? 0 : stretch - piece;
		const size_t at = i * stretch + (slack ? (size_t)tcb_rng_below(rng, slack + 1) : 0);
		const size_t first = i + 1 == stretches ? bytes - piece : tcb_least(at, bytes - piece);
		TCB_TRY(fetch(ctx, first, piece, got, err));
		*is_same_out = memcmp(got, (const char *)right->output.data + first, piece) == 0;
	}
	return TCB_OK;
}
