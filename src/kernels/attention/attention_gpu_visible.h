/* SPDX-License-Identifier: MIT
 *
 * attention_visible (attention.h) in a GPU kernel, for decode and prefill alike.
 */
#ifndef TCB_KERNELS_ATTENTION_GPU_VISIBLE_H
#define TCB_KERNELS_ATTENTION_GPU_VISIBLE_H

#include "kernels/gpu/values.h"

/* What query token I of M sees in a sequence of LENGTH: *BEGIN <= t < *END, .s32.  WINDOW: 0 for none; PREFIX: .s32,
 * NULL for none, and there is none but with IS_CAUSAL. */
static inline void attention_visible_write(struct tcb_ptx_build *b, int is_causal, unsigned window,
					   const kit_op *prefix, kit_op length, kit_op m, kit_op i, kit_op *begin,
					   kit_op *end)
{
	const kit_op next = s_add(b, s_sub(b, length, m), u_add(b, i, I(1)));
	*end = is_causal ? s_max(b, next, I(0)) : length;
	if (prefix)
		*end = s_max(b, *end, s_min(b, *prefix, length));
	*begin = window ? s_max(b, s_sub(b, next, I(window)), I(0)) : u_set(b, I(0));
	if (window)
		*begin = s_min(b, *begin, *end);
}

#endif
