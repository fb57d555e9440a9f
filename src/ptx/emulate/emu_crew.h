/* SPDX-License-Identifier: MIT
 *
 * Several threads that run the clusters of one launch: emu_crew.c and
 * emu_claim.c.
 */
#ifndef TCB_PTX_EMU_CREW_H
#define TCB_PTX_EMU_CREW_H

#include <stdatomic.h>

#include "ptx/emulate/emu_program.h"

struct tcb_emu_crew {
	_Atomic uint64_t next; /* the cluster that whoever is free takes, from 0 */
	_Atomic uint64_t done; /* clusters */
	atomic_int has_given_up;
};

/* emu_crew.c */
/* Runs the launch by run->launch->threads threads, as one would; 0: its clusters are not independent, or nothing is
 * gained, and all is as before. */
int tcb_emu_crew_run(struct tcb_emu_run *run);

/* emu_claim.c */
extern const uint32_t tcb_emu_claim_clusters; /* most that can be told apart */

#endif
