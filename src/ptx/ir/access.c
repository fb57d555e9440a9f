/* SPDX-License-Identifier: MIT
 *
 * In: an instruction and one of its addresses.  Out: which memory it touches,
 * how many bytes, and how they must be aligned (PTX ISA, the pages of each
 * instruction).
 */
#include "ptx/ir/opcodes.h"

enum { BULK_ALIGN = 16, TENSOR_SHARED_ALIGN = 128, TENSOR_MAP_ALIGN = 64 };
enum { MATRIX_ROW = 16, MBARRIER = 8, TENSOR_MAP_BYTES = 128, WARP = 32 };

unsigned tcb_ptx_vector_count(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_vector_of(tcb_ptx_mod(ins, TCB_PTX_SLOT_VECTOR));
}

int tcb_ptx_is_bulk_copy(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_CP_ASYNC_BULK || ins->op == TCB_PTX_OP_CP_ASYNC_BULK_TENSOR ||
	       ins->op == TCB_PTX_OP_CP_REDUCE_ASYNC_BULK || ins->op == TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
}

int tcb_ptx_is_access(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
	case TCB_PTX_OP_ST:
	case TCB_PTX_OP_ATOM:
	case TCB_PTX_OP_RED:
	case TCB_PTX_OP_LDMATRIX:
	case TCB_PTX_OP_STMATRIX:
		return 1;
	default:
		return 0;
	}
}

static struct tcb_ptx_access access_of(enum tcb_ptx_word space, unsigned bytes, int reads, int writes)
{
	return (struct tcb_ptx_access){ space, bytes, bytes, reads, writes };
}

static struct tcb_ptx_access mbarrier_in(enum tcb_ptx_word space)
{
	return access_of(space, MBARRIER, 1, 1);
}

/* Size operand of a bulk copy when it is known. */
static unsigned bulk_bytes(const struct tcb_ptx_ins *ins)
{
	return ins->operands[2].kind == TCB_PTX_O_INT ? (unsigned)ins->operands[2].bits : 0;
}

/* dst, src, ... [mbarrier]; ORDER is 0 for the destination, 1 for the source, 2 for the barrier. */
static struct tcb_ptx_access bulk_access(const struct tcb_ptx_ins *ins, unsigned order, unsigned bytes, int is_tensor,
					 int reduces)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, order ? TCB_PTX_SLOT_SPACE2 : TCB_PTX_SLOT_SPACE);
	struct tcb_ptx_access access;

	if (order == 2)
		return mbarrier_in(tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE));
	access = access_of(space, bytes, order == 1 || reduces, order == 0);
	access.align = BULK_ALIGN;
	if (is_tensor)
		access.align = space == TCB_PTX_GLOBAL ? TENSOR_MAP_ALIGN : TENSOR_SHARED_ALIGN;
	return access;
}

int tcb_ptx_access(const struct tcb_ptx_ins *ins, unsigned index, struct tcb_ptx_access *out)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
	unsigned bytes = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) / 8 * tcb_ptx_vector_count(ins);

	if (ins->operands[index].kind != TCB_PTX_O_ADDRESS)
		return 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
		*out = access_of(space, bytes, 1, 0);
		return 1;
	case TCB_PTX_OP_ST:
		*out = access_of(space, bytes, 0, 1);
		return 1;
	case TCB_PTX_OP_ATOM:
	case TCB_PTX_OP_RED:
		*out = access_of(space, bytes, 1, 1);
		return 1;
	case TCB_PTX_OP_LDMATRIX:
		*out = access_of(space, MATRIX_ROW, 1, 0);
		return 1;
	case TCB_PTX_OP_STMATRIX:
		*out = access_of(space, MATRIX_ROW, 0, 1);
		return 1;
	case TCB_PTX_OP_ST_ASYNC:
	case TCB_PTX_OP_RED_ASYNC:
		space = TCB_PTX_SHARED_CLUSTER;
		*out = index ? mbarrier_in(space) : access_of(space, bytes, ins->op == TCB_PTX_OP_RED_ASYNC, 1);
		return 1;
	case TCB_PTX_OP_CP_ASYNC:
		*out = access_of(index ? tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE2) : space, bulk_bytes(ins), index == 1,
				 index == 0);
		return 1;
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		*out = bulk_access(ins, index == 3 ? 2 : index, bulk_bytes(ins), 0,
				   index == 0 && ins->op == TCB_PTX_OP_CP_REDUCE_ASYNC_BULK);
		return 1;
	case TCB_PTX_OP_CP_ASYNC_BULK_TENSOR:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
		*out = bulk_access(ins, index, 0, 1, index == 0 && ins->op == TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR);
		return 1;
	case TCB_PTX_OP_MBARRIER_INIT:
	case TCB_PTX_OP_MBARRIER_INVAL:
	case TCB_PTX_OP_MBARRIER_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_COMPLETE_TX:
	case TCB_PTX_OP_MBARRIER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
	case TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		*out = mbarrier_in(space);
		return 1;
	case TCB_PTX_OP_TENSORMAP_REPLACE:
		*out = access_of(space, TENSOR_MAP_BYTES, 1, 1);
		out->align = TENSOR_MAP_ALIGN;
		return 1;
	case TCB_PTX_OP_TENSORMAP_CP_FENCEPROXY:
		*out = access_of(index ? tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE2) : space, TENSOR_MAP_BYTES, index == 1,
				 index == 0);
		out->align = TENSOR_MAP_ALIGN;
		return 1;
	case TCB_PTX_OP_TCGEN05_ALLOC:
		*out = access_of(TCB_PTX_SHARED_CTA, 4, 0, 1);
		return 1;
	case TCB_PTX_OP_TCGEN05_COMMIT:
		*out = mbarrier_in(TCB_PTX_SHARED_CLUSTER);
		return 1;
	default:
		return 0; /* prefetches and fences touch nothing that a program can see */
	}
}

unsigned tcb_ptx_address_lanes(const struct tcb_ptx_ins *ins)
{
	if (ins->op != TCB_PTX_OP_LDMATRIX && ins->op != TCB_PTX_OP_STMATRIX)
		return WARP;
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_MATRICES)) {
	case TCB_PTX_X1:
		return 8;
	case TCB_PTX_X2:
		return 16;
	default:
		return WARP;
	}
}
