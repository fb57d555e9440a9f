/* SPDX-License-Identifier: MIT
 *
 * What an op on rows offers to the search on CPUs: axes, the standard geometry and the
 * numbers that the constraints judge.
 */
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/rows/rows.h"
#include "kernels/simd/isas.h"

#include <string.h>

enum {
	STRIP_MIN = 256,       /* columns of a thread's part of a row; smaller ones only add bookkeeping */
	STRIPS_PER_THREAD = 2, /* the same */
	BLOCK_MOST = 1 << 16,  /* columns: bounds the chain of roundings of a sum */
	BLOCK_L1 = 4096,       /* columns that the first cache holds while they are read again: 16 KB */
	PART_LEAST = 512,      /* columns of a part: from where what each costs no longer shows */
	PART_MOST = 1024,      /* to where the first cache holds two beside what is kept of two rows */
	TASK_ROWS_MAX = 64,    /* more only make shares uneven */
	TASK_ROWS_FACTOR = 8,
	TASKS_PER_THREAD = 4, /* enough for shares that differ little */
	MICRO_MIN_WIDE = 4,   /* the narrowest vector: rows that are shorter fill part of it */
	MICRO_MAX = 256,      /* columns of the widest step that an op may have built */
	LINE_BYTES = 64,
	LONG_ASKS = 2,         /* of long rows: so many a line */
	GROUP_LEAST = 4,       /* rows that take turns at a part: fewer read what they share too often */
	AHEAD_SURE = 16384,    /* bytes: a distance that any row is tried with */
	AHEAD_MAX = 256 << 10, /* a row beyond this is no longer in the caches when its turn comes */
	L2_BYTES = 1 << 20,    /* where the target does not tell */
	SHARED_LEAST = 8192, /* columns of a thread's part of one row, from where a second thread is worth its start */
	SHARED_AHEAD = 1024,
	SHARED_LONG = 65536, /* columns of such a row, from where parts of it are gone over once */
	SHARED_LONG_AHEAD = 4096,
	STAGES_LATE = 3,
	ROWS_WAITING = 4,     /* in the second cache, of x and of what waits, of two rows */
	LONGEST_AHEAD = 4096, /* bytes */
};

enum tcb_form rows_first_form(const struct rows_op *rows)
{
	int form = 0;
	while (!(rows->forms >> form & 1u))
		form++;
	return (enum tcb_form)form;
}

/* Of a row, in whole lines. */
static size_t row_bytes(const struct tcb_problem *problem)
{
	return tcb_round_up(problem->shape.n * sizeof(float), LINE_BYTES);
}

/* Whether to ask for the next row while one is worked on. */
static int has_ahead(const struct tcb_problem *problem)
{
	return problem->shape.m > 1 && row_bytes(problem) >= 1024 && row_bytes(problem) <= AHEAD_MAX;
}

/* Whether to ask for the next rows while a group is. */
static int has_groups_ahead(const struct tcb_problem *problem)
{
	return rows_of(problem)->has_groups && has_ahead(problem) && problem->shape.m > ROWS_GROUP_MAX &&
	       ROWS_GROUP_MAX * row_bytes(problem) <= AHEAD_MAX;
}

/* Rows are alike, so macro.m has nothing to choose; strips narrower than the row pay only when rows are few. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct rows_op *rows = rows_of(problem);
	size_t row_count = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	size_t count = 0;
	struct tcb_axis *axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	tcb_axis_add(axis, columns);
	for (size_t wide = MICRO_MIN_WIDE; wide <= MICRO_MAX; wide *= 2) {
		if (columns < wide)
			tcb_axis_add(axis, wide);
	}
	for (size_t strips = 2; problem->shape.m < target->threads && strips <= STRIPS_PER_THREAD * target->threads &&
				columns / strips >= STRIP_MIN;
	     strips *= 2)
		tcb_axis_add(axis, columns / strips);

	axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI);
	tcb_axis_add_powers(axis, 1, TASK_ROWS_FACTOR, tcb_least(row_count, TASK_ROWS_MAX));
	tcb_axis_add(axis, tcb_least(row_count, TASK_ROWS_MAX));
	tcb_axis_add(axis, row_count);
	if (has_groups_ahead(problem))
		tcb_axis_add_powers(axis, GROUP_LEAST, 2, ROWS_GROUP_MAX);
	struct tcb_axis *strips = &out[0];
	axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	for (size_t i = 0; i < strips->count; i++)
		tcb_axis_add(axis, tcb_least((size_t)strips->values[i], BLOCK_MOST));
	if (columns > BLOCK_L1)
		tcb_axis_add(axis, BLOCK_L1);
	if (rows->part_forms || rows->has_groups)
		tcb_axis_add_powers(axis, PART_LEAST, 2, tcb_least(columns, PART_MOST));
	axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	tcb_axis_add_powers(axis, 1, 2, MICRO_MAX);
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(axis, 0);
	tcb_axis_add_powers(axis, 1024, 4, AHEAD_SURE);
	if (has_ahead(problem))
		tcb_axis_add(axis, row_bytes(problem));
	for (size_t group = GROUP_LEAST; has_groups_ahead(problem) && group <= ROWS_GROUP_MAX; group *= 2)
		tcb_axis_add(axis, group * row_bytes(problem));
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_HINT), TCB_HINT_T0, TCB_HINT_T1);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_ASKS);
	tcb_axis_add_powers(axis, 1, 2, ROWS_ASKS_MAX);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_STAGES);
	ADD(axis, 1, 2, 3);
	if (has_groups_ahead(problem))
		tcb_axis_add(axis, ROWS_STAGES_GROUPED);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_FORM);
	for (int form = 0; form < TCB_FORM_COUNT; form++) {
		if (rows->forms >> form & 1u)
			tcb_axis_add(axis, (size_t)form);
	}
	return count;
}

/* Rows of a task: as many as make an even share of THREADS dealt in advance; one thread takes all in one. */
static size_t task_rows(const struct tcb_problem *problem, size_t threads)
{
	size_t rows = TASK_ROWS_MAX;
	if (threads <= 1)
		return tcb_power_of_two_up(problem->shape.m);
	while (rows > 1 && tcb_div_up(problem->shape.m, rows) < TASKS_PER_THREAD * threads)
		rows /= TASK_ROWS_FACTOR;
	return rows;
}

/* The same of few rows, of which one is to be stored while the next is reduced: as many as make even shares. */
static size_t late_task_rows(const struct tcb_problem *problem, size_t threads)
{
	size_t rows = task_rows(problem, threads);
	if (rows > 1)
		return rows;
	for (rows = TASK_ROWS_FACTOR; rows > 1 && problem->shape.m % (rows * threads); rows /= 2)
		;
	return rows;
}

/* The narrowest step of ISA that holds a whole row, or 0. */
static size_t whole_step(const struct tcb_problem *problem, enum tcb_isa isa)
{
	size_t narrowest = 0;
	for (const struct tcb_variant *const *list = tcb_op_cpu(problem->op)->variants; *list; list++)
		for (const struct tcb_variant *v = *list; v->name && v->isa == isa; v++)
			if (v->micro.n >= problem->shape.n && (!narrowest || v->micro.n < narrowest))
				narrowest = v->micro.n;
	return narrowest;
}

/* --- rules (V4) --- */

static const char *policy_task(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS], m = geometry->tile[TCB_MIDI].m;
	(void)target;
	if (geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED)
		return m == GROUP_LEAST || m == ROWS_GROUP_MAX ? NULL : "with stages=4 midi.m must be 4 or 8";
	if (geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STATIC && m != task_rows(problem, threads) &&
	    (geometry->knob[TCB_KNOB_STAGES] != STAGES_LATE || m != late_task_rows(problem, threads)))
		return "with sched=static a thread takes its rows in order, however many are a task: midi.m must be "
		       "macro.m for one thread, else the largest up to 64 that makes even shares";
	return NULL;
}

static const char *policy_block(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	const size_t strip = geometry->tile[TCB_MACRO].n, block = geometry->tile[TCB_MIDI].n;
	const int32_t form = geometry->knob[TCB_KNOB_FORM];
	(void)target;
	if (form == TCB_FORM_RUNNING || geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED)
		return block >= tcb_least(strip, PART_LEAST) && block <= PART_MOST
			       ? NULL
			       : "form=running and stages=4 take a row in parts that the first cache holds two of: "
				 "midi.n must be 512 or 1024, or a shorter row's macro.n";
	if (block == tcb_least(strip, BLOCK_MOST) ||
	    (block == BLOCK_L1 && (form == TCB_FORM_TWOPASS || problem->shape.words.bits)))
		return NULL;
	return "midi.n cuts a row for nothing: it must be macro.n, at most 65536, or with form=twopass, which reads a "
	       "block again, 4096";
}

static const char *policy_step(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	(void)target;
	if (isa < 0 || geometry->tile[TCB_MICRO].n < problem->shape.n)
		return NULL;
	const size_t narrowest = whole_step(problem, (enum tcb_isa)isa);
	return narrowest && geometry->tile[TCB_MICRO].n > narrowest
		       ? "a row fits into fewer registers: micro.n must be the least that holds it, or less than it"
		       : NULL;
}

static const char *policy_ahead(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	const size_t ahead = (size_t)geometry->knob[TCB_KNOB_PREFETCH], row = row_bytes(problem);
	(void)target;
	if (geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED)
		return ahead == geometry->tile[TCB_MIDI].m * row
			       ? NULL
			       : "stages=4 works on midi.m rows at a time: prefetch must be as many rows' bytes";
	return ahead > AHEAD_SURE && ahead > row ? "prefetches of more than the next row are for stages=4" : NULL;
}

static const char *policy_shared(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry)
{
	(void)target;
	if (geometry->knob[TCB_KNOB_FORM] != TCB_FORM_RUNNING || geometry->tile[TCB_MACRO].n >= problem->shape.n)
		return NULL;
	return geometry->knob[TCB_KNOB_PREFETCH] > SHARED_LONG_AHEAD || geometry->knob[TCB_KNOB_HINT] == TCB_HINT_T1
		       ? "form=running of a row that threads share is fastest with hint=t0 and prefetch of at most 4096"
		       : NULL;
}

static const char *policy_halves(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry)
{
	const int32_t *knob = geometry->knob;
	(void)target;
	return rows_has_halves(problem) && (geometry->tile[TCB_MACRO].n < problem->shape.n || knob[TCB_KNOB_PREFETCH] ||
					    knob[TCB_KNOB_STREAM] || knob[TCB_KNOB_STAGES] != 1)
		       ? "rows of 16 bits are taken whole and one after another: macro.n must be a row's, prefetch and "
			 "stream 0, stages 1"
		       : NULL;
}

#define FIELD(level, dim) (UINT64_C(1) << (3 * (level) + (dim)))
static const struct tcb_rule rules[] = {
	{ TCB_FIELD_MIDI_M | TCB_FIELD_KNOB(THREADS) | TCB_FIELD_KNOB(SCHED) | TCB_FIELD_KNOB(STAGES), 1, policy_task },
	{ FIELD(TCB_MACRO, 1) | TCB_FIELD_MIDI_N | TCB_FIELD_KNOB(FORM) | TCB_FIELD_KNOB(STAGES), 1, policy_block },
	{ TCB_FIELD_MIDI_M | TCB_FIELD_KNOB(PREFETCH) | TCB_FIELD_KNOB(STAGES), 1, policy_ahead },
	{ FIELD(TCB_MACRO, 1) | TCB_FIELD_KNOB(PREFETCH) | TCB_FIELD_KNOB(HINT) | TCB_FIELD_KNOB(FORM), 1,
	  policy_shared },
	{ FIELD(TCB_MACRO, 1) | TCB_FIELD_KNOB(PREFETCH) | TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(STAGES), 1,
	  policy_halves },
	{ TCB_FIELD_MICRO_N | TCB_FIELD_KNOB(ISA), 1, policy_step },
	{ TCB_FIELD_KNOB(PREFETCH), 1, tcb_cpu_policy_ahead },
	{ TCB_FIELD_KNOB(ISA), 1, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/*
 * One row for several threads: each finds its part's maximum and sum, then all have the row's.  A short part is gone
 * over twice while the second cache has it.  Results stay in the caches, too: nothing is read while they are written.
 */
static void default_shared_row(const struct tcb_problem *problem, const struct tcb_target *target,
			       struct tcb_geometry *out)
{
	const size_t n = problem->shape.n;
	const size_t share = tcb_power_of_two_up(tcb_div_up(n, target->threads));
	const int is_long = n >= SHARED_LONG;
	out->tile[TCB_MACRO].n = share;
	out->tile[TCB_MIDI].n = tcb_least(share, is_long ? PART_MOST : BLOCK_MOST);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(target->threads, tcb_div_up(n, share));
	out->knob[TCB_KNOB_FORM] = is_long ? (int32_t)rows_of(problem)->long_rows.form : TCB_FORM_TWOPASS;
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_PREFETCH] = is_long ? SHARED_LONG_AHEAD : SHARED_AHEAD;
}

/* Each row is stored in STAGES, while the next is asked for, AHEAD bytes from what is read. */
static void default_late(int32_t stages, int32_t ahead, struct tcb_geometry *out)
{
	out->knob[TCB_KNOB_STAGES] = stages;
	out->knob[TCB_KNOB_PREFETCH] = ahead;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T1;
	out->knob[TCB_KNOB_ASKS] = LONG_ASKS;
}

/* Rows of which the second cache does not hold what waits for their statistics: it is worked out again. */
static void default_longest_rows(const struct tcb_problem *problem, struct tcb_geometry *out)
{
	const struct rows_op *rows = rows_of(problem);
	out->tile[TCB_MIDI].m = late_task_rows(problem, (size_t)out->knob[TCB_KNOB_THREADS]);
	out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, BLOCK_MOST);
	out->tile[TCB_MICRO].n = ROWS_CHAINS_MOST * tcb_float_lanes(out->knob[TCB_KNOB_ISA]);
	out->knob[TCB_KNOB_FORM] = TCB_FORM_ONEPASS;
	default_late(rows->long_rows.stages, LONGEST_AHEAD, out);
}

/* Rows beyond a step: what keeps memory busy, of data that the caches do not hold.  With AVX2 also of rows that are
 * longer than what is asked for whole: 0.8 to 1.03 of the time (a Zen 3, five shapes; elsewhere nobody measured it). */
static void default_long_rows(const struct tcb_problem *problem, const struct tcb_target *target, int is_large,
			      struct tcb_geometry *out)
{
	const struct rows_op *rows = rows_of(problem);
	const int is_vector = out->knob[TCB_KNOB_ISA] != TCB_ISA_SCALAR;
	const int has_parts = (rows->part_forms >> rows->long_rows.form & 1u) != 0;
	const size_t cache = target->l2_bytes ? target->l2_bytes : L2_BYTES;
	if (has_parts && is_vector && problem->shape.m == 1 && target->threads > 1 &&
	    problem->shape.n >= SHARED_LEAST * (size_t)target->threads) {
		default_shared_row(problem, target, out);
		return;
	}
	if (has_parts && is_vector && out->knob[TCB_KNOB_STREAM] && ROWS_WAITING * row_bytes(problem) >= cache &&
	    2 * problem->shape.m * row_bytes(problem) > target->llc_bytes &&
	    late_task_rows(problem, (size_t)out->knob[TCB_KNOB_THREADS]) > 1) {
		default_longest_rows(problem, out);
		return;
	}
	out->knob[TCB_KNOB_FORM] = (int32_t)rows->long_rows.form;
	if (has_parts)
		out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, rows->long_rows.part);
	if (!is_large || !is_vector)
		return;
	if (!has_ahead(problem) || out->tile[TCB_MIDI].m == 1) {
		if (has_parts) /* nothing to read while results are written: better that they wait in the caches */
			out->knob[TCB_KNOB_STREAM] = 0;
		else
			out->knob[TCB_KNOB_FORM] = TCB_FORM_ONEPASS;
		if (out->knob[TCB_KNOB_ISA] == TCB_ISA_AVX2 && out->tile[TCB_MIDI].m > 1)
			default_late(STAGES_LATE, LONGEST_AHEAD, out);
		return;
	}
	const enum tcb_isa less = tcb_cpu_isa(out->knob[TCB_KNOB_ISA])->less;
	if (tcb_target_has(target, less) && rows->long_rows.lanes <= tcb_float_lanes(less)) {
		out->knob[TCB_KNOB_ISA] = (int32_t)less;
		out->tile[TCB_MICRO].n = rows->long_rows.chains * tcb_float_lanes(less);
	}
	default_late(rows->long_rows.stages, (int32_t)row_bytes(problem), out);
	if (rows->long_rows.stages != ROWS_STAGES_GROUPED)
		return;
	if (!has_groups_ahead(problem) || out->tile[TCB_MACRO].m < 2 * ROWS_GROUP_MAX * target->threads) {
		out->knob[TCB_KNOB_STAGES] = 2;
		return;
	}
	out->tile[TCB_MIDI].m = ROWS_GROUP_MAX;
	out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, PART_LEAST);
	out->knob[TCB_KNOB_PREFETCH] = (int32_t)(ROWS_GROUP_MAX * row_bytes(problem));
}

/*
 * Of the word bits: the op's first form, in blocks of 4096 columns from the first one on, each by the widest vectors in
 * steps of as many chains; shorter rows by the step that holds them, or as one block.  Threads may share a row: strips
 * are whole blocks.
 */
static size_t bits_step(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const enum tcb_isa isa = tcb_float_isa(target);
	const size_t whole = whole_step(problem, isa);
	return whole                   ? whole
	       : isa == TCB_ISA_SCALAR ? ROWS_CHAINS_MOST
				       : rows_of(problem)->long_rows.chains * tcb_float_lanes(isa);
}

static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const size_t n = problem->shape.n, step = bits_step(problem, target);
	const char *reason = tcb_cpu_reorders_lanes(problem, target, geometry);
	if (reason)
		return reason;
	if (geometry->tile[TCB_MICRO].n != step)
		return "micro.n must be the standard one: its chains are part of the order";
	if (n <= step)
		return NULL;
	if (geometry->knob[TCB_KNOB_FORM] != (int32_t)rows_first_form(rows_of(problem)) ||
	    geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED)
		return "form must be the op's first one, and stages below 4";
	return tcb_least(geometry->tile[TCB_MIDI].n, n) != tcb_least(BLOCK_L1, n)
		       ? "midi.n must be 4096, or cover a shorter row"
		       : NULL;
}

/* OUT, the default, in that order. */
static void set_order(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->tile[TCB_MICRO].n = bits_step(problem, target);
	out->knob[TCB_KNOB_FORM] = (int32_t)rows_first_form(rows_of(problem));
	if (problem->shape.n > BLOCK_L1)
		out->tile[TCB_MIDI].n = BLOCK_L1;
	else
		out->tile[TCB_MIDI].n = out->tile[TCB_MACRO].n;
	if (out->knob[TCB_KNOB_STAGES] != ROWS_STAGES_GROUPED)
		return;
	out->knob[TCB_KNOB_STAGES] = 2;
	out->tile[TCB_MIDI].m = task_rows(problem, (size_t)out->knob[TCB_KNOB_THREADS]);
	out->knob[TCB_KNOB_PREFETCH] = (int32_t)row_bytes(problem);
}

/* Whole rows and the widest vectors; of data beyond the caches with stores past them and prefetches of the next row. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct rows_op *rows = rows_of(problem);
	const enum tcb_isa isa = tcb_float_isa(target);
	const size_t whole = whole_step(problem, isa), lanes = tcb_float_lanes(isa);
	const size_t micro =
		whole ? whole : lanes * (isa == TCB_ISA_SCALAR ? ROWS_CHAINS_MOST : rows->long_rows.chains);
	const size_t columns = tcb_most(tcb_power_of_two_up(problem->shape.n), micro);
	const size_t threads = tcb_least(problem->shape.m, target->threads);
	const size_t cache = (target->l2_bytes ? target->l2_bytes : L2_BYTES) / 2;
	const int is_large = !rows_has_halves(problem) && 2 * problem->shape.m * row_bytes(problem) > cache;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), columns, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ task_rows(problem, threads), tcb_least(columns, BLOCK_MOST), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_ASKS] = 1;
	out->knob[TCB_KNOB_FORM] = (int32_t)rows_first_form(rows);
	out->knob[TCB_KNOB_STREAM] =
		is_large && tcb_cpu_isa(isa)->has_stream && problem->shape.n * sizeof(float) % LINE_BYTES == 0;
	if (!whole)
		default_long_rows(problem, target, is_large, out);
	if (problem->shape.words.bits)
		set_order(problem, target, out);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct rows_op *rows = rows_of(problem);
	const struct tcb_tile *tile = geometry->tile;
	const size_t lanes = tcb_float_lanes(geometry->knob[TCB_KNOB_ISA]);
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	if (lanes) {
		out->accumulators = (unsigned)(tile[TCB_MICRO].n / lanes);
		out->vector_registers = lanes > 1 ? rows->sums * out->accumulators + rows->registers : 0;
	}
	if (geometry->knob[TCB_KNOB_STREAM] > 0) { /* streaming stores fault where they are not aligned */
		out->vector_bytes = lanes * sizeof(float);
		out->base_bytes = 64;
		out->leading_bytes = problem->shape.n * sizeof(float);
		out->tile_offset_bytes = tile[TCB_MIDI].n * sizeof(float);
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * tile[level].m * tile[level].n;
}

const struct tcb_side_space rows_cpu_space = { rules, axes, default_geometry, footprint, .reorders = reorders };
