/* SPDX-License-Identifier: MIT
 *
 * Tensor Memory, as far as it is memory (PTX ISA 9.1, 9.7.16): allocation,
 * tcgen05.ld and st of all shapes, their waits and fences.  A warp reaches the 32
 * lanes of its place among four.
 *
 * Loads and stores are done at once.  What is told is what a GPU would not have
 * to do in this order: touching what a product still writes or reads, what
 * another warp wrote with nothing between, or what this warp's own load or store
 * was not waited for.  Of who did what the columns of a quarter are remembered,
 * not single lanes.
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/emulate/tensor/emu_tmem.h"

enum { LANES = TCB_EMU_TMEM_LANES, COLUMNS = TCB_EMU_TMEM_COLUMNS, UNIT = TCB_EMU_TMEM_UNIT };

struct tcb_emu_tmem *tcb_emu_tmem_of(struct tcb_emu_warp *warp)
{
	struct tcb_emu_tmem *m = tcb_emu_unit(warp, TCB_EMU_UNIT_TMEM, sizeof *m);

	if (m && !m->end)
		m->end = &m->first;
	return m;
}

struct tcb_emu_tmem_warp *tcb_emu_tmem_warp_of(struct tcb_emu_warp *warp)
{
	if (!warp->unit[TCB_EMU_UNIT_TMEM])
		warp->unit[TCB_EMU_UNIT_TMEM] = tcb_arena_alloc(&warp->block->arena, sizeof(struct tcb_emu_tmem_warp));
	if (!warp->unit[TCB_EMU_UNIT_TMEM])
		tcb_emu_no_memory(warp->run);
	return warp->unit[TCB_EMU_UNIT_TMEM];
}

/* --- who touched what --- */

static uint32_t line_of(const struct tcb_emu_ins *in)
{
	return in && in->ins ? in->ins->line : 0;
}

static const char *name_of(const struct tcb_emu_ins *in)
{
	return tcb_ptx_op_text((enum tcb_ptx_op)in->ins->op);
}

/* Whether what AGENT, all of a warp or the engine, did at TICK is behind LANE of WARP. */
static int is_behind(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t tick)
{
	return agent == warp->agent || tcb_emu_knows(warp, lane, agent, UINT32_MAX, tick);
}

/* The state of the warp AGENT of the block; NULL: it is none of its warps. */
static const struct tcb_emu_tmem_warp *state_of(const struct tcb_emu_warp *warp, uint32_t agent)
{
	const uint32_t index = agent - (warp->agent - warp->index);

	return index < warp->block->warp_count ? warp->block->warps[index].unit[TCB_EMU_UNIT_TMEM] : NULL;
}

/* Reports what C's writer (IS_WRITER) or reader did that the access may not be ordered with; 0: nothing. */
static int told_of(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tmem_column *c,
		   unsigned lane, uint32_t column, int is_writer)
{
	const struct tcb_emu_ins *by = is_writer ? c->write_in : c->read_in;
	const uint32_t agent = is_writer ? c->writer : c->reader, tick = is_writer ? c->write_tick : c->read_tick;
	const struct tcb_emu_tmem_warp *whose = state_of(warp, agent);
	const char *verb = is_writer ? "write" : "read";

	if (whose && by->ins->op != in->ins->op && (is_writer ? whose->stores_waited : whose->loads_waited) < tick) {
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "touches column %u of Tensor Memory, which the %s of line %u may not have %s yet: "
			       "tcgen05.wait::%s between",
			       column, name_of(by), line_of(by), is_writer ? "written" : "read",
			       is_writer ? "st" : "ld");
		return 1;
	}
	if (!is_behind(warp, lane, agent, tick)) {
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_RACE, TCB_PTX_ERROR,
			       "touches column %u of Tensor Memory, which the %s of line %u %ss with nothing between "
			       "that orders them",
			       column, name_of(by), line_of(by), verb);
		return 1;
	}
	return 0;
}

static int see_products(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tmem_column *c,
			uint32_t column, int writes)
{
	const int is_read = writes && c->also_read_by;

	if (!c->written_by && !is_read)
		return 0;
	tcb_emu_report(
		warp, in, -1, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
		"touches column %u of Tensor Memory, which the %s of line %u may still %s: wait for the mbarrier "
		"of a tcgen05.commit behind it",
		column, name_of(c->written_by ? c->write_in : c->read_in),
		line_of(c->written_by ? c->write_in : c->read_in), c->written_by ? "write" : "read");
	return 1;
}

void tcb_emu_tmem_touch(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_tmem *m, unsigned lane,
			unsigned quarter, uint32_t column, uint32_t count, int writes)
{
	const uint32_t engine = warp->run->agents - 2;
	const struct tcb_emu_tmem_warp *own = warp->unit[TCB_EMU_UNIT_TMEM];
	const int is_product = lane != TCB_EMU_TMEM_ANY;
	int is_told = 0;

	for (uint32_t i = column; i < column + count; i++) {
		struct tcb_emu_tmem_column *c = &m->column[quarter][i];

		/* products of one kind are done in their order (9.7.16.6.2) */
		if (!is_told && !is_product)
			is_told = see_products(warp, in, c, i, writes);
		if (!is_told && c->write_tick && !(is_product && c->writer == engine))
			is_told = told_of(warp, in, c, lane, i, 1);
		if (!is_told && writes && c->read_tick && !(is_product && c->reader == engine))
			is_told = told_of(warp, in, c, lane, i, 0);
		if (!is_told && !is_product && !writes && c->write_tick && c->writer == engine &&
		    (!own || own->fenced < c->done_tick)) {
			is_told = 1;
			tcb_emu_report(warp, in, -1, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_WARNING,
				       "reads what the %s of line %u wrote with no tcgen05.fence::after_thread_sync "
				       "behind the wait: the load may be done earlier",
				       name_of(c->write_in), line_of(c->write_in));
		}
		if (writes) {
			c->write_tick = warp->run->tick;
			c->write_in = in;
			c->writer = (uint16_t)(is_product ? engine : warp->agent);
		} else {
			c->read_tick = warp->run->tick;
			c->read_in = in;
			c->reader = (uint16_t)(is_product ? engine : warp->agent);
		}
	}
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
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);
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
	while (at + units <= TCB_EMU_TMEM_UNITS && (m->taken >> at & ((1u << units) - 1)))
		at += units;
	if (at + units > TCB_EMU_TMEM_UNITS) {
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
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);
	uint32_t units, address;

	if (!m || !tcb_emu_whole_warp(warp, in, active))
		return;
	units = units_of(warp, in, &in->op[1]);
	if (!units)
		return;
	address = (uint32_t)tcb_emu_get(warp, &in->op[0], 0);
	if (address % UNIT || address / UNIT >= TCB_EMU_TMEM_UNITS || m->first_of[address / UNIT] != units) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_TENSOR_MEMORY,
			      "gives back %u columns of Tensor Memory at 0x%x, which were not allocated so",
			      units * UNIT, address);
		return;
	}
	for (unsigned quarter = 0; quarter < TCB_EMU_TMEM_QUARTERS; quarter++) {
		tcb_emu_tmem_touch(warp, in, m, TCB_EMU_TMEM_ANY, quarter, address, units * UNIT, 1);
		memset(&m->column[quarter][address], 0, units * UNIT * sizeof **m->column);
	}
	m->first_of[address / UNIT] = 0;
	m->taken &= (uint16_t) ~(((1u << units) - 1) << address / UNIT);
	for (unsigned lane = 0; lane < LANES; lane++)
		memset(&m->written[lane][address / 8], 0, units * UNIT / 8);
}

static void run_relinquish(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);

	if (m && tcb_emu_whole_warp(warp, in, active))
		m->is_relinquished = 1;
}

void tcb_emu_tmem_end(struct tcb_emu_block *block)
{
	const struct tcb_emu_tmem *m = block->unit[TCB_EMU_UNIT_TMEM];

	if (m && m->taken)
		tcb_emu_report(m->latest_warp, m->latest, -1, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_ERROR,
			       "Tensor Memory is still allocated when the block ends: tcgen05.dealloc before that");
}

int tcb_emu_tmem_is_taken(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tmem *m,
			  uint32_t column, uint32_t count)
{
	for (uint32_t i = column; i < column + count; i++)
		if (i >= COLUMNS || !(m->taken >> i / UNIT & 1)) {
			tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_OUT_OF_BOUNDS,
				      "column %u of Tensor Memory is not allocated", i);
			return 0;
		}
	return 1;
}

/* --- loads and stores --- */

/* Decoded.  A place is a lane and a column from the address on, of what a register of a lane holds (9.7.16.2.3.1). */
struct access {
	enum tcb_ptx_word shape;
	unsigned registers, lanes; /* LANES of Tensor Memory: 16 or 32 */
	unsigned columns;          /* of the first half, of 16x32bx2; else of all */
	uint32_t split;            /* 16x32bx2: from the first half to the second */
	int is_packed;             /* two columns of 16 bits make a register */
	unsigned data, address;    /* operands */
};

static void place_of(const struct access *a, unsigned lane, unsigned reg, uint32_t *row, uint32_t *column)
{
	switch ((int)a->shape) {
	case TCB_PTX_L16X64B:
		*row = lane / 4 + 8 * (lane % 2);
		*column = lane / 2 % 2 + 2 * reg;
		return;
	case TCB_PTX_L16X128B:
		*row = lane / 4 + 8 * (reg % 2);
		*column = lane % 4 + 4 * (reg / 2);
		return;
	case TCB_PTX_L16X256B:
		*row = lane / 4 + 8 * (reg / 2 % 2);
		*column = reg % 2 + 2 * (lane % 4) + 8 * (reg / 4);
		return;
	case TCB_PTX_L16X32BX2:
		*row = lane % 16;
		*column = reg;
		return;
	default:
		*row = lane;
		*column = reg;
	}
}

/* The second half of 16x32bx2 lies SPLIT columns on, whatever is packed. */
static uint32_t split_of(const struct access *a, unsigned lane)
{
	return a->shape == TCB_PTX_L16X32BX2 && lane >= 16 ? a->split : 0;
}

/* Where the access begins; 0 after a fault. */
static int reach(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_tmem *m, uint32_t *row_out,
		 uint32_t *column_out)
{
	const struct access *a = in->extra;
	const struct tcb_emu_operand *op = &in->op[a->address];
	const uint64_t address = tcb_emu_address(warp, op, 0);
	const uint32_t row = (uint32_t)address >> TCB_EMU_LANE_SHIFT,
		       column = (uint32_t)address & ((1u << TCB_EMU_LANE_SHIFT) - 1);
	const uint32_t own = warp->index % TCB_EMU_TMEM_QUARTERS * TCB_EMU_LANES;
	const int writes = in->ins->op == TCB_PTX_OP_TCGEN05_ST;

	for (unsigned lane = 1; lane < TCB_EMU_LANES; lane++)
		if (tcb_emu_address(warp, op, lane) != address) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_TENSOR_MEMORY,
				      "the address in Tensor Memory differs between the lanes of a warp");
			return 0;
		}
	if (row != own && !(a->lanes == 16 && row == own + 16)) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_TENSOR_MEMORY,
			      "lane %u of Tensor Memory: warp %u reaches lanes %u to %u and names the first of them%s",
			      row, warp->index, own, own + 31, a->lanes == 16 ? ", or the seventeenth" : "");
		return 0;
	}
	if (!tcb_emu_tmem_is_taken(warp, in, m, column, a->columns) ||
	    (a->split && !tcb_emu_tmem_is_taken(warp, in, m, column + a->split, a->columns)))
		return 0;
	tcb_emu_tmem_touch(warp, in, m, TCB_EMU_TMEM_ANY, own / TCB_EMU_LANES, column, a->columns, writes);
	if (a->split)
		tcb_emu_tmem_touch(warp, in, m, TCB_EMU_TMEM_ANY, own / TCB_EMU_LANES, column + a->split, a->columns,
				   writes);
	*row_out = row;
	*column_out = column;
	return 1;
}

/* One register of a load; counts words that nobody wrote. */
static uint32_t load(const struct tcb_emu_tmem *m, const struct access *a, uint32_t row, uint32_t column, unsigned lane,
		     unsigned reg, uint32_t *unwritten)
{
	uint32_t r, c, at, value;

	place_of(a, lane, reg, &r, &c);
	at = column + split_of(a, lane) + (a->is_packed ? 2 * c : c);
	value = m->cells[row + r][at];
	*unwritten += !tcb_emu_tmem_is_written(m, row + r, at);
	if (!a->is_packed)
		return value;
	*unwritten += !tcb_emu_tmem_is_written(m, row + r, at + 1);
	return (value & 0xffff) | m->cells[row + r][at + 1] << 16;
}

static void run_load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct access *a = in->extra;
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);
	struct tcb_emu_tmem_warp *own = tcb_emu_tmem_warp_of(warp);
	uint32_t row, column, unwritten = 0;

	if (!m || !own || !tcb_emu_whole_warp(warp, in, active) || !reach(warp, in, m, &row, &column))
		return;
	for (unsigned r = 0; r < a->registers; r++) {
		uint32_t value[TCB_EMU_LANES];

		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++)
			value[lane] = load(m, a, row, column, lane, r, &unwritten);
		tcb_emu_put32(warp, tcb_emu_item(&in->op[a->data], r), value, active);
	}
	if (unwritten)
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_WARNING,
			       "reads %u words of Tensor Memory that nobody wrote", unwritten);
}

static void run_wait_load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_tmem_warp *own = tcb_emu_tmem_warp_of(warp);

	if (own && tcb_emu_whole_warp(warp, in, active))
		own->loads_waited = warp->run->tick;
}

static void run_wait_store(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_tmem_warp *own = tcb_emu_tmem_warp_of(warp);

	if (own && tcb_emu_whole_warp(warp, in, active))
		own->stores_waited = warp->run->tick;
}

static void run_store(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct access *a = in->extra;
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);
	uint32_t row, column;

	if (!m || !tcb_emu_tmem_warp_of(warp) || !tcb_emu_whole_warp(warp, in, active) ||
	    !reach(warp, in, m, &row, &column))
		return;
	for (unsigned r = 0; r < a->registers; r++)
		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++) {
			const uint32_t value = (uint32_t)tcb_emu_get(warp, tcb_emu_item(&in->op[a->data], r), lane);
			uint32_t to, c, at;

			place_of(a, lane, r, &to, &c);
			at = column + split_of(a, lane) + (a->is_packed ? 2 * c : c);
			tcb_emu_tmem_put(m, row + to, at, a->is_packed ? value & 0xffff : value);
			if (a->is_packed)
				tcb_emu_tmem_put(m, row + to, at + 1, value >> 16);
		}
	tcb_emu_progress(warp->run);
}

static void run_fence_after(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_tmem_warp *own = tcb_emu_tmem_warp_of(warp);

	(void)in;
	(void)active;
	if (own)
		own->fenced = warp->run->tick;
}

/* --- binding --- */

/* Columns and registers of one repetition (9.7.16.8, tables 49 and 50). */
static void shape_of(enum tcb_ptx_word shape, unsigned *columns, unsigned *registers, unsigned *lanes)
{
	*columns = shape == TCB_PTX_L16X64B ? 2 : shape == TCB_PTX_L16X128B ? 4 : shape == TCB_PTX_L16X256B ? 8 : 1;
	*registers = shape == TCB_PTX_L16X128B ? 2 : shape == TCB_PTX_L16X256B ? 4 : 1;
	*lanes = shape == TCB_PTX_L32X32B ? 32 : 16;
}

static enum tcb_status bind_access(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	const unsigned number = tcb_ptx_matrices(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MATRICES));
	struct access *a = tcb_arena_alloc(decoder->arena, sizeof *a);
	const int is_load = in->ins->op == TCB_PTX_OP_TCGEN05_LD;
	unsigned columns, registers;

	if (!a)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	a->shape = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SHAPE);
	a->is_packed = in->ins->mod[TCB_PTX_SLOT_PACK] != 0;
	shape_of(a->shape, &columns, &registers, &a->lanes);
	a->columns = number * columns * (a->is_packed ? 2 : 1);
	a->registers = number * registers;
	a->address = is_load ? 1 : 0;
	a->data = is_load ? 0 : 1;
	if (a->shape == TCB_PTX_L16X32BX2) {
		a->data += !is_load;
		a->split = (uint32_t)in->ins->operands[is_load ? 2 : 1].bits;
	}
	if (tcb_emu_items(&in->op[a->data]) != a->registers)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%u registers are needed", a->registers);
	for (unsigned r = 0; r < a->registers; r++)
		if (tcb_emu_item(&in->op[a->data], r)->bits != 32)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a register of %u bits",
					tcb_emu_item(&in->op[a->data], r)->bits);
	in->extra = a;
	return TCB_OK;
}

enum tcb_status tcb_emu_bind_tmem(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_TCGEN05_ALLOC, run_alloc },
		{ TCB_PTX_OP_TCGEN05_DEALLOC, run_dealloc },
		{ TCB_PTX_OP_TCGEN05_RELINQUISH, run_relinquish },
		{ TCB_PTX_OP_TCGEN05_LD, run_load },
		{ TCB_PTX_OP_TCGEN05_ST, run_store },
		{ TCB_PTX_OP_TCGEN05_WAIT_LD, run_wait_load },
		{ TCB_PTX_OP_TCGEN05_WAIT_ST, run_wait_store },
		{ TCB_PTX_OP_TCGEN05_FENCE_AFTER, run_fence_after },
		{ TCB_PTX_OP_TCGEN05_FENCE_BEFORE, tcb_emu_run_nothing },
	};

	decoder->program->reads_async = 1;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_CTA_GROUP) == TCB_PTX_CTA_GROUP_2)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "Tensor Memory of a pair of blocks is not emulated");
	if (!tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "it is not emulated");
	return in->run == run_load || in->run == run_store ? bind_access(decoder, in, err) : TCB_OK;
}
