/* SPDX-License-Identifier: MIT
 *
 * In: an instruction whose operands are of the right kinds.  Out: whether their
 * numbers are: the size of vectors, immediates, tensor coordinates.
 */
#include "ptx/analyse/legality_parts.h"

static int check_vector_size(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)), count = tcb_ptx_vector_count(ins);
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	if ((ins->op != TCB_PTX_OP_LD && ins->op != TCB_PTX_OP_LDU && ins->op != TCB_PTX_OP_ST) ||
	    (bits * count <= 128 && count < 8))
		return 1;
	if (bits * count != 256)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_VECTOR_SIZE,
					  "%u elements of %u bits: a vector holds 128 bits, or 256", count, bits);
	if (check->function->module->target.sm < 100 || check->function->module->version < 88)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_TARGET, "vectors of 256 bits need sm_100 and PTX 8.8");
	if (space != TCB_PTX_GLOBAL)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_VECTOR_SIZE,
					  "vectors of 256 bits are for global memory only");
	return 1;
}

/* --- values of immediates --- */

static int check_shfl(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_operand *c = &check->ins->operands[3];
	int is_up = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_UP;
	unsigned clamp = (unsigned)(c->bits & 31), segments = (unsigned)(c->bits >> 8 & 31);

	if (c->kind != TCB_PTX_O_INT)
		return 1;
	if ((c->bits & ~0x1f1full) || (is_up ? clamp & ~segments : (clamp | segments) != 31))
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_SHFL_CLAMP,
					  "the last but one operand of shfl for a width W is (32-W)<<8%s, not %lld%s",
					  is_up ? "" : "|31", (long long)c->bits,
					  is_up ? "" : " (31 for a whole warp)");
	return 1;
}

/* An immediate at INDEX must lie in [LEAST, MOST] and be a multiple of STEP. */
static int in_range(const struct tcb_ptx_check *check, unsigned index, uint64_t least, uint64_t most, uint64_t step)
{
	const struct tcb_ptx_operand *operand = &check->ins->operands[index];

	if (operand->kind != TCB_PTX_O_INT ||
	    (operand->bits >= least && operand->bits <= most && operand->bits % step == 0))
		return 1;
	return tcb_ptx_check_fail(
		check, TCB_PTX_RULE_IMMEDIATE_RANGE, "operand %u of %s is %lld; it must be %llu to %llu%s", index + 1,
		tcb_ptx_check_op(check), (long long)operand->bits, (unsigned long long)least, (unsigned long long)most,
		step == 32   ? ", a multiple of 32"
		: step == 16 ? ", a multiple of 16"
		: step == 8  ? ", a multiple of 8"
			     : "");
}

static int check_cp_async(const struct tcb_ptx_check *check)
{
	uint64_t bytes = check->ins->operands[2].bits;
	const struct tcb_ptx_operand *rest = &check->ins->operands[3];

	/* the bytes to copy before zeros */
	if (check->ins->operand_count > 3u + (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_HINT) != 0) &&
	    rest->kind == TCB_PTX_O_INT && !in_range(check, 3, 0, bytes, 1))
		return 0;
	if (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_CACHE) == TCB_PTX_CG)
		return in_range(check, 2, 16, 16, 1);
	if (bytes == 4 || bytes == 8 || bytes == 16)
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_IMMEDIATE_RANGE, "cp.async copies 4, 8 or 16 bytes, not %lld",
				  (long long)bytes);
}

/* bar and barrier: id, then the number of threads if there is one. */
static int check_barrier(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;
	unsigned id = ins->result_count, threads = id + 1;
	int is_red = ins->op == TCB_PTX_OP_BAR_RED || ins->op == TCB_PTX_OP_BARRIER_RED;

	if (!in_range(check, id, 0, 15, 1))
		return 0;
	return ins->operand_count <= threads + (unsigned)is_red || in_range(check, threads, 32, 1024, 32);
}

static int check_wgmma(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;

	if (!in_range(check, 3, 0, 1, 1))
		return 0;
	for (unsigned i = 4; i < ins->operand_count; i++) {
		int64_t value = (int64_t)ins->operands[i].bits;

		if (i < 6 ? value != 1 && value != -1 : value != 0 && value != 1)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_IMMEDIATE_RANGE,
						  "operand %u of wgmma is %s, not %lld", i + 1,
						  i < 6 ? "1 or -1" : "0 or 1", (long long)value);
	}
	return 1;
}

/* .sat between integers is for destinations that do not hold every value of the source. */
static int check_saturation(const struct tcb_ptx_check *check)
{
	enum tcb_ptx_word to = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE),
			  from = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE2);
	int to_signed = tcb_ptx_type_class(to) == TCB_PTX_CLASS_SINT,
	    from_signed = tcb_ptx_type_class(from) == TCB_PTX_CLASS_SINT;
	unsigned to_bits = tcb_ptx_type_bits(to), from_bits = tcb_ptx_type_bits(from);

	if (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SAT) != TCB_PTX_SAT ||
	    (!to_signed && tcb_ptx_type_class(to) != TCB_PTX_CLASS_UINT) ||
	    (!from_signed && tcb_ptx_type_class(from) != TCB_PTX_CLASS_UINT))
		return 1;
	if (to_signed == from_signed ? to_bits < from_bits : from_signed || to_bits <= from_bits)
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_CVT_SATURATION, ".%s holds every .%s: leave .sat out",
				  tcb_ptx_word_text(to), tcb_ptx_word_text(from));
}

/* ptxas 13.0 ends with a signal. */
static int check_atom(const struct tcb_ptx_check *check)
{
	enum tcb_ptx_word type = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE);

	if (check->ins->operands[0].kind != TCB_PTX_O_SINK || (type != TCB_PTX_BF16 && type != TCB_PTX_BF16X2))
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE,
				  "atom.%s crashes ptxas when its result is _; use red", tcb_ptx_word_text(type));
}

static int check_values(const struct tcb_ptx_check *check)
{
	switch ((enum tcb_ptx_op)check->ins->op) {
	case TCB_PTX_OP_CVT:
		return check_saturation(check);
	case TCB_PTX_OP_SHFL:
		return check_shfl(check);
	case TCB_PTX_OP_ATOM:
		return check_atom(check);
	case TCB_PTX_OP_BFI:
		return in_range(check, 3, 0, 255, 1) && in_range(check, 4, 0, 255, 1);
	case TCB_PTX_OP_BFE:
		return in_range(check, 2, 0, 255, 1) && in_range(check, 3, 0, 255, 1);
	case TCB_PTX_OP_PMEVENT:
		return in_range(check, 0, 0, 15, 1);
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
		return tcb_ptx_mod(check->ins, TCB_PTX_SLOT_MODE) != TCB_PTX_PARITY || in_range(check, 2, 0, 1, 1);
	case TCB_PTX_OP_MBARRIER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP:
		return check->ins->operand_count < 3 || in_range(check, 2, 1, (1 << 20) - 1, 1);
	case TCB_PTX_OP_LOP3:
		return in_range(check, 4, 0, 255, 1);
	case TCB_PTX_OP_CP_ASYNC:
		return check_cp_async(check);
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return in_range(check, 2, 0, UINT32_MAX, 16);
	case TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH:
		return in_range(check, 1, 0, UINT32_MAX, 16);
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_BARRIER_RED:
		return check_barrier(check);
	case TCB_PTX_OP_SETMAXNREG:
		return in_range(check, 0, 24, 256, 8);
	case TCB_PTX_OP_MBARRIER_INIT:
		return in_range(check, 1, 1, (1 << 20) - 1, 1);
	case TCB_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		return in_range(check, 0, 0, INT32_MAX, 1);
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		return in_range(check, 0, 0, 7, 1);
	case TCB_PTX_OP_FENCE_PROXY:
		return check->ins->operand_count < 2 || in_range(check, 1, 128, 128, 1);
	case TCB_PTX_OP_WGMMA:
		return check_wgmma(check);
	default:
		return 1;
	}
}

/* A coordinate is a signed number of 32 bits. */
static int is_coordinate(const struct tcb_ptx_check *check, const struct tcb_ptx_operand *item)
{
	enum tcb_ptx_word type;

	if (item->kind != TCB_PTX_O_REG)
		return item->kind == TCB_PTX_O_INT;
	type = check->function->regs[item->reg].type;
	return type == TCB_PTX_B32 || type == TCB_PTX_S32 || type == TCB_PTX_U32;
}

static int check_coordinates(const struct tcb_ptx_check *check)
{
	enum tcb_ptx_word dimension = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_DIMENSION);
	uint32_t wanted = (uint32_t)(dimension - TCB_PTX_DIM1) + 1;

	for (unsigned i = 0; dimension && i < check->ins->operand_count; i++) {
		const struct tcb_ptx_operand *operand = &check->ins->operands[i];

		if (operand->kind != TCB_PTX_O_ADDRESS || !operand->items)
			continue;
		if (operand->count != wanted)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_COORDINATES, "%s.%s takes %u coordinates, not %u",
						  tcb_ptx_check_op(check), tcb_ptx_word_text(dimension), wanted,
						  operand->count);
		for (uint32_t k = 0; k < operand->count; k++)
			if (!is_coordinate(check, &operand->items[k]))
				return tcb_ptx_check_fail(check, TCB_PTX_RULE_COORDINATES,
							  "coordinate %u of %s must be an integer of 32 bits", k + 1,
							  tcb_ptx_check_op(check));
	}
	return 1;
}

int tcb_ptx_check_values(const struct tcb_ptx_check *check)
{
	return check_vector_size(check) && check_values(check) && check_coordinates(check);
}
