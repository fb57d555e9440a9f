/* SPDX-License-Identifier: MIT
 *
 * What a memory instruction will cost, without running it: the wavefronts of
 * shared memory and the 32-byte sectors of global memory that one execution by
 * all warps of a block takes, against the least that its bytes need.
 *
 * Shared memory has 32 banks of 4 bytes.  Accesses of 8 bytes go by half warps,
 * of 16 bytes by quarter warps; loads in which lanes pairwise agree, by twice as
 * many lanes at a time.  Each part takes as many wavefronts as the busiest bank
 * holds different words.  ldmatrix and stmatrix take the addresses of 8 lanes
 * for each matrix.
 */
#ifndef TCB_PTX_PREDICT_H
#define TCB_PTX_PREDICT_H

#include "ptx/analyse/values/affine.h"

enum tcb_ptx_certainty {
	TCB_PTX_UNPREDICTED,  /* the addresses are not known well enough */
	TCB_PTX_IF_ALL_THERE, /* when all threads that may be there are */
	TCB_PTX_PREDICTED
};

struct tcb_ptx_prediction {
	enum tcb_ptx_certainty certainty;
	enum tcb_ptx_word space; /* SHARED: counts are wavefronts; GLOBAL: sectors; NO_WORD: unknown */
	unsigned bytes;          /* per thread */
	int assumes;             /* holds unless index arithmetic wraps around */
	uint32_t warps;          /* of a block that execute it */
	uint64_t least, most;    /* of all of them together; they differ where the alignment of a pointer decides */
	uint64_t ideal;
	uint32_t worst, worst_ideal; /* of the warp that is farthest from its ideal, in the best case */
};

/*
 * wavefronts.c: lanes whose access of BYTES shared memory serves together.  A load in which every active lane has the
 * address of lane ^ 1, or every one that of lane ^ 2, unless that one is not active, is served twice as many lanes at a
 * time: two registers fit where the data of two lanes are the same.
 */
unsigned tcb_ptx_lanes_together(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, int is_load);
/* Wavefronts of one warp's access of BYTES (1 to 16) by the lanes in ACTIVE; what it would be without conflicts in
 * *IDEAL (which may be NULL). */
unsigned tcb_ptx_wavefronts(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, int is_load,
			    unsigned *ideal);
/* Sectors that it touches in global memory, and the least for as many different bytes. */
unsigned tcb_ptx_sectors(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, unsigned *ideal);

/* What operand INDEX of INS costs; 0 when it is no access of shared or global memory by the thread's own addresses. */
int tcb_ptx_predict(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, unsigned index,
		    struct tcb_ptx_prediction *out);
/* Reports BANK_CONFLICT and UNCOALESCED (advice) for all of FUNCTION. */
enum tcb_status tcb_ptx_predict_all(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				    const struct tcb_ptx_sink *sink, struct tcb_error *err);

#endif
