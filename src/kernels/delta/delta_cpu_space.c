/* SPDX-License-Identifier: MIT
 *
 * The search space of the recurrent ops on CPUs, its rules and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/delta/delta_cpu.h"
#include "kernels/simd/isas.h"

enum {
	MICRO_LEAST = 2,
	MICRO_MOST = 8,
	DEFAULT_MICRO = 4,
	/* States in f32 of a few tokens: two rows at a time and nothing asked for ahead are twice as fast out of memory
	 * as four (an EPYC of Zen 4), and as fast out of caches. */
	DEFAULT_MICRO_DECODE = 2,
	/* With AVX2 also bf16 of one token with longer rows than this: 0.6 to 0.93 of the time on a Zen 3, and 1.1 of
	 * it with shorter ones. */
	SHORT_ROW_AVX2 = 128,
	DEFAULT_MIDI_LEAST = 8,
	DEFAULT_PREFETCH = 1024,
	TASKS_A_THREAD = 4,
	/* Chunks: what register tiles have. */
	CHUNK_ROWS_LEAST = 2,
	CHUNK_ROWS_MOST = 8,
	CHUNK_VALUES_MOST = 32,
	DEFAULT_CHUNK = 16,
	CHUNKED_FROM = 24, /* tokens: with fewer a chunk is mostly filled up */
};

static int has_chunks(const struct tcb_problem *problem)
{
	return delta_of(problem)->is_prefill && problem->shape.m >= DELTA_CHUNK_LEAST / 2;
}

/* With MICRO rows at a time. */
static size_t macro_n(const struct tcb_problem *problem, size_t micro)
{
	return tcb_most(tcb_power_of_two_up(problem->shape.n), micro);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), n = macro_n(problem, MICRO_LEAST);
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	const size_t micro_most = has_chunks(problem) ? CHUNK_VALUES_MOST : MICRO_MOST;
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), MICRO_LEAST, 2, micro_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), MICRO_LEAST, 2,
			    tcb_most(n, micro_most));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n, 2, tcb_most(n, micro_most));
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH), 0, 512, 1024, 2048, 4096, 8192);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		const int is_micro = level == TCB_MICRO;
		struct tcb_axis *axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		if (level == TCB_MIDI)
			tcb_axis_add_powers(
				axis, 1, 2,
				tcb_least(m, has_chunks(problem) ? DELTA_CHUNK_MAX : DELTA_DECODE_TOKENS_MAX));
		else
			tcb_axis_add(axis, is_micro ? 1 : m);
		if (is_micro && has_chunks(problem))
			tcb_axis_add_powers(axis, CHUNK_ROWS_LEAST, 2, CHUNK_ROWS_MOST);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), is_micro ? 1 : s->k);
	}
	return count;
}

/* --- rules (V4) --- */

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	(void)target;
	if (macro->m != m || macro->k != problem->shape.k || midi->k != problem->shape.k)
		return "macro.m must be the tokens, rounded up to a power of two, macro's and midi's k the head's";
	if (!delta_of(problem)->is_prefill && midi->m != m)
		return "midi.m must be the tokens, rounded up to a power of two";
	return macro->n != macro_n(problem, geometry->tile[TCB_MICRO].n)
		       ? "macro.n must be n, rounded up to a power of two, or micro.n"
		       : NULL;
}

static const char *rule_chunk(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const size_t tokens = geometry->tile[TCB_MIDI].m;
	(void)problem, (void)target;
	if (!delta_is_chunked(geometry))
		return tokens > DELTA_DECODE_TOKENS_MAX ? "midi.m must be at most 16 where micro.m is 1" : NULL;
	if (tokens % DELTA_CHUNK_LEAST || DELTA_CHUNK_MAX % tokens)
		return "midi.m must be 16, 32 or 64, a chunk, where micro.m is not 1";
	return NULL;
}

static const char *rule_chunk_knobs(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return delta_is_chunked(geometry) && (geometry->knob[TCB_KNOB_PREFETCH] || geometry->knob[TCB_KNOB_STREAM])
		       ? "chunks have no prefetch and no stream: 0"
		       : NULL;
}

#define READS_CHUNK (TCB_FIELD_MICRO_M | TCB_FIELD_MIDI_M)

static const struct tcb_rule rules[] = {
	{ READS_CHUNK, TCB_RULE_KERNEL, rule_chunk },
	{ TCB_FIELD_MICRO_M | TCB_FIELD_KNOB(PREFETCH) | TCB_FIELD_KNOB(STREAM), TCB_RULE_DOUBLE, rule_chunk_knobs },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* A prompt: chunks of whole heads, unless threads would have none. */
static void default_chunks(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t lanes = tcb_most(tcb_float_lanes((int32_t)tcb_float_isa(target)), 1);
	const size_t rows = lanes == 1                 ? CHUNK_ROWS_LEAST
			    : lanes == CHUNK_ROWS_MOST ? CHUNK_ROWS_MOST / 2
						       : CHUNK_ROWS_MOST;
	const size_t tile = lanes == 1 ? 4 : 2 * lanes, m = tcb_power_of_two_up(s->m), n = macro_n(problem, tile);
	const size_t threads = tcb_most(target->threads, 1), heads = (size_t)s->words.sequences * s->words.query;
	size_t midi = n;
	while (midi > tile && heads * tcb_div_up(s->n, midi) < threads)
		midi /= 2;
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, n, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tcb_least(m, DEFAULT_CHUNK), midi, s->k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ rows, tile, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(threads, heads * tcb_div_up(s->n, midi));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = out->knob[TCB_KNOB_STREAM] = 0;
}

/* Whole heads, unless threads would have none; past the caches where states do not stay in them. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const int is_f32 = !delta_of(problem)->is_prefill && delta_of(problem)->state == TCB_TYPE_F32;
	const int is_long = !delta_of(problem)->is_prefill && s->m == 1 && s->k > SHORT_ROW_AVX2 &&
			    tcb_float_isa(target) == TCB_ISA_AVX2;
	const size_t micro = is_f32 || is_long ? DEFAULT_MICRO_DECODE : DEFAULT_MICRO;
	const size_t m = tcb_power_of_two_up(s->m), n = macro_n(problem, micro), threads = tcb_most(target->threads, 1);
	const size_t heads = (size_t)s->words.sequences * s->words.query;
	const size_t stored = s->words.sequences * delta_kept(problem) * delta_state(s);
	size_t midi = n;
	tcb_geometry_init(out);
	if (delta_of(problem)->is_prefill && s->m >= CHUNKED_FROM) {
		default_chunks(problem, target, out);
		return;
	}
	while (midi > DEFAULT_MIDI_LEAST && heads * tcb_div_up(s->n, midi) < TASKS_A_THREAD * threads)
		midi /= 2;
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, n, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tcb_least(m, DELTA_DECODE_TOKENS_MAX), midi, s->k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(threads, heads * tcb_div_up(s->n, midi));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = is_f32 ? 0 : DEFAULT_PREFETCH;
	out->knob[TCB_KNOB_STREAM] = stored * tcb_type_bytes(delta_of(problem)->state) > target->l2_bytes;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t element = tcb_type_bytes(delta_of(problem)->state), rows = geometry->tile[TCB_MICRO].n;
	const int is_vector = tcb_float_lanes(geometry->knob[TCB_KNOB_ISA]) > 1;
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = element;
	out->vector_registers = is_vector ? (unsigned)(2 * rows + 3) : 0; /* two sums a row, a key, a query, values */
	out->accumulators = (unsigned)(2 * rows);
	if (delta_is_chunked(geometry)) {
		const size_t vectors = tcb_div_up(rows, tcb_most(tcb_float_lanes(geometry->knob[TCB_KNOB_ISA]), 1));
		out->accumulators = (unsigned)(geometry->tile[TCB_MICRO].m * vectors);
		out->vector_registers = is_vector ? (unsigned)(out->accumulators + vectors + 1) : 0;
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = element * geometry->tile[level].n * geometry->tile[level].k;
}

const struct tcb_side_space delta_cpu_space = { rules, axes, default_geometry, footprint };
