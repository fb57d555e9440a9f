/* SPDX-License-Identifier: MIT
 *
 * The GPU kit: a ring of tiles in shared memory that tensor copies fill and
 * warpgroups multiply from (wgmma).  Each slot has two mbarriers: full counts the
 * bytes of its copies, empty the warps that are done with it.  One thread fills:
 * it waits for empty, expects the bytes, copies; the others wait for full, multiply,
 * and release.  Both go round on their own.
 */
#ifndef TCB_KERNELS_GPU_TILE_RING_H
#define TCB_KERNELS_GPU_TILE_RING_H

#include "kernels/gpu/barrier.h"

enum {
	TCB_KIT_BOX_BYTES = 128,                    /* of a row of a swizzled tile */
	TCB_KIT_EIGHT_ROWS = 8 * TCB_KIT_BOX_BYTES, /* what the swizzling repeats after */
	TCB_KIT_TILE_BARRIERS = 16                  /* bytes of a slot's barriers */
};

/* Where a thread is in the ring; .u32 */
struct tcb_kit_tiles {
	unsigned stages, slot_bytes;
	kit_op slot, full, empty; /* of the slot in use; full and empty are barriers */
	kit_op slots_end, first_slot, first_full, first_empty;
	kit_op parity;
};

/* The ring whose slots begin at SLOTS, its barriers AT bytes behind MEMORY. */
void tcb_kit_tiles_open(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op slots, kit_op memory, unsigned at);
/* By one thread: RELEASES warps release a slot, which one thread fills, or FILLS warps do. */
void tcb_kit_tiles_init(struct tcb_ptx_build *b, const struct tcb_kit_tiles *r, unsigned releases);
void tcb_kit_tiles_init_for(struct tcb_ptx_build *b, const struct tcb_kit_tiles *r, unsigned fills, unsigned releases);
void tcb_kit_tiles_next(struct tcb_ptx_build *b, struct tcb_kit_tiles *r);
/* The same COUNT times: past what others do. */
void tcb_kit_tiles_skip(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op count);
/* Lane 0's arrival at a barrier of this block: its warp is done with what EMPTY is for. */
void tcb_kit_release(struct tcb_kit *kit, kit_op empty);
/* A box from MAP at coordinates WHERE on its way to the L2. */
void tcb_kit_box_ahead(struct tcb_ptx_build *b, kit_op map, const kit_op *where, unsigned rank);
/* A box from MAP at coordinates WHERE to AT bytes behind SLOT, counted by FULL; BLOCKS as in tcb_kit_copy_bulk. */
void tcb_kit_copy_box(struct tcb_ptx_build *b, kit_op slot, unsigned at, kit_op map, const kit_op *where, unsigned rank,
		      kit_op full, const kit_op *blocks);

/* Upper word of the descriptor of a tile of rows of 128 swizzled bytes; its lower one is the address / 16, and from bit
 * 16 on what the tile's halves are apart where rows run along the result, else 1. */
enum { TCB_KIT_DESCRIPTOR_HIGH = TCB_KIT_EIGHT_ROWS / 16 | 1 << 30 };
kit_op tcb_kit_descriptor(struct tcb_ptx_build *b, kit_op low, kit_op high);
/* SUMS = A * X, and what was there where ADDS holds: by a warpgroup (wgmma) 64 rows by COLUMNS, 16 of k, TYPE ("f16",
 * "bf16") to floats.  A: a descriptor, or four registers.  X: a descriptor; X_IS_TURNED: its rows run along columns. */
void tcb_kit_multiply_group(struct tcb_ptx_build *b, const char *type, unsigned columns, const kit_op *sums, kit_op a,
			    kit_op x, kit_op adds, int x_is_turned);

#endif
