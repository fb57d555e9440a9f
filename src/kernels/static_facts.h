/* SPDX-License-Identifier: MIT
 *
 * What is known of a kernel for a GPU before it runs: from its PTX, and from what assembled it.
 */
#ifndef TCB_KERNELS_STATIC_FACTS_H
#define TCB_KERNELS_STATIC_FACTS_H

#include "kernels/op.h"
#include "ptx/assemble/assemble.h"

/* X(name, what it is): as conditions and counters call it. */
#define TCB_FACT_LIST(X)                                                                                           \
	X(registers, "of a thread, as the assembler says; without one as it is estimated")                         \
	X(spills, "bytes that a thread moves to local memory and back, in the text; needs an assembler")           \
	X(occupancy, "share of a multiprocessor's warps that are resident, 0 to 1")                                \
	X(blocks, "that are resident on a multiprocessor")                                                         \
	X(threads, "of a block")                                                                                   \
	X(shared, "bytes of shared memory of a block")                                                             \
	X(bank_conflicts, "accesses of shared memory in the text that take more wavefronts than their bytes need") \
	X(conflict_ways, "of the worst of them: its wavefronts over those that it needs; 1: there is none")        \
	X(uncoalesced, "accesses of global memory in the text that touch more sectors than hold their bytes")      \
	X(sector_ways, "of the worst of them: its sectors over those that it needs; 1: there is none")             \
	X(unpredicted, "accesses of either whose addresses are not known well enough to tell")                     \
	X(instructions, "in the text")

enum tcb_fact {
#define TCB_FACT_ENUM(name, help) TCB_FACT_##name,
	TCB_FACT_LIST(TCB_FACT_ENUM)
#undef TCB_FACT_ENUM
		TCB_FACT_COUNT
};
extern const char *const tcb_fact_names[TCB_FACT_COUNT];

/* Of launches together: the most of each, but of accesses and instructions the sum, and the least occupancy. */
struct tcb_static_facts {
	double value[TCB_FACT_COUNT]; /* NaN: unknown */
};

/* Of KERNEL, whose code is not to be printed afterwards.  One that is not in PTX has none. */
enum tcb_status tcb_static_facts_of(const struct tcb_kernel *kernel, const struct tcb_target *target,
				    struct tcb_static_facts *out, struct tcb_error *err);
/* What an assembler says of the last of its launches, which is the largest, in place of what is estimated; RESOURCES
 * without registers: nothing. */
void tcb_static_facts_assembled(struct tcb_static_facts *facts, const struct tcb_target *target,
				const struct tcb_ptx_resources *resources, unsigned block_threads,
				size_t dynamic_shared);
/* Both, of a candidate. */
enum tcb_status tcb_static_facts_find(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry, const struct tcb_ptx_resources *resources,
				      struct tcb_static_facts *out, struct tcb_error *err);

/* Candidates that are not wanted, whatever they take. */
struct tcb_require {
	void *ctx;
	/* *MEETS_OUT, and if not, WHY.  A failure: it cannot be told. */
	enum tcb_status (*judge)(void *ctx, const struct tcb_static_facts *facts, int *meets_out, char why[160],
				 struct tcb_error *err);
};

#endif
