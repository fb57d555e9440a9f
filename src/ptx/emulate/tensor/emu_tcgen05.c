/* SPDX-License-Identifier: MIT
 *
 * tcgen05.mma of dense matrices for one block (PTX ISA 9.1, 9.7.16.10), and
 * tcgen05.commit.  One thread issues a product of M x N x K: A is in shared or
 * in Tensor Memory, B in shared, D in Tensor Memory.
 *
 * A product is checked when it is issued and computed when the mbarrier of a
 * commit behind it is told, from what memory holds then.  What it reads is
 * compared with what was there at the issue.
 *
 * How these tensor cores add is not documented, and none was at hand: sums are
 * in double and rounded once, integers exact.  A GPU may differ in the last bits.
 */
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/emulate/tensor/emu_tile.h"
#include "ptx/emulate/tensor/emu_tmem.h"

enum { M_MAX = TCB_EMU_TMEM_LANES, ROW_BYTES = 32 /* of A, and of a column of B */, MASK_WORDS = 4 };

/* Decoded. */
struct plan {
	enum tcb_ptx_word kind;
	int a_in_tensor;                 /* Tensor Memory */
	unsigned descriptor, mask, adds; /* operands; MASK 0: none */
	uint32_t scale;                  /* D is divided by 2^SCALE before */
};

struct tcb_emu_product05 {
	struct tcb_emu_product05 *next;
	struct tcb_emu_warp *warp;
	const struct tcb_emu_ins *in;
	unsigned lane;
	uint32_t tick; /* of the issue */
	struct tcb_ptx_product product;
	struct tcb_emu_tile a, b;
	uint32_t a_row, a_column, d_row, d_column; /* in Tensor Memory */
	int sign, adds;
	uint32_t mask[MASK_WORDS]; /* lanes that are left as they are */
	uint64_t operands;         /* hash of what A and B were */
};

/* --- descriptors --- */

/* Types by their numbers (table 42); NO_WORD: there is none. */
static enum tcb_ptx_word type_of(enum tcb_ptx_word kind, unsigned number)
{
	static const enum tcb_ptx_word small[8] = { TCB_PTX_E4M3, TCB_PTX_E5M2, TCB_PTX_NO_WORD,
						    TCB_PTX_E2M3, TCB_PTX_E3M2, TCB_PTX_E2M1 };

	switch ((int)kind) {
	case TCB_PTX_KIND_F16:
		return number == 0 ? TCB_PTX_F16 : number == 1 ? TCB_PTX_BF16 : TCB_PTX_NO_WORD;
	case TCB_PTX_KIND_TF32:
		return number == 2 ? TCB_PTX_TF32 : TCB_PTX_NO_WORD;
	case TCB_PTX_KIND_I8:
		return number == 0 ? TCB_PTX_U8 : number == 1 ? TCB_PTX_S8 : TCB_PTX_NO_WORD;
	default:
		return small[number];
	}
}

static enum tcb_ptx_word result_of(enum tcb_ptx_word kind, unsigned number)
{
	if (kind == TCB_PTX_KIND_I8)
		return number == 2 ? TCB_PTX_S32 : TCB_PTX_NO_WORD;
	if (number == 0 && kind != TCB_PTX_KIND_TF32)
		return TCB_PTX_F16;
	return number == 1 ? TCB_PTX_F32 : TCB_PTX_NO_WORD;
}

/* The instruction descriptor; 0 after a fault. */
static int decode(struct tcb_emu_product05 *p, const struct plan *plan, uint32_t bits)
{
	struct tcb_ptx_product *product = &p->product;

	*product = (struct tcb_ptx_product){ .m = (bits >> 24 & 31) * 16,
					     .n = (bits >> 17 & 63) * 8,
					     .d = result_of(plan->kind, bits >> 4 & 3),
					     .a = type_of(plan->kind, bits >> 7 & 7),
					     .b = type_of(plan->kind, bits >> 10 & 7),
					     .satfinite = (int)(bits >> 3 & 1) };
	product->c = product->d;
	p->sign = (bits >> 13 & 1) != (bits >> 14 & 1) ? -1 : 1;
	p->a.k_major = !(bits >> 15 & 1);
	p->b.k_major = !(bits >> 16 & 1);
	if (!product->a || !product->b || !product->d || (product->m != 64 && product->m != 128) || !product->n ||
	    product->n > TCB_PTX_PRODUCT_MAX_N || bits & (1u << 6 | 1u << 23 | 1u << 29)) {
		tcb_emu_fault(
			p->warp, p->in, (int)p->lane, TCB_PTX_RULE_TENSOR_MEMORY,
			"the instruction descriptor 0x%x is invalid for .%s: M %u, N %u, types %u, %u and %u of D, A "
			"and B",
			bits, tcb_ptx_word_text(plan->kind), product->m, product->n, bits >> 4 & 3, bits >> 7 & 7,
			bits >> 10 & 7);
		return 0;
	}
	if (bits & 4 || bits >> 30 || tcb_ptx_type_bits(product->a) < 8 || tcb_ptx_type_bits(product->b) < 8) {
		tcb_emu_fault(p->warp, p->in, (int)p->lane, TCB_PTX_RULE_NOT_EMULATED,
			      "sparse matrices, shifts and elements of 6 and 4 bits are not emulated (instruction "
			      "descriptor 0x%x)",
			      bits);
		return 0;
	}
	product->k = ROW_BYTES * 8 / tcb_ptx_type_bits(product->a);
	return 1;
}

/* A matrix descriptor of shared memory (table 40); 0 after a fault. */
static int decode_tile(const struct tcb_emu_product05 *p, uint64_t bits, struct tcb_emu_tile *tile)
{
	static const int swizzles[8] = { 0, -1, 128, -1, 64, -1, 32, -1 };
	const unsigned mode = (unsigned)(bits >> 61);

	tile->at = (struct tcb_ptx_matrix_descriptor){ .start = (uint32_t)(bits & 0x3fff) << 4,
						       .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
						       .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
						       .base_offset = (unsigned)(bits >> 49 & 7),
						       .swizzle = (unsigned)(swizzles[mode] < 0 ? 0 : swizzles[mode]) };
	if (mode == 1 || bits >> 52 & 1) {
		tcb_emu_fault(p->warp, p->in, (int)p->lane, TCB_PTX_RULE_NOT_EMULATED,
			      "128-byte swizzling of 32 bytes and absolute strides are not emulated (matrix descriptor "
			      "0x%llx)",
			      (unsigned long long)bits);
		return 0;
	}
	if (swizzles[mode] < 0 || (bits >> 46 & 7) != 1) {
		tcb_emu_fault(
			p->warp, p->in, (int)p->lane, TCB_PTX_RULE_TENSOR_MEMORY,
			"the matrix descriptor 0x%llx is invalid: bits 46 to 48 are 1, and swizzling is 0, 2, 4 or 6",
			(unsigned long long)bits);
		return 0;
	}
	return 1;
}

/* --- Tensor Memory --- */

/* The lane of ROW of a matrix with M rows that begins at lane FIRST (9.7.16.10.5: layouts D and F). */
static uint32_t lane_of(const struct tcb_emu_product05 *p, uint32_t first, unsigned row)
{
	return first + (p->product.m == 64 ? row / 16 * 32 + row % 16 : row);
}

static uint32_t a_columns(const struct tcb_emu_product05 *p)
{
	return p->product.k * tcb_ptx_type_bits(p->product.a) / 32;
}

/* The address of a matrix in Tensor Memory; 0 after a fault. */
static int locate(const struct tcb_emu_product05 *p, const struct tcb_emu_tmem *m, const struct tcb_emu_operand *op,
		  uint32_t columns, uint32_t *row, uint32_t *column)
{
	const uint64_t address = tcb_emu_address(p->warp, op, p->lane);

	*row = (uint32_t)address >> TCB_EMU_LANE_SHIFT;
	*column = (uint32_t)address & ((1u << TCB_EMU_LANE_SHIFT) - 1);
	if (*row && !(p->product.m == 64 && *row == 16)) {
		tcb_emu_fault(p->warp, p->in, (int)p->lane, TCB_PTX_RULE_TENSOR_MEMORY,
			      "a matrix of %u rows begins at lane %u of Tensor Memory, and must at 0%s", p->product.m,
			      *row, p->product.m == 64 ? " or 16" : "");
		return 0;
	}
	return tcb_emu_tmem_is_taken(p->warp, p->in, m, *column, columns);
}

/* Sets who writes or reads the columns of P: P itself, or nobody any more. */
static void claim(struct tcb_emu_product05 *p, struct tcb_emu_tmem *m, int is_done)
{
	const struct plan *plan = p->in->extra;

	for (unsigned quarter = 0; quarter < TCB_EMU_TMEM_QUARTERS; quarter++) {
		struct tcb_emu_tmem_column *c = m->column[quarter];

		for (uint32_t i = p->d_column; i < p->d_column + p->product.n; i++) {
			if (!is_done) {
				c[i].written_by = p;
			} else if (c[i].written_by == p) {
				c[i].written_by = NULL;
				c[i].done_tick = p->warp->run->tick;
			}
		}
		for (uint32_t i = p->a_column; plan->a_in_tensor && i < p->a_column + a_columns(p); i++) {
			if (!is_done)
				c[i].also_read_by = p;
			else if (c[i].also_read_by == p)
				c[i].also_read_by = NULL;
		}
	}
}

/* --- A and B --- */

static void a_from_tensor(const struct tcb_emu_product05 *p, const struct tcb_emu_tmem *m, double *out)
{
	const unsigned each = 32 / tcb_ptx_type_bits(p->product.a);

	for (unsigned row = 0; row < p->product.m; row++)
		for (uint32_t c = 0; c < a_columns(p); c++)
			tcb_ptx_elements(p->product.a, 0, m->cells[lane_of(p, p->a_row, row)][p->a_column + c], each,
					 out + row * p->product.k + c * each);
}

struct numbers {
	double a[M_MAX * TCB_PTX_TENSOR_K], b[TCB_PTX_TENSOR_K * TCB_PTX_PRODUCT_MAX_N];
	double d[M_MAX * TCB_PTX_PRODUCT_MAX_N];
};

/* 0 after a fault. */
static int read_operands(struct tcb_emu_product05 *p, const struct tcb_emu_tmem *m, struct numbers *x)
{
	const struct plan *plan = p->in->extra;

	if (plan->a_in_tensor)
		a_from_tensor(p, m, x->a);
	else if (!tcb_emu_tile_read(p->warp, p->in, &p->a, x->a))
		return 0;
	return tcb_emu_tile_read(p->warp, p->in, &p->b, x->b);
}

static uint64_t hash_of(const struct tcb_emu_product05 *p, const struct numbers *x)
{
	const struct tcb_ptx_product *product = &p->product;

	return tcb_hash64(x->b, (size_t)product->n * product->k * sizeof *x->b,
			  tcb_hash64(x->a, (size_t)product->m * product->k * sizeof *x->a, 0));
}

/* --- issue --- */

/* What the operands of P are, and whether it may touch them; 0 after a fault. */
static int look(struct tcb_emu_product05 *p, struct tcb_emu_tmem *m, struct numbers *x)
{
	struct tcb_emu_warp *warp = p->warp;
	const struct tcb_emu_ins *in = p->in;
	const struct plan *plan = in->extra;
	const struct tcb_ptx_product *product = &p->product;

	if (!decode(p, plan, (uint32_t)tcb_emu_get(warp, &in->op[plan->descriptor], p->lane)) ||
	    !locate(p, m, &in->op[0], product->n, &p->d_row, &p->d_column))
		return 0;
	p->a.type = product->a;
	p->a.rows = product->m;
	p->b.type = product->b;
	p->b.rows = product->n;
	p->b.is_b = 1;
	p->a.k = p->b.k = product->k;
	if (plan->a_in_tensor) {
		if (!locate(p, m, &in->op[1], a_columns(p), &p->a_row, &p->a_column))
			return 0;
	} else if (!decode_tile(p, tcb_emu_get(warp, &in->op[1], p->lane), &p->a) ||
		   !tcb_emu_tile_check(warp, in, &p->a)) {
		return 0;
	}
	if (!decode_tile(p, tcb_emu_get(warp, &in->op[2], p->lane), &p->b) || !tcb_emu_tile_check(warp, in, &p->b))
		return 0;
	for (unsigned quarter = 0; quarter < TCB_EMU_TMEM_QUARTERS; quarter++) {
		if (plan->a_in_tensor)
			tcb_emu_tmem_touch(warp, in, m, p->lane, quarter, p->a_column, a_columns(p), 0);
		tcb_emu_tmem_touch(warp, in, m, p->lane, quarter, p->d_column, product->n, 1);
	}
	if (!read_operands(p, m, x))
		return 0;
	p->operands = hash_of(p, x);
	return 1;
}

static void issue(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane)
{
	const struct plan *plan = in->extra;
	struct tcb_emu_product05 *p = tcb_arena_alloc(&warp->block->arena, sizeof *p);
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(warp);
	struct numbers *x = tcb_emu_unit(warp, TCB_EMU_UNIT_TCGEN05, sizeof *x);

	if (!p)
		tcb_emu_no_memory(warp->run);
	if (!p || !m || !x || !tcb_emu_tmem_warp_of(warp))
		return;
	p->warp = warp;
	p->in = in;
	p->lane = lane;
	p->tick = warp->run->tick;
	p->adds = (int)(tcb_emu_pred(warp, &in->op[plan->adds]) >> lane & 1);
	for (unsigned i = 0; plan->mask && i < MASK_WORDS; i++)
		p->mask[i] = (uint32_t)tcb_emu_get(warp, tcb_emu_item(&in->op[plan->mask], i), lane);
	if (!look(p, m, x))
		return;
	claim(p, m, 0);
	*m->end = p;
	m->end = &p->next;
}

static void run_product(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	if (!warp->run->fault)
		issue(warp, in, lane);
}

/* --- completion --- */

/* D before, and whether all of it was written. */
static int read_d(const struct tcb_emu_product05 *p, const struct tcb_emu_tmem *m, uint32_t scale, double *d)
{
	const struct tcb_ptx_product *product = &p->product;
	const uint32_t mask = product->d == TCB_PTX_F16 ? 0xffff : UINT32_MAX;
	double factor = 1;
	int is_there = 1;

	for (uint32_t i = 0; i < scale; i++)
		factor /= 2;
	for (unsigned i = 0; i < product->m; i++)
		for (unsigned j = 0; j < product->n; j++) {
			const uint32_t lane = lane_of(p, p->d_row, i), column = p->d_column + j;

			is_there &= !p->adds || tcb_emu_tmem_is_written(m, lane, column) ||
				    p->mask[lane / 32] >> lane % 32 & 1;
			d[i * product->n + j] =
				p->adds ? tcb_ptx_product_value(product, m->cells[lane][column] & mask) * factor : 0;
		}
	return is_there;
}

static void complete(struct tcb_emu_product05 *p, struct tcb_emu_tmem *m, struct numbers *x)
{
	const struct plan *plan = p->in->extra;
	const struct tcb_ptx_product *product = &p->product;

	if (!read_operands(p, m, x))
		return;
	if (hash_of(p, x) != p->operands)
		tcb_emu_report(p->warp, p->in, (int)p->lane, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "A or B is written while the product may still read it: wait for the mbarrier of a "
			       "tcgen05.commit behind it first");
	for (size_t i = 0; p->sign < 0 && i < (size_t)product->m * product->k; i++)
		x->a[i] = -x->a[i];
	if (!read_d(p, m, plan->scale, x->d))
		tcb_emu_report(p->warp, p->in, (int)p->lane, TCB_PTX_RULE_TENSOR_MEMORY, TCB_PTX_WARNING,
			       "adds to words of Tensor Memory that nobody wrote: enable-input-d is false in the first "
			       "product");
	tcb_ptx_product_run(product, x->a, x->b, x->d, x->d);
	for (unsigned i = 0; i < product->m; i++) {
		const uint32_t lane = lane_of(p, p->d_row, i);

		if (p->mask[lane / 32] >> lane % 32 & 1)
			continue;
		for (unsigned j = 0; j < product->n; j++)
			tcb_emu_tmem_put(m, lane, p->d_column + j,
					 (uint32_t)tcb_ptx_product_bits(product, x->d[i * product->n + j]));
	}
}

/* --- commits --- */

struct commit {
	struct tcb_emu_deferred deferred; /* first */
	struct tcb_emu_warp *warp;
	const struct tcb_emu_ins *in;
	struct tcb_emu_block *block; /* whose mbarrier it is */
	uint32_t offset;
	unsigned lane;
	uint32_t tick;
};

/* All that was issued before is done; then the mbarrier is told. */
static void run_deferred(struct tcb_emu_deferred *self)
{
	const struct commit *c = (struct commit *)self;
	struct tcb_emu_run *run = c->warp->run;
	struct tcb_emu_tmem *m = tcb_emu_tmem_of(c->warp);
	struct numbers *x = m ? tcb_emu_unit(c->warp, TCB_EMU_UNIT_TCGEN05, sizeof *x) : NULL;

	while (x && !run->fault && m->first && m->first->tick < c->tick) {
		struct tcb_emu_product05 *p = m->first;

		complete(p, m, x);
		run->tick++;
		claim(p, m, 1);
		m->first = p->next;
		if (!m->first)
			m->end = &m->first;
	}
	if (x && !run->fault)
		tcb_emu_mbarrier_commit(c->warp, c->in, c->lane, c->block, c->offset,
					m->first ? m->first->tick : ++run->tick);
}

static void run_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		struct commit *c = warp->run->fault ? NULL : tcb_arena_alloc(&warp->block->arena, sizeof *c);

		if (!c) {
			if (!warp->run->fault)
				tcb_emu_no_memory(warp->run);
			return;
		}
		*c = (struct commit){
			.deferred.run = run_deferred, .warp = warp, .in = in, .lane = lane, .tick = warp->run->tick
		};
		if (!tcb_emu_mbarrier_find(warp, in, lane, &c->block, &c->offset))
			return;
		tcb_emu_defer(warp->run, &c->deferred);
	}
}

void tcb_emu_product05_end(struct tcb_emu_block *block)
{
	const struct tcb_emu_tmem *m = block->unit[TCB_EMU_UNIT_TMEM];

	if (m && m->first)
		tcb_emu_report(m->first->warp, m->first->in, -1, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "the block ends, and no tcgen05.commit behind this product was there to wait for");
}

/* --- binding --- */

static enum tcb_status bind_product(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	struct plan *plan = tcb_arena_alloc(decoder->arena, sizeof *plan);

	if (!plan)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	if (in->ins->mod[TCB_PTX_SLOT_SCALED] || in->ins->mod[TCB_PTX_SLOT_ASHIFT])
		return tcb_fail(err, TCB_E_UNSUPPORTED, "products with block scales or shifted rows are not emulated");
	plan->kind = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_KIND);
	plan->a_in_tensor = in->op[1].kind == TCB_EMU_ADDRESS;
	plan->descriptor = 3;
	plan->mask = in->op[4].kind == TCB_EMU_VECTOR ? 4 : 0;
	plan->adds = plan->mask ? 5 : 4;
	if (plan->mask && tcb_emu_items(&in->op[plan->mask]) != MASK_WORDS)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "disable-output-lane has four registers");
	if (in->op_count > plan->adds + 1u)
		plan->scale = (uint32_t)in->ins->operands[plan->adds + 1].bits;
	if (plan->scale > 15)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "scale-input-d is from 0 to 15");
	in->extra = plan;
	in->run = run_product;
	return TCB_OK;
}

enum tcb_status tcb_emu_bind_tcgen05(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	decoder->program->reads_async = 1;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_CTA_GROUP) == TCB_PTX_CTA_GROUP_2)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "Tensor Memory of a pair of blocks is not emulated");
	if (in->ins->op == TCB_PTX_OP_TCGEN05_MMA)
		return bind_product(decoder, in, err);
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MULTICAST))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "a commit to several blocks is not emulated");
	in->run = run_commit;
	return TCB_OK;
}
