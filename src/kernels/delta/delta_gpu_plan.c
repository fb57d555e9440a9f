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
	NUMBERS_LEAST = 8 /* of these, where more lanes are to have some */,
	DEFAULT_WARPS = 4,
	DEFAULT_LANES = 8,
	DEFAULT_UNROLL = 4,
	CHUNK_REGISTERS_MAX = 176, /* of the state, values, what tokens add and y, in a lane */
	CHUNK_REGISTERS = 72,      /* and others */
	REGISTERS_OF_SM = 65536,
	CHUNK_WARPS_MAX = 16,
	CHUNK_STAGES_MAX = 4,
	CHUNK_TAKEN_MAX = 16,
	DEFAULT_TOKENS = 32, /* of a chunk: on an H200 0.89 to 0.94 of what chunks of 64 take */
	DEFAULT_VALUES = 32, /* of a block of chunks, */
	CHUNKED_FROM = 24    /* tokens: with fewer a chunk is mostly filled up */
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
static size_t chunk_registers(const struct delta_gpu *g)
{
	return g->key_groups * g->tile / 2 + 2 * g->warp_values;
}

static void plan_chunks(const struct tcb_geometry *geometry, struct delta_gpu *g)
{
	const size_t sequences = g->sequences;
	g->chunk = (unsigned)tcb_least(tcb_most(geometry->tile[TCB_MIDI].m, DELTA_CHUNK_LEAST), DELTA_CHUNK_MAX);
	g->chunks = (unsigned)tcb_div_up(g->m, g->chunk);
	g->warp_values = (unsigned)tcb_most(geometry->tile[TCB_MICRO].n, 1);
	g->stages = KNOB(STAGES);
	g->cluster = KNOB_COUNT(CLUSTER);
	g->is_bulk = KNOB(COPY) == TCB_COPY_BULK;
	if (g->is_bulk)
		g->threads += WARP;
	g->taken = KNOB_COUNT(HEADS);
	g->parts = (unsigned)tcb_div_up(tcb_div_up(g->heads, g->key_heads), g->taken);
	g->key_groups = (unsigned)tcb_div_up(g->k / CHUNK_TILE, tcb_most(g->warps, 1));
	g->shared_bytes = (g->is_bulk ? CHUNK_BARRIERS_BYTES : 0) + g->stages * chunk_slot_bytes(g) +
			  g->tile * chunk_row(g) + (g->has_correction ? 3 : 2) * g->chunk * chunk_value_row(g);
	g->prepare_shared = chunk_rows_bytes(g) + (g->has_correction ? 2 * chunk_system_bytes(g) : 0) +
			    4 * CHUNK_NUMBERS * g->chunk * g->taken + 4 * (g->heads + 1);
	g->records_at = tcb_round_up(sequences * g->chunks * g->key_heads * chunk_rows_bytes(g), 256);
	g->workspace_bytes = g->records_at + sequences * g->chunks * g->heads * chunk_record_bytes(g);
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
	if (g->is_chunked)
		plan_chunks(geometry, g);
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
		out->thread_registers = (unsigned)chunk_registers(&g) + CHUNK_REGISTERS;
		out->accumulators = g.warp_values;
		out->shared_bytes = tcb_most(g.shared_bytes, g.prepare_shared);
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
	const uint64_t of_chunks = KNOB_BIT(STAGES) | KNOB_BIT(COPY) | KNOB_BIT(HEADS) | KNOB_BIT(CLUSTER);
	return tcb_gpu_sets_knobs(geometry, is_chunked(geometry) ? set | of_chunks : set, 0)
		       ? NULL
		       : "a GPU's geometry sets isa, warps, vec, stream and pdl, with isa=mma stages, copy, heads "
			 "and cluster, and no other knob";
}

RULE(rule_isa)
{
	if (!is_chunked(geometry) && geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma, or mma, chunks, on a GPU";
	if (is_chunked(geometry) && !delta_of(problem)->is_prefill)
		return "isa=mma is of prompts";
	if (is_chunked(geometry) && target->cuda.capability < 80)
		return "isa=mma multiplies bf16 and tf32, from sm_80 on";
	if (delta_of(problem)->state == TCB_TYPE_BF16 && target->cuda.capability < 80)
		return "a state in bf16 needs sm_80";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

/* Chunks. */
RULE(rule_chunk)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO], *midi = &geometry->tile[TCB_MIDI];
	if (!is_chunked(geometry))
		return NULL;
	if (micro->m != CHUNK_TILE || micro->k != CHUNK_TILE || KNOB(VEC) != 16)
		return "isa=mma has micro.m=16, micro.k=16 and vec=16";
	if (midi->m % DELTA_CHUNK_LEAST || !midi->m || DELTA_CHUNK_MAX % midi->m)
		return "midi.m must be 16, 32 or 64 with isa=mma";
	if (!micro->n || micro->n % CHUNK_TILE || midi->n % micro->n || midi->n > DELTA_TILE_MAX)
		return "with isa=mma micro.n must be 16 or more and divide midi.n, up to 128 values";
	return KNOB(WARPS) != midi->m / micro->m * (midi->n / micro->n) || KNOB(WARPS) > CHUNK_WARPS_MAX
		       ? "with isa=mma warps must be micro tiles of midi.m times midi.n, up to 16"
		       : NULL;
}

/* What they go through. */
RULE(rule_copies)
{
	if (!is_chunked(geometry))
		return NULL;
	if (KNOB(STAGES) < 2 || KNOB(STAGES) > CHUNK_STAGES_MAX)
		return "stages must be 2 to 4";
	if (KNOB(COPY) != TCB_COPY_ASYNC && KNOB(COPY) != TCB_COPY_BULK)
		return "copy must be async or bulk";
	const size_t sharing = tcb_div_up(problem->shape.words.query, tcb_most(problem->shape.words.kv, 1));
	if (!tcb_is_power_of_two(KNOB(HEADS)) || KNOB(HEADS) > tcb_least(tcb_power_of_two_up(sharing), CHUNK_TAKEN_MAX))
		return "heads must be a power of two up to 16, and no more than share keys, rounded up";
	const size_t tiles = tcb_div_up(problem->shape.n, tcb_most(geometry->tile[TCB_MIDI].n, 1));
	if (!tcb_is_power_of_two(KNOB(CLUSTER)) || KNOB(CLUSTER) > CHUNK_CLUSTER_MAX || tiles % KNOB(CLUSTER))
		return "cluster must be 1, 2, 4 or 8 and divide a head's blocks";
	if (KNOB(CLUSTER) > 1 && (KNOB(COPY) != TCB_COPY_BULK || target->cuda.capability != 90))
		return "cluster above 1 needs copy=bulk and an sm_90";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

RULE(rule_chunk_registers)
{
	struct delta_gpu g;
	if (!is_chunked(geometry))
		return NULL;
	delta_gpu_plan(problem, geometry, &g);
	/* Warps get theirs by fours. */
	const unsigned most = REGISTERS_OF_SM / (WARP * 4 * (unsigned)tcb_div_up(g.threads, 4 * WARP));
	return g.key_groups > CHUNK_KEY_GROUPS_MAX || chunk_registers(&g) > CHUNK_REGISTERS_MAX ||
			       chunk_registers(&g) + CHUNK_REGISTERS > most
		       ? "a warp's part of the state and twice micro.n are more than 176 registers, or than the "
			 "block's "
			 "warps have"
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
	return !is_chunked(geometry) && geometry->tile[TCB_MIDI].n != (size_t)KNOB(WARPS) * geometry->tile[TCB_MICRO].n
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
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_MICRO_M | TCB_FIELD_MIDI_M |
		  TCB_FIELD_MIDI_N | READS_MICRO,
	  0, rule_chunk },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(HEADS) |
		  TCB_FIELD_KNOB(CLUSTER) | TCB_FIELD_MIDI_N,
	  0, rule_copies },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_MIDI_N | READS_MICRO, 0,
	  rule_chunk_registers },
	{ TCB_FIELD_KNOB(WARPS), 0, rule_warps },
	{ TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(PDL), 0, rule_switches },
	{ TCB_FIELD_KNOB(ISA) | READS_MICRO | TCB_FIELD_MIDI_N | TCB_FIELD_KNOB(WARPS), 0, rule_midi },
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
			tcb_axis_add(a, CHUNK_TILE);
		else if (has_chunks && level == TCB_MIDI)
			tcb_axis_add_powers(a, DELTA_CHUNK_LEAST, 2, tcb_least(m, DELTA_CHUNK_MAX));
		if (!is_micro)
			tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), k);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	if (has_chunks) {
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_STAGES), 2, 3, 4);
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_COPY), TCB_COPY_ASYNC, TCB_COPY_BULK);
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_HEADS), 1, 2, 4, 8, 16);
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_CLUSTER), 1, 2, 4, 8);
	}
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

/* A prompt: chunks of 32 tokens, or fewer where shared memory is small, which a block takes 32 values through, or 16,
 * as four warps where it can; of heads that share keys as many together as leave each multiprocessor a block.  0: there
 * is no room. */
static int default_chunks(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), n = tcb_power_of_two_up(s->n), k = rounded_k(problem);
	const size_t sharing = tcb_div_up(s->words.query, s->words.kv);
	for (size_t tokens = tcb_least(m, DEFAULT_TOKENS); tokens >= DELTA_CHUNK_LEAST; tokens /= 2)
		for (size_t values = tcb_least(tcb_most(n, CHUNK_TILE), DEFAULT_VALUES); values >= CHUNK_TILE;
		     values /= 2) {
			const size_t blocks = (size_t)s->words.sequences * s->words.kv * tcb_div_up(s->m, tokens);
			const size_t of_warp = tcb_most(values * tokens / DELTA_CHUNK_MAX, CHUNK_TILE);
			size_t taken = 1;
			struct delta_gpu g;
			tcb_geometry_init(out);
			while (taken < CHUNK_TAKEN_MAX && taken < sharing &&
			       blocks * tcb_div_up(sharing, 2 * taken) * 8 >= 7 * (size_t)target->cuda.sm_count)
				taken *= 2;
			out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
			out->knob[TCB_KNOB_WARPS] = (int32_t)(tokens / CHUNK_TILE * (values / of_warp));
			out->knob[TCB_KNOB_VEC] = 16;
			out->knob[TCB_KNOB_STAGES] = 3;
			out->knob[TCB_KNOB_COPY] = TCB_COPY_ASYNC;
			out->knob[TCB_KNOB_HEADS] = (int32_t)taken;
			out->knob[TCB_KNOB_CLUSTER] = 1;
			out->knob[TCB_KNOB_STREAM] = 0;
			out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
			out->tile[TCB_MACRO] = (struct tcb_tile){ m, n > values ? n : values, k };
			out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, values, k };
			out->tile[TCB_MICRO] = (struct tcb_tile){ CHUNK_TILE, of_warp, CHUNK_TILE };
			delta_gpu_plan(problem, out, &g);
			if (tcb_most(g.shared_bytes, g.prepare_shared) <= tcb_shared_limit(target) &&
			    !rule_chunk_registers(problem, target, out))
				return 1;
		}
	return 0;
}

/* Eight lanes to a value, whose vectors are whole lines of 128 bytes, or of narrower vectors where that many lanes have
 * none, and sixteen where values leave multiprocessors idle; as many values to a lane as leave each multiprocessor two
 * blocks. */
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
	while (vec > 4 && lanes < DEFAULT_LANES * (s->k > 128 ? 2 : 1) && s->k / lanes >= 2 * NUMBERS_LEAST &&
	       heads * s->n * lanes < blocks * WARP)
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
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

const struct tcb_side_space delta_gpu_space = { rules, axes, default_geometry, footprint };
