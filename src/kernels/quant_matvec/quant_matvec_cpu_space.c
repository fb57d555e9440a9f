/* SPDX-License-Identifier: MIT
 *
 * The search space of the ops qXX_matvec on CPUs: its axes, its default geometry, the numbers
 * that the constraints judge, and the rules of its own that a geometry must
 * keep.
 */
#include "kernels/axes.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"
#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/quant.h"

enum {
	MIDI_ROWS = 64,
	DEFAULT_ROWS = 4,
	ROWS_MAX = 16,
	TILE_ROWS_MAX = 32,
	WIDE_ROWS_LEAST = 256, /* of so many, what a tile of 32 computes beyond them is little */
	TILE_TOKENS_LEAST = 2,
	DEFAULT_PREFETCH = 4096,
	SLOW_PREFETCH = 2048,
	ANY = -1
};

const char *qmv_geometry_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_shape *shape = &problem->shape;
	const size_t block = problem->op->format->block_values;
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t *knob = geometry->knob;
	size_t threads = knob[TCB_KNOB_THREADS] == TCB_KNOB_UNSET ? 1 : (size_t)knob[TCB_KNOB_THREADS];
	if (macro->m != qmv_tile_tokens(micro->m, shape->m) || midi->m != macro->m)
		return micro->m > 1 ? "macro.m and midi.m must be all tokens, rounded up to a power of two, with "
				      "micro.m above 1"
				    : "macro.m and midi.m must be 1 with micro.m=1: each token is a product of its own";
	if (micro->m > 1 && midi->k != shape->k)
		return "midi.k must be K with micro.m above 1";
	if (macro->k != shape->k)
		return "macro.k must be the problem's K: threads share rows, not the reduction";
	if (micro->k != block)
		return block == QMV_SUPER ? "micro.k must be 256, one block of the weights"
		       : block == 1       ? "micro.k must be 1, one value of the weights"
		       : block == 64      ? "micro.k must be 64, one block of the weights"
		       : block == 128     ? "micro.k must be 128, one block of the weights"
					  : "micro.k must be 32, one block of the weights";
	if (!midi->k || (midi->k % QMV_SUPER && midi->k != shape->k) || macro->k % midi->k)
		return "midi.k must be a multiple of 256 that divides K, or K";
	if (!midi->n || midi->n % micro->n || macro->n % midi->n || !macro->n)
		return "micro.n must divide midi.n, and midi.n must divide macro.n";
	if (threads < 1)
		return "threads must be 1 or more";
	if (threads == 1 && macro->n < shape->n)
		return "macro.n must be at least the problem's N with threads=1: one thread takes all rows";
	if (knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR && knob[TCB_KNOB_PREFETCH] > 0)
		return "prefetch must be 0 with isa=scalar: those kernels wait for arithmetic, not for memory";
	if (knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC && macro->n < shape->n)
		return "sched=dynamic deals midi tiles, so macro.n must be at least the problem's N";
	if (knob[TCB_KNOB_SCHED] != TCB_SCHED_DYNAMIC && threads > 1 &&
	    tcb_div_up(shape->n, macro->n) * tcb_div_up(shape->m, macro->m) < threads)
		return "sched=static needs a macro tile for each thread: a smaller macro.n or fewer threads";
	return NULL;
}

/* The largest power of two, LEAST or more, that cuts COUNT into equal pieces, as many for each of THREADS (LEAST if
 * none does; all of it for one thread). */
static size_t even_share(size_t count, unsigned threads, size_t least)
{
	size_t share = tcb_power_of_two_up(count);
	while (threads > 1 && share > least && (count % share || count / share % threads))
		share /= 2;
	return share;
}

/* The whole (dynamic schedules, one thread), one share for each of 2, 4, ... threads, and the even share where those
 * are uneven (N = 14336 = 14 * 1024). */
static void add_shares(struct tcb_axis *to, size_t n, unsigned threads)
{
	const size_t whole = tcb_power_of_two_up(n);
	tcb_axis_add(to, whole);
	if (whole < ROWS_MAX)
		tcb_axis_add(to, ROWS_MAX);
	for (size_t parts = 2; parts < 2 * (size_t)threads && whole / parts >= MIDI_ROWS; parts *= 2)
		tcb_axis_add(to, whole / parts);
	tcb_axis_add(to, even_share(n, threads, MIDI_ROWS));
}

/* Whether OP has a variant of these, ANY of each. */
static int has_variant(const struct tcb_op *op, int isa, int layout, int unroll)
{
	const struct tcb_variant *v;
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if ((isa == ANY || (int)v->isa == isa) && (layout == ANY || (int)v->layout == layout) &&
		    (unroll == ANY || (int)v->unroll == unroll))
			return 1;
	return 0;
}

/* Tokens that register tiles may have: as many as there are; of the word bits one is in the smallest tile, too. */
static size_t tokens_of(const struct tcb_problem *problem)
{
	return tcb_most(tcb_power_of_two_up(problem->shape.m), problem->shape.words.bits ? TILE_TOKENS_LEAST : 1);
}

/* Tokens of register tiles, and of what has them all, where there are several. */
static void add_tokens(const struct tcb_problem *problem, struct tcb_axis *out, size_t *count)
{
	const size_t all = tokens_of(problem);
	struct tcb_axis *micro = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MICRO);
	const struct tcb_variant *v;
	tcb_axis_add(micro, 1);
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (v->contract == problem->contract && v->micro.m <= all)
			tcb_axis_add(micro, v->micro.m);
	for (int level = TCB_MACRO; level <= TCB_MIDI; level++) {
		struct tcb_axis *axis = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		tcb_axis_add(axis, 1);
		tcb_axis_add(axis, all);
	}
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	size_t count = 0;
	const struct tcb_op *op = problem->op;
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa) && has_variant(op, isa, ANY, ANY))
			tcb_axis_add(a, (size_t)isa);
	a = tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT);
	for (int layout = TCB_LAYOUT_NATIVE; layout <= TCB_LAYOUT_R16G; layout++)
		if (has_variant(op, ANY, layout, ANY))
			tcb_axis_add(a, (size_t)layout);
	if (tokens_of(problem) > 1)
		add_tokens(problem, out, &count);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	tcb_axis_add_powers(a, 1, 2, tokens_of(problem) > 1 ? TILE_ROWS_MAX : ROWS_MAX);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), problem->op->format->block_values);
	a = tcb_axis_knob(out, &count, TCB_KNOB_UNROLL);
	for (int unroll = 1; unroll <= 4; unroll *= 2)
		if (has_variant(op, ANY, ANY, unroll))
			tcb_axis_add(a, (size_t)unroll);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	add_shares(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n, target->threads);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	tcb_axis_add_powers(a, MIDI_ROWS, 4, 1024);
	if (n < MIDI_ROWS) {
		tcb_axis_add(a, ROWS_MAX);
		tcb_axis_add(a, tcb_power_of_two_up(n));
	}
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	tcb_axis_add(a, k);
	if (k % 2048 == 0 && k >= 8192)
		tcb_axis_add(a, 2048);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(a, 0);
	tcb_axis_add_powers(a, 1024, 2, 16384);
	a = tcb_axis_knob(out, &count, TCB_KNOB_HINT);
	for (int hint = 0; hint < TCB_HINT_COUNT; hint++)
		tcb_axis_add(a, (size_t)hint);
	return count;
}

/* The widest instructions of TARGET that there are kernels for. */
static enum tcb_isa best_isa(const struct tcb_problem *problem, const struct tcb_target *target)
{
	enum tcb_isa best = TCB_ISA_SCALAR;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (variant->contract == problem->contract && variant->isa > best &&
		    tcb_target_has(target, variant->isa))
			best = variant->isa;
	return best;
}

/* Whether rows are read 16 at a time: on x86 with vectors, where that takes a half to a sixth of the time of weights as
 * stored (a Zen 4, all formats, 1x4096x4096); elsewhere nobody measured it. */
static int is_packed(const struct tcb_problem *problem, enum tcb_isa isa)
{
	const struct tcb_variant *v;
	if (isa == TCB_ISA_SCALAR || isa == TCB_ISA_NEON ||
	    (problem->shape.n < ROWS_MAX && !problem->shape.words.bits)) /* with bits whatever N is */
		return 0;
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (v->contract == problem->contract && v->isa == isa && v->layout == TCB_LAYOUT_R16)
			return 1;
	return 0;
}

/* Whether rows are read one after another, as they are stored: of floats with AVX2, where codes are fields of bits.  On
 * a Zen 3 Q4_K, Q5_K, Q6_K, IQ4_XS, IQ4_NL and MXFP4 take 0.6 to 0.95 of the time of 16 rows side by side that way,
 * Q4_0 and Q8_0 as long, formats that must be expanded 0.95 to 3.1 times as long and floats 1.4 to 1.6. */
static int is_row_by_row(const struct tcb_problem *problem, enum tcb_isa isa)
{
	const enum tcb_format_id id = problem->op->format->id;
	return isa == TCB_ISA_AVX2 && problem->contract == TCB_CONTRACT_F32 && !problem->shape.words.bits &&
	       id != TCB_FORMAT_Q4_0 && id != TCB_FORMAT_Q8_0 && !tcb_is_expanded(id) && !tcb_is_float(id);
}

/*
 * The register tile of most tokens of ISA that PROBLEM fills more than half of, NULL if there is none.  Of equals the
 * one with fewest rows; for one token (word bits) with 16: a Zen 3 took two thirds of the time of 8 (q6_k); for two to
 * four on processors with AMX with 32: of 13 formats on such a Xeon 4x32 took 0.79 to 0.93 of the time of 4x16,
 * IQ1_M 1.04, and 2x32 0.89 to 0.97; of eight tokens some formats gain and others lose.  With AVX2
 * (the Zen 3) 2x16 takes 0.72 to 0.85 of the time of 2x8 for two tokens, and 0.78 to 0.94 of that of 4x8 for five and
 * six.
 */
static const struct tcb_variant *tile_of(const struct tcb_problem *problem, const struct tcb_target *target,
					 enum tcb_isa isa)
{
	const size_t m = problem->shape.m;
	const int is_wide =
		m > 1 && m <= 4 && problem->shape.n >= WIDE_ROWS_LEAST && tcb_target_has(target, TCB_ISA_AMX);
	const int is_of_two = isa == TCB_ISA_AVX2 && (m == 2 || m == 5 || m == 6);
	const size_t tokens = is_of_two ? 2 : tokens_of(problem);
	const size_t rows = m == 1 || is_of_two ? ROWS_MAX : is_wide ? TILE_ROWS_MAX : 0; /* wanted; 0: the fewest */
	const struct tcb_variant *v, *best = NULL;
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (v->contract == problem->contract && v->isa == isa && v->micro.m > 1 && v->micro.m <= tokens &&
		    (!best || v->micro.m > best->micro.m ||
		     (v->micro.m == best->micro.m && (rows ? v->micro.n == rows : v->micro.n < best->micro.n))))
			best = v;
	return best;
}

/*
 * What a good hand-written kernel does: the widest instructions, all threads with an even static share each, 16 rows
 * side by side where that is faster, else weights as stored and four rows in registers; of several tokens a register
 * tile, so that weights are read and taken apart once.  Software prefetch gains up to
 * a third where kernels compute for long (AVX2, floats); with bytes and AVX-512 it costs up to a third.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t n = problem->shape.n, k = problem->shape.k, whole = tcb_power_of_two_up(n);
	const enum tcb_isa isa = best_isa(problem, target);
	/* What places are looked up with (VBMI) all processors with AMX have. */
	const int has_places = tcb_target_has(target, TCB_ISA_AMX) && problem->contract == TCB_CONTRACT_Q8 &&
			       problem->shape.m == 1 && has_variant(problem->op, (int)isa, TCB_LAYOUT_R16G, ANY);
	const int is_single = is_row_by_row(problem, isa), packed = !is_single && is_packed(problem, isa),
		  slow = isa == TCB_ISA_AVX2 || problem->contract != TCB_CONTRACT_Q8;
	const struct tcb_variant *tile = packed || problem->shape.words.bits ? tile_of(problem, target, isa) : NULL;
	const enum tcb_layout layout = tile         ? TCB_LAYOUT_R16
				       : !packed    ? TCB_LAYOUT_NATIVE
				       : has_places ? TCB_LAYOUT_R16G
						    : TCB_LAYOUT_R16;
	const size_t micro = tile ? tile->micro.n : packed ? ROWS_MAX : is_single ? 1 : DEFAULT_ROWS;
	const size_t tokens = tile ? qmv_tile_tokens(tile->micro.m, problem->shape.m) : 1;
	const size_t midi = whole < micro ? micro : whole < MIDI_ROWS ? whole : MIDI_ROWS;
	const size_t even = even_share(n, target->threads, MIDI_ROWS), macro = even < midi ? midi : even;
	const size_t tasks = tcb_div_up(n, macro) * (tile ? 1 : problem->shape.m);
	const size_t threads = tasks < target->threads ? tasks : target->threads;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tokens, threads > 1 || whole < macro ? macro : whole, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, midi, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ tile ? tile->micro.m : 1, micro, problem->op->format->block_values };
	out->knob[TCB_KNOB_ISA] = isa;
	out->knob[TCB_KNOB_LAYOUT] = (int32_t)layout;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_UNROLL] = 1;
	/* Lines of a pack follow each other, but processors do not ask beyond a page: without this a Zen 5 reads Q6_K
	 * at a third of its limit.  In two stages (t1) a Xeon with AMX reads Q3_K at 0.93 of it, in one at 0.69. */
	out->knob[TCB_KNOB_PREFETCH] = !packed && !is_single ? 0 : slow ? SLOW_PREFETCH : DEFAULT_PREFETCH;
	out->knob[TCB_KNOB_HINT] = packed && !slow ? TCB_HINT_T1 : TCB_HINT_T0;
	/* Rows of E4M3 take 1.2 times as long without (a Xeon with AMX). */
	if (problem->op->format->codes == TCB_CODES_E4M3 && isa != TCB_ISA_SCALAR && isa != TCB_ISA_NEON) {
		out->knob[TCB_KNOB_PREFETCH] = DEFAULT_PREFETCH;
		out->knob[TCB_KNOB_HINT] = TCB_HINT_T1;
	}
}

/*
 * Of the word bits: the order of the quantised matmul's register tiles where there are any (contract q8), which a token
 * alone is in, too, so that MatVec, matmul and experts agree.  Else that of the one kernel, by rows as stored or
 * packed, that the widest instructions have, along all of K.
 */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const enum tcb_isa isa = best_isa(problem, target);
	const struct qmv_kind *kind = qmv_kind(problem);
	if (tile_of(problem, target, isa)) {
		if (geometry->tile[TCB_MICRO].m == 1)
			return "micro.m must be above 1: register tiles have another order than rows alone";
	} else {
		if (geometry->knob[TCB_KNOB_ISA] != (int32_t)isa)
			return "isa must be the widest that there is: its lanes are part of the order";
		if (geometry->knob[TCB_KNOB_LAYOUT] !=
		    (int32_t)(is_packed(problem, isa) ? TCB_LAYOUT_R16 : TCB_LAYOUT_NATIVE))
			return "layout must be r16 where there are kernels for it, else native";
		if (geometry->tile[TCB_MIDI].k != problem->shape.k)
			return "midi.k must be K";
	}
	return kind->has_norm || kind->is_gated ? tcb_cpu_reorders_lanes(problem, target, geometry) : NULL;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const int32_t *knob = geometry->knob;
	const int q8 = problem->contract == TCB_CONTRACT_Q8;
	const enum tcb_layout layout =
		knob[TCB_KNOB_LAYOUT] == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (enum tcb_layout)knob[TCB_KNOB_LAYOUT];
	const size_t rows = geometry->tile[TCB_MICRO].n;
	const struct tcb_format *format = problem->op->format;
	const int native = layout == TCB_LAYOUT_NATIVE;
	const size_t block = qmv_block_bytes(problem, layout);
	const enum tcb_isa isa = (enum tcb_isa)knob[TCB_KNOB_ISA];
	const struct qmv_own *any = qmv_kind(problem)->own,
			     *own = knob[TCB_KNOB_ISA] < 0 ? any : qmv_own(problem->op, isa);
	const struct tcb_cpu_isa *family = tcb_cpu_isa(isa);
	const size_t tokens = geometry->tile[TCB_MICRO].m;
	const size_t x_block = tokens > 1 ? sizeof(struct qmm_x8)
			       : own      ? (q8 ? own->q8_bytes : own->f32_bytes)
			       : q8       ? sizeof(struct qmv_x8)
					  : sizeof(struct qmv_x32);
	const size_t vectors = knob[TCB_KNOB_ISA] == TCB_ISA_NEON ? 4 : 2; /* of a group of 16 rows, at most */
	(void)target;
	memset(out, 0, sizeof(*out));
	out->k_multiple = out->k_step_multiple = format->block_values;
	/* Blocks keep 2-byte accesses aligned; group blocks are multiples of 32 or 64. */
	const size_t unit = native ? format->block_bytes : block;
	out->element_bytes = 1;
	out->alignment_bytes = out->vector_bytes = unit % 64 == 0            ? 64
						   : unit % 32 == 0          ? 32
						   : any                     ? any->alignment
						   : format->block_bytes % 2 ? 1
									     : 2;
	out->base_bytes = 64;
	out->leading_bytes = out->tile_offset_bytes = !native ? block : format->block_bytes;
	/* A sum per row, and eight for the row at hand. */
	out->vector_registers =
		own ? (unsigned)own->registers(isa, layout, rows) : (unsigned)(native ? rows : vectors) + 8;
	if (knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR)
		out->vector_registers = (unsigned)rows + 4;
	out->accumulators = (unsigned)(layout == TCB_LAYOUT_NATIVE ? 2 * rows : 4);
	if (tokens > 1)
		qmm_cpu_registers(&geometry->tile[TCB_MICRO], family, q8, out);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];
		const size_t blocks = tcb_div_up(tile->k, QMV_SUPER);
		out->level_bytes[level] = tcb_div_up(tile->n, qmv_layout_rows(layout)) * blocks * block +
					  tile->m * blocks * x_block + tile->m * tile->n * sizeof(float);
	}
}

const struct tcb_side_space qmv_cpu_space = { NULL, axes, default_geometry, footprint, .reorders = reorders };
