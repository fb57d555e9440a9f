/* SPDX-License-Identifier: MIT
 *
 * Which cluster may touch what while several threads run clusters at once.
 *
 * Each grain of memory that may be written has a word that says who touched it:
 * nobody, readers, one cluster alone, or clusters that only reduce (integer
 * atomics of one kind whose old value nobody uses, so that their order does not
 * show).  Whatever does not fit means that the clusters are not independent; it
 * does not happen, and the launch is done again by one thread.  So no two threads
 * touch the same bytes unless all of them read or reduce, and what comes out is
 * what clusters that run one after another leave.
 */
#include <stdlib.h>

#include "ptx/emulate/emu_crew.h"

enum claim { FREE, READ, READ_BY_MANY, OWNED, REDUCED, REDUCED_BY_MANY };
/* A word: the claim, what reduces it above KIND_SHIFT, and the cluster (from 1) above CLUSTER_SHIFT. */
enum { CLAIM_MASK = 7, KIND_SHIFT = 3, KIND_BITS = 26, CLUSTER_SHIFT = KIND_SHIFT + KIND_BITS };
static const uint64_t kind_mask = ((1ull << KIND_BITS) - 1) << KIND_SHIFT;

const uint32_t tcb_emu_claim_clusters = UINT32_MAX;

int tcb_emu_give_up(struct tcb_emu_warp *warp)
{
	atomic_store_explicit(&warp->run->crew->has_given_up, 1, memory_order_relaxed);
	warp->run->fault = 1;
	warp->stop = 1;
	return 0;
}

int tcb_emu_has_given_up(const struct tcb_emu_run *run)
{
	return run->crew && atomic_load_explicit(&run->crew->has_given_up, memory_order_relaxed);
}

static uint64_t kind_of(const struct tcb_emu_ins *in)
{
	return (uint64_t)(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) << 13 ^ tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE))
	       << KIND_SHIFT;
}

/* What WORD becomes when the cluster ME does this; FREE when it may not. */
static uint64_t next(uint64_t word, uint64_t me, uint64_t kind, unsigned flags)
{
	const int is_mine = word >> CLUSTER_SHIFT == me >> CLUSTER_SHIFT, reads = !(flags & TCB_EMU_WRITE),
		  reduces = (flags & TCB_EMU_COMMUTES) != 0, is_like = reduces && (word & kind_mask) == kind;

	switch ((enum claim)(word & CLAIM_MASK)) {
	case FREE:
		return me | (reads ? READ : reduces ? REDUCED | kind : OWNED);
	case READ:
		return is_mine ? (reads ? word : me | OWNED) : reads ? READ_BY_MANY : FREE;
	case READ_BY_MANY:
		return reads ? word : FREE;
	case OWNED:
		return is_mine ? word : FREE;
	case REDUCED:
		if (is_like)
			return is_mine ? word : REDUCED_BY_MANY | kind;
		return is_mine ? me | OWNED : FREE;
	default:
		return is_like ? word : FREE;
	}
}

int tcb_emu_claim(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_region *region,
		  uint64_t offset, unsigned bytes, unsigned flags)
{
	const uint64_t me = (uint64_t)warp->run->cluster << CLUSTER_SHIFT,
		       kind = flags & TCB_EMU_COMMUTES ? kind_of(in) : 0;
	const unsigned grain = warp->run->program->global_grain;

	if (!region->claims && flags & TCB_EMU_WRITE)
		return tcb_emu_give_up(warp);
	for (uint64_t at = offset / grain; region->claims && at <= (offset + bytes - 1) / grain; at++) {
		uint64_t *place = &region->claims[at], word = __atomic_load_n(place, __ATOMIC_RELAXED), wanted;

		do {
			wanted = next(word, me, kind, flags);
			if ((wanted & CLAIM_MASK) == FREE)
				return tcb_emu_give_up(warp);
		} while (wanted != word &&
			 !__atomic_compare_exchange_n(place, &word, wanted, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
	return 1;
}

int tcb_emu_is_claimed(const struct tcb_emu_run *run, const struct tcb_emu_region *region, uint64_t cell)
{
	/* of many readers or reducers the cluster is 0 */
	return region->claims &&
	       __atomic_load_n(&region->claims[cell], __ATOMIC_RELAXED) >> CLUSTER_SHIFT == run->cluster;
}
