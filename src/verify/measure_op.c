/* SPDX-License-Identifier: MIT
 *
 * An op's operands, plan and run, without a worker around them.
 */
#include "verify/measure_op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/default_rules.h"

enum { ALIGNMENT = 256, GUARD = 4096, POISON = 0xff /* what is left as it was is NaN, as references have it */ };

static void *take_memory(size_t bytes)
{
	void *memory = aligned_alloc(ALIGNMENT, tcb_round_up(bytes + 1, ALIGNMENT));
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

static int take_operands(struct tcb_op_run *run)
{
	const struct tcb_op *op = run->problem.op;
	run->operand_count = op->operands(&run->problem, run->operands);
	run->output = (size_t)tcb_operand_output(run->operands, run->operand_count);
	for (size_t i = 0; i < run->operand_count; i++)
		if (i != run->output && !(run->data[i] = take_memory(run->operands[i].bytes)))
			return 0;
	if (!(run->guarded = take_memory(run->operands[run->output].bytes + 2 * GUARD)))
		return 0;
	run->data[run->output] = run->guarded + GUARD;
	run->outputs = run->operands[run->output].rows * run->operands[run->output].cols;
	run->got = take_memory(run->outputs * sizeof *run->got);
	run->reference.y = take_memory(3 * run->outputs * sizeof(double));
	if (!run->got || !run->reference.y)
		return 0;
	run->reference.magnitude = run->reference.y + run->outputs;
	run->reference.extra = run->reference.magnitude + run->outputs;
	return 1;
}

int tcb_op_run_open(struct tcb_op_run *run, struct tcb_claim_lab *lab, const char *op, const struct tcb_shape *shape,
		    struct tcb_finding *out)
{
	const struct tcb_op *found = tcb_op_find(op);
	struct tcb_error err;
	*run = (struct tcb_op_run){ .target = lab->place->device.target };
	if (!tcb_found_on_cpu(lab, out))
		return 0;
	if (!found || tcb_problem_init(found, found->default_contract, shape, &run->problem, &err) != TCB_OK) {
		tcb_found_nothing(out, "%.40s: %.200s", op, found ? err.message : "no such op");
		return 0;
	}
	if (!take_operands(run)) {
		tcb_op_run_close(run);
		tcb_found_nothing(out, "out of memory");
		return 0;
	}
	found->fill(&run->problem, lab->seed, run->data);
	(void)tcb_default_geometry(&run->problem, &run->target, &run->standard);
	return 1;
}

void tcb_op_run_restrict(struct tcb_op_run *run, enum tcb_isa isa)
{
	run->target.isa_mask &= 1u << isa | 1u << TCB_ISA_SCALAR;
	(void)tcb_default_geometry(&run->problem, &run->target, &run->standard);
}

/* What was planned, in memory of its own. */
static int run_plan(struct tcb_op_run *run, struct tcb_pool *pool)
{
	const struct tcb_op *op = run->problem.op;
	const int weights = tcb_operand_weights(run->operands, run->operand_count);
	void *workspace = take_memory(run->plan.workspace_bytes), *packed = take_memory(run->plan.packed_bytes);
	void *operands[TCB_OPERANDS_MAX];
	memcpy(operands, run->data, sizeof operands);
	if (workspace && packed) {
		if (run->plan.packed_bytes && weights >= 0) {
			op->pack(&run->problem, (enum tcb_layout)run->plan.geometry.knob[TCB_KNOB_LAYOUT],
				 run->data[weights], packed);
			operands[weights] = packed;
		}
		memset(run->guarded, POISON, run->operands[run->output].bytes + 2 * GUARD);
		op->run(&run->plan, operands, workspace, pool);
		tcb_operand_to_f32(&run->operands[run->output], run->data[run->output], 0, run->outputs, run->got);
	}
	const int is_run = workspace && packed;
	free(workspace);
	free(packed);
	return is_run;
}

int tcb_op_run_go(struct tcb_op_run *run, const struct tcb_geometry *geometry, struct tcb_finding *out)
{
	struct tcb_pool *pool = NULL;
	struct tcb_error err;
	enum tcb_status status =
		run->problem.op->plan(&run->problem, geometry ? geometry : &run->standard, &run->plan, &err);
	if (status == TCB_OK)
		status = tcb_pool_create(run->plan.threads ? run->plan.threads : 1, NULL, &pool, &err);
	if (status == TCB_OK && !run_plan(run, pool))
		status = tcb_fail(&err, TCB_E_NOMEM, "out of memory");
	tcb_pool_destroy(pool);
	if (status != TCB_OK)
		tcb_found_nothing(out, "%.40s: %.200s", run->problem.op_name, err.message);
	return status == TCB_OK;
}

int tcb_op_run_guards(const struct tcb_op_run *run)
{
	const unsigned char *behind = run->guarded + GUARD + run->operands[run->output].bytes;
	for (size_t i = 0; i < GUARD; i++)
		if (run->guarded[i] != POISON || behind[i] != POISON)
			return 0;
	return 1;
}

double tcb_op_run_error(struct tcb_op_run *run)
{
	run->problem.op->reference(&run->problem, run->data, &run->reference);
	return tcb_error_ratio(&run->plan, &run->reference, run->got, run->outputs, NULL);
}

void tcb_op_run_close(struct tcb_op_run *run)
{
	if (run->operand_count)
		run->data[run->output] = NULL;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		free(run->data[i]);
	free(run->guarded);
	free(run->got);
	free(run->reference.y);
	*run = (struct tcb_op_run){ 0 };
}
