/* SPDX-License-Identifier: MIT
 *
 * libtcbrt: several calls as one, a layer or a whole model for a token; and plans whose rows fit in among others'.
 *
 * Calls run in their order, but threads wait for each other only where a call reads or writes what one before it wrote,
 * or writes what one before it read: between the products that make q, k and v of the same row there is no wait.  Which
 * calls these are follows from the addresses, sizes and strides of operands, of which inputs and weights are read and
 * outputs are read and written.  On a GPU a chain is one graph, and MatVecs run beside each other where none needs
 * another.
 *
 *     struct tcbrt_call calls[] = { { .plan = norm, .operand = { ADDRESS(x), ... } },
 *                                   { .plan = q, .operand = { ADDRESS(packed_q), ... } }, ... };
 *     tcbrt_chain_create(calls, sizeof(calls) / sizeof(*calls), &chain, &err);   once; copies the calls
 *     tcbrt_chain_info(chain, &info);
 *     workspace = aligned_alloc(TCBRT_ALIGNMENT, info.workspace_bytes);
 *     tcbrt_chain_init(chain, workspace);                                        once
 *     tcbrt_chain_execute(chain, workspace, pool);                               for each token
 *
 * Buffers must stay where they are; what is in them may change between executions, so that lengths, page tables and ids
 * are the ways in which one execution differs from another.  Plans are lent: they must live longer.  A chain never
 * changes: any number of threads may execute it, each with its own workspace, where their outputs are not the same.
 */
#ifndef TCBRT_CHAIN_H
#define TCBRT_CHAIN_H

#include <tcbrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rows that do not follow each other: q, k and v as parts of the rows of one buffer, written by three products.
 * Elements from the start of one row to the start of the next, of x and of y; 0: rows follow each other.
 */
struct tcbrt_strides {
	size_t x, y;
	size_t reserved[2]; /* zeros */
};
/*
 * tcbrt_plan_create for such rows, of
 * - products with quantised weights (*_matvec, *_matmul and fused MatVecs);
 * - attention: x are rows of q, y those of out; and rope_append: x are rows of what is new (of qkv, or with the word
 *   apart of each of new_q, new_k and new_v), y those of q that it writes.  These are multiples of 8 elements.
 *
 * An operand is then where its first row is, operand.stride tells the stride, and what lies between rows is neither
 * read nor written.  Nothing is tuned for strides: the plan is that of rows that follow each other.  Multiples of 16
 * bytes are read fastest on GPUs.  TCBRT_E_USAGE: the op takes none, or one is less than a row, or not such a
 * multiple; TCBRT_E_NOT_FOUND: it has no kernel for them on this device, as on WebGPU.
 */
TCBRT_API int tcbrt_plan_create_strided(const struct tcbrt *rt, const struct tcbrt_query *query,
					const struct tcbrt_strides *strides, struct tcbrt_plan **out,
					struct tcbrt_error *err);

struct tcbrt_call {
	const struct tcbrt_plan *plan; /* of a CPU; or NULL, and gpu */
	const struct tcbrt_gpu *gpu;   /* a GPU's plan, loaded; or NULL, and plan.  One chain has calls of one kind. */
	/* In the order of info.operand: pointers, as (unsigned long long)(uintptr_t), or addresses of the GPU's memory.
	 */
	unsigned long long operand[TCBRT_OPERANDS_MAX];
	size_t reserved[2];
};

struct tcbrt_chain;
struct tcbrt_chain_info {
	size_t workspace_bytes; /* for all calls, one execution at a time */
	size_t calls;
	int is_gpu;
	size_t waits; /* of a CPU: behind how many calls threads wait for each other, the last one included */
	size_t overlap_launches; /* of a GPU: how many launches begin while what is before them ends */
	size_t beside; /* of a GPU: how many calls run beside the one before them, since they need nothing of it */
	size_t early;  /* and how many read before it ends what no call writes: lengths, KV of tokens before */
	size_t reserved[2];
};

/* Of COUNT calls, 1 or more.  TCBRT_E_USAGE: an operand is NULL or not aligned, and the message names the call; or
 * calls are of both kinds. */
TCBRT_API int tcbrt_chain_create(const struct tcbrt_call calls[], size_t count, struct tcbrt_chain **out,
				 struct tcbrt_error *err);
/* Of a GPU's chain that was recorded: with the same context current, and not while it runs.  NULL is fine. */
TCBRT_API void tcbrt_chain_destroy(struct tcbrt_chain *chain);
TCBRT_API int tcbrt_chain_info(const struct tcbrt_chain *chain, struct tcbrt_chain_info *out);

/* Prepares info.workspace_bytes at WORKSPACE, a multiple of TCBRT_ALIGNMENT, for executions of CHAIN on a CPU, one
 * after another.  (For a GPU zero them: cuMemsetD8.) */
TCBRT_API int tcbrt_chain_init(const struct tcbrt_chain *chain, void *workspace);
/* As tcbrt_execute: on POOL's threads, which are woken once, or, with NULL, in the caller alone.  All of POOL's threads
 * take part, and wait for each other by spinning: the pool should not have more threads than there are free cores. */
TCBRT_API int tcbrt_chain_execute(const struct tcbrt_chain *chain, void *workspace, struct tcbrt_pool *pool);
/*
 * Executes CHAIN once, with a wait behind each call, and adds the seconds that each of its info.calls took to SECONDS:
 * where the time goes.  On a CPU on POOL's threads, as tcbrt_chain_execute, of which STREAM is NULL; on a GPU, of which
 * POOL is NULL, its launches one by one on STREAM, not as the graph, by the GPU's clock and with what lies between two
 * launches, and it waits for all.  The sum is more than an execution takes.
 */
TCBRT_API int tcbrt_chain_profile(const struct tcbrt_chain *chain, unsigned long long workspace,
				  struct tcbrt_pool *pool, void *stream, double seconds[]);
/* As tcbrt_execute_thread. */
TCBRT_API int tcbrt_chain_execute_thread(const struct tcbrt_chain *chain, void *workspace, unsigned thread,
					 unsigned threads);

/*
 * Records CHAIN, whose calls are a GPU's, as one graph, through STREAM, which must not be capturing: the kernels are
 * queued into it and do not run.  Launches begin early (TCBRT_GPU_OVERLAP) where they may: an operand that would be
 * read too early is one that a call before it in the chain writes.  So what the chain reads as weights must have been
 * written before it is launched.  WORKSPACE as for tcbrt_gpu_execute, info.workspace_bytes of the chain.  It can be
 * recorded once.
 */
TCBRT_API int tcbrt_chain_record(struct tcbrt_chain *chain, unsigned long long workspace, void *stream,
				 struct tcbrt_error *err);
/* Queues the graph on STREAM; does not wait.  One launch of a chain runs at a time. */
TCBRT_API int tcbrt_chain_launch(const struct tcbrt_chain *chain, void *stream);

#ifdef __cplusplus
}
#endif

#endif
