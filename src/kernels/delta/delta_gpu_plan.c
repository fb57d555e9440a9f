/* SPDX-License-Identifier: MIT
 *
 * A geometry of the recurrent ops for a GPU in numbers, what the constraints judge, the rules
 * (V4) that it keeps, the axes of its space and its default.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/delta/delta_gpu_plan.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	REGISTERS_MAX = 128 /* of the state, in a lane */,
	DEFAULT_NUMBERS_MAX = 32 /* of a value */,
	DEFAULT_WARPS = 4,
	DEFAULT_LANES = 8,
	DEFAULT_UNROLL = 4,
	CHUNK_REGISTERS_MAX = 192, /* of the state, values, what tokens add and y, in a lane */
	CHUNK_WARPS_MAX = 16,
	DEFAULT_CHUNK_TOKENS = 32,
	DEFAULT_CHUNK_WARPS = 4,
	CHUNKED_FROM = 24 /* tokens: with fewer a chunk is mostly filled up */
};

static size_t rounded_k(const struct tcb_problem *problem)
{
	return tcb_power_of_two_up(problem->shape.k);
}

/* Numbers of a vector; of a geometry that has none 1. */
static unsigned width_of(const struct tcb_problem *problem, unsigned vec)
{
	return (unsigned)tcb_most(vec / tcb_type_bytes(delta_of(problem)->state), 1);
}

static unsigned lanes_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return (unsigned)tcb_most(rounded_k(problem) / tcb_most(geometry->tile[TCB_MICRO].k, 1), 1);
}

static int is_chunked(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_MMA;
}

/* Registers of a lane. */
static size_t chunk_registers(const struct tcb_problem *problem, size_t tokens)
{
	return problem->shape.k / 2 + 3 * tokens / 2;
}

void delta_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct delta_gpu *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct delta_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->state = delta_of(problem)->state;
	g->has_correction = delta_of(problem)->has_correction;
	g->is_prefill = delta_of(problem)->is_prefill;
	g->k = (unsigned)s->k;
	g->n = (unsigned)s->n;
	g->m = (unsigned)s->m;
	g->heads = s->words.query;
	g->key_heads = s->words.kv;
	g->sequences = s->words.sequences;
	g->row = (unsigned)delta_row(s);
	g->slots = (unsigned)delta_slots_row(problem);
	g->width = width_of(problem, KNOB(VEC));
	g->lanes = (unsigned)tcb_least(lanes_of(problem, geometry), WARP);
	g->vectors = g->k / g->lanes / g->width;
	g->beside = WARP / g->lanes;
	g->unroll = (unsigned)tcb_most(geometry->tile[TCB_MICRO].n / g->beside, 1);
	g->warps = KNOB(WARPS);
	g->threads = g->warps * WARP;
	g->tile = (unsigned)tcb_most(geometry->tile[TCB_MIDI].n, 1);
	g->tiles = tcb_div_up(g->n, g->tile);
	g->pdl = KNOB(PDL) == 1;
	g->stream = KNOB(STREAM) == 1;
	g->is_chunked = is_chunked(geometry);
	g->chunk = (unsigned)tcb_least(geometry->tile[TCB_MIDI].m, DELTA_CHUNK_MAX);
	if (g->is_chunked) {
		g->helpers = geometry->knob[TCB_KNOB_PREP] == TCB_PREP_WARPS ? CHUNK_HELPERS : 0;
		g->threads += g->helpers * WARP;
		g->shared_bytes = chunk_slots(g) * chunk_slot_bytes(g) + (g->helpers ? 2 : 1) * chunk_set_bytes(g);
	}
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct delta_gpu g;
	(void)target;
	memset(out, 0, sizeof(*out));
	delta_gpu_plan(problem, geometry, &g);
	const unsigned numbers = g.k / g.lanes;
	out->element_bytes = tcb_type_bytes(g.state);
	out->alignment_bytes = out->vector_bytes = KNOB(VEC);
	out->base_bytes = 256;
	out->leading_bytes = g.k * out->element_bytes;
	out->tile_offset_bytes = KNOB(VEC);
	out->block_threads = g.threads;
	out->thread_registers = g.unroll * (numbers + 8) + (g.m > 1 ? 4 : 2) * numbers + 48;
	out->blocks_together = 1;
	out->accumulators = 2 * g.unroll;
	if (g.is_chunked) {
		out->thread_registers = (unsigned)chunk_registers(problem, g.chunk) + 60;
		out->accumulators = g.chunk / 2;
		out->shared_bytes = g.shared_bytes;
		out->shared_dynamic = 1;
	}
	out->grid[0] = (size_t)g.tiles * g.heads;
	out->grid[1] = g.sequences;
	out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = out->element_bytes * geometry->tile[level].n * geometry->tile[level].k;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(STREAM) | KNOB_BIT(PDL);
	return tcb_gpu_sets_knobs(geometry, is_chunked(geometry) ? set | KNOB_BIT(PREP) : set, 0)
		       ? NULL
		       : "a GPU's geometry sets isa, warps, vec, stream and pdl, with isa=mma prep, and no other knob";
}

RULE(rule_isa)
{
	if (!is_chunked(geometry) && geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma, or mma, chunks, on a GPU";
	if (is_chunked(geometry) && !delta_of(problem)->is_prefill)
		return "isa=mma is of prompts";
	if (is_chunked(geometry) && target->cuda.capability < 80)
		return "isa=mma multiplies tf32, from sm_80 on";
	if (delta_of(problem)->state == TCB_TYPE_BF16 && target->cuda.capability < 80)
		return "a state in bf16 needs sm_80";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

/* Chunks. */
RULE(rule_chunk)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t tokens = geometry->tile[TCB_MIDI].m;
	if (!is_chunked(geometry))
		return NULL;
	if (micro->m != CHUNK_EIGHT || micro->n != CHUNK_VALUES || micro->k != CHUNK_EIGHT || KNOB(VEC) != 16)
		return "isa=mma has micro=8x16x8 and vec=16";
	if (tokens % DELTA_CHUNK_LEAST || !tokens || DELTA_CHUNK_MAX % tokens)
		return "midi.m must be 16, 32 or 64 with isa=mma";
	if (KNOB(PREP) != TCB_PREP_BLOCK && KNOB(PREP) != TCB_PREP_WARPS)
		return "prep must be block or warps";
	if (KNOB(WARPS) > CHUNK_WARPS_MAX)
		return "isa=mma takes up to 16 warps";
	return chunk_registers(problem, tokens) > CHUNK_REGISTERS_MAX
		       ? "k / 2 and 3/2 of a chunk's tokens are more than 192 registers"
		       : NULL;
}

RULE(rule_lanes)
{
	if (is_chunked(geometry))
		return NULL;
	const unsigned vec = KNOB(VEC), lanes = lanes_of(problem, geometry);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (!tcb_is_power_of_two(geometry->tile[TCB_MICRO].k) || lanes > WARP)
		return "micro.k must be a power of two, with which 1 to 32 lanes have a value";
	if (problem->shape.k % ((size_t)lanes * width_of(problem, vec)))
		return "a vector for each lane of a value must divide k";
	return problem->shape.k / lanes > DELTA_NUMBERS_MAX ? "micro.k must be at most 64" : NULL;
}

RULE(rule_values)
{
	if (is_chunked(geometry))
		return NULL;
	const size_t beside = WARP / tcb_least(lanes_of(problem, geometry), WARP), k = geometry->tile[TCB_MICRO].k;
	const size_t n = geometry->tile[TCB_MICRO].n, unroll = n / beside;
	if (n % beside || !tcb_is_power_of_two(unroll) || unroll > DELTA_VALUES_MAX)
		return "micro.n must be 1, 2, 4 or 8 times 32 / lanes of a value";
	return unroll * k > REGISTERS_MAX && unroll > 1 ? "a lane has more than 128 numbers of the state: registers"
							: NULL;
}

RULE(rule_warps)
{
	return !tcb_is_power_of_two(KNOB(WARPS)) || KNOB(WARPS) > WARPS_MAX ? "warps must be a power of two up to 32"
									    : NULL;
}

RULE(rule_switches)
{
	return KNOB(STREAM) > 1 ? "stream must be 0 or 1" : tcb_gpu_rule_pdl(problem, target, geometry);
}

/* Bytes of a state and elements of qkv are counted in 32 bits. */
RULE(rule_size)
{
	return delta_state(&problem->shape) > INT32_MAX / sizeof(float) ? "a state of more than 2^31 bytes"
	       : problem->shape.words.sequences > GRID_YZ_MAX           ? "more than 65535 sequences"
									: NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t m = tcb_power_of_two_up(problem->shape.m), k = rounded_k(problem);
	if (macro->m != m || (!is_chunked(geometry) && (micro->m != 1 || midi->m != m)))
		return "micro.m must be 1, midi.m and macro.m the tokens, rounded up to a power of two";
	if (midi->k != k || macro->k != k)
		return "midi.k and macro.k must be the head's, rounded up to a power of two";
	return macro->n != tcb_most(tcb_power_of_two_up(problem->shape.n), midi->n)
		       ? "macro.n must be n, rounded up to a power of two, or midi.n"
		       : NULL;
}

RULE(rule_midi)
{
	return geometry->tile[TCB_MIDI].n != (size_t)KNOB(WARPS) * geometry->tile[TCB_MICRO].n
		       ? "midi.n must be warps times micro.n"
		       : NULL;
}

#define READS_MICRO (TCB_FIELD_MICRO_N | TCB_FIELD_BIT(3 * TCB_MICRO + 2))

static const struct tcb_rule rules[] = {
	{ 0, 0, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(ISA), 0, rule_size },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_BIT(3 * TCB_MICRO + 2), 0, rule_lanes },
	{ TCB_FIELD_KNOB(ISA) | READS_MICRO, 0, rule_values },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_MICRO_M |
		  TCB_FIELD_MIDI_M | READS_MICRO,
	  0, rule_chunk },
	{ TCB_FIELD_KNOB(WARPS), 0, rule_warps },
	{ TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(PDL), 0, rule_switches },
	{ READS_MICRO | TCB_FIELD_MIDI_N | TCB_FIELD_KNOB(WARPS), 0, rule_midi },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ 0, 0, NULL },
};

/* --- the space --- */

/* Are there kernels for chunks? */
static int chunks_of(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return delta_of(problem)->is_prefill && problem->shape.m >= DELTA_CHUNK_LEAST / 2 &&
	       target->cuda.capability >= 80 && tcb_target_has(target, TCB_ISA_MMA);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), k = rounded_k(problem);
	const size_t n = tcb_power_of_two_up(problem->shape.n), most = tcb_most(n, WARP * DELTA_VALUES_MAX);
	size_t count = 0;
	struct tcb_axis *a;
	const int has_chunks = chunks_of(problem, target);
	a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, TCB_ISA_FMA);
	if (has_chunks)
		tcb_axis_add(a, TCB_ISA_MMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 4, 8, 16);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), 2, 2, DELTA_NUMBERS_MAX);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, WARP * DELTA_VALUES_MAX);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n, 2, most);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		const int is_micro = level == TCB_MICRO;
		a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		tcb_axis_add(a, is_micro ? 1 : m);
		if (has_chunks && is_micro)
			tcb_axis_add(a, CHUNK_EIGHT);
		else if (has_chunks && level == TCB_MIDI)
			tcb_axis_add_powers(a, DELTA_CHUNK_LEAST, 2, tcb_least(m, DELTA_CHUNK_MAX));
		if (!is_micro)
			tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), k);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	if (has_chunks)
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_PREP), TCB_PREP_BLOCK, TCB_PREP_WARPS);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	return count;
}

/* As many lanes, up to 8 or of many keys 16, as have a vector of VEC bytes each. */
static size_t lanes_by(const struct tcb_problem *problem, size_t vec)
{
	size_t lanes = problem->shape.k > 128 ? 2 * DEFAULT_LANES : DEFAULT_LANES;
	while (problem->shape.k % (lanes * width_of(problem, (unsigned)vec)))
		lanes /= 2;
	return lanes;
}

/* A prompt: chunks of 32 tokens, or 16 where shared memory is small; as many warps as leave each multiprocessor a
 * block, but two, since each block works out what its tokens have to do with each other.  0: there is no room. */
static int default_chunks(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), n = tcb_power_of_two_up(s->n), k = rounded_k(problem);
	const size_t heads = (size_t)s->words.sequences * s->words.query;
	size_t warps = DEFAULT_CHUNK_WARPS, tokens = tcb_least(m, DEFAULT_CHUNK_TOKENS);
	struct delta_gpu g;
	while (warps > 2 && heads * tcb_div_up(s->n, warps * CHUNK_VALUES) < target->cuda.sm_count)
		warps /= 2;
	while (warps > 1 && (warps - 1) * CHUNK_VALUES >= s->n)
		warps /= 2;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = 16;
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_PDL] = 0;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_WARPS;
	for (; tokens >= DELTA_CHUNK_LEAST; tokens /= 2) {
		const size_t tile = warps * CHUNK_VALUES;
		out->tile[TCB_MACRO] = (struct tcb_tile){ m, tcb_most(n, tile), k };
		out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, tile, k };
		out->tile[TCB_MICRO] = (struct tcb_tile){ CHUNK_EIGHT, CHUNK_VALUES, CHUNK_EIGHT };
		delta_gpu_plan(problem, out, &g);
		if (g.shared_bytes <= tcb_shared_limit(target) && !rule_chunk(problem, target, out))
			return 1;
	}
	return 0;
}

/* Eight lanes to a value, whose vectors are whole lines of 128 bytes; as many values to a lane as leave each
 * multiprocessor two blocks. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), n = tcb_power_of_two_up(s->n), k = rounded_k(problem);
	const size_t heads = (size_t)s->words.sequences * s->words.query,
		     blocks = 2 * tcb_most(target->cuda.sm_count, 1);
	size_t unroll = DEFAULT_UNROLL, warps = DEFAULT_WARPS, vec = 16, lanes = lanes_by(problem, vec);
	if (chunks_of(problem, target) && s->m >= CHUNKED_FROM && default_chunks(problem, target, out))
		return;
	while (s->k / lanes > DEFAULT_NUMBERS_MAX && vec > 4)
		lanes = lanes_by(problem, vec /= 2);
	const size_t beside = WARP / lanes;
	while (unroll > 1 &&
	       (unroll * k / lanes > REGISTERS_MAX / 2 || heads * tcb_div_up(s->n, unroll * beside * warps) < blocks))
		unroll /= 2;
	while (warps > 1 && (unroll * beside * warps > tcb_most(n, beside) ||
			     heads * tcb_div_up(s->n, unroll * beside * warps) < blocks))
		warps /= 2;
	while (unroll > 1 && unroll * beside * warps > tcb_most(n, beside))
		unroll /= 2;
	const size_t tile = unroll * beside * warps;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, tcb_most(n, tile), k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ m, tile, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, unroll * beside, k / lanes };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_PDL] = 0;
}

const struct tcb_side_space delta_gpu_space = { rules, axes, default_geometry, footprint };
