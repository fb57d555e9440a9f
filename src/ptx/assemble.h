/* SPDX-License-Identifier: MIT
 *
 * Assembling PTX with what the machine has: nvJitLink (loaded at run time) or
 * the ptxas program, in a pool of parallel jobs with a time limit each; and
 * occupancy from the assembler's figures, also for devices that are absent.
 */
#ifndef TCB_PTX_ASSEMBLE_H
#define TCB_PTX_ASSEMBLE_H

#include "base/util.h"
#include "ptx/ir.h"

enum tcb_assembler { TCB_ASSEMBLER_NONE, TCB_ASSEMBLER_PTXAS, TCB_ASSEMBLER_NVJITLINK };

/* What the assembler says of one kernel. */
struct tcb_ptx_resources {
	unsigned registers, barriers;
	unsigned spill_store_bytes, spill_load_bytes, stack_bytes;
	unsigned shared_bytes; /* static */
	unsigned constant_bytes;
};

struct tcb_assembly {
	enum tcb_status status;             /* TCB_OK; E_FORMAT: rejected; E_FAILED: timed out or crashed */
	struct tcb_ptx_resources resources; /* of the module's first entry */
	unsigned char *cubin;               /* owned by the assembly */
	size_t cubin_bytes;
	char *log;      /* what the assembler said; owned */
	double seconds; /* wall time of the job */
};

/* Found at run time: PATH, CUDA_HOME, the usual places; TCBTUNE_ASSEMBLER=ptxas|nvjitlink forces one. */
struct tcb_assembler_info {
	enum tcb_assembler kind;
	char path[512];
	unsigned version; /* 130 for 13.0 */
	unsigned targets[32];
	unsigned target_count; /* capabilities that it knows: 75, 80, ... */
};
enum tcb_status tcb_assembler_find(struct tcb_assembler_info *out, struct tcb_error *err);

/* One job, in the calling thread. */
void tcb_assemble(const struct tcb_assembler_info *info, const char *ptx, size_t length,
		  const struct tcb_ptx_target *target, double seconds_limit, struct tcb_assembly *out);
void tcb_assembly_fini(struct tcb_assembly *assembly);

/* A pool of WORKERS threads.  Results come in the order of submission. */
struct tcb_assemble_pool;
enum tcb_status tcb_assemble_pool_create(const struct tcb_assembler_info *info, unsigned workers, double seconds_limit,
					 struct tcb_assemble_pool **out, struct tcb_error *err);
void tcb_assemble_pool_destroy(struct tcb_assemble_pool *pool); /* stops what runs */
/* PTX is copied.  Blocks while 4 * WORKERS jobs wait. */
enum tcb_status tcb_assemble_submit(struct tcb_assemble_pool *pool, const char *ptx, size_t length,
				    const struct tcb_ptx_target *target, struct tcb_error *err);
/* The oldest job's result (the caller finishes it); TCB_E_NOT_FOUND when none was submitted. */
enum tcb_status tcb_assemble_next(struct tcb_assemble_pool *pool, struct tcb_assembly *out, struct tcb_error *err);

/* occupancy.c: resident blocks an SM by cuda_occupancy.h, and what limits them. */
struct tcb_occupancy {
	unsigned blocks, warps; /* an SM */
	unsigned warps_max;     /* of the device */
	const char *limiter;    /* "registers", "shared memory", "warps", "blocks" */
};
enum tcb_status tcb_occupancy(unsigned capability, const struct tcb_ptx_resources *resources, unsigned block_threads,
			      size_t dynamic_shared, struct tcb_occupancy *out, struct tcb_error *err);

#endif
