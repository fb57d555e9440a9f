/* SPDX-License-Identifier: MIT
 *
 * In: the addresses that the threads of a block use, as affine.h knows them.
 * Out: wavefronts and sectors of each warp.
 *
 * What is the same in all threads of a warp moves all addresses together.  That
 * rotates the banks and leaves wavefronts alone unless it cuts words; for
 * sectors each place modulo 32 bytes that its alignment allows is tried.
 */
#include "ptx/analyse/predict.h"

#include <string.h>

#include "ptx/ir/opcodes.h"

enum { WORD = 4, SECTOR = 32, WIDEST = 32 };

/* Adds VALUE to the COUNT values of SEEN unless it is there. */
static unsigned add_once(uint64_t *seen, unsigned count, uint64_t value)
{
	for (unsigned i = 0; i < count; i++)
		if (seen[i] == value)
			return count;
	seen[count] = value;
	return count + 1;
}

unsigned tcb_ptx_sectors(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, unsigned *ideal)
{
	uint64_t sectors[TCB_PTX_WARP * 2], starts[TCB_PTX_WARP];
	unsigned count = 0, start_count = 0;
	uint64_t used = 0;

	for (unsigned lane = 0; lane < TCB_PTX_WARP; lane++) {
		if (!(active >> lane & 1))
			continue;
		for (uint64_t s = address[lane] / SECTOR; s <= (address[lane] + bytes - 1) / SECTOR; s++)
			count = add_once(sectors, count, s);
		/* aligned accesses of one size are the same bytes or none in common */
		start_count = add_once(starts, start_count, address[lane]);
	}
	used = (uint64_t)start_count * bytes;
	if (ideal)
		*ideal = (unsigned)((used + SECTOR - 1) / SECTOR);
	return count;
}

/* --- addresses of one warp --- */

struct warp {
	uint64_t address[TCB_PTX_WARP]; /* without what is the same in all lanes and unknown */
	uint32_t active;
};

/* 0 when the lanes that are there are not a known distance from each other. */
static int warp_addresses(const struct tcb_ptx_value *v, uint32_t first, const uint64_t *active, uint32_t threads,
			  struct warp *out)
{
	uint64_t base = UINT64_C(1) << 40; /* keeps lanes that are before lane 0 positive */
	uint32_t lead = TCB_PTX_WARP;

	out->active = 0;
	for (uint32_t lane = 0; lane < TCB_PTX_WARP && first + lane < threads; lane++) {
		uint32_t t = first + lane;
		uint64_t at = tcb_ptx_value_lane(v, t);

		if (!(active[t / 64] >> (t % 64) & 1))
			continue;
		if (lead == TCB_PTX_WARP)
			lead = lane;
		out->active |= UINT32_C(1) << lane;
		if (v->bits < 64) /* distances are signed */
			at = (uint64_t)((int64_t)(at << (64 - v->bits)) >> (64 - v->bits));
		out->address[lane] = base + at;
		for (uint32_t i = 0; i < v->term_count; i++)
			if (v->terms[i].lanes && v->terms[i].lanes[t] != v->terms[i].lanes[first + lead])
				return 0;
	}
	return 1;
}

static int is_matrix(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LDMATRIX || ins->op == TCB_PTX_OP_STMATRIX;
}

/* Lanes whose addresses the instruction uses. */
static uint32_t used_lanes(const struct tcb_ptx_ins *ins)
{
	if (!is_matrix(ins))
		return UINT32_MAX;
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_MATRICES)) {
	case TCB_PTX_X1:
		return 0xff;
	case TCB_PTX_X2:
		return 0xffff;
	default:
		return UINT32_MAX;
	}
}

/* Adds one warp to OUT, for each place that the unknown part may put it at. */
static void add_warp(struct tcb_ptx_prediction *out, const struct warp *warp, uint64_t align, int is_load)
{
	uint64_t step = align < out->bytes ? out->bytes : align;
	uint64_t period = out->space == TCB_PTX_SHARED ? WORD : SECTOR, offset = 0;
	unsigned least = UINT32_MAX, most = 0, ideal = 0;

	/* the access is aligned to its size, whatever the unknown part is; a fault costs more than sectors */
	if (align < out->bytes)
		offset = (uint64_t)(0 - warp->address[__builtin_ctz(warp->active)]) & (out->bytes - 1) & ~(align - 1);
	do {
		uint64_t at[TCB_PTX_WARP];
		unsigned count;

		for (unsigned lane = 0; lane < TCB_PTX_WARP; lane++)
			at[lane] = warp->active >> lane & 1 ? warp->address[lane] + offset : 0;
		count = out->space == TCB_PTX_SHARED ? tcb_ptx_wavefronts(at, warp->active, out->bytes, is_load, &ideal)
						     : tcb_ptx_sectors(at, warp->active, out->bytes, &ideal);
		least = count < least ? count : least;
		most = count > most ? count : most;
		offset += step;
	} while (offset < period);
	out->warps++;
	out->least += least;
	out->most += most;
	out->ideal += ideal;
	if (least - ideal > out->worst - out->worst_ideal || out->warps == 1) {
		out->worst = least;
		out->worst_ideal = ideal;
	}
}

/* --- one instruction --- */

static enum tcb_ptx_word space_of(const struct tcb_ptx_affine *affine, enum tcb_ptx_word named,
				  const struct tcb_ptx_value *address)
{
	if (named == TCB_PTX_NO_WORD)
		named = tcb_ptx_affine_space(affine, address);
	if (named == TCB_PTX_SHARED_CTA)
		named = TCB_PTX_SHARED;
	return named == TCB_PTX_SHARED || named == TCB_PTX_GLOBAL ? named : TCB_PTX_NO_WORD;
}

int tcb_ptx_predict(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, unsigned index,
		    struct tcb_ptx_prediction *out)
{
	struct tcb_ptx_value address, guard;
	struct tcb_ptx_access access;
	uint64_t align, any = 0;
	uint32_t threads = tcb_ptx_affine_threads(affine);
	const uint64_t *there = tcb_ptx_affine_active(affine, ins->block);
	uint64_t active[TCB_PTX_BLOCK_THREADS_MAX / 64] = { 0 };

	memset(out, 0, sizeof *out);
	if ((!tcb_ptx_is_access(ins) && ins->op != TCB_PTX_OP_CP_ASYNC) || !tcb_ptx_access(ins, index, &access))
		return 0;
	address = tcb_ptx_affine_address(affine, ins, index);
	out->space = space_of(affine, is_matrix(ins) && !access.space ? TCB_PTX_SHARED : access.space, &address);
	if (out->space == TCB_PTX_NO_WORD)
		return access.space == TCB_PTX_NO_WORD;
	out->bytes = access.bytes;
	out->assumes = address.assumes;
	guard = tcb_ptx_affine_guard(affine, ins);
	if (!threads || ins->block->order == UINT32_MAX)
		return 1;
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t here = there[t / 64] >> (t % 64) & 1;

		if (guard.known && !guard.term_count)
			here &= tcb_ptx_value_lane(&guard, t) != 0;
		active[t / 64] |= here << (t % 64);
		any |= here;
	}
	if (!any) { /* it never runs */
		out->certainty = TCB_PTX_PREDICTED;
		return 1;
	}
	if (!address.known || !access.bytes || access.bytes > WIDEST || (access.bytes & (access.bytes - 1)))
		return 1;
	align = tcb_ptx_affine_term_align(affine, &address);
	for (uint32_t first = 0; first < threads; first += TCB_PTX_WARP) {
		struct warp warp;

		if (!warp_addresses(&address, first, active, threads, &warp))
			return 1;
		warp.active &= used_lanes(ins);
		if (warp.active)
			add_warp(out, &warp, align, ins->op == TCB_PTX_OP_LD);
	}
	out->certainty = TCB_PTX_PREDICTED;
	if (tcb_ptx_affine_presence(affine, ins->block) == TCB_PTX_AT_MOST ||
	    !(guard.known && (!guard.term_count || tcb_ptx_value_is_uniform(&guard))))
		out->certainty = TCB_PTX_IF_ALL_THERE;
	return 1;
}

/* --- findings --- */

static void report(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins,
		   const struct tcb_ptx_prediction *p, const struct tcb_ptx_sink *sink)
{
	const char *when = p->certainty == TCB_PTX_IF_ALL_THERE ? " when all threads are there" : "";

	if (p->space == TCB_PTX_SHARED)
		tcb_ptx_report(sink, TCB_PTX_RULE_BANK_CONFLICT, TCB_PTX_ADVICE, function, ins,
			       "%llu wavefronts for %u warp%s, %llu would do%s; the worst warp takes %u, not %u: pad "
			       "the rows or swizzle the columns",
			       (unsigned long long)p->least, p->warps, p->warps == 1 ? "" : "s",
			       (unsigned long long)p->ideal, when, p->worst, p->worst_ideal);
	else
		tcb_ptx_report(sink, TCB_PTX_RULE_UNCOALESCED, TCB_PTX_ADVICE, function, ins,
			       "%llu sectors of 32 bytes for %u warp%s, %llu hold as many bytes%s; the worst warp "
			       "touches %u, not %u: let neighbouring threads take neighbouring addresses",
			       (unsigned long long)p->least, p->warps, p->warps == 1 ? "" : "s",
			       (unsigned long long)p->ideal, when, p->worst, p->worst_ideal);
}

enum tcb_status tcb_ptx_predict_all(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				    const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	(void)err;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++) {
				struct tcb_ptx_prediction p;

				/* an ideal of sectors presumes alignment: one more in a warp is no fault */
				if (tcb_ptx_predict(affine, ins, i, &p) && p.certainty != TCB_PTX_UNPREDICTED &&
				    p.least > p.ideal)
					report(function, ins, &p, sink);
			}
	return TCB_OK;
}
