/* SPDX-License-Identifier: MIT
 *
 * Assembling PTX with what the machine has: nvJitLink (loaded at run time) or
 * the ptxas program, in a pool of parallel jobs with a time limit each; and
 * occupancy from the assembler's figures, also for devices that are absent.
 *
 * An assembler is not trusted: ptxas is a process of its own, and nvJitLink
 * runs in forked servers, so a crash or a hang costs one job.  A server stays
 * alive from job to job, which makes nvJitLink the faster of the two for many
 * kernels; for a single one ptxas is.
 *
 * Two ways to compile: as a whole program, which is what nvcc does with a file
 * of its own, and as an object that is linked with others (nvcc -rdc=true).
 * The same kernel may take other registers in each: an object calls by the
 * ABI, which takes 24 of them.  Whole programs are compiled unless flags say -c,
 * or an nvJitLink before 12.4 cannot.
 *
 *     tcb_assembler_find(&info, err);
 *     tcb_assemble(&info, ptx, length, &target, 30, &assembly);
 *     if (assembly.status == TCB_OK) ... assembly.resources.registers ...
 *     tcb_assembly_fini(&assembly);
 */
#ifndef TCB_PTX_ASSEMBLE_H
#define TCB_PTX_ASSEMBLE_H

#include "base/util.h"
#include "ptx/ir/finding.h"
#include "ptx/ir/ir.h"

enum { TCB_ASSEMBLE_FLAGS_MAX = 512 };

enum tcb_assembler { TCB_ASSEMBLER_NONE, TCB_ASSEMBLER_PTXAS, TCB_ASSEMBLER_NVJITLINK };

/* What the assembler says of one kernel. */
struct tcb_ptx_resources {
	unsigned registers, barriers;
	unsigned spill_store_bytes, spill_load_bytes, stack_bytes;
	unsigned call_stack_bytes; /* with the frames of what it calls; 0: not said */
	unsigned shared_bytes;     /* static */
	unsigned constant_bytes;
};

struct tcb_assembly {
	enum tcb_status status;             /* TCB_OK; E_FORMAT: rejected; E_FAILED: no result, see LOG */
	int timed_out;                      /* of E_FAILED: the time limit, not a crash */
	int is_whole;                       /* compiled as a whole program */
	struct tcb_ptx_resources resources; /* of the module's first entry */
	unsigned char *cubin;               /* owned by the assembly */
	size_t cubin_bytes;
	char *log;      /* what the assembler said, and why it ended; owned, NULL without memory */
	double seconds; /* wall time of the job */
};

/* assemble_find.c: PATH, the loader's path, CUDA_HOME, CUDA_PATH and the usual places, nvJitLink before ptxas.
 * TCBTUNE_ASSEMBLER=ptxas|nvjitlink|none, or the path of one of them, forces it.  TCB_E_NOT_FOUND says what to
 * install. */
struct tcb_assembler_info {
	enum tcb_assembler kind;
	char path[512];
	unsigned version;     /* 130 for 13.0; 0 unknown */
	unsigned targets[32]; /* capabilities that it knows, ascending: 75, 80, ... */
	unsigned target_count;
	const struct tcb_nvjitlink *library; /* of NVJITLINK; lent, loaded until the process ends */
};
enum tcb_status tcb_assembler_find(struct tcb_assembler_info *out, struct tcb_error *err);
/* The same, but where nothing is forced FIRST comes before the other. */
enum tcb_status tcb_assembler_find_first(enum tcb_assembler first, struct tcb_assembler_info *out,
					 struct tcb_error *err);
/* The same for one kind only (or the environment's path of that kind): for tests and the doctor. */
enum tcb_status tcb_assembler_find_kind(enum tcb_assembler kind, struct tcb_assembler_info *out, struct tcb_error *err);
int tcb_assembler_knows(const struct tcb_assembler_info *info, unsigned capability);
const char *tcb_assembler_text(enum tcb_assembler kind); /* "ptxas", "nvJitLink", "none" */

/* How somebody's build compiles. */
struct tcb_assemble_build {
	int is_whole; /* as a whole program, if the assembler can; the assembly says whether it did */
	char flags[TCB_ASSEMBLE_FLAGS_MAX]; /* ptxas' own, a NUL after each, ended by an empty one */
};
/* assemble_flags.c: the flags of a whole program's build in TEXT (NULL: none), separated by spaces, or by commas as of
 * nvcc --ptxas-options; -c makes it an object.  TCB_E_USAGE for those that say what is read and written. */
enum tcb_status tcb_assemble_build(const char *text, struct tcb_assemble_build *out, struct tcb_error *err);

/* assemble_front.c: one job, in the calling thread; a whole program, as sweeps compile. */
void tcb_assemble(const struct tcb_assembler_info *info, const char *ptx, size_t length,
		  const struct tcb_ptx_target *target, double seconds_limit, struct tcb_assembly *out);
/* As BUILD says. */
void tcb_assemble_as(const struct tcb_assembler_info *info, const char *ptx, size_t length,
		     const struct tcb_ptx_target *target, const struct tcb_assemble_build *build, double seconds_limit,
		     struct tcb_assembly *out);
void tcb_assembly_fini(struct tcb_assembly *assembly);

/* assemble_pool.c: WORKERS threads, each with an assembler of its own.  Results come in the order of submission.  One
 * thread submits and takes results. */
struct tcb_assemble_pool;
enum tcb_status tcb_assemble_pool_create(const struct tcb_assembler_info *info, unsigned workers, double seconds_limit,
					 struct tcb_assemble_pool **out, struct tcb_error *err);
void tcb_assemble_pool_destroy(struct tcb_assemble_pool *pool); /* stops what runs; NULL is fine */
/* PTX is copied.  Blocks while 4 * WORKERS jobs wait. */
enum tcb_status tcb_assemble_submit(struct tcb_assemble_pool *pool, const char *ptx, size_t length,
				    const struct tcb_ptx_target *target, struct tcb_error *err);
/* Waits for the oldest job's result, no longer than until DEADLINE_NS of tcb_clock_ns; is it there?  Also where no job
 * is left, about which tcb_assemble_next complains. */
int tcb_assemble_wait(struct tcb_assemble_pool *pool, uint64_t deadline_ns);
/* Waits for the oldest job's result (the caller finishes it); TCB_E_NOT_FOUND when none is left. */
enum tcb_status tcb_assemble_next(struct tcb_assemble_pool *pool, struct tcb_assembly *out, struct tcb_error *err);

/* The figures of ENTRY, or of the first one when ENTRY is NULL; 0 when there is none of that name. */
int tcb_assembly_resources(const struct tcb_assembly *assembly, const char *entry, struct tcb_ptx_resources *out);
/* assemble_log.c: what it says of each function that is no entry and was not inlined; TCB_E_NOMEM, else TCB_OK.  The
 * names lie in the log.  Of a function that several kernels have a copy of, the most. */
struct tcb_ptx_called {
	const char *name;
	size_t name_length;
	unsigned registers; /* 0: those of its callers, which are compiled with it (a whole program) */
	unsigned spill_store_bytes, spill_load_bytes, stack_bytes;
};
enum tcb_status tcb_assembly_functions(const struct tcb_assembly *assembly, struct tcb_ptx_called **out,
				       size_t *count_out, struct tcb_error *err); /* free *OUT */
/* assemble_log.c: each error and warning of the log as a finding (rule ASSEMBLER, with the line); returns the number of
 * errors. */
unsigned tcb_assemble_log_findings(const char *log, const struct tcb_ptx_sink *sink);

/* occupancy.c: blocks that are resident on an SM, and what limits them: the toolkit's own cuda_occupancy.h where the
 * build had one, else the same rules written down; a table of the devices' limits either way. */
struct tcb_occupancy {
	unsigned blocks, warps; /* an SM; 0 blocks: such a block cannot be launched */
	unsigned warps_max;     /* of the device */
	const char *limiter;    /* "registers", "shared memory", "warps", "blocks", "barriers" */
};
/* TCB_E_UNSUPPORTED for a capability that the table lacks. */
enum tcb_status tcb_occupancy(unsigned capability, const struct tcb_ptx_resources *resources, unsigned block_threads,
			      size_t dynamic_shared, struct tcb_occupancy *out, struct tcb_error *err);

#endif
