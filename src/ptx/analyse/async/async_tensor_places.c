/* SPDX-License-Identifier: MIT
 *
 * Of async_tensor.h: where in Tensor Memory an address is.  An address is what
 * tcgen05.alloc put into shared memory, plus columns (its low 16 bits) and lanes
 * (PTX ISA 9.1, 9.7.16.1.1); it is followed backwards through sums, as far as
 * each register is written once.
 */
#include "ptx/analyse/async/async_tensor.h"
#include "ptx/ir/opcodes.h"

enum { DEPTH_MAX = 32, LANE_SHIFT = 16 };

/* Whether OPERAND of INS is a number of lanes: a multiple of 2^16 in all threads. */
static int is_of_lanes(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand)
{
	const uint32_t threads = tcb_ptx_affine_threads(a->affine);
	const struct tcb_ptx_value v = tcb_ptx_affine_operand(a->affine, ins, operand);
	uint64_t low = v.constant;

	if (!v.known || (v.term_count && tcb_ptx_affine_term_align(a->affine, &v) < 1u << LANE_SHIFT))
		return 0;
	for (uint32_t t = 0; v.lanes && t < threads; t++)
		low |= v.lanes[t] + v.constant;
	return !(low & ((1u << LANE_SHIFT) - 1));
}

static int follow(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
		  int depth, struct tcb_ptx_tensor_place *out);

/* x + y, where one of them is a number of columns or lanes. */
static int follow_sum(struct tcb_ptx_async *a, const struct tcb_ptx_ins *def, int depth,
		      struct tcb_ptx_tensor_place *out)
{
	for (unsigned other = 1; other < 3; other++) {
		uint64_t number;

		if (tcb_ptx_async_constant(a, def, &def->operands[other], &number)) {
			out->column += (int16_t)number * (def->op == TCB_PTX_OP_SUB ? -1 : 1);
			return follow(a, def, &def->operands[3 - other], depth, out);
		}
		if (is_of_lanes(a, def, &def->operands[other]))
			return follow(a, def, &def->operands[3 - other], depth, out);
	}
	return 0;
}

static int follow_load(struct tcb_ptx_async *a, const struct tcb_ptx_ins *def, struct tcb_ptx_tensor_place *out)
{
	tcb_ptx_tensor_slot(a, def, 1, out);
	if (!out->slot)
		out->root = def;
	return 1;
}

static int follow(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
		  int depth, struct tcb_ptx_tensor_place *out)
{
	const struct tcb_ptx_ins *def;
	uint64_t number;

	if (operand->kind != TCB_PTX_O_ADDRESS && tcb_ptx_async_constant(a, ins, operand, &number)) {
		out->column += (int64_t)(number & ((1u << LANE_SHIFT) - 1));
		return 1;
	}
	if (depth == DEPTH_MAX || (operand->kind != TCB_PTX_O_REG && operand->kind != TCB_PTX_O_ADDRESS) ||
	    operand->reg == TCB_PTX_NO_REG)
		return 0;
	def = a->function->regs[operand->reg].def;
	if (!def || def->guard != TCB_PTX_NO_REG)
		return 0;
	switch ((enum tcb_ptx_op)def->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVT:
		return def->operands[0].kind == TCB_PTX_O_REG && follow(a, def, &def->operands[1], depth + 1, out);
	case TCB_PTX_OP_SHFL: /* from one lane to all */
		return follow(a, def, &def->operands[1], depth + 1, out);
	case TCB_PTX_OP_SUB:
		if (!tcb_ptx_async_constant(a, def, &def->operands[2], &number))
			return 0;
		return follow_sum(a, def, depth + 1, out);
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_OR:
		return follow_sum(a, def, depth + 1, out);
	case TCB_PTX_OP_LD:
		return def->operands[0].kind == TCB_PTX_O_REG && follow_load(a, def, out);
	default:
		return 0;
	}
}

void tcb_ptx_tensor_slot(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index,
			 struct tcb_ptx_tensor_place *out)
{
	const struct tcb_ptx_value v = tcb_ptx_affine_address(a->affine, ins, index);

	out->slot = tcb_ptx_async_base(a, &v);
	if (!out->slot || out->slot->space != TCB_PTX_SHARED || v.lanes)
		out->slot = NULL;
	out->slot_offset = (int32_t)(uint32_t)v.constant;
}

/* Columns that INS surely touches from its address on (9.7.16.2.3; N of a product is in its descriptor). */
static unsigned columns_of(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index)
{
	const unsigned number = tcb_ptx_matrices(tcb_ptx_mod(ins, TCB_PTX_SLOT_MATRICES));
	const unsigned wide = ins->mod[TCB_PTX_SLOT_PACK] ? 2 : 1;
	uint64_t descriptor;

	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_SHAPE)) {
	case TCB_PTX_L32X32B:
	case TCB_PTX_L16X32BX2:
		return number * wide;
	case TCB_PTX_L16X64B:
		return 2 * number * wide;
	case TCB_PTX_L16X128B:
		return 4 * number * wide;
	case TCB_PTX_L16X256B:
		return 8 * number * wide;
	case TCB_PTX_L32X128B:
	case TCB_PTX_L64X128B:
	case TCB_PTX_L128X128B:
		return 4;
	case TCB_PTX_L4X256B:
	case TCB_PTX_L128X256B:
		return 8;
	}
	if (ins->op >= TCB_PTX_OP_TCGEN05_MMA && ins->op <= TCB_PTX_OP_TCGEN05_MMA_WS_SP && index == 0) {
		const unsigned at = ins->op == TCB_PTX_OP_TCGEN05_MMA || ins->op == TCB_PTX_OP_TCGEN05_MMA_WS ? 3 : 4;

		if (tcb_ptx_async_constant(a, ins, &ins->operands[at], &descriptor) && (descriptor >> 17 & 63))
			return (unsigned)(descriptor >> 17 & 63) * 8;
		return 8;
	}
	return 1;
}

int tcb_ptx_tensor_operand(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index,
			   struct tcb_ptx_tensor_place *out)
{
	const struct tcb_ptx_operand *operand = &ins->operands[index];

	*out = (struct tcb_ptx_tensor_place){ .columns = columns_of(a, ins, index) };
	if (operand->kind == TCB_PTX_O_ADDRESS)
		out->column = (int16_t)operand->bits;
	out->is_known = follow(a, ins, operand, 0, out);
	return out->is_known;
}

int tcb_ptx_tensor_overlap(const struct tcb_ptx_tensor_place *x, const struct tcb_ptx_tensor_place *y)
{
	return x->is_known && y->is_known && x->slot == y->slot && x->root == y->root &&
	       (!x->slot || x->slot_offset == y->slot_offset) && x->column < y->column + (int64_t)y->columns &&
	       y->column < x->column + (int64_t)x->columns;
}
