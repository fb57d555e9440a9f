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
#include "kernels/matmul/matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { SHARED_ALIGN = 1024 };

/* --- storing --- */

/* BASE + (ROW * N + COLUMN) * BYTES, where rows and columns are multiples of WIDE values: plainly aligned to these. */
static mm_op element(struct mm_writer *w, mm_op base, mm_op row, mm_op column, unsigned bytes, unsigned wide)
{
	struct tcb_ptx_build *b = &w->b;
	mm_op length = w->n;
	if (wide > 1) {
		length = OP2(b, "shr.u32", length, I(__builtin_ctz(wide)));
		column = OP2(b, "shr.u32", column, I(__builtin_ctz(wide)));
	}
	const mm_op at = OP3(b, "mad.wide.u32", row, length, OP1(b, "cvt.u64.u32", column));
	return OP2(b, "add.u64", base, OP2(b, "mul.lo.u64", at, I((int64_t)bytes * wide)));
}

static mm_op is_inside(struct mm_writer *w, mm_op row, mm_op column)
{
	struct tcb_ptx_build *b = &w->b;
	return OP3(b, "setp.lt.and.u32", column, w->n, OP2(b, "setp.lt.u32", row, w->m));
}

/* Values of f32 that rows of the workspace are aligned to, 4 at most. */
static unsigned wide_f32(const struct mm_writer *w)
{
	const unsigned values = w->g->vec_c / w->g->element;
	return values < 4 ? values : 4;
}

/* COUNT f32 side by side, as wide as N lets rows be aligned. */
static void store_f32(struct mm_writer *w, mm_op base, mm_op row, mm_op column, const mm_op *values, unsigned count)
{
	static const char *const stores[] = { "", "st.global.f32", "st.global.v2.f32", "", "st.global.v4.f32" };
	struct tcb_ptx_build *b = &w->b;
	const unsigned wide = wide_f32(w) < count ? wide_f32(w) : count;
	for (unsigned i = 0; i < count; i += wide) {
		const mm_op here = i ? OP2(b, "add.u32", column, I(i)) : column;
		const mm_op at = element(w, base, row, here, 4, wide);
		tcb_ptx_guard(b, is_inside(w, row, here));
		tcb_ptx_store(b, stores[wide], tcb_ptx_at(at, 0), values + i, wide);
		tcb_ptx_unguard(b);
	}
}

/* Two values in a register, LOW in its lower half. */
static mm_op pack(struct mm_writer *w, mm_op low, mm_op high)
{
	struct tcb_ptx_build *b = &w->b;
	if (w->g->type == MATMUL_BF16)
		return OP2(b, "cvt.rn.bf16x2.f32", high, low);
	if (w->g->capability >= 80)
		return OP2(b, "cvt.rn.f16x2.f32", high, low);
	const mm_op halves[] = { OP1(b, "cvt.rn.f16.f32", low), OP1(b, "cvt.rn.f16.f32", high) };
	return OP1(b, "mov.b32", tcb_ptx_vector(b, halves, 2));
}

static void store_half(struct mm_writer *w, mm_op row, mm_op column, const mm_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->b;
	const char *type = w->g->type == MATMUL_F16 ? "f16" : "bf16";
	const unsigned wide = w->g->vec_c / 2 < count ? w->g->vec_c / 2 : count;
	for (unsigned i = 0; i < count; i += wide) {
		const mm_op here = i ? OP2(b, "add.u32", column, I(i)) : column;
		const mm_op at = element(w, w->c, row, here, 2, wide);
		mm_op packed[2];
		for (unsigned j = 0; j < wide / 2; j++)
			packed[j] = pack(w, values[i + 2 * j], values[i + 2 * j + 1]);
		if (wide == 1)
			packed[0] = OP1(b, tcb_ptx_namef(b, "cvt.rn.%s.f32", type), values[i]);
		tcb_ptx_guard(b, is_inside(w, row, here));
		tcb_ptx_store(b,
			      wide == 1   ? "st.global.b16"
			      : wide == 2 ? "st.global.b32"
					  : "st.global.v2.b32",
			      tcb_ptx_at(at, 0), packed, wide == 4 ? 2 : 1);
		tcb_ptx_unguard(b);
	}
}

static void store_c(struct mm_writer *w, mm_op row, mm_op column, const mm_op *values, unsigned count)
{
	if (w->g->type == MATMUL_F32)
		store_f32(w, w->c, row, column, values, count);
	else
		store_half(w, row, column, values, count);
}

static void store_slice(struct mm_writer *w, mm_op row, mm_op column, const mm_op *values, unsigned count)
{
	store_f32(w, w->slices, row, column, values, count);
}

/* --- splitk --- */

/* Values from COLUMN on of row ROW: their parts of all slices, added in order. */
static void write_sum(struct mm_writer *w, mm_op first_slice, mm_op slice_bytes, mm_op row, mm_op column)
{
	struct tcb_ptx_build *b = &w->b;
	static const char *const loads[] = { "", "ld.global.cg.f32", "ld.global.cg.v2.f32", "", "ld.global.cg.v4.f32" };
	const unsigned wide = wide_f32(w);
	mm_op at = element(w, first_slice, row, column, 4, wide), part[4], sum[4];
	const mm_op inside = is_inside(w, row, column);
	struct tcb_ptx_if scope;
	for (unsigned j = 0; j < wide; j++)
		sum[j] = mm_constant(w, "f32", tcb_ptx_f32(0));
	tcb_ptx_if_begin(b, &scope, inside);
	for (unsigned i = 0; i < w->g->splitk; i++) {
		tcb_ptx_load(b, loads[wide], tcb_ptx_at(at, 0), part, wide);
		for (unsigned j = 0; j < wide; j++)
			tcb_ptx_into2(b, "add.rn.f32", sum[j], sum[j], part[j]);
		at = OP2(b, "add.u64", at, slice_bytes);
	}
	store_c(w, row, column, sum, wide);
	tcb_ptx_if_end(b, &scope);
}

static void write_slices(struct mm_writer *w, const struct mm_math *math, mm_op slice)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	const unsigned wide = wide_f32(w);
	const mm_op pieces = OP2(b, "mul.wide.u32", w->m, OP2(b, "shr.u32", w->n, I(__builtin_ctz(wide))));
	const mm_op slice_bytes = OP2(b, "mul.lo.u64", pieces, I(4 * wide));
	const mm_op first = w->slices;
	struct tcb_ptx_if scope;
	struct tcb_ptx_for loop;
	mm_op flag;
	w->slices = OP2(b, "add.u64", first, OP2(b, "mul.lo.u64", slice_bytes, OP1(b, "cvt.u64.u32", slice)));
	math->results(w, store_slice);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", w->tid, I(0)));
	tcb_ptx_op0(b, "fence.acq_rel.gpu"); /* behind the barrier: what the other warps stored is ordered as well */
	const mm_op counter = OP3(b, "mad.wide.u32", tcb_ptx_special(b, "ctaid.x"), I(4), w->counters);
	const mm_op arrived = OP2(b, "atom.global.inc.u32", tcb_ptx_at(counter, 0), I(g->splitk - 1));
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_store(b, "st.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &arrived, 1);
	tcb_ptx_if_end(b, &scope);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_load(b, "ld.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &flag, 1);
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", flag, I(g->splitk - 1)));
	tcb_ptx_for_begin(b, &loop, w->tid, I((int64_t)g->bm * g->bn / wide), I(g->threads), 0);
	const mm_op row = OP2(b, "add.u32", w->row, OP2(b, "div.u32", loop.iv, I(g->bn / wide)));
	const mm_op piece = OP2(b, "rem.u32", loop.iv, I(g->bn / wide));
	write_sum(w, first, slice_bytes, row, OP3(b, "mad.lo.u32", piece, I(wide), w->column));
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_if_end(b, &scope);
}

/* --- the loop along k --- */

static void next_slot(struct mm_writer *w, mm_op slot)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op end = OP2(b, "add.u32", w->shared, I((int64_t)w->g->stages * w->g->stage_bytes));
	tcb_ptx_into2(b, "add.u32", slot, slot, I(w->g->stage_bytes));
	tcb_ptx_into3(b, "selp.u32", slot, w->shared, slot, OP2(b, "setp.eq.u32", slot, end));
}

static void wait_for_step(struct mm_writer *w)
{
	tcb_ptx_op1(&w->b, "cp.async.wait_group", I(w->g->stages - 2));
	tcb_ptx_op1(&w->b, "bar.sync", I(0));
}

static void write_async(struct mm_writer *w, const struct mm_math *math, struct mm_copy *copy, mm_op count)
{
	struct tcb_ptx_build *b = &w->b;
	struct mm_fragments f;
	struct tcb_ptx_for loop;
	math->open(w, &f);
	for (unsigned i = 0; i + 1 < w->g->stages; i++)
		mm_write_copy_load(w, copy);
	const mm_op slot = OP1(b, "mov.u32", w->shared);
	wait_for_step(w);
	math->load(w, &f, slot, 0);
	tcb_ptx_for_begin(b, &loop, I(0), count, I(1), 0);
	for (unsigned step = 0; step < math->steps; step++) {
		if (step + 1 < math->steps) {
			math->load(w, &f, slot, step + 1);
		} else {
			const mm_op has_next = OP2(b, "setp.lt.u32", OP2(b, "add.u32", loop.iv, I(1)), count);
			wait_for_step(w);
			next_slot(w, slot);
			tcb_ptx_guard(b, has_next);
			math->load(w, &f, slot, 0);
			tcb_ptx_unguard(b);
		}
		if (step == 0)
			mm_write_copy_load(w, copy);
		math->multiply(w, &f, step);
	}
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_op0(b, "cp.async.wait_all");
}

static void write_ldg(struct mm_writer *w, const struct mm_math *math, struct mm_copy *copy, mm_op count)
{
	struct tcb_ptx_build *b = &w->b;
	struct mm_fragments f;
	struct tcb_ptx_for loop;
	math->open(w, &f);
	mm_write_copy_load(w, copy);
	mm_write_copy_store(w, copy);
	const mm_op slot = OP1(b, "mov.u32", w->shared);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_for_begin(b, &loop, I(0), count, I(1), 0);
	mm_write_copy_load(w, copy);
	math->load(w, &f, slot, 0);
	for (unsigned step = 0; step < math->steps; step++) {
		if (step + 1 < math->steps)
			math->load(w, &f, slot, step + 1);
		math->multiply(w, &f, step);
	}
	mm_write_copy_store(w, copy);
	next_slot(w, slot);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_for_end(b, &loop);
}

/* --- a kernel --- */

static void write_parameters(struct mm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	w->a = tcb_ptx_param_pointer(b, "a", 16);
	w->b_ = tcb_ptx_param_pointer(b, "b", 16);
	w->c = tcb_ptx_param_pointer(b, "c", 16);
	w->m = tcb_ptx_param(b, "u32", "m");
	w->n = tcb_ptx_param(b, "u32", "n");
	w->k = tcb_ptx_param(b, "u32", "k");
	w->steps = tcb_ptx_param(b, "u32", "steps");
	w->tiles_m = tcb_ptx_param(b, "u32", "tiles_m");
	w->tiles_n = tcb_ptx_param(b, "u32", "tiles_n");
	w->group = tcb_ptx_param(b, "u32", "group");
	if (g->splitk > 1) {
		w->slices = tcb_ptx_param_pointer(b, "slices", 16);
		w->counters = tcb_ptx_param_pointer(b, "counters", 4);
	}
}

void mm_write_tiles(struct mm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	const struct tcb_ptx_directives directives = { .reqntid = { g->threads, 1, 1 }, .minnctapersm = g->occ };
	static const char *const types[] = { "f32", "f16", "bf16" };
	const struct mm_math math = g->isa == TCB_ISA_FMA ? mm_math_fma(g) : mm_math_mma(g);
	struct mm_copy copy = { .is_plain = 0 };
	mm_op slice = I(0), first = I(0), end;
	tcb_ptx_kernel_begin(b, tcb_ptx_namef(b, "matmul_%s_%s", types[g->type], g->isa == TCB_ISA_FMA ? "fma" : "mma"),
			     &directives);
	write_parameters(w);
	w->shared = OP1(b, "mov.u32", tcb_ptx_shared_dynamic(b, "memory", SHARED_ALIGN));
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
	mm_write_threads(w);
	mm_write_tile(w, tcb_ptx_special(b, "ctaid.x"));
	end = w->k;
	if (g->splitk > 1) {
		const mm_op part = OP2(b, "mul.lo.u32", w->steps, I(g->bk));
		slice = tcb_ptx_special(b, "ctaid.y");
		first = OP2(b, "mul.lo.u32", slice, part);
		end = OP2(b, "min.u32", OP2(b, "add.u32", first, part), w->k);
	}
	/* none in a slice past K's end */
	const mm_op left = OP2(b, "max.s32", OP2(b, "sub.s32", end, first), I(0));
	const mm_op count = OP2(b, "div.u32", OP2(b, "add.u32", left, I(g->bk - 1)), I(g->bk));
	mm_write_copy_open(w, &copy, g->splitk > 1 ? first : mm_constant(w, "u32", I(0)), end);
	for (unsigned i = 0; i < g->wm * g->wn / 32; i++)
		w->acc[i] = mm_constant(w, "f32", tcb_ptx_f32(0));
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.wait");
	if (g->copy == TCB_COPY_ASYNC) {
		struct tcb_ptx_if scope;
		tcb_ptx_if_begin(b, &scope, mm_write_copy_is_plain(w, &copy));
		copy.is_plain = 1;
		write_async(w, &math, &copy, count);
		tcb_ptx_if_else(b, &scope);
		copy.is_plain = 0;
		write_async(w, &math, &copy, count);
		tcb_ptx_if_end(b, &scope);
	} else {
		write_ldg(w, &math, &copy, count);
	}
	if (g->splitk > 1)
		write_slices(w, &math, slice);
	else
		math.results(w, store_c);
	tcb_ptx_kernel_end(b);
}
