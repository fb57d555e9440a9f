/* SPDX-License-Identifier: MIT
 *
 * Of async.h: bulk copies into what loads before them may not have read yet.  A copy does not queue behind a load and a
 * barrier of a warp waits for none: on an H200 copies have overtaken loads.  A load is done where something that cannot
 * be moved needs its value (a store, an address, a branch), and at a barrier of the block or the cluster, a fence, or a
 * wait for an mbarrier.  ptxas moves arithmetic on what was loaded behind a copy, but not out of its block, other than
 * into a few instructions behind a branch, which it makes predicated ones.
 *
 * Addresses of a load and of a copy are compared within one round of the loops around the load: where they are the same
 * sum of symbols, or where both are a distance from one register that has not changed between, as a slot of a ring.
 */
#include <string.h>

#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of a load: not run; on its way; the same, and arithmetic takes it; done.  Beside these: the register that its address
 * is a distance from has changed. */
enum { NONE = 1, ON_ITS_WAY = 2, TAKEN = 4, DONE = 8, MOVED = 16 };
enum { LOADS_MAX = 1024, WORDS = LOADS_MAX / 64, COPY_LEAST = 16, SUMS_MAX = 8, FEW = 3 };

/* What an address is a distance from: of some thread LEAST, of another MOST. */
struct root {
	uint32_t reg; /* TCB_PTX_NO_REG: none, or the distance is unknown */
	int64_t least, most;
};

struct load {
	struct tcb_ptx_async_place place;
	struct root root;
	int is_told;
};

struct reuse {
	struct tcb_ptx_async *a;
	struct load *loads;
	unsigned count;
	uint64_t (*from)[WORDS]; /* by register: the loads that its value may come of */
	uint64_t seen[WORDS];    /* of an instruction's operands */
	int has_grown;
};

static int is_load(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDMATRIX;
}

/* --- registers that addresses are a distance from --- */

/* Adds to ROOT what OPERAND of INS is in the threads; 0: it is unknown. */
static int add_distance(const struct reuse *r, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
			struct root *root)
{
	struct tcb_ptx_value v = tcb_ptx_affine_operand(r->a->affine, ins, operand);
	uint32_t threads = tcb_ptx_affine_threads(r->a->affine);
	int64_t least = INT64_MAX, most = INT64_MIN;

	if (!v.known || v.term_count || !threads)
		return 0;
	for (uint32_t t = 0; t < threads; t++) {
		int64_t at = (int32_t)(uint32_t)tcb_ptx_value_lane(&v, t);
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	root->least += least;
	root->most += most;
	return 1;
}

static struct root root_of(const struct reuse *r, const struct tcb_ptx_ins *ins, unsigned operand)
{
	const struct tcb_ptx_operand *address = &ins->operands[operand];
	struct root root = { TCB_PTX_NO_REG, 0, 0 };

	if (address->kind != TCB_PTX_O_ADDRESS || address->reg == TCB_PTX_NO_REG || address->symbol)
		return root;
	root = (struct root){ address->reg, (int64_t)address->bits, (int64_t)address->bits };
	for (unsigned left = SUMS_MAX; left > 0; left--) {
		const struct tcb_ptx_ins *def = r->a->function->regs[root.reg].def;
		if (!def || def->op != TCB_PTX_OP_ADD)
			break;
		const struct tcb_ptx_operand *x = &def->operands[1], *y = &def->operands[2];
		if (x->kind == TCB_PTX_O_REG && add_distance(r, def, y, &root))
			root.reg = x->reg;
		else if (y->kind == TCB_PTX_O_REG && add_distance(r, def, x, &root))
			root.reg = y->reg;
		else
			break;
	}
	return root;
}

/* Whether a copy of BYTES to COPY may write what LOAD reads. */
static int have_one_root(const struct root *copy, unsigned bytes, const struct load *load)
{
	return copy->reg != TCB_PTX_NO_REG && copy->reg == load->root.reg && load->place.bytes &&
	       load->root.least < copy->most + (int64_t)bytes &&
	       copy->least < load->root.most + (int64_t)load->place.bytes;
}

static void see_change(void *ctx, uint32_t *reg, int is_def)
{
	struct reuse *r = ctx;

	for (unsigned i = 0; is_def && i < r->count; i++)
		if (r->loads[i].root.reg == *reg)
			r->seen[i / 64] |= UINT64_C(1) << i % 64;
}

/* --- what values come of --- */

static void see_source(void *ctx, uint32_t *reg, int is_def)
{
	struct reuse *r = ctx;

	for (unsigned i = 0; !is_def && i < WORDS; i++)
		r->seen[i] |= r->from[*reg][i];
}

static void see_result(void *ctx, uint32_t *reg, int is_def)
{
	struct reuse *r = ctx;

	for (unsigned i = 0; is_def && i < WORDS; i++) {
		r->has_grown |= (r->seen[i] & ~r->from[*reg][i]) != 0;
		r->from[*reg][i] |= r->seen[i];
	}
}

static void sources_of(struct reuse *r, const struct tcb_ptx_ins *ins)
{
	memset(r->seen, 0, sizeof r->seen);
	tcb_ptx_each_reg((struct tcb_ptx_ins *)ins, see_source, r); /* reads only */
}

static void trace_values(struct reuse *r)
{
	for (r->has_grown = 1; r->has_grown;) {
		r->has_grown = 0;
		for (uint32_t i = 0; i < r->a->function->reachable_count; i++)
			for (struct tcb_ptx_ins *ins = r->a->function->order[i]->first; ins; ins = ins->next) {
				sources_of(r, ins);
				for (unsigned k = 0; is_load(ins) && k < r->count; k++)
					if (r->loads[k].place.ins == ins)
						r->seen[k / 64] |= UINT64_C(1) << k % 64;
				tcb_ptx_each_reg(ins, see_result, r);
			}
	}
}

/* --- the flow --- */

static int all_are_done(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BAR_WARP_SYNC:
	case TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case TCB_PTX_OP_MBARRIER_ARRIVE: /* who waits for that comes behind it, who does not may be this thread */
	case TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
		return 0;
	default:
		return tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_FENCE) || ins->op == TCB_PTX_OP_OPAQUE;
	}
}

/* Whether INS stays where it is, so that what it takes has to be there. */
static int is_fixed(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_TERMINATOR);
}

/* Whether ptxas may run BLOCK as a part of the one before it. */
static int is_joined(const struct tcb_ptx_block *block)
{
	unsigned count = 0;

	for (const struct tcb_ptx_ins *ins = block->first; ins && count <= FEW; ins = ins->next)
		count++;
	return block->pred_count == 1 && count <= FEW;
}

static void see_block(const struct reuse *r, const struct tcb_ptx_block *block, uint16_t *state)
{
	for (unsigned i = 0; !is_joined(block) && i < r->count; i++)
		if (state[i] & TAKEN)
			state[i] = (uint16_t)((state[i] & ~TAKEN) | DONE);
}

/* A round of a loop begins: addresses of its loads are others. */
static void see_round(const struct reuse *r, const struct tcb_ptx_block *header, uint16_t *state)
{
	for (unsigned i = 0; i < r->count; i++)
		for (const struct tcb_ptx_loop *l = r->loads[i].place.ins->block->loop; l; l = l->parent)
			if (l->header == header)
				state[i] = NONE;
}

static void see_copy(const struct reuse *r, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	struct tcb_ptx_async_place copy;
	uint32_t pair[2];
	uint64_t bytes = 0;

	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL || !tcb_ptx_async_in_shared(r->a, ins, 0, &copy))
		return;
	if (ins->op == TCB_PTX_OP_CP_ASYNC_BULK && tcb_ptx_async_constant(r->a, ins, &ins->operands[2], &bytes))
		copy.bytes = (unsigned)bytes;
	copy.bytes = copy.bytes ? copy.bytes : COPY_LEAST;
	const struct root root = root_of(r, ins, 0);
	for (unsigned i = 0; i < r->count; i++) {
		struct load *load = &r->loads[i];
		if (!(state[i] & (ON_ITS_WAY | TAKEN)) || state[i] & DONE || load->is_told)
			continue;
		const int is_sure = tcb_ptx_async_meet_now(r->a, &load->place, &copy, pair);
		if (!is_sure && (state[i] & MOVED || !have_one_root(&root, copy.bytes, load)))
			continue;
		load->is_told = 1;
		tcb_ptx_report(
			r->a->block_sink, TCB_PTX_RULE_BULK_COPY,
			is_sure && !(state[i] & NONE) ? TCB_PTX_ERROR : TCB_PTX_WARNING, r->a->function, ins,
			"this copy may come before the load in line %u has read what it writes over: nothing "
			"between waits for the load; let the copy come behind a store of what was made of it, or "
			"a barrier of the block",
			load->place.ins->line);
		return;
	}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct reuse *r = ctx;

	if (ins == ins->block->first && ins->block->loop && ins->block->loop->header == ins->block)
		see_round(r, ins->block, state);
	if (ins == ins->block->first)
		see_block(r, ins->block, state);
	if (is_last && tcb_ptx_is_bulk_copy(ins))
		see_copy(r, ins, state);
	memset(r->seen, 0, sizeof r->seen);
	tcb_ptx_each_reg((struct tcb_ptx_ins *)ins, see_change, r);
	for (unsigned i = 0; i < r->count; i++)
		if (r->seen[i / 64] >> i % 64 & 1)
			state[i] |= MOVED;
	sources_of(r, ins);
	for (unsigned i = 0; i < r->count; i++) {
		const int is_taken = r->seen[i / 64] >> i % 64 & 1;
		if (state[i] & (ON_ITS_WAY | TAKEN) && (all_are_done(ins) || (is_fixed(ins) && is_taken)))
			state[i] = (uint16_t)((state[i] & NONE) | DONE);
		else if (state[i] & ON_ITS_WAY && is_taken)
			state[i] = (uint16_t)((state[i] & ~ON_ITS_WAY) | TAKEN);
	}
	for (unsigned i = 0; is_load(ins) && i < r->count; i++)
		if (r->loads[i].place.ins == ins)
			state[i] = ON_ITS_WAY;
}

static void add_load(struct reuse *r, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_async_place place;

	if (r->count < LOADS_MAX && ins->operand_count > 1 &&
	    tcb_ptx_async_in_shared(r->a, ins, ins->result_count, &place) && place.reads && !place.is_generic)
		r->loads[r->count++] = (struct load){ place, root_of(r, ins, ins->result_count), 0 };
}

void tcb_ptx_async_reuse(struct tcb_ptx_async *a)
{
	struct reuse r = { .a = a };
	struct tcb_ptx_async_flow flow = { 0, step, &r };

	if (!a->has[TCB_PTX_OP_CP_ASYNC_BULK] && !a->has[TCB_PTX_OP_CP_ASYNC_BULK_TENSOR] &&
	    !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK] && !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR])
		return;
	r.loads = tcb_arena_array(&a->arena, LOADS_MAX, sizeof *r.loads);
	r.from = tcb_arena_array(&a->arena, a->function->reg_count + 1u, sizeof *r.from);
	if (!r.loads || !r.from) {
		a->has_failed = 1;
		return;
	}
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (is_load(ins))
				add_load(&r, ins);
	trace_values(&r);
	flow.count = r.count;
	tcb_ptx_async_solve(a, &flow);
}
