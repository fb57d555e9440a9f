/* SPDX-License-Identifier: MIT
 *
 * mov: registers, immediates, special registers, addresses of variables, and
 * packing and unpacking.  Clocks count the warp instructions of the launch, so
 * that two runs read the same times.
 */
#include "ptx/emulate/emu_program.h"

#include <string.h>

static uint32_t lane_mask(enum tcb_ptx_special special, unsigned lane)
{
	uint32_t bit = 1u << lane;

	switch (special) {
	case TCB_PTX_SR_LANEMASK_EQ:
		return bit;
	case TCB_PTX_SR_LANEMASK_LE:
		return bit | (bit - 1);
	case TCB_PTX_SR_LANEMASK_LT:
		return bit - 1;
	case TCB_PTX_SR_LANEMASK_GE:
		return ~(bit - 1);
	default:
		return ~(bit | (bit - 1));
	}
}

/* One of the three values that begin at FIRST in the list of special registers. */
#define PART(first) (special - (first))

/* Those of the cluster. */
static uint64_t cluster_value(const struct tcb_emu_warp *warp, enum tcb_ptx_special special)
{
	const struct tcb_emu_run *run = warp->run;
	const uint32_t *size = run->cluster_size, *at = warp->block->ctaid;

	if (special >= TCB_PTX_SR_CLUSTERID_X && special <= TCB_PTX_SR_CLUSTERID_Z)
		return at[PART(TCB_PTX_SR_CLUSTERID_X)] / size[PART(TCB_PTX_SR_CLUSTERID_X)];
	if (special >= TCB_PTX_SR_NCLUSTERID_X && special <= TCB_PTX_SR_NCLUSTERID_Z)
		return run->launch->grid[PART(TCB_PTX_SR_NCLUSTERID_X)] / size[PART(TCB_PTX_SR_NCLUSTERID_X)];
	if (special >= TCB_PTX_SR_CLUSTER_CTAID_X && special <= TCB_PTX_SR_CLUSTER_CTAID_Z)
		return at[PART(TCB_PTX_SR_CLUSTER_CTAID_X)] % size[PART(TCB_PTX_SR_CLUSTER_CTAID_X)];
	if (special >= TCB_PTX_SR_CLUSTER_NCTAID_X && special <= TCB_PTX_SR_CLUSTER_NCTAID_Z)
		return size[PART(TCB_PTX_SR_CLUSTER_NCTAID_X)];
	if (special == TCB_PTX_SR_CLUSTER_CTARANK)
		return warp->block->rank;
	if (special == TCB_PTX_SR_CLUSTER_NCTARANK)
		return run->cluster_blocks;
	return run->cluster_blocks > 1; /* is_explicit_cluster */
}

static uint64_t special_value(struct tcb_emu_warp *warp, enum tcb_ptx_special special, unsigned lane)
{
	struct tcb_emu_run *run = warp->run;

	if (special <= TCB_PTX_SR_TID_Z)
		return warp->tid[PART(TCB_PTX_SR_TID_X)][lane];
	if (special <= TCB_PTX_SR_NTID_Z)
		return run->launch->block[PART(TCB_PTX_SR_NTID_X)];
	if (special <= TCB_PTX_SR_CTAID_Z)
		return warp->block->ctaid[PART(TCB_PTX_SR_CTAID_X)];
	if (special <= TCB_PTX_SR_NCTAID_Z)
		return run->launch->grid[PART(TCB_PTX_SR_NCTAID_X)];
	if (special <= TCB_PTX_SR_IS_EXPLICIT_CLUSTER)
		return cluster_value(warp, special);
	if (special >= TCB_PTX_SR_LANEMASK_EQ && special <= TCB_PTX_SR_LANEMASK_GT)
		return lane_mask(special, lane);
	switch (special) {
	case TCB_PTX_SR_LANEID:
		return lane;
	case TCB_PTX_SR_WARPID:
		return warp->index;
	case TCB_PTX_SR_NWARPID:
		return 64;
	case TCB_PTX_SR_NSMID:
		return 1;
	case TCB_PTX_SR_CLOCK:
	case TCB_PTX_SR_CLOCK64:
	case TCB_PTX_SR_GLOBALTIMER:
	case TCB_PTX_SR_GLOBALTIMER_LO:
		if (run->crew) /* how long the clusters before took is unknown */
			tcb_emu_give_up(warp);
		return run->tick;
	case TCB_PTX_SR_TOTAL_SMEM_SIZE:
	case TCB_PTX_SR_AGGR_SMEM_SIZE:
		return warp->block->shared_bytes;
	case TCB_PTX_SR_ENVREG1: /* where cooperative groups look for the grid's barrier */
		run->asked_grid_barrier |= !run->grid_barrier;
		return run->grid_barrier >> 32;
	case TCB_PTX_SR_ENVREG2:
		return (uint32_t)run->grid_barrier;
	case TCB_PTX_SR_DYNAMIC_SMEM_SIZE:
		return run->launch->dynamic_shared;
	default: /* smid, gridid, the high halves of times */
		return 0;
	}
}

static void run_special(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct tcb_emu_operand *op = &in->op[1];

	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane,
		    op->special == TCB_EMU_LOCAL_ADDRESS
			    ? (uint64_t)op->add + warp->frame->local_base
			    : special_value(warp, (enum tcb_ptx_special)op->special, lane));
}

static void run_mov32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	tcb_emu_put32(warp, &in->op[0], tcb_emu_get32(warp, &in->op[1]), active);
}

static void run_mov64(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	tcb_emu_put64(warp, &in->op[0], tcb_emu_get64(warp, &in->op[1]), active);
}

static void run_mov_pred(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	tcb_emu_put_pred(warp, &in->op[0], tcb_emu_pred(warp, &in->op[1]), active);
}

/* --- packing: the bits of one side, low first, are those of the other --- */

static unsigned bits_of(const struct tcb_emu_operand *op)
{
	unsigned bits = 0;

	if (op->kind != TCB_EMU_VECTOR)
		return op->bits;
	for (unsigned i = 0; i < op->count; i++)
		bits += op->items[i].bits;
	return bits;
}

static unsigned __int128 read_part(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane)
{
	const uint64_t *wide = tcb_emu_get64(warp, op);

	if (op->bits == 128)
		return wide[lane] | (unsigned __int128)wide[TCB_EMU_LANES + lane] << 64;
	return tcb_emu_get(warp, op, lane);
}

static void write_part(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane,
		       unsigned __int128 value)
{
	uint64_t *wide = (uint64_t *)(warp->lanes + op->offset);

	if (op->bits != 128) {
		tcb_emu_set(warp, op, lane, (uint64_t)value);
	} else if (op->kind == TCB_EMU_REG) {
		wide[lane] = (uint64_t)value;
		wide[TCB_EMU_LANES + lane] = (uint64_t)(value >> 64);
	}
}

static void run_pack(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct tcb_emu_operand *to = &in->op[0], *from = &in->op[1];

	TCB_EMU_EACH(lane, active)
	{
		unsigned __int128 value = 0;
		unsigned at = 0;

		for (unsigned i = 0; i < (from->kind == TCB_EMU_VECTOR ? from->count : 1u); i++) {
			const struct tcb_emu_operand *part = from->kind == TCB_EMU_VECTOR ? &from->items[i] : from;

			value |= read_part(warp, part, lane) << at;
			at += part->bits;
		}
		at = 0;
		for (unsigned i = 0; i < (to->kind == TCB_EMU_VECTOR ? to->count : 1u); i++) {
			const struct tcb_emu_operand *part = to->kind == TCB_EMU_VECTOR ? &to->items[i] : to;

			write_part(warp, part, lane, value >> at);
			at += part->bits;
		}
	}
}

/* --- the usual ones: two halves of 16 or of 32 bits --- */

static void run_pack16(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *low = tcb_emu_get32(warp, &in->op[1].items[0]),
		       *high = tcb_emu_get32(warp, &in->op[1].items[1]);
	uint32_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = (low[i] & 0xffff) | high[i] << 16;
	tcb_emu_put32(warp, &in->op[0], result, active);
}

static void run_unpack16(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *from = tcb_emu_get32(warp, &in->op[1]);
	uint32_t low[TCB_EMU_LANES], high[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++) {
		low[i] = from[i] & 0xffff;
		high[i] = from[i] >> 16;
	}
	tcb_emu_put32(warp, &in->op[0].items[0], low, active);
	tcb_emu_put32(warp, &in->op[0].items[1], high, active);
}

static void run_pack32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *low = tcb_emu_get32(warp, &in->op[1].items[0]),
		       *high = tcb_emu_get32(warp, &in->op[1].items[1]);
	uint64_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = low[i] | (uint64_t)high[i] << 32;
	tcb_emu_put64(warp, &in->op[0], result, active);
}

static void run_unpack32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint64_t *from = tcb_emu_get64(warp, &in->op[1]);
	uint32_t low[TCB_EMU_LANES], high[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++) {
		low[i] = (uint32_t)from[i];
		high[i] = (uint32_t)(from[i] >> 32);
	}
	tcb_emu_put32(warp, &in->op[0].items[0], low, active);
	tcb_emu_put32(warp, &in->op[0].items[1], high, active);
}

/* Whether OP is two parts of BITS. */
static int is_pair(const struct tcb_emu_operand *op, unsigned bits)
{
	return op->kind == TCB_EMU_VECTOR && op->count == 2 && op->items[0].bits == bits && op->items[1].bits == bits;
}

static tcb_emu_run_fn *quick_pack(const struct tcb_emu_ins *in)
{
	const struct tcb_emu_operand *to = &in->op[0], *from = &in->op[1];

	if (to->kind == TCB_EMU_REG)
		return to->bits == 32 && is_pair(from, 16)   ? run_pack16
		       : to->bits == 64 && is_pair(from, 32) ? run_pack32
							     : run_pack;
	if (from->kind == TCB_EMU_VECTOR)
		return run_pack;
	return from->bits == 32 && is_pair(to, 16)   ? run_unpack16
	       : from->bits == 64 && is_pair(to, 32) ? run_unpack32
						     : run_pack;
}

/* Gives an immediate BITS. */
static int resize(struct tcb_ptx_program *program, struct tcb_emu_operand *op, unsigned bits)
{
	uint64_t value = 0;

	memcpy(&value, program->pool + op->offset, op->bits == 64 ? 8 : 4);
	if (bits < 64)
		value &= (1ull << bits) - 1;
	op->offset = tcb_emu_pool(program, bits == 64 ? 64 : 32, value);
	op->bits = (uint8_t)bits;
	return op->offset != UINT32_MAX;
}

/* Sinks and immediates in braces take what the type leaves them. */
static int settle(struct tcb_ptx_program *program, struct tcb_emu_operand *op, unsigned total)
{
	unsigned known = 0, loose = 0;

	if (op->kind != TCB_EMU_VECTOR)
		return (op->kind == TCB_EMU_REG || op->kind == TCB_EMU_CONST || op->kind == TCB_EMU_NONE) &&
		       op->bits == total;
	for (unsigned i = 0; i < op->count; i++)
		if (op->items[i].kind == TCB_EMU_REG)
			known += op->items[i].bits;
		else if (op->items[i].kind == TCB_EMU_NONE || op->items[i].kind == TCB_EMU_CONST)
			loose++;
		else
			return 0;
	if (known > total || (loose && ((total - known) % loose || (total - known) / loose > 64)))
		return 0;
	for (unsigned i = 0; i < op->count; i++) {
		if (op->items[i].kind == TCB_EMU_CONST && !resize(program, &op->items[i], (total - known) / loose))
			return 0;
		if (op->items[i].kind == TCB_EMU_NONE)
			op->items[i].bits = (uint8_t)((total - known) / loose);
	}
	return bits_of(op) == total;
}

enum tcb_status tcb_emu_bind_move(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	struct tcb_emu_operand *to = &in->op[0], *from = &in->op[1];
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE));

	if (from->kind == TCB_EMU_SPECIAL) {
		in->run = run_special;
		return to->kind == TCB_EMU_REG && to->bits <= 64
			       ? TCB_OK
			       : tcb_fail(err, TCB_E_UNSUPPORTED, "the result is not a register");
	}
	if (!settle(decoder->program, to, bits) || !settle(decoder->program, from, bits))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the operands are not %u bits wide", bits);
	if (to->kind == TCB_EMU_VECTOR || from->kind == TCB_EMU_VECTOR || bits == 128)
		in->run = quick_pack(in);
	else
		in->run = bits == 1 ? run_mov_pred : bits == 64 ? run_mov64 : run_mov32;
	in->is_copy = to->kind != TCB_EMU_VECTOR && from->kind != TCB_EMU_VECTOR && bits < 128;
	return TCB_OK;
}

/* A cache policy is opaque: any value will do, since caches are not emulated. */
static void run_policy(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane, in->wide);
}

enum tcb_status tcb_emu_bind_policy(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	(void)decoder;
	(void)err;
	in->wide = in->ins->form;
	in->run = run_policy;
	return TCB_OK;
}
