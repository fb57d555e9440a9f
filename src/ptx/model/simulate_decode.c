/* SPDX-License-Identifier: MIT
 *
 * In: a kernel and its launch.  Out: its instructions with what each costs on
 * the machine: the pipe and how long it is taken, the latency of the result,
 * the wavefronts, sectors and bytes that a warp's access takes.
 *
 * Rates are those of the CUDA C++ Programming Guide 13.0, "Throughput of Native
 * Arithmetic Instructions", for a quarter of a multiprocessor; latencies those
 * that Jia et al. ("Dissecting the NVIDIA Volta GPU architecture via
 * microbenchmarking", 2018) and later measurements of that kind agree about; both,
 * and which instructions share a pipe, were measured again on an H200
 * (tests/search/gpu_rates.c, results/h200/gpu_rates.txt).
 */
#include "ptx/model/simulate_decode.h"

#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"
#include "ptx/model/simulate_order.h"
#include "ptx/model/simulate_scout.h"
#include "ptx/model/simulate_value.h"

enum {
	LATENCY_ALU = 4,
	LATENCY_FMA = 4,
	LATENCY_HALF = 5,
	LATENCY_XU = 17,
	LATENCY_SHUFFLE = 26,
	LATENCY_SHARED = 23, /* and LATENCY_WIDE for 16 bytes per lane */
	LATENCY_WIDE = 8,
	LATENCY_SPECIAL = 14, /* %tid and the like */
	LATENCY_MATRIX = 17,  /* beyond the time that the unit is taken */
	REGISTERS_LEAST = 16, /* of a thread, whatever it does; and at most */
	REGISTERS_MOST = 255,
	WARP = 32
};

struct decoder {
	const struct tcb_ptx_machine *machine;
	struct tcb_sim_program *program;
	uint8_t *is_needed; /* by register */
};

static void cost(struct tcb_sim_op *op, enum tcb_sim_unit unit, unsigned issues, unsigned busy, unsigned latency)
{
	op->unit = (uint8_t)unit;
	op->issues = (uint8_t)issues;
	op->busy = (uint8_t)busy;
	op->latency = (uint16_t)latency;
}

/* Cycles that a quarter of a multiprocessor takes for a warp's integer instruction, f32 instruction, conversion. */
static unsigned integer_cycles(const struct tcb_ptx_machine *machine)
{
	return machine->capability >= 120 ? 1 : 2;
}

static int has_light_pipe(const struct tcb_ptx_machine *machine)
{
	const unsigned sm = machine->capability;
	return sm != 75 && sm != 80;
}

/* From integers to floats; the other way takes the slow pipe everywhere. */
static unsigned convert_cycles(const struct tcb_ptx_machine *machine)
{
	return machine->capability <= 80 ? 8 : 2;
}

static int is_float(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || type == TCB_PTX_BF16 || type == TCB_PTX_BF16X2;
}

static int is_power_of_two(const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_INT && operand->bits && !(operand->bits & (operand->bits - 1));
}

static int is_constant(const struct tcb_ptx_operand *operand, uint64_t value)
{
	return operand->kind == TCB_PTX_O_INT && operand->bits == value;
}

static void cost_of_f32(const struct decoder *d, struct tcb_sim_op *op)
{
	cost(op, has_light_pipe(d->machine) ? TCB_SIM_FMA : TCB_SIM_HEAVY, 1, 2, LATENCY_FMA);
}

/* Products of two 16-bit numbers and sums with 32-bit ones, a cycle, of the matrix unit of a quarter of a
 * multiprocessor, after NVIDIA's papers on each architecture (Hopper's mma at half the rate of its wgmma:
 * results/h200/gpu_rates.txt). */
static unsigned matrix_rate(const struct tcb_ptx_machine *machine, enum tcb_ptx_op op)
{
	const unsigned sm = machine->capability;
	if (sm == 90)
		return op == TCB_PTX_OP_WGMMA ? 512 : 341;
	return sm == 80 || sm >= 100 ? 256 : 128;
}

/* By the bits of what is multiplied: bytes twice as fast as 16 bits, tf32 half as fast; f64, one sixteenth. */
static void cost_of_matrix(const struct decoder *d, struct tcb_sim_op *op)
{
	const int is_group = op->ins->op == TCB_PTX_OP_WGMMA;
	unsigned m, n, k, bits = tcb_ptx_type_bits(tcb_ptx_mod(op->ins, TCB_PTX_SLOT_TYPE2));
	tcb_ptx_shape(tcb_ptx_mod(op->ins, TCB_PTX_SLOT_SHAPE), &m, &n, &k);
	if (is_group)
		m /= 4; /* a warp's part */
	bits = bits == 64 ? 256 : bits == 0 ? 16 : bits;
	unsigned busy = m * n * k / matrix_rate(d->machine, op->ins->op) * bits / 16;
	busy = busy < 1 ? 1 : busy > UINT8_MAX ? UINT8_MAX : busy;
	/* Sums of a group follow each other without a gap. */
	cost(op, TCB_SIM_MATRIX, 1, busy, is_group ? busy : busy + LATENCY_MATRIX);
}

/* What the assembler makes of an instruction of integers or floats. */
static void cost_of_arithmetic(const struct decoder *d, struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	const enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	const unsigned integer = integer_cycles(d->machine), wide = tcb_ptx_type_bits(type) == 64 ? 2 : 1;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
		if (!is_float(type) && is_constant(&ins->operands[2], 0))
			cost(op, TCB_SIM_NO_UNIT, 0, 0, 0);
		else if (is_float(type))
			cost_of_f32(d, op);
		else
			cost(op, TCB_SIM_ALU, wide, wide * integer, LATENCY_ALU);
		return;
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
	case TCB_PTX_OP_FMA:
		if (!is_float(type) && ins->op == TCB_PTX_OP_MUL && is_constant(&ins->operands[2], 1))
			cost(op, TCB_SIM_NO_UNIT, 0, 0, 0);
		else if (is_float(type))
			cost_of_f32(d, op);
		else
			cost(op, TCB_SIM_HEAVY, 1, 2, LATENCY_ALU);
		return;
	case TCB_PTX_OP_DP4A:
	case TCB_PTX_OP_DP2A:
		cost(op, TCB_SIM_HEAVY, 1, 2, LATENCY_ALU);
		return;
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		if (is_float(type))
			cost(op, TCB_SIM_FMA, 8, 16, 40);
		else if (is_power_of_two(&ins->operands[2]))
			cost(op, TCB_SIM_ALU, 1, integer, LATENCY_ALU);
		else if (ins->operands[2].kind == TCB_PTX_O_INT)
			cost(op, TCB_SIM_HEAVY, 3, 6, 15);
		else
			cost(op, TCB_SIM_ALU, 20, 40, 120);
		return;
	case TCB_PTX_OP_RCP:
	case TCB_PTX_OP_SQRT:
	case TCB_PTX_OP_RSQRT:
	case TCB_PTX_OP_SIN:
	case TCB_PTX_OP_COS:
	case TCB_PTX_OP_LG2:
	case TCB_PTX_OP_EX2:
	case TCB_PTX_OP_TANH:
		if (ins->mod[TCB_PTX_SLOT_APPROX])
			cost(op, TCB_SIM_XU, 1, 8, LATENCY_XU);
		else
			cost(op, TCB_SIM_XU, 8, 16, 40);
		return;
	default: /* integers of all sorts */
		cost(op, TCB_SIM_ALU, wide, wide * integer, LATENCY_ALU);
	}
}

static void cost_of_conversion(const struct decoder *d, struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	const enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);
	if (!is_float(to) && !is_float(from)) /* a register pair's other half, or a sign */
		cost(op, TCB_SIM_NO_UNIT, 0, 0, 0);
	else if (is_float(to) && is_float(from)) /* half instructions */
		cost(op, TCB_SIM_HEAVY, 1, 2, LATENCY_HALF);
	else if (is_float(to) && convert_cycles(d->machine) < 8)
		cost(op, TCB_SIM_ALU, 1, convert_cycles(d->machine), LATENCY_ALU);
	else
		cost(op, TCB_SIM_XU, 1, 8, LATENCY_XU);
}

static void cost_of_move(const struct decoder *d, struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	(void)d;
	if (ins->operand_count > 1 && ins->operands[1].kind == TCB_PTX_O_SPECIAL)
		cost(op, TCB_SIM_ALU, 1, 2, LATENCY_SPECIAL);
	else
		cost(op, TCB_SIM_NO_UNIT, 0, 0, 0);
}

/* --- memory --- */

static int is_shared(enum tcb_ptx_word space)
{
	return space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA || space == TCB_PTX_SHARED_CLUSTER;
}

/* Bytes and wavefronts or sectors of a warp's access as if neighbours had neighbouring data: until the scout is back.
 */
static void access_cost(struct tcb_sim_op *op, unsigned index)
{
	struct tcb_ptx_access access = { .bytes = 4 };
	(void)tcb_ptx_access(op->ins, index, &access);
	const unsigned unit = op->kind == TCB_SIM_SHARED ? 128 : 32;
	op->is_access = 1;
	op->bytes = access.bytes * WARP;
	op->wavefronts = op->wavefronts_ideal = (uint16_t)((op->bytes + unit - 1) / unit);
	if (!op->wavefronts)
		op->wavefronts = op->wavefronts_ideal = 1;
	op->address = (uint8_t)index;
}

static unsigned address_index(const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS)
			return i;
	return 0;
}

static void decode_access(struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	const unsigned index = address_index(ins);
	const enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
	struct tcb_ptx_access access = { .bytes = 4 };
	cost(op, TCB_SIM_NO_UNIT, 1, 1, 0);
	if (space == TCB_PTX_PARAM || space == TCB_PTX_PARAM_ENTRY || space == TCB_PTX_CONST) {
		cost(op, TCB_SIM_NO_UNIT, 0, 0, 0); /* an operand in the constant bank */
		return;
	}
	(void)tcb_ptx_access(ins, index, &access);
	op->is_load = ins->op != TCB_PTX_OP_ST && ins->op != TCB_PTX_OP_RED && ins->op != TCB_PTX_OP_STMATRIX;
	op->kind = is_shared(space) || ins->op == TCB_PTX_OP_LDMATRIX || ins->op == TCB_PTX_OP_STMATRIX
			   ? TCB_SIM_SHARED
			   : TCB_SIM_GLOBAL;
	if (op->kind == TCB_SIM_SHARED)
		op->latency = LATENCY_SHARED + (access.bytes >= 16 ? LATENCY_WIDE : 0);
	access_cost(op, index);
	if (op->kind == TCB_SIM_SHARED && ins->op == TCB_PTX_OP_ATOM)
		op->latency *= 2;
}

static void decode_copy(struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	cost(op, TCB_SIM_NO_UNIT, 1, 1, 0);
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_CP_ASYNC:
		op->kind = TCB_SIM_ASYNC;
		access_cost(op, 1);
		return;
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		op->kind = TCB_SIM_BULK;
		op->address = 1;
		op->bytes = ins->operands[2].kind == TCB_PTX_O_INT ? (uint32_t)ins->operands[2].bits : 0;
		op->issues = 4; /* the unit takes its operands from uniform registers */
		return;
	case TCB_PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
		op->kind = TCB_SIM_COMMIT;
		return;
	case TCB_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		op->kind = TCB_SIM_WAIT_GROUP;
		return;
	case TCB_PTX_OP_CP_ASYNC_WAIT_ALL:
		op->kind = TCB_SIM_WAIT_ALL;
		return;
	default:
		return;
	}
}

static void decode_control(struct tcb_sim_op *op)
{
	const struct tcb_ptx_ins *ins = op->ins;
	cost(op, TCB_SIM_NO_UNIT, 1, 1, 1);
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BRA:
		op->kind = TCB_SIM_BRANCH;
		return;
	case TCB_PTX_OP_RET:
	case TCB_PTX_OP_EXIT:
	case TCB_PTX_OP_TRAP:
		op->kind = TCB_SIM_EXIT;
		return;
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BARRIER_RED:
		op->kind = TCB_SIM_BARRIER;
		op->address = ins->result_count;
		return;
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BARRIER_ARRIVE:
		op->kind = TCB_SIM_BARRIER_ARRIVE;
		return;
	case TCB_PTX_OP_BAR_WARP_SYNC:
		op->latency = 2;
		return;
	case TCB_PTX_OP_MBARRIER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_EXPECT_TX:
		op->kind = TCB_SIM_ARRIVE;
		op->issues = 2;
		op->latency = LATENCY_SHARED;
		return;
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
		op->kind = TCB_SIM_MBARRIER_WAIT;
		op->issues = 2;
		op->latency = LATENCY_SHARED;
		op->address = (uint8_t)address_index(ins);
		return;
	case TCB_PTX_OP_MBARRIER_INIT:
		op->latency = LATENCY_SHARED;
		return;
	case TCB_PTX_OP_GRIDDEPCONTROL:
		op->kind = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WAIT ? TCB_SIM_DEPENDENT_WAIT
									       : TCB_SIM_LAUNCH_DEPENDENTS;
		return;
	case TCB_PTX_OP_FENCE:
	case TCB_PTX_OP_MEMBAR:
		op->latency = 200; /* to the L2 and back */
		return;
	case TCB_PTX_OP_PRAGMA:
		op->issues = 0;
		return;
	default:
		return;
	}
}

static void decode_ins(const struct decoder *d, struct tcb_sim_op *op)
{
	if (tcb_ptx_is_access(op->ins)) {
		decode_access(op);
		return;
	}
	switch ((enum tcb_ptx_op)op->ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVTA:
		cost_of_move(d, op);
		return;
	case TCB_PTX_OP_CVT:
		cost_of_conversion(d, op);
		return;
	case TCB_PTX_OP_SHFL:
		cost(op, TCB_SIM_NO_UNIT, 1, 1, LATENCY_SHUFFLE);
		op->kind = TCB_SIM_SHARED; /* the same unit, no bytes */
		op->is_load = 1;
		op->wavefronts = op->wavefronts_ideal = 1;
		return;
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_MATCH_ANY:
	case TCB_PTX_OP_MATCH_ALL:
		cost(op, TCB_SIM_ALU, 1, 2, LATENCY_XU);
		return;
	case TCB_PTX_OP_MMA:
	case TCB_PTX_OP_WGMMA:
		cost_of_matrix(d, op);
		return;
	default:
		if (tcb_ptx_has(op->ins, TCB_PTX_F_ASYNC | TCB_PTX_F_FENCE | TCB_PTX_F_BARRIER | TCB_PTX_F_TERMINATOR |
						 TCB_PTX_F_WRITE)) {
			if (tcb_ptx_has(op->ins, TCB_PTX_F_ASYNC) || op->ins->op == TCB_PTX_OP_CP_ASYNC_COMMIT_GROUP ||
			    op->ins->op == TCB_PTX_OP_CP_ASYNC_WAIT_GROUP ||
			    op->ins->op == TCB_PTX_OP_CP_ASYNC_WAIT_ALL)
				decode_copy(op);
			else
				decode_control(op);
			return;
		}
		cost_of_arithmetic(d, op);
	}
}

/* --- registers --- */

static void see_register(void *ctx, uint32_t *reg, int is_def)
{
	struct tcb_sim_op *op = ctx;
	if (is_def && op->result_count < TCB_SIM_RESULTS)
		op->result[op->result_count++] = *reg;
	else if (!is_def && op->source_count < TCB_SIM_SOURCES)
		op->source[op->source_count++] = *reg;
}

static void need(struct decoder *d, uint32_t reg)
{
	if (reg != TCB_PTX_NO_REG)
		d->is_needed[reg] = 1;
}

static void need_address(struct decoder *d, const struct tcb_sim_op *op, unsigned index)
{
	if (op->ins->operands[index].kind == TCB_PTX_O_ADDRESS || op->ins->operands[index].kind == TCB_PTX_O_REG)
		need(d, op->ins->operands[index].reg);
}

/* Registers whose values decide where control goes, what is copied and where to. */
static void mark_control(struct decoder *d)
{
	for (uint32_t i = 0; i < d->program->op_count; i++) {
		const struct tcb_sim_op *op = &d->program->ops[i];
		need(d, op->guard);
		if (op->kind == TCB_SIM_GLOBAL || op->kind == TCB_SIM_ASYNC || op->kind == TCB_SIM_BULK ||
		    op->kind == TCB_SIM_MBARRIER_WAIT)
			need_address(d, op, op->address);
		if (op->kind == TCB_SIM_BARRIER || op->kind == TCB_SIM_BARRIER_ARRIVE)
			need_address(d, op, op->address);
		if (op->kind == TCB_SIM_BULK) {
			need_address(d, op, op->ins->operand_count - 1u);
			need_address(d, op, 2);
		}
	}
}

/* And what needed ones are computed from. */
static void mark_sources(struct decoder *d, int is_control)
{
	for (int again = 1; again;) {
		again = 0;
		for (uint32_t i = d->program->op_count; i-- > 0;) {
			struct tcb_sim_op *op = &d->program->ops[i];
			int defines = 0;
			for (unsigned r = 0; r < op->result_count; r++)
				defines |= d->is_needed[op->result[r]];
			if (!defines || op->is_scouted)
				continue;
			op->is_scouted = 1;
			op->is_valued = is_control != 0;
			again = 1;
			if (op->kind == TCB_SIM_PLAIN || tcb_sim_is_spread(op->ins))
				for (unsigned s = 0; s < op->source_count; s++)
					need(d, op->source[s]);
		}
	}
}

_Static_assert(TCB_PTX_TYPE_END <= UINT8_MAX, "types fit into struct tcb_sim_op");

static void set_types(struct tcb_sim_op *op)
{
	unsigned count;
	for (unsigned i = 0; op->is_scouted && i < op->ins->operand_count && i < TCB_SIM_TYPES; i++)
		op->type[i] = (uint8_t)tcb_ptx_operand_type(op->ins, i, &count);
}

static enum tcb_status assign_values(struct decoder *d, struct tcb_error *err)
{
	struct tcb_sim_program *program = d->program;
	mark_control(d);
	mark_sources(d, 1);
	for (uint32_t i = 0; i < program->op_count; i++)
		if (program->ops[i].is_access)
			need_address(d, &program->ops[i], program->ops[i].address);
	mark_sources(d, 0);
	for (uint32_t i = 0; i < program->op_count; i++)
		set_types(&program->ops[i]);
	for (uint32_t r = 0; r < program->reg_count; r++) {
		program->value_of[r] = TCB_SIM_NO_VALUE;
		if (d->is_needed[r]) {
			if (program->value_count == TCB_SIM_NO_VALUE)
				return tcb_fail(err, TCB_E_UNSUPPORTED, "too many registers to follow");
			program->value_of[r] = (uint16_t)program->value_count++;
		}
	}
	return TCB_OK;
}

/* --- the whole --- */

static enum tcb_status decode_blocks(struct decoder *d, struct tcb_error *err)
{
	struct tcb_sim_program *program = d->program;
	struct tcb_ptx_function *function = program->function;
	struct tcb_arena *arena = &function->module->arena;
	uint32_t *first_of = tcb_arena_alloc(arena, (function->block_count + 1) * sizeof *first_of);
	if (!first_of)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		const uint32_t first = program->op_count;
		first_of[block->number] = first;
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct tcb_sim_op *op = &program->ops[program->op_count++];
			memset(op, 0, sizeof *op);
			op->ins = ins;
			op->guard = ins->guard;
			op->guard_negated = ins->guard_negated;
			decode_ins(d, op);
			tcb_ptx_each_reg(ins, see_register, op);
		}
		TCB_TRY(tcb_sim_order(program, first, program->op_count - first, err));
	}
	uint16_t loops = 0;
	for (uint32_t i = 0; i < program->op_count; i++) {
		struct tcb_sim_op *op = &program->ops[i];
		if (op->kind != TCB_SIM_BRANCH || op->ins->operands[0].kind != TCB_PTX_O_BLOCK)
			continue;
		op->target = first_of[op->ins->operands[0].block->number];
		if (op->target <= i && loops + 1 < TCB_SIM_LOOPS_MAX)
			op->loop = ++loops;
	}
	return TCB_OK;
}

static enum tcb_status link_followed(struct tcb_sim_program *program, struct tcb_error *err)
{
	struct tcb_arena *arena = &program->function->module->arena;
	program->next_followed = tcb_arena_alloc(arena, (program->op_count + 1) * sizeof *program->next_followed);
	if (!program->next_followed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	program->next_followed[program->op_count] = program->op_count;
	for (uint32_t i = program->op_count; i-- > 0;) {
		const struct tcb_sim_op *op = &program->ops[i];
		const int is_followed = op->is_valued || op->kind == TCB_SIM_BRANCH || op->kind == TCB_SIM_EXIT;
		program->next_followed[i] = is_followed ? i : program->next_followed[i + 1];
	}
	return TCB_OK;
}

/* What .maxnreg and .minnctapersm leave a thread: the assembler keeps to it, at the price of spills. */
static unsigned most_registers(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch)
{
	const struct tcb_ptx_directives *d = &launch->function->directives;
	const unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
	unsigned most = d->maxnreg ? d->maxnreg : REGISTERS_MOST;
	if (d->minnctapersm && machine->registers / (d->minnctapersm * threads) < most)
		most = machine->registers / (d->minnctapersm * threads) / 8 * 8;
	return most;
}

static enum tcb_status estimate_registers(const struct tcb_ptx_machine *machine,
					  const struct tcb_ptx_timed_launch *launch, struct tcb_sim_program *out,
					  struct tcb_error *err)
{
	struct tcb_ptx_liveness liveness;
	TCB_TRY(tcb_ptx_liveness(out->function, &liveness, err));
	out->pressure = liveness.pressure;
	out->register_limit = most_registers(machine, launch);
	if (machine->register_scale > 0) {
		const double line = machine->register_base + machine->register_scale * liveness.pressure;
		out->registers = line < REGISTERS_LEAST ? REGISTERS_LEAST : (unsigned)line;
	} else {
		out->registers = tcb_ptx_register_estimate(out->function, &liveness, out->function->module->target.sm);
	}
	if (out->registers > out->register_limit)
		out->registers = out->register_limit;
	return TCB_OK;
}

enum tcb_status tcb_sim_decode(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch,
			       struct tcb_sim_program *out, struct tcb_error *err)
{
	struct tcb_ptx_function *function = launch->function;
	struct tcb_arena *arena = &function->module->arena;
	struct decoder d = { .machine = machine, .program = out };
	memset(out, 0, sizeof *out);
	out->launch = launch;
	out->function = function;
	TCB_TRY(tcb_ptx_cfg(function, err));
	tcb_ptx_number(function);
	out->registers = launch->registers;
	if (!out->registers)
		TCB_TRY(estimate_registers(machine, launch, out, err));
	out->reg_count = function->reg_count;
	out->ops = tcb_arena_alloc(arena, (function->ins_count + 1) * sizeof *out->ops);
	out->value_of = tcb_arena_alloc(arena, (function->reg_count + 1) * sizeof *out->value_of);
	d.is_needed = tcb_arena_alloc(arena, function->reg_count + 1);
	if (!out->ops || !out->value_of || !d.is_needed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel of %u instructions", function->ins_count);
	memset(d.is_needed, 0, function->reg_count + 1);
	TCB_TRY(decode_blocks(&d, err));
	TCB_TRY(assign_values(&d, err));
	TCB_TRY(link_followed(out, err));
	for (const struct tcb_ptx_symbol *s = function->locals; s; s = s->next)
		if (s->space == TCB_PTX_SHARED && tcb_ptx_symbol_bytes(s) != UINT64_MAX)
			out->static_shared += tcb_ptx_symbol_bytes(s);
	for (const struct tcb_ptx_symbol *s = function->module->symbols; s; s = s->next)
		if (s->space == TCB_PTX_SHARED && tcb_ptx_symbol_bytes(s) != UINT64_MAX)
			out->static_shared += tcb_ptx_symbol_bytes(s);
	return tcb_sim_scout(out, err);
}
