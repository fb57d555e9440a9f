/* SPDX-License-Identifier: MIT
 *
 * Of async.h: mbarriers.  PTX ISA 9.0, section 9.7.13.15: one is initialised
 * with the arrivals that end its phase, and a phase ends when these and the
 * bytes that were expected have come.
 *
 * An mbarrier is judged by its address where that is the same each time.  What
 * counts arrivals and bytes looks at operations outside of loops alone, or at
 * those of one block of instructions.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

enum role { NO_ROLE, INIT, INVAL, ARRIVE, EXPECT, WAIT, COPY, OTHER };
enum { USES_MAX = 1 << 12, BARRIERS_MAX = 1 << 8, COUNT_MAX = (1 << 20) - 1 };

/* One operation on an mbarrier. */
struct use {
	const struct tcb_ptx_ins *ins;
	const struct tcb_ptx_symbol *base; /* NULL: unknown */
	int64_t offset;
	int is_steady;            /* OFFSET is its place in BASE, in all threads and rounds */
	unsigned roles;           /* bits by enum role */
	uint64_t arrivals, bytes; /* of one thread, where known */
	int has_arrivals, has_bytes;
	int barrier;      /* index among the barriers; -1: none */
	uint32_t threads; /* that run it; 0: unknown */
	int is_optional;
};

struct barrier {
	const struct tcb_ptx_symbol *base;
	int64_t offset;
};

struct mbarriers {
	struct tcb_ptx_async *a;
	struct use *uses;
	unsigned count;
	struct barrier *barriers;
	unsigned barrier_count;
	int is_vague;     /* some operation may be on any mbarrier */
	uint8_t *is_told; /* by barrier */
};

/* --- what there is --- */

static unsigned roles_of(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MBARRIER_INIT:
		return 1u << INIT;
	case TCB_PTX_OP_MBARRIER_INVAL:
		return 1u << INVAL;
	case TCB_PTX_OP_MBARRIER_ARRIVE:
	case TCB_PTX_OP_TCGEN05_COMMIT:
		return 1u << ARRIVE;
	case TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
		return 1u << ARRIVE | 1u << EXPECT;
	case TCB_PTX_OP_MBARRIER_EXPECT_TX:
		return 1u << EXPECT;
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
		return 1u << WAIT;
	case TCB_PTX_OP_MBARRIER_COMPLETE_TX:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
	case TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
	case TCB_PTX_OP_ST_ASYNC:
	case TCB_PTX_OP_RED_ASYNC:
		return 1u << OTHER;
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_ASYNC_BULK_TENSOR:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL ? 0 : 1u << COPY;
	default:
		return 0;
	}
}

/* The operand that is the mbarrier. */
static unsigned barrier_operand(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return 3;
	case TCB_PTX_OP_CP_ASYNC_BULK_TENSOR:
	case TCB_PTX_OP_ST_ASYNC:
	case TCB_PTX_OP_RED_ASYNC:
		return 2;
	default:
		return ins->result_count;
	}
}

static void find_numbers(struct tcb_ptx_async *a, struct use *use, unsigned at)
{
	const struct tcb_ptx_ins *ins = use->ins;

	if (use->roles & (1u << EXPECT))
		use->has_bytes = tcb_ptx_async_constant(a, ins, &ins->operands[at + 1], &use->bytes);
	if (use->roles & (1u << COPY) && ins->op == TCB_PTX_OP_CP_ASYNC_BULK &&
	    !tcb_ptx_mod(ins, TCB_PTX_SLOT_MULTICAST) && tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE2) == TCB_PTX_GLOBAL)
		use->has_bytes = tcb_ptx_async_constant(a, ins, &ins->operands[2], &use->bytes);
	use->arrivals = 1;
	use->has_arrivals = 1;
	if (use->roles == 1u << INIT || (ins->op == TCB_PTX_OP_MBARRIER_ARRIVE && ins->operand_count > at + 1))
		use->has_arrivals = tcb_ptx_async_constant(a, ins, &ins->operands[at + 1], &use->arrivals);
}

static void find_threads(struct tcb_ptx_async *a, struct use *use)
{
	uint64_t set[TCB_PTX_ASYNC_SET_WORDS];

	use->is_optional = tcb_ptx_affine_is_optional(a->affine, use->ins->block);
	if (tcb_ptx_async_present(a, use->ins, set))
		for (int i = 0; i < TCB_PTX_ASYNC_SET_WORDS; i++)
			use->threads += (uint32_t)__builtin_popcountll(set[i]);
	if (use->ins->guard != TCB_PTX_NO_REG) {
		struct tcb_ptx_value guard = tcb_ptx_affine_guard(a->affine, use->ins);

		use->is_optional |= !guard.known || guard.term_count;
	}
}

static int barrier_of(struct mbarriers *m, const struct use *use)
{
	for (unsigned i = 0; i < m->barrier_count; i++)
		if (m->barriers[i].base == use->base && m->barriers[i].offset == use->offset)
			return (int)i;
	if (m->barrier_count == BARRIERS_MAX)
		return -1;
	m->barriers[m->barrier_count] = (struct barrier){ use->base, use->offset };
	return (int)m->barrier_count++;
}

static void add_use(struct mbarriers *m, const struct tcb_ptx_ins *ins, unsigned roles)
{
	unsigned at = barrier_operand(ins);
	struct tcb_ptx_async_origin origin;
	struct use use = { .ins = ins, .roles = roles, .barrier = -1 };
	struct tcb_ptx_value v;

	if (m->count == USES_MAX || at >= ins->operand_count || ins->operands[at].kind != TCB_PTX_O_ADDRESS) {
		m->is_vague = 1;
		return;
	}
	v = tcb_ptx_affine_address(m->a->affine, ins, at);
	use.base = tcb_ptx_async_base(m->a, &v);
	if (use.base && use.base->space != TCB_PTX_SHARED)
		use.base = NULL;
	use.is_steady = use.base && v.known && v.term_count == 1 && !v.lanes;
	use.offset = (int32_t)(uint32_t)v.constant;
	if (!use.base) {
		tcb_ptx_async_trace(m->a, &ins->operands[at], &origin);
		use.base = origin.is_mapped ? NULL : origin.base;
	}
	m->is_vague |= !use.base || tcb_ptx_mod(ins, TCB_PTX_SLOT_MULTICAST);
	find_numbers(m->a, &use, at);
	find_threads(m->a, &use);
	if (use.is_steady)
		use.barrier = barrier_of(m, &use);
	m->uses[m->count++] = use;
}

/* --- the variable as a whole --- */

static unsigned roles_in(const struct mbarriers *m, const struct tcb_ptx_symbol *base)
{
	unsigned roles = 0;

	for (unsigned i = 0; i < m->count; i++)
		if (m->uses[i].base == base)
			roles |= m->uses[i].roles;
	return roles;
}

static int is_first_of_base(const struct mbarriers *m, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (m->uses[i].base == m->uses[at].base)
			return 0;
	return 1;
}

static void report(const struct mbarriers *m, enum tcb_ptx_severity severity, const struct tcb_ptx_ins *ins,
		   const char *format, const struct tcb_ptx_symbol *base) __attribute__((format(printf, 4, 0)));
static void report(const struct mbarriers *m, enum tcb_ptx_severity severity, const struct tcb_ptx_ins *ins,
		   const char *format, const struct tcb_ptx_symbol *base)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	tcb_ptx_report(m->a->sink, TCB_PTX_RULE_MBARRIER, severity, m->a->function, ins, format,
		       tcb_ptx_async_name(base));
#pragma GCC diagnostic pop
}

static const struct use *first_with(const struct mbarriers *m, const struct tcb_ptx_symbol *base, enum role role)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->uses[i].base == base && m->uses[i].roles >> role & 1)
			return &m->uses[i];
	return NULL;
}

static void check_variable(const struct mbarriers *m, const struct tcb_ptx_symbol *base)
{
	unsigned roles = roles_in(m, base);

	if (!tcb_ptx_symbol_bytes(base))
		return; /* another name of it may be used, too */
	if (!(roles >> INIT & 1) && roles & (1u << ARRIVE | 1u << EXPECT | 1u << WAIT | 1u << COPY)) {
		const struct use *use = first_with(m, base, ARRIVE);

		use = use ? use : first_with(m, base, WAIT);
		use = use ? use : first_with(m, base, COPY);
		if (use)
			report(m, TCB_PTX_ERROR, use->ins,
			       "'%s' is used as an mbarrier, and no mbarrier.init is for it", base);
		return;
	}
	if (!(roles >> WAIT & 1))
		return;
	if (!(roles & (1u << ARRIVE | 1u << EXPECT | 1u << OTHER)))
		report(m, TCB_PTX_WARNING, first_with(m, base, WAIT)->ins,
		       "nobody arrives at '%s': a wait for a phase of it never ends", base);
	else if (roles >> COPY & 1 && !(roles & (1u << EXPECT | 1u << OTHER)))
		report(m, TCB_PTX_ERROR, first_with(m, base, COPY)->ins,
		       "nobody expects the bytes of this copy at '%s' (mbarrier.arrive.expect_tx): its phase may end "
		       "before they have come",
		       base);
}

/* --- one mbarrier --- */

struct sums {
	const struct use *init, *expect, *copy, *maybe, *arrive, *wait, *crowd;
	uint64_t arrivals, expected, least, most;
	unsigned inits;
	int is_open, is_open_bytes;
};

static void add_bytes(struct sums *s, const struct use *use)
{
	uint64_t bytes = use->bytes * use->threads;

	if (!use->has_bytes || !use->threads) {
		s->is_open_bytes = 1;
		return;
	}
	if (use->roles >> EXPECT & 1) {
		s->is_open_bytes |= use->is_optional;
		s->expected += bytes;
		s->expect = use;
	}
	if (use->roles >> COPY & 1) {
		s->most += bytes;
		s->least += use->is_optional ? 0 : bytes;
		s->copy = use;
		if (use->is_optional)
			s->maybe = use;
	}
}

/* Sums what is done to BARRIER.  BLOCK: where its bytes are expected, the first time; NULL: nowhere.  In a loop all of
 * it must be there. */
static struct sums sum(const struct mbarriers *m, int barrier, const struct tcb_ptx_block *block)
{
	struct sums s = { 0 };

	for (unsigned i = 0; i < m->count; i++) {
		const struct use *use = &m->uses[i];

		if (use->base != m->barriers[barrier].base)
			continue;
		if (use->barrier < 0)
			s.is_open = s.is_open_bytes = 1;
		if (use->barrier != barrier)
			continue;
		if (use->roles & (1u << OTHER | 1u << INVAL))
			s.is_open = s.is_open_bytes = 1;
		s.is_open |= use->ins->block->loop && use->roles != 1u << WAIT;
		if (use->roles & (1u << EXPECT | 1u << COPY) && use->ins->block != block)
			s.is_open_bytes |= !block || use->ins->block->loop || block->loop;
		if (use->roles & (1u << EXPECT | 1u << COPY))
			add_bytes(&s, use);
		if (use->roles >> INIT & 1) {
			s.inits++;
			s.init = use;
			s.is_open |= !use->has_arrivals;
		}
		if (use->roles >> ARRIVE & 1) {
			s.is_open |= !use->has_arrivals || !use->threads;
			s.arrivals += use->arrivals * use->threads;
			s.arrive = use;
			if (!s.crowd || use->threads > s.crowd->threads)
				s.crowd = use;
		}
		if (use->roles >> WAIT & 1)
			s.wait = use;
	}
	return s;
}

static void check_bytes(const struct mbarriers *m, const struct sums *s)
{
	if (s->is_open_bytes || !s->expect || !s->copy)
		return;
	if (s->expected > s->most || s->expected < s->least)
		tcb_ptx_report(
			m->a->block_sink, TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, m->a->function, s->expect->ins,
			"%llu bytes are expected at '%s', and copies bring %llu: its phase does not end when they "
			"have come",
			(unsigned long long)s->expected, tcb_ptx_async_name(s->expect->base),
			(unsigned long long)s->most);
	else if (s->maybe && s->expected > s->least)
		tcb_ptx_report(
			m->a->block_sink, TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, m->a->function, s->expect->ins,
			"%llu bytes are expected at '%s' in any case, and %llu come if the copy of line %u is left "
			"out: a wait for them never ends then",
			(unsigned long long)s->expected, tcb_ptx_async_name(s->expect->base),
			(unsigned long long)s->least, s->maybe->ins->line);
}

static void check_arrivals(const struct mbarriers *m, const struct sums *s)
{
	uint64_t wanted, parity;
	int is_first;

	if (s->is_open || s->inits != 1 || !s->wait || !s->arrive || s->init->arrivals == 0)
		return;
	is_first = tcb_ptx_mod(s->wait->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_PARITY &&
		   tcb_ptx_async_constant(m->a, s->wait->ins,
					  &s->wait->ins->operands[barrier_operand(s->wait->ins) + 1], &parity) &&
		   !(parity & 1);
	wanted = s->init->arrivals;
	if (s->arrivals < wanted)
		tcb_ptx_report(m->a->block_sink, TCB_PTX_RULE_MBARRIER, is_first ? TCB_PTX_ERROR : TCB_PTX_WARNING,
			       m->a->function, s->wait->ins,
			       "'%s' counts %llu arrivals (line %u), and %llu come: this wait never ends",
			       tcb_ptx_async_name(s->init->base), (unsigned long long)wanted, s->init->ins->line,
			       (unsigned long long)s->arrivals);
	else if (s->crowd->arrivals * s->crowd->threads > wanted)
		tcb_ptx_report(
			m->a->block_sink, TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, m->a->function, s->crowd->ins,
			"%u threads arrive here at '%s', which counts %llu arrivals (line %u): its phase ends before "
			"all of them have come",
			s->crowd->threads, tcb_ptx_async_name(s->init->base), (unsigned long long)wanted,
			s->init->ins->line);
}

static void check_barrier(const struct mbarriers *m, int barrier)
{
	const struct tcb_ptx_block *block = NULL;
	struct sums s;

	for (unsigned i = 0; i < m->count && !block; i++)
		if (m->uses[i].barrier == barrier && m->uses[i].roles >> EXPECT & 1)
			block = m->uses[i].ins->block;
	s = sum(m, barrier, block);
	check_bytes(m, &s);
	check_arrivals(m, &s);
}

static void check_count(const struct mbarriers *m, const struct use *use)
{
	if (use->roles == 1u << INIT && use->has_arrivals && (use->arrivals == 0 || use->arrivals > COUNT_MAX))
		tcb_ptx_report(m->a->sink, TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, m->a->function, use->ins,
			       "an mbarrier counts 1 to %d arrivals, not %llu", COUNT_MAX,
			       (unsigned long long)use->arrivals);
}

/* --- along the ways: what the copy engine sees of an init, and which phase is waited for --- */

/* Of an init: not run, run, behind a fence. */
enum { UNINIT = 1, INITIALISED = 2, SHOWN = 4 };
/* Of the phases of one mbarrier, by thread: FRESH; it has ARRIVED in phase 0; it waited last for the phase of parity 0
 * or 1, and maybe arrived since; anything. */
enum { FRESH = 1, ARRIVED = 2, WAITED = 4, WAITED_ARRIVED = 16, ANYTHING = 64 };

static const struct use *use_at(const struct mbarriers *m, const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->uses[i].ins == ins)
			return &m->uses[i];
	return NULL;
}

static void see_wait(struct mbarriers *m, const struct use *use, uint16_t *phase, int is_last)
{
	unsigned at = barrier_operand(use->ins);
	uint64_t parity;
	uint16_t same;

	if (tcb_ptx_mod(use->ins, TCB_PTX_SLOT_MODE) != TCB_PTX_PARITY ||
	    !tcb_ptx_async_constant(m->a, use->ins, &use->ins->operands[at + 1], &parity)) {
		*phase = ANYTHING;
		return;
	}
	parity &= 1;
	same = (uint16_t)(WAITED_ARRIVED << parity);
	if (is_last && !m->is_told[use->barrier] && *phase & same && !(*phase & ~(same | WAITED << parity))) {
		m->is_told[use->barrier] = 1;
		report(m, TCB_PTX_WARNING, use->ins,
		       "the parity of the phase of '%s' that was waited for before: this wait ends at once, unless the "
		       "next phase has ended, too",
		       use->base);
	} else if (is_last && !m->is_told[use->barrier] && parity == 1 && *phase & ARRIVED &&
		   !(*phase & ~(ARRIVED | WAITED << 1))) {
		m->is_told[use->barrier] = 1;
		report(m, TCB_PTX_WARNING, use->ins,
		       "the thread has arrived in the first phase of '%s', which has parity 0, and waits for parity 1: "
		       "this wait ends at once, or waits for the phase after",
		       use->base);
	}
	*phase = (uint16_t)(WAITED << parity);
}

static void see_arrival(uint16_t *phase)
{
	uint16_t next = *phase & (ANYTHING | WAITED_ARRIVED | WAITED_ARRIVED << 1 | ARRIVED);

	if (*phase & FRESH)
		next |= ARRIVED;
	next |= (uint16_t)((*phase & (WAITED | WAITED << 1)) << 2);
	*phase = next;
}

static void see_use(struct mbarriers *m, const struct use *use, uint16_t *state, int is_last)
{
	uint16_t *shown = state + m->barrier_count;

	if (use->barrier < 0) {
		for (unsigned i = 0; i < m->barrier_count; i++)
			if (!use->base || m->barriers[i].base == use->base)
				state[i] = ANYTHING;
		return;
	}
	if (use->roles >> INIT & 1) {
		state[use->barrier] = FRESH;
		shown[use->barrier] = INITIALISED;
	}
	if (use->roles & (1u << OTHER | 1u << INVAL))
		state[use->barrier] = ANYTHING;
	if (use->roles >> ARRIVE & 1)
		see_arrival(&state[use->barrier]);
	if (use->roles >> WAIT & 1)
		see_wait(m, use, &state[use->barrier], is_last);
	if (use->roles >> COPY & 1 && is_last && shown[use->barrier] & INITIALISED && !(shown[use->barrier] & SHOWN) &&
	    !m->is_told[use->barrier]) {
		m->is_told[use->barrier] = 1;
		report(m, TCB_PTX_WARNING, use->ins,
		       "this copy counts its bytes at '%s', and on each way from its mbarrier.init no "
		       "fence.mbarrier_init or fence.proxy.async shows it to the copy engine",
		       use->base);
	}
}

static void show(const struct mbarriers *m, uint16_t *state)
{
	uint16_t *shown = state + m->barrier_count;

	for (unsigned i = 0; i < m->barrier_count; i++)
		if (shown[i] & INITIALISED)
			shown[i] = (uint16_t)((shown[i] & ~INITIALISED) | SHOWN);
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct mbarriers *m = ctx;
	const struct use *use;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER) != TCB_PTX_RELAXED) /* it releases to the cluster */
			show(m, state);
		return;
	case TCB_PTX_OP_FENCE:
	case TCB_PTX_OP_MEMBAR:
	case TCB_PTX_OP_FENCE_PROXY:
	case TCB_PTX_OP_FENCE_MBARRIER_INIT:
		show(m, state);
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "mbarrier") && !tcb_ptx_async_may_be(ins, "tcgen05") &&
		    !tcb_ptx_async_may_be(ins, "fence"))
			return;
		for (unsigned i = 0; i < m->barrier_count; i++) {
			state[i] = ANYTHING;
			state[m->barrier_count + i] = SHOWN;
		}
		return;
	default:
		use = roles_of(ins) ? use_at(m, ins) : NULL;
		if (use)
			see_use(m, use, state, is_last);
	}
}

/* --- all --- */

static void check(struct mbarriers *m)
{
	struct tcb_ptx_async_flow flow = { 2 * m->barrier_count, step, m };

	for (unsigned i = 0; i < m->count; i++)
		check_count(m, &m->uses[i]);
	tcb_ptx_async_solve(m->a, &flow);
	if (m->is_vague || m->a->is_foreign)
		return;
	for (unsigned i = 0; i < m->count; i++)
		if (is_first_of_base(m, i))
			check_variable(m, m->uses[i].base);
	for (unsigned i = 0; i < m->barrier_count; i++)
		check_barrier(m, (int)i);
}

void tcb_ptx_async_mbarriers(struct tcb_ptx_async *a)
{
	struct mbarriers m = { .a = a };
	unsigned roles;

	m.uses = tcb_arena_array(&a->arena, USES_MAX, sizeof *m.uses);
	m.barriers = tcb_arena_array(&a->arena, BARRIERS_MAX, sizeof *m.barriers);
	m.is_told = tcb_arena_array(&a->arena, BARRIERS_MAX, sizeof *m.is_told);
	if (!m.uses || !m.barriers || !m.is_told) {
		a->has_failed = 1;
		return;
	}
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next) {
			roles = roles_of(ins);
			if (roles)
				add_use(&m, ins, roles);
		}
	if (m.count)
		check(&m);
}
