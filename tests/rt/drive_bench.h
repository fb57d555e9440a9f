/* SPDX-License-Identifier: MIT
 *
 * A plan with all that it wants: what the parts of the random driver do with it.
 */
#ifndef TCB_TESTS_RT_DRIVE_BENCH_H
#define TCB_TESTS_RT_DRIVE_BENCH_H

#include "drive.h"
#include "rt/rt_plan.h"

enum { DRIVE_THREADS_MAX = 8 };

/* drive_plans.c: what has happened, and pools by threads; [0]: NULL, the caller alone. */
struct drive_counts {
	size_t queries, refused, plans, executed, drawn, gpus, chunks, saved, damaged, lent, strided, chained;
};
extern struct drive_counts drive_counts;
extern struct tcbrt_pool *drive_pools[DRIVE_THREADS_MAX + 1];

/* drive_bench.c */
struct drive_bench {
	const struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct drive_zone data[TCBRT_OPERANDS_MAX], packed[TCBRT_OPERANDS_MAX], workspace;
	void *stored[TCBRT_OPERANDS_MAX];  /* as the caller has them */
	void *operand[TCBRT_OPERANDS_MAX]; /* as they are executed */
	struct tcb_operand described[TCB_OPERANDS_MAX];
	double *doubles;
	struct tcb_reference references[TCB_OUTPUTS_MAX];
	float *exact; /* of class EXACT */
};
void drive_check_info(const struct tcbrt_plan *plan);
/* Whether memory for it is made in no time. */
int drive_is_small(const struct tcbrt_plan *plan);
int drive_is_output(const struct drive_bench *b, size_t i);
/* LENDER (may be NULL) packed the same weights, and lends its workspace where that is large enough. */
void drive_bench_init(struct drive_bench *b, const struct tcbrt_plan *plan, struct drive_bench *lender);
void drive_bench_check_zones(const struct drive_bench *b);
void drive_bench_fini(struct drive_bench *b);

/* drive_pack.c: at once, in chunks by several threads, and back. */
void drive_pack(struct drive_bench *b);

/* drive_execute.c: however it is executed, the result is right, and the same. */
void drive_execute(struct drive_bench *b, void *workspace);

/* drive_chain.c */
/* Calls of B's plan, among others, as a chain. */
void drive_chain(const struct tcbrt *rt, const struct drive_bench *b);
/* B is the one that is kept for chains of later rounds, with a copy of its plan: not to be ended by the caller. */
void drive_chain_keep(const struct tcbrt *rt, const struct drive_bench *b);
void drive_chain_forget(void);

/* drive_saved.c */
/* CODE and ERR, in one clear line, refuse WHAT. */
void drive_check_refused(int code, const struct tcbrt_plan *plan, const struct tcbrt_error *err, const char *what);
/* PLAN, damaged and forged ones; B: of a plan on a CPU, or NULL. */
void drive_save_and_load(const struct tcbrt *rt, const struct tcbrt_plan *plan, struct drive_bench *b);

#endif
