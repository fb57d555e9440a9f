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
	for (size_t i = 0; i < run->operand_count; i++) {
		const size_t bytes = run->operands[i].bytes;
		if (run->operands[i].role != TCB_ROLE_OUTPUT)
			run->data[i] = take_memory(bytes);
		else if ((run->guarded[i] = take_memory(bytes + 2 * GUARD)))
			run->data[i] = run->guarded[i] + GUARD;
		if (!run->data[i])
			return 0;
	}
	const size_t doubles = tcb_references_lay_out(run->operands, run->operand_count, NULL, NULL);
	run->outputs = doubles / 3;
	run->got = take_memory(run->outputs * sizeof *run->got);
	run->doubles = take_memory(doubles * sizeof(double));
	if (!run->got || !run->doubles)
		return 0;
	tcb_references_lay_out(run->operands, run->operand_count, run->doubles, run->reference);
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

static size_t elements(const struct tcb_operand *operand)
{
	return operand->rows * operand->cols;
}

/* OPERANDS, the packed ones as they are packed: in memory of their own, which PACKED gets.  0: out of memory. */
static int pack(struct tcb_op_run *run, void *operands[], void *packed[])
{
	for (size_t i = 0; i < run->operand_count; i++) {
		operands[i] = run->data[i];
		if (!run->plan.packed_bytes[i])
			continue;
		if (!(operands[i] = packed[i] = take_memory(run->plan.packed_bytes[i])))
			return 0;
		run->problem.op->pack(&run->problem, i, (enum tcb_layout)run->plan.geometry.knob[TCB_KNOB_LAYOUT],
				      run->data[i], packed[i]);
	}
	return 1;
}

/* What was planned, in memory of its own. */
static int run_plan(struct tcb_op_run *run, struct tcb_pool *pool)
{
	void *workspace = take_memory(run->plan.workspace_bytes), *packed[TCB_OPERANDS_MAX] = { NULL };
	void *operands[TCB_OPERANDS_MAX];
	const int is_run = workspace && pack(run, operands, packed);
	float *got = run->got;
	for (size_t i = 0; i < run->operand_count; i++)
		if (run->guarded[i])
			memset(run->guarded[i], POISON, run->operands[i].bytes + 2 * GUARD);
	if (is_run)
		tcb_op_cpu(run->problem.op)->run(&run->plan, operands, workspace, pool);
	for (size_t i = 0; i < run->operand_count; i++) {
		free(packed[i]);
		if (!run->guarded[i])
			continue;
		tcb_operand_to_f32(&run->operands[i], run->data[i], 0, elements(&run->operands[i]), got);
		got += elements(&run->operands[i]);
	}
	free(workspace);
	return is_run;
}

int tcb_op_run_go(struct tcb_op_run *run, const struct tcb_geometry *geometry, struct tcb_finding *out)
{
	struct tcb_pool *pool = NULL;
	struct tcb_error err;
	enum tcb_status status = tcb_op_cpu(run->problem.op)
					 ->plan(&run->problem, geometry ? geometry : &run->standard, &run->plan, &err);
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
	for (size_t o = 0; o < run->operand_count; o++) {
		const unsigned char *before = run->guarded[o];
		const unsigned char *behind = before ? before + GUARD + run->operands[o].bytes : NULL;
		for (size_t i = 0; before && i < GUARD; i++)
			if (before[i] != POISON || behind[i] != POISON)
				return 0;
	}
	return 1;
}

double tcb_op_run_error(struct tcb_op_run *run)
{
	const struct tcb_reference *reference = run->reference;
	const float *got = run->got;
	double worst = 0;
	run->problem.op->reference(&run->problem, run->data, run->reference);
	for (size_t i = 0; i < run->operand_count; i++) {
		if (!run->guarded[i])
			continue;
		const size_t count = elements(&run->operands[i]);
		worst = fmax(worst, tcb_error_ratio(&run->plan, reference++, got, count, NULL));
		got += count;
	}
	return worst;
}

void tcb_op_run_close(struct tcb_op_run *run)
{
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++) {
		free(run->guarded[i] ? NULL : run->data[i]);
		free(run->guarded[i]);
	}
	free(run->got);
	free(run->doubles);
	*run = (struct tcb_op_run){ 0 };
}
