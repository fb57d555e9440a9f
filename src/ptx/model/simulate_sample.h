/* SPDX-License-Identifier: MIT
 *
 * What need not be simulated.  While all warps are in loops whose turns take the
 * same time again and again, one turn is like the next: their registers that
 * control depends on are computed ahead, and the time that the turns would have
 * taken is added up beside the simulation's clock, which does not see it.  So is
 * the time of blocks where as many as run at once have taken the same time
 * twice.
 *
 * Steady means: two stretches of turns took the same time within a hundredth,
 * and the queues of device memory and L2 did not grow by more than that: a loop
 * that lives on what was fetched ahead is not steady yet.  (Where they shrink,
 * memory is not what the loop waits for.)
 */
#ifndef TCB_PTX_SIMULATE_SAMPLE_H
#define TCB_PTX_SIMULATE_SAMPLE_H

#include "ptx/model/simulate_state.h"

void tcb_sim_sampling_init(struct tcb_sim_sampling *sampling);
/* WARP takes the branch back of LOOP at NOW, and is where it goes to. */
void tcb_sim_turned(struct tcb_simulation *s, struct tcb_sim_warp *warp, unsigned loop, double now);
/* WARP does not take it. */
void tcb_sim_left(struct tcb_simulation *s, struct tcb_sim_warp *warp, unsigned loop);
/* WARP ends. */
void tcb_sim_unwatch(struct tcb_simulation *s, struct tcb_sim_warp *warp);
/* A block of RUNNING has ended at NOW, and none has taken its place yet. */
void tcb_sim_block_ended(struct tcb_simulation *s, struct tcb_sim_running *running, double now);

#endif
