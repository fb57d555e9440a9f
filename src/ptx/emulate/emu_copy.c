/* SPDX-License-Identifier: MIT
 *
 * cp.async: copies from global to shared memory that each thread starts,
 * gathers in groups and waits for.
 *
 * The bytes are read when the copy starts and appear in shared memory when the
 * thread that started it has waited for its group; until then its target is
 * marked, and whoever reads it is reported.
 */
#include "ptx/emulate/emu_program.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_MAX = 16 };

struct copy {
	struct copy *next;
	struct tcb_emu_block *block;
	const struct tcb_emu_ins *in;
	uint32_t offset, group; /* the thread's own numbering */
	uint8_t bytes, lane;
	uint8_t data[COPY_MAX];
};

/* Of one warp: copies in the order in which they were started, and how many groups each lane has closed. */
struct tcb_emu_copies {
	struct copy *first, **end, *free;
	uint32_t closed[TCB_EMU_LANES];
};

static struct tcb_emu_copies *copies_of(struct tcb_emu_warp *warp)
{
	if (!warp->copies) {
		warp->copies = tcb_arena_alloc(&warp->block->arena, sizeof *warp->copies);
		if (!warp->copies)
			tcb_emu_no_memory(warp->run);
		else
			warp->copies->end = &warp->copies->first;
	}
	return warp->copies;
}

static struct copy *copy_new(struct tcb_emu_warp *warp, struct tcb_emu_copies *copies)
{
	struct copy *copy = copies->free;

	if (copy)
		copies->free = copy->next;
	else if (!(copy = tcb_arena_alloc(&warp->block->arena, sizeof *copy)))
		tcb_emu_no_memory(warp->run);
	return copy;
}

/* The copies of LANES in groups before UPTO[lane] arrive. */
static void arrive(struct tcb_emu_warp *warp, uint32_t lanes, const uint32_t *upto)
{
	struct tcb_emu_copies *copies = warp->copies;
	struct copy **at = &copies->first;

	while (*at) {
		struct copy *copy = *at;

		if (!(lanes >> copy->lane & 1) || copy->group >= upto[copy->lane]) {
			at = &copy->next;
			continue;
		}
		*at = copy->next;
		tcb_emu_pending(copy->block, copy->offset, copy->bytes, 0);
		tcb_emu_race_shared(warp, copy->in, copy->lane, copy->block, copy->offset, copy->bytes, TCB_EMU_WRITE,
				    copy->data);
		memcpy(copy->block->shared + copy->offset, copy->data, copy->bytes);
		copy->next = copies->free;
		copies->free = copy;
	}
	copies->end = at;
}

void tcb_emu_copies_end(struct tcb_emu_warp *warp)
{
	uint32_t all[TCB_EMU_LANES];

	memset(all, 0xff, sizeof all);
	if (warp->copies)
		arrive(warp, UINT32_MAX, all);
}

void tcb_emu_copies_arrive(struct tcb_emu_warp *warp, uint32_t lane)
{
	uint32_t all[TCB_EMU_LANES];

	memset(all, 0xff, sizeof all);
	if (warp->copies)
		arrive(warp, 1u << lane, all);
}

/* --- starting --- */

/* Bytes that come from the source; the rest of the target becomes zero. */
static uint32_t source_bytes(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane)
{
	if (in->c == 0)
		return in->b;
	if (in->op[3].bits == 1) /* a predicate: leave the source out */
		return tcb_emu_get(warp, &in->op[3], lane) ? 0 : in->b;
	return (uint32_t)tcb_emu_get(warp, &in->op[3], lane);
}

static void start(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint32_t to, uint64_t from)
{
	struct tcb_emu_copies *copies = copies_of(warp);
	uint32_t bytes = source_bytes(warp, in, lane), offset;
	struct tcb_emu_block *block = tcb_emu_shared_block(warp, to, &offset);
	uint8_t *source = NULL;
	struct copy *copy;

	if (bytes > in->b) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "%u bytes of a copy of %u", bytes,
			      in->b);
		return;
	}
	/* checks the target; INIT since the write itself comes later */
	if (!copies || !tcb_emu_shared(warp, in, (int)lane, to, 0, in->b, TCB_EMU_INIT, NULL))
		return;
	if (offset > block->shared_bytes || in->b > block->shared_bytes - offset) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "%u bytes at shared address 0x%x; shared memory has %u bytes from 0x%x on", in->b, to,
			      block->shared_bytes, TCB_EMU_SHARED_START);
		return;
	}
	if (bytes) {
		source = tcb_emu_global(warp, in, (int)lane, from, bytes, 1, TCB_EMU_READ, NULL);
		if (!source)
			return;
	}
	if (from % in->b) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_MISALIGNED, "the source 0x%llx is not a multiple of %u",
			      (unsigned long long)from, in->b);
		return;
	}
	copy = copy_new(warp, copies);
	if (!copy)
		return;
	*copy = (struct copy){ .block = block,
			       .in = in,
			       .offset = offset,
			       .group = copies->closed[lane],
			       .bytes = (uint8_t)in->b,
			       .lane = (uint8_t)lane };
	if (bytes)
		memcpy(copy->data, source, bytes);
	*copies->end = copy;
	copies->end = &copy->next;
	tcb_emu_pending(block, offset, in->b, 1);
}

static void run_copy(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t to[TCB_EMU_LANES] = { 0 };
	uint64_t from[TCB_EMU_LANES] = { 0 };
	uint32_t reading = 0;

	TCB_EMU_EACH(each, active)
	{
		to[each] = (uint32_t)tcb_emu_address(warp, &in->op[0], each);
		from[each] = tcb_emu_address(warp, &in->op[1], each);
		if (source_bytes(warp, in, each))
			reading |= 1u << each;
	}
	tcb_emu_count_shared(warp, in, to, active, in->b);
	if (reading) {
		tcb_emu_count_global(warp, in, from, reading, in->b, TCB_EMU_READ);
		warp->run->counts[in->count].requests--;
	}
	TCB_EMU_EACH(lane, active)
	{
		start(warp, in, lane, to[lane], from[lane]);
		if (warp->run->fault)
			return;
	}
}

/* --- groups --- */

static void run_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_copies *copies = copies_of(warp);

	(void)in;
	if (copies)
		TCB_EMU_EACH(lane, active)
	copies->closed[lane]++;
}

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_copies *copies = copies_of(warp);
	uint32_t upto[TCB_EMU_LANES] = { 0 };

	if (!copies)
		return;
	TCB_EMU_EACH(lane, active)
	if (in->ins->op == TCB_PTX_OP_CP_ASYNC_WAIT_ALL)
		upto[lane] = UINT32_MAX;
	else
		upto[lane] = copies->closed[lane] > in->a ? copies->closed[lane] - in->a : 0;
	arrive(warp, active, upto);
}

enum tcb_status tcb_emu_bind_copy(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_CP_ASYNC_COMMIT_GROUP, run_commit },
		{ TCB_PTX_OP_CP_ASYNC_WAIT_GROUP, run_wait },
		{ TCB_PTX_OP_CP_ASYNC_WAIT_ALL, run_wait },
	};
	const struct tcb_ptx_ins *ins = in->ins;

	(void)decoder;
	if (tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners)) {
		if (ins->op == TCB_PTX_OP_CP_ASYNC_WAIT_GROUP)
			in->a = (uint32_t)ins->operands[0].bits;
		return TCB_OK;
	}
	in->b = (uint32_t)ins->operands[2].bits;
	in->c = in->op_count > 3 + (ins->mod[TCB_PTX_SLOT_HINT] != 0);
	in->run = run_copy;
	if (in->b != 4 && in->b != 8 && in->b != 16)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "copies are of 4, 8 or 16 bytes");
	if (in->op[0].kind != TCB_EMU_ADDRESS || in->op[1].kind != TCB_EMU_ADDRESS || in->op[0].special ||
	    in->op[1].special)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the addresses are of no kind that is emulated");
	if (in->c && in->op[3].kind != TCB_EMU_REG && in->op[3].kind != TCB_EMU_CONST)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the size of the source is not a number");
	return TCB_OK;
}
