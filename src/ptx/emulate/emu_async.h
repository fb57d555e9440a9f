/* SPDX-License-Identifier: MIT
 *
 * What the emulator's matrix and asynchronous units share.
 *
 * An mbarrier is its 64 bits in shared memory and nothing else, so that it is
 * found from any block of a cluster and spoiled by a stray store as on a GPU;
 * beside it, by address, stands what its waiters learn (emu_mbarrier.c).
 */
#ifndef TCB_PTX_EMU_ASYNC_H
#define TCB_PTX_EMU_ASYNC_H

#include "ptx/emulate/emu.h"

/* --- emu_mma.c --- */

/* The registers of an operand that may stand without braces. */
static inline const struct tcb_emu_operand *tcb_emu_item(const struct tcb_emu_operand *op, unsigned index)
{
	return op->kind == TCB_EMU_VECTOR ? &op->items[index] : op;
}
static inline unsigned tcb_emu_items(const struct tcb_emu_operand *op)
{
	return op->kind == TCB_EMU_VECTOR ? op->count : 1;
}
/* Whether all 32 lanes execute IN, as .aligned matrix instructions need; a fault else. */
int tcb_emu_whole_warp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active);
/* LANE's address in shared memory's own numbering, from one that is generic when SPACE is no word; a fault when it
 * lies elsewhere. */
uint32_t tcb_emu_shared_address(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in,
				const struct tcb_emu_operand *op, enum tcb_ptx_word space, unsigned lane);

/* --- emu_mbarrier.c --- */

/* Counts BYTES that arrived at the mbarrier at OFFSET of BLOCK, on behalf of IN.  WARP reports what is wrong. */
void tcb_emu_mbarrier_complete(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_block *block,
			       uint32_t offset, uint32_t bytes);

/* --- emu_wgmma.c --- */

/* Whether REG of the running frame is an accumulator that no wgmma.wait_group covers yet. */
int tcb_emu_wgmma_pending(const struct tcb_emu_warp *warp, uint32_t reg);

/* --- emu_mbarrier.c --- */

/* Where the mbarrier of LANE's address, operand 0, lies; 0 after a fault. */
int tcb_emu_mbarrier_find(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane,
			  struct tcb_emu_block **block_out, uint32_t *offset_out);
/* One arrival at the mbarrier at OFFSET of BLOCK, of what the engine did before the tick BEFORE. */
void tcb_emu_mbarrier_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane,
			     struct tcb_emu_block *block, uint32_t offset, uint32_t before);

/* --- emu_tmem.c --- */

/* The cluster is done: what BLOCK has not given back is reported. */
void tcb_emu_tmem_end(struct tcb_emu_block *block);

/* --- emu_tcgen05.c --- */

/* The same of products that no commit tracks. */
void tcb_emu_product05_end(struct tcb_emu_block *block);

#endif
