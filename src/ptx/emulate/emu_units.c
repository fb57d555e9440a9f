/* SPDX-License-Identifier: MIT
 *
 * Which binder serves which opcode.  A new unit is its file and its lines here.
 */
#include "ptx/emulate/emu.h"

/* Opcodes that are integer or floating point, by their type. */
static enum tcb_status bind_arithmetic(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	switch ((int)tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE)) {
	case TCB_PTX_F16:
	case TCB_PTX_F16X2:
	case TCB_PTX_BF16:
	case TCB_PTX_BF16X2:
	case TCB_PTX_F32:
	case TCB_PTX_F32X2:
	case TCB_PTX_F64:
		return tcb_emu_bind_fp(decoder, in, err);
	}
	return tcb_emu_bind_integer(decoder, in, err);
}

/* What the opcode table does not have, by its name. */
static enum tcb_status bind_opaque(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	return tcb_emu_bind_texture(decoder, in) ? TCB_OK : tcb_emu_bind_wmma(decoder, in, err);
}

/* clang-format off: one row a unit */
static tcb_emu_bind_fn *const binders[TCB_PTX_OP_COUNT] = {
	[TCB_PTX_OP_ADD... TCB_PTX_OP_SAD] = bind_arithmetic,
	[TCB_PTX_OP_POPC... TCB_PTX_OP_DP2A] = tcb_emu_bind_bits,
	[TCB_PTX_OP_TESTP... TCB_PTX_OP_COPYSIGN] = tcb_emu_bind_compare,
	[TCB_PTX_OP_RCP... TCB_PTX_OP_TANH] = tcb_emu_bind_fp,
	[TCB_PTX_OP_SET... TCB_PTX_OP_SLCT] = tcb_emu_bind_compare,
	[TCB_PTX_OP_AND... TCB_PTX_OP_PRMT] = tcb_emu_bind_bits,
	[TCB_PTX_OP_MOV] = tcb_emu_bind_move,
	[TCB_PTX_OP_CVT... TCB_PTX_OP_CVT_PACK] = tcb_emu_bind_cvt,
	[TCB_PTX_OP_CVTA... TCB_PTX_OP_ISSPACEP] = tcb_emu_bind_memory,
	[TCB_PTX_OP_LD... TCB_PTX_OP_ST] = tcb_emu_bind_memory,
	[TCB_PTX_OP_PREFETCH... TCB_PTX_OP_PREFETCHU] = tcb_emu_bind_control,
	[TCB_PTX_OP_CREATEPOLICY_FRACTIONAL] = tcb_emu_bind_policy,
	[TCB_PTX_OP_ATOM... TCB_PTX_OP_RED] = tcb_emu_bind_atomic,
	[TCB_PTX_OP_CP_ASYNC... TCB_PTX_OP_CP_ASYNC_WAIT_ALL] = tcb_emu_bind_copy,
	[TCB_PTX_OP_FENCE] = tcb_emu_bind_memory,
	[TCB_PTX_OP_MEMBAR] = tcb_emu_bind_memory,
	[TCB_PTX_OP_BAR_SYNC... TCB_PTX_OP_BAR_RED] = tcb_emu_bind_barrier,
	[TCB_PTX_OP_BAR_WARP_SYNC] = tcb_emu_bind_lanes,
	[TCB_PTX_OP_BARRIER_SYNC... TCB_PTX_OP_BARRIER_CLUSTER_WAIT] = tcb_emu_bind_barrier,
	[TCB_PTX_OP_SHFL... TCB_PTX_OP_ELECT] = tcb_emu_bind_lanes,
	[TCB_PTX_OP_BRA... TCB_PTX_OP_PMEVENT] = tcb_emu_bind_control,
	/* matrices and what is asynchronous */
	[TCB_PTX_OP_MAPA... TCB_PTX_OP_GETCTARANK] = tcb_emu_bind_cluster,
	[TCB_PTX_OP_ST_ASYNC... TCB_PTX_OP_RED_ASYNC] = tcb_emu_bind_cluster,
	[TCB_PTX_OP_LDMATRIX... TCB_PTX_OP_MOVMATRIX] = tcb_emu_bind_mma,
	[TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE] = tcb_emu_bind_mbarrier,
	[TCB_PTX_OP_CP_ASYNC_BULK] = tcb_emu_bind_bulk,
	[TCB_PTX_OP_CP_ASYNC_BULK_TENSOR] = tcb_emu_bind_tensor,
	[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK] = tcb_emu_bind_bulk,
	[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR] = tcb_emu_bind_tensor,
	[TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH... TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR] = tcb_emu_bind_control,
	[TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP... TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP] = tcb_emu_bind_bulk,
	[TCB_PTX_OP_TENSORMAP_REPLACE... TCB_PTX_OP_TENSORMAP_CP_FENCEPROXY] = tcb_emu_bind_tensor_map,
	[TCB_PTX_OP_TCGEN05_ALLOC... TCB_PTX_OP_TCGEN05_LD_RED] = tcb_emu_bind_tmem,
	[TCB_PTX_OP_TCGEN05_MMA] = tcb_emu_bind_tcgen05,
	[TCB_PTX_OP_TCGEN05_MMA_SP... TCB_PTX_OP_TCGEN05_SHIFT] = tcb_emu_bind_tmem,
	[TCB_PTX_OP_TCGEN05_COMMIT] = tcb_emu_bind_tcgen05,
	[TCB_PTX_OP_MBARRIER_INIT... TCB_PTX_OP_MBARRIER_PENDING_COUNT] = tcb_emu_bind_mbarrier,
	[TCB_PTX_OP_FENCE_PROXY] = tcb_emu_bind_cluster,
	[TCB_PTX_OP_FENCE_MBARRIER_INIT] = tcb_emu_bind_memory,
	[TCB_PTX_OP_GRIDDEPCONTROL] = tcb_emu_bind_launch,
	[TCB_PTX_OP_SETMAXNREG] = tcb_emu_bind_setmaxnreg,
	[TCB_PTX_OP_MMA] = tcb_emu_bind_mma,
	[TCB_PTX_OP_OPAQUE] = bind_opaque,
	[TCB_PTX_OP_WGMMA... TCB_PTX_OP_WGMMA_WAIT_GROUP] = tcb_emu_bind_wgmma,
};
/* clang-format on */

tcb_emu_bind_fn *tcb_emu_binder(enum tcb_ptx_op op)
{
	return op < TCB_PTX_OP_COUNT ? binders[op] : NULL;
}

void *tcb_emu_unit(struct tcb_emu_warp *warp, unsigned unit, size_t bytes)
{
	struct tcb_emu_block *block = warp->block;

	if (!block->unit[unit])
		block->unit[unit] = tcb_arena_alloc(&block->arena, bytes);
	if (!block->unit[unit])
		tcb_emu_no_memory(warp->run);
	return block->unit[unit];
}
