/* SPDX-License-Identifier: MIT
 *
 * Inside of the emulator's own files: a decoded program, device memory, and the
 * steps of a launch.  Units need emu.h only.
 */
#ifndef TCB_PTX_EMU_PROGRAM_H
#define TCB_PTX_EMU_PROGRAM_H

#include "ptx/emulate/emu.h"

/* Windows of generic addresses beside those of emu.h: parameters of the kernel, and functions. */
#define TCB_EMU_PARAM_WINDOW (3ull << 56)
#define TCB_EMU_FUNCTION_WINDOW (4ull << 56)

enum {
	TCB_EMU_LOCAL_START = 1024,    /* the first address of local memory */
	TCB_EMU_LOCAL_ADDRESS = 0x1000 /* as the special register of an operand: an address in the frame's variables */
};

/* A place that holds a variable's address, which is known when a launch begins. */
struct tcb_emu_fixup {
	struct tcb_emu_fixup *next;
	uint32_t variable;
	int64_t add;
	int64_t *where;      /* an operand's displacement, or */
	uint32_t pool_place; /* 32 lanes in the pool */
	unsigned bits;
};

/* A variable of the module that the program uses, directly or through an initialiser. */
struct tcb_emu_variable {
	const struct tcb_ptx_symbol *symbol;
	uint64_t address; /* in the memory of the last launch */
};

enum { TCB_EMU_REPORTED_WORDS = (TCB_PTX_RULE_COUNT + 63) / 64 };

struct tcb_ptx_program {
	struct tcb_arena arena;
	struct tcb_ptx_module *module;
	struct tcb_emu_function **functions; /* the entry first */
	uint32_t function_count;
	size_t function_capacity;
	uint8_t *pool; /* immediates */
	size_t pool_bytes, pool_capacity;
	struct tcb_emu_variable *variables;
	uint32_t variable_count;
	size_t variable_capacity;
	struct tcb_emu_fixup *fixups;
	uint32_t shared_static;              /* bytes; dynamic shared memory follows */
	uint32_t dynamic_offset;             /* where it begins */
	unsigned shared_grain, global_grain; /* least size of an access: the shadow's resolution */
	uint32_t param_bytes;
	int reads_async; /* copies or wgmma read shared memory: fences between the proxies are checked */
	int waits_for_launch, has_setmaxnreg;
	int has_fences;                /* that make relaxed accesses pass on what they have behind them */
	int has_own_scope;             /* a fence, atomic or flag tells its own block only */
	int has_strong;                /* there are accesses to memory by which blocks may wait for each other */
	int clusters_depend;           /* on each other, in a launch that several threads tried */
	uint32_t registers_taken;      /* the most that a setmaxnreg takes for a thread */
	struct tcb_ptx_counts *counts; /* all functions', the entry's first */
	uint64_t *reported;            /* bits of rules, TCB_EMU_REPORTED_WORDS by counter */
	uint32_t count_total;
};

struct tcb_emu_region {
	uint64_t address;
	uint64_t bytes;
	uint8_t *host;
	enum tcb_ptx_permission permission;
	char name[48];
	int is_owned;
	const struct tcb_ptx_texture *texture; /* NULL: it is none; lent */
	/* while a kernel with griddepcontrol.wait runs: who read it first before the wait, whether it was written */
	const struct tcb_emu_ins *early;
	int is_written;
	uint8_t *sides; /* by grain: what was done to it; NULL before the first: emu_launch.c */
	/* who wrote and read it during this launch; NULL until the first write: emu_race.c */
	struct tcb_emu_cell *cells;
	/* which cluster touched what while several threads run: emu_claim.c */
	uint64_t *claims;
};

/* Findings that wait until it is known that the launch is not done again. */
struct tcb_emu_found_item {
	struct tcb_ptx_finding finding;
	uint32_t cluster;
	uint32_t count; /* the instruction's counter; UINT32_MAX: it is of none */
};

struct tcb_emu_found {
	struct tcb_emu_found_item *items;
	size_t count, capacity, told;
	int has_failed; /* one is missing: out of memory */
};

struct tcb_emu_loaded { /* a module whose variables live in the memory */
	const struct tcb_ptx_module *module;
	const struct tcb_ptx_symbol *symbol;
	uint64_t address;
};

struct tcb_ptx_memory {
	struct tcb_emu_region *regions; /* by address */
	uint32_t region_count;
	size_t region_capacity;
	uint64_t next;
	struct tcb_emu_loaded *loaded;
	uint32_t loaded_count;
	size_t loaded_capacity;
};

/* --- emu_decode.c --- */
enum tcb_status tcb_emu_decode(struct tcb_ptx_program *program, struct tcb_ptx_function *entry, struct tcb_error *err);

/* --- emu_functions.c: the function's index; a new one is decoded later. --- */
enum tcb_status tcb_emu_function_index(struct tcb_ptx_program *program, struct tcb_ptx_function *function,
				       uint32_t *index_out, struct tcb_error *err);

/* A variable that a call passes: bytes in a frame, or a register. */
struct tcb_emu_passed {
	uint32_t formal, bytes; /* in the callee's frame */
	uint32_t actual;        /* in the caller's frame */
	int is_register;
	struct tcb_emu_operand op;
};

struct tcb_emu_passing {
	struct tcb_emu_passed *args, *results;
	uint32_t arg_count, result_count;
	uint64_t bytes; /* of the callee's frame that they take */
};

/* The byte at OFFSET of LANE's local memory. */
static inline uint8_t *tcb_emu_frame_at(struct tcb_emu_warp *warp, unsigned lane, uint32_t offset)
{
	return warp->local + (size_t)lane * warp->local_bytes + offset;
}
/* Of a call that a system function executes: an argument (by number, from 0), and its result if the call takes one. */
uint64_t tcb_emu_argument(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned index, unsigned lane);
void tcb_emu_answer(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint64_t value);
/* Whether FUNCTION has a body in PROGRAM's module. */
int tcb_emu_has_body(const struct tcb_ptx_program *program, struct tcb_ptx_function *function);

/* --- emu_system.c: what executes a call of a function that the driver brings, and how many arguments it takes;
 * NULL: there is no such function --- */
tcb_emu_run_fn *tcb_emu_system_function(const char *name, unsigned *arguments_out);

/* --- emu_operand.c --- */
enum tcb_status tcb_emu_operands(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err);
/* One operand that an instruction of TYPE sees. */
enum tcb_status tcb_emu_operand(struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op,
				const struct tcb_ptx_operand *from, enum tcb_ptx_word type, struct tcb_error *err);
/* Where a variable is: its window's address, or an index of program->variables. */
enum tcb_emu_where { TCB_EMU_IN_VARIABLES, TCB_EMU_IN_SHARED, TCB_EMU_IN_FRAME, TCB_EMU_IN_PARAMS, TCB_EMU_IN_CODE };
enum tcb_status tcb_emu_place(struct tcb_emu_decoder *decoder, const struct tcb_ptx_symbol *symbol,
			      enum tcb_emu_where *where_out, uint64_t *at_out, struct tcb_error *err);
/* Bytes of local memory that a call of FUNCTION needs for a thread. */
uint64_t tcb_emu_frame_bytes(const struct tcb_ptx_function *function);
/* 32 equal lanes of BITS (1, 32 or 64) in the pool; UINT32_MAX when memory is exhausted. */
uint32_t tcb_emu_pool(struct tcb_ptx_program *program, unsigned bits, uint64_t value);

/* --- emu_device.c: device memory and variables --- */
struct tcb_emu_region *tcb_emu_region_find(struct tcb_ptx_memory *memory, uint64_t address);
/* Gives each variable of PROGRAM an address in MEMORY, with its initial value when it is new there. */
enum tcb_status tcb_emu_load_variables(struct tcb_ptx_program *program, struct tcb_ptx_memory *memory,
				       struct tcb_error *err);

/* --- emu_kept.c: a copy of all that may be written; NULL: out of memory --- */
uint8_t *tcb_emu_keep(struct tcb_ptx_memory *memory);
void tcb_emu_restore(struct tcb_ptx_memory *memory, uint8_t *kept);
int tcb_emu_is_as_kept(struct tcb_ptx_memory *memory, uint8_t *kept);
/* RUN->kept is what memory holds; 0: out of memory. */
int tcb_emu_run_keep(struct tcb_emu_run *run);

/* --- emulate_front.c --- */
/* As tcb_ptx_emulate; KEPT (lent) is what memory holds, NULL: it has not been kept. */
enum tcb_status tcb_emu_launch(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
			       struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink, uint8_t *kept,
			       struct tcb_ptx_emulation *out, struct tcb_error *err);

/* --- emu_clusters.c --- */
uint32_t tcb_emu_block_warps(const struct tcb_ptx_launch *launch);
/* Clusters FIRST to END - 1 run together to their end.  What warps take turns in is decided by the seed and the first
 * of them, whoever ran before. */
void tcb_emu_run_clusters(struct tcb_emu_run *run, uint64_t first, uint64_t end);
void tcb_emu_counts_add(struct tcb_ptx_counts *to, const struct tcb_ptx_counts *part);

/* --- emu_claim.c: several threads --- */
/* What WARP does next would depend on other clusters: the launch is left to one thread.  Returns 0. */
int tcb_emu_give_up(struct tcb_emu_warp *warp);
int tcb_emu_has_given_up(const struct tcb_emu_run *run);
/* Whether BYTES may be touched so by WARP's cluster, which then has them; 0: it gave up. */
int tcb_emu_claim(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_region *region,
		  uint64_t offset, unsigned bytes, unsigned flags);
/* Whether the running cluster is the only one that touched CELL. */
int tcb_emu_is_claimed(const struct tcb_emu_run *run, const struct tcb_emu_region *region, uint64_t cell);

/* --- emu_report.c --- */
/* ITEM goes to RUN's sink unless the like of it has been there. */
void tcb_emu_found_tell(struct tcb_emu_run *run, const struct tcb_emu_found_item *item);
void tcb_emu_found_fini(struct tcb_emu_found *found);

/* --- emu_schedule.c --- */
/* Warp instructions that a launch may execute. */
uint64_t tcb_emu_step_limit(const struct tcb_emu_run *run);
int tcb_emu_block_start(struct tcb_emu_run *run, struct tcb_emu_block *block, uint32_t rank, const uint32_t *ctaid);
void tcb_emu_cluster_run(struct tcb_emu_run *run);
void tcb_emu_cluster_end(struct tcb_emu_run *run);

/* --- emu_split.c: splits and frames --- */
void tcb_emu_split_load(struct tcb_emu_warp *warp, uint32_t index);
void tcb_emu_split_save(struct tcb_emu_warp *warp);
/* Adds a split; the caller removes lanes from the running one. */
struct tcb_emu_split *tcb_emu_split_add(struct tcb_emu_warp *warp, uint32_t mask, uint32_t pc,
					struct tcb_emu_frame *frame, struct tcb_emu_join *join);
/* The running split is no more. */
void tcb_emu_split_drop(struct tcb_emu_warp *warp);
struct tcb_emu_frame *tcb_emu_frame_new(struct tcb_emu_warp *warp, const struct tcb_emu_function *function,
					struct tcb_emu_frame *caller, uint32_t lanes);

/* --- emu_known.c: the lanes of ACTIVE, which IN's guard lets do it, that know what IN takes; ends the split where
 * nobody can say how it goes on --- */
uint32_t tcb_emu_known_lanes(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active);

/* --- emu_control.c --- */
tcb_emu_run_fn tcb_emu_run_join, tcb_emu_run_exit, tcb_emu_run_return;

/* --- emu_barrier.c --- */
struct tcb_emu_barrier *tcb_emu_barriers_new(struct tcb_emu_block *block);
/* Lanes have exited: barriers that waited for them may be complete. */
void tcb_emu_barrier_recheck(struct tcb_emu_block *block);
/* What SPLIT waits for, for a message. */
void tcb_emu_barrier_describe(const struct tcb_emu_warp *warp, const struct tcb_emu_split *split, char *out,
			      size_t size);
/* --- emu_lanes.c --- */
/* Lanes have exited: those of their warp that waited for them may go on. */
void tcb_emu_sync_recheck(struct tcb_emu_warp *warp);
/* Lanes that wait for others of their warp go on without them; 0 when there are none. */
int tcb_emu_sync_give_up(struct tcb_emu_block *block);

/* --- emu_race.c --- */
int tcb_emu_races_begin(struct tcb_emu_run *run);
void tcb_emu_races_end(struct tcb_emu_run *run);
/* REGION's cells; 0: it has none. */
int tcb_emu_cells(struct tcb_emu_run *run, struct tcb_emu_region *region);
/* Checks and records one access that lies within REGION.  VALUE is what will be written there (NULL: unknown). */
void tcb_emu_race_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			 struct tcb_emu_region *region, uint64_t offset, unsigned bytes, unsigned flags,
			 const void *value);
/* Whether any of the bytes was written in this launch. */
int tcb_emu_race_written(const struct tcb_emu_run *run, const struct tcb_emu_region *region, uint64_t offset,
			 unsigned bytes);

/* --- emu_race_shared.c --- */
int tcb_emu_shadow_start(struct tcb_emu_block *block);
void tcb_emu_shadow_end(struct tcb_emu_block *block);
void tcb_emu_shadows_free(struct tcb_emu_run *run);
/* As tcb_emu_race_global, of BLOCK's shared memory. */
void tcb_emu_race_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, struct tcb_emu_block *block,
			 uint32_t offset, unsigned bytes, unsigned flags, const void *value);
/* The same of an ordinary read by LANES, some, of the same BYTES of their block. */
void tcb_emu_race_shared_by_all(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes,
				uint32_t offset, unsigned bytes);
/* The same of ordinary loads of ACTIVE, and of stores, which are done then, in the warp's own shared memory. */
void tcb_emu_race_shared_loads(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			       uint32_t active, unsigned bytes);
void tcb_emu_race_shared_stores(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
				uint32_t active, unsigned bytes, const uint8_t (*value)[TCB_EMU_BYTES_MAX]);
/* The same of reads of BYTES at each of COUNT addresses in the warp's own shared memory by tensor cores. */
void tcb_emu_race_shared_chunks(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
				unsigned count, unsigned bytes);

/* --- emu_access.c --- */
/* What tells LANE's generic addresses of local memory from other threads'. */
uint64_t tcb_emu_local_owner(const struct tcb_emu_warp *warp, unsigned lane);
uint8_t *tcb_emu_local(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
		       unsigned bytes, unsigned align);

/* --- emu_memory.c --- */
/* Sets a (space), b (bytes of an element), c (elements) and d (STRONG or not) for the address that is operand INDEX. */
enum tcb_status tcb_emu_bind_access(struct tcb_emu_ins *in, unsigned index, struct tcb_error *err);
/* The host bytes of an access so bound. */
uint8_t *tcb_emu_at(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint64_t address,
		    unsigned bytes, unsigned flags, const void *value);

/* --- emu_order.c --- */
void tcb_emu_places_fold(struct tcb_emu_run *run);
void tcb_emu_places_free(struct tcb_emu_run *run);

/* --- emu_copy.c --- */
/* The copies of lanes that exit complete; nobody can wait for them any more. */
void tcb_emu_copies_end(struct tcb_emu_warp *warp);
/* emu_bulk.c: the warp has ended; copies out of shared memory that nobody waited for are reported. */
void tcb_emu_bulk_end(struct tcb_emu_warp *warp);
/* emu_registers.c: the block is done; what its warps did to their registers is looked at. */
void tcb_emu_registers_end(struct tcb_emu_block *block);
/* emu_launch.c: an access to global memory of a kernel that waits for the launch before. */
void tcb_emu_see_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			struct tcb_emu_region *region, uint64_t offset, unsigned bytes, unsigned flags);
/* emu_wgmma.c: the cluster is done; warps of a group of four that executed another number of wgmma are reported. */
void tcb_emu_wgmma_end(struct tcb_emu_block *block);
/* emu_race_shared.c: the cluster is done; accesses to BLOCK's shared memory from others that it may not have waited for
 * are reported. */
void tcb_emu_remote_end(struct tcb_emu_block *block);
/* All that LANE has started arrives. */
void tcb_emu_copies_arrive(struct tcb_emu_warp *warp, uint32_t lane);

#endif
