/* SPDX-License-Identifier: MIT
 *
 * In: the addresses of each thread (affine.h) and who surely comes (witness.h).
 * Out: accesses outside their variable, and misaligned ones, with a thread each.
 *
 * An address is the place of a variable, a number for each thread, and multiples
 * of symbols.  The counter of a loop is every number from 0 to the rounds of the
 * thread where one exit decides them, and 0 at least where each round passes the
 * access; any other symbol is something between its bounds, and only what holds
 * for all of that is told.
 */
#include "ptx/analyse/bounds.h"

#include <string.h>

#include "ptx/analyse/bounds_overflow.h"
#include "ptx/analyse/bounds_rounds.h"
#include "ptx/analyse/bounds_tickets.h"
#include "ptx/analyse/values/conditions.h"
#include "ptx/analyse/witness.h"
#include "ptx/ir/opcodes.h"

enum { POINTER_ALIGN = 256 /* cudaMalloc, cuMemAlloc */ };

struct bounds {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	const struct tcb_ptx_bounds_launch *launch;
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_coming coming;
	uint32_t threads; /* of which something is said: all, or thread 0 */
	struct tcb_ptx_rounds rounds;
	/* dynamic shared memory of which nobody said how much there is */
	const struct tcb_ptx_ins *dynamic;
	uint64_t dynamic_bytes;
	uint32_t dynamic_thread;
	int is_dynamic_sure;
};

/* One access. */
struct place {
	const struct tcb_ptx_ins *ins;
	struct tcb_ptx_access access;
	struct tcb_ptx_value address, guard;
	const struct tcb_ptx_symbol *variable;
	uint64_t size;
};

/* A place whose conditions are looked at. */
struct sized {
	const struct bounds *b;
	const struct place *p;
};

/* Offsets of a thread: some of them surely occur, the farthest back and the farthest on. */
struct extent {
	__int128 low, high;
};

static int64_t extend(uint64_t x, unsigned bits)
{
	unsigned up = bits >= 64 ? 0 : 64 - bits;

	return (int64_t)(x << up) >> up;
}

/* --- offsets --- */

/* Adds what TERM can be; 0 when it is not bounded. */
static int add_term(struct bounds *b, const struct place *p, const struct tcb_ptx_term *term, uint32_t thread,
		    struct extent *extent)
{
	const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(b->affine, term->symbol);
	int64_t factor = extend(term->factor + (term->lanes ? term->lanes[thread] : 0), p->address.bits);
	__int128 reach;

	if (s->kind == TCB_PTX_Y_COUNTER) {
		uint64_t last;

		if (tcb_ptx_rounds_last(&b->rounds, s->header, p->ins->block, thread, &last)) {
			reach = (__int128)factor * last;
			extent->low += reach < 0 ? reach : 0;
			extent->high += reach > 0 ? reach : 0;
			return 1;
		}
	}
	if (s->max > INT32_MAX)
		return 0;
	reach = (__int128)factor * (__int128)s->max; /* what is unknown counts against what would be told */
	extent->low += reach > 0 ? reach : 0;
	extent->high += reach < 0 ? reach : 0;
	return 1;
}

/* The offsets of THREAD in its variable; 0 when nothing can be said. */
static int find_extent(struct bounds *b, const struct place *p, uint32_t thread, struct extent *extent)
{
	extent->low = extent->high = extend(tcb_ptx_value_lane(&p->address, thread), p->address.bits);
	for (uint32_t i = 0; i < p->address.term_count; i++) {
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(b->affine, p->address.terms[i].symbol);

		if (s->kind != TCB_PTX_Y_ADDRESS && s->kind != TCB_PTX_Y_WINDOW &&
		    !add_term(b, p, &p->address.terms[i], thread, extent))
			return 0;
	}
	return extent->low > INT32_MIN && extent->high < INT32_MAX;
}

/* Whether all that the address can be lies inside. */
static int is_inside(const struct bounds *b, const struct place *p)
{
	__int128 low = 0, high = 0;

	for (uint32_t i = 0; i < p->address.term_count; i++) {
		const struct tcb_ptx_term *term = &p->address.terms[i];
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(b->affine, term->symbol);
		__int128 reach;

		if (s->kind == TCB_PTX_Y_ADDRESS || s->kind == TCB_PTX_Y_WINDOW)
			continue;
		if (s->max > INT32_MAX || term->lanes)
			return 0;
		reach = (__int128)extend(term->factor, p->address.bits) * (__int128)s->max;
		low += reach < 0 ? reach : 0;
		high += reach > 0 ? reach : 0;
	}
	for (uint32_t t = 0; t < (p->address.lanes ? b->threads : 1); t++) {
		int64_t at = extend(tcb_ptx_value_lane(&p->address, t), p->address.bits);

		if (at + low < 0 || at + high + p->access.bytes > p->size)
			return 0;
	}
	return 1;
}

/* --- threads --- */

enum coming { STAYS_AWAY, MAY_COME, COMES_WITH_OTHERS, COMES };

static enum coming comes(const struct bounds *b, const struct place *p, uint32_t thread)
{
	const uint64_t *must = tcb_ptx_must_of(&b->coming, p->ins->block),
		       *may = tcb_ptx_affine_active(b->affine, p->ins->block);
	int is_guarded = p->ins->guard != TCB_PTX_NO_REG, has_guard = p->guard.known && !p->guard.term_count;

	if (!(may[thread / 64] >> thread % 64 & 1) || thread % TCB_PTX_WARP >= tcb_ptx_address_lanes(p->ins) ||
	    (is_guarded && has_guard && !(tcb_ptx_value_lane(&p->guard, thread) & 1)))
		return STAYS_AWAY;
	if ((must[thread / 64] >> thread % 64 & 1) && (!is_guarded || has_guard))
		return COMES;
	if (tcb_ptx_affine_presence(b->affine, p->ins->block) == TCB_PTX_AT_MOST ||
	    (is_guarded && !tcb_ptx_value_is_uniform(&p->guard)))
		return MAY_COME;
	return COMES_WITH_OTHERS;
}

static const char *does(const struct place *p)
{
	return p->access.writes ? p->access.reads ? "changes" : "writes" : "reads";
}

static const char *space_text(const struct tcb_ptx_symbol *variable)
{
	switch ((int)variable->space) {
	case TCB_PTX_SHARED:
		return " of shared memory";
	case TCB_PTX_LOCAL:
		return " of local memory";
	case TCB_PTX_CONST:
		return " of constant memory";
	case TCB_PTX_PARAM:
		return " (a parameter)";
	default:
		return "";
	}
}

static void tell_outside(const struct bounds *b, const struct place *p, uint32_t thread, int64_t at, int is_sure)
{
	int is_dynamic = p->variable->space == TCB_PTX_SHARED && !tcb_ptx_symbol_bytes(p->variable);

	tcb_ptx_report(b->sink, TCB_PTX_RULE_OUT_OF_BOUNDS, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, b->function,
		       p->ins, "thread %u %s %u bytes at offset %lld of %s%s%s%s, which has %llu%s", thread, does(p),
		       p->access.bytes, (long long)at, is_dynamic ? "dynamic shared memory" : "'",
		       is_dynamic ? "" : p->variable->name, is_dynamic ? "" : "'",
		       is_dynamic ? "" : space_text(p->variable), (unsigned long long)p->size,
		       is_sure ? "" : ", if conditions let it come here");
}

static void note_dynamic(struct bounds *b, const struct place *p)
{
	struct extent extent;

	for (uint32_t t = 0; t < b->threads; t++) {
		enum coming coming = comes(b, p, t);
		uint64_t end = p->access.bytes;

		if (coming != STAYS_AWAY && !b->dynamic)
			b->dynamic = p->ins;
		if (coming != COMES)
			continue;
		if (p->address.known && !p->address.assumes && find_extent(b, p, t, &extent) && extent.high >= 0)
			end += (uint64_t)extent.high;
		if (!b->is_dynamic_sure || end > b->dynamic_bytes) {
			b->dynamic = p->ins;
			b->dynamic_bytes = end;
			b->dynamic_thread = t;
			b->is_dynamic_sure = 1;
		}
	}
}

static void check_bounds(struct bounds *b, const struct place *p)
{
	uint32_t outside = 0, may_come = 0, first = 0;
	int64_t first_at = 0;

	if (is_inside(b, p))
		return;
	for (uint32_t t = 0; t < b->threads; t++) {
		enum coming coming = comes(b, p, t);
		struct extent extent;
		int is_low;

		if (coming == STAYS_AWAY)
			continue;
		may_come++;
		if (!find_extent(b, p, t, &extent))
			continue;
		is_low = extent.low < 0;
		if (!is_low && extent.high + p->access.bytes <= p->size)
			continue;
		if (coming == COMES) {
			tell_outside(b, p, t, (int64_t)(is_low ? extent.low : extent.high), 1);
			return;
		}
		if (!outside || (coming == COMES_WITH_OTHERS && outside < TCB_PTX_BLOCK_THREADS_MAX)) {
			first = t;
			first_at = (int64_t)(is_low ? extent.low : extent.high);
		}
		outside += coming == COMES_WITH_OTHERS ? TCB_PTX_BLOCK_THREADS_MAX : 1;
	}
	/* where other threads may come without it, only if it makes no difference who comes */
	if (b->launch->is_exact && outside && outside >= may_come)
		tell_outside(b, p, first, first_at, 0);
}

/* --- multiples --- */

/* Whether S is an index of the block, which is 0 in the first. */
static int is_index_of_block(const struct bounds *b, const struct tcb_ptx_term *term)
{
	for (unsigned d = 0; d < 3; d++) {
		struct tcb_ptx_value v = tcb_ptx_affine_special(b->affine, TCB_PTX_SR_CTAID_X + d);

		if (v.term_count && v.terms[0].symbol == term->symbol)
			return 1;
	}
	return 0;
}

/* Whether what the terms add is a multiple of ALIGN in the first round; *ASSUMED: if a pointer is what allocations
 * guarantee. */
static int terms_are_multiples(const struct bounds *b, const struct place *p, uint64_t align, int *assumed)
{
	*assumed = 0;
	for (uint32_t i = 0; i < p->address.term_count; i++) {
		const struct tcb_ptx_term *term = &p->address.terms[i];
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(b->affine, term->symbol);
		uint64_t known = s->align * (term->factor & (0 - term->factor));

		if (term->lanes)
			return 0;
		if (s->kind == TCB_PTX_Y_WINDOW || (known && known % align == 0) ||
		    (s->kind == TCB_PTX_Y_SPECIAL && is_index_of_block(b, term)))
			continue;
		if (s->kind == TCB_PTX_Y_COUNTER && tcb_ptx_rounds_has_first(&b->rounds, s->header, p->ins->block))
			continue;
		if (s->kind != TCB_PTX_Y_PARAM || term->factor != 1 || align > POINTER_ALIGN)
			return 0;
		if (s->variable->is_pointer && s->variable->pointer_align > 1) {
			if (s->variable->pointer_align % align)
				return 0;
		} else {
			*assumed = 1;
		}
	}
	return 1;
}

/* Whether a parameter that the address does not depend on can be so large or small that C holds. */
static int is_of_a_size(void *ctx, const struct tcb_ptx_condition *c)
{
	const struct sized *s = ctx;

	if (!c->apart.term_count)
		return 1;
	for (uint32_t i = 0; i < c->apart.term_count && c->how != TCB_PTX_EQ && c->how != TCB_PTX_NE; i++) {
		uint32_t symbol = c->apart.terms[i].symbol, k = 0;

		while (k < s->p->address.term_count && s->p->address.terms[k].symbol != symbol)
			k++;
		if (k == s->p->address.term_count &&
		    tcb_ptx_affine_symbol(s->b->affine, symbol)->kind == TCB_PTX_Y_PARAM)
			return 1;
	}
	return 0;
}

/* Whether THREAD comes to P, if only because sizes that are parameters are large enough. */
static enum coming comes_to_multiple(const struct bounds *b, const struct place *p, uint32_t thread)
{
	struct sized sized = { b, p };
	enum coming coming = comes(b, p, thread);

	if (coming == COMES || coming == STAYS_AWAY || !b->launch->is_exact)
		return coming == COMES ? COMES : STAYS_AWAY;
	return tcb_ptx_conditions(b->function, b->affine, p->ins, NULL, is_of_a_size, &sized) ? MAY_COME : STAYS_AWAY;
}

static void check_multiple(const struct bounds *b, const struct place *p)
{
	uint64_t align = p->access.align;
	int assumed;

	if (align < 2 || align & (align - 1) || !p->address.term_count || !terms_are_multiples(b, p, align, &assumed))
		return;
	for (uint32_t t = 0; t < b->threads; t++) {
		uint64_t over = tcb_ptx_value_lane(&p->address, t) & (align - 1);
		enum coming coming = over ? comes_to_multiple(b, p, t) : STAYS_AWAY;

		if (coming == STAYS_AWAY)
			continue;
		tcb_ptx_report(b->sink, TCB_PTX_RULE_MISALIGNED,
			       assumed || coming != COMES ? TCB_PTX_WARNING : TCB_PTX_ERROR, b->function, p->ins,
			       "the address of thread %u must be a multiple of %llu and is %llu above one%s%s", t,
			       (unsigned long long)align, (unsigned long long)over,
			       assumed ? ", if the pointer is as an allocation gives it" : "",
			       coming != COMES ? ", if the sizes let it come here" : "");
		return;
	}
}

/* --- all --- */

static void check_operand(struct bounds *b, const struct tcb_ptx_ins *ins, unsigned index)
{
	struct place p = { .ins = ins };
	uint32_t symbol;

	if (!tcb_ptx_access(ins, index, &p.access) || !p.access.bytes || !(p.access.reads || p.access.writes))
		return;
	if (ins->op == TCB_PTX_OP_CP_ASYNC && index == 1)
		return; /* may read nothing of its source */
	p.address = tcb_ptx_affine_address(b->affine, ins, index);
	if (!p.address.known)
		return;
	p.guard = tcb_ptx_affine_guard(b->affine, ins);
	check_multiple(b, &p);
	p.variable = tcb_ptx_affine_variable(b->affine, &p.address, &symbol);
	if (!p.variable || p.address.assumes)
		return;
	p.size = tcb_ptx_symbol_bytes(p.variable);
	if (!p.size) {
		if (p.variable->space != TCB_PTX_SHARED)
			return;
		p.size = b->launch->dynamic_shared;
		if (!p.size) {
			note_dynamic(b, &p);
			return;
		}
	}
	check_bounds(b, &p);
}

static int reads_size_of_block(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++)
				if (ins->operands[i].kind == TCB_PTX_O_SPECIAL &&
				    ins->operands[i].special >= TCB_PTX_SR_NTID_X &&
				    ins->operands[i].special <= TCB_PTX_SR_NTID_Z)
					return 1;
	return 0;
}

static void tell_dynamic(const struct bounds *b)
{
	if (!b->dynamic)
		return;
	if (!b->is_dynamic_sure || !b->launch->is_given)
		tcb_ptx_report(b->sink, TCB_PTX_RULE_OUT_OF_BOUNDS, TCB_PTX_ADVICE, b->function, b->dynamic,
			       "dynamic shared memory is used: say --dynamic-shared BYTES to have its bounds judged");
	else
		tcb_ptx_report(
			b->sink, TCB_PTX_RULE_OUT_OF_BOUNDS, TCB_PTX_WARNING, b->function, b->dynamic,
			"thread %u uses dynamic shared memory, at least %llu bytes, and the launch has none: say "
			"--dynamic-shared BYTES",
			b->dynamic_thread, (unsigned long long)b->dynamic_bytes);
}

enum tcb_status tcb_ptx_bounds(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			       const struct tcb_ptx_bounds_launch *launch, const struct tcb_ptx_sink *sink,
			       struct tcb_error *err)
{
	struct bounds b = { .function = function, .affine = affine, .launch = launch, .sink = sink };
	struct tcb_arena arena = { 0 };
	enum tcb_status status;
	uint8_t *fits;

	b.threads = launch->is_exact ? tcb_ptx_affine_threads(affine) : 1;
	if (!tcb_ptx_affine_threads(affine) || (!launch->is_exact && reads_size_of_block(function)))
		return TCB_OK;
	fits = tcb_arena_array(&arena, function->ins_count + 1u, 1);
	status = tcb_ptx_rounds_init(&b.rounds, function, affine, &arena) && fits
			 ? tcb_ptx_coming_find(function, affine, &b.coming, err)
			 : tcb_fail(err, TCB_E_NOMEM, "out of memory for the bounds of '%s'", function->symbol->name);
	for (uint32_t i = 0; status == TCB_OK && i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			for (unsigned k = 0; k < ins->operand_count; k++)
				check_operand(&b, ins, k);
	if (status == TCB_OK && launch->is_exact)
		tcb_ptx_bounds_tickets(function, affine, &b.coming, sink);
	if (status == TCB_OK)
		tcb_ptx_bounds_overflow(&b.rounds, &b.coming, b.threads, fits, sink);
	if (status == TCB_OK)
		tell_dynamic(&b);
	tcb_arena_fini(&arena);
	return status;
}
