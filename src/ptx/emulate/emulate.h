/* SPDX-License-Identifier: MIT
 *
 * The emulator: runs a kernel for any grid and block on the host, counts what a
 * GPU would do, and reports what a GPU would not tell.
 *
 * A program is a kernel decoded once; a memory is the device memory that
 * launches see, made of regions backed by the caller's arrays with unmapped
 * space between them, so every access outside a region is found.  The warps of
 * a block run in lockstep with reconvergence at post-dominators, in an order
 * that the seed permutes; blocks run one after another (clusters together,
 * all of a cooperative launch, and many where blocks wait for later ones), or
 * several at once by as many threads where they do not depend on each other.
 *
 *     tcb_ptx_program_create(function, &program, err);
 *     tcb_ptx_memory_add(memory, "y", y, bytes, 256, TCB_PTX_MAY_WRITE, &address, err);
 *     tcb_ptx_emulate(program, &launch, memory, &sink, counts, err);
 */
#ifndef TCB_PTX_EMULATE_H
#define TCB_PTX_EMULATE_H

#include "ptx/ir/finding.h"

enum tcb_ptx_permission { TCB_PTX_READ_ONLY, TCB_PTX_MAY_WRITE };

/* How instructions are counted. */
#define TCB_PTX_CLASS_LIST(X)  \
	X(INTEGER, "integer")  \
	X(FLOAT, "float")      \
	X(CONVERT, "convert")  \
	X(MATRIX, "matrix")    \
	X(GLOBAL, "global")    \
	X(SHARED, "shared")    \
	X(LOCAL, "local")      \
	X(ASYNC, "async copy") \
	X(ATOMIC, "atomic")    \
	X(BARRIER, "barrier")  \
	X(SHUFFLE, "shuffle")  \
	X(CONTROL, "control")  \
	X(OTHER, "other")

enum tcb_ptx_count_class {
#define TCB_PTX_CLASS_ENUM(id, name) TCB_PTX_COUNT_##id,
	TCB_PTX_CLASS_LIST(TCB_PTX_CLASS_ENUM)
#undef TCB_PTX_CLASS_ENUM
		TCB_PTX_COUNT_CLASSES
};

/* Of one instruction of the text, or summed over all. */
struct tcb_ptx_counts {
	uint64_t warps;                        /* executions by a warp */
	uint64_t threads;                      /* executions by an active thread */
	uint64_t requests;                     /* memory instructions by a warp with at least one active thread */
	uint64_t wavefronts, wavefronts_ideal; /* shared memory */
	uint64_t sectors, sectors_ideal; /* global memory: 32-byte sectors touched, and the least for the bytes used */
	uint64_t divergent;              /* branches where the warp split */
};

struct tcb_ptx_emulation {
	struct tcb_ptx_counts total;
	uint64_t by_class[TCB_PTX_COUNT_CLASSES]; /* executions by a warp */
	struct tcb_ptx_counts *by_ins;            /* by tcb_ptx_ins.number; lent by the program until its next run */
	uint32_t ins_count;
	uint64_t findings; /* errors reported; repeated ones of the same instruction and rule count once */
	uint64_t global_read_bytes, global_write_bytes; /* by threads, not by sectors */
};

struct tcb_ptx_launch {
	uint32_t grid[3], block[3], cluster[3]; /* cluster: zeros for none */
	uint32_t dynamic_shared;                /* bytes */
	const void *params;                     /* laid out as the entry's parameters */
	size_t param_bytes;
	uint64_t step_limit; /* warp instructions before STEP_LIMIT is reported; 0, or more: about 2^32 */
	uint64_t seed;       /* permutes the order of warps; 0: in order */
	int is_cooperative;  /* all blocks run together, and have the grid's barrier of cooperative groups */
	/* Not 0: arguments, memory and grid are unknown, and threads do what they do for all that (emu_known.c).  The
	 * address of the middle of TCB_PTX_ANYWHERE bytes, which copies have for memory at unknown places. */
	uint64_t anywhere;
	uint8_t shared_fill; /* what shared memory holds before it is written; 0: something else than zeros */
	/* Host threads that run clusters at once; 0 is 1.  Results, counts and findings are those of one thread: where
	 * clusters depend on each other, one thread does the launch. */
	unsigned threads;
	/* Told after each cluster, in the caller's thread; NULL: nobody. */
	void (*progress)(void *ctx, uint64_t blocks_done);
	/* Nonzero ends the launch with TCB_E_INTERRUPTED; asked often, by any thread; NULL: nothing does. */
	int (*is_stopped)(void *ctx);
	void *progress_ctx;
};

enum { TCB_PTX_ANYWHERE = 4 << 20 };

struct tcb_ptx_program;
struct tcb_ptx_memory;

/* Decodes FUNCTION (an entry; its module must outlive the program).  TCB_E_UNSUPPORTED names the first instruction
 * that cannot be emulated. */
enum tcb_status tcb_ptx_program_create(struct tcb_ptx_function *function, struct tcb_ptx_program **out,
				       struct tcb_error *err);
void tcb_ptx_program_destroy(struct tcb_ptx_program *program);
/* Byte offset of each parameter and their total, so that a caller can lay out launch.params. */
size_t tcb_ptx_param_offset(const struct tcb_ptx_function *function, unsigned index);
size_t tcb_ptx_param_total(const struct tcb_ptx_function *function);

enum tcb_status tcb_ptx_memory_create(struct tcb_ptx_memory **out, struct tcb_error *err);
void tcb_ptx_memory_destroy(struct tcb_ptx_memory *memory);
/* Maps BYTES of HOST (lent) at a device address that is a multiple of ALIGN and of nothing more. */
enum tcb_status tcb_ptx_memory_add(struct tcb_ptx_memory *memory, const char *name, void *host, size_t bytes,
				   unsigned align, enum tcb_ptx_permission permission, uint64_t *address_out,
				   struct tcb_error *err);
/* What lies outside of a texture: its nearest element, the texture again, turned round, or zeros. */
enum tcb_ptx_texture_beyond {
	TCB_PTX_TEXTURE_CLAMP,
	TCB_PTX_TEXTURE_WRAP,
	TCB_PTX_TEXTURE_MIRROR,
	TCB_PTX_TEXTURE_BORDER
};

enum { TCB_PTX_TEXTURE_RANK = 3 };

struct tcb_ptx_texture {
	enum tcb_ptx_word type; /* of an element: U8 to U32, S8 to S32, F16, F32 */
	unsigned channels;      /* 1, 2, 4 */
	unsigned rank;
	uint64_t size[TCB_PTX_TEXTURE_RANK]; /* the fastest dimension first */
	enum tcb_ptx_texture_beyond beyond;
	int is_linear;     /* filtered */
	int is_normalised; /* coordinates are 0 to 1 */
};

/* The region at ADDRESS is what TEXTURE (lent) is of; ADDRESS is its texture object. */
enum tcb_status tcb_ptx_memory_texture(struct tcb_ptx_memory *memory, uint64_t address,
				       const struct tcb_ptx_texture *texture, struct tcb_error *err);
/* Unmaps the region at ADDRESS, as add gave it; its address is not given out again. */
void tcb_ptx_memory_remove(struct tcb_ptx_memory *memory, uint64_t address);

/* Before MODULE is destroyed whose variables launches may have put into MEMORY: they go. */
void tcb_ptx_memory_unload(struct tcb_ptx_memory *memory, const struct tcb_ptx_module *module);
/* The variable NAME of PROGRAM's module as it stands in MEMORY: its bytes on the host and its device address.  With its
 * initial value when no launch has used it yet.  TCB_E_NOT_FOUND when the program does not use such a variable. */
enum tcb_status tcb_ptx_memory_variable(struct tcb_ptx_memory *memory, struct tcb_ptx_program *program,
					const char *name, void **host_out, uint64_t *address_out,
					struct tcb_error *err);

/* Runs one launch to its end or to the first fault.  Findings go to SINK (each instruction and rule once).  TCB_OK also
 * when there were findings: ask OUT->findings; a status is for what is wrong with the call itself. */
enum tcb_status tcb_ptx_emulate(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink,
				struct tcb_ptx_emulation *out, struct tcb_error *err);
/* The same, and where nothing is wrong but that shared memory was read which nobody wrote, a second launch on the same
 * memory with other bytes there: if the results are the same too, that is a warning.  OUT is of the first. */
enum tcb_status tcb_ptx_emulate_twice(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				      struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink,
				      struct tcb_ptx_emulation *out, struct tcb_error *err);

#endif
