/* SPDX-License-Identifier: MIT
 *
 * Tiles of matrices in shared memory, as the descriptors of wgmma and tcgen05
 * name them: whether they may be read, and their numbers.
 */
#ifndef TCB_PTX_EMU_TILE_H
#define TCB_PTX_EMU_TILE_H

#include "ptx/emulate/emu.h"
#include "ptx/emulate/tensor/emu_matrix.h"

struct tcb_emu_tile {
	struct tcb_ptx_matrix_descriptor at;
	enum tcb_ptx_word type;
	int padded;           /* as that of a product */
	int is_b;             /* rows are B's columns, and come out as [k][row], not as [row][k] */
	int k_major;          /* k runs fastest */
	unsigned first, rows; /* of M or N */
	unsigned k;
};

/* Checks that WARP may read TILE and records that tensor cores do; 0 after a fault. */
int tcb_emu_tile_check(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile);
/* The numbers of a TILE that was checked; 0 after a fault. */
int tcb_emu_tile_read(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile,
		      double *out);
/* The same of types that a float holds. */
int tcb_emu_tile_near(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile,
		      float *out);

#endif
