/* SPDX-License-Identifier: MIT
 *
 * Barriers and the fences that belong to them: addresses come in, waiting loops
 * and scopes go out.
 */
#include "kernels/gpu/barrier.h"

void tcb_kit_barriers_init(struct tcb_ptx_build *b, kit_op first, unsigned count, unsigned arrivals)
{
	for (unsigned i = 0; i < count; i++)
		tcb_ptx_op2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(first, 8 * i), I(arrivals));
}

void tcb_kit_barriers_ready(struct tcb_ptx_build *b)
{
	fence_barriers(b);
	fence_async_shared(b);
}

void tcb_kit_expect(struct tcb_ptx_build *b, kit_op barrier, kit_op bytes)
{
	tcb_ptx_op2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier, bytes);
}

static void wait_for(struct tcb_ptx_build *b, const char *mnemonic, kit_op barrier, kit_op parity)
{
	tcb_ptx_repeat_begin(b);
	tcb_ptx_repeat_end(b, tcb_ptx_not(tcb_ptx_op2(b, mnemonic, barrier, parity)));
}

void tcb_kit_wait(struct tcb_ptx_build *b, kit_op barrier, kit_op parity)
{
	wait_for(b, "mbarrier.try_wait.parity.shared::cta.b64", barrier, parity);
}

void tcb_kit_wait_cluster(struct tcb_ptx_build *b, kit_op barrier, kit_op parity)
{
	wait_for(b, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", barrier, parity);
}

void tcb_kit_block_barrier(struct tcb_ptx_build *b)
{
	tcb_ptx_op1(b, "bar.sync", I(0));
}

void tcb_kit_warp_barrier(struct tcb_ptx_build *b)
{
	tcb_ptx_op1(b, "bar.warp.sync", I(-1));
}

void tcb_kit_cluster_barrier(struct tcb_ptx_build *b)
{
	cluster_arrive(b);
	cluster_wait(b);
}

/* --- the last block --- */

void tcb_kit_last_begin(struct tcb_kit *kit)
{
	tcb_kit_one_begin(kit);
	fence_gpu(&kit->b); /* behind a barrier: of what the other warps stored, too */
}

kit_op tcb_kit_arrive(struct tcb_ptx_build *b, kit_op counter, kit_op last)
{
	const kit_op arrived = u_atomic_count(b, counter, last);
	fence_gpu(b);
	return arrived;
}

void tcb_kit_last_of(struct tcb_kit *kit, kit_op counter, kit_op last, unsigned flag_at)
{
	struct tcb_ptx_build *b = &kit->b;
	const kit_op flag = tcb_ptx_at(kit->shared, flag_at), arrived = tcb_kit_arrive(b, counter, last);
	kit_op seen;
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", flag, arrived);
	tcb_ptx_if_end(b);
	tcb_kit_block_barrier(b);
	seen = tcb_kit_get(b, TCB_KIT_SHARED, "u32", flag);
	tcb_ptx_if_begin(b, u_eq(b, seen, last));
}
