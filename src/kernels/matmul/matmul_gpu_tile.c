/* SPDX-License-Identifier: MIT
 *
 * The frame of fma and mma: a block has a tile of C and, with splitk, a part of
 * k.  Steps of k pass through a ring of stages in shared memory.
 *
 * copy=async: a step is asked for stages - 1 steps ahead.  The barrier that says
 * that the next step is there stands before the last fragment of this one is
 * multiplied, so that the first of the next is loaded meanwhile; it also says that
 * all have read this step, whose slot is the next to be filled.
 *
 * copy=ldg: the next step is loaded to registers while this one is multiplied,
 * then stored to the other slot.
 *
 * splitk: the blocks of a tile leave their sums in the workspace, and the last one
 * of them adds all in order; its atomic increment leaves the counter at 0.
 */
#include "kernels/gpu/barrier.h"
#include "kernels/matmul/matmul_gpu_copy.h"
#include "kernels/matmul/matmul_gpu_math.h"

/* --- storing --- */

/* BASE + (ROW * N + COLUMN) * BYTES, where rows and columns are multiples of WIDE values: plainly aligned to these. */
static kit_op element(struct mm_writer *w, kit_op base, kit_op row, kit_op column, unsigned bytes, unsigned wide)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op length = w->n;
	if (wide > 1) {
		length = u_shr(b, length, I(__builtin_ctz(wide)));
		column = u_shr(b, column, I(__builtin_ctz(wide)));
	}
	const kit_op at = l_mad_wide(b, row, length, l_from_u(b, column));
	return l_add(b, base, l_mul(b, at, I((int64_t)bytes * wide)));
}

static kit_op is_inside(struct mm_writer *w, kit_op row, kit_op column)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return u_lt_and(b, column, w->n, u_lt(b, row, w->m));
}

/* Values of f32 that rows of the workspace are aligned to, 4 at most. */
static unsigned wide_f32(const struct mm_writer *w)
{
	const unsigned values = w->g->vec_c / w->g->element;
	return values < 4 ? values : 4;
}

/* COUNT f32 side by side, as wide as N lets rows be aligned. */
static void store_f32(struct mm_writer *w, kit_op base, kit_op row, kit_op column, const kit_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned wide = wide_f32(w) < count ? wide_f32(w) : count;
	for (unsigned i = 0; i < count; i += wide) {
		const kit_op here = i ? u_add(b, column, I(i)) : column;
		const kit_op at = element(w, base, row, here, 4, wide);
		tcb_kit_store_where(b, is_inside(w, row, here), TCB_KIT_GLOBAL, "f32", at, values + i, wide);
	}
}

/* Two values in a register, LOW in its lower half. */
static kit_op pack(struct mm_writer *w, kit_op low, kit_op high)
{
	return tcb_kit_pack(&w->kit.b, w->g->type == TCB_TYPE_BF16 ? "bf16" : "f16", low, high);
}

static void store_half(struct mm_writer *w, kit_op row, kit_op column, const kit_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned wide = w->g->vec_c / 2 < count ? w->g->vec_c / 2 : count;
	for (unsigned i = 0; i < count; i += wide) {
		const kit_op here = i ? u_add(b, column, I(i)) : column;
		const kit_op at = element(w, w->c, row, here, 2, wide);
		kit_op packed[2];
		for (unsigned j = 0; j < wide / 2; j++)
			packed[j] = pack(w, values[i + 2 * j], values[i + 2 * j + 1]);
		if (wide == 1)
			packed[0] = (w->g->type == TCB_TYPE_F16 ? f16_from_f : bf16_from_f)(b, values[i]);
		tcb_kit_store_where(b, is_inside(w, row, here), TCB_KIT_GLOBAL, wide == 1 ? "b16" : "b32", at, packed,
				    wide == 4 ? 2 : 1);
	}
}

static void store_c(struct mm_writer *w, kit_op row, kit_op column, const kit_op *values, unsigned count)
{
	if (w->g->type == TCB_TYPE_F32)
		store_f32(w, w->c, row, column, values, count);
	else
		store_half(w, row, column, values, count);
}

static void store_slice(struct mm_writer *w, kit_op row, kit_op column, const kit_op *values, unsigned count)
{
	store_f32(w, w->slices, row, column, values, count);
}

/* --- splitk --- */

/* Values from COLUMN on of row ROW: their parts of all slices, added in order. */
static void write_sum(struct mm_writer *w, kit_op first_slice, kit_op slice_bytes, kit_op row, kit_op column)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned wide = wide_f32(w);
	kit_op at = element(w, first_slice, row, column, 4, wide), part[4], sum[4];
	const kit_op inside = is_inside(w, row, column);
	for (unsigned j = 0; j < wide; j++)
		sum[j] = f_set(b, F(0));
	tcb_ptx_if_begin(b, inside);
	for (unsigned i = 0; i < w->g->splitk; i++) {
		tcb_kit_load(b, TCB_KIT_OTHERS, "f32", at, part, wide);
		for (unsigned j = 0; j < wide; j++)
			f_add_to(b, sum[j], sum[j], part[j]);
		at = l_add(b, at, slice_bytes);
	}
	store_c(w, row, column, sum, wide);
	tcb_ptx_if_end(b);
}

static void write_slices(struct mm_writer *w, const struct mm_math *math, kit_op slice)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const unsigned wide = wide_f32(w);
	const kit_op pieces = l_mul_wide(b, w->m, u_shr(b, w->n, I(__builtin_ctz(wide))));
	const kit_op slice_bytes = l_mul(b, pieces, I(4 * wide));
	const kit_op first = w->slices;
	w->slices = l_add(b, first, l_mul(b, slice_bytes, l_from_u(b, slice)));
	math->results(w, store_slice);
	tcb_kit_block_barrier(b);
	tcb_kit_last_begin(&w->kit);
	const kit_op counter = tcb_kit_element(b, w->counters, u_block_x(b), 4);
	tcb_kit_last_of(&w->kit, tcb_ptx_at(counter, 0), I(g->splitk - 1), g->flag_at);
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, I((int64_t)g->bm * g->bn / wide), I(g->threads), 0);
	const kit_op row = u_add(b, w->row, u_div(b, loop, I(g->bn / wide)));
	const kit_op piece = u_rem(b, loop, I(g->bn / wide));
	write_sum(w, first, slice_bytes, row, u_mad(b, piece, I(wide), w->column));
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

/* --- the loop along k --- */

static void wait_for_step(struct mm_writer *w)
{
	copies_wait(&w->kit.b, I(w->g->stages - 2));
	tcb_kit_block_barrier(&w->kit.b);
}

static void write_async(struct mm_writer *w, const struct mm_math *math, struct mm_copy *copy, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct mm_fragments f;
	math->open(w, &f);
	for (unsigned i = 0; i + 1 < w->g->stages; i++)
		mm_write_copy_load(w, copy);
	const kit_op slot = u_set(b, w->kit.shared);
	wait_for_step(w);
	math->load(w, &f, slot, 0);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), count, I(1), 0);
	for (unsigned step = 0; step < math->steps; step++) {
		if (step + 1 < math->steps) {
			math->load(w, &f, slot, step + 1);
		} else {
			const kit_op has_next = u_lt(b, u_add(b, loop, I(1)), count);
			wait_for_step(w);
			mm_write_next_slot(w, slot);
			tcb_ptx_guard(b, has_next);
			math->load(w, &f, slot, 0);
			tcb_ptx_unguard(b);
		}
		if (step == 0)
			mm_write_copy_load(w, copy);
		math->multiply(w, &f, step);
	}
	tcb_ptx_for_end(b);
	copies_wait_all(b);
}

static void write_ldg(struct mm_writer *w, const struct mm_math *math, struct mm_copy *copy, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct mm_fragments f;
	math->open(w, &f);
	mm_write_copy_load(w, copy);
	mm_write_copy_store(w, copy);
	const kit_op slot = u_set(b, w->kit.shared);
	tcb_kit_block_barrier(b);
	tcb_ptx_for_begin(b, I(0), count, I(1), 0);
	mm_write_copy_load(w, copy);
	math->load(w, &f, slot, 0);
	for (unsigned step = 0; step < math->steps; step++) {
		if (step + 1 < math->steps)
			math->load(w, &f, slot, step + 1);
		math->multiply(w, &f, step);
	}
	mm_write_copy_store(w, copy);
	mm_write_next_slot(w, slot);
	tcb_kit_block_barrier(b);
	tcb_ptx_for_end(b);
}

/* --- a kernel --- */

void mm_write_tiles(struct mm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	static const char *const types[] = { "f32", "f16", "bf16" };
	const struct mm_math math = g->isa == TCB_ISA_FMA ? mm_math_fma(g) : mm_math_mma(g);
	struct mm_copy copy = { .is_plain = 0 };
	kit_op slice = I(0), first = I(0), end;
	mm_write_begin(w, tcb_ptx_namef(b, "matmul_%s_%s", types[g->type], g->isa == TCB_ISA_FMA ? "fma" : "mma"));
	w->a = tcb_kit_operand(&w->kit, "a", 16, MATMUL_A);
	w->b_ = tcb_kit_operand(&w->kit, "b", 16, MATMUL_B);
	w->c = tcb_kit_operand(&w->kit, "c", 16, MATMUL_C);
	w->m = tcb_kit_number(&w->kit, "m", g->m);
	w->n = tcb_kit_number(&w->kit, "n", g->n);
	w->k = tcb_kit_number(&w->kit, "k", g->k);
	mm_write_parameters(w);
	mm_write_tile(w, u_block_x(b));
	end = w->k;
	if (g->splitk > 1) {
		const kit_op part = u_mul(b, w->steps, I(g->bk));
		slice = u_block_y(b);
		first = u_mul(b, slice, part);
		end = u_min(b, u_add(b, first, part), w->k);
	}
	/* none in a slice past K's end */
	const kit_op left = s_max(b, s_sub(b, end, first), I(0));
	const kit_op count = u_div_up(b, left, g->bk);
	mm_write_copy_open(w, &copy, g->splitk > 1 ? first : u_set(b, I(0)), end);
	for (unsigned i = 0; i < g->wm * g->wn / 32; i++)
		w->acc[i] = f_set(b, F(0));
	tcb_kit_depend(&w->kit);
	if (g->copy == TCB_COPY_ASYNC) {
		tcb_ptx_if_begin(b, mm_write_copy_is_plain(w, &copy));
		copy.is_plain = 1;
		write_async(w, &math, &copy, count);
		tcb_ptx_if_else(b);
		copy.is_plain = 0;
		write_async(w, &math, &copy, count);
		tcb_ptx_if_end(b);
	} else {
		write_ldg(w, &math, &copy, count);
	}
	/* Not before: of a grid smaller than the device the next one's blocks would lie on the SMs that are free,
	 * several on one, instead of one on each. */
	if (g->isa == TCB_ISA_MMA)
		tcb_kit_dependents(&w->kit, 0);
	if (g->splitk > 1)
		write_slices(w, &math, slice);
	else
		math.results(w, store_c);
	tcb_kit_end(&w->kit);
}
