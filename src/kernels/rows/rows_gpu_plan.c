/* SPDX-License-Identifier: MIT
 *
 * A geometry of a row op for a GPU in numbers: how rows and columns are dealt,
 * what lies where in shared memory, what the constraints judge; and the rules
 * (V4) that a geometry keeps so that a kernel can be written for it and no two
 * legal ones are the same computation.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/rows/rows_gpu.h"

enum {
	SLOT_ALIGN = 128,
	LONG_ROW = 1024,
	PARTS_MAX = WARP * TCB_ROWS_CHUNKS_MAX,
	VECTOR_FLOATS = 4,
	/* Columns that a warp's share is a multiple of, a line or, of a short one, a sector: no two warps write into
	 * one. */
	SHARE_STEP = 32,
	SHORT_SHARE_STEP = 8,
	SHORT_SHARE = 1024,
	BARRIER = 8,
	ROWS_AHEAD = 4,          /* that a ring of pieces holds at most */
	SHARED_OF_SYSTEM = 1024, /* that each block has besides */
};

/* --- numbers --- */

/* In pieces: columns of the share that each of WARPS has of a row. */
static size_t share_of(size_t n, size_t warps)
{
	const size_t even = tcb_div_up(n, warps);
	return tcb_round_up(even, even < SHORT_SHARE ? SHORT_SHARE_STEP : SHARE_STEP);
}

/* Blocks that stay, and do not have whole rows on their way. */
static int has_pieces(const struct tcb_geometry *geometry)
{
	return KNOB(BLOCKS) > 0 && KNOB(STAGES) == 1 && KNOB(COPY) == TCB_COPY_BULK && KNOB(XIN) == TCB_XIN_SHARED;
}

unsigned tcb_rows_gpu_cluster_most(const struct tcb_target *target)
{
	const unsigned family = target->cuda.capability / 10;
	if (family < 9)
		return 1;
	return family <= 10 ? TCB_ROWS_CLUSTER_MOST : CLUSTER_MAX;
}

/*
 * SMs that clusters of SIZE blocks, one per SM, can use: the rest of a GPC's that is too small for a cluster stays
 * idle. An H200 (132 SMs) has room for 66 clusters of 2, 30 of 4, 15 of 8 (cuOccupancyMaxActiveClusters).  A cluster
 * too many would begin when all the others end.
 */
static unsigned cluster_sms(const struct tcb_target *target, unsigned size)
{
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	return size > 2 && sms > 11 ? sms * 10 / 11 : sms;
}

/* Rows in pieces: the ring has what the block's part of an SM's shared memory leaves. */
static void plan_pieces(const struct tcb_rows_math *math, const struct tcb_target *target, struct tcb_rows_gpu *g)
{
	const unsigned of_row = tcb_div_up(g->slice, g->piece);
	const unsigned barriers = tcb_round_up(g->warps * (g->lead ? 1 : 0) * BARRIER, 16);
	const size_t limit = tcb_shared_limit(target) + SHARED_OF_SYSTEM;
	const size_t mine = limit / (g->together ? g->together : 1) - SHARED_OF_SYSTEM;
	g->slot_bytes = g->piece * 4;
	g->parts_bytes = tcb_round_up(g->parts * math->part * 4, 16);
	g->lead_bytes = g->lead ? math->weights * g->warps * g->slice * 4 : 0;
	const size_t rest = barriers + (size_t)g->lead_bytes + (g->parts > 1 ? 2 * g->parts_bytes : 0);
	const size_t room = mine > rest ? (mine - rest) / (g->warps * (g->slot_bytes + BARRIER)) : 0;
	const unsigned most = of_row * ROWS_AHEAD;
	g->slots = room > most ? most : room < of_row ? of_row : (unsigned)room;
	g->barrier_at = g->warps * g->slots * g->slot_bytes;
	g->lead_at = g->barrier_at + tcb_round_up(g->warps * g->slots * BARRIER, 16) + barriers;
	g->parts_at = g->lead_at + g->lead_bytes;
	g->shared_bytes = g->parts_at + (g->parts > 1 ? 2 * g->parts_bytes : 0);
}

static void plan_memory(const struct tcb_rows_math *math, struct tcb_rows_gpu *g)
{
	const unsigned columns = g->slice < g->most ? g->slice : g->most, sets = g->resident ? 2 : 1;
	unsigned at = 0;
	g->edge_at = columns * 4;
	if (g->copy != TCB_COPY_LDG) {
		g->slot_bytes = tcb_round_up((columns + (g->shifted ? 2 * g->width : 0)) * 4, SLOT_ALIGN);
		at = g->rows * g->stages * g->slot_bytes;
	}
	g->barrier_at = at;
	if (g->copy == TCB_COPY_BULK)
		at += tcb_round_up(g->rows * g->stages * 8, 16);
	g->parts_at = at;
	g->parts_bytes = tcb_round_up(g->rows * g->parts * math->part * 4, 16);
	if (g->parts > 1 && g->join != TCB_JOIN_LAUNCH)
		at += sets * g->parts_bytes;
	g->shared_bytes = at;
	g->workspace_bytes = g->join == TCB_JOIN_LAUNCH ? (size_t)g->m * g->parts * math->part * 4 : 0;
}

void tcb_rows_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_rows_gpu *out)
{
	struct tcb_rows_gpu *g = out;
	unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	memset(g, 0, sizeof(*g));
	g->capability = target->cuda.capability;
	g->m = (unsigned)problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->width = KNOB(VEC) / 4;
	g->warps = KNOB(WARPS);
	g->ksplit = KNOB(KSPLIT);
	g->rows = g->warps / g->ksplit;
	g->splitk = KNOB(SPLITK);
	g->stages = KNOB(STAGES);
	g->resident = KNOB(BLOCKS);
	g->together = KNOB(OCC);
	g->unroll = KNOB(UNROLL);
	g->lead = KNOB(LEAD);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->keep = (enum tcb_xin)KNOB(XIN);
	g->join = (enum tcb_join)KNOB(JOIN);
	g->pdl = KNOB(PDL) == 1;
	g->stream = KNOB(STREAM) == 1;
	g->pass = WARP * g->ksplit * g->width;
	g->shifted = g->n % g->width != 0;
	g->most = g->n / g->width * g->width;
	g->least = g->shifted ? g->most - g->width : g->n;
	g->passes = tcb_div_up(tcb_div_up(g->most, g->splitk), g->pass);
	g->slice = g->passes * g->pass;
	g->parts = g->ksplit * (g->join == TCB_JOIN_WHOLE ? 1 : g->splitk);
	g->has_pieces = has_pieces(geometry);
	if (g->has_pieces) {
		sms = cluster_sms(target, g->splitk);
		g->pass = WARP * g->width;
		g->slice = (unsigned)share_of(g->n, g->parts);
		g->passes = tcb_div_up(g->slice, g->pass);
		g->piece = g->unroll * g->pass;
	}
	g->tiles = tcb_div_up(g->m, g->rows);
	g->grid = g->tiles;
	if (g->resident && g->resident * sms / g->splitk < g->tiles)
		g->grid = g->resident * sms / g->splitk ? g->resident * sms / g->splitk : 1;
	g->grid *= g->splitk;
	if (g->has_pieces)
		plan_pieces(rows_of(problem)->gpu, target, g);
	else
		plan_memory(rows_of(problem)->gpu, g);
}

unsigned tcb_rows_gpu_steps(const struct tcb_rows_gpu *g)
{
	const unsigned passes = g->join == TCB_JOIN_WHOLE ? tcb_div_up(g->n, g->pass) : g->passes;
	return g->keep == TCB_XIN_REGS ? 1 : tcb_div_up(passes, g->unroll) + g->shifted;
}

/* Four chains of a lane's values, these together, the state before; lanes of a warp; parts of a lane and of lanes. */
unsigned tcb_rows_gpu_chain(const struct tcb_rows_gpu *g)
{
	const unsigned values = (g->keep == TCB_XIN_REGS ? g->passes : g->unroll) * g->width + g->shifted;
	return tcb_rows_gpu_steps(g) * (tcb_div_up(values, 4) + 3) + 5 + tcb_div_up(g->parts, WARP) +
	       tcb_log2_up(g->parts < WARP ? g->parts : WARP);
}

unsigned tcb_rows_gpu_vectors(size_t n, unsigned warps)
{
	return (unsigned)tcb_div_up(share_of(n, warps), WARP * VECTOR_FLOATS);
}

/* --- footprint --- */

/* Upper bounds, held against ptxas by tests/kernels/check_gpu_space.c. */
static unsigned registers(const struct tcb_rows_math *math, const struct tcb_rows_gpu *g)
{
	const int holds = g->keep == TCB_XIN_REGS;
	const unsigned vectors = holds ? g->passes : g->unroll, values = vectors * g->width;
	const unsigned rows = holds && g->copy == TCB_COPY_LDG && g->stages > 1 ? 2 : 1;
	unsigned all = math->registers + values * rows;
	if (holds && math->temporaries)
		all += values / math->temporaries;
	if (math->weights)
		all += math->weights * (g->lead ? values : holds ? 4 * g->width : values);
	if (g->shifted)
		all += 12 + (math->weights ? math->weights * values / 2 + 4 * g->width : 0);
	if (g->has_pieces)
		all += 4;
	return all + (g->copy == TCB_COPY_LDG ? 0 : 8) + (g->resident ? 6 : 0) + vectors / 8;
}

void tcb_rows_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct tcb_rows_gpu g;
	memset(out, 0, sizeof(*out));
	tcb_rows_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = g.width * 4;
	out->base_bytes = 256;
	out->leading_bytes = g.shifted ? 0 : (size_t)g.n * 4; /* vectors of shifted rows are the array's */
	out->tile_offset_bytes = (size_t)g.slice * 4;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.warps * WARP;
	out->thread_registers = registers(rows_of(problem)->gpu, &g);
	out->blocks_together = g.together;
	out->accumulators = 4;
	out->grid[0] = (size_t)g.tiles * g.splitk;
	out->grid[1] = out->grid[2] = 1;
	out->barriers = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_isa)
{
	if (problem->shape.words.add)
		return "GPU kernels of norms have no word add: add with elementwise_add_f32 before them";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma on a GPU";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_shape)
{
	return problem->shape.n > TCB_ROWS_N_MAX || problem->shape.m > INT32_MAX
		       ? "rows of more than 2^28 values, or more than 2^31 rows, have no GPU kernel"
		       : NULL;
}

static const uint64_t rows_knobs = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) |
				   KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(KSPLIT) | KNOB_BIT(COPY) |
				   KNOB_BIT(XIN) | KNOB_BIT(STREAM) | KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) |
				   KNOB_BIT(JOIN);

RULE(rule_idle)
{
	return tcb_gpu_sets_knobs(geometry, rows_knobs | KNOB_BIT(LEAD), 0)
		       ? NULL
		       : "a GPU's geometry sets isa, unroll, warps, vec, stages, splitk, ksplit, copy, xin, stream, "
			 "lead, blocks, pdl, occ and join, and no other knob";
}

RULE(rule_idle_plain)
{
	return tcb_gpu_sets_knobs(geometry, rows_knobs, 0)
		       ? NULL
		       : "a GPU's geometry sets isa, unroll, warps, vec, stages, splitk, ksplit, copy, xin, stream, "
			 "blocks, pdl, occ and join, and no other knob";
}

RULE(rule_vec)
{
	const unsigned vec = KNOB(VEC);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	return problem->shape.n * 4 % vec && problem->shape.n < vec
		       ? "rows that do not begin at multiples of vec and are shorter than four vectors"
		       : NULL;
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	if (warps < 1 || warps > WARPS_MAX || (warps & (warps - 1)))
		return "warps must be a power of two up to 32";
	if (ksplit < 1 || warps % ksplit)
		return "ksplit must divide warps";
	return NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (macro->n != tcb_power_of_two_up(problem->shape.n) || macro->m != tcb_power_of_two_up(problem->shape.m))
		return "macro must be the problem's shape, rounded up to powers of two: the grid has all rows";
	if (midi->m != KNOB(WARPS) / KNOB(KSPLIT))
		return "midi.m must be warps / ksplit: a block's rows side by side";
	if (midi->n * KNOB(SPLITK) != macro->n)
		return "midi.n must be macro.n / splitk";
	if (micro->m != 1 || micro->n * 4 != KNOB(VEC))
		return "micro must be 1 x vec / 4: a lane's vector";
	return NULL;
}

static int is_shifted(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return problem->shape.n * 4 % KNOB(VEC) != 0;
}

/* Passes that a lane takes over its part of a row. */
static unsigned passes_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry, unsigned *pass_out)
{
	const unsigned splitk = KNOB(SPLITK), width = KNOB(VEC) / 4, n = (unsigned)problem->shape.n / width * width;
	*pass_out = WARP * KNOB(KSPLIT) * width;
	return tcb_div_up(tcb_div_up(n, splitk), *pass_out);
}

RULE(rule_split)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	unsigned pass;
	if (splitk < 1 || (splitk & (splitk - 1)))
		return "splitk must be a power of two";
	if (has_pieces(geometry)) {
		const size_t n = problem->shape.n, warps = splitk * (size_t)KNOB_COUNT(KSPLIT);
		const size_t share = share_of(n, warps);
		return warps > 1 && (warps - tcb_div_up(ksplit, 2)) * share >= n
			       ? "half of a block's warps have no columns: a smaller splitk or ksplit"
			       : NULL;
	}
	const unsigned passes = passes_of(problem, geometry, &pass);
	/* of every row: in whole vectors, but the last one */
	const uint64_t columns =
		is_shifted(problem, geometry) ? problem->shape.n - 2 * KNOB(VEC) / 4 : problem->shape.n;
	if ((splitk - 1) * (uint64_t)passes * pass >= columns)
		return "the last of the blocks that share a row has no columns: a smaller splitk or ksplit";
	if (ksplit > 1 && (uint64_t)splitk * (pass / 2) >= columns)
		return "half of the warps that share a row have no columns: a smaller ksplit or splitk";
	return NULL;
}

RULE(rule_join)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	if ((splitk == 1) != (join == TCB_JOIN_NONE))
		return "join must be none with splitk=1, and only then";
	if (join == TCB_JOIN_LAST || join == TCB_JOIN_ATOMIC)
		return "join must be none, cluster, launch or whole: all blocks of a row need its statistics";
	if (join == TCB_JOIN_CLUSTER && target->cuda.capability < 90)
		return "join=cluster needs sm_90";
	if (join == TCB_JOIN_CLUSTER && splitk > tcb_rows_gpu_cluster_most(target))
		return "splitk must be at most 8 with join=cluster, 16 on sm_90, sm_100 and sm_103";
	if (join != TCB_JOIN_WHOLE && splitk * ksplit > PARTS_MAX)
		return "splitk times ksplit must be at most 256";
	return NULL;
}

RULE(rule_keep)
{
	const int32_t keep = geometry->knob[TCB_KNOB_XIN], copy = geometry->knob[TCB_KNOB_COPY];
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	if (copy == TCB_COPY_LDG && keep == TCB_XIN_SHARED)
		return "xin=shared needs copy=async or copy=bulk";
	if (has_pieces(geometry) && KNOB(KSPLIT) != KNOB(WARPS))
		return "ksplit must be warps with stages=1 and blocks above 0: a block has one row";
	if (copy != TCB_COPY_LDG && keep == TCB_XIN_L2)
		return "xin=l2 needs copy=ldg";
	if (join == TCB_JOIN_WHOLE && keep != TCB_XIN_L2)
		return "xin must be l2 with join=whole: a block does not keep what others write";
	if ((join == TCB_JOIN_LAUNCH || join == TCB_JOIN_WHOLE) && (copy != TCB_COPY_LDG || KNOB(BLOCKS)))
		return "join=launch and join=whole need copy=ldg and blocks=0";
	if (copy == TCB_COPY_BULK && (KNOB(VEC) != 16 || is_shifted(problem, geometry)))
		return "copy=bulk needs vec=16, and rows that begin at multiples of it";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

RULE(rule_stages)
{
	const unsigned copy = KNOB(COPY), stages = KNOB(STAGES);
	const unsigned resident = KNOB(BLOCKS);
	if (resident > 16)
		return "blocks must be at most 16";
	if (has_pieces(geometry))
		return NULL;
	if (!resident && stages != 1)
		return "stages must be 1 with blocks=0: a block has one row";
	if (copy == TCB_COPY_LDG && stages > (geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS ? 2 : 1))
		return "stages must be 1 with copy=ldg, or 2 with xin=regs";
	if (copy != TCB_COPY_LDG && resident && (stages < 2 || stages > TCB_ROWS_STAGES_MAX))
		return "stages must be 2 to 4 with copy=async and copy=bulk and blocks above 0";
	return NULL;
}

RULE(rule_unroll)
{
	const unsigned unroll = KNOB(UNROLL), width = KNOB(VEC) / 4;
	unsigned pass, passes = passes_of(problem, geometry, &pass);
	if (has_pieces(geometry))
		passes = tcb_rows_gpu_vectors(problem->shape.n, KNOB_COUNT(SPLITK) * KNOB_COUNT(KSPLIT));
	if (geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS) {
		if (unroll != 1)
			return "unroll must be 1 with xin=regs: all of a row is in flight";
		return passes * width > TCB_ROWS_VALUES_MAX
			       ? "a lane has more than 128 values of a row: more warps, or xin=shared or l2"
			       : NULL;
	}
	if (geometry->knob[TCB_KNOB_COPY] == TCB_COPY_ASYNC && passes > TCB_ROWS_VALUES_MAX)
		return "a lane copies more than 128 vectors of a row: more warps or a wider vec";
	if (geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_WHOLE)
		passes = tcb_div_up((unsigned)problem->shape.n, pass);
	if (unroll < 1 || unroll > TCB_ROWS_UNROLL_MAX || (unroll > 1 && unroll > passes))
		return "unroll must be at most 8, and at most the vectors that a lane has of a row";
	return NULL;
}

RULE(rule_switches)
{
	if (KNOB(STREAM) > 1 || KNOB(LEAD) > 1)
		return "stream and lead must be 0 or 1";
	return tcb_gpu_rule_pdl(problem, target, geometry);
}

/* Loops load the weights beside the values; only registers hold them for later. */
RULE(rule_lead)
{
	if (KNOB(LEAD) != 1)
		return NULL;
	if (has_pieces(geometry))
		return NULL;
	if (geometry->knob[TCB_KNOB_XIN] != TCB_XIN_REGS)
		return "lead must be 0 without xin=regs, unless rows wait in pieces";
	return KNOB(BLOCKS) && is_shifted(problem, geometry)
		       ? "lead must be 0 with blocks above 0 where rows do not begin at multiples of vec"
		       : NULL;
}

/*
 * The default space is what is at most one step away from what was found good on an H200 (660 geometries of seven
 * problems, drawn at random from the whole product): one knob may have an unusual value.
 */
RULE(policy_usual)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	const size_t n = problem->shape.n;
	unsigned unusual = 0;
	unusual += KNOB(VEC) != tcb_rows_gpu_widest(n);
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	unusual += KNOB(BLOCKS) != 0 && !has_pieces(geometry);
	unusual += has_pieces(geometry) && (KNOB(UNROLL) == 1 || KNOB(STREAM) == 0);
	unusual += KNOB(STAGES) > 3;
	unusual += KNOB(UNROLL) > 4;
	unusual += KNOB(OCC) > 2 && !KNOB(BLOCKS);
	unusual += n >= LONG_ROW && (warps < 2 || warps > 16);
	unusual += n >= LONG_ROW && warps / ksplit > 2;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

/* Rows in pieces are for those that registers do not hold well, and are shared by few blocks that have much of them. */
RULE(policy_pieces)
{
	const unsigned splitk = KNOB(SPLITK), unroll = KNOB(UNROLL);
	const unsigned vectors = tcb_rows_gpu_vectors(problem->shape.n, splitk * KNOB(KSPLIT));
	const int is_shared_for_blocks = splitk <= tcb_rows_gpu_shares(problem, target);
	if (!has_pieces(geometry) && !is_shared_for_blocks)
		return "so many rows are shared by blocks only where they wait in pieces";
	if (!has_pieces(geometry))
		return tcb_is_power_of_two(unroll) ? NULL : "unroll must be a power of two but for rows in pieces";
	if (problem->shape.n < TCB_ROWS_PIECES_MIN)
		return "rows so short do not wait in pieces";
	if (KNOB(BLOCKS) > 2)
		return "more than two blocks of an SM have little memory for pieces";
	if (tcb_round_up(vectors, unroll) * 7 > 8 * (size_t)vectors)
		return "the last piece of a share has so few vectors that the work on it is wasted";
	return !is_shared_for_blocks && problem->shape.n / splitk < TCB_ROWS_PIECES_MIN / 4
		       ? "a block's part of a row is so short that fewer blocks do as well"
		       : NULL;
}

/* A resident block that gets no second row does what a block per row does; slots beyond its rows stay empty. */
RULE(policy_rounds)
{
	const unsigned resident = KNOB(BLOCKS), stages = KNOB(STAGES);
	const size_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	const size_t rows = KNOB(WARPS) / KNOB(KSPLIT);
	const size_t at_once = resident * sms * rows / KNOB(SPLITK);
	if (!resident || has_pieces(geometry))
		return NULL;
	if (problem->shape.m <= at_once)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	return problem->shape.m <= at_once * (stages - 1) ? "more stages than rounds of rows that a block has" : NULL;
}

#define READS_SPLIT (TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS))
#define READS_PIECES (TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(XIN))
#define READS_KEEP \
	(READS_PIECES | TCB_FIELD_KNOB(JOIN) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(WARPS))
#define READS_ROUNDS                                                                                        \
	(TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | \
	 TCB_FIELD_KNOB(SPLITK))
#define READS_STAGES (TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(XIN))
#define READS_LEAD (READS_PIECES | TCB_FIELD_KNOB(LEAD) | TCB_FIELD_KNOB(VEC))
#define READS_SWITCHES (TCB_FIELD_KNOB(PDL) | TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(LEAD))

/* All but the first, which says what is set. */
#define SHARED_RULES                                                                                               \
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa }, { TCB_FIELD_KNOB(ISA), 0, rule_shape },                              \
		{ TCB_FIELD_KNOB(VEC), 0, rule_vec },                                                              \
		{ TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT), 0, rule_warps },                                 \
		{ READS_SPLIT | READS_PIECES, 0, rule_split },                                                     \
		{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(JOIN), 0, rule_join },          \
		{ READS_KEEP, 0, rule_keep }, { READS_STAGES, 0, rule_stages },                                    \
		{ READS_SPLIT | READS_KEEP | TCB_FIELD_KNOB(UNROLL), 0, rule_unroll },                             \
		{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },     \
		{ READS_SWITCHES, 0, rule_switches }, { READS_LEAD, 0, rule_lead },                                \
		{ READS_SPLIT | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },                                    \
		{ READS_ROUNDS | READS_PIECES, 1, policy_rounds },                                                 \
		{ READS_PIECES | READS_SPLIT | TCB_FIELD_KNOB(UNROLL), 1, policy_pieces }, { 0, 1, policy_usual }, \
	{                                                                                                          \
		0, 0, NULL                                                                                         \
	}

const struct tcb_rule tcb_rows_gpu_rules[] = { { 0, 0, rule_idle }, SHARED_RULES };
const struct tcb_rule tcb_rows_gpu_plain_rules[] = { { 0, 0, rule_idle_plain }, SHARED_RULES };
