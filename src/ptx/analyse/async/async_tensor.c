/* SPDX-License-Identifier: MIT
 *
 * Of async.h: the fifth generation of tensor cores.  PTX ISA 9.1, section 9.7.16.
 * Products (tcgen05.mma) and copies (tcgen05.cp, .shift) are done when an
 * mbarrier that tcgen05.commit told has been waited for, and tcgen05.ld comes
 * behind that wait and a tcgen05.fence::after_thread_sync (9.7.16.6.4); loads and
 * stores are done behind tcgen05.wait.  Tensor Memory is allocated by columns
 * and given back before the kernel ends (9.7.16.7.1).
 *
 * What is known is what follows the ways of one thread.  A barrier may bring the
 * wait of another thread, so it counts as one where the kernel has any.
 */
#include "ptx/analyse/async/async_tensor.h"
#include "ptx/ir/opcodes.h"

/* Of an operation in flight: not issued; issued; in a commit; waited for; and behind the fence, too. */
enum { NONE = 1, OPEN = 2, COMMITTED = 4, WAITED = 8, DONE = 16, IN_FLIGHT = OPEN | COMMITTED };
/* Of an allocation: not there; there; given back. */
enum { TAKEN = 2, FREED = 4 };
enum { RELINQUISHED = 2 };
enum { PERMIT_FACT = 0 /* to allocate */ };
enum { OPERATIONS_MAX = 1 << 12, COLUMNS = 512 };

enum told { TOLD_READ, TOLD_FENCE, TOLD_WAIT_LD, TOLD_WAIT_ST, TOLD_COUNT };

struct operation {
	const struct tcb_ptx_ins *ins;
	struct tcb_ptx_tensor_place place; /* that it writes (an alloc: its slot) or, a load, reads */
	uint64_t columns;                  /* of an alloc; 0: unknown */
};

struct tensors {
	struct tcb_ptx_async *a;
	struct operation *operations; /* one fact each, from 1 on */
	unsigned count;
	int has_wait, has_dealloc;
	uint8_t is_told[TOLD_COUNT];
};

static int is_product(const struct tcb_ptx_ins *ins)
{
	return ins->op >= TCB_PTX_OP_TCGEN05_MMA && ins->op <= TCB_PTX_OP_TCGEN05_SHIFT;
}

static int is_load(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_TCGEN05_LD || ins->op == TCB_PTX_OP_TCGEN05_LD_RED;
}

/* --- what is told --- */

/* Whether some thread surely runs both. */
static int meet(const struct tensors *t, const struct tcb_ptx_ins *x, const struct tcb_ptx_ins *y)
{
	uint64_t in_x[TCB_PTX_ASYNC_SET_WORDS], in_y[TCB_PTX_ASYNC_SET_WORDS], both = 0;

	if (!tcb_ptx_async_present(t->a, x, in_x) || !tcb_ptx_async_present(t->a, y, in_y))
		return 0;
	for (int i = 0; i < TCB_PTX_ASYNC_SET_WORDS; i++)
		both |= in_x[i] & in_y[i];
	return both != 0;
}

static enum tcb_ptx_severity severity_of(const struct tensors *t, const struct operation *o,
					 const struct tcb_ptx_ins *ins, uint16_t state)
{
	return !(state & NONE) || meet(t, o->ins, ins) ? TCB_PTX_ERROR : TCB_PTX_WARNING;
}

static int tell_once(struct tensors *t, enum told what)
{
	if (t->is_told[what])
		return 0;
	t->is_told[what] = 1;
	return 1;
}

static const char *what_is(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_op_text((enum tcb_ptx_op)ins->op);
}

/* INS touches PLACE, which a product or copy still writes. */
static void see_in_flight(struct tensors *t, const struct tcb_ptx_ins *ins, const struct tcb_ptx_tensor_place *place,
			  const uint16_t *state)
{
	for (unsigned i = 1; i < t->count; i++) {
		const struct operation *o = &t->operations[i];

		if (!is_product(o->ins) || !tcb_ptx_tensor_overlap(&o->place, place) || state[i] & DONE)
			continue;
		if (state[i] & IN_FLIGHT && !(state[i] & WAITED) && tell_once(t, TOLD_READ))
			tcb_ptx_report(t->a->sink, TCB_PTX_RULE_ASYNC_PENDING, severity_of(t, o, ins, state[i]),
				       t->a->function, ins,
				       "%s touches what the %s of line %u may still write: on each way from there %s",
				       what_is(ins), what_is(o->ins), o->ins->line,
				       (state[i] & IN_FLIGHT) == OPEN
					       ? "no tcgen05.commit makes an mbarrier wait for it"
					       : "nobody waits for the mbarrier that tcgen05.commit told");
		if (state[i] & WAITED && !(state[i] & IN_FLIGHT) && is_load(ins) && tell_once(t, TOLD_FENCE))
			tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_WARNING, t->a->function, ins,
				       "the wait for the %s of line %u comes before this, and no "
				       "tcgen05.fence::after_thread_sync behind it: the load may be done earlier",
				       what_is(o->ins), o->ins->line);
	}
}

/* INS touches PLACE (and writes it) while a load or store of this warp is pending there. */
static void see_pending(struct tensors *t, const struct tcb_ptx_ins *ins, const struct tcb_ptx_tensor_place *place,
			int writes, const uint16_t *state)
{
	for (unsigned i = 1; i < t->count; i++) {
		const struct operation *o = &t->operations[i];
		const int loads = is_load(o->ins);

		if ((!loads && o->ins->op != TCB_PTX_OP_TCGEN05_ST) || (loads && !writes) || !(state[i] & OPEN) ||
		    state[i] & DONE || !tcb_ptx_tensor_overlap(&o->place, place) ||
		    !tell_once(t, loads ? TOLD_WAIT_LD : TOLD_WAIT_ST))
			continue;
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_ASYNC_PENDING, severity_of(t, o, ins, state[i]), t->a->function,
			       ins, "%s touches what the %s of line %u may not have %s yet: tcgen05.wait::%s between",
			       what_is(ins), what_is(o->ins), o->ins->line, loads ? "read" : "written",
			       loads ? "ld" : "st");
	}
}

/* --- allocations --- */

static void see_alloc(struct tensors *t, const struct tcb_ptx_ins *ins, unsigned own, const uint16_t *state)
{
	const uint64_t columns = t->operations[own].columns;
	uint64_t sum = columns;

	if (columns && (columns < 32 || columns > COLUMNS || columns & (columns - 1)))
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR, t->a->function, ins,
			       "%llu columns of Tensor Memory: a power of two from 32 to 512 is needed",
			       (unsigned long long)columns);
	if (state[PERMIT_FACT] == RELINQUISHED)
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR, t->a->function, ins,
			       "allocates Tensor Memory, and tcgen05.relinquish_alloc_permit comes before on each way");
	for (unsigned i = 1; i < t->count; i++)
		if (t->operations[i].ins->op == TCB_PTX_OP_TCGEN05_ALLOC && i != own && state[i] == TAKEN)
			sum += t->operations[i].columns;
	if (state[own] == TAKEN)
		sum += columns;
	if (sum > COLUMNS)
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_DEADLOCK, TCB_PTX_ERROR, t->a->function, ins,
			       "with what this block has taken these are %llu columns of Tensor Memory, and there are "
			       "512: it waits for itself",
			       (unsigned long long)sum);
}

/* The allocation that INS gives back, or -1: several may be meant. */
static int freed_by(struct tensors *t, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_tensor_place place;
	int found = -1, count = 0;

	tcb_ptx_tensor_operand(t->a, ins, 0, &place);
	for (unsigned i = 1; i < t->count; i++)
		if (t->operations[i].ins->op == TCB_PTX_OP_TCGEN05_ALLOC) {
			const struct tcb_ptx_tensor_place *slot = &t->operations[i].place;

			count++;
			if (place.slot && slot->slot == place.slot && slot->slot_offset == place.slot_offset)
				return (int)i;
			found = (int)i;
		}
	return count == 1 && !place.slot ? found : -1;
}

static void see_dealloc(struct tensors *t, const struct tcb_ptx_ins *ins, int which, const uint16_t *state)
{
	const struct operation *o = &t->operations[which];
	struct tcb_ptx_tensor_place all = o->place;
	uint64_t columns;

	if (state[which] == FREED)
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR, t->a->function, ins,
			       "gives back what was given back before on each way: it is of the tcgen05.alloc of line "
			       "%u",
			       o->ins->line);
	if (o->columns && tcb_ptx_async_constant(t->a, ins, &ins->operands[1], &columns) && columns != o->columns)
		tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR, t->a->function, ins,
			       "gives back %llu columns of Tensor Memory, and the tcgen05.alloc of line %u took %llu",
			       (unsigned long long)columns, o->ins->line, (unsigned long long)o->columns);
	all.is_known = all.slot != NULL;
	all.column = 0;
	all.columns = COLUMNS;
	see_in_flight(t, ins, &all, state);
}

static void see_end(const struct tensors *t, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	for (unsigned i = 1; i < t->count; i++) {
		const struct operation *o = &t->operations[i];
		const int is_certain = !(state[i] & NONE) || !t->has_dealloc;

		if (o->ins->op == TCB_PTX_OP_TCGEN05_ALLOC && state[i] & TAKEN && !(state[i] & FREED) &&
		    !t->a->has[TCB_PTX_OP_CALL])
			tcb_ptx_report(t->a->sink, TCB_PTX_RULE_TENSOR_MEMORY,
				       is_certain ? TCB_PTX_ERROR : TCB_PTX_WARNING, t->a->function, o->ins,
				       "the kernel may end in line %u with this allocated: on each way there no "
				       "tcgen05.dealloc gives it back",
				       ins->line);
	}
}

/* --- the way through --- */

static int fact_of(const struct tensors *t, const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 1; i < t->count; i++)
		if (t->operations[i].ins == ins)
			return (int)i;
	return -1;
}

/* All of what IS_KIND says that are in one of the states FROM come to the state TO. */
static void move(const struct tensors *t, uint16_t *state, int (*is_kind)(const struct tcb_ptx_ins *ins), uint16_t from,
		 uint16_t to)
{
	for (unsigned i = 1; i < t->count; i++)
		if (is_kind(t->operations[i].ins) && state[i] & from)
			state[i] = (uint16_t)((state[i] & ~from) | to);
}

static int is_store(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_TCGEN05_ST;
}

static void see_access(struct tensors *t, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	for (unsigned i = 0; i < ins->operand_count; i++) {
		struct tcb_ptx_tensor_place place;

		if (ins->operands[i].kind != TCB_PTX_O_ADDRESS || !tcb_ptx_tensor_operand(t->a, ins, i, &place))
			continue;
		if (!is_product(ins))
			see_in_flight(t, ins, &place, state);
		see_pending(t, ins, &place, i == 0 && !is_load(ins), state);
	}
}

static void free_allocations(struct tensors *t, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	const int which = freed_by(t, ins);

	if (which >= 0 && is_last)
		see_dealloc(t, ins, which, state);
	for (unsigned i = 1; i < t->count; i++)
		if (t->operations[i].ins->op == TCB_PTX_OP_TCGEN05_ALLOC && (which < 0 || (int)i == which))
			state[i] = FREED;
}

/* What nobody follows: all may be done behind it. */
static void forget(const struct tensors *t, uint16_t *state)
{
	for (unsigned i = 1; i < t->count; i++)
		state[i] = t->operations[i].ins->op == TCB_PTX_OP_TCGEN05_ALLOC ? state[i] | FREED : DONE;
	state[PERMIT_FACT] |= NONE;
}

static void step_other(struct tensors *t, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	const int foreign = tcb_ptx_async_may_be(ins, "tcgen05") || tcb_ptx_async_may_be(ins, "mbarrier");

	if ((ins->op == TCB_PTX_OP_CALL || ins->op == TCB_PTX_OP_OPAQUE) && foreign) {
		forget(t, state);
		return;
	}
	if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER) && t->has_wait) /* somebody may have waited */
		move(t, state, is_product, COMMITTED, WAITED);
	if ((ins->op == TCB_PTX_OP_RET || ins->op == TCB_PTX_OP_EXIT) && is_last)
		see_end(t, ins, state);
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct tensors *t = ctx;
	const int own = fact_of(t, ins);

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_TCGEN05_ALLOC:
		if (own >= 0 && is_last)
			see_alloc(t, ins, (unsigned)own, state);
		if (own >= 0)
			state[own] = TAKEN;
		return;
	case TCB_PTX_OP_TCGEN05_DEALLOC:
		free_allocations(t, ins, state, is_last);
		return;
	case TCB_PTX_OP_TCGEN05_RELINQUISH:
		state[PERMIT_FACT] = RELINQUISHED;
		return;
	case TCB_PTX_OP_TCGEN05_WAIT_LD:
		move(t, state, is_load, OPEN, DONE);
		return;
	case TCB_PTX_OP_TCGEN05_WAIT_ST:
		move(t, state, is_store, OPEN, DONE);
		return;
	case TCB_PTX_OP_TCGEN05_COMMIT:
		move(t, state, is_product, OPEN, COMMITTED);
		return;
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
		move(t, state, is_product, COMMITTED, WAITED);
		return;
	case TCB_PTX_OP_TCGEN05_FENCE_AFTER:
		move(t, state, is_product, WAITED, DONE);
		return;
	default:
		break;
	}
	if (own < 0) {
		step_other(t, ins, state, is_last);
		return;
	}
	if (is_last)
		see_access(t, ins, state);
	state[own] = OPEN;
}

/* --- which --- */

static void add(struct tensors *t, const struct tcb_ptx_ins *ins)
{
	struct operation *o = &t->operations[t->count];

	if (t->count == OPERATIONS_MAX)
		return;
	*o = (struct operation){ .ins = ins };
	if (ins->op == TCB_PTX_OP_TCGEN05_ALLOC) {
		tcb_ptx_tensor_slot(t->a, ins, 0, &o->place);
		tcb_ptx_async_constant(t->a, ins, &ins->operands[1], &o->columns);
	} else {
		tcb_ptx_tensor_operand(t->a, ins, is_load(ins) ? ins->result_count : 0, &o->place);
	}
	t->count++;
}

static int is_followed(const struct tcb_ptx_ins *ins)
{
	return is_product(ins) || is_load(ins) || is_store(ins) || ins->op == TCB_PTX_OP_TCGEN05_ALLOC;
}

/* 9.7.16.7.1: one kernel has one number of blocks that its instructions are for. */
static void check_groups(struct tcb_ptx_async *a)
{
	const struct tcb_ptx_ins *first = NULL;

	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next) {
			const enum tcb_ptx_word group = tcb_ptx_mod(ins, TCB_PTX_SLOT_CTA_GROUP);

			if (ins->op < TCB_PTX_OP_TCGEN05_ALLOC || ins->op > TCB_PTX_OP_TCGEN05_COMMIT || !group)
				continue;
			if (first && tcb_ptx_mod(first, TCB_PTX_SLOT_CTA_GROUP) != group) {
				tcb_ptx_report(
					a->sink, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR, a->function, ins,
					"%s has .%s, and the %s of line %u .%s: all tcgen05 of a kernel have one",
					what_is(ins), tcb_ptx_word_text(group), what_is(first), first->line,
					tcb_ptx_word_text(tcb_ptx_mod(first, TCB_PTX_SLOT_CTA_GROUP)));
				return;
			}
			first = first ? first : ins;
		}
}

void tcb_ptx_async_tensor(struct tcb_ptx_async *a)
{
	struct tensors t = { .a = a, .count = 1 };
	struct tcb_ptx_async_flow flow = { 0, step, &t };
	int is_any = 0;

	for (unsigned op = TCB_PTX_OP_TCGEN05_ALLOC; op <= TCB_PTX_OP_TCGEN05_COMMIT; op++)
		is_any |= a->has[op];
	if (!is_any)
		return;
	t.has_wait = a->has[TCB_PTX_OP_MBARRIER_TRY_WAIT] || a->has[TCB_PTX_OP_MBARRIER_TEST_WAIT];
	t.has_dealloc = a->has[TCB_PTX_OP_TCGEN05_DEALLOC];
	t.operations = tcb_arena_array(&a->arena, OPERATIONS_MAX, sizeof *t.operations);
	if (!t.operations) {
		a->has_failed = 1;
		return;
	}
	check_groups(a);
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (is_followed(ins))
				add(&t, ins);
	flow.count = t.count;
	tcb_ptx_async_solve(a, &flow);
}
