/* SPDX-License-Identifier: MIT
 *
 * mma.sync, ldmatrix, stmatrix and movmatrix in the emulator: registers and
 * shared memory to and from the functions of emu_matrix.h.
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/tensor/emu_matrix.h"

int tcb_emu_whole_warp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	if (active == UINT32_MAX)
		return 1;
	tcb_emu_fault(warp, in, __builtin_ctz(~active), TCB_PTX_RULE_SHUFFLE_DIVERGENT,
		      "%s needs all 32 lanes of the warp, and only lanes %08x execute it: branch by warps, not by "
		      "lanes, and make blocks of whole warps",
		      tcb_ptx_op_text((enum tcb_ptx_op)in->ins->op), active);
	return 0;
}

/* --- mma --- */

static void read_fragment(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op,
			  uint64_t out[][TCB_PTX_LANES])
{
	for (unsigned r = 0; r < tcb_emu_items(op); r++) {
		const struct tcb_emu_operand *item = tcb_emu_item(op, r);

		if (item->bits == 64) {
			memcpy(out[r], tcb_emu_get64(warp, item), sizeof out[r]);
		} else {
			const uint32_t *lanes = tcb_emu_get32(warp, item);

			for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
				out[r][lane] = lanes[lane];
		}
	}
}

static void run_mma(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint64_t a[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES], b[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES],
		c[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES], d[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES];

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	read_fragment(warp, &in->op[1], a);
	read_fragment(warp, &in->op[2], b);
	read_fragment(warp, &in->op[3], c);
	tcb_ptx_mma(in->extra, a, b, c, d);
	for (unsigned r = 0; r < tcb_emu_items(&in->op[0]); r++) {
		const struct tcb_emu_operand *item = tcb_emu_item(&in->op[0], r);

		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
			tcb_emu_set(warp, item, lane, d[r][lane]);
	}
}

/* --- with block scaling --- */

/* The scales that operands FIRST and the next select; 0 after a fault. */
static int scales_of(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned first, unsigned threads,
		     struct tcb_ptx_scales *out)
{
	const struct tcb_ptx_product *p = in->extra;
	const struct tcb_emu_operand *select = &in->op[first + 1];

	out->lanes = tcb_emu_get32(warp, tcb_emu_item(&in->op[first], 0));
	out->byte = (unsigned)tcb_emu_get(warp, tcb_emu_item(select, 0), 0);
	out->thread = (unsigned)tcb_emu_get(warp, tcb_emu_item(select, 1), 0);
	if (out->byte % p->scales == 0 && out->byte + p->scales <= 4 && out->thread < threads)
		return 1;
	tcb_emu_fault(
		warp, in, 0, TCB_PTX_RULE_OUT_OF_BOUNDS,
		"{byte, thread} {%u, %u} select no scales: with %u of a row or column bytes begin at multiples of "
		"that, and threads are below %u",
		out->byte, out->thread, p->scales, threads);
	return 0;
}

static void run_mma_scaled(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint64_t a[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES], b[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES],
		c[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES], d[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES];
	struct tcb_ptx_scales scales_a, scales_b;

	if (!tcb_emu_whole_warp(warp, in, active) || !scales_of(warp, in, 4, 2, &scales_a) ||
	    !scales_of(warp, in, 6, 4, &scales_b))
		return;
	read_fragment(warp, &in->op[1], a);
	read_fragment(warp, &in->op[2], b);
	read_fragment(warp, &in->op[3], c);
	tcb_ptx_mma_scaled(in->extra, a, b, &scales_a, &scales_b, c, d);
	for (unsigned r = 0; r < tcb_emu_items(&in->op[0]); r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
			tcb_emu_set(warp, tcb_emu_item(&in->op[0], r), lane, d[r][lane]);
}

/* --- in float --- */

static void registers_of(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, const uint32_t **out)
{
	for (unsigned r = 0; r < tcb_emu_items(op); r++)
		out[r] = tcb_emu_get32(warp, tcb_emu_item(op, r));
}

/* Registers of 32 bits whose numbers are likely to be near 1. */
static void run_mma_near(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a[TCB_PTX_FRAGMENT_REGS], *b[TCB_PTX_FRAGMENT_REGS], *c[TCB_PTX_FRAGMENT_REGS];
	uint32_t d[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES];

	if (active == UINT32_MAX) {
		registers_of(warp, &in->op[1], a);
		registers_of(warp, &in->op[2], b);
		registers_of(warp, &in->op[3], c);
		if (tcb_ptx_mma_near(in->extra, a, b, c, d)) {
			for (unsigned r = 0; r < tcb_emu_items(&in->op[0]); r++)
				tcb_emu_put32(warp, tcb_emu_item(&in->op[0], r), d[r], active);
			return;
		}
	}
	run_mma(warp, in, active);
}

/* Whether all registers of IN have 32 bits and are as many as P's elements of 16 or 32 bits. */
static int is_near(const struct tcb_emu_ins *in, const struct tcb_ptx_product *p)
{
	const unsigned each = p->a == TCB_PTX_TF32 ? 1 : 2, in_c = p->c == TCB_PTX_F16 ? 8 : 4,
		       in_d = p->d == TCB_PTX_F16 ? 8 : 4;
	const unsigned wanted[4] = { p->m / in_d, p->m * p->k / (TCB_PTX_LANES * each),
				     p->n * p->k / (TCB_PTX_LANES * each), p->m / in_c };

	if (!p->group || p->m % 8 || p->n != 8)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		if (tcb_emu_items(&in->op[i]) != wanted[i])
			return 0;
		for (unsigned r = 0; r < wanted[i]; r++)
			if (tcb_emu_item(&in->op[i], r)->bits != 32)
				return 0;
	}
	return 1;
}

/* --- matrices of 8 x 8 --- */

/* The address of LANE in shared memory's own numbering; 0 when it is generic and lies elsewhere. */
uint32_t tcb_emu_shared_address(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in,
				const struct tcb_emu_operand *op, enum tcb_ptx_word space, unsigned lane)
{
	uint64_t address = tcb_emu_address(warp, op, lane);

	if (space == TCB_PTX_NO_WORD && op->bits == 64) {
		if (TCB_EMU_WINDOW(address) != TCB_EMU_SHARED_WINDOW) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_ADDRESS_SPACE,
				      "%s needs an address in shared memory, and this generic address 0x%llx is not",
				      tcb_ptx_op_text((enum tcb_ptx_op)in->ins->op), (unsigned long long)address);
			return 0;
		}
		address &= ~(0xffull << 56);
	}
	return (uint32_t)address;
}

enum { ROW = 16 /* bytes */ };

/* The lanes whose addresses count. */
static uint32_t users_of(unsigned matrices)
{
	return matrices == 4 ? UINT32_MAX : (1u << (8 * matrices)) - 1;
}

/* Lane 8 J + I gives the address of row I of matrix J. */
static int row_addresses(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op,
			 unsigned matrices, uint64_t *address)
{
	const enum tcb_ptx_word space = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE);
	uint32_t narrow[TCB_PTX_LANES];

	for (unsigned lane = 0; lane < 8 * matrices; lane++) {
		address[lane] = narrow[lane] = tcb_emu_shared_address(warp, in, op, space, lane);
		if (warp->run->fault)
			return 0;
	}
	tcb_emu_count_shared(warp, in, narrow, users_of(matrices), ROW);
	return 1;
}

static void run_ldmatrix(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned matrices = tcb_emu_items(&in->op[0]);
	int transposed = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TRANSPOSE) == TCB_PTX_TRANS, are_checked;
	uint32_t lanes[4][TCB_PTX_LANES];
	uint64_t address[TCB_PTX_LANES];

	if (!tcb_emu_whole_warp(warp, in, active) || !row_addresses(warp, in, &in->op[1], matrices, address))
		return;
	are_checked = tcb_emu_shared_loads(warp, in, address, users_of(matrices), ROW);
	for (unsigned j = 0; j < matrices; j++) {
		uint16_t rows[8][8];

		for (unsigned i = 0; i < 8; i++) {
			const uint8_t *from = tcb_emu_shared(warp, in, (int)(8 * j + i), (uint32_t)address[8 * j + i],
							     ROW, ROW, are_checked ? 0 : TCB_EMU_READ, NULL);

			if (!from)
				return;
			memcpy(rows[i], from, ROW);
		}
		tcb_ptx_matrix_load(rows, transposed, lanes[j]);
	}
	for (unsigned j = 0; j < matrices; j++)
		tcb_emu_put32(warp, tcb_emu_item(&in->op[0], j), lanes[j], active);
}

static void run_stmatrix(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned matrices = tcb_emu_items(&in->op[1]);
	int transposed = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TRANSPOSE) == TCB_PTX_TRANS;
	uint8_t data[TCB_PTX_LANES][TCB_EMU_BYTES_MAX];
	uint64_t address[TCB_PTX_LANES];

	if (!tcb_emu_whole_warp(warp, in, active) || !row_addresses(warp, in, &in->op[0], matrices, address))
		return;
	for (unsigned j = 0; j < matrices; j++) {
		uint16_t rows[8][8];

		tcb_ptx_matrix_store(rows, transposed, tcb_emu_get32(warp, tcb_emu_item(&in->op[1], j)));
		for (unsigned i = 0; i < 8; i++)
			memcpy(data[8 * j + i], rows[i], ROW);
	}
	if (tcb_emu_shared_stores(warp, in, address, users_of(matrices), ROW,
				  (const uint8_t(*)[TCB_EMU_BYTES_MAX])data))
		return;
	for (unsigned lane = 0; lane < 8 * matrices; lane++) {
		uint8_t *to = tcb_emu_shared(warp, in, (int)lane, (uint32_t)address[lane], ROW, ROW, TCB_EMU_WRITE,
					     data[lane]);

		if (!to)
			return;
		memcpy(to, data[lane], ROW);
	}
}

static void run_movmatrix(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint16_t rows[8][8];
	uint32_t lanes[TCB_PTX_LANES];

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	tcb_ptx_matrix_store(rows, 0, tcb_emu_get32(warp, &in->op[1]));
	tcb_ptx_matrix_load(rows, 1, lanes);
	tcb_emu_put32(warp, &in->op[0], lanes, active);
}

enum tcb_status tcb_emu_bind_mma(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_LDMATRIX, run_ldmatrix },
		{ TCB_PTX_OP_STMATRIX, run_stmatrix },
		{ TCB_PTX_OP_MOVMATRIX, run_movmatrix },
	};
	struct tcb_ptx_product *product;

	if (tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners))
		return TCB_OK;
	product = tcb_arena_alloc(decoder->arena, sizeof *product);
	if (!product)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	if (!tcb_ptx_product_of(in->ins, product) || product->m > 16 || product->k > TCB_PTX_PRODUCT_MAX_K)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "this shape of mma is not emulated");
	in->extra = product;
	in->run = product->scales ? run_mma_scaled : is_near(in, product) ? run_mma_near : run_mma;
	return TCB_OK;
}
