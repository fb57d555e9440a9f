/* SPDX-License-Identifier: MIT
 *
 * Of async.h: setmaxnreg.  PTX ISA 9.0, section 9.7.19.5: a warp group runs it
 * as one, and .inc waits until the block's registers suffice.  What a block was
 * launched with is all that there is.
 */
#include <string.h>

#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

enum { GROUP = 128, GROUPS_MAX = TCB_PTX_BLOCK_THREADS_MAX / GROUP, FILE_REGISTERS = 65536, THREAD_MAX = 255 };

struct demand {
	unsigned want[GROUPS_MAX]; /* registers per thread; 0: it keeps what it has */
	int takes[GROUPS_MAX];
	int is_told[GROUPS_MAX]; /* that it is parted */
	const struct tcb_ptx_ins *first_take;
	int is_open; /* who runs one of them is unknown, or whether anybody does */
};

static int is_take(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_INC;
}

/* Adds to SET the threads that run some setmaxnreg like INS; 0 when one is unknown. */
static int like(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, uint64_t *set)
{
	uint64_t more[TCB_PTX_ASYNC_SET_WORDS];

	memset(set, 0, sizeof more);
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *other = a->function->order[i]->first; other; other = other->next) {
			if (other->op != TCB_PTX_OP_SETMAXNREG || is_take(other) != is_take(ins) ||
			    other->operands[0].bits != ins->operands[0].bits)
				continue;
			if (!tcb_ptx_async_present(a, other, more))
				return 0;
			for (int w = 0; w < TCB_PTX_ASYNC_SET_WORDS; w++)
				set[w] |= more[w];
		}
	return 1;
}

static void check_one(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, struct demand *demand)
{
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	uint64_t set[TCB_PTX_ASYNC_SET_WORDS], all[TCB_PTX_ASYNC_SET_WORDS];
	unsigned count = (unsigned)ins->operands[0].bits;

	if (count % 8 || count < 24 || count > 256)
		tcb_ptx_report(a->sink, TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, a->function, ins,
			       "%u registers: it takes multiples of 8 from 24 to 256", count);
	if (!tcb_ptx_async_present(a, ins, set) || !like(a, ins, all)) {
		demand->is_open = 1;
		return;
	}
	demand->is_open |= tcb_ptx_affine_is_optional(a->affine, ins->block);
	for (uint32_t first = 0; first < threads; first += GROUP) {
		uint32_t in = GROUP, out = GROUP, g = first / GROUP;

		for (uint32_t t = first; t < threads && t < first + GROUP; t++) {
			if (in == GROUP && tcb_ptx_async_is_in(set, t))
				in = t;
			if (out == GROUP && !tcb_ptx_async_is_in(all, t))
				out = t;
		}
		if (in == GROUP)
			continue;
		if (is_take(ins) && (!demand->takes[g] || count > demand->want[g]))
			demand->want[g] = count;
		else if (!demand->takes[g] && (!demand->want[g] || count < demand->want[g]))
			demand->want[g] = count;
		demand->takes[g] |= is_take(ins);
		if (out != GROUP && !demand->is_told[g]) {
			demand->is_told[g] = 1;
			tcb_ptx_report(
				a->block_sink, TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, a->function, ins,
				"thread %u runs this, and thread %u of the same warp group does not: all four warps "
				"must, with one number",
				in, out);
			return;
		}
	}
	if (is_take(ins) && !demand->first_take)
		demand->first_take = ins;
}

static void check_sum(struct tcb_ptx_async *a, const struct demand *demand)
{
	const struct tcb_ptx_directives *d = &a->function->directives;
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	unsigned most, wanted = 0, had = 0;

	if (demand->is_open || !demand->first_take || threads == 0)
		return;
	most = FILE_REGISTERS / (threads * (d->minnctapersm ? d->minnctapersm : 1)) / 8 * 8;
	if (most > THREAD_MAX)
		most = THREAD_MAX;
	if (d->maxnreg && d->maxnreg < most)
		most = d->maxnreg;
	for (unsigned g = 0; g < GROUPS_MAX; g++)
		if (demand->want[g]) {
			wanted += demand->want[g] * GROUP;
			had += most * GROUP;
		}
	if (wanted > had)
		tcb_ptx_report(a->block_sink, TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, a->function, demand->first_take,
			       "the warp groups with setmaxnreg want %u registers together, and have %u at most (%u "
			       "threads with up to %u each): this waits for ever; give more, or take fewer",
			       wanted, had, threads, most);
}

void tcb_ptx_async_registers(struct tcb_ptx_async *a)
{
	const struct tcb_ptx_directives *d = &a->function->directives;
	const struct tcb_ptx_ins *first = NULL;
	struct demand demand = { 0 };

	if (!a->has[TCB_PTX_OP_SETMAXNREG])
		return;
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_SETMAXNREG) {
				first = first ? first : ins;
				check_one(a, ins, &demand);
			}
	check_sum(a, &demand);
	if (!d->reqntid[0] && !d->maxntid[0] && !d->maxnreg)
		tcb_ptx_report(
			a->sink, TCB_PTX_RULE_SETMAXNREG, TCB_PTX_WARNING, a->function, first,
			"without .maxntid, .reqntid or .maxnreg the assembler does not know the registers at the "
			"start and leaves this out");
}
