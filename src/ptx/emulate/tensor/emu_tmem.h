/* SPDX-License-Identifier: MIT
 *
 * Tensor Memory of a block, between emu_tmem.c (allocation, loads and stores)
 * and emu_tcgen05.c (products).  PTX ISA 9.1, 9.7.16.1: 128 lanes of 512 columns
 * of 32 bits; an address is the lane in the upper half and the column in the
 * lower.
 */
#ifndef TCB_PTX_EMU_TMEM_H
#define TCB_PTX_EMU_TMEM_H

#include "ptx/emulate/emu.h"

enum { TCB_EMU_TMEM_LANES = 128, TCB_EMU_TMEM_COLUMNS = 512, TCB_EMU_LANE_SHIFT = 16 };
enum { TCB_EMU_TMEM_UNIT = 32 /* columns that are allocated at once */, TCB_EMU_TMEM_UNITS = 512 / TCB_EMU_TMEM_UNIT };
enum { TCB_EMU_TMEM_QUARTERS = 4 }; /* 32 lanes each, of one warp among four */

struct tcb_emu_product05; /* emu_tcgen05.c */

/* Who wrote and read a column of a quarter last; a tick of 0: nobody. */
struct tcb_emu_tmem_column {
	uint32_t write_tick, read_tick;                            /* of a product: when it was issued, */
	uint32_t done_tick;                                        /* and when it had written */
	uint16_t writer, reader;                                   /* agents; the engine's is RUN.agents - 2 */
	const struct tcb_emu_ins *write_in, *read_in;              /* what did */
	const struct tcb_emu_product05 *written_by, *also_read_by; /* that are not done; NULL: none is */
};

struct tcb_emu_tmem {
	uint32_t cells[TCB_EMU_TMEM_LANES][TCB_EMU_TMEM_COLUMNS];
	uint8_t written[TCB_EMU_TMEM_LANES][TCB_EMU_TMEM_COLUMNS / 8];
	struct tcb_emu_tmem_column column[TCB_EMU_TMEM_QUARTERS][TCB_EMU_TMEM_COLUMNS];
	uint16_t taken;                       /* units */
	uint8_t first_of[TCB_EMU_TMEM_UNITS]; /* units of the allocation that begins here; 0: none does */
	int is_relinquished;                  /* nobody may allocate any more */
	const struct tcb_emu_ins *latest;     /* allocation, for messages */
	struct tcb_emu_warp *latest_warp;
	struct tcb_emu_product05 *first, **end; /* products that are not done, in the order of issue */
};

/* Of a warp. */
struct tcb_emu_tmem_warp {
	uint32_t loads_waited, stores_waited, fenced; /* when it last waited for its own, and fenced behind others */
};

/* NULL: out of memory. */
struct tcb_emu_tmem *tcb_emu_tmem_of(struct tcb_emu_warp *warp);
struct tcb_emu_tmem_warp *tcb_emu_tmem_warp_of(struct tcb_emu_warp *warp);
/* Whether COUNT columns from COLUMN on are allocated; a fault else. */
int tcb_emu_tmem_is_taken(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tmem *m,
			  uint32_t column, uint32_t count);
/* LANE of WARP (TCB_EMU_TMEM_ANY: a collective instruction) touches COUNT columns of QUARTER: what it may not yet see,
 * or overwrite, is reported. */
enum { TCB_EMU_TMEM_ANY = 62 };
void tcb_emu_tmem_touch(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_tmem *m, unsigned lane,
			unsigned quarter, uint32_t column, uint32_t count, int writes);
static inline int tcb_emu_tmem_is_written(const struct tcb_emu_tmem *m, uint32_t lane, uint32_t column)
{
	return m->written[lane][column / 8] >> column % 8 & 1;
}
static inline void tcb_emu_tmem_put(struct tcb_emu_tmem *m, uint32_t lane, uint32_t column, uint32_t value)
{
	m->cells[lane][column] = value;
	m->written[lane][column / 8] |= (uint8_t)(1u << column % 8);
}

#endif
