/* SPDX-License-Identifier: MIT
 *
 * wgmma in the emulator.  Each of the four warps computes its 16 rows.
 *
 * An instruction is checked when it is issued and computed when a wait_group
 * covers it, from what shared memory holds then: code that overwrites a tile, or
 * reads its accumulators, too early gets what it would deserve on a bad day, and
 * a finding.  Accumulators in flight count as unwritten registers, which the
 * interpreter notices by itself; those and the registers of A are compared with
 * what they held at the last wgmma.fence.
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/emulate/tensor/emu_matrix.h"
#include "ptx/emulate/tensor/emu_tile.h"

/* Decoded. */
struct plan {
	struct tcb_ptx_product product; /* of one warp: m is 16 */
	int a_in_registers;
	int a_k_major, b_k_major;
	int sign;    /* of the product: -1 when one of A and B is negated */
	int is_near; /* numbers that a float holds are added in float */
};

struct pending {
	struct pending *next;
	const struct tcb_emu_ins *in;
	struct tcb_emu_frame *frame;
	uint64_t group;
	uint64_t a, b; /* descriptors */
	uint32_t tick; /* of the issue */
	int adds;      /* scale-d: D = A * B + D */
	uint32_t a_registers[4][TCB_PTX_LANES];
};

/* Of one warp. */
struct state {
	struct pending *first, **end; /* in the order of issue */
	struct pending *spare;
	uint64_t open;                /* the group that the next one joins */
	struct tcb_emu_frame *fenced; /* the frame whose registers IMAGE holds as of the last fence; NULL: none yet */
	uint8_t *image;
	size_t image_bytes;
	struct tcb_emu_clock scratch;
	uint64_t issued;
	const struct tcb_emu_ins *last; /* of those */
};

/* The matrices of the product that is computed, of a block. */
struct matrices {
	float near_a[16 * TCB_PTX_TENSOR_K], near_b[TCB_PTX_TENSOR_K * TCB_PTX_PRODUCT_MAX_N];
	float near_values[16 * TCB_PTX_PRODUCT_MAX_N];
	double *a, *b, *values; /* NULL before the first that is not computed in float */
};

static int has_doubles(struct tcb_emu_warp *warp, struct matrices *m)
{
	struct tcb_arena *arena = &warp->block->arena;

	if (m->values)
		return 1;
	m->a = tcb_arena_array(arena, 16 * TCB_PTX_TENSOR_K, sizeof *m->a);
	m->b = tcb_arena_array(arena, TCB_PTX_TENSOR_K * TCB_PTX_PRODUCT_MAX_N, sizeof *m->b);
	m->values = tcb_arena_array(arena, 16 * TCB_PTX_PRODUCT_MAX_N, sizeof *m->values);
	if (m->a && m->b && m->values)
		return 1;
	tcb_emu_no_memory(warp->run);
	return 0;
}

static struct state *state_of(struct tcb_emu_warp *warp)
{
	struct state *s = warp->unit[TCB_EMU_UNIT_WGMMA];
	struct tcb_arena *arena = &warp->block->arena;

	if (s)
		return s;
	s = tcb_arena_alloc(arena, sizeof *s);
	if (s)
		s->end = &s->first;
	if (!s || !tcb_emu_clock_init(warp->run, arena, &s->scratch)) {
		tcb_emu_no_memory(warp->run);
		return NULL;
	}
	warp->unit[TCB_EMU_UNIT_WGMMA] = s;
	return s;
}

/* --- registers and the fence --- */

static void check_registers(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct state *s,
			    const struct tcb_emu_operand *op, const uint8_t *lanes, const char *what)
{
	for (unsigned r = 0; r < tcb_emu_items(op); r++) {
		const struct tcb_emu_operand *item = tcb_emu_item(op, r);
		char name[64];

		if (item->kind != TCB_EMU_REG || memcmp(lanes + item->offset, s->image + item->offset, 128) == 0)
			continue;
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR,
			       "register %s of %s was written %s",
			       tcb_ptx_reg_name(warp->frame->function->function, item->reg, name, sizeof name),
			       tcb_ptx_op_text((enum tcb_ptx_op)in->ins->op), what);
		return;
	}
}

/* What registers that any wgmma of the function uses hold goes to IMAGE. */
static void keep_registers(const struct tcb_emu_frame *frame, uint8_t *image)
{
	const struct tcb_emu_function *function = frame->function;
	const uint32_t words = (function->function->reg_count + 63) / 64;

	for (uint32_t w = 0; function->wgmma_registers && w < words; w++)
		for (uint64_t left = function->wgmma_registers[w]; left; left &= left - 1) {
			const uint32_t at = function->reg_offset[64 * w + (uint32_t)__builtin_ctzll(left)];

			memcpy(image + at, frame->lanes + at, 128);
		}
}

static void run_fence(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct state *s = state_of(warp);
	size_t bytes = warp->frame->function->lane_bytes;

	if (!s || !tcb_emu_whole_warp(warp, in, active))
		return;
	for (const struct pending *p = s->first; p; p = p->next)
		if (p->frame == s->fenced)
			check_registers(warp, p->in, s, &p->in->op[0], p->frame->lanes,
					"while it was in flight: wait for it first");
	if (bytes > s->image_bytes) {
		s->image = tcb_arena_alloc(&warp->block->arena, bytes);
		s->image_bytes = s->image ? bytes : 0;
		if (!s->image) {
			tcb_emu_no_memory(warp->run);
			return;
		}
	}
	keep_registers(warp->frame, s->image);
	s->fenced = warp->frame;
}

int tcb_emu_wgmma_pending(const struct tcb_emu_warp *warp, uint32_t reg)
{
	const struct state *s = warp->unit[TCB_EMU_UNIT_WGMMA];

	for (const struct pending *p = s ? s->first : NULL; p; p = p->next)
		for (unsigned r = 0; p->frame == warp->frame && r < tcb_emu_items(&p->in->op[0]); r++)
			if (tcb_emu_item(&p->in->op[0], r)->reg == reg)
				return 1;
	return 0;
}

/* The same of the register at PLACE among the accumulators of IN, which most often is at that place in all. */
static int is_in_flight(const struct tcb_emu_warp *warp, const struct state *s, const struct tcb_emu_ins *in,
			unsigned place)
{
	const uint32_t reg = tcb_emu_item(&in->op[0], place)->reg;

	for (const struct pending *p = s->first; p; p = p->next)
		if (p->frame == warp->frame && place < tcb_emu_items(&p->in->op[0]) &&
		    tcb_emu_item(&p->in->op[0], place)->reg == reg)
			return 1;
	return tcb_emu_wgmma_pending(warp, reg);
}

static void mark(struct tcb_emu_frame *frame, const struct tcb_emu_operand *op, int is_written)
{
	for (unsigned r = 0; r < tcb_emu_items(op); r++)
		if (tcb_emu_item(op, r)->kind == TCB_EMU_REG)
			frame->written[tcb_emu_item(op, r)->reg] = is_written ? UINT32_MAX : 0;
}

/* --- tiles in shared memory --- */

static struct tcb_emu_tile tile_a(const struct tcb_emu_warp *warp, const struct plan *plan, uint64_t bits)
{
	return (struct tcb_emu_tile){ .at = tcb_ptx_matrix_descriptor(bits),
				      .type = plan->product.a,
				      .k_major = plan->a_k_major,
				      .first = 16 * (warp->index & 3),
				      .rows = 16,
				      .k = plan->product.k };
}

static struct tcb_emu_tile tile_b(const struct plan *plan, uint64_t bits)
{
	return (struct tcb_emu_tile){ .at = tcb_ptx_matrix_descriptor(bits),
				      .type = plan->product.b,
				      .is_b = 1,
				      .k_major = plan->b_k_major,
				      .rows = plan->product.n,
				      .k = plan->product.k };
}

static int check_descriptor(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op,
			    uint64_t *bits_out)
{
	const uint64_t *lanes = tcb_emu_get64(warp, op);

	*bits_out = lanes[0];
	for (unsigned lane = 1; lane < TCB_PTX_LANES; lane++)
		if (lanes[lane] != lanes[0]) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_WGMMA_ORDER,
				      "the matrix descriptor differs between the lanes of a warp");
			return 0;
		}
	return 1;
}

/* --- issue --- */

static void run_wgmma(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct plan *plan = in->extra;
	struct state *s = state_of(warp);
	struct tcb_emu_tile tile;
	struct pending *p;

	if (!s || !tcb_emu_whole_warp(warp, in, active))
		return;
	if ((warp->index | 3) >= warp->block->warp_count) {
		tcb_emu_fault(warp, in, 0, TCB_PTX_RULE_WGMMA_ORDER,
			      "wgmma needs four warps, the first a multiple of four, and the block has %u",
			      warp->block->warp_count);
		return;
	}
	p = s->spare ? s->spare : tcb_arena_alloc(&warp->block->arena, sizeof *p);
	if (!p) {
		tcb_emu_no_memory(warp->run);
		return;
	}
	s->spare = s->spare ? s->spare->next : NULL;
	*p = (struct pending){ .in = in, .frame = warp->frame, .group = s->open, .tick = warp->run->tick };
	s->issued++;
	s->last = in;
	p->adds = tcb_emu_pred(warp, &in->op[3]) & 1;
	if (s->fenced != warp->frame) {
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR,
			       "no wgmma.fence before the first wgmma.mma_async: its registers may not be there yet");
	} else {
		if (p->adds)
			check_registers(warp, in, s, &in->op[0], warp->lanes, "after the last wgmma.fence");
		if (plan->a_in_registers)
			check_registers(warp, in, s, &in->op[1], warp->lanes, "after the last wgmma.fence");
	}
	for (unsigned r = 0; p->adds && r < tcb_emu_items(&in->op[0]); r++) {
		uint32_t reg = tcb_emu_item(&in->op[0], r)->reg;

		if (warp->frame->written[reg] != UINT32_MAX && !is_in_flight(warp, s, in, r))
			tcb_emu_check_written(warp, in, reg, active);
	}
	if (plan->a_in_registers)
		for (unsigned r = 0; r < 4; r++)
			memcpy(p->a_registers[r], tcb_emu_get32(warp, tcb_emu_item(&in->op[1], r)), 128);
	else if (!check_descriptor(warp, in, &in->op[1], &p->a))
		return;
	tile = tile_a(warp, plan, p->a);
	if (!plan->a_in_registers && !tcb_emu_tile_check(warp, in, &tile))
		return;
	if (!check_descriptor(warp, in, &in->op[2], &p->b))
		return;
	tile = tile_b(plan, p->b);
	if (!tcb_emu_tile_check(warp, in, &tile))
		return;
	mark(warp->frame, &in->op[0], 0);
	*s->end = p;
	s->end = &p->next;
}

/* --- numbers of any size, in double --- */

static void a_from_registers(const struct plan *plan, const struct pending *p, double *out)
{
	unsigned each = 32 / tcb_ptx_type_bits(plan->product.a);
	double value[8];

	for (unsigned r = 0; r < 4; r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			unsigned row = lane / 4 + 8 * (r & 1), k = lane % 4 * each + r / 2 * 4 * each;

			tcb_ptx_elements(plan->product.a, 0, p->a_registers[r][lane], each, value);
			memcpy(out + row * plan->product.k + k, value, each * sizeof *value);
		}
}

/* One register of f32 to VALUES, or from them. */
static void accumulator_f32(const struct plan *plan, const struct pending *p, double *values, unsigned r, int is_result,
			    uint32_t *lanes)
{
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
		double *value =
			&values[tcb_ptx_wgmma_row(r, 0, lane) * plan->product.n + tcb_ptx_wgmma_column(r, lane)];

		if (is_result)
			lanes[lane] = *value == *value ? tcb_ptx_float_bits((float)*value)
						       : (uint32_t)tcb_ptx_product_bits(&plan->product, *value);
		else
			*value = p->adds ? (double)tcb_ptx_float_of_bits(lanes[lane]) : 0;
	}
}

/* Accumulators to VALUES, or from them, as rows of N. */
static void accumulators(const struct plan *plan, const struct pending *p, double *values, int is_result,
			 uint8_t *image)
{
	unsigned per = plan->product.d == TCB_PTX_F16 ? 2 : 1;

	for (unsigned r = 0; r < tcb_emu_items(&p->in->op[0]); r++) {
		const struct tcb_emu_operand *item = tcb_emu_item(&p->in->op[0], r);
		uint32_t *lanes = (uint32_t *)(p->frame->lanes + item->offset);

		if (plan->product.d == TCB_PTX_F32)
			accumulator_f32(plan, p, values, r, is_result, lanes);
		for (unsigned lane = 0; lane < TCB_PTX_LANES && plan->product.d != TCB_PTX_F32; lane++) {
			uint32_t result = 0;

			for (unsigned h = 0; h < per; h++) {
				unsigned e = per * r + h, row = tcb_ptx_wgmma_row(e, 0, lane);
				double *value = &values[row * plan->product.n + tcb_ptx_wgmma_column(e, lane)];
				uint32_t old = lanes[lane] >> (16 * h) & (per == 2 ? 0xffff : UINT32_MAX);

				if (is_result)
					result |= (uint32_t)tcb_ptx_product_bits(&plan->product, *value) << (16 * h);
				else
					*value = p->adds ? tcb_ptx_product_value(&plan->product, old) : 0;
			}
			if (is_result)
				lanes[lane] = result;
		}
		if (is_result && image)
			memcpy(image + item->offset, lanes, 128);
	}
}

/* --- in float --- */

static void near_a_from_registers(const struct plan *plan, const struct pending *p, float *out)
{
	const unsigned each = 32 / tcb_ptx_type_bits(plan->product.a);
	float value[16];

	for (unsigned r = 0; r < 4; r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane += 4) { /* they have one row */
			const unsigned row = lane / 4 + 8 * (r & 1), k = r / 2 * 4 * each;

			tcb_ptx_near_chunk(plan->product.a, (const uint8_t *)&p->a_registers[r][lane], value);
			memcpy(out + row * plan->product.k + k, value, 4 * each * sizeof *value);
		}
}

static void near_accumulators(const struct plan *plan, const struct pending *p, float *values)
{
	const unsigned n = plan->product.n, per = plan->product.d == TCB_PTX_F16 ? 2 : 1;

	for (unsigned r = 0; p->adds && r < tcb_emu_items(&p->in->op[0]); r++) {
		const uint32_t *lanes = (uint32_t *)(p->frame->lanes + tcb_emu_item(&p->in->op[0], r)->offset);
		float *at = values + tcb_ptx_wgmma_row(per * r, 0, 0) * n + tcb_ptx_wgmma_column(per * r, 0);

		for (unsigned row = 0; row < 8; row++, at += n, lanes += 4)
			for (unsigned i = 0; i < 4; i++) {
				if (per == 1) {
					at[2 * i] = tcb_ptx_float_of_bits(lanes[i]);
					continue;
				}
				at[2 * i] = tcb_ptx_f16_to_f32(lanes[i] & 0xffff);
				at[2 * i + 1] = tcb_ptx_f16_to_f32(lanes[i] >> 16);
			}
	}
	if (!p->adds)
		memset(values, 0, 16 * n * sizeof *values);
}

static void near_results(const struct plan *plan, const struct pending *p, const float *values, uint8_t *image)
{
	const unsigned n = plan->product.n, per = plan->product.d == TCB_PTX_F16 ? 2 : 1;

	for (unsigned r = 0; r < tcb_emu_items(&p->in->op[0]); r++) {
		const struct tcb_emu_operand *item = tcb_emu_item(&p->in->op[0], r);
		uint32_t *lanes = (uint32_t *)(p->frame->lanes + item->offset);
		const float *at = values + tcb_ptx_wgmma_row(per * r, 0, 0) * n + tcb_ptx_wgmma_column(per * r, 0);

		for (unsigned row = 0; row < 8; row++, at += n)
			for (unsigned i = 0; i < 4; i++)
				lanes[4 * row + i] = per == 1 ? tcb_ptx_float_bits(at[2 * i])
							      : tcb_ptx_f32_to_f16(at[2 * i]) |
									tcb_ptx_f32_to_f16(at[2 * i + 1]) << 16;
		if (image)
			memcpy(image + item->offset, lanes, 128);
	}
}

/* The product in float; 0: its numbers are not such that this will do, and nothing has changed. */
static int complete_near(struct tcb_emu_warp *warp, const struct state *s, const struct pending *p, struct matrices *m)
{
	const struct plan *plan = p->in->extra;
	struct tcb_emu_tile tile = tile_a(warp, plan, p->a);

	if (!plan->is_near)
		return 0;
	if (plan->a_in_registers)
		near_a_from_registers(plan, p, m->near_a);
	else if (!tcb_emu_tile_near(warp, p->in, &tile, m->near_a))
		return 0;
	tile = tile_b(plan, p->b);
	if (!tcb_emu_tile_near(warp, p->in, &tile, m->near_b))
		return 0;
	for (unsigned i = 0; plan->sign < 0 && i < 16 * plan->product.k; i++)
		m->near_a[i] = -m->near_a[i];
	near_accumulators(plan, p, m->near_values);
	if (!tcb_ptx_tensor_sums(&plan->product, m->near_a, m->near_b, m->near_values))
		return 0;
	near_results(plan, p, m->near_values, p->frame == s->fenced ? s->image : NULL);
	return 1;
}

/* --- completion --- */

static int complete(struct tcb_emu_warp *warp, struct state *s, struct pending *p)
{
	const struct plan *plan = p->in->extra;
	struct tcb_emu_tile tile = tile_a(warp, plan, p->a);
	struct matrices *m = tcb_emu_unit(warp, TCB_EMU_UNIT_WGMMA, sizeof *m);

	if (!m)
		return 0;
	for (unsigned r = 0; plan->a_in_registers && r < 4; r++)
		if (tcb_emu_item(&p->in->op[1], r)->kind == TCB_EMU_REG &&
		    memcmp(p->frame->lanes + tcb_emu_item(&p->in->op[1], r)->offset, p->a_registers[r], 128) != 0)
			tcb_emu_report(warp, p->in, -1, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR,
				       "a register of A was written while it was in flight: wait for it first");
	if (p->frame == s->fenced)
		check_registers(warp, p->in, s, &p->in->op[0], p->frame->lanes,
				"while it was in flight: wait for it first");
	if (complete_near(warp, s, p, m))
		return 1;
	if (!has_doubles(warp, m))
		return 0;
	if (plan->a_in_registers)
		a_from_registers(plan, p, m->a);
	else if (!tcb_emu_tile_read(warp, p->in, &tile, m->a))
		return 0;
	tile = tile_b(plan, p->b);
	if (!tcb_emu_tile_read(warp, p->in, &tile, m->b))
		return 0;
	for (unsigned i = 0; plan->sign < 0 && i < 16 * plan->product.k; i++)
		m->a[i] = -m->a[i];
	accumulators(plan, p, m->values, 0, NULL);
	tcb_ptx_product_run(&plan->product, m->a, m->b, m->values, m->values);
	accumulators(plan, p, m->values, 1, p->frame == s->fenced ? s->image : NULL);
	return 1;
}

static void run_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct state *s = state_of(warp);

	if (s && tcb_emu_whole_warp(warp, in, active))
		s->open++;
}

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct state *s = state_of(warp);
	uint64_t allowed = in->ins->operands[0].bits;

	if (!s || !tcb_emu_whole_warp(warp, in, active))
		return;
	while (s->first && s->first->group + allowed < s->open) {
		struct pending *p = s->first;

		if (!complete(warp, s, p))
			return;
		mark(p->frame, &p->in->op[0], 1);
		s->first = p->next;
		if (!s->first)
			s->end = &s->first;
		p->next = s->spare;
		s->spare = p;
	}
	/* what the others read is not behind this warp */
	if (s->first)
		s->scratch.whole[warp->run->agents - 2] = s->first->tick;
	else
		tcb_emu_release_async(warp->run, &s->scratch);
	tcb_emu_acquire(warp, active, &s->scratch);
	warp->gathered = ++warp->run->tick;
	/* accumulators that a later one still works on are in flight */
	for (const struct pending *p = s->first; p; p = p->next)
		mark(p->frame, &p->in->op[0], 0);
}

void tcb_emu_wgmma_end(struct tcb_emu_block *block)
{
	for (uint32_t i = 0; i + 3 < block->warp_count; i += 4) {
		const struct state *first = NULL, *other;
		uint64_t least = UINT64_MAX, most = 0;
		struct tcb_emu_warp *who = NULL;

		for (uint32_t k = i; k < i + 4; k++) {
			other = block->warps[k].unit[TCB_EMU_UNIT_WGMMA];
			least = !other ? 0 : other->issued < least ? other->issued : least;
			if (other && other->issued > most) {
				most = other->issued;
				first = other;
				who = &block->warps[k];
			}
		}
		if (most > least && first)
			tcb_emu_report(who, first->last, -1, TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR,
				       "warps of this group of four executed wgmma %llu and %llu times: all four must "
				       "execute each one",
				       (unsigned long long)most, (unsigned long long)least);
	}
}

/* Accumulators are no plain sources: they may be in flight, or not used at all. */
static enum tcb_status drop_accumulators(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	uint32_t *kept = tcb_arena_array(decoder->arena, in->source_count + 1u, sizeof *kept);
	unsigned count = 0;

	if (!kept)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	for (unsigned i = 0; i < in->source_count; i++) {
		int is_accumulator = 0;

		for (unsigned r = 0; r < tcb_emu_items(&in->op[0]); r++)
			is_accumulator |= tcb_emu_item(&in->op[0], r)->reg == in->sources[i];
		if (!is_accumulator)
			kept[count++] = in->sources[i];
	}
	in->sources = kept;
	in->source_count = (uint16_t)count;
	in->result_count = 0; /* written when they arrive */
	return TCB_OK;
}

/* The fence keeps what these registers hold. */
static enum tcb_status keep_for_fence(struct tcb_emu_decoder *decoder, const struct tcb_emu_operand *op,
				      struct tcb_error *err)
{
	struct tcb_emu_function *function = decoder->function;

	if (!function->wgmma_registers)
		function->wgmma_registers = tcb_arena_array(decoder->arena, function->function->reg_count / 64 + 1,
							    sizeof *function->wgmma_registers);
	if (!function->wgmma_registers)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	for (unsigned r = 0; r < tcb_emu_items(op); r++)
		if (tcb_emu_item(op, r)->kind == TCB_EMU_REG)
			function->wgmma_registers[tcb_emu_item(op, r)->reg / 64] |= 1ull
										    << tcb_emu_item(op, r)->reg % 64;
	return TCB_OK;
}

static int immediate(const struct tcb_emu_ins *in, unsigned index, int otherwise)
{
	return index < in->op_count ? (int)(int64_t)in->ins->operands[index].bits : otherwise;
}

enum tcb_status tcb_emu_bind_wgmma(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_WGMMA_FENCE, run_fence },
		{ TCB_PTX_OP_WGMMA_COMMIT_GROUP, run_commit },
		{ TCB_PTX_OP_WGMMA_WAIT_GROUP, run_wait },
	};
	struct plan *plan;

	if (tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners))
		return TCB_OK;
	plan = tcb_arena_alloc(decoder->arena, sizeof *plan);
	if (!plan)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	if (!tcb_ptx_product_of(in->ins, &plan->product) || plan->product.k > 32)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "this shape of wgmma is not emulated");
	decoder->program->reads_async = 1;
	plan->product.m = 16;
	plan->a_in_registers = in->op[1].kind == TCB_EMU_VECTOR;
	plan->sign = immediate(in, 4, 1) * immediate(in, 5, 1);
	plan->a_k_major = plan->a_in_registers || !immediate(in, 6, 0);
	plan->b_k_major = !immediate(in, plan->a_in_registers ? 6 : 7, 0);
	plan->is_near = plan->product.group && plan->product.n % 8 == 0 && plan->product.k % 8 == 0;
	in->extra = plan;
	in->run = run_wgmma;
	TCB_TRY(keep_for_fence(decoder, &in->op[0], err));
	if (plan->a_in_registers)
		TCB_TRY(keep_for_fence(decoder, &in->op[1], err));
	return drop_accumulators(decoder, in, err);
}
