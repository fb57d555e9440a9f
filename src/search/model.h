/* SPDX-License-Identifier: MIT
 *
 * Ranking a GPU's space by a model where the GPU is absent, and as a prior
 * where it is there.  Each candidate's kernel is emitted and one multiprocessor
 * simulated (kernels/timing.h); the best are assembled, so that their registers
 * are the assembler's and none of them spills.
 */
#ifndef TCB_SEARCH_MODEL_H
#define TCB_SEARCH_MODEL_H

#include "device/device.h"
#include "kernels/code.h"
#include "kernels/timing.h"
#include "search/search.h"

/* Registers of a thread from a kernel's pressure: base + scale * pressure; scale 0: by the PTX alone. */
struct tcb_model_line {
	double base, scale;
};

struct tcb_model {
	const struct tcb_op *op;
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	struct tcb_ptx_machine machine;
	double read_bytes_s;                            /* of its memory, as specified */
	struct tcb_model_line line[TCB_COPY_COUNT + 1]; /* by the knob copy; the last one: unset */
};

/* model.c */
/* PLACE, of a kind that has a model, and PROBLEM are lent.  TCB_E_UNSUPPORTED where OP has no GPU kernels. */
enum tcb_status tcb_model_init(struct tcb_model *model, const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_place *place, struct tcb_error *err);
/* Assemblers of the model's kernels; free with tcb_codes_destroy. */
enum tcb_status tcb_model_codes(const struct tcb_model *model, struct tcb_codes **out, struct tcb_error *err);
/* Assembles a sample of SPACE, of which TRIALS are to be modelled, for at most SECONDS (0: no limit), so that the
 * registers of all others can be told; changes nothing where there is no assembler.  What is under way then is stopped,
 * and CODES are others. */
enum tcb_status tcb_model_calibrate(struct tcb_model *model, struct tcb_codes **codes, const struct tcb_space *space,
				    size_t trials, uint64_t seed, double seconds, struct tcb_error *err);
/* The times of one candidate in nanoseconds; NaN where it cannot be modelled, and then ERR says why.  REGISTERS: from
 * the assembler; 0: estimated.  May be called by several threads. */
enum tcb_status tcb_model_time(const struct tcb_model *model, const struct tcb_geometry *geometry, unsigned registers,
			       double ns[TCB_STATE_COUNT], struct tcb_error *err);
/* The same of all of SPACE, by all processors: NS[state][index]. */
enum tcb_status tcb_model_scores(const struct tcb_model *model, const struct tcb_space *space,
				 double *const ns[TCB_STATE_COUNT], struct tcb_error *err);
/* Processors that this process may use. */
unsigned tcb_model_processors(void);

/* model_sample.c */
enum { TCB_MODEL_SAMPLE = 64 };
struct tcb_model_sampling {
	const struct tcb_space *space;
	unsigned states; /* bit 1u << enum tcb_state */
	uint64_t seed;
	double seconds;                    /* what is begun until then is brought to its end */
	const volatile sig_atomic_t *stop; /* nonzero: no more; may be NULL */
};
/* MODELLED candidates spread over the space, by all processors; those that have a time are BEST, the best first, by
 * turns of each cache state. */
enum tcb_status tcb_model_sample(const struct tcb_model *model, const struct tcb_model_sampling *setup,
				 size_t best[TCB_MODEL_SAMPLE], size_t *best_count, size_t *modelled,
				 struct tcb_error *err);

/* strategy_model.c: waits until the strategy has modelled all of its space; for tests. */
void tcb_strategy_model_wait(void *self);

/* model_sweep.c */
/*
 * As tcb_sweep_run, but by the model: proposes, times and tells without any device.  Verdicts hold what the model says
 * of the best; intervals have no width; the tie set is all that the model's usual error cannot hold apart from the
 * winner; there is no regret.  The limit is the bytes over the nominal bandwidth.
 */
enum tcb_status tcb_model_sweep(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_place *place, const struct tcb_sweep_options *options,
				struct tcb_sweep_result *out, struct tcb_error *err);

#endif
