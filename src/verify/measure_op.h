/* SPDX-License-Identifier: MIT
 *
 * One op on this processor: its operands in memory that a claim may change,
 * a run of a geometry, and the result beside the reference in double.
 *
 *     if (tcb_op_run_open(&run, lab, "softmax", &shape, out)) {
 *             if (tcb_op_run_go(&run, NULL, out)) ... run.got[0] ... tcb_op_run_error(&run)
 *             tcb_op_run_close(&run);
 *     }
 */
#ifndef TCB_VERIFY_MEASURE_OP_H
#define TCB_VERIFY_MEASURE_OP_H

#include "kernels/op.h"
#include "verify/claim.h"

struct tcb_op_run {
	struct tcb_problem problem;
	struct tcb_target target;
	struct tcb_geometry standard; /* the default on this processor */
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *data[TCB_OPERANDS_MAX];
	unsigned char *guarded[TCB_OPERANDS_MAX]; /* an output's memory, with guard zones before and behind it */
	size_t operand_count, output;             /* output: the first */
	size_t outputs;                           /* elements of all outputs */
	float *got;                               /* of the last run, as f32, output after output */
	struct tcb_plan plan;                     /* of the last run */
	double *doubles;
	struct tcb_reference reference[TCB_OUTPUTS_MAX]; /* of the data when tcb_op_run_error was called */
};

/* OP in its default contract, filled by the lab's seed.  0: OUT says why not. */
int tcb_op_run_open(struct tcb_op_run *run, struct tcb_claim_lab *lab, const char *op, const struct tcb_shape *shape,
		    struct tcb_finding *out);
/* The same with one instruction family and scalar code alone. */
void tcb_op_run_restrict(struct tcb_op_run *run, enum tcb_isa isa);
/* GEOMETRY, NULL: the default, with its threads.  0: OUT says why not. */
int tcb_op_run_go(struct tcb_op_run *run, const struct tcb_geometry *geometry, struct tcb_finding *out);
/* Is what lies around the outputs as it was before the last run? */
int tcb_op_run_guards(const struct tcb_op_run *run);
/* Largest |got - reference| over what is allowed; infinity where a NaN is on one side only. */
double tcb_op_run_error(struct tcb_op_run *run);
void tcb_op_run_close(struct tcb_op_run *run);

#endif
