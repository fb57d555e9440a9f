/* SPDX-License-Identifier: MIT
 *
 * setmaxnreg: the registers that groups of four warps hand to each other.  What
 * a warp begins with is what ptxas gives a kernel with setmaxnreg: as many as
 * the launch bounds let it have, and no more than the most that a warp takes.
 */
#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"

enum { POOL = 65536, PER_THREAD_MAX = 255, GROUP = 4 /* warps that change their registers together */ };

/* Of each thread at the beginning; 0: the text does not decide it. */
static uint32_t registers_at_first(const struct tcb_ptx_program *program)
{
	const struct tcb_ptx_directives *d = &program->functions[0]->function->directives;
	const uint32_t *most = d->reqntid[0] ? d->reqntid : d->maxntid;
	uint64_t threads = 1;
	uint32_t count;

	if (d->maxnreg)
		return d->maxnreg;
	if (!most[0])
		return 0;
	for (unsigned i = 0; i < 3; i++)
		threads *= most[i] ? most[i] : 1;
	count = (uint32_t)(POOL / (threads * (d->minnctapersm ? d->minnctapersm : 1))) / 8 * 8;
	count = count > PER_THREAD_MAX ? PER_THREAD_MAX : count;
	return program->registers_taken && program->registers_taken < count ? program->registers_taken : count;
}

static void run_setmaxnreg(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_registers *r = &warp->registers;
	uint32_t count = (uint32_t)in->ins->operands[0].bits;
	int takes = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_INC;

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	if (count < 24 || count > 256 || count % 8) {
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_IMMEDIATE_RANGE, TCB_PTX_ERROR,
			       "setmaxnreg %u: a multiple of 8 from 24 to 256 is needed", count);
		return;
	}
	if (!r->last)
		r->now = r->least = registers_at_first(warp->run->program);
	if (r->now && (takes ? count < r->now : count > r->now))
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_IMMEDIATE_RANGE, TCB_PTX_ERROR,
			       "setmaxnreg.%s to %u, and the warp has %u", takes ? "inc" : "dec", count, r->now);
	r->now = count;
	r->least = count < r->least ? count : r->least;
	if (takes && count > r->most) {
		r->most = count;
		r->taking = in;
	}
	r->last = in;
	r->sequence = r->sequence * 1000003 + 2 * count + (uint32_t)takes;
}

/* Of warps FIRST to its group's end: what they have at the least, at some time. */
static uint32_t least_of_group(const struct tcb_emu_block *block, uint32_t first, uint32_t at_first)
{
	uint32_t sum = 0;

	for (uint32_t i = first; i < first + GROUP && i < block->warp_count; i++)
		sum += TCB_EMU_LANES * (block->warps[i].registers.last ? block->warps[i].registers.least : at_first);
	return sum;
}

void tcb_emu_registers_end(struct tcb_emu_block *block)
{
	uint32_t at_first = registers_at_first(block->run->program),
		 pool = at_first * TCB_EMU_LANES * block->warp_count;
	uint32_t least = 0, at_last = 0;

	if (!block->run->program->has_setmaxnreg)
		return;
	for (uint32_t i = 0; i < block->warp_count; i += GROUP)
		least += least_of_group(block, i, at_first);
	for (uint32_t i = 0; i < block->warp_count; i++)
		at_last += TCB_EMU_LANES * (block->warps[i].registers.last ? block->warps[i].registers.now : at_first);
	for (uint32_t i = 0; i < block->warp_count; i++) {
		struct tcb_emu_warp *warp = &block->warps[i];
		const struct tcb_emu_registers *r = &warp->registers, *of_first = &block->warps[i & ~3u].registers;
		uint32_t others = least - least_of_group(block, i & ~3u, at_first);

		if (r->sequence != of_first->sequence)
			tcb_emu_report(r->last ? warp : &block->warps[i & ~3u], r->last ? r->last : of_first->last, -1,
				       TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
				       "warps %u and %u do not change their registers together: the four warps of a "
				       "group execute the same setmaxnreg",
				       i & ~3u, i);
		else if (at_first && r->taking && others + r->most * TCB_EMU_LANES * GROUP > pool)
			tcb_emu_report(warp, r->taking, -1, TCB_PTX_RULE_DEADLOCK, TCB_PTX_ERROR,
				       "waits for ever: the block has %u registers (%u for each thread), and %u stay "
				       "with the other warps when they have given most",
				       pool, at_first, others);
		else if (at_first && r->taking && at_last > pool)
			tcb_emu_report(warp, r->taking, -1, TCB_PTX_RULE_DEADLOCK, TCB_PTX_WARNING,
				       "the warps have %u registers at the end, and the block %u (%u for each thread): "
				       "who takes last waits until others end",
				       at_last, pool, at_first);
	}
}

enum tcb_status tcb_emu_bind_setmaxnreg(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	struct tcb_ptx_program *program = decoder->program;
	uint64_t count = in->ins->operands[0].bits;

	(void)err;
	program->has_setmaxnreg = 1;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_INC && count > program->registers_taken)
		program->registers_taken = (uint32_t)count;
	in->run = run_setmaxnreg;
	return TCB_OK;
}
