/* SPDX-License-Identifier: MIT
 *
 * What the reduce2d ops offer to the search on CPUs: axes, the standard geometry and
 * the numbers that the constraints judge.
 */
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/reduce2d/reduce2d.h"
#include "kernels/simd/isas.h"

#include <string.h>

enum {
	SEED_TILE = 16,      /* the seed's tile is 16x16 */
	TILE_LEAST = 256,    /* elements: smaller tiles only add calls */
	TILE_MOST = 1 << 18, /* of the default: a longer chain of additions is less exact and no faster */
	MIDI_ROWS_MAX = 64,  /* of a midi tile */
	MIDI_COLUMNS = 1024, /* between the seed's and whole rows */
	DEALT_ROWS = 64,     /* of a task that is dealt while others run, and of one that is dealt finely */
	DEALT_ROWS_FINE = 16,
	MICRO_MAX_M = 8,
	MICRO_MAX_N = 128,
	MICRO_OPERANDS = 2, /* registers of the inner loop beside the accumulators: a value, a flag or a sum */
	DEFAULT_CHAINS = 4,
	SHORT_ROWS = 8, /* at a time, of so few columns, with AVX2: 0.66 to 1.01 of the time on a Zen 3 */
	SHORT_COLUMNS = 16,
	OWN_CHAINS = 8, /* of a program with AVX2: absmax takes 0.65 to 0.9 of the time of 4 on a Zen 3 */
	AHEAD = 4096,   /* bytes, of what the caches do not hold */
	CACHED_AHEAD = 1024,
	LLC_BYTES = 16 << 20, /* where the target does not tell */
};

/* The rows, and columns, that each of THREADS gets of a matrix that is cut into even parts of whole tiles of STEP. */
static size_t share_rows(const struct tcb_problem *problem, size_t threads, size_t step)
{
	return threads > 1 && problem->shape.m >= threads ? tcb_round_up(tcb_div_up(problem->shape.m, threads), step)
							  : tcb_power_of_two_up(problem->shape.m);
}

static size_t share_columns(const struct tcb_problem *problem, size_t threads)
{
	const size_t columns = tcb_power_of_two_up(problem->shape.n), parts = tcb_power_of_two_up(threads);
	return threads > 1 && problem->shape.m < threads ? tcb_most(columns / parts, 1) : columns;
}

static void add_tiles(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis *out,
		      size_t *count)
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	struct tcb_axis threads = { 0 };
	tcb_axis_add_threads(&threads, target);
	struct tcb_axis *macro_m = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MACRO);
	struct tcb_axis *macro_n = tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MACRO);
	struct tcb_axis *midi_m = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MIDI);
	struct tcb_axis *midi_n = tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MIDI);
	tcb_axis_add_powers(midi_m, 1, 2,
			    MICRO_MAX_M); /* where rows are fewer than a micro tile has, and single rows */
	ADD(midi_m, SEED_TILE, MIDI_ROWS_MAX);
	ADD(midi_n, SEED_TILE, MIDI_COLUMNS);
	for (size_t t = 0; t < threads.count; t++) {
		for (size_t i = 0; i < midi_m->count; i++)
			tcb_axis_add(macro_m,
				     share_rows(problem, (size_t)threads.values[t], (size_t)midi_m->values[i]));
		tcb_axis_add(macro_n, share_columns(problem, (size_t)threads.values[t]));
		tcb_axis_add(midi_n, share_columns(problem, (size_t)threads.values[t]));
	}
	ADD(macro_m, DEALT_ROWS, DEALT_ROWS_FINE);
	tcb_axis_add_powers(macro_m, rows, 2, MICRO_MAX_M);
	if (columns < MICRO_MAX_N) {
		tcb_axis_add_powers(macro_n, SEED_TILE, 2, MICRO_MAX_N);
		tcb_axis_add_powers(midi_n, SEED_TILE, 2, MICRO_MAX_N);
	}
	struct tcb_axis *axis = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MICRO);
	tcb_axis_add_powers(axis, 1, 2, MICRO_MAX_M);
	axis = tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MICRO);
	tcb_axis_add_powers(axis, 1, 2, MICRO_MAX_N);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	add_tiles(problem, target, out, &count);
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	struct tcb_axis *axis = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(axis, 0);
	tcb_axis_add_powers(axis, 1024, 4, AHEAD);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_HINT), TCB_HINT_T0, TCB_HINT_T1);
	if (reduce2d_is_sum(problem)) {
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_FORM), TCB_FORM_LANES, TCB_FORM_PAIRWISE, TCB_FORM_KAHAN);
	}
	return count;
}

/* --- rules (V4) --- */

/*
 * Macro tiles only say who takes which midi tiles, in an order that memory does not mind: one thread takes all, threads
 * that are dealt their tasks in advance an even part each, of rows where there are as many.
 */
static const char *policy_task(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO];
	const size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS], columns = share_columns(problem, threads);
	(void)target;
	/* More columns than that are there for a micro tile (H2). */
	if (macro->n != columns && (macro->n < columns || columns >= MICRO_MAX_N))
		return "macro.n must be all columns, or an even part where threads are more than rows";
	if (geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STATIC) {
		const size_t rows = share_rows(problem, threads, geometry->tile[TCB_MIDI].m);
		if (macro->m != rows && (macro->m < rows || rows >= MICRO_MAX_M))
			return "with sched=static macro.m must be a thread's even part of the rows, in whole midi "
			       "tiles";
	} else if (macro->m != DEALT_ROWS && macro->m != DEALT_ROWS_FINE) {
		return "with sched=dynamic tasks are of 16 or 64 rows";
	}
	return NULL;
}

static const char *policy_tile(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	/* Too little for rows of such tiles for every thread. */
	if (problem->shape.m * problem->shape.n < (size_t)SEED_TILE * TILE_LEAST * tcb_most(target->threads, 1))
		return NULL;
	if (midi->m < MICRO_MAX_M && midi->m > 1 && midi->m != geometry->tile[TCB_MICRO].m &&
	    midi->m < problem->shape.m)
		return "midi.m between 1 and 8 must be micro.m: it differs from others by calls only";
	if (midi->m >= MIDI_ROWS_MAX || midi->n >= TILE_LEAST || midi->m * midi->n >= TILE_LEAST ||
	    (midi->n == macro->n && (midi->m == macro->m || midi->m >= SEED_TILE)))
		return NULL;
	return "tiles of less than 256 elements only add calls";
}

#define FIELD(level, dim) (UINT64_C(1) << (3 * (level) + (dim)))
static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, 1, policy_tile },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(THREADS) | TCB_FIELD_KNOB(SCHED), 1, policy_task },
	{ TCB_FIELD_KNOB(PREFETCH), 1, tcb_cpu_policy_ahead },
	{ TCB_FIELD_KNOB(ISA), 1, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* Whole rows in order, with as many chains as hide the latency, and asked for ahead where the caches do not hold them.
 */
/* The seed's tiles of 16x16, a strip of them a task. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const enum tcb_isa isa = tcb_float_isa(target);
	const size_t lanes = tcb_float_lanes(isa);
	size_t threads = tcb_least(problem->shape.m, target->threads ? target->threads : 1);
	const size_t wanted = tcb_power_of_two_up(problem->shape.n);
	/* Of rows of less than two steps of all chains most is the rest that they leave, value by value: one chain
	 * takes half of the time at 37 columns and 1.2 times as long at 128 (a Xeon, AVX-512). */
	const int is_own = reduce2d_program(reduce2d_operation(problem)) && isa == TCB_ISA_AVX2;
	const size_t step = lanes * (is_own ? OWN_CHAINS : DEFAULT_CHAINS);
	const size_t micro = problem->shape.n < 2 * step ? lanes : step;
	const size_t columns = tcb_most(wanted, micro);
	struct tcb_tile midi = { tcb_least(tcb_power_of_two_up(problem->shape.m), MIDI_ROWS_MAX), columns, 1 };
	while (midi.m > 1 && (midi.m * midi.n > TILE_MOST || tcb_div_up(problem->shape.m, midi.m) < threads))
		midi.m = midi.m > SEED_TILE ? SEED_TILE : 1;
	while (midi.n > TILE_MOST)
		midi.n /= 2;
	const size_t bytes = problem->shape.m * problem->shape.n * sizeof(float);
	const int is_large = bytes > (target->llc_bytes ? target->llc_bytes : LLC_BYTES);
	while (threads > 1 && tcb_div_up(problem->shape.m, share_rows(problem, threads, midi.m)) < threads)
		threads--; /* even parts of few rows are fewer */
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ share_rows(problem, threads, midi.m), columns, 1 };
	out->tile[TCB_MIDI] = midi;
	const int is_short = isa == TCB_ISA_AVX2 && problem->shape.n <= SHORT_COLUMNS && midi.m >= SHORT_ROWS &&
			     !reduce2d_program(reduce2d_operation(problem));
	out->tile[TCB_MICRO] = (struct tcb_tile){ is_short ? SHORT_ROWS : 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	/* Of what the caches may hold little ahead: what comes from memory after all takes 0.72 to 0.9 of the time, and
	 * what does not as long as without (a Xeon with AMX).  With AVX2 as of what they do not hold, 0.81 to 1.0 out
	 * of memory and 0.43 to 1.1 out of caches, but of sums, which take 1.13 to 1.22 times as long (a Zen 3); of the
	 * families between nobody measured it. */
	const int is_avx2 = isa == TCB_ISA_AVX2 && !reduce2d_is_sum(problem);
	const int is_far = is_large || (is_avx2 && bytes > AHEAD);
	const int is_asked = (tcb_target_has(target, TCB_ISA_AMX) || is_avx2) && bytes > CACHED_AHEAD;
	out->knob[TCB_KNOB_PREFETCH] = is_far ? AHEAD : is_asked ? CACHED_AHEAD : 0;
	out->knob[TCB_KNOB_HINT] = is_far ? TCB_HINT_T1 : TCB_HINT_T0;
	if (reduce2d_is_sum(problem))
		out->knob[TCB_KNOB_FORM] = TCB_FORM_LANES;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t lanes = tcb_float_lanes(geometry->knob[TCB_KNOB_ISA]);
	(void)problem, (void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	if (lanes) {
		out->accumulators = (unsigned)(tile[TCB_MICRO].m * tile[TCB_MICRO].n / lanes);
		/* A compensated sum has two registers an accumulator. */
		unsigned each = geometry->knob[TCB_KNOB_FORM] == TCB_FORM_KAHAN ? 2 : 1;
		out->vector_registers = lanes > 1 ? each * out->accumulators + MICRO_OPERANDS : 0;
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * tile[level].m * tile[level].n;
}

const struct tcb_side_space reduce2d_cpu_space = { rules, axes, default_geometry, footprint };
