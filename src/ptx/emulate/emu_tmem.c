/* SPDX-License-Identifier: MIT
 *
 * Tensor Memory, as far as it is memory (PTX ISA 9.0, 9.7.16): allocation,
 * tcgen05.ld and st, their waits, and commit.  A block has 128 lanes of 512
 * columns of 32 bits; an address is the lane in the upper half and the column in
 * the lower.  A warp reaches the 32 lanes of its place among four.
 *
 * Loads are done at once, and their registers count as unwritten until
 * tcgen05.wait::ld.  Products (tcgen05.mma) and copies are not emulated, so what
 * commit tracks has always happened.
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"

enum {
	LANES = 128,
	COLUMNS = 512,
	UNIT = 32, /* columns that are allocated at once */
	UNITS = COLUMNS / UNIT,
	LANE_SHIFT = 16
};

/* Of a block. */
struct memory {
	uint32_t cells[LANES][COLUMNS];
	uint8_t written[LANES][COLUMNS / 8];
	uint16_t taken;                   /* units */
	uint8_t first_of[UNITS];          /* units of the allocation that begins here; 0: none does */
	int is_relinquished;              /* nobody may allocate any more */
	const struct tcb_emu_ins *latest; /* allocation, for messages */
	struct tcb_emu_warp *latest_warp;
};

/* Loads of a warp that nobody waited for. */
struct pending {
	struct pending *next;
	const struct tcb_emu_ins *in;
	struct tcb_emu_frame *frame;
};

static struct memory *memory_of(struct tcb_emu_warp *warp)
{
	struct tcb_emu_block *block = warp->block;

	if (!block->unit[TCB_EMU_UNIT_TMEM])
		block->unit[TCB_EMU_UNIT_TMEM] = tcb_arena_alloc(&block->arena, sizeof(struct memory));
	if (!block->unit[TCB_EMU_UNIT_TMEM])
		tcb_emu_no_memory(warp->run);
	return block->unit[TCB_EMU_UNIT_TMEM];
}

/* --- allocation --- */

/* Columns that the warp asks for, in units; 0 after a fault. */
static uint32_t units_of(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op)
{
	const uint32_t columns = (uint32_t)tcb_emu_get(warp, op, 0);

	if (columns >= UNIT && columns <= COLUMNS && !(columns & (columns - 1)))
		return columns / UNIT;
	tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_OUT_OF_BOUNDS,
		      "%u columns of Tensor Memory: a power of two from 32 to 512 is needed", columns);
	return 0;
}

static void run_alloc(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct memory *m = memory_of(warp);
	uint32_t units, at = 0, address;
	uint8_t *to;

	if (!m || !tcb_emu_whole_warp(warp, in, active))
		return;
	units = units_of(warp, in, &in->op[1]);
	if (!units)
		return;
	if (m->is_relinquished)
		tcb_emu_report(warp, in, 0, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR,
			       "allocates Tensor Memory behind tcgen05.relinquish_alloc_permit");
	while (at + units <= UNITS && (m->taken >> at & ((1u << units) - 1)))
		at += units;
	if (at + units > UNITS) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_DEADLOCK,
			      "%u columns of Tensor Memory are not free, and this block has the others: it waits for "
			      "itself",
			      units * UNIT);
		return;
	}
	address = tcb_emu_shared_address(warp, in, &in->op[0], tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE), 0);
	to = warp->run->fault ? NULL : tcb_emu_shared(warp, in, 0, address, 4, 4, TCB_EMU_WRITE, NULL);
	if (!to)
		return;
	m->taken |= (uint16_t)(((1u << units) - 1) << at);
	m->first_of[at] = (uint8_t)units;
	m->latest = in;
	m->latest_warp = warp;
	address = at * UNIT;
	memcpy(to, &address, sizeof address);
}

static void run_dealloc(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct memory *m = memory_of(warp);
	uint32_t units, address;

	if (!m || !tcb_emu_whole_warp(warp, in, active))
		return;
	units = units_of(warp, in, &in->op[1]);
	if (!units)
		return;
	address = (uint32_t)tcb_emu_get(warp, &in->op[0], 0);
	if (address % UNIT || address / UNIT >= UNITS || m->first_of[address / UNIT] != units) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_TENSOR_MEMORY,
			      "gives back %u columns of Tensor Memory at 0x%x, which were not allocated so",
			      units * UNIT, address);
		return;
	}
	m->first_of[address / UNIT] = 0;
	m->taken &= (uint16_t) ~(((1u << units) - 1) << address / UNIT);
	for (unsigned lane = 0; lane < LANES; lane++)
		memset(&m->written[lane][address / 8], 0, units * UNIT / 8);
}

static void run_relinquish(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct memory *m = memory_of(warp);

	if (m && tcb_emu_whole_warp(warp, in, active))
		m->is_relinquished = 1;
}

void tcb_emu_tmem_end(struct tcb_emu_block *block)
{
	const struct memory *m = block->unit[TCB_EMU_UNIT_TMEM];

	if (m && m->taken)
		tcb_emu_report(m->latest_warp, m->latest, -1, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR,
			       "Tensor Memory is still allocated when the block ends: tcgen05.dealloc before that");
}

/* --- loads and stores --- */

/* in->b: registers, one for each column; the shape is 32x32b */

/* The columns that the lanes of WARP reach at the address of IN; 0 after a fault. */
static int reach(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct memory *m,
		 const struct tcb_emu_operand *op, uint32_t *row_out, uint32_t *column_out)
{
	const uint64_t address = tcb_emu_address(warp, op, 0);
	const uint32_t row = (uint32_t)address >> LANE_SHIFT, column = (uint32_t)address & ((1u << LANE_SHIFT) - 1);

	for (unsigned lane = 1; lane < TCB_EMU_LANES; lane++)
		if (tcb_emu_address(warp, op, lane) != address) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_TENSOR_MEMORY,
				      "the address in Tensor Memory differs between the lanes of a warp");
			return 0;
		}
	if (row != warp->index % 4 * TCB_EMU_LANES) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_TENSOR_MEMORY,
			      "lane %u of Tensor Memory: warp %u reaches lanes %u to %u and names the first of them",
			      row, warp->index, warp->index % 4 * TCB_EMU_LANES, warp->index % 4 * TCB_EMU_LANES + 31);
		return 0;
	}
	for (uint32_t i = column; i < column + in->b; i++)
		if (i >= COLUMNS || !(m->taken >> i / UNIT & 1)) {
			tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_OUT_OF_BOUNDS,
				      "column %u of Tensor Memory is not allocated", i);
			return 0;
		}
	*row_out = row;
	*column_out = column;
	return 1;
}

static int is_written(const struct memory *m, uint32_t row, uint32_t column)
{
	return m->written[row][column / 8] >> column % 8 & 1;
}

static void mark(struct tcb_emu_frame *frame, const struct tcb_emu_operand *op, int is_there)
{
	for (unsigned r = 0; r < tcb_emu_items(op); r++)
		if (tcb_emu_item(op, r)->kind == TCB_EMU_REG)
			frame->written[tcb_emu_item(op, r)->reg] = is_there ? UINT32_MAX : 0;
}

static void run_load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct memory *m = memory_of(warp);
	struct pending *p = tcb_arena_alloc(&warp->block->arena, sizeof *p);
	uint32_t row, column, unwritten = 0;

	if (!p)
		tcb_emu_no_memory(warp->run);
	if (!m || !p || !tcb_emu_whole_warp(warp, in, active) || !reach(warp, in, m, &in->op[1], &row, &column))
		return;
	for (unsigned r = 0; r < in->b; r++) {
		uint32_t value[TCB_EMU_LANES];

		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++) {
			value[lane] = m->cells[row + lane][column + r];
			unwritten += !is_written(m, row + lane, column + r);
		}
		tcb_emu_put32(warp, tcb_emu_item(&in->op[0], r), value, active);
	}
	if (unwritten)
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_WARNING,
			       "reads %u words of Tensor Memory that nobody wrote", unwritten);
	*p = (struct pending){ warp->unit[TCB_EMU_UNIT_TMEM], in, warp->frame };
	warp->unit[TCB_EMU_UNIT_TMEM] = p;
	mark(warp->frame, &in->op[0], 0);
}

static void run_wait_load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	for (const struct pending *p = warp->unit[TCB_EMU_UNIT_TMEM]; p; p = p->next)
		mark(p->frame, &p->in->op[0], 1);
	warp->unit[TCB_EMU_UNIT_TMEM] = NULL;
}

int tcb_emu_tmem_pending(const struct tcb_emu_warp *warp, uint32_t reg)
{
	for (const struct pending *p = warp->unit[TCB_EMU_UNIT_TMEM]; p; p = p->next)
		for (unsigned r = 0; p->frame == warp->frame && r < tcb_emu_items(&p->in->op[0]); r++)
			if (tcb_emu_item(&p->in->op[0], r)->reg == reg)
				return 1;
	return 0;
}

static void run_store(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct memory *m = memory_of(warp);
	uint32_t row, column;

	if (!m || !tcb_emu_whole_warp(warp, in, active) || !reach(warp, in, m, &in->op[0], &row, &column))
		return;
	for (unsigned r = 0; r < in->b; r++)
		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++) {
			m->cells[row + lane][column + r] =
				(uint32_t)tcb_emu_get(warp, tcb_emu_item(&in->op[1], r), lane);
			m->written[row + lane][(column + r) / 8] |= (uint8_t)(1u << (column + r) % 8);
		}
	tcb_emu_progress(warp->run);
}

static void run_nothing(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)warp;
	(void)in;
	(void)active;
}

/* What it tracks has happened. */
static void run_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	if (!warp->run->fault)
		tcb_emu_mbarrier_commit(warp, in, lane);
}

static enum tcb_status bind_access(struct tcb_emu_ins *in, unsigned data, struct tcb_error *err)
{
	in->b = tcb_ptx_matrices(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MATRICES));
	if (tcb_emu_items(&in->op[data]) != in->b)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%u registers are needed", in->b);
	for (unsigned r = 0; r < in->b; r++)
		if (tcb_emu_item(&in->op[data], r)->bits != 32)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a register of %u bits",
					tcb_emu_item(&in->op[data], r)->bits);
	return TCB_OK;
}

enum tcb_status tcb_emu_bind_tmem(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	decoder->program->reads_async = 1;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_CTA_GROUP) == TCB_PTX_CTA_GROUP_2)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "Tensor Memory of a pair of blocks is not emulated");
	switch (in->ins->op) {
	case TCB_PTX_OP_TCGEN05_ALLOC:
		in->run = run_alloc;
		return TCB_OK;
	case TCB_PTX_OP_TCGEN05_DEALLOC:
		in->run = run_dealloc;
		return TCB_OK;
	case TCB_PTX_OP_TCGEN05_RELINQUISH:
		in->run = run_relinquish;
		return TCB_OK;
	case TCB_PTX_OP_TCGEN05_LD:
		in->run = run_load;
		in->result_count = 0; /* there when waited for */
		return bind_access(in, 0, err);
	case TCB_PTX_OP_TCGEN05_ST:
		in->run = run_store;
		return bind_access(in, 1, err);
	case TCB_PTX_OP_TCGEN05_WAIT_LD:
		in->run = run_wait_load;
		return TCB_OK;
	case TCB_PTX_OP_TCGEN05_COMMIT:
		in->run = run_commit;
		return tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MULTICAST)
			       ? tcb_fail(err, TCB_E_UNSUPPORTED, "a commit to several blocks is not emulated")
			       : TCB_OK;
	default: /* stores are done; fences order what has no order of its own here */
		in->run = run_nothing;
		return TCB_OK;
	}
}
