/* SPDX-License-Identifier: MIT
 *
 * Contracts by how exact they are, as enum tcb_contract has them: the exactest first.
 */
#include "kernels/defaults/contracts.h"

#include "kernels/constraint.h"

/*
 * From so many tokens on products with quantised weights are faster with wgmma, which multiplies halves, than with
 * bytes under mma.sync: on an H200 and an H100 1.3 x at 128 tokens, 1.6 to 1.9 x at 512; up to 32 there is no
 * difference (0.9 to 1.05).
 */
static const size_t WGMMA_TOKENS = 64;
/*
 * And on CPUs with tiles of bf16: on a Xeon 1.4 x at 32 tokens (Q4_K, Q8_0, 4096x4096, one thread and two), 2 to 2.5 x
 * at 128, 2.3 to 2.8 x at 512.  Of experts nothing was measured.
 */
static const size_t AMX_TOKENS = 32;

/* The operands of one problem may go to the kernels of the other. */
static int takes_same_operands(const struct tcb_problem *a, const struct tcb_problem *b)
{
	struct tcb_operand of_a[TCB_OPERANDS_MAX], of_b[TCB_OPERANDS_MAX];
	const size_t count = a->op->operands(a, of_a);

	if (b->op->operands(b, of_b) != count)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (of_a[i].type != of_b[i].type || of_a[i].format != of_b[i].format ||
		    of_a[i].bytes != of_b[i].bytes || of_a[i].role != of_b[i].role)
			return 0;
	return 1;
}

static int has_kernel(const struct tcb_problem *problem, const struct tcb_target *target)
{
	struct tcb_geometry geometry;

	if (!tcb_op_side(problem->op, target))
		return 0;
	tcb_op_standard(problem, target, &geometry);
	return !tcb_constraint_violated(problem->op, problem, target, &geometry, 1, NULL);
}

unsigned tcb_contracts_from(const struct tcb_op *op, const struct tcb_shape *shape, const struct tcb_target *target,
			    enum tcb_contract least)
{
	struct tcb_problem asked, other;
	unsigned found = 1u << least;

	/* With bits contracts do not stand for each other: which is the fastest depends on M. */
	if (shape->words.bits || tcb_problem_init(op, least, shape, &asked, NULL) != TCB_OK)
		return found;
	for (int contract = 0; contract < (int)least; contract++)
		if (tcb_problem_init(op, (enum tcb_contract)contract, shape, &other, NULL) == TCB_OK &&
		    takes_same_operands(&asked, &other) && (!target || has_kernel(&other, target)))
			found |= 1u << contract;
	return found;
}

enum tcb_contract tcb_contract_usual(const struct tcb_op *op, const struct tcb_shape *shape,
				     const struct tcb_target *target, unsigned contracts, enum tcb_contract least)
{
	const int is_wgmma = shape->m >= WGMMA_TOKENS && tcb_target_has(target, TCB_ISA_WGMMA);
	const int is_amx = shape->m >= AMX_TOKENS && tcb_target_has(target, TCB_ISA_AMX) && !shape->words.experts;
	return op->format && (is_wgmma || is_amx) && (contracts >> TCB_CONTRACT_F16 & 1u) ? TCB_CONTRACT_F16 : least;
}
