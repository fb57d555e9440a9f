/* SPDX-License-Identifier: MIT
 *
 * Of async.h: clusters.  PTX ISA 9.0, sections 9.7.13.4 (barrier.cluster) and
 * 9.7.9.23 (mapa): shared memory of another block is there from a barrier of the
 * cluster on that both have met, and until they meet one again; what was stored
 * before is seen behind an arrival that releases.
 *
 * Other orders than that barrier (mbarriers, flags) are not judged: a kernel
 * that has them is only asked whether its peers have begun.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of the barrier, of accesses since the last arrival, and two of each variable that others access. */
enum { MEETING, TOUCHING, FIRST_VARIABLE };
enum { NOT_MET = 1, MET = 2 };
enum { QUIET = 1, TOUCHED = 2 };
/* What was sent to the same variable of others, and stored in the block's own. */
enum { CLEAN = 1, SENT = 2, STORED = 2, LOST = 4 };
enum { VARIABLES_MAX = 64 };
enum told { TOLD_EARLY, TOLD_END, TOLD_SENT, TOLD_LOST, TOLD_COUNT };

struct cluster {
	struct tcb_ptx_async *a;
	const struct tcb_ptx_symbol *variables[VARIABLES_MAX];
	unsigned count;
	int has_others; /* ways of ordering blocks besides the barrier */
	const struct tcb_ptx_ins *last_access;
	uint8_t is_told[TOLD_COUNT];
};

static void warn(struct cluster *c, enum told what, const struct tcb_ptx_ins *ins, const char *text)
{
	if (c->is_told[what])
		return;
	c->is_told[what] = 1;
	tcb_ptx_report(c->a->sink, TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, c->a->function, ins, "%s", text);
}

/* Whether INS touches shared memory of a block that mapa gave; the variable, where it is known, in *OUT. */
static int is_remote(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, const struct tcb_ptx_symbol **out)
{
	struct tcb_ptx_async_origin origin;

	*out = NULL;
	if (ins->op != TCB_PTX_OP_LD && ins->op != TCB_PTX_OP_ST && ins->op != TCB_PTX_OP_ATOM &&
	    ins->op != TCB_PTX_OP_RED)
		return 0;
	for (unsigned i = 0; i < ins->operand_count; i++) {
		if (ins->operands[i].kind != TCB_PTX_O_ADDRESS)
			continue;
		tcb_ptx_async_trace(a, &ins->operands[i], &origin);
		*out = origin.base;
		return origin.is_mapped;
	}
	return 0;
}

static int variable_of(const struct cluster *c, const struct tcb_ptx_symbol *variable)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->variables[i] == variable)
			return (int)(FIRST_VARIABLE + 2 * i);
	return 0;
}

static void see_remote(struct cluster *c, const struct tcb_ptx_ins *ins, const struct tcb_ptx_symbol *variable,
		       uint16_t *state, int is_last)
{
	int at = variable_of(c, variable);

	c->last_access = ins;
	if (is_last && state[MEETING] == NOT_MET)
		warn(c, TOLD_EARLY, ins,
		     "shared memory of another block is accessed, and on no way here has the cluster met "
		     "(barrier.cluster.arrive and wait): that block may not have begun, or not have written it");
	else if (is_last && at && state[at + 1] == LOST)
		warn(c, TOLD_LOST, ins,
		     "what the blocks stored before may not be seen here: the arrival at the cluster's barrier is "
		     "relaxed, and no fence releases");
	state[TOUCHING] = TOUCHED;
	if (at && tcb_ptx_has(ins, TCB_PTX_F_WRITE))
		state[at] = SENT;
}

static void see_own(struct cluster *c, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct tcb_ptx_async_place place;

	for (unsigned i = 0; i < ins->operand_count; i++) {
		int at;

		if (ins->operands[i].kind != TCB_PTX_O_ADDRESS || !tcb_ptx_async_in_shared(c->a, ins, i, &place))
			continue;
		at = variable_of(c, place.base);
		if (!at)
			continue;
		if (is_last && place.reads && state[at] == SENT && !c->has_others)
			warn(c, TOLD_SENT, ins,
			     "the blocks of the cluster store in each other's memory, and this reads the block's own "
			     "before they have met: what comes may not have come");
		if (place.writes)
			state[at + 1] = STORED;
	}
}

static void see_arrival(const struct cluster *c, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	int releases = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER) != TCB_PTX_RELAXED;

	state[TOUCHING] = QUIET;
	for (unsigned i = 0; i < c->count; i++) {
		uint16_t *stored = &state[FIRST_VARIABLE + 2 * i + 1];

		if (*stored & STORED)
			*stored = (uint16_t)((*stored & ~STORED) | (releases ? CLEAN : LOST));
	}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	const struct tcb_ptx_symbol *variable;
	struct cluster *c = ctx;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE:
		see_arrival(c, ins, state);
		return;
	case TCB_PTX_OP_BARRIER_CLUSTER_WAIT:
		state[MEETING] = MET;
		for (unsigned i = 0; i < c->count; i++)
			state[FIRST_VARIABLE + 2 * i] = CLEAN;
		return;
	case TCB_PTX_OP_FENCE:
	case TCB_PTX_OP_MEMBAR:
		for (unsigned i = 0; i < c->count; i++)
			state[FIRST_VARIABLE + 2 * i + 1] = CLEAN;
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "barrier"))
			return;
		state[MEETING] = MET;
		state[TOUCHING] = QUIET;
		for (unsigned i = 0; i < 2 * c->count; i++)
			state[FIRST_VARIABLE + i] = CLEAN;
		return;
	case TCB_PTX_OP_RET:
	case TCB_PTX_OP_EXIT:
		if (is_last && state[TOUCHING] == TOUCHED && !c->has_others)
			warn(c, TOLD_END, c->last_access,
			     "the block may end while others of its cluster still access its shared memory: a barrier "
			     "of the cluster must come behind the last access");
		return;
	default:
		break;
	}
	if (!tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE))
		return;
	if (is_remote(c->a, ins, &variable))
		see_remote(c, ins, variable, state, is_last);
	else
		see_own(c, ins, state, is_last);
}

/* --- ranks --- */

/* 0: unknown */
static uint32_t blocks_of(const struct tcb_ptx_function *function)
{
	const uint32_t *d = function->directives.reqnctapercluster;

	return d[0] ? d[0] * (d[1] ? d[1] : 1) * (d[2] ? d[2] : 1) : 0;
}

static int is_rank(const struct tcb_ptx_async *a, const struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_ins *def = operand->kind == TCB_PTX_O_REG ? a->function->regs[operand->reg].def : NULL;

	return def && def->op == TCB_PTX_OP_MOV && def->operands[1].kind == TCB_PTX_O_SPECIAL &&
	       def->operands[1].special == TCB_PTX_SR_CLUSTER_CTARANK;
}

/* A rank that some block of the cluster asks for and nobody has. */
static void check_rank(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *rank = &ins->operands[2];
	uint32_t blocks = blocks_of(a->function);
	const struct tcb_ptx_ins *def;
	uint64_t most;

	if (!blocks)
		return;
	if (!tcb_ptx_async_constant(a, ins, rank, &most)) {
		def = rank->kind == TCB_PTX_O_REG ? a->function->regs[rank->reg].def : NULL;
		if (!def || def->op != TCB_PTX_OP_ADD || !is_rank(a, &def->operands[1]) ||
		    def->operands[2].kind != TCB_PTX_O_INT || def->operands[2].bits > UINT32_MAX ||
		    tcb_ptx_affine_is_optional(a->affine, ins->block))
			return;
		most = blocks - 1 + def->operands[2].bits;
	}
	if (most >= blocks)
		tcb_ptx_report(a->sink, TCB_PTX_RULE_CLUSTER, TCB_PTX_ERROR, a->function, ins,
			       "block %llu of the cluster is asked for, which has %u", (unsigned long long)most,
			       blocks);
}

/* --- a barrier for some ranks --- */

static int has_arrival_below(const struct tcb_ptx_async *a, const struct tcb_ptx_block *top)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(a->affine);

	for (uint32_t i = 0; i < a->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = a->function->order[i];

		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE && tcb_ptx_dominates(d, top, block))
				return 1;
	}
	return 0;
}

/* Whether something was told. */
static int check_branch(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(a->affine);
	const struct tcb_ptx_block *above = d->idom[ins->block->number];
	struct tcb_ptx_async_origin origin;

	for (; above; above = d->idom[above->number]) {
		const struct tcb_ptx_ins *branch = tcb_ptx_terminator(above);
		struct tcb_ptx_operand guard = { .kind = TCB_PTX_O_REG };
		int arms = 0;

		if (!branch || branch->guard == TCB_PTX_NO_REG || above->succ_count != 2 ||
		    tcb_ptx_post_dominates(d, ins->block, above))
			continue;
		guard.reg = branch->guard;
		tcb_ptx_async_trace(a, &guard, &origin);
		if (!origin.is_of_rank || origin.is_open)
			continue;
		for (int i = 0; i < 2; i++)
			arms += has_arrival_below(a, above->succ[i]);
		if (arms > 1)
			continue;
		tcb_ptx_report(
			a->sink, TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, a->function, ins,
			"by their rank some blocks of the cluster do not come here (line %u): this barrier does not "
			"wait for those that have ended, and their shared memory is gone",
			branch->line);
		return 1;
	}
	return 0;
}

static void survey(struct cluster *c)
{
	const struct tcb_ptx_function *f = c->a->function;
	const struct tcb_ptx_symbol *variable;
	int is_used = 0;

	for (uint32_t i = 0; i < f->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = f->order[i]->first; ins; ins = ins->next) {
			if (ins->op == TCB_PTX_OP_MAPA)
				check_rank(c->a, ins);
			if (!is_remote(c->a, ins, &variable))
				continue;
			is_used = 1;
			if (variable && !variable_of(c, variable) && c->count < VARIABLES_MAX)
				c->variables[c->count++] = variable;
		}
	for (uint32_t i = 0; is_used && i < f->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = f->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE && check_branch(c->a, ins))
				return;
}

void tcb_ptx_async_cluster(struct tcb_ptx_async *a)
{
	struct cluster c = { .a = a };
	struct tcb_ptx_async_flow flow = { 0, step, &c };

	if (!a->has[TCB_PTX_OP_MAPA])
		return;
	c.has_others = a->has[TCB_PTX_OP_MBARRIER_TRY_WAIT] || a->has[TCB_PTX_OP_MBARRIER_TEST_WAIT];
	survey(&c);
	flow.count = FIRST_VARIABLE + 2 * c.count;
	tcb_ptx_async_solve(a, &flow);
}
