/* SPDX-License-Identifier: MIT
 *
 * Which arithmetic bounds a problem: the fastest that its contract allows on a
 * device, whether or not a kernel of ours has it.  But bytes are never multiplied
 * with wgmma: its sums are to be scaled after every 32 values, and a limit that no
 * geometry can come near says nothing of one.
 */
#include "kernels/compute_limit.h"

#include "base/cpu_isas.h"
#include "base/kind.h"
#include "kernels/formats.h"

/* Values of f32 as sums of terms that matrix instructions multiply exactly: of halves two, of bf16 three. */
enum { TERMS_F16 = 2, TERMS_BF16 = 3, TERMS_BOTH = 6 /* both operands are f32 */ };

/* Does OP multiply f32 with matrix instructions, in terms?  Those whose other operand has 16 bits or less do. */
static int has_terms(const struct tcb_op *op)
{
	const struct tcb_variant *row;
	for (size_t i = 0; (row = tcb_variant_at(tcb_op_gpu(op), i)); i++)
		if (row->contract == TCB_CONTRACT_F32 && (row->isa == TCB_ISA_MMA || row->isa == TCB_ISA_WGMMA))
			return 1;
	return 0;
}

/* Does OP multiply f16 as bf16 on TARGET, a CPU with tiles of it?  Weights whose format is not those either. */
static int has_bf16_tiles(const struct tcb_op *op, const struct tcb_target *target)
{
	const struct tcb_variant *row;
	for (size_t i = 0; op->format && (row = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if (row->contract == TCB_CONTRACT_F16 && tcb_cpu_isa((int32_t)row->isa)->has_tiles &&
		    tcb_target_has(target, row->isa))
			return 1;
	return 0;
}

struct tcb_compute_need tcb_compute_need(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_op *op = problem->op;
	const int is_f32 = op->format && op->format->codes == TCB_CODES_F32;
	const int is_bf16 = op->type == TCB_TYPE_BF16 || is_f32 || (op->format && op->format->codes == TCB_CODES_BF16);
	const int has_f16 = tcb_kind_of(target)->multiplies_f16;
	const double operations = op->flops(problem);

	if (op->has_own_arithmetic)
		return (struct tcb_compute_need){ TCB_COMPUTE_F32, 0 };
	if (problem->contract == TCB_CONTRACT_Q8)
		return (struct tcb_compute_need){ tcb_target_has(target, TCB_ISA_WGMMA) ? TCB_COMPUTE_INT8_SYNC
											: TCB_COMPUTE_INT8,
						  operations };
	if (problem->contract == TCB_CONTRACT_F16 && (is_bf16 || has_bf16_tiles(op, target)))
		return (struct tcb_compute_need){ TCB_COMPUTE_BF16, operations };
	if (problem->contract == TCB_CONTRACT_F16 && has_f16)
		return (struct tcb_compute_need){ TCB_COMPUTE_F16, operations };
	if (problem->contract == TCB_CONTRACT_F32 && has_f16 && has_terms(op))
		return is_bf16 ? (struct tcb_compute_need){ TCB_COMPUTE_BF16,
							    (is_f32 ? TERMS_BOTH : TERMS_BF16) * operations }
			       : (struct tcb_compute_need){ TCB_COMPUTE_F16, TERMS_F16 * operations };
	return (struct tcb_compute_need){ TCB_COMPUTE_F32, operations };
}
