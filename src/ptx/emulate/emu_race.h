/* SPDX-License-Identifier: MIT
 *
 * Between emu_race.c (order, reports, global memory) and emu_race_shared.c:
 * accesses, and what is written down of them.
 */
#ifndef TCB_PTX_EMU_RACE_H
#define TCB_PTX_EMU_RACE_H

#include "ptx/emulate/emu_program.h"

enum {
	TCB_EMU_NOBODY = 62 /* no lane in particular */,
	TCB_EMU_MANY = 63,
	TCB_EMU_WAS_STRONG = 64,
	TCB_EMU_WAS_VOLATILE = 128 /* beside a lane */,
	TCB_EMU_OF_BLOCK = 1 /* beside TCB_EMU_WAS_STRONG */,
	TCB_EMU_MANY_WARPS = UINT16_MAX
};
struct tcb_emu_who {
	uint32_t tick; /* 0: nobody */
	uint32_t cluster;
	uint32_t ins; /* its counter; UINT32_MAX: unknown */
	uint16_t agent;
	uint8_t lane;
	uint8_t is_strong; /* TCB_EMU_WAS_STRONG, and TCB_EMU_WAS_VOLATILE or TCB_EMU_OF_BLOCK if it is that */
};

struct tcb_emu_touch {
	struct tcb_emu_warp *warp;
	const struct tcb_emu_ins *in;
	int lane;
	unsigned place; /* the lane, or TCB_EMU_NOBODY */
	unsigned flags;
	int is_equal; /* writes what is there already */
	int is_shared;
	const char *space;
	uint64_t at;
};

/* What may end somebody's wait; atomics say it themselves. */
static inline void tcb_emu_note_change(const struct tcb_emu_touch *a)
{
	if (a->flags & TCB_EMU_WRITE && !a->is_equal &&
	    (!(a->flags & TCB_EMU_ATOMIC) || a->flags & TCB_EMU_ASYNC_AGENT))
		tcb_emu_progress(a->warp->run);
}

/* Copies into device memory are waited for apart from those that only read shared memory. */
static inline uint32_t tcb_emu_agent_of(const struct tcb_emu_touch *a)
{
	if (!(a->flags & (TCB_EMU_ASYNC_AGENT | TCB_EMU_PROXY_ASYNC)))
		return a->warp->agent;
	return a->warp->run->agents - (a->flags & TCB_EMU_WRITE && !a->is_shared ? 3 : 2);
}

static inline struct tcb_emu_who tcb_emu_myself(const struct tcb_emu_touch *a)
{
	const struct tcb_emu_run *run = a->warp->run;

	return (struct tcb_emu_who){ run->tick,
				     run->cluster,
				     a->in->count,
				     (uint16_t)tcb_emu_agent_of(a),
				     (uint8_t)a->place,
				     (uint8_t)((a->flags & (TCB_EMU_ATOMIC | TCB_EMU_STRONG) ? TCB_EMU_WAS_STRONG : 0) |
					       (a->flags & TCB_EMU_VOLATILE ? TCB_EMU_WAS_VOLATILE : 0) |
					       (a->flags & TCB_EMU_BLOCK ? TCB_EMU_OF_BLOCK : 0)) };
}

/* Whether WHO, of LANES (0: any one), is behind LANE of WARP. */
int tcb_emu_are_ordered(const struct tcb_emu_warp *warp, unsigned lane, const struct tcb_emu_who *who, uint32_t lanes);
/* Whether A and WHO are strong accesses that do not race with each other. */
int tcb_emu_are_strong(const struct tcb_emu_touch *a, const struct tcb_emu_who *who);
/* Reports A unless what WRITER did is behind it. */
void tcb_emu_against_writer(const struct tcb_emu_touch *a, const struct tcb_emu_who *writer);
void tcb_emu_race_report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			 const struct tcb_emu_who *who, const char *what, const char *space, uint64_t place,
			 enum tcb_ptx_severity severity);

#endif
