/* SPDX-License-Identifier: MIT
 *
 * libtcbptx: anybody's PTX kernel in an emulator, for tests without a GPU.
 *
 *     struct tcbptx *module;
 *     struct tcbptx_run *run;
 *     struct tcbptx_error err;
 *     struct tcbptx_launch launch = { .grid = { 8, 1, 1 }, .block = { 128, 1, 1 } };
 *
 *     tcbptx_load("saxpy.ptx", text, length, &module, &err);
 *     tcbptx_prepare(module, "saxpy", &run, &err);
 *     tcbptx_argument(run, "buf:f32[1024]:ro=random", 1, &err);      as `tcbtune ptx run --arg`
 *     tcbptx_argument(run, "buf:f32[1024]=zero", 1, &err);
 *     tcbptx_argument(run, "f32=2", 1, &err);
 *     tcbptx_argument(run, "u32=1024", 1, &err);
 *     tcbptx_launch(run, &launch, see, NULL, &err);                  SEE is called with each finding
 *     float *y = tcbptx_memory(run, 1, NULL);
 *     tcbptx_close(run);
 *     tcbptx_unload(module);
 *
 * Functions that can fail return TCBPTX_OK or another code, and fill ERR (which
 * may be NULL) with it and one line.  Nothing is global: threads may work on
 * modules of their own at once; one module and its runs are for one thread at a
 * time.
 */
#ifndef TCBPTX_H
#define TCBPTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TCBPTX_API __attribute__((visibility("default")))

enum tcbptx_code {
	TCBPTX_OK = 0,
	TCBPTX_E_FAILED = 1,   /* out of memory, a file that cannot be read */
	TCBPTX_E_USAGE = 2,    /* the call or an argument is wrong, or the kernel cannot be emulated */
	TCBPTX_E_NOT_FOUND = 3 /* no such kernel */
};

struct tcbptx_error {
	int code;
	char message[512];
};

/* A module, and one kernel of it with its arguments. */
struct tcbptx;
struct tcbptx_run;

struct tcbptx_launch {
	uint32_t grid[3], block[3]; /* none may be 0 */
	uint32_t cluster[3];        /* zeros: none, or what the kernel requires */
	uint32_t dynamic_shared;    /* bytes */
	uint32_t cooperative;       /* not 0: as cudaLaunchCooperativeKernel, for grid_group::sync() */
	uint32_t threads;           /* of the host, which change nothing but the time; 0: one for each processor */
	uint64_t order;             /* decides in which order warps take turns; 0: by number */
	uint64_t step_limit;        /* warp instructions before it is stopped; 0: about 2^32 */
};

enum tcbptx_severity { TCBPTX_ERROR, TCBPTX_WARNING, TCBPTX_ADVICE };

/* Lent while the callback runs. */
struct tcbptx_finding {
	int severity;         /* enum tcbptx_severity */
	const char *rule;     /* "race", "out-of-bounds", ...: docs/ptx.md */
	const char *message;  /* "race: ...", one line */
	uint32_t line;        /* of the PTX; 0: none */
	const char *file;     /* of the source, where the text has .loc; else NULL */
	uint32_t source_line; /* 0: unknown */
	const char *where;    /* with what it was inlined into: "sum.cuh:7, from kernel.cu:22"; NULL as FILE */
};
typedef void tcbptx_see_fn(void *ctx, const struct tcbptx_finding *finding);

/* What one instruction of the kernel cost, or all together (line 0). */
struct tcbptx_counts {
	uint32_t line;
	uint64_t warps, threads;               /* executions */
	uint64_t requests;                     /* to memory, by warps */
	uint64_t wavefronts, wavefronts_least; /* shared memory */
	uint64_t sectors, sectors_least;       /* global memory, of 32 bytes */
	uint64_t divergent;                    /* branches where a warp split */
};

/* "0.2.0"; static. */
TCBPTX_API const char *tcbptx_version(void);

/* Parses LENGTH bytes of TEXT, which NAME stands for in errors.  TEXT is not needed afterwards.  *OUT is to be given to
 * tcbptx_unload, after each of its runs was closed; NULL when it fails. */
TCBPTX_API int tcbptx_load(const char *name, const char *text, size_t length, struct tcbptx **out,
			   struct tcbptx_error *err);
TCBPTX_API void tcbptx_unload(struct tcbptx *module);
/* The symbol of kernel INDEX, from 0, as long as the module lives; NULL after the last. */
TCBPTX_API const char *tcbptx_kernel(const struct tcbptx *module, unsigned index);

/* A run of KERNEL (NULL: the only one), to be given to tcbptx_close.  TCBPTX_E_USAGE names what cannot be emulated. */
TCBPTX_API int tcbptx_prepare(struct tcbptx *module, const char *kernel, struct tcbptx_run **out,
			      struct tcbptx_error *err);
TCBPTX_API void tcbptx_close(struct tcbptx_run *run);
/* The next parameter's value, in the words of `tcbtune ptx run --arg`; SEED decides what is random. */
TCBPTX_API int tcbptx_argument(struct tcbptx_run *run, const char *text, uint64_t seed, struct tcbptx_error *err);
/* The memory of argument INDEX (a buffer, or a tensor map with memory of its own), which may be read and written
 * between launches until the run is closed; its size goes to *BYTES_OUT (may be NULL).  NULL when there is no such
 * buffer. */
TCBPTX_API void *tcbptx_memory(struct tcbptx_run *run, unsigned index, size_t *bytes_out);
/* Runs it, on what the arguments' memory holds now.  TCBPTX_OK also when there were findings: each goes to SEE (may be
 * NULL) once for an instruction and rule.  A fault, as an access out of bounds, ends the launch. */
TCBPTX_API int tcbptx_launch(struct tcbptx_run *run, const struct tcbptx_launch *launch, tcbptx_see_fn *see, void *ctx,
			     struct tcbptx_error *err);
/* Of the last launch: fills OUT with the total and then the instructions of the kernel in the order of the text, at
 * most CAPACITY; returns how many there are in all. */
TCBPTX_API size_t tcbptx_count(const struct tcbptx_run *run, struct tcbptx_counts *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
