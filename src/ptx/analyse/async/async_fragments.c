/* SPDX-License-Identifier: MIT
 *
 * Of async.h: registers of wgmma that something else writes while the product is in
 * flight.  PTX ISA 9.0, section 9.7.15.7: until a wgmma.wait_group covers its group,
 * neither the accumulators nor the registers of A may be changed.
 *
 * Registers are told apart by their names in the text, since two values that have
 * nothing to do with each other (webs.h) are in one register all the same.  Those that
 * take part in the same products have one state.  A copy of a register is no write:
 * compilers move accumulators about, and the assembler leaves such moves out.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of registers: in no product yet, READY, of a product that is in no group (OPEN), or in one with 0, 1, ... later ones
 * (CLOSED and on). */
enum { NEVER = 1, READY = 2, OPEN = 4, CLOSED_SHIFT = 3, GROUPS_MAX = 13, PENDING = 0xffff & ~(NEVER | READY) };
enum { ACCUMULATORS = 0, FRAGMENTS = 1 /* operands of a product */ };

/* What registers have in common. */
struct kind {
	uint64_t products; /* a digest of the products that they take part in, and how */
	const struct tcb_ptx_ins *product;
	unsigned role;
};

struct fragments {
	struct tcb_ptx_async *a;
	uint32_t *name_of; /* by register: its place in the text's list of names */
	uint32_t *kind_of; /* by name: 1 + its place among KINDS; 0: in no product */
	struct kind *by_name;
	struct kind *kinds;
	uint32_t name_count;
	unsigned count;
	uint8_t is_told[2];
};

/* --- which registers --- */

static const struct tcb_ptx_operand *item_of(const struct tcb_ptx_operand *operand, uint32_t place)
{
	return operand->kind == TCB_PTX_O_VECTOR ? &operand->items[place] : operand;
}

static uint32_t items_of(const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_VECTOR ? operand->count : 1;
}

/* A in shared memory has a descriptor in its place, which is read at once. */
static int takes_registers(const struct tcb_ptx_ins *ins, unsigned role)
{
	return role == ACCUMULATORS || ins->operands[role].kind == TCB_PTX_O_VECTOR;
}

static void each_product(struct fragments *f,
			 void (*see)(struct fragments *f, const struct tcb_ptx_ins *ins, unsigned role, uint32_t name))
{
	const struct tcb_ptx_function *function = f->a->function;

	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			for (unsigned role = 0; role < 2 && ins->op == TCB_PTX_OP_WGMMA; role++)
				for (uint32_t k = 0; takes_registers(ins, role) && k < items_of(&ins->operands[role]);
				     k++)
					if (item_of(&ins->operands[role], k)->kind == TCB_PTX_O_REG)
						see(f, ins, role, f->name_of[item_of(&ins->operands[role], k)->reg]);
}

static void add_to_digest(struct fragments *f, const struct tcb_ptx_ins *ins, unsigned role, uint32_t name)
{
	struct kind *mine = &f->by_name[name];

	mine->products = (mine->products ^ (2 * (uint64_t)ins->number + role + 1)) * UINT64_C(0x9e3779b97f4a7c15);
	mine->products ^= mine->products >> 29;
	mine->product = ins;
	mine->role = role;
}

static void join_kind(struct fragments *f, const struct tcb_ptx_ins *ins, unsigned role, uint32_t name)
{
	unsigned place = 0;

	(void)ins;
	(void)role;
	if (f->kind_of[name])
		return;
	while (place < f->count && f->kinds[place].products != f->by_name[name].products)
		place++;
	if (place == f->count)
		f->kinds[f->count++] = f->by_name[name];
	f->kind_of[name] = place + 1;
}

/* Gives each register that has a name of its own a number. */
static int name_registers(struct fragments *f)
{
	const struct tcb_ptx_function *function = f->a->function;
	uint32_t *first = tcb_arena_array(&f->a->arena, function->group_count + 1u, sizeof *first);

	f->name_of = tcb_arena_array(&f->a->arena, function->reg_count + 1u, sizeof *f->name_of);
	if (!first || !f->name_of)
		return 0;
	for (uint32_t g = 0; g < function->group_count; g++)
		first[g + 1] = first[g] + (function->groups[g].count ? function->groups[g].count : 1);
	for (uint32_t r = 0; r < function->reg_count; r++)
		f->name_of[r] = first[function->regs[r].group] + function->regs[r].index;
	f->name_count = first[function->group_count];
	return 1;
}

static int find_kinds(struct fragments *f)
{
	if (!name_registers(f))
		return 0;
	f->kind_of = tcb_arena_array(&f->a->arena, f->name_count + 1u, sizeof *f->kind_of);
	f->by_name = tcb_arena_array(&f->a->arena, f->name_count + 1u, sizeof *f->by_name);
	f->kinds = tcb_arena_array(&f->a->arena, f->name_count + 1u, sizeof *f->kinds);
	if (!f->kind_of || !f->by_name || !f->kinds)
		return 0;
	each_product(f, add_to_digest);
	each_product(f, join_kind);
	return 1;
}

/* --- the way through --- */

static void see_write(struct fragments *f, const struct tcb_ptx_ins *ins, uint32_t reg, uint16_t state, unsigned kind)
{
	const struct kind *of = &f->kinds[kind];
	int is_sure = !(state & ~PENDING) && ins->guard == TCB_PTX_NO_REG;
	char name[64];

	if (!(state & PENDING) || state & READY || f->is_told[is_sure])
		return;
	f->is_told[is_sure] = 1;
	tcb_ptx_reg_name(f->a->function, reg, name, sizeof name);
	tcb_ptx_report(
		f->a->sink, TCB_PTX_RULE_WGMMA_ORDER, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, f->a->function, ins,
		"%s is written while the product of line %u, which %s it, may be in flight%s: a wgmma.wait_group "
		"must come before, with a number that leaves its group out",
		name, of->product->line, of->role == ACCUMULATORS ? "computes" : "reads",
		is_sure ? " on each way here" : ", if control comes here behind it");
}

static void see_writes(struct fragments *f, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	if (ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
	    ins->operands[1].kind == TCB_PTX_O_REG)
		return;
	for (unsigned i = 0; i < ins->result_count; i++)
		for (uint32_t k = 0; k < items_of(&ins->operands[i]); k++) {
			const struct tcb_ptx_operand *item = item_of(&ins->operands[i], k);
			uint32_t kind = item->kind == TCB_PTX_O_REG ? f->kind_of[f->name_of[item->reg]] : 0;

			if (kind)
				see_write(f, ins, item->reg, state[kind - 1], kind - 1);
		}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct fragments *f = ctx;
	uint64_t left;
	uint16_t covered;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_WGMMA:
		for (unsigned role = 0; role < 2; role++)
			for (uint32_t k = 0; takes_registers(ins, role) && k < items_of(&ins->operands[role]); k++) {
				const struct tcb_ptx_operand *item = item_of(&ins->operands[role], k);

				if (item->kind == TCB_PTX_O_REG)
					state[f->kind_of[f->name_of[item->reg]] - 1] = OPEN;
			}
		return;
	case TCB_PTX_OP_WGMMA_COMMIT_GROUP:
		for (unsigned i = 0; i < f->count; i++) {
			uint16_t pending = state[i] & PENDING;

			state[i] = (uint16_t)((state[i] & ~PENDING) | pending << 1 | (pending & 0x8000));
		}
		return;
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		left = ins->operands[0].bits;
		covered = left >= GROUPS_MAX ? 0 : (uint16_t)(0xffff << (CLOSED_SHIFT + left));
		for (unsigned i = 0; i < f->count; i++)
			if (state[i] & covered)
				state[i] = (uint16_t)((state[i] & ~covered) | READY);
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		for (unsigned i = 0; i < f->count && tcb_ptx_async_may_be(ins, "wgmma"); i++)
			state[i] = READY;
		return;
	default:
		if (is_last && ins->result_count)
			see_writes(f, ins, state);
		return;
	}
}

void tcb_ptx_async_fragments(struct tcb_ptx_async *a)
{
	struct fragments f = { .a = a };
	struct tcb_ptx_async_flow flow = { 0, step, &f };

	if (!a->has[TCB_PTX_OP_WGMMA])
		return;
	if (!find_kinds(&f)) {
		a->has_failed = 1;
		return;
	}
	flow.count = f.count;
	tcb_ptx_async_solve(a, &flow);
}
