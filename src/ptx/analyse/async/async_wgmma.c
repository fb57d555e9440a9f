/* SPDX-License-Identifier: MIT
 *
 * Of async.h: wgmma.  PTX ISA 9.0, section 9.7.15.7: registers of a product are
 * not touched from its issue until a wgmma.wait_group covers its group, and
 * wgmma.fence comes before the first product and behind other writes to its
 * registers.
 *
 * Compilers copy accumulators about: a mov hands on what its source is, and one
 * of a number is nothing.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of the fence; of a register: READY, WRITTEN by arithmetic behind the last fence, of a product that is in no group
 * (OPEN), or in one with 0, 1, ... later ones (CLOSED and on). */
enum { UNFENCED = 1, FENCED = 2 };
enum { READY = 1, WRITTEN = 2, OPEN = 4, CLOSED = 8, CLOSED_SHIFT = 3, PENDING = 0xffff & ~(READY | WRITTEN) };
enum { FENCE_FACT = 0, REGISTERS_MAX = 1 << 14, GROUPS_MAX = 13 };
enum told { TOLD_UNFENCED, TOLD_WRITTEN, TOLD_PENDING, TOLD_COUNT };

struct products {
	struct tcb_ptx_async *a;
	uint32_t *fact_of; /* by register; 0: none */
	unsigned count;
	uint8_t is_told[TOLD_COUNT];
};

/* The register at PLACE of OPERAND, or of what its braces hold. */
static uint32_t item_of(const struct tcb_ptx_operand *operand, uint32_t place)
{
	const struct tcb_ptx_operand *item = operand;

	if (operand->kind == TCB_PTX_O_VECTOR)
		item = place < operand->count ? &operand->items[place] : NULL;
	else if (place)
		item = NULL;
	return item && item->kind == TCB_PTX_O_REG ? item->reg : TCB_PTX_NO_REG;
}

static uint32_t items_of(const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_VECTOR ? operand->count : 1;
}

static int is_copy(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_MOV && ins->operand_count == 2 && ins->operands[0].kind == TCB_PTX_O_REG &&
	       ins->operands[1].kind != TCB_PTX_O_VECTOR;
}

static uint16_t *state_of(const struct products *p, uint16_t *state, uint32_t reg)
{
	return reg != TCB_PTX_NO_REG && p->fact_of[reg] ? &state[p->fact_of[reg]] : NULL;
}

/* --- what is told --- */

static void report_pending(struct products *p, const struct tcb_ptx_ins *ins, uint32_t reg, uint16_t state)
{
	char name[64];

	if (p->is_told[TOLD_PENDING] || !(state & PENDING) || state & ~PENDING)
		return;
	p->is_told[TOLD_PENDING] = 1;
	tcb_ptx_reg_name(p->a->function, reg, name, sizeof name);
	if (state == OPEN)
		tcb_ptx_report(p->a->sink, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, p->a->function, ins,
			       "%s is read while the product that computes it is in no group: without "
			       "wgmma.commit_group no wait is for it",
			       name);
	else
		tcb_ptx_report(p->a->sink, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, p->a->function, ins,
			       "%s is read while the product that computes it may be in flight on each way here: a "
			       "wgmma.wait_group must come before, with a number that leaves its group out",
			       name);
}

static void see_sources(struct products *p, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
			uint16_t *state)
{
	const uint16_t *s;

	if (operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_ADDRESS) {
		s = state_of(p, state, operand->reg);
		if (s)
			report_pending(p, ins, operand->reg, *s);
	}
	for (uint32_t i = 0; i < operand->count; i++)
		see_sources(p, ins, &operand->items[i], state);
}

static void see_product(struct products *p, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	uint64_t adds;
	char name[64];

	if (state[FENCE_FACT] == UNFENCED && !p->is_told[TOLD_UNFENCED]) {
		p->is_told[TOLD_UNFENCED] = 1;
		tcb_ptx_report(p->a->sink, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, p->a->function, ins,
			       "no wgmma.fence comes before this first product: its registers may not be there yet");
	}
	if (tcb_ptx_async_constant(p->a, ins, &ins->operands[3], &adds) && !(adds & 1))
		return;
	for (uint32_t i = 0; i < items_of(&ins->operands[0]); i++) {
		uint32_t reg = item_of(&ins->operands[0], i);
		const uint16_t *s = state_of(p, state, reg);

		if (!s || *s != WRITTEN || p->is_told[TOLD_WRITTEN] || state[FENCE_FACT] == UNFENCED)
			continue;
		p->is_told[TOLD_WRITTEN] = 1;
		/* compilers move arithmetic over the fence, and ptxas serialises what it sees */
		tcb_ptx_report(
			p->a->sink, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_WARNING, p->a->function, ins,
			"accumulator %s was written behind the last wgmma.fence on each way here: the product may "
			"not see it",
			tcb_ptx_reg_name(p->a->function, reg, name, sizeof name));
	}
}

/* --- the way through --- */

static void see_wait(const struct products *p, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	uint64_t left = ins->operands[0].bits;
	uint16_t covered = left >= GROUPS_MAX ? 0 : (uint16_t)(0xffff << (CLOSED_SHIFT + left));

	for (unsigned i = 1; i < p->count; i++)
		if (state[i] & covered)
			state[i] = (uint16_t)((state[i] & ~covered) | READY);
}

static void close_group(const struct products *p, uint16_t *state)
{
	for (unsigned i = 1; i < p->count; i++) {
		uint16_t pending = state[i] & PENDING;

		if (pending)
			state[i] = (uint16_t)((state[i] & (READY | WRITTEN)) | pending << 1 | (pending & 0x8000));
	}
}

static void write_results(const struct products *p, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	const uint16_t *from;
	uint16_t *to;

	if (is_copy(ins)) {
		to = state_of(p, state, ins->operands[0].reg);
		from = ins->operands[1].kind == TCB_PTX_O_REG ? state_of(p, state, ins->operands[1].reg) : NULL;
		if (to)
			*to = from ? *from : READY;
		return;
	}
	for (unsigned i = 0; i < ins->result_count; i++)
		for (uint32_t k = 0; k < items_of(&ins->operands[i]); k++) {
			to = state_of(p, state, item_of(&ins->operands[i], k));
			if (to)
				*to = WRITTEN;
		}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct products *p = ctx;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_WGMMA_FENCE:
		state[FENCE_FACT] = FENCED;
		for (unsigned i = 1; i < p->count; i++)
			if (state[i] & WRITTEN)
				state[i] = (uint16_t)((state[i] & ~WRITTEN) | READY);
		return;
	case TCB_PTX_OP_WGMMA:
		if (is_last)
			see_product(p, ins, state);
		for (uint32_t i = 0; i < items_of(&ins->operands[0]); i++) {
			uint16_t *s = state_of(p, state, item_of(&ins->operands[0], i));

			if (s)
				*s = OPEN;
		}
		return;
	case TCB_PTX_OP_WGMMA_COMMIT_GROUP:
		close_group(p, state);
		return;
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		see_wait(p, ins, state);
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "wgmma"))
			break;
		for (unsigned i = 0; i < p->count; i++)
			state[i] = i ? READY : FENCED;
		return;
	default:
		break;
	}
	for (unsigned i = ins->result_count; is_last && !is_copy(ins) && i < ins->operand_count; i++)
		see_sources(p, ins, &ins->operands[i], state);
	write_results(p, ins, state);
}

/* --- which registers --- */

static int add_register(struct products *p, uint32_t reg)
{
	if (reg == TCB_PTX_NO_REG || p->fact_of[reg] || p->count == REGISTERS_MAX)
		return 0;
	p->fact_of[reg] = p->count++;
	return 1;
}

static int add_registers(struct products *p)
{
	const struct tcb_ptx_function *f = p->a->function;
	int is_grown = 0;

	for (uint32_t i = 0; i < f->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = f->order[i]->first; ins; ins = ins->next) {
			if (ins->op == TCB_PTX_OP_WGMMA) {
				for (uint32_t k = 0; k < items_of(&ins->operands[0]); k++)
					is_grown |= add_register(p, item_of(&ins->operands[0], k));
			} else if (is_copy(ins) && ins->operands[1].kind == TCB_PTX_O_REG) {
				uint32_t to = ins->operands[0].reg, from = ins->operands[1].reg;

				if (p->fact_of[to] || p->fact_of[from])
					is_grown |= add_register(p, to) | add_register(p, from);
			}
		}
	return is_grown;
}

/* --- who runs it --- */

/* PTX ISA 9.7.15: all four warps of a warp group run the same wgmma. */
static void check_group(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	enum { GROUP = 128 };
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	uint64_t set[TCB_PTX_ASYNC_SET_WORDS];

	if (!tcb_ptx_async_present(a, ins, set))
		return;
	for (uint32_t first = 0; first < threads; first += GROUP) {
		uint32_t in = first + GROUP, out = in;

		for (uint32_t t = first; t < first + GROUP; t++) {
			int is_in = t < threads && tcb_ptx_async_is_in(set, t);

			in = is_in && in == first + GROUP ? t : in;
			out = !is_in && out == first + GROUP ? t : out;
		}
		if (in == first + GROUP || out == first + GROUP)
			continue;
		tcb_ptx_report(a->block_sink, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, a->function, ins,
			       "thread %u runs this, and thread %u of the same warp group %s: all four warps must", in,
			       out, out < threads ? "does not" : "does not exist");
		return;
	}
}

void tcb_ptx_async_wgmma(struct tcb_ptx_async *a)
{
	struct products p = { .a = a, .count = 1 };
	struct tcb_ptx_async_flow flow = { 0, step, &p };

	if (!a->has[TCB_PTX_OP_WGMMA])
		return;
	p.fact_of = tcb_arena_array(&a->arena, a->function->reg_count + 1, sizeof *p.fact_of);
	if (!p.fact_of) {
		a->has_failed = 1;
		return;
	}
	for (int rounds = 0; rounds < 8 && add_registers(&p); rounds++)
		;
	flow.count = p.count;
	tcb_ptx_async_solve(a, &flow);
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_WGMMA)
				check_group(a, ins);
}
