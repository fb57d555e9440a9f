/* SPDX-License-Identifier: MIT
 *
 * cp.async.bulk, cp.reduce.async.bulk and the groups of bulk copies.  The rules
 * are from the PTX ISA manual 9.0, section 9.7.9.25: addresses and sizes are
 * multiples of 16, the barrier lies in the block that is written, groups belong
 * to threads.
 */
#include <string.h>

#include "ptx/emulate/emu_bulk.h"
#include "ptx/emulate/emu_program.h"

/* Of one warp. */
struct groups {
	uint64_t open[TCB_EMU_LANES]; /* number of the group that the next copy joins */
	struct tcb_emu_bulk *copies;  /* not waited for */
	struct tcb_emu_clock scratch;
};

static struct groups *groups_of(struct tcb_emu_warp *warp)
{
	struct groups *g = warp->unit[TCB_EMU_UNIT_BULK];

	if (g)
		return g;
	g = tcb_arena_alloc(&warp->block->arena, sizeof *g);
	if (!g || !tcb_emu_clock_init(warp->run, &warp->block->arena, &g->scratch)) {
		tcb_emu_no_memory(warp->run);
		return NULL;
	}
	warp->unit[TCB_EMU_UNIT_BULK] = g;
	return g;
}

static void finish(struct tcb_emu_bulk *copy)
{
	if (copy->is_done)
		return;
	copy->is_done = 1;
	if (copy->warp->run->fault)
		return;
	copy->move(copy);
	if (copy->barrier_block) {
		tcb_emu_pending(copy->block, copy->offset, copy->span, 0);
		tcb_emu_mbarrier_complete(copy->warp, copy->in, copy->barrier_block, copy->barrier_offset, copy->bytes);
	}
	tcb_emu_progress(copy->warp->run);
}

static void run_deferred(struct tcb_emu_deferred *self)
{
	finish((struct tcb_emu_bulk *)self);
}

static struct tcb_emu_bulk *launch(const struct tcb_emu_bulk *source)
{
	struct tcb_emu_bulk *copy = tcb_arena_alloc(&source->warp->block->arena, sizeof *copy);

	if (!copy) {
		tcb_emu_no_memory(source->warp->run);
		return NULL;
	}
	*copy = *source;
	copy->deferred = (struct tcb_emu_deferred){ .run = run_deferred };
	return copy;
}

static int into_block(const struct tcb_emu_bulk *source, uint32_t address, uint32_t barrier)
{
	struct tcb_emu_warp *warp = source->warp;
	uint32_t barrier_offset;
	struct tcb_emu_bulk *copy = launch(source);
	unsigned align = source->bytes < 16 ? source->bytes : 16;

	if (!copy || !tcb_emu_shared(warp, source->in, (int)source->lane, address, source->span, align,
				     TCB_EMU_WRITE | TCB_EMU_ASYNC_AGENT, NULL))
		return 0;
	copy->block = tcb_emu_shared_block(warp, address, &copy->offset);
	/* the barrier is looked at when bytes arrive; here only whether its initialisation is behind us */
	if (!tcb_emu_shared(warp, source->in, (int)source->lane, barrier, 8, 8,
			    TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC | TCB_EMU_COMPLETES, NULL))
		return 0;
	copy->barrier_block = tcb_emu_shared_block(warp, barrier, &barrier_offset);
	copy->barrier_offset = barrier_offset;
	if (copy->barrier_block != copy->block) {
		tcb_emu_fault(warp, source->in, (int)source->lane, TCB_PTX_RULE_BULK_COPY,
			      "the copy writes block %u of the cluster and completes on a barrier of block %u: both "
			      "must be of the same block",
			      copy->block->rank, copy->barrier_block->rank);
		return 0;
	}
	tcb_emu_pending(copy->block, copy->offset, copy->span, 1);
	tcb_emu_defer(warp->run, &copy->deferred);
	return 1;
}

int tcb_emu_bulk_into_shared(const struct tcb_emu_bulk *source, uint32_t address, uint32_t barrier, uint32_t blocks)
{
	uint32_t in_block = (1u << TCB_EMU_RANK_SHIFT) - 1;

	if (tcb_ptx_mod(source->in->ins, TCB_PTX_SLOT_MULTICAST) == TCB_PTX_NO_WORD)
		return into_block(source, address, barrier);
	for (; blocks; blocks &= blocks - 1) {
		uint32_t rank = (uint32_t)__builtin_ctz(blocks) + 1;

		if (!into_block(source, (address & in_block) | rank << TCB_EMU_RANK_SHIFT,
				(barrier & in_block) | rank << TCB_EMU_RANK_SHIFT))
			return 0;
	}
	return 1;
}

int tcb_emu_bulk_out_of_shared(const struct tcb_emu_bulk *source)
{
	struct groups *g = groups_of(source->warp);
	struct tcb_emu_bulk *copy = g ? launch(source) : NULL;

	if (!copy)
		return 0;
	copy->group = g->open[copy->lane];
	copy->next = g->copies;
	g->copies = copy;
	tcb_emu_defer(source->warp->run, &copy->deferred);
	return 1;
}

/* --- plain copies --- */

static void move_plain(struct tcb_emu_bulk *copy)
{
	uint8_t *shared = copy->block->shared + copy->offset;
	uint8_t *to = copy->barrier_block ? shared : copy->other, *from = copy->barrier_block ? copy->other : shared;
	enum tcb_ptx_word op = tcb_ptx_mod(copy->in->ins, TCB_PTX_SLOT_ATOMIC);

	if (op)
		tcb_emu_bulk_reduce(to, from, copy->bytes, tcb_ptx_mod(copy->in->ins, TCB_PTX_SLOT_TYPE), op);
	else
		memcpy(to, from, copy->bytes);
}

/* Which pieces of the operands there are. */
static void run_bulk(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	enum tcb_ptx_word to = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE),
			  from = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE2);
	unsigned reduces = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) ? TCB_EMU_ATOMIC : 0;

	TCB_EMU_EACH(lane, active)
	{
		struct tcb_emu_bulk copy = { .warp = warp, .in = in, .move = move_plain, .lane = lane };
		uint64_t source = tcb_emu_address(warp, &in->op[1], lane);
		uint32_t blocks = in->a ? (uint32_t)tcb_emu_get(warp, &in->op[in->a], lane) & 0xffff : 0;

		copy.bytes = copy.span = (uint32_t)tcb_emu_get(warp, &in->op[2], lane);
		if (copy.bytes % 16) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_BULK_COPY,
				      "a bulk copy of %u bytes: the size must be a multiple of 16", copy.bytes);
			return;
		}
		if (from == TCB_PTX_GLOBAL)
			copy.other = tcb_emu_global(warp, in, (int)lane, source, copy.bytes, 16,
						    TCB_EMU_READ | TCB_EMU_ASYNC_AGENT, NULL);
		else
			copy.other = tcb_emu_shared(warp, in, (int)lane, (uint32_t)source, copy.bytes, 16,
						    TCB_EMU_READ | TCB_EMU_ASYNC_AGENT, NULL);
		if (!copy.other)
			return;
		if (to != TCB_PTX_GLOBAL) {
			uint32_t address = (uint32_t)tcb_emu_address(warp, &in->op[0], lane);
			uint32_t barrier = (uint32_t)tcb_emu_address(warp, &in->op[3], lane);

			if (!tcb_emu_bulk_into_shared(&copy, address, barrier, blocks))
				return;
			continue;
		}
		copy.block = tcb_emu_shared_block(warp, (uint32_t)source, &copy.offset);
		copy.other = tcb_emu_global(warp, in, (int)lane, tcb_emu_address(warp, &in->op[0], lane), copy.bytes,
					    16, TCB_EMU_WRITE | TCB_EMU_ASYNC_AGENT | reduces, NULL);
		if (!copy.other || !tcb_emu_bulk_out_of_shared(&copy))
			return;
	}
}

/* --- groups --- */

static void run_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct groups *g = groups_of(warp);

	(void)in;
	if (!g)
		return;
	TCB_EMU_EACH(lane, active)
	g->open[lane]++;
}

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct groups *g = groups_of(warp);
	uint64_t allowed = in->ins->operands[0].bits;
	int waited = 0;

	if (!g)
		return;
	for (struct tcb_emu_bulk **link = &g->copies, *copy; (copy = *link);) {
		if ((active >> copy->lane & 1) && copy->group + allowed < g->open[copy->lane]) {
			finish(copy);
			*link = copy->next;
			waited = 1;
		} else {
			link = &copy->next;
		}
	}
	if (!waited)
		return;
	tcb_emu_release_async(warp->run, &g->scratch);
	if (!in->a) /* what was written is there, too */
		g->scratch.whole[warp->run->agents - 3] = warp->run->tick;
	tcb_emu_acquire(warp, active, &g->scratch);
}

void tcb_emu_bulk_end(struct tcb_emu_warp *warp)
{
	const struct groups *g = warp->unit[TCB_EMU_UNIT_BULK];

	for (const struct tcb_emu_bulk *copy = g ? g->copies : NULL; copy; copy = copy->next)
		tcb_emu_report(
			warp, copy->in, (int)copy->lane, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			copy->group == g->open[copy->lane]
				? "the copy reads shared memory, is in no committed group, and the thread ends: "
				  "cp.async.bulk.commit_group, then cp.async.bulk.wait_group.read, before the end"
				: "the copy may still read shared memory when the thread ends: "
				  "cp.async.bulk.wait_group.read before the end");
}

enum tcb_status tcb_emu_bind_bulk(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	const enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;
	const int is_wait = op == TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP;

	(void)err;
	decoder->program->reads_async = 1;
	in->run = is_wait ? run_wait : op == TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP ? run_commit : run_bulk;
	if (is_wait)
		in->a = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_READ;
	else
		in->a = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MULTICAST) ? 4 : 0;
	return TCB_OK;
}
