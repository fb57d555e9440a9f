/* SPDX-License-Identifier: MIT
 *
 * In: the segments of a kernel.  Out: which instructions tell threads of the
 * accesses of others, and which threads may tell of what they did in a segment
 * before all threads of the block meet again.
 *
 * By the memory model of the PTX ISA (8.8 to 8.10) a release makes the accesses of the
 * thread that does it known, and those that it was told of: its neighbours in the
 * warp are not among them unless bar.warp.sync, or another barrier, came between.
 * Who never releases an access has it ordered before nobody's, however long others
 * wait for something else.  A fence releases only with a strong write behind it.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

#include <string.h>

static unsigned of_word(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word order = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER);
	int is_atomic = ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED;
	unsigned sync = 0;

	if (!is_atomic && (order == TCB_PTX_NO_WORD || order == TCB_PTX_WEAK))
		return 0;
	if (ins->op != TCB_PTX_OP_ST && ins->op != TCB_PTX_OP_RED)
		sync |= TCB_PTX_SYNC_STRONG_READ;
	if (ins->op != TCB_PTX_OP_LD)
		sync |= TCB_PTX_SYNC_STRONG_WRITE;
	if (order == TCB_PTX_ACQUIRE || order == TCB_PTX_ACQ_REL)
		sync |= TCB_PTX_SYNC_ACQUIRE | TCB_PTX_SYNC_WORD;
	if (order == TCB_PTX_RELEASE || order == TCB_PTX_ACQ_REL)
		sync |= TCB_PTX_SYNC_RELEASE | TCB_PTX_SYNC_WORD;
	return sync;
}

unsigned tcb_ptx_sync_of(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_ST:
	case TCB_PTX_OP_ATOM:
	case TCB_PTX_OP_RED:
		return of_word(ins);
	case TCB_PTX_OP_FENCE:
	case TCB_PTX_OP_MEMBAR:
		return TCB_PTX_SYNC_FENCE;
	case TCB_PTX_OP_BAR_WARP_SYNC:
		return TCB_PTX_SYNC_LANES;
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
		return TCB_PTX_SYNC_ACQUIRE;
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP:
	case TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX:
	case TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
	case TCB_PTX_OP_ST_ASYNC:
	case TCB_PTX_OP_RED_ASYNC:
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_ASYNC_BULK_TENSOR:
		return TCB_PTX_SYNC_RELEASE;
	case TCB_PTX_OP_OPAQUE:
		return ins->opaque->orders ? TCB_PTX_SYNC_ACQUIRE | TCB_PTX_SYNC_RELEASE : 0;
	case TCB_PTX_OP_CALL:
		return TCB_PTX_SYNC_ACQUIRE | TCB_PTX_SYNC_RELEASE;
	default:
		return tcb_ptx_has(ins, TCB_PTX_F_BARRIER) ? TCB_PTX_SYNC_ACQUIRE | TCB_PTX_SYNC_RELEASE : 0;
	}
}

/* --- who releases --- */

/* By segment: threads that release by a barrier, by a word, and that write a strong word, at its end or behind it. */
struct releasing {
	struct tcb_ptx_hazards *h;
	uint64_t *later[3];
};

enum { STRONG = 2 };

static uint64_t *set_of(const struct releasing *r, unsigned which, uint32_t segment)
{
	return r->later[which] + (size_t)segment * r->h->words;
}

/* Adds the threads that go on from the end of SEGMENT and release later. */
static void gather(const struct releasing *r, const struct tcb_ptx_segment *segment, unsigned which, uint64_t *out)
{
	const struct tcb_ptx_block *block = segment->block;
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const struct tcb_ptx_block *target = end && end->op == TCB_PTX_OP_BRA ? end->operands[0].block : NULL;
	const uint64_t *taken = tcb_ptx_affine_taken(r->h->affine, block);

	for (uint32_t s = 0; s < block->succ_count; s++) {
		const uint64_t *from = set_of(r, which, r->h->first_segment[block->succ[s]->number]);
		int is_target = block->succ[s] == target, is_next = block->succ[s] == block->next;

		for (uint32_t i = 0; i < r->h->words; i++)
			out[i] |= from[i] & (!taken || (is_target && is_next) ? ~(uint64_t)0
					     : is_target                      ? taken[i]
									      : ~taken[i]);
	}
}

/* What the end of segment S makes of the three sets of those behind it. */
static void add_end(const struct tcb_ptx_segment *segment, uint64_t *const sets[3], uint32_t words)
{
	const unsigned sync = segment->sync;

	for (uint32_t i = 0; i < words; i++) {
		uint64_t who = segment->who[i];

		if (sync & TCB_PTX_SYNC_LANES) {
			sets[TCB_PTX_BY_BARRIER][i] |= tcb_ptx_whole_warps(sets[TCB_PTX_BY_BARRIER][i]) & who;
			sets[TCB_PTX_BY_WORD][i] |= tcb_ptx_whole_warps(sets[TCB_PTX_BY_WORD][i]) & who;
		}
		if (sync & TCB_PTX_SYNC_FENCE)
			sets[TCB_PTX_BY_WORD][i] |= who & sets[STRONG][i];
		if (sync & TCB_PTX_SYNC_STRONG_WRITE)
			sets[STRONG][i] |= who;
		if (sync & TCB_PTX_SYNC_RELEASE)
			sets[sync & TCB_PTX_SYNC_WORD ? TCB_PTX_BY_WORD : TCB_PTX_BY_BARRIER][i] |= who;
	}
}

static int update(const struct releasing *r, uint32_t s)
{
	const struct tcb_ptx_segment *segment = &r->h->segments[s];
	uint64_t now[3][TCB_PTX_BLOCK_THREADS_MAX / 64] = { { 0 } };
	uint64_t *const sets[3] = { now[0], now[1], now[2] };
	int changed = 0;

	for (unsigned which = 0; which < 3 && segment->cut != TCB_PTX_CUT_FULL; which++) {
		if (segment->end)
			memcpy(now[which], set_of(r, which, s + 1), r->h->words * sizeof(uint64_t));
		else
			gather(r, segment, which, now[which]);
	}
	if (segment->end && segment->cut != TCB_PTX_CUT_FULL)
		add_end(segment, sets, r->h->words);
	for (unsigned which = 0; which < 3; which++)
		for (uint32_t i = 0; i < r->h->words; i++) {
			uint64_t *at = set_of(r, which, s) + i;

			changed |= (now[which][i] & ~*at) != 0;
			*at |= now[which][i];
		}
	return changed;
}

enum tcb_status tcb_ptx_hazard_released(struct tcb_ptx_hazards *h, struct tcb_error *err)
{
	struct releasing r = { .h = h };
	size_t words = (size_t)h->segment_count * h->words;
	int changed = 1;

	for (unsigned which = 0; which < 3; which++) {
		r.later[which] = tcb_arena_array(&h->arena, words, sizeof(uint64_t));
		if (!r.later[which])
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the accesses of '%s'",
					h->function->symbol->name);
	}
	while (changed) {
		changed = 0;
		for (uint32_t s = h->segment_count; s--;)
			changed |= update(&r, s);
	}
	h->released[TCB_PTX_BY_BARRIER] = r.later[TCB_PTX_BY_BARRIER];
	h->released[TCB_PTX_BY_WORD] = r.later[TCB_PTX_BY_WORD];
	return TCB_OK;
}
